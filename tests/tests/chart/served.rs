//! The objects of the chart, judged by a real API server.

use std::process::Stdio;

use control_plane::{ControlPlane, Options};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::helm::{Release, rendered};
use crate::{ALL, CERT_MANAGER};

/// kubectl with these objects on its standard input; what it says if it fails.
async fn apply(
    control_plane: &ControlPlane,
    args: &[&str],
    objects: &[Value],
) -> Result<(), String> {
    let mut command = control_plane.kubectl();
    command
        .args([
            "apply",
            "--server-side",
            "--warnings-as-errors",
            "--validate=strict",
            "-f",
            "-",
        ])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(list.to_string().as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// Namespaces in which a Pod that is not `restricted` is refused, and a Deployment of such Pods warned of.
fn namespaces() -> Vec<Value> {
    let namespace = |name| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {
            "pod-security.kubernetes.io/enforce": "restricted",
            "pod-security.kubernetes.io/warn": "restricted",
        }}})
    };
    ["task-system", "ops", "shop"].map(namespace).to_vec()
}

#[tokio::test]
async fn the_api_server_takes_every_object_without_a_warning() {
    let control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    apply(&control_plane, &[], &namespaces()).await.unwrap();
    let elsewhere = Release {
        name: "hooks",
        namespace: "ops",
    };
    let providers = [
        "controller.providers[0].name=volumes",
        "controller.providers[0].url=https://volumes.example.com",
        "controller.credentials={volumes}",
    ];
    for (release, values) in [
        (Release::default(), &[] as &[&str]),
        (Release::default(), &ALL),
        (Release::default(), &providers),
        (elsewhere, &[CERT_MANAGER]),
        (
            elsewhere,
            &[
                "conversion.replicas=1",
                "controller.replicas=1",
                "crds.enabled=false",
            ],
        ),
        (
            elsewhere,
            &[
                "podLabels.team=tasks",
                "podAnnotations.team=tasks",
                "imagePullSecrets[0].name=pull",
            ],
        ),
    ] {
        // Their definitions are not part of Kubernetes.
        let of_others = ["cert-manager.io/v1", "monitoring.coreos.com/v1"];
        let mut objects = rendered(release, values);
        objects.retain(|object| {
            !of_others
                .iter()
                .any(|version| object["apiVersion"] == *version)
        });
        let outcome = apply(&control_plane, &["--dry-run=server"], &objects).await;
        assert_eq!(outcome, Ok(()), "{release:?} {values:?}");
    }
}

#[tokio::test]
async fn a_warning_is_noticed() {
    let control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    apply(&control_plane, &[], &namespaces()).await.unwrap();
    let mut objects = rendered(Release::default(), &[]);
    objects.retain(|object| object["kind"] == "Deployment");
    objects[0]["spec"]["template"]["spec"]["securityContext"] = json!({});
    let told = apply(&control_plane, &["--dry-run=server"], &objects)
        .await
        .unwrap_err();
    assert!(told.contains("PodSecurity"), "{told}");
}
