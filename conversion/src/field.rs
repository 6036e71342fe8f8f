//! What a table of fields is written in: one [`Field`] a line says how a field of a spoke stands to the hub.

use crate::lens::{Lens, OldName};

/// One line of a spoke's table.
///
/// Paths are written `spec.operation.timeout`; an item of a list is reached through the members that tell it from its siblings:
/// `status.conditions[type].reason`. Every leaf of both schemas has a line, which is how a field that nobody knows is noticed.
#[derive(Clone, Copy)]
pub struct Field {
    /// The hub's path; empty for a field that only the spoke has.
    pub(crate) hub: &'static str,
    /// The spoke's path; empty for a field that only the hub has.
    pub(crate) spoke: &'static str,
    pub(crate) role: Role,
}

/// How the two values stand to each other.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// The same path, the same value: never touched.
    Same,
    /// The same value at another path, or another form of it.
    Mapped(&'static dyn Lens),
    /// One version has it, the other has nothing like it.
    Only,
    /// The spoke shows under an old name, too, what both have at the hub's path.
    OldName(&'static dyn OldName),
}

/// The same field in both versions.
pub const fn same(path: &'static str) -> Field {
    Field {
        hub: path,
        spoke: path,
        role: Role::Same,
    }
}

/// A field whose form or place differs, as `lens` says.
pub const fn mapped(hub: &'static str, spoke: &'static str, lens: &'static dyn Lens) -> Field {
    Field {
        hub,
        spoke,
        role: Role::Mapped(lens),
    }
}

/// A field that the spoke cannot show: it rides in the rest.
pub const fn hub_only(hub: &'static str) -> Field {
    Field {
        hub,
        spoke: "",
        role: Role::Only,
    }
}

/// A field that the hub cannot show: it rides in the rest.
pub const fn spoke_only(spoke: &'static str) -> Field {
    Field {
        hub: "",
        spoke,
        role: Role::Only,
    }
}

/// A second, older name in the spoke for what both versions have at the hub's path.
///
/// It is written on the way down. On the way up an absent or empty one says nothing, and one that is set wins only where it
/// differs from what the newer name beside it would give: an old client has changed it.
pub const fn old_name(hub: &'static str, spoke: &'static str, lens: &'static dyn OldName) -> Field {
    Field {
        hub,
        spoke,
        role: Role::OldName(lens),
    }
}

/// One step of a path: a member's name and, for a list whose items are reached through it, the members that identify an item.
pub(crate) type Step = (&'static str, &'static [&'static str]);

/// The steps of a path. The keys of a list are leaked: tables are built once in the life of a process.
pub(crate) fn steps(path: &'static str) -> Vec<Step> {
    let step =
        |step: &'static str| match step.strip_suffix(']').and_then(|step| step.split_once('[')) {
            Some((name, keys)) => (name, &*keys.split(',').collect::<Vec<_>>().leak()),
            None => (step, &[][..]),
        };
    path.split('.')
        .filter(|step| !step.is_empty())
        .map(step)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_taken_apart_into_steps() {
        assert_eq!(
            steps("status.conditions[type].reason"),
            [
                ("status", &[][..]),
                ("conditions", &["type"][..]),
                ("reason", &[][..])
            ]
        );
    }
}
