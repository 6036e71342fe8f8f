//! Labels and the selector of a Task's children.

use std::collections::BTreeMap;

use task_api_v1::names::label;

/// The labels of each child and of the pods of the Task of this name.
pub fn labels(task: &str) -> BTreeMap<String, String> {
    let mut labels = selector(task);
    labels.insert(
        label::MANAGED_BY.to_owned(),
        label::MANAGED_BY_VALUE.to_owned(),
    );
    labels
}

/// The labels by which the Deployment and the Service find the pods of the Task of this name.
///
/// A Deployment's selector can never be changed, so neither can this. It holds nothing but the name.
pub fn selector(task: &str) -> BTreeMap<String, String> {
    BTreeMap::from([
        (label::NAME.to_owned(), label::NAME_VALUE.to_owned()),
        (label::INSTANCE.to_owned(), task.to_owned()),
    ])
}

/// [`selector`] as the text that `status.selector` holds.
pub fn selector_text(task: &str) -> String {
    let pairs: Vec<_> = selector(task)
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(",")
}

/// The selector of the children of all Tasks: what the caches hold.
pub fn managed() -> String {
    format!("{}={}", label::MANAGED_BY, label::MANAGED_BY_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selector_is_written_as_the_scale_subresource_wants_it() {
        assert_eq!(
            selector_text("web"),
            "app.kubernetes.io/instance=web,app.kubernetes.io/name=task"
        );
    }
}
