//! Is a child already as it should be? Answered from the cache, so that a Task at rest costs nothing.

use serde::Serialize;
use serde_json::Value;

/// Where `observed` does not hold what `desired` sets, as a path such as `.spec.replicas`; `None` if it holds all of it.
///
/// The API server may add fields (defaults, status, what others own), list elements (a sidecar, a
/// finalizer) and nothing else; so an object holds another if it has each of its fields, a list if it has
/// its elements in the same order, with others between them or not. Order matters: a reference in an
/// environment variable resolves only to one that stands earlier. An empty string, list or map is the same as an
/// absent one: Kubernetes does not store it.
///
/// It cannot see that a field is no longer asked for. For that each child carries a hash of what was
/// applied to it ([`crate::names::APPLIED_HASH`]), which is itself one of the fields compared.
pub fn difference<K: Serialize>(
    desired: &K,
    observed: &K,
) -> Result<Option<String>, serde_json::Error> {
    Ok(lacks(
        Some(&serde_json::to_value(observed)?),
        &serde_json::to_value(desired)?,
    ))
}

fn lacks(observed: Option<&Value>, desired: &Value) -> Option<String> {
    let Some(observed) = observed else {
        return (!is_empty(desired)).then(String::new);
    };
    match (observed, desired) {
        (Value::Object(observed), Value::Object(desired)) => {
            desired.iter().find_map(|(name, desired)| {
                lacks(observed.get(name), desired).map(|path| format!(".{name}{path}"))
            })
        }
        (Value::Array(observed), Value::Array(desired)) => {
            let mut rest = observed.iter();
            let is_missing =
                |desired: &Value| !rest.any(|observed| lacks(Some(observed), desired).is_none());
            let index = desired.iter().position(is_missing)?;
            let path = in_namesake(observed, &desired[index]).unwrap_or_default();
            Some(format!("[{index}]{path}"))
        }
        (observed, desired) => (observed != desired).then(String::new),
    }
}

/// Where the element of the same name lacks what `desired` has, for people to see: in a list it is only said that an element is missing.
fn in_namesake(observed: &[Value], desired: &Value) -> Option<String> {
    let name = desired.get("name")?;
    let namesake = observed
        .iter()
        .find(|element| element.get("name") == Some(name))?;
    lacks(Some(namesake), desired)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{Container, EnvVar},
    };
    use serde_json::json;

    use super::*;
    use crate::fixtures::{deployment, task};

    #[test]
    fn what_the_api_server_may_add_is_no_difference() {
        for (desired, observed) in [
            (json!({}), json!({"a": 1})),
            (
                json!({"a": {"b": 1}}),
                json!({"a": {"b": 1, "c": 2}, "d": 3}),
            ),
            (
                json!({"a": [{"n": "x"}]}),
                json!({"a": [{"n": "w"}, {"n": "x", "d": 1}, {"n": "y"}]}),
            ),
            (json!({"a": ""}), json!({})),
            (json!({"a": {"b": {}}}), json!({})),
            (json!({"a": []}), json!({"b": 1})),
        ] {
            assert_eq!(
                lacks(Some(&observed), &desired),
                None,
                "{desired} in {observed}"
            );
        }
    }

    #[test]
    fn what_it_may_not_do_is_a_difference_of_which_the_place_is_told() {
        for (desired, observed, place) in [
            (json!({"a": 1}), json!({}), ".a"),
            (json!({"a": 1}), json!({"a": 2}), ".a"),
            (json!({"a": false}), json!({}), ".a"),
            (json!({"a": 0}), json!({}), ".a"),
            (json!({"a": ""}), json!({"a": "x"}), ".a"),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), ".a[1]"),
            (json!({"a": [1, 1]}), json!({"a": [1]}), ".a[1]"),
            (
                json!({"a": [{"name": "x", "v": {"w": 1}}]}),
                json!({"a": [{"name": "y"}, {"name": "x", "v": {"w": 2}}]}),
                ".a[0].v.w",
            ),
            (json!({"a": {"b": 1}}), json!({"a": [1]}), ".a"),
        ] {
            assert_eq!(
                lacks(Some(&observed), &desired).as_deref(),
                Some(place),
                "{desired} in {observed}"
            );
        }
    }

    /// The Deployment of a Task with variables, stored, with one thing changed by hand.
    fn edited(edit: impl FnOnce(&mut Deployment)) -> bool {
        let task = task("web")
            .replicas(3)
            .env("A", "1")
            .env("EMPTY", "")
            .build();
        let desired = deployment(&task);
        let mut observed = desired.clone();
        edit(&mut observed);
        difference(&desired, &observed).unwrap().is_none()
    }

    fn container(deployment: &mut Deployment) -> &mut Container {
        &mut deployment
            .spec
            .as_mut()
            .unwrap()
            .template
            .spec
            .as_mut()
            .unwrap()
            .containers[0]
    }

    fn env(deployment: &mut Deployment) -> &mut Vec<EnvVar> {
        container(deployment).env.as_mut().unwrap()
    }

    #[test]
    fn a_child_as_it_was_applied_is_applied() {
        assert!(edited(|_| {}));
    }

    #[test]
    fn an_empty_value_that_kubernetes_does_not_store_is_applied() {
        assert!(edited(|deployment| env(deployment)[1].value = None));
    }

    #[test]
    fn an_edit_by_hand_of_what_the_task_says_is_noticed() {
        assert!(!edited(|deployment| deployment
            .spec
            .as_mut()
            .unwrap()
            .replicas = Some(2)));
        assert!(!edited(
            |deployment| container(deployment).image = Some("evil".to_owned())
        ));
        assert!(!edited(
            |deployment| env(deployment)[0].value = Some("2".to_owned())
        ));
        assert!(!edited(
            |deployment| env(deployment)[1].value = Some("x".to_owned())
        ));
        assert!(!edited(|deployment| env(deployment).reverse()));
        assert!(!edited(|deployment| deployment.metadata.labels = None));
        assert!(!edited(|deployment| deployment.metadata.annotations = None));
    }

    #[test]
    fn what_others_add_is_left_to_them() {
        assert!(edited(|deployment| {
            deployment
                .spec
                .as_mut()
                .unwrap()
                .template
                .spec
                .as_mut()
                .unwrap()
                .containers
                .insert(
                    0,
                    Container {
                        name: "sidecar".to_owned(),
                        ..Container::default()
                    },
                );
        }));
        assert!(edited(|deployment| {
            deployment
                .metadata
                .annotations
                .as_mut()
                .unwrap()
                .insert("theirs".to_owned(), "x".to_owned());
        }));
        assert!(edited(|deployment| {
            container(deployment).image_pull_policy = Some("Always".to_owned());
        }));
    }
}
