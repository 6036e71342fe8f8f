//! Whether a conversion works, tried and not assumed.

use crate::review::answer;
use crate::task::TASK;

const DOWN: &str = r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"ready","desiredAPIVersion":"task.example.io/v1alpha1","objects":[{"kind":"Task","apiVersion":"task.example.io/v1","metadata":{"name":"ready"},"spec":{"env":{"A":"1"},"operation":{"provider":"p","timeout":"90s"}}}]}}"#;

const UP: &str = r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"ready","desiredAPIVersion":"task.example.io/v1","objects":[{"kind":"Task","apiVersion":"task.example.io/v1alpha1","metadata":{"name":"ready"},"spec":{"env":[{"name":"A","value":"1"}],"provider":"p","timeoutSeconds":90}}]}}"#;

/// Converts a small object in each direction.
///
/// # Errors
/// The message of the failure.
pub(super) fn check() -> Result<(), String> {
    [DOWN, UP]
        .into_iter()
        .try_for_each(|review| match answer(&TASK, review.as_bytes()).failure {
            None => Ok(()),
            Some(message) => Err(message),
        })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_built_in_conversions_pass() {
        assert_eq!(super::check(), Ok(()));
    }
}
