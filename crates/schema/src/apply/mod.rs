//! Field ownership and server-side apply, as pure functions on values.
//!
//! - [`track_update`] records who changed what on create, update and patch; [`apply()`] merges an applied
//!   configuration into the live object.
//! - `typedef` describes a type, `element` and `fieldset` name fields, `compare` finds what differs,
//!   `typed` checks a value, `entry` is the wire form of an owner.

mod applier;
mod compare;
mod conflict;
mod element;
mod entry;
mod fieldset;
mod last_applied;
mod managers;
mod merge;
mod prune;
mod reconcile;
mod reset;
mod scale;
mod typed;
mod typedef;
mod versions;

#[cfg(test)]
mod testing;

pub use applier::{ApplyError, ApplyRequest, apply};
pub use compare::{Delta, NotConforming, compare};
pub use conflict::{ConflictCause, ConflictError};
pub use element::{ElementError, PathElement};
pub use entry::{Entry, EntryError, Operation};
pub use fieldset::{FieldSet, FieldsError};
pub use managers::{
    ManagerInfo, TrackError, manager_of_user_agent, restore_times_if_unchanged, track_update,
    validate_managed_fields,
};
pub use merge::{merge, remove};
pub use reset::ResetFields;
pub use scale::{ReplicasPath, owners_of_parent, owners_of_scale, scale_type};
pub use typed::{Duplicates, TypeError, TypeErrors, field_set, validate};
pub use typedef::{Field, ListDef, ListKind, MapDef, Scalar, TypeDef, TypeRef};
pub use versions::{ConvertError, SingleVersion, Versions};
