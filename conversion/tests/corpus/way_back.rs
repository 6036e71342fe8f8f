//! Whether each object that was converted comes back as it was.

use std::collections::BTreeSet;

use task_conversion::json::Node;
use task_conversion::review::answer;
use task_conversion::task::TASK;

/// Where the laws let the way back give something else: an absent metadata has become an empty one, a key that was reserved for
/// another version is dropped, and the old names of the status agree with the new ones.
const EXEMPT: [&str; 11] = [
    "/metadata",
    "/metadata/annotations",
    "/metadata/annotations/task.example.io/v1",
    "/metadata/annotations/task.example.io/v1alpha1",
    "/status/operation",
    "/status/operation/phase",
    "/status/operation/result",
    "/status/operation/completedAt",
    "/status/taskStatus",
    "/status/taskResult",
    "/status/completedAt",
];

/// Converts every object of a reply back to the version that it had in the request, and tells for each what is not as it was.
///
/// # Panics
/// When something is not as it was that the laws do not exempt.
pub fn way_back(request: &str, reply: &str) -> String {
    let originals = items(request, &["request", "objects"]);
    let converted = items(reply, &["response", "convertedObjects"]);
    assert_eq!(originals.len(), converted.len());
    let mut told = String::new();
    for (index, (original, converted)) in originals.iter().zip(&converted).enumerate() {
        let version = at(original, &["apiVersion"]).unwrap();
        let review = format!(
            r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"back","desiredAPIVersion":{version},"objects":[{converted}]}}}}"#
        );
        let answer = answer(&TASK, review.as_bytes());
        assert_eq!(answer.failure, None, "objects[{index}]");
        let back = &items(&answer.body, &["response", "convertedObjects"])[0];
        let mut differences = Vec::new();
        compare("", Some(original), Some(back), &mut differences);
        let what = if differences.is_empty() {
            "the original"
        } else {
            "the original, but for"
        };
        told += &format!(
            "objects[{index}] back to {}: {what}\n",
            version.trim_matches('"')
        );
        for (place, before, after) in differences {
            assert!(
                EXEMPT.contains(&place.as_str()),
                "objects[{index}]: {place}: {before} became {after}"
            );
            told += &format!("  {place}: {before} became {after}\n");
        }
    }
    told
}

fn at(text: &str, path: &[&str]) -> Option<String> {
    path.iter().try_fold(text.to_owned(), |text, step| {
        let node = Node::from(text);
        let object = node.members()?;
        object.get(step).map(|value| value.text().into_owned())
    })
}

fn items(text: &str, path: &[&str]) -> Vec<String> {
    let list = at(text, path).map(Node::from);
    let items = list.as_ref().and_then(Node::items).unwrap_or_default();
    items.iter().map(|item| item.text().into_owned()).collect()
}

/// Collects the innermost places at which two values are not the same; the order of members and the white space between values
/// do not count.
fn compare(
    place: &str,
    before: Option<&str>,
    after: Option<&str>,
    differences: &mut Vec<(String, String, String)>,
) {
    if before == after {
        return;
    }
    if let (Some(a), Some(b)) = (before.map(Node::from), after.map(Node::from)) {
        if let (Some(a), Some(b)) = (a.members(), b.members()) {
            let names = a.members().iter().chain(b.members());
            let names: BTreeSet<_> = names.map(|member| member.key.name()).collect();
            for name in names {
                let [a, b] = [&a, &b].map(|object| object.get(&name).map(Node::text));
                compare(
                    &format!("{place}/{name}"),
                    a.as_deref(),
                    b.as_deref(),
                    differences,
                );
            }
            return;
        }
        if let (Some(a), Some(b)) = (a.items(), b.items())
            && a.len() == b.len()
        {
            for (index, (a, b)) in a.iter().zip(b.iter()).enumerate() {
                compare(
                    &format!("{place}/{index}"),
                    Some(&a.text()),
                    Some(&b.text()),
                    differences,
                );
            }
            return;
        }
    }
    let text = |value: Option<&str>| value.unwrap_or("nothing").to_owned();
    differences.push((place.to_owned(), text(before), text(after)));
}
