//! `operation.parameters`, any JSON, and `parameters`, strings only.

use std::collections::BTreeMap;

use crate::json::{Node, Object, Scanner, decode, encode};
use crate::lens::{Crossed, Lens, Unexpected, Way};
use crate::rest::Rest;

/// A string is itself in both. Any other value is shown as its JSON text, and the rest remembers of which kind it was: text that
/// is still JSON of that kind, edited or not, becomes such a value again; any other text stays a string.
pub(super) struct Parameters;

/// What the rest remembers of a value that is no string although the spoke has strings only.
const AS_IT_IS: &str = "\"as it is\"";

/// The levels around a parameter in the largest message that it is part of: a ConversionReview.
const LEVELS_AROUND: usize = 7;

impl Lens for Parameters {
    fn label(&self) -> Option<&'static str> {
        Some("kinds")
    }

    fn cross<'a>(
        &self,
        way: Way,
        source: Option<&Node<'a>>,
        kept: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected> {
        let Some(source) = source else {
            return Ok(Crossed::default());
        };
        if source.is_null() {
            return Ok(Crossed {
                value: Some(source.clone()),
                rest: None,
            });
        }
        let members = source
            .members()
            .ok_or_else(|| Unexpected::at_top("an object", source))?;
        let kept = kept
            .and_then(|kept| Rest::parse(&kept.text()).ok())
            .unwrap_or_default();
        let mut shown = Object::default();
        let mut kinds = BTreeMap::new();
        for member in members.members() {
            let key = decode(&member.key);
            let kept = kept.entries.get(key.as_ref()).map(String::as_str);
            let (value, kind) = match way {
                Way::Down => down(&member.value, kept),
                Way::Up => up(&member.value, kept),
            };
            kinds.extend(kind.map(|kind| (key.into_owned(), kind)));
            shown.push(member.key.clone(), value);
        }
        let rest = (!kinds.is_empty()).then(|| Rest { entries: kinds }.to_json());
        Ok(Crossed {
            value: Some(Node::Object(shown)),
            rest,
        })
    }
}

fn down<'a>(value: &Node<'a>, kept: Option<&str>) -> (Node<'a>, Option<String>) {
    if value.kind() == "string" || kept == Some(AS_IT_IS) {
        return (value.clone(), None);
    }
    (
        Node::from(encode(&value.text())),
        Some(encode(value.kind())),
    )
}

fn up<'a>(shown: &Node<'a>, kept: Option<&str>) -> (Node<'a>, Option<String>) {
    let Some(raw) = shown.string() else {
        return (shown.clone(), Some(AS_IT_IS.to_owned()));
    };
    let parsed = kept.and_then(|kind| json_of_kind(&decode(raw), kind));
    (parsed.unwrap_or_else(|| shown.clone()), None)
}

/// `text` as a JSON value, if it is one of this kind (in quotes).
fn json_of_kind<'b>(text: &str, kind: &str) -> Option<Node<'b>> {
    let mut scanner = Scanner::with_depth(text, crate::json::MAX_DEPTH - LEVELS_AROUND);
    let value = scanner.value().ok()?;
    scanner.end().ok()?;
    let value = Node::from(value);
    (encode(value.kind()) == kind).then(|| value.into_owned())
}
