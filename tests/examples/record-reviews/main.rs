//! Records what a real API server sends to a conversion webhook, as cases of the corpus in `conversion/tests/reviews/pass`.
//!
//! `cargo run --example record-reviews` writes the same files each time, as long as the API server and the definition of Task stay
//! the same: ids, times and whatever else is new in each run are put in order. `cargo test --package task-conversion --test corpus` then
//! tells what has become of the answers.

// What is not recorded is a bug or a broken machine, and a person is looking.
#![allow(clippy::unwrap_used)]

#[path = "../../../conversion/tests/corpus/layout.rs"]
mod layout;
mod scenes;
mod settle;
mod webhook;

use std::fs;
use std::path::Path;

use control_plane::{ControlPlane, Options, Port, crd};
use webhook::Recorder;

#[tokio::main]
async fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conversion/tests/reviews/pass");
    let control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    let certificates = control_plane.state_dir().join("webhook");
    local_operator::issue_certificates(&certificates).unwrap();
    let port = Port::claim().unwrap();
    let recorder = Recorder::start(port.address(), &certificates).await;
    let webhook = local_operator::Webhook::of(port.address(), &certificates).unwrap();
    let client = control_plane.client().unwrap();
    crd::install(client, &webhook.definition()).await.unwrap();

    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name.starts_with("captured-") {
            fs::remove_file(path).unwrap();
        }
    }
    for (scene, recorded) in scenes::play(&control_plane, &recorder).await {
        for (index, body) in recorded.iter().enumerate() {
            let path = folder.join(format!("captured-{scene}-{}.json", index + 1));
            fs::write(&path, layout::layout(body)).unwrap();
        }
        println!("{scene}: {} reviews", recorded.len());
    }
}
