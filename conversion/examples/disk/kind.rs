//! How the versions of Disk stand to each other, and what its server serves.

use std::sync::LazyLock;

use task_conversion::json::Node;
use task_conversion::lens::{Forms, Unchanged, Unexpected};
use task_conversion::server::{Check, Service};
use task_conversion::{Field, Kind, hub_only, mapped, same, spoke_only};

/// Disk, with v1 as its hub.
pub static DISK: LazyLock<Kind> = LazyLock::new(|| {
    Kind::new(
        "storage.example.com",
        "Disk",
        "v1",
        &[("v1beta1", V1BETA1), ("v1alpha1", V1ALPHA1)],
    )
});

/// v1beta1 beside v1: `size` and `mode` are in `storage`, which has a `tier` that v1 has not.
const V1BETA1: &[Field] = &[
    same("spec.name"),
    mapped("spec.size", "spec.storage.gib", &Unchanged),
    mapped("spec.mode", "spec.storage.mode", &Unchanged),
    spoke_only("spec.storage.tier", is_tier),
    same("status"),
];

/// v1alpha1 beside v1: the size is in mebibytes, and there is no mode.
const V1ALPHA1: &[Field] = &[
    same("spec.name"),
    mapped("spec.size", "spec.mib", &MEBIBYTES),
    hub_only("spec.mode", is_mode),
    same("status"),
];

/// Gibibytes at the hub, mebibytes at the spoke: what is no whole number of gibibytes is rounded up.
const MEBIBYTES: Forms = Forms {
    down: |gib| Ok(Some(size(gib)?.saturating_mul(1024).to_string())),
    up: |mib| Ok(Some(size(mib)?.div_ceil(1024).to_string())),
};

fn size(node: &Node<'_>) -> Result<u64, Unexpected> {
    let size = node.text().parse();
    size.map_err(|_| Unexpected::at_top("a whole number", node))
}

fn is_mode(node: &Node<'_>) -> bool {
    matches!(node.string(), Some("ro" | "rw"))
}

fn is_tier(node: &Node<'_>) -> bool {
    node.string().is_some()
}

/// The conversion of Disks; they have no admission webhooks.
pub fn service() -> Service {
    Service {
        kind: &DISK,
        metrics_prefix: "disk_conversion",
        checks: &CHECKS,
        webhooks: &[],
    }
}

const CHECKS: [Check; 2] = [
    Check {
        review: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"a","desiredAPIVersion":"storage.example.com/v1alpha1","objects":[{"kind":"Disk","apiVersion":"storage.example.com/v1","metadata":{"name":"a"},"spec":{"size":3}}]}}"#,
        answer: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"a","convertedObjects":[{"kind":"Disk","apiVersion":"storage.example.com/v1alpha1","metadata":{"name":"a"},"spec":{"mib":3072}}],"result":{"status":"Success"}}}"#,
    },
    Check {
        review: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"b","desiredAPIVersion":"storage.example.com/v1","objects":[{"kind":"Disk","apiVersion":"storage.example.com/v1alpha1","metadata":{"name":"b"},"spec":{"mib":3072}}]}}"#,
        answer: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"b","convertedObjects":[{"kind":"Disk","apiVersion":"storage.example.com/v1","metadata":{"name":"b"},"spec":{"size":3}}],"result":{"status":"Success"}}}"#,
    },
];
