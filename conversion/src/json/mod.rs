//! JSON that stays text until somebody has to look inside.

mod node;
mod scan;
mod string;

pub use node::{Member, Node, Object, Shape};
pub use scan::{MAX_DEPTH, Malformed, Scanner};
pub use string::{decode, encode, name_is};
