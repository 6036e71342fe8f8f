//! What a conversion did with the rest: for metrics and logs, without any content of the object.

/// What happened to the reserved annotations of one object, in order.
pub type Events = Vec<Event>;

/// One thing that happened to the reserved annotations of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rest was put on the converted object.
    Written,
    /// A rest was taken from the source and used.
    Restored,
    /// An annotation under a reserved key was no rest, for the reason given, and was ignored.
    Broken(String),
    /// A reserved key stood on the version that it is named for, and was dropped.
    Misplaced,
    /// A rest was left out as the annotations would have grown beyond the API server's limit.
    Omitted,
}
