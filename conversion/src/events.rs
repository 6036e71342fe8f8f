//! What conversions did with the rests: for metrics and logs, without any content of the objects.

/// How many bytes compressed rests may unfold to where nothing else is said.
const UNFOLD: u64 = 16 * 1024 * 1024;

/// What happened to the reserved annotations of one object or of many, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Events {
    happened: Vec<Event>,
    /// How many bytes compressed rests may still unfold to. A rest is an annotation, which anybody may write: without a bound on
    /// all of them together, a list of small objects could become an answer that no memory holds.
    pub(crate) may_unfold: u64,
}

/// One thing that happened to the reserved annotations of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A rest was put on the converted object.
    Written,
    /// A rest was read from the source.
    Restored,
    /// An annotation under a reserved key, or an entry of it, was nothing that a conversion could have written, for the reason
    /// given, and was ignored.
    Broken(String),
    /// A reserved key stood on the version that it is named for, and was dropped.
    Misplaced,
    /// A rest was left out as the annotations would have grown beyond the API server's limit, or one that had been left out was
    /// missing on the way back.
    Omitted,
}

impl Events {
    /// No event yet; rests may unfold to 16 MiB.
    pub fn new() -> Self {
        Self::with_more_to_unfold(0)
    }

    /// No event yet; rests may unfold to 16 MiB and `more` bytes.
    pub fn with_more_to_unfold(more: usize) -> Self {
        Self {
            happened: Vec::new(),
            may_unfold: UNFOLD.saturating_add(more as u64),
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.happened.push(event);
    }

    /// Takes out what happened.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.happened)
    }

    /// What happened.
    pub fn as_slice(&self) -> &[Event] {
        &self.happened
    }
}

impl Default for Events {
    fn default() -> Self {
        Self::new()
    }
}
