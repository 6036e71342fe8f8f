//! The steps of a JSON Pointer (RFC 6901).

use std::borrow::Cow;

use crate::json::decode;

/// The step that a key's raw text makes.
pub(crate) fn step_of(key: &str) -> String {
    decode(key).replace('~', "~0").replace('/', "~1")
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
        for (key, step, name) in [
            ("spec", "spec", "spec"),
            ("a~/b", "a~0~1b", "a~/b"),
            ("~1", "~01", "~1"),
            (r"\u007e", "~0", "~"),
        ] {
            assert_eq!(step_of(key), step);
            assert_eq!(name_of(step), name);
        }
    }
}
