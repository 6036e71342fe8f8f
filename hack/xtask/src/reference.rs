//! The API reference for people, written from the CustomResourceDefinition.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionVersion, JSONSchemaProps,
    JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

const HEAD: &str = "\
<!-- Generated from the CustomResourceDefinition by `make generate`. Do not edit. -->
# API reference

";

/// The page: each version of `definition`, and each field of it in the order of their paths, as Markdown.
pub(crate) fn page(definition: &CustomResourceDefinition) -> String {
    let spec = &definition.spec;
    let mut page = HEAD.to_owned();
    let kind = &spec.names.kind;
    for version in &spec.versions {
        let _ = writeln!(page, "## {kind} in {}/{}\n", spec.group, version.name);
        let _ = writeln!(page, "{}\n", standing(version));
        let schema = version.schema.as_ref();
        if let Some(root) = schema.and_then(|schema| schema.open_api_v3_schema.as_ref()) {
            let _ = writeln!(
                page,
                "{}\n",
                root.description.as_deref().unwrap_or_default()
            );
            page += "| field | type | |\n|---|---|---|\n";
            fields(&mut page, "", root);
            rules(&mut page, root);
        }
        page += "\n";
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

fn standing(version: &CustomResourceDefinitionVersion) -> String {
    let mut standing = vec![if version.served {
        "Served"
    } else {
        "Not served"
    }];
    if version.storage {
        standing.push("stored");
    }
    if version.deprecated == Some(true) {
        standing.push("deprecated");
    }
    standing.join(", ") + "."
}

/// A line for each field below `path`.
fn fields(page: &mut String, path: &str, schema: &JSONSchemaProps) {
    let none = BTreeMap::new();
    for (name, field) in schema.properties.as_ref().unwrap_or(&none) {
        let path = match path {
            "" => name.clone(),
            _ => format!("{path}.{name}"),
        };
        let is_required = schema.required.iter().flatten().any(|known| known == name);
        let _ = writeln!(
            page,
            "| `{path}` | {}{} | {} |",
            kind(field),
            if is_required { ", required" } else { "" },
            meaning(field)
        );
        fields(page, &path, field);
        if let Some(JSONSchemaPropsOrArray::Schema(item)) = &field.items {
            fields(page, &format!("{path}[]"), item);
        }
    }
}

/// The type in words.
fn kind(schema: &JSONSchemaProps) -> String {
    let plain = schema.format.as_deref().or(schema.type_.as_deref());
    match (&schema.items, &schema.additional_properties) {
        (Some(JSONSchemaPropsOrArray::Schema(item)), _) => format!("list of {}", kind(item)),
        (_, Some(JSONSchemaPropsOrBool::Schema(value))) => format!("map of {}", kind(value)),
        _ => plain.unwrap_or("any").to_owned(),
    }
}

/// The description and, unless it says so itself, the default.
fn meaning(schema: &JSONSchemaProps) -> String {
    let mut meaning = cell(schema.description.as_deref().unwrap_or_default());
    if let Some(default) = &schema.default
        && !meaning.contains("Defaults to")
    {
        let _ = write!(meaning, " Defaults to `{}`.", default.0);
    }
    meaning
}

/// What holds between several fields.
fn rules(page: &mut String, root: &JSONSchemaProps) {
    let messages = |schema: &JSONSchemaProps| -> Vec<String> {
        let rules = schema.x_kubernetes_validations.iter().flatten();
        rules.filter_map(|rule| rule.message.clone()).collect()
    };
    let spec = root
        .properties
        .as_ref()
        .and_then(|fields| fields.get("spec"));
    let all = [Some(root), spec].into_iter().flatten().flat_map(messages);
    let all: Vec<_> = all.map(|message| format!("- {message}\n")).collect();
    if !all.is_empty() {
        let _ = write!(page, "\nBesides:\n\n{}", all.concat());
    }
}

/// A text that may stand in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_both_versions_has_its_line() {
        let page = page(&task_crds::crd());
        for part in [
            "## Task in task.example.io/v1\n\nServed, stored.\n",
            "## Task in task.example.io/v1alpha1\n\nServed, deprecated.\n",
            "| `spec.env` | map of string | ",
            "| `spec.env[].name` | string, required | ",
            "| `spec.operation.provider` | string, required | ",
            "| `spec.replicas` | int32 | The number of pods that run the workload, 0 to 100. Defaults to 1. |",
            "| `status.conditions[].type` | string, required | ",
            "\n- metadata.name must be a DNS-1035 label",
        ] {
            assert!(page.contains(part), "{part}\n{page}");
        }
        let fields = page.lines().filter(|line| line.starts_with("| `"));
        for field in fields {
            let description = field.rsplit_once("| ").unwrap().1;
            assert!(
                field.matches(" | ").count() == 2 && description.len() > 4,
                "{field}"
            );
        }
    }
}
