//! The one Node, which is fake: kwok answers for it.

use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client, api::PostParams};
use serde_json::json;

use crate::components::POD_RANGE;

/// Its name.
pub(crate) const NAME: &str = "fake";

/// Creates the Node, with room for every Pod that a test may think of.
pub(crate) async fn create(client: Client) -> kube::Result<()> {
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NAME,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {"kubernetes.io/hostname": NAME, "kubernetes.io/os": "linux", "type": "kwok"},
        },
        "spec": {"podCIDR": POD_RANGE, "podCIDRs": [POD_RANGE]},
        "status": {
            "allocatable": {"cpu": "1k", "memory": "10Ti", "pods": "10k"},
            "capacity": {"cpu": "1k", "memory": "10Ti", "pods": "10k"},
        },
    });
    let node: Node = serde_json::from_value(node).map_err(kube::Error::SerdeError)?;
    let nodes = Api::all(client);
    nodes.create(&PostParams::default(), &node).await.map(drop)
}

/// Whether the scheduler would put a Pod there: a new Node is tainted until the controller manager has
/// seen that it is ready.
pub(crate) fn takes_pods(node: &Node) -> bool {
    let ready = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut ready = ready.filter(|condition| condition.type_ == "Ready");
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    ready.any(|condition| condition.status == "True") && taints.is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ready: &str, taints: serde_json::Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {},
            "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[test]
    fn a_node_takes_pods_once_it_is_ready_and_untainted() {
        let tainted = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        assert!(takes_pods(&node("True", json!([]))));
        assert!(!takes_pods(&node("True", tainted)));
        assert!(!takes_pods(&node("False", json!([]))));
        assert!(!takes_pods(&Node::default()));
    }
}
