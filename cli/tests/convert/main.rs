//! Ugly manifests, converted. Adding a case is adding a file to `tests/manifests`.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod command;
mod kubectl;
mod many;

use std::fs;
use std::path::{Path, PathBuf};

use kubectl_task::convert::files::{self, Converted};
use kubectl_task::manifest::{Document, Value, documents, read};
use task_conversion::review;
use task_conversion::task::TASK;

fn manifests() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/manifests");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 10);
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn values(text: &str) -> Vec<Value> {
    documents(text)
        .into_iter()
        .filter(|part| !matches!(part, Document::Between(_)))
        .filter_map(|part| read::read(part.text()).unwrap())
        .collect()
}

fn converted(text: &str, version: &'static str) -> Converted {
    files::convert(text, version).unwrap_or_else(|error| panic!("{error:?}"))
}

#[test]
fn each_manifest_becomes_what_its_snapshot_shows() {
    for path in manifests() {
        let text = fs::read_to_string(&path).unwrap();
        for version in ["v1", "v1alpha1"] {
            let converted = converted(&text, version);
            let story = converted.story("FILE", version).join("\n");
            // A snapshot does not tell line ends apart.
            let shown = converted
                .text
                .replace('\r', "␍")
                .replace('\u{feff}', "<BOM>");
            let name = format!("{}-to-{version}", name(&path));
            insta::assert_snapshot!(name, format!("{shown}\n=== told\n{story}"));
        }
    }
}

#[test]
fn the_converted_text_says_what_the_conversion_gives() {
    for path in manifests() {
        let text = fs::read_to_string(&path).unwrap();
        let converted = converted(&text, "v1");
        let (said, given) = (values(&converted.text), &converted.documents);
        assert_eq!(said.len(), given.len(), "{}", path.display());
        for (said, given) in said.iter().zip(given) {
            assert!(
                said.same_as(given),
                "{}: {}",
                path.display(),
                said.to_json()
            );
        }
    }
}

#[test]
fn there_and_back_again_every_manifest_says_the_same() {
    for path in manifests() {
        let text = fs::read_to_string(&path).unwrap();
        for (there, back) in [("v1", "v1alpha1"), ("v1alpha1", "v1")] {
            // What is of the other version already goes there and back again.
            let first = converted(&text, back).text;
            let second = converted(&converted(&first, there).text, back).text;
            for (first, second) in values(&first).iter().zip(values(&second)) {
                assert!(
                    first.same_as(&second),
                    "{}:\n{}\n{}",
                    path.display(),
                    first.to_json(),
                    second.to_json()
                );
            }
        }
    }
}

#[test]
fn what_is_of_that_version_already_is_kept_to_the_byte() {
    for path in manifests() {
        let text = fs::read_to_string(&path).unwrap();
        for version in ["v1", "v1alpha1"] {
            let once = converted(&text, version).text;
            assert_eq!(converted(&once, version).text, once, "{}", path.display());
        }
    }
}

#[test]
fn the_conversion_is_that_of_the_webhook_to_the_byte() {
    let mut compared = 0;
    for path in manifests() {
        let text = fs::read_to_string(&path).unwrap();
        for (document, given) in values(&text).iter().zip(converted(&text, "v1").documents) {
            if document.text("kind") != Some("Task")
                || !document
                    .text("apiVersion")
                    .unwrap()
                    .starts_with(TASK.group())
            {
                continue;
            }
            let review = format!(
                r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"1","desiredAPIVersion":"task.example.io/v1","objects":[{}]}}}}"#,
                document.to_json()
            );
            let answer = review::answer(&TASK, review.as_bytes());
            let answer = answer.body;
            assert!(
                answer.contains(&given.to_json()),
                "{}: {answer}\n{}",
                path.display(),
                given.to_json()
            );
            compared += 1;
        }
    }
    assert!(compared > 10);
}
