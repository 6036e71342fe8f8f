//! The conversion serves any kind with any number of spokes: here one that is not Task, with two.

#![allow(missing_docs, clippy::unwrap_used)]

use serde_json::{Value, json};
use task_conversion::json::{Node, Scanner};
use task_conversion::lens::{Forms, Unchanged};
use task_conversion::{Events, Field, Kind, hub_only, mapped, same, spoke_only};

/// `size` in the hub is `storage.gib` in v1beta1, which also has a `tier`; v1alpha1 has the size in mebibytes and no mode.
fn disk() -> Kind {
    const ANY: fn(&Node<'_>) -> bool = |_| true;
    const V1BETA1: &[Field] = &[
        same("spec.name"),
        mapped("spec.size", "spec.storage.gib", &Unchanged),
        mapped("spec.mode", "spec.storage.mode", &Unchanged),
        spoke_only("spec.storage.tier", ANY),
    ];
    const V1ALPHA1: &[Field] = &[
        same("spec.name"),
        mapped("spec.size", "spec.mib", &MEBIBYTES),
        hub_only("spec.mode", ANY),
    ];
    Kind::new(
        "storage.example.com",
        "Disk",
        "v1",
        &[("v1beta1", V1BETA1), ("v1alpha1", V1ALPHA1)],
    )
}

/// Whole gibibytes, rounded up, in mebibytes.
const MEBIBYTES: Forms = Forms {
    down: |gib| Ok(number(gib).map(|gib| (gib * 1024).to_string())),
    up: |mib| Ok(number(mib).map(|mib| mib.div_ceil(1024).to_string())),
};

fn number(node: &Node<'_>) -> Option<u64> {
    node.text().parse().ok()
}

fn convert(object: &Value, desired: &str) -> Value {
    let disk = disk();
    let text = object.to_string();
    let mut node = disk.read(&mut Scanner::new(&text)).unwrap();
    let desired = disk
        .version(&format!("storage.example.com/{desired}"))
        .unwrap();
    disk.convert(&mut node, desired, &mut Events::new())
        .unwrap();
    serde_json::from_str(&node.text()).unwrap()
}

fn disk_at(version: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("storage.example.com/{version}"), "kind": "Disk", "metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn a_spoke_becomes_another_spoke_by_way_of_the_hub_and_comes_back() {
    let beta = disk_at(
        "v1beta1",
        json!({"name": "a", "storage": {"gib": 3, "mode": "rw", "tier": "gold"}}),
    );
    let alpha = convert(&beta, "v1alpha1");
    assert_eq!(alpha["spec"], json!({"name": "a", "mib": 3072}));
    assert_eq!(convert(&alpha, "v1beta1"), beta);
}

#[test]
fn what_only_a_spoke_has_rides_on_the_hub() {
    let beta = disk_at("v1beta1", json!({"storage": {"gib": 3, "tier": "gold"}}));
    let hub = convert(&beta, "v1");
    assert_eq!(hub["spec"], json!({"size": 3}));
    assert_eq!(
        hub["metadata"]["annotations"],
        json!({"storage.example.com/v1beta1": r#"{"/spec/storage/tier":"gold"}"#})
    );
    assert_eq!(convert(&hub, "v1beta1"), beta);
}

#[test]
fn a_container_of_which_nothing_is_shown_rides_whole() {
    let beta = disk_at("v1beta1", json!({"storage": {"tier": "gold"}}));
    let hub = convert(&beta, "v1");
    assert_eq!(hub["spec"], json!({}));
    assert_eq!(convert(&hub, "v1beta1"), beta);
}

#[test]
fn each_spoke_has_a_rest_of_its_own() {
    let mut hub = convert(
        &disk_at("v1beta1", json!({"storage": {"gib": 3, "tier": "gold"}})),
        "v1",
    );
    let alpha = convert(&hub, "v1alpha1");
    hub["spec"]["size"] = json!(4);
    let mut edited = alpha;
    edited["spec"]["mib"] = json!(3100);
    let back = convert(&edited, "v1");
    assert_eq!(back["spec"], hub["spec"]);
    assert_eq!(convert(&back, "v1alpha1")["spec"]["mib"], 3100);
    assert_eq!(
        convert(&back, "v1beta1")["spec"],
        json!({"storage": {"gib": 4, "tier": "gold"}})
    );
}
