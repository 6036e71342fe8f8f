use super::*;

fn entry(manager: &str, operation: &str, version: &str, fields: Value) -> Value {
    json!({
        "manager": manager, "operation": operation, "apiVersion": format!("task.example.io/{version}"),
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields,
    })
}

fn task(entries: Vec<Value>) -> Value {
    json!({
        "apiVersion": "task.example.io/v1", "kind": "Task",
        "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": entries},
        "spec": {
            "image": "a:1", "replicas": 2, "env": {"A": "1", "B": "2"},
            "operation": {"provider": "p", "timeout": "1m30s", "completion": "Hybrid", "parameters": {"n": 1, "deep": {"x": [1]}}},
        },
        "status": {
            "operation": {"phase": "Creating", "key": "k"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

fn fields_after(fields: Value) -> Value {
    let entries = rewritten(&task(vec![entry("m", "Apply", "v1alpha1", fields)]), "v1").unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["apiVersion"], "task.example.io/v1");
    entries[0]["fieldsV1"].clone()
}

#[test]
fn entries_of_the_version_are_left_alone() {
    let task = task(vec![entry(
        "m",
        "Update",
        "v1",
        json!({"f:spec": {"f:image": {}}}),
    )]);
    assert_eq!(rewritten(&task, "v1"), None);
    assert_eq!(stale(&task, "v1"), []);
}

#[test]
fn a_field_of_the_same_name_keeps_it() {
    let fields = json!({"f:spec": {".": {}, "f:image": {}, "f:replicas": {}}});
    assert_eq!(fields_after(fields.clone()), fields);
}

#[test]
fn a_field_that_has_moved_is_named_where_it_is_now() {
    let fields = json!({"f:spec": {"f:provider": {}, "f:timeoutSeconds": {}, "f:parameters": {"f:n": {}, "f:deep": {}}}});
    let expected = json!({"f:spec": {"f:operation": {"f:provider": {}, "f:timeout": {}, "f:parameters": {"f:n": {}, "f:deep": {}}}}});
    assert_eq!(fields_after(fields), expected);
}

#[test]
fn one_variable_of_the_list_is_one_of_the_map() {
    let fields =
        json!({"f:spec": {"f:env": {r#"k:{"name":"B"}"#: {".": {}, "f:name": {}, "f:value": {}}}}});
    assert_eq!(
        fields_after(fields),
        json!({"f:spec": {"f:env": {"f:B": {}}}})
    );
}

#[test]
fn what_only_v1_can_say_is_not_of_somebody_who_wrote_v1alpha1() {
    let fields = json!({"f:spec": {"f:provider": {}}});
    assert_eq!(
        fields_after(fields),
        json!({"f:spec": {"f:operation": {"f:provider": {}}}})
    );
}

#[test]
fn the_old_names_of_the_status_are_the_new_ones_and_lists_are_named_as_before() {
    let condition = json!({".": {}, "f:type": {}, "f:status": {}});
    let fields = json!({"f:status": {"f:taskStatus": {}, "f:conditions": {r#"k:{"type":"Ready"}"#: condition}}});
    let expected = json!({"f:status": {"f:operation": {"f:phase": {}}, "f:conditions": {r#"k:{"type":"Ready"}"#: condition}}});
    assert_eq!(fields_after(fields), expected);
}

#[test]
fn metadata_stays_but_for_the_annotation_that_v1_does_not_have() {
    let fields = json!({"f:metadata": {"f:labels": {"f:a": {}}, "f:annotations": {".": {}, "f:task.example.io/v1": {}}}});
    assert_eq!(
        fields_after(fields),
        json!({"f:metadata": {"f:labels": {"f:a": {}}}})
    );
}

#[test]
fn the_entries_of_one_manager_become_one() {
    let entries = rewritten(
        &task(vec![
            entry("m", "Update", "v1", json!({"f:spec": {"f:image": {}}})),
            entry(
                "m",
                "Update",
                "v1alpha1",
                json!({"f:spec": {"f:provider": {}}}),
            ),
            entry("m", "Apply", "v1alpha1", json!({"f:spec": {"f:image": {}}})),
        ]),
        "v1",
    )
    .unwrap();
    assert_eq!(entries.len(), 2);
    assert_eq!(
        entries[0]["fieldsV1"],
        json!({"f:spec": {"f:image": {}, "f:operation": {"f:provider": {}}}})
    );
}

#[test]
fn where_nothing_is_left_a_seed_stands_for_it() {
    let gone = entry("m", "Update", "v1alpha1", json!({"f:spec": {"f:gone": {}}}));
    let unknown = entry("n", "Update", "v0", json!({"f:spec": {"f:image": {}}}));
    let entries = rewritten(&task(vec![unknown]), "v1").unwrap();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0]["manager"], SEED);
    assert!(is_stale(&task(vec![gone]), "v1"));
}
