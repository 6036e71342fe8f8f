//! The definition as it is installed: complete, structural, and the file in step with the types.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinitionVersion;
use kube::CustomResourceExt;
use serde_json::Value;
use task_crds::{crd, files, webhooks, yaml};

fn version(name: &str) -> CustomResourceDefinitionVersion {
    let mut versions = crd().spec.versions.into_iter();
    versions.find(|version| version.name == name).unwrap()
}

fn schema(name: &str) -> Value {
    serde_json::to_value(version(name).schema.unwrap().open_api_v3_schema).unwrap()
}

/// Calls `check` for a schema and all that is in it, with the path to each.
fn walk(schema: &Value, path: &str, check: &mut impl FnMut(&str, &Value)) {
    check(path, schema);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        walk(field, &format!("{path}.{name}"), check);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            walk(&schema[inner], &format!("{path}[]"), check);
        }
    }
}

/// Fails with all that `fault` finds wrong at either version.
fn assert_everywhere(fault: impl Fn(&Value) -> Option<String>) {
    let mut faults = Vec::new();
    for version in ["v1", "v1alpha1"] {
        walk(&schema(version), version, &mut |path, schema| {
            faults.extend(fault(schema).map(|fault| format!("{path}: {fault}")));
        });
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_committed_files_are_what_the_types_say() {
    for (name, text) in files() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        let behind = committed
            .lines()
            .zip(text.lines().map(str::to_owned))
            .find(|(old, new)| old != new);
        assert!(
            committed == text,
            "{name} is behind the types: run `make generate`\nfirst difference: {behind:#?}"
        );
    }
}

#[test]
fn the_webhooks_are_called_for_what_they_can_judge_and_no_more() {
    insta::assert_yaml_snapshot!("mutating", webhooks::mutating());
    insta::assert_yaml_snapshot!("validating", webhooks::validating());
}

#[test]
fn the_file_reads_back_as_the_definition() {
    let read: Value = serde_saphyr::from_str(&yaml()).unwrap();
    assert_eq!(read, serde_json::to_value(crd()).unwrap());
}

#[test]
fn the_schema_of_each_version() {
    for version in ["v1", "v1alpha1"] {
        insta::assert_yaml_snapshot!(version, schema(version));
    }
}

#[test]
fn v1_is_stored_and_v1alpha1_is_deprecated() {
    let summary: Vec<_> = crd()
        .spec
        .versions
        .into_iter()
        .map(|version| {
            (
                version.name,
                version.served,
                version.storage,
                version.deprecation_warning,
            )
        })
        .collect();
    let warning = "task.example.io/v1alpha1 Task is deprecated; use task.example.io/v1";
    assert_eq!(
        summary,
        [
            ("v1".to_owned(), true, true, None),
            ("v1alpha1".to_owned(), true, false, Some(warning.to_owned())),
        ]
    );
}

#[test]
fn the_versions_agree_on_names_subresources_and_columns() {
    let (hub, spoke) = (task_api_v1::Task::crd(), task_api_v1alpha1::Task::crd());
    assert_eq!(hub.spec.names, spoke.spec.names);
    assert_eq!(hub.spec.group, spoke.spec.group);
    assert_eq!(hub.spec.scope, spoke.spec.scope);
    assert_eq!(version("v1").subresources, version("v1alpha1").subresources);
    assert_eq!(
        version("v1").additional_printer_columns,
        version("v1alpha1").additional_printer_columns
    );
}

#[test]
fn every_schema_has_one_type_and_says_what_it_is_for() {
    assert_everywhere(|schema| {
        let described = schema["description"]
            .as_str()
            .is_some_and(|text| !text.is_empty());
        // What a map or a list holds is described with it.
        let scalar = schema["properties"].is_null() && schema["type"] == "string";
        (!schema["type"].is_string() || !(described || scalar)).then(|| schema.to_string())
    });
}

#[test]
fn nothing_is_nullable_and_nothing_depends_on_a_value() {
    assert_everywhere(|schema| {
        [
            "nullable", "anyOf", "oneOf", "allOf", "not", "$ref", "title",
        ]
        .into_iter()
        .find(|&key| !schema[key].is_null())
        .map(str::to_owned)
    });
}

#[test]
fn every_format_is_one_that_the_api_server_checks() {
    assert_everywhere(|schema| {
        let format = schema["format"].as_str()?;
        let good = match schema["type"].as_str()? {
            "integer" => matches!(format, "int32" | "int64"),
            "string" => format == "date-time" && schema["pattern"].is_string(),
            _ => false,
        };
        (!good).then(|| format.to_owned())
    });
}

#[test]
fn every_number_has_a_width() {
    assert_everywhere(|schema| {
        (schema["type"] == "integer" && schema["format"].is_null()).then(|| schema.to_string())
    });
}

#[test]
fn v1alpha1_holds_the_whole_status_of_v1() {
    let (hub, spoke) = (schema("v1"), schema("v1alpha1"));
    let fields = hub["properties"]["status"]["properties"]
        .as_object()
        .unwrap();
    for (name, field) in fields {
        assert_eq!(
            &spoke["properties"]["status"]["properties"][name], field,
            "{name}"
        );
    }
}

#[test]
fn the_fields_that_both_specs_have_follow_the_same_rules() {
    let (hub, spoke) = (schema("v1"), schema("v1alpha1"));
    let [hub, spoke] = [&hub, &spoke].map(|root| &root["properties"]["spec"]["properties"]);
    for field in ["replicas", "image", "port"] {
        assert_eq!(hub[field], spoke[field], "{field}");
    }
    let (hub, spoke) = (
        &hub["operation"]["properties"]["provider"],
        &spoke["provider"],
    );
    for rule in ["maxLength", "x-kubernetes-validations"] {
        assert_eq!(hub[rule], spoke[rule], "provider, {rule}");
    }
}

#[test]
fn the_defaults_in_the_schema_are_those_of_the_types() {
    for version in ["v1", "v1alpha1"] {
        let schema = schema(version);
        let spec = &schema["properties"]["spec"];
        let defaults: serde_json::Map<_, _> = spec["properties"]
            .as_object()
            .unwrap()
            .iter()
            .filter(|(_, field)| !field["default"].is_null())
            .map(|(name, field)| (name.clone(), field["default"].clone()))
            .collect();
        let empty = match version {
            "v1" => serde_json::to_value(task_api_v1::TaskSpec::default()),
            _ => serde_json::to_value(task_api_v1alpha1::TaskSpec::default()),
        };
        assert_eq!(Value::Object(defaults), empty.unwrap(), "{version}");
        assert_eq!(spec["default"], serde_json::json!({}), "{version}");
    }
}
