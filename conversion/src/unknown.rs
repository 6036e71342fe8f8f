//! Fields that the tables do not know: a newer schema has them, and during a rolling upgrade they must cross unharmed.
//!
//! Each stays at its path and, as the target's schema may prune it there, is kept in the rest as well. Where the target has a field or a
//! container of its own at that path, it is in the rest only.

use crate::ConvertError;
use crate::json::{Key, Node, Object};
use crate::pointer::step_of;
use crate::rest::Rest;
use crate::tree::Tree;

/// A member's place, linked to the one above it (none for a member of the root); rendered only when somebody needs to know.
#[derive(Clone, Copy)]
struct At<'p> {
    above: Option<&'p At<'p>>,
    key: &'p Key<'p>,
}

impl At<'_> {
    fn pointer(&self) -> String {
        let above = self.above.map(At::pointer).unwrap_or_default();
        above + "/" + &step_of(self.key)
    }
}

/// Walks the known containers of `root`: checks that each is one, keeps unknown members in `rest`, and takes those out whose
/// place belongs to a field of the target. What `kept` already tells of came from the target and needs no keeping.
///
/// # Errors
/// When a known container is something else.
pub(crate) fn carry(
    root: &mut Object<'_>,
    source: &Tree,
    target: &Tree,
    kept: &Rest,
    rest: &mut Rest,
) -> Result<(), ConvertError> {
    Walk { kept, rest }.object(root, Some(source), Some(target), None)
}

struct Walk<'w> {
    kept: &'w Rest,
    rest: &'w mut Rest,
}

impl Walk<'_> {
    fn object(
        &mut self,
        object: &mut Object<'_>,
        source: Option<&Tree>,
        target: Option<&Tree>,
        above: Option<&At<'_>>,
    ) -> Result<(), ConvertError> {
        let mut taken = Vec::new();
        for (index, member) in object.members_mut().iter_mut().enumerate() {
            let at = At {
                above,
                key: &member.key,
            };
            let value = &mut member.value;
            match source.and_then(|source| source.child(at.key)) {
                Some(known) if known.is_container() => {
                    if let Some(container) = value.open() {
                        let target = target.and_then(|target| target.child(at.key));
                        self.object(container, Some(known), target, Some(&at))?;
                    } else if !value.is_null() {
                        let (pointer, found) = (at.pointer(), value.kind());
                        return Err(ConvertError::unexpected(pointer, "an object", found));
                    }
                }
                Some(_) => {}
                None => {
                    let target = target.and_then(|target| target.child(at.key));
                    if self.unknown(value, target, at, source.is_none())? {
                        taken.push(index);
                    }
                }
            }
        }
        if taken.is_empty() {
            return Ok(());
        }
        let mut index = 0;
        let mut taken = taken.into_iter().peekable();
        object.members_mut().retain(|_| {
            let is_taken = taken.next_if_eq(&index).is_some();
            index += 1;
            !is_taken
        });
        Ok(())
    }

    /// Keeps a member that the source does not know; true when it must not stay where it is: where the target has a field of its own,
    /// or, `within` a container that only the target knows, something that did not come from there.
    fn unknown(
        &mut self,
        value: &mut Node<'_>,
        target: Option<&Tree>,
        at: At<'_>,
        within: bool,
    ) -> Result<bool, ConvertError> {
        if target.is_some_and(Tree::is_container)
            && let Some(object) = value.open()
            && !object.is_empty()
        {
            self.object(object, None, target, Some(&at))?;
            return Ok(object.is_empty());
        }
        let pointer = at.pointer();
        let is_targets = self.kept.entries.contains_key(&pointer);
        if !is_targets {
            self.rest.entries.insert(pointer, value.text().into_owned());
        }
        Ok(target.is_some() || within && !is_targets)
    }
}
