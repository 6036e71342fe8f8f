//! What is wrong with a field, as Kubernetes says it: path, value, rule.

use std::fmt;

/// How much of a bad value is shown, in characters.
pub const SHOWN_MAX: usize = 128;

/// One thing that is wrong with an object.
///
/// Its text is `spec.port: Invalid value: 0: must be between 1 and 65535`, as for a type that is built into Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field.
    pub path: Path,
    /// What kind of problem it is.
    pub kind: ProblemKind,
    /// The value as JSON, shortened; `None` where showing it tells nothing.
    pub value: Option<String>,
    /// The rule that it breaks, in words.
    pub rule: String,
}

/// The kinds of problems that Kubernetes tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// A value is not allowed.
    Invalid,
    /// A value is missing.
    Required,
    /// A value is none of those that are possible.
    NotSupported,
    /// A value is too long.
    TooLong,
    /// There are too many values.
    TooMany,
    /// A value is of the wrong type.
    TypeInvalid,
    /// A change is not allowed, whatever the value.
    Forbidden,
}

impl ProblemKind {
    /// The reason in a status's causes.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::Required => "FieldValueRequired",
            Self::NotSupported => "FieldValueNotSupported",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Forbidden => "FieldValueForbidden",
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Required => "Required value",
            Self::NotSupported => "Unsupported value",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::Forbidden => "Forbidden",
        }
    }
}

impl Problem {
    /// A problem with the value at `path`, which is shown if it is given (as JSON).
    pub fn new(
        path: Path,
        kind: ProblemKind,
        value: Option<&str>,
        rule: impl Into<String>,
    ) -> Self {
        Self {
            path,
            kind,
            value: value.map(shortened),
            rule: rule.into(),
        }
    }

    /// The text without the path: the message of a cause in a status.
    pub fn body(&self) -> String {
        let title = self.kind.title();
        match &self.value {
            Some(value) => format!("{title}: {value}: {}", self.rule),
            None => format!("{title}: {}", self.rule),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

/// The path of a field, such as `spec.operation.timeout`, or `spec.env[LANG]` where it goes by a key that the user chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path(String);

impl Path {
    /// The path of a member of the object itself.
    pub fn root(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The path of the field `name` below this one.
    pub fn field(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    /// The path of the key `name` of the map that this one leads to.
    pub fn key(&self, name: &str) -> Self {
        Self(format!("{}[{name}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shortened(&self.0))
    }
}

/// The beginning of `text`, on one line.
fn shortened(text: &str) -> String {
    let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
    let mut short: String = text.chars().take(SHOWN_MAX).map(on_one_line).collect();
    if text.chars().nth(SHOWN_MAX).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_reads_as_one_of_kubernetes() {
        let port = Path::root("spec").field("port");
        let problem = Problem::new(
            port,
            ProblemKind::Invalid,
            Some("0"),
            "must be between 1 and 65535",
        );
        assert_eq!(
            problem.to_string(),
            "spec.port: Invalid value: 0: must be between 1 and 65535"
        );
        let value = Path::root("spec").field("env").key("A");
        let problem = Problem::new(
            value,
            ProblemKind::TooLong,
            None,
            "may not be more than 4096 characters",
        );
        assert_eq!(
            problem.to_string(),
            "spec.env[A]: Too long: may not be more than 4096 characters"
        );
    }

    #[test]
    fn a_long_value_is_shortened_and_a_problem_is_one_line() {
        let value = format!("\"{}\"", "ä".repeat(1000));
        let path = Path::root("spec").key("a\nb");
        let text = Problem::new(path, ProblemKind::Invalid, Some(&value), "rule").to_string();
        assert!(text.starts_with("spec[a b]: Invalid value: \"ää"), "{text}");
        assert!(text.ends_with("ä…: rule"), "{text}");
        assert!(text.chars().count() < SHOWN_MAX + 50);
    }
}
