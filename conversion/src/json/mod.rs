//! JSON that stays text until somebody has to look inside.

mod canonical;
mod key;
mod node;
mod scan;
mod skip;
mod string;

pub use canonical::{is_canonical, same_value};
pub use key::Key;
pub use node::{Member, Node, Object, Shape};
pub use scan::{MAX_DEPTH, Malformed, Scanner};
pub use string::{decode, encode, encode_into};
