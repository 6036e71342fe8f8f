//! `/healthz` and `/readyz`.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, http::StatusCode, routing::get};

/// Whether the controller is at work: its caches are synced, and it was not told to stop.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<AtomicBool>);

impl Readiness {
    /// Says whether the controller is at work.
    pub fn set(&self, ready: bool) {
        self.0.store(ready, Ordering::Relaxed);
    }

    fn status(&self) -> (StatusCode, &'static str) {
        if self.0.load(Ordering::Relaxed) {
            (StatusCode::OK, "ok")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "not ready")
        }
    }
}

/// Answers `GET /healthz`, always with 200 (a process that answers is alive), and `GET /readyz`, with 503
/// until and after the controller is at work.
pub fn router(readiness: Readiness) -> Router {
    Router::new()
        .route("/healthz", get(|| std::future::ready("ok")))
        .route(
            "/readyz",
            get(move || std::future::ready(readiness.status())),
        )
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use hyper::Request;
    use tower::ServiceExt;

    use super::*;

    async fn get_status(readiness: &Readiness, path: &str) -> u16 {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = router(readiness.clone()).oneshot(request).await.unwrap();
        answer.status().as_u16()
    }

    #[tokio::test]
    async fn it_is_alive_before_it_is_ready() {
        let readiness = Readiness::default();
        assert_eq!(get_status(&readiness, "/healthz").await, 200);
        assert_eq!(get_status(&readiness, "/readyz").await, 503);
    }

    #[tokio::test]
    async fn it_is_ready_until_it_is_told_to_stop() {
        let readiness = Readiness::default();
        readiness.set(true);
        assert_eq!(get_status(&readiness, "/readyz").await, 200);
        readiness.set(false);
        assert_eq!(get_status(&readiness, "/readyz").await, 503);
    }
}
