//! The steps of a JSON Pointer (RFC 6901).

use std::borrow::Cow;

use crate::json::Key;

/// The step that a key makes.
pub(crate) fn step_of(key: &Key<'_>) -> String {
    key.name().replace('~', "~0").replace('/', "~1")
}

/// The name that a step stands for.
pub(crate) fn name_of(step: &str) -> Cow<'_, str> {
    if step.contains('~') {
        Cow::Owned(step.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_leads_back_to_its_name() {
        for (name, step) in [
            ("spec", "spec"),
            ("a~/b", "a~0~1b"),
            ("~1", "~01"),
            ("\"", "\""),
        ] {
            assert_eq!(step_of(&Key::of(name)), step);
            assert_eq!(name_of(step), name);
        }
    }
}
