//! Manifests as kubectl reads them: which documents a file has, and which JSON each of them is.

pub mod documents;
pub mod items;
pub mod read;
mod scalar;
pub mod sources;
mod value;

pub use documents::{Document, documents};
pub use value::Value;
