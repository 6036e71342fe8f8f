//! What `docs/your-own-crd.md` shows: the example of another kind, behind a real API server. The page says what the example's files say.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../../conversion/examples/disk/kind.rs"]
mod kind;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use control_plane::{ControlPlane, Options, crd};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use local_operator::Webhook;
use serde_json::{Value, json};
use task_conversion::server::{Args, Server};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Disks of one version.
fn disks(control_plane: &ControlPlane, version: &str) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("storage.example.com", version, "Disk");
    let client = control_plane.client().unwrap();
    Api::default_namespaced_with(client, &ApiResource::from_gvk(&kind))
}

async fn spec(disks: &Api<DynamicObject>) -> Value {
    disks.get("a").await.unwrap().data["spec"].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_of_three_versions_is_written_and_read_at_each_of_them() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("your_own_crd");
    let _ = fs::remove_dir_all(&folder);
    local_operator::issue_certificates(&folder).unwrap();
    let options = Options {
        state_dir: Some(folder.join("control-plane")),
        ..Options::api_server_only()
    };
    let control_plane = ControlPlane::start(options).await.unwrap();

    let certificates = folder.display().to_string();
    let args = ["disk", "--bind=127.0.0.1:0", "--cert-dir", &certificates];
    let server = Server::bind(&Args::parse_from(args), &kind::service())
        .await
        .unwrap();
    let webhook = Webhook::of(server.address(), &folder).unwrap();
    tokio::spawn(server.run(std::future::pending()));

    let text = fs::read_to_string(root().join("conversion/examples/disk/crd.yaml")).unwrap();
    let mut definition: CustomResourceDefinition = serde_saphyr::from_str(&text).unwrap();
    crd::convert_at(
        &mut definition,
        &webhook.conversion_url(),
        webhook.authority_pem(),
    );
    crd::install(control_plane.client().unwrap(), &definition)
        .await
        .unwrap();
    let [v1, beta, alpha] =
        ["v1", "v1beta1", "v1alpha1"].map(|version| disks(&control_plane, version));

    let storage = json!({"gib": 3, "mode": "rw", "tier": "gold"});
    let disk = json!({
        "apiVersion": "storage.example.com/v1beta1", "kind": "Disk", "metadata": {"name": "a"},
        "spec": {"name": "data", "storage": storage},
    });
    let disk = serde_json::from_value(disk).unwrap();
    beta.create(&PostParams::default(), &disk).await.unwrap();
    assert_eq!(
        spec(&v1).await,
        json!({"name": "data", "size": 3, "mode": "rw"})
    );
    assert_eq!(spec(&alpha).await, json!({"name": "data", "mib": 3072}));

    let edit = Patch::Merge(json!({"spec": {"mib": 3100}}));
    alpha
        .patch("a", &PatchParams::default(), &edit)
        .await
        .unwrap();
    assert_eq!(
        spec(&v1).await,
        json!({"name": "data", "size": 4, "mode": "rw"})
    );
    let storage = json!({"gib": 4, "mode": "rw", "tier": "gold"});
    assert_eq!(
        spec(&beta).await,
        json!({"name": "data", "storage": storage})
    );
    assert_eq!(spec(&alpha).await, json!({"name": "data", "mib": 3100}));
}

#[test]
fn the_page_shows_the_code_of_the_example() {
    let page = fs::read_to_string(root().join("docs/your-own-crd.md")).unwrap();
    let example = root().join("conversion/examples/disk");
    let sources = ["kind.rs", "main.rs", "tests.rs"]
        .map(|file| fs::read_to_string(example.join(file)).unwrap());
    let blocks: Vec<_> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() > 3);
    for block in blocks {
        let (code, _) = block.split_once("```").unwrap();
        let is_shown = sources.iter().any(|source| source.contains(code));
        assert!(is_shown, "no file of the example has:\n{code}");
    }
}
