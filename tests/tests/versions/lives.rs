//! A Task's life, write by write.

use std::sync::atomic::{AtomicUsize, Ordering};

use http::Method;
use serde_json::{Value, json};

use crate::generate::{Edit, Life, Step, Way};
use crate::model::{Model, Version, difference, merge};
use crate::world::{World, manifest};

static BORN: AtomicUsize = AtomicUsize::new(0);

/// Lives it, and tells at which write the API server shows something else than the model.
pub async fn check(world: &World, life: Life) -> Result<(), String> {
    let name = format!("life-{}", BORN.fetch_add(1, Ordering::Relaxed));
    let spec = edited(life.born, &json!({}), &life.spec);
    let task = manifest(life.born, &name, &spec);
    world.send(Method::POST, JSON, life.born, "", &task).await?;
    let mut model = Model::created(life.born, &spec);
    compare(world, &name, &model)
        .await
        .map_err(|error| format!("once created: {error}"))?;
    for (index, step) in life.steps.iter().enumerate() {
        let at = |error| format!("steps[{index}]: {error}");
        take(world, &name, index, step, &mut model)
            .await
            .map_err(at)?;
        compare(world, &name, &model).await.map_err(at)?;
    }
    Ok(())
}

const JSON: &str = "application/json";

async fn take(
    world: &World,
    name: &str,
    index: usize,
    step: &Step,
    model: &mut Model,
) -> Result<(), String> {
    let version = step.version;
    let before = model.spec(version);
    let object = format!("/{name}");
    let patch = async |kind: &str, body: &Value| {
        let kind = format!("application/{kind}");
        world
            .send(Method::PATCH, &kind, version, &object, body)
            .await
    };
    match &step.way {
        Way::MergePatch(edits) => {
            let spec = edited(version, &before, edits);
            patch(
                "merge-patch+json",
                &json!({"spec": difference(&before, &spec)}),
            )
            .await?;
            model.write(version, &spec, true);
        }
        Way::JsonPatch(edits) => {
            let spec = edited(version, &before, edits);
            patch("json-patch+json", &operations(&before, &spec)).await?;
            model.write(version, &spec, true);
        }
        Way::Replace(edits) => {
            let mut task = world.get(version, name).await?;
            task["spec"] = edited(version, &before, edits);
            world
                .send(Method::PUT, JSON, version, &object, &task)
                .await?;
            model.write(version, &task["spec"], true);
        }
        Way::ReplaceWithoutAnnotations(edits) => {
            let spec = edited(version, &before, edits);
            let mut task = manifest(version, name, &spec);
            // As `kubectl replace` does.
            let there = world.get(version, name).await?;
            task["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"].clone();
            world
                .send(Method::PUT, JSON, version, &object, &task)
                .await?;
            model.write(version, &spec, false);
        }
        Way::Apply(edits) => {
            let part = additions(&before, &edited(version, &before, edits));
            let place = format!("{object}?fieldManager=step-{index}&force=true");
            let task = manifest(version, name, &part);
            let kind = "application/apply-patch+yaml";
            world
                .send(Method::PATCH, kind, version, &place, &task)
                .await?;
            model.write(version, &applied(&before, &part), true);
            // Where the new entries of a list go is the API server's business.
            model.take_order(&world.get(Version::V1alpha1, name).await?["spec"]["env"]);
        }
        Way::Scale(replicas) => {
            let place = format!("{object}/scale");
            let body = json!({"spec": {"replicas": replicas}});
            let kind = "application/merge-patch+json";
            world
                .send(Method::PATCH, kind, version, &place, &body)
                .await?;
            let mut spec = before;
            spec["replicas"] = json!(replicas);
            model.write(version, &spec, true);
        }
        Way::Status(status) => {
            let place = format!("{object}/status");
            let body = json!({"status": status});
            let kind = "application/merge-patch+json";
            world
                .send(Method::PATCH, kind, version, &place, &body)
                .await?;
            model.write_status(version, status);
        }
    }
    Ok(())
}

/// `spec` after `edits`.
pub fn edited(version: Version, spec: &Value, edits: &[Edit]) -> Value {
    let mut spec = spec.clone();
    for edit in edits {
        edit.apply(version, &mut spec);
    }
    spec
}

/// A JSON patch that makes `to` of `from`, both specs.
fn operations(from: &Value, to: &Value) -> Value {
    let difference = difference(from, to);
    let changed = difference
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| {
            let path = format!("/spec/{name}");
            match to.get(name) {
                Some(value) => json!({"op": "add", "path": path, "value": value}),
                None => json!({"op": "remove", "path": path}),
            }
        });
    [json!({"op": "test", "path": "/kind", "value": "Task"})]
        .into_iter()
        .chain(changed)
        .collect()
}

/// What `to` has beyond `from` or otherwise, both specs; of a list, the entries that it has so.
fn additions(from: &Value, to: &Value) -> Value {
    let mut part = difference(from, to);
    drop_nulls(&mut part);
    if let (Some(old), Some(new)) = (from["env"].as_array(), part["env"].as_array_mut()) {
        new.retain(|entry| !old.contains(entry));
    }
    if part["env"].is_null() {
        part.as_object_mut().map(|part| part.remove("env"));
    }
    part
}

fn drop_nulls(value: &mut Value) {
    if let Some(object) = value.as_object_mut() {
        object.retain(|_, value| !value.is_null());
        object.values_mut().for_each(drop_nulls);
    }
}

/// What `spec` is after a server-side apply of `part`: maps are merged by key, and the list by name.
fn applied(spec: &Value, part: &Value) -> Value {
    let mut after = spec.clone();
    merge(&mut after, part);
    if let (Some(old), Some(new)) = (spec["env"].as_array(), part["env"].as_array()) {
        let named = |list: &[Value], entry: &Value| {
            list.iter()
                .find(|other| other["name"] == entry["name"])
                .cloned()
        };
        let kept = old
            .iter()
            .map(|entry| named(new, entry).unwrap_or(entry.clone()));
        let added = new
            .iter()
            .filter(|entry| named(old, entry).is_none())
            .cloned();
        after["env"] = kept.chain(added).collect();
    }
    after
}

/// Compares what the API server shows of a Task with what the model says.
pub async fn compare(world: &World, name: &str, model: &Model) -> Result<(), String> {
    for version in [Version::V1, Version::V1alpha1] {
        let task = world.get(version, name).await?;
        let shown = json!({
            "generation": task["metadata"]["generation"],
            "spec": task["spec"],
            "status": task["status"],
        });
        let must = json!({
            "generation": model.generation,
            "spec": model.spec(version),
            "status": model.status(version),
        });
        if shown != must {
            return Err(format!(
                "at {version} shows\n  {shown}\nand must\n  {must}\nwhole: {task}"
            ));
        }
        let reserved = format!("task.example.io/{version}");
        if task["metadata"]["annotations"].get(&reserved).is_some() {
            return Err(format!("at {version} bears {reserved}"));
        }
    }
    Ok(())
}
