//! Why one object cannot be converted.

/// Why one object cannot be converted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// A value is of a kind that the versions do not admit at its place.
    #[error("{}: expected {expected}, found {found}", if pointer.is_empty() { "the object" } else { pointer })]
    Unexpected {
        /// The JSON Pointer (RFC 6901) of the place; empty for the object itself.
        pointer: String,
        /// What should stand there.
        expected: &'static str,
        /// The JSON kind of what stands there, or `nothing`.
        found: &'static str,
    },
    /// The object is of another kind.
    #[error("/kind: expected {expected}, found {found:?}")]
    WrongKind {
        /// The object's kind.
        found: String,
        /// The only kind that is converted.
        expected: &'static str,
    },
    /// The version is not one of the kind's.
    #[error("unknown version {found:?}: expected one of {known}")]
    UnknownVersion {
        /// The apiVersion that was named.
        found: String,
        /// The ones that exist.
        known: String,
    },
}

impl ConvertError {
    pub(crate) fn unexpected(pointer: String, expected: &'static str, found: &'static str) -> Self {
        Self::Unexpected {
            pointer,
            expected,
            found,
        }
    }
}
