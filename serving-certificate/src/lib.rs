//! TLS with a certificate that is exchanged while the server runs.
//!
//! The folder is looked at every 5 s and its content compared. Watching it (inotify) would be no sooner of use, as kubelet
//! itself takes a minute or so to bring a new Secret, and is known to go wrong: a watch on the files sees nothing of kubelet's swap
//! of the `..data` symlink, some file systems tell nothing, and a node runs out of watches; so that one would need to look all the same.

mod pair;
mod served;

pub use pair::PairError;
pub use served::{Certificate, Seen, keep_fresh};
