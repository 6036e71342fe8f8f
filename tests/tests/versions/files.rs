//! Files that people apply with kubectl.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::generate::{BEYOND_A_DOUBLE, Edit};
use crate::lives::{compare, edited};
use crate::model::{Model, Version, difference, merge};
use crate::world::{NAMESPACE, World, manifest};

/// Applies each file, looks for differences, and applies it again with its edits; all files in one go of kubectl.
pub async fn check(world: &World, files: Vec<(Version, Vec<Edit>, Vec<Edit>)>) {
    let mut models = Vec::new();
    let mut manifests = Vec::new();
    for (index, (version, first, _)) in files.iter().enumerate() {
        let spec = in_file(edited(*version, &json!({}), first));
        manifests.push(manifest(*version, &name(index), &spec));
        models.push(Model::created(*version, &spec));
    }
    let text = |manifests: &[Value]| -> String {
        manifests.iter().map(|task| format!("{task}\n")).collect()
    };
    let written = text(&manifests);
    kubectl(world, &["apply", "-f", "-"], &written).await;
    all(world, &models, "once applied").await;
    nothing_to_do(world, &written).await;
    kubectl(
        world,
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        &written,
    )
    .await;
    all(world, &models, "once applied by the server, too").await;

    for (index, (version, _, edits)) in files.iter().enumerate() {
        let before = manifests[index]["spec"].clone();
        let can = |edit: &&Edit| match edit {
            // kubectl rounds it when it compares what was applied with what is to be.
            Edit::Parameter(_, Some(value)) => *value != BEYOND_A_DOUBLE,
            _ => true,
        };
        let edits: Vec<_> = edits.iter().filter(can).cloned().collect();
        let after = in_file(edited(*version, &before, &edits));
        let mut spec = models[index].spec(*version);
        merge(&mut spec, &difference(&before, &after));
        models[index].write(*version, &spec, true);
        manifests[index]["spec"] = after;
    }
    let written = text(&manifests);
    kubectl(world, &["apply", "-f", "-"], &written).await;
    all(world, &models, "once edited").await;
    nothing_to_do(world, &written).await;
}

/// A spec for a file. It has no empty list: a server-side apply takes such a list to be none, and would remove the one that an
/// earlier client-side apply has made.
fn in_file(mut spec: Value) -> Value {
    if spec.get("env") == Some(&json!([])) {
        spec.as_object_mut().map(|spec| spec.remove("env"));
    }
    spec
}

fn name(index: usize) -> String {
    format!("file-{index}")
}

/// Neither `kubectl diff` nor `kubectl apply` finds anything to do for the files that were just applied.
async fn nothing_to_do(world: &World, written: &str) {
    let difference = kubectl(world, &["diff", "-f", "-"], written).await;
    assert_eq!(difference, "", "kubectl diff");
    let done = kubectl(world, &["apply", "-f", "-"], written).await;
    let changed: Vec<_> = done
        .lines()
        .filter(|line| !line.ends_with(" unchanged"))
        .collect();
    assert_eq!(changed, [""; 0], "kubectl apply");
}

async fn all(world: &World, models: &[Model], when: &str) {
    let mut faults = Vec::new();
    for (index, model) in models.iter().enumerate() {
        if let Err(fault) = compare(world, &name(index), model).await {
            faults.push(format!("{} {when}: {fault}", name(index)));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults, the first: {}",
        faults.len(),
        faults[0]
    );
}

/// Runs kubectl with `input`, and gives what it says.
async fn kubectl(world: &World, args: &[&str], input: &str) -> String {
    let mut command = world.control_plane.kubectl();
    command.args(["--namespace", NAMESPACE]).args(args);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let write = async move { stdin.write_all(input.as_bytes()).await.unwrap() };
    let (output, ()) = tokio::join!(child.wait_with_output(), write);
    let output = output.unwrap();
    let [said, complained] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(
        output.status.success(),
        "kubectl {args:?}: {complained}\n{said}"
    );
    said.into_owned()
}
