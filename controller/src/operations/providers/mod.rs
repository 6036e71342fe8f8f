//! The providers that the administrator configured.
//!
//! | what | module | talks to others |
//! |---|---|---|
//! | what the file says | [`file`] | no, pure |
//! | what is wrong with it | [`validate`] | no, pure |
//! | what of it changed while the controller runs | [`registry`] | reads the file, and those that it names |

pub mod file;
pub mod registry;
pub mod validate;
