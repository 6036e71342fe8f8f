//! JSON that stays text until somebody has to look inside.

mod canonical;
mod node;
mod scan;
mod string;

pub use canonical::{is_canonical, same_value};
pub use node::{Member, Node, Object, Shape};
pub use scan::{MAX_DEPTH, Malformed, Scanner};
pub use string::{decode, encode, name_is};
