//! What a server answers for: here, and nowhere else in the server, a kind comes in.

use crate::Kind;
use crate::admission::Answer;

/// What a server answers for.
///
/// The bodies of all its requests are read, bounded and counted in the same way, whatever the kind.
#[derive(Clone)]
pub struct Service {
    /// The kind whose ConversionReviews are answered at `/convert`.
    pub kind: &'static Kind,
    /// What the names of the metrics begin with, such as `task_conversion`.
    pub metrics_prefix: &'static str,
    /// The conversions by which the server finds out whether it is ready. One in each direction is what it takes.
    pub checks: &'static [Check],
    /// The admission webhooks that are served on the same port.
    pub webhooks: &'static [Webhook],
}

/// A ConversionReview with the answer that it must have, to the byte.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// The review.
    pub review: &'static str,
    /// Its answer.
    pub answer: &'static str,
}

/// An admission webhook.
#[derive(Clone, Copy)]
pub struct Webhook {
    /// Where it is served, such as `/validate-task-example-io-v1-task`.
    pub path: &'static str,
    /// The `endpoint` that its requests are counted under, such as `validate`.
    pub endpoint: &'static str,
    /// Answers the bytes of a review. It must not panic.
    pub judge: fn(&[u8]) -> Answer,
}
