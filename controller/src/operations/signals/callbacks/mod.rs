//! The server for callbacks: `POST /callbacks/{namespace}/{name}` over HTTPS.
//!
//! | module | holds |
//! |---|---|
//! | [`args`] | the options |
//! | [`receive`] | what is answered |
//! | [`serve`] | connections |

pub mod args;
pub mod receive;
pub mod serve;

pub use args::Args;
