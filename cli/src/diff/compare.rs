//! Two JSON values, field by field.

use std::fmt;

use serde_json::Value;

/// A field that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where, as in `.spec.env[name=A].value`.
    pub path: String,
    /// What stands on the left side, if anything does.
    pub left: Option<Value>,
    /// What stands on the right side, if anything does.
    pub right: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match (&self.left, &self.right) {
            (Some(left), Some(right)) => write!(formatter, "{path}: {left} became {right}"),
            (Some(left), None) => write!(formatter, "{path}: {left} is gone"),
            (None, Some(right)) => write!(formatter, "{path}: {right} is new"),
            (None, None) => write!(formatter, "{path}"),
        }
    }
}

/// Which fields are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All of both sides.
    All,
    /// Those that the left side has: the right one may have more, such as defaults.
    OfLeft,
}

/// The members that tell the items of a list apart, in the order in which they are tried.
const KEYS: [&str; 2] = ["name", "type"];

/// What is not the same, in order.
#[must_use]
pub fn compare(left: &Value, right: &Value, scope: Scope) -> Vec<Difference> {
    let mut differences = Vec::new();
    fields(Some(left), Some(right), scope, "", &mut differences);
    differences
}

fn fields(
    left: Option<&Value>,
    right: Option<&Value>,
    scope: Scope,
    path: &str,
    differences: &mut Vec<Difference>,
) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            for (name, value) in left {
                let path = below(path, name);
                fields(Some(value), right.get(name), scope, &path, differences);
            }
            for (name, value) in right {
                if !left.contains_key(name) {
                    fields(None, Some(value), scope, &below(path, name), differences);
                }
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            items(left, right, scope, path, differences);
        }
        (None, Some(_)) if scope == Scope::OfLeft => {}
        (left, right) if left == right => {}
        (left, right) => differences.push(Difference {
            path: path.to_owned(),
            left: left.cloned(),
            right: right.cloned(),
        }),
    }
}

fn items(
    left: &[Value],
    right: &[Value],
    scope: Scope,
    path: &str,
    differences: &mut Vec<Difference>,
) {
    let key = KEYS.into_iter().find(|key| {
        let all = || left.iter().chain(right);
        all().next().is_some() && all().all(|item| item[*key].is_string())
    });
    let Some(key) = key else {
        for index in 0..left.len().max(right.len()) {
            let path = format!("{path}[{index}]");
            fields(left.get(index), right.get(index), scope, &path, differences);
        }
        return;
    };
    let same =
        |side: &[Value], item: &Value| side.iter().find(|other| other[key] == item[key]).cloned();
    let path = |item: &Value| format!("{path}[{key}={}]", item[key].as_str().unwrap_or_default());
    for item in left {
        let other = same(right, item);
        fields(Some(item), other.as_ref(), scope, &path(item), differences);
    }
    for item in right {
        if same(left, item).is_none() {
            fields(None, Some(item), scope, &path(item), differences);
        }
    }
    let order = |side: &[Value]| {
        side.iter()
            .map(|item| item[key].clone())
            .collect::<Vec<_>>()
    };
    let (ordered, other) = (order(left), order(right));
    if differences.is_empty() && scope == Scope::All && ordered != other {
        differences.push(Difference {
            path: path(&Value::Null).replace(&format!("[{key}=]"), " (order)"),
            left: Some(ordered.into()),
            right: Some(other.into()),
        });
    }
}

/// The path of a member: its name in brackets where it would not be told from the path.
fn below(path: &str, name: &str) -> String {
    if name.contains(['.', '[', '/']) {
        format!("{path}[{name:?}]")
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(left: Value, right: Value, scope: Scope) -> Vec<String> {
        let differences = compare(&left, &right, scope);
        differences.iter().map(Difference::to_string).collect()
    }

    #[test]
    fn each_field_is_told_by_its_path() {
        let left = json!({"spec": {"a": 1, "b": {"c": [1, 2]}}, "x": null});
        let right = json!({"spec": {"a": 2, "b": {"c": [1]}, "d": 3}});
        assert_eq!(
            told(left.clone(), right.clone(), Scope::All),
            [
                ".spec.a: 1 became 2",
                ".spec.b.c[1]: 2 is gone",
                ".spec.d: 3 is new",
                ".x: null is gone"
            ]
        );
        assert_eq!(told(left, right, Scope::OfLeft).len(), 3);
    }

    #[test]
    fn items_are_matched_by_their_names_and_their_order_counts() {
        let left = json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]});
        let right = json!({"env": [{"name": "B", "value": "3"}, {"name": "A", "value": "1"}]});
        assert_eq!(
            told(left.clone(), right, Scope::All),
            [r#".env[name=B].value: "2" became "3""#]
        );
        let turned = json!({"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]});
        assert_eq!(
            told(left, turned, Scope::All),
            [r#".env (order): ["A","B"] became ["B","A"]"#]
        );
    }

    #[test]
    fn a_name_with_a_dot_is_told_apart_from_a_path() {
        let left = json!({"annotations": {"a.b/c": "1"}});
        assert_eq!(
            told(left, json!({"annotations": {}}), Scope::All),
            [r#".annotations["a.b/c"]: "1" is gone"#]
        );
    }
}
