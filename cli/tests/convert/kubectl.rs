//! What the real kubectl makes of the manifests.

use std::fs;
use std::process::Command;

use control_plane::{Binaries, Tool};
use kubectl_task::manifest::Value;

use crate::{manifests, values};

/// The objects in a file as kubectl reads them, Lists taken apart.
fn read(path: &std::path::Path) -> Vec<Value> {
    let kubectl = Binaries::find_or_build().unwrap();
    let output = Command::new(kubectl.path(Tool::Kubectl))
        // It changes nothing, and asks no API server.
        .args([
            "patch",
            "--local",
            "--type=merge",
            "--patch={}",
            "--output=json",
            "-f",
        ])
        .arg(path)
        .env("KUBECONFIG", "/dev/null")
        .env("KUBERC", "off")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let objects = serde_json::Deserializer::from_slice(&output.stdout).into_iter();
    objects.map(Result::unwrap).collect()
}

#[test]
fn a_manifest_is_read_as_kubectl_reads_it() {
    for path in manifests() {
        let text = fs::read_to_string(&path).unwrap();
        let mut ours = Vec::new();
        for value in values(&text) {
            match value.get("items").and_then(Value::items) {
                Some(items) => ours.extend(items.to_vec()),
                None => ours.push(value),
            }
        }
        let theirs = read(&path);
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert!(
                ours.same_as(theirs),
                "{}:\n{}\n{}",
                path.display(),
                ours.to_json(),
                theirs.to_json()
            );
        }
    }
}
