//! How the value of one field is seen from the other version.

use crate::json::Node;

/// The two-way view of one field's value.
///
/// Whatever value a source's schema admits, [`cross`](Lens::cross) there and back again gives the same value; what the target cannot
/// show of it comes out as [`Crossed::rest`] and goes in again as `kept`. After an edit of the shown value, the edit wins.
///
/// `kept` comes from an annotation, which anybody may write: whatever it holds, what it brings back is a value that the target's
/// schema admits, provided that the source's schema admits what is shown.
pub trait Lens: Sync {
    /// Names the rest that crossing this way leaves among others of the same field, and so must never change; `None` where the
    /// rest is the source's value itself, which a server that does not know this lens may put back as it stands.
    fn label(&self, _way: Way) -> Option<&'static str> {
        None
    }

    /// What the source's value is in the target.
    ///
    /// `kept` is what the source's object still holds of the value that the target once had.
    ///
    /// # Errors
    /// When the source's value is of a kind that neither schema admits.
    fn cross<'a>(
        &self,
        way: Way,
        source: Option<&Node<'a>>,
        kept: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected>;
}

/// Where a conversion goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the hub to a spoke.
    Down,
    /// From a spoke to the hub.
    Up,
}

/// A value that has crossed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crossed<'a> {
    /// What the target shows; `None` when it shows nothing.
    pub value: Option<Node<'a>>,
    /// JSON text of what the target cannot show; `None` when nothing would be lost.
    pub rest: Option<String>,
}

impl<'a> Crossed<'a> {
    /// A value that the target can show as it is, or none at all.
    pub fn whole(value: Option<Node<'a>>) -> Self {
        Self { value, rest: None }
    }
}

/// A value of a kind that the conversion cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unexpected {
    /// Where, below the field: empty, or a JSON Pointer as in `/3/name`.
    pub at: String,
    /// What should stand there.
    pub expected: &'static str,
    /// The JSON kind of what stands there, or `nothing`.
    pub found: &'static str,
}

impl Unexpected {
    /// That `found` is no `expected`.
    pub fn at_top(expected: &'static str, found: &Node<'_>) -> Self {
        Self {
            at: String::new(),
            expected,
            found: found.kind(),
        }
    }
}

/// The same value in both versions, at another path.
pub struct Unchanged;

impl Lens for Unchanged {
    fn cross<'a>(
        &self,
        _: Way,
        source: Option<&Node<'a>>,
        _: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected> {
        Ok(Crossed::whole(source.cloned()))
    }
}

/// A second form of the same value, by two functions that need not be each other's inverse: where the way back would give
/// another text, the source's own text is the rest.
pub struct Forms {
    /// The spoke's form of the hub's value; `None` when it has none, and does not come back, as what is not shown counts as deleted.
    pub down: fn(&Node<'_>) -> Result<Option<String>, Unexpected>,
    /// The hub's form of the spoke's value; `None` likewise.
    pub up: fn(&Node<'_>) -> Result<Option<String>, Unexpected>,
}

impl Lens for Forms {
    fn cross<'a>(
        &self,
        way: Way,
        source: Option<&Node<'a>>,
        kept: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected> {
        let (there, back) = match way {
            Way::Down => (self.down, self.up),
            Way::Up => (self.up, self.down),
        };
        let source = match source {
            Some(source) if !source.is_null() => source,
            nothing => return Ok(Crossed::whole(nothing.cloned())),
        };
        let shown = source.text();
        let shows_the_same = |value: &Node<'_>| {
            back(value).is_ok_and(|back| back.as_deref() == Some(shown.as_ref()))
        };
        if let Some(kept) = kept.filter(|kept| shows_the_same(kept)) {
            return Ok(Crossed::whole(Some(kept.clone())));
        }
        let value = there(source)?.map(Node::from);
        let rest = (!value.as_ref().is_some_and(shows_the_same)).then(|| shown.into_owned());
        Ok(Crossed { value, rest })
    }
}

/// An older name for a value.
pub trait OldName: Sync {
    /// The older name's value for the newer one's; `None` when it has none.
    fn older(&self, newer: &Node<'_>) -> Option<String>;
    /// The newer name's value for the older one's; `None` when it has none.
    fn newer(&self, older: &Node<'_>) -> Option<String>;
    /// Whether two values of the older name say the same.
    fn agree(&self, a: &Node<'_>, b: &Node<'_>) -> bool;
}
