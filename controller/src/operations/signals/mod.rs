//! What providers tell by themselves: how operations stand, by callbacks and by the messages of a queue.
//!
//! | what | module |
//! |---|---|
//! | which operation a message is about | [`report`], pure |
//! | taking it in, whatever way it came | [`inbox`] |
//! | the server for callbacks | [`callbacks`] |
//! | the messages of a queue | [`queue`] |
//!
//! A message takes one path, wherever it comes from: whom it is from is proved, the Task is read anew, [`decide`](super::decide) says what
//! follows, and that is written by compare-and-swap **before** the sender is told that the message has arrived. A sender that is not told sends
//! it again, and one that comes again changes nothing. The operation is found by its `Operation-Id`, which is in the status before the
//! provider first hears of it: a message may be faster than the answer to the call that started the operation.

pub mod callbacks;
pub mod inbox;
pub mod queue;
pub mod report;

use task_api_v1::Completion;

/// The ways by which providers reach this controller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    /// The URL that callbacks go to, without their path.
    pub callback_url: Option<String>,
    /// Whether there is a queue.
    pub queue: bool,
}

impl Ways {
    /// Whether the end of an operation can be learnt without polling.
    #[must_use]
    pub fn lead_here(&self, completion: Completion) -> bool {
        match completion {
            Completion::Poll => false,
            Completion::Callback => self.callback_url.is_some(),
            Completion::Queue => self.queue,
            Completion::Hybrid => self.callback_url.is_some() || self.queue,
        }
    }
}
