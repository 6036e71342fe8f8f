//! A conversion webhook that answers as task-conversion does, and remembers what it was asked.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use task_conversion::review::answer;
use task_conversion::task::TASK;
use task_tests::Https;

/// The webhook, which runs until the process ends.
pub struct Recorder {
    reviews: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Serves at `address` with the certificate in the folder `certificates`.
    pub async fn start(address: SocketAddr, certificates: &Path) -> Self {
        let reviews = Arc::default();
        let router = Router::new()
            .route(task_crds::CONVERSION_PATH, post(convert))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&reviews));
        let listener = Https::bind(address, certificates).await.unwrap();
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { reviews }
    }

    /// What it was asked since the last time, in order.
    pub fn take(&self) -> Vec<String> {
        let mut reviews = self.reviews.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut reviews)
    }
}

async fn convert(State(reviews): State<Arc<Mutex<Vec<String>>>>, body: String) -> String {
    let answer = answer(&TASK, body.as_bytes()).body;
    reviews
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(body);
    answer
}
