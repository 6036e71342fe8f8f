//! Helm, and what it renders.

use std::path::PathBuf;
use std::process::Command;

use control_plane::{Binaries, Tool};
use serde_json::Value;

/// A release of the chart.
#[derive(Clone, Copy, Debug)]
pub struct Release<'a> {
    pub name: &'a str,
    pub namespace: &'a str,
}

impl Default for Release<'_> {
    /// The one that `deploy/install.yaml` is.
    fn default() -> Self {
        Self {
            name: "task-operator",
            namespace: task_crds::NAMESPACE,
        }
    }
}

/// The folder of the chart.
fn chart() -> PathBuf {
    local_operator::workspace()
        .unwrap()
        .join("deploy/chart/task-operator")
}

/// What a command of helm about the chart writes; what it says if it fails.
pub fn helm(args: &[&str], values: &[&str]) -> Result<String, String> {
    let binaries = Binaries::find_or_build().unwrap();
    let mut command = Command::new(binaries.path(Tool::Helm));
    command.args(args).arg(chart());
    for value in values {
        command.args(["--set", value]);
    }
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr) + &text(output.stdout))
    }
}

/// The manifest of a release.
pub fn template(release: Release<'_>, values: &[&str]) -> String {
    let args = ["template", release.name, "--namespace", release.namespace];
    helm(&args, values).unwrap_or_else(|error| panic!("{values:?}: {error}"))
}

/// The objects of a release.
pub fn rendered(release: Release<'_>, values: &[&str]) -> Vec<Value> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(&template(release, values)).unwrap();
    objects
        .into_iter()
        .filter(|object| !object.is_null())
        .collect()
}

/// The one object of this kind and name.
pub fn find(objects: &[Value], kind: &str, name: &str) -> Value {
    let mut found = objects
        .iter()
        .filter(|object| object["kind"] == kind && object["metadata"]["name"] == name);
    let object = found.next();
    assert!(found.next().is_none(), "two {kind}s {name}");
    object.unwrap_or_else(|| panic!("no {kind} {name}")).clone()
}

/// The containers of all Deployments.
pub fn containers(objects: &[Value]) -> impl Iterator<Item = &Value> {
    let deployments = objects
        .iter()
        .filter(|object| object["kind"] == "Deployment");
    deployments.map(|object| &object["spec"]["template"]["spec"]["containers"][0])
}
