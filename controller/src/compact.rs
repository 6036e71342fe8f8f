//! Text that takes little room.

use std::fmt;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};
use serde::Serialize;

/// A Task and its children, as the caches write them. It means nothing: where others resemble it less they take more room, and that is all.
const MODEL: &[u8] = include_bytes!("compact/model.jsonl");

/// A text, compressed.
///
/// What the controller keeps is alike but for names, numbers and times. So each text is compressed (LZ4) as what it has that a model has not: a
/// Deployment of 2.5 kB takes 0.4 kB.
#[derive(Clone)]
pub struct Compact(Box<[u8]>);

impl Compact {
    /// This text.
    pub fn new(text: &str) -> Self {
        Self(compress_prepend_size_with_dict(text.as_bytes(), MODEL).into())
    }

    /// This value as JSON.
    pub fn json(value: &impl Serialize) -> Self {
        // What was read from JSON can be written as JSON. If not, it is said when it is read.
        Self::new(&serde_json::to_string(value).unwrap_or_default())
    }

    /// The text.
    pub fn read(&self) -> String {
        // It was made by the same process, from a text.
        let bytes = decompress_size_prepended_with_dict(&self.0, MODEL).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }
}

impl fmt::Debug for Compact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.read())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        fixtures::{rolled_out, stored, task},
        reconcile::build,
        stored::Stored,
        watched::Watched,
    };

    proptest! {
        #[test]
        fn a_text_comes_back_as_it_was(text in prop_oneof![any::<String>(), "[a-c]{0,3000}"]) {
            prop_assert_eq!(Compact::new(&text).read(), text);
        }
    }

    #[test]
    fn a_text_that_is_longer_than_what_is_looked_back_on_comes_back_too() {
        let text: String = (0..50_000).map(|number| number.to_string()).collect();
        assert_eq!(Compact::new(&text).read(), text);
    }

    #[test]
    fn what_resembles_the_model_takes_a_fraction_of_its_length() {
        let task = task("some-task").env("LEVEL", "debug").build();
        let children = build::children(&task).unwrap();
        let deployment = rolled_out(stored(children.deployment), 1, 1, 1);
        for compact in [
            Compact::from(&Watched(Ok(task))),
            Compact::from(&Stored::of(&stored(children.config_map))),
            Compact::from(&Stored::of(&stored(children.service))),
            Compact::from(&Stored::of(&deployment)),
        ] {
            let length = compact.read().len();
            assert!(
                3 * compact.0.len() < length,
                "{length} bytes take {}",
                compact.0.len()
            );
        }
    }
}
