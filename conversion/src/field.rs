//! What a table of fields is written in: one [`Field`] a line says how a field of a spoke stands to the hub.

use crate::json::Node;
use crate::lens::{Lens, OldName};

/// One line of a spoke's table.
///
/// Paths are written `spec.operation.timeout`. Every leaf of both schemas has a line, or stands below one that says [`same`], which
/// is how a field that nobody knows is noticed.
#[derive(Clone, Copy)]
pub struct Field {
    /// The hub's path; empty for a field that only the spoke has.
    pub(crate) hub: &'static str,
    /// The spoke's path; empty for a field that only the hub has.
    pub(crate) spoke: &'static str,
    pub(crate) role: Role,
}

/// Whether a version's schema admits a value.
pub type Admits = fn(&Node<'_>) -> bool;

/// How the two values stand to each other.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// The same path, the same value: never touched.
    Same,
    /// The same value at another path, or another form of it.
    Mapped(&'static dyn Lens),
    /// One version has it, the other has nothing like it.
    Only(Admits),
    /// The spoke shows under an old name, too, what both have at the hub's path.
    OldName(&'static dyn OldName),
}

/// The same field in both versions, whole: nothing in it is looked at, and nothing of it is ever in a rest.
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
///
/// A rest is an annotation, which anybody may write: only a value that `admits` takes is believed to have been there.
pub const fn hub_only(hub: &'static str, admits: Admits) -> Field {
    Field {
        hub,
        spoke: "",
        role: Role::Only(admits),
    }
}

/// A field that the hub cannot show: it rides in the rest, as with [`hub_only`].
pub const fn spoke_only(spoke: &'static str, admits: Admits) -> Field {
    Field {
        hub: "",
        spoke,
        role: Role::Only(admits),
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
