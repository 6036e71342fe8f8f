//! The laws over Disks of each version, and what some of them become.

#![allow(clippy::unwrap_used)]

use proptest::option::weighted;
use proptest::prelude::*;
use serde_json::{Value, json};
use task_conversion::laws::{self, Json};
use task_conversion::{Event, review};

use crate::kind::{DISK, service};

const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// An object with those of the members that are there.
fn some(members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let there = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(there.collect())
}

fn word() -> impl Strategy<Value = Option<Value>> {
    weighted(0.6, "[a-z\"é]{0,3}".prop_map(Value::from))
}

fn number() -> impl Strategy<Value = Option<Value>> {
    weighted(0.6, any::<u64>().prop_map(Value::from))
}

fn mode() -> impl Strategy<Value = Option<Value>> {
    weighted(0.6, prop::sample::select(vec![json!("ro"), json!("rw")]))
}

/// A Disk of the version, with fields that nobody knows.
fn disk(version: &'static str) -> BoxedStrategy<Json> {
    let spec = (word(), number(), mode(), word(), word());
    let spec = spec.prop_map(move |(name, size, mode, tier, unknown)| {
        let name = ("name", name);
        let unknown = ("unknown", unknown);
        match version {
            "v1" => some([name, ("size", size), ("mode", mode), unknown]),
            "v1alpha1" => some([name, ("mib", size), unknown]),
            _ => {
                let storage = some([("gib", size), ("mode", mode), ("tier", tier)]);
                let storage = (storage != json!({})).then_some(storage);
                some([name, ("storage", storage), unknown])
            }
        }
    });
    (spec, word())
        .prop_map(move |(spec, status)| {
            let status = status.map(|text| json!({"phase": text}));
            let mut disk = disk_at(version, spec);
            if let Some(status) = status {
                disk["status"] = status;
            }
            Json::parse(&disk.to_string())
        })
        .boxed()
}

fn of_any_version() -> impl Strategy<Value = (&'static str, Json)> {
    prop::sample::select(VERSIONS.to_vec()).prop_flat_map(|version| (Just(version), disk(version)))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_disk_comes_back_from_each_version_as_it_was((own, disk) in of_any_version()) {
        for via in VERSIONS {
            prop_assert_eq!(laws::comes_back(&DISK, &disk, own, via), Ok(()));
        }
    }

    #[test]
    fn it_does_so_where_the_other_versions_schema_prunes_what_it_does_not_know((own, disk) in of_any_version()) {
        for via in VERSIONS.into_iter().filter(|via| *via != own) {
            prop_assert_eq!(laws::comes_back_pruned(&DISK, &disk, own, via), Ok(()));
        }
    }

    #[test]
    fn a_review_is_answered_whatever_it_says((_, disk) in of_any_version(), version in "v1(alpha1|beta1)?", at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = format!(
            r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"u","desiredAPIVersion":"storage.example.com/{version}","objects":[{}]}}}}"#,
            disk.text()
        )
        .into_bytes();
        prop_assert_eq!(laws::is_answered(&DISK, &body), Ok(()));
        let at = at.index(body.len());
        body[at] = byte;
        prop_assert_eq!(laws::is_answered(&DISK, &body), Ok(()));
    }
}

fn disk_at(version: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("storage.example.com/{version}"), "kind": "Disk", "metadata": {"name": "a"}, "spec": spec})
}

fn convert(disk: &Value, desired: &str) -> Value {
    let (there, events) = laws::converted(&DISK, &Json::parse(&disk.to_string()), desired).unwrap();
    assert!(!events.iter().any(|event| matches!(event, Event::Broken(_))));
    serde_json::from_str(&there.text()).unwrap()
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
    let beta = disk_at("v1beta1", json!({"storage": {"gib": 3, "tier": "gold"}}));
    let mut edited = convert(&convert(&beta, "v1"), "v1alpha1");
    edited["spec"]["mib"] = json!(3100);
    let hub = convert(&edited, "v1");
    assert_eq!(hub["spec"]["size"], 4);
    assert_eq!(convert(&hub, "v1alpha1")["spec"]["mib"], 3100);
    assert_eq!(
        convert(&hub, "v1beta1")["spec"],
        json!({"storage": {"gib": 4, "tier": "gold"}})
    );
}

#[test]
fn the_built_in_reviews_have_the_answers_that_are_expected() {
    for check in service().checks {
        let answer = review::answer(&DISK, check.review.as_bytes());
        assert_eq!(answer.body, check.answer);
    }
}
