//! What objects of a kind look like, and what happens to them on their way into the store.
//!
//! Two forms of description, one interface: built-in kinds are described by types, custom ones by schemas.

use std::sync::Arc;

use meta::{FieldError, Map, Value};
use schema::apply::TypeDef;
use schema::typed;

use super::Resource;
use crate::verbs::NamedKind;

/// The shape of a kind's objects.
pub enum Form {
    Builtin(BuiltinForm),
    Custom(CustomForm),
}

/// A built-in kind and the behaviour that is its own.
pub struct BuiltinForm {
    pub kind: typed::Kind,
    pub types: Arc<TypeDef>,
    pub hooks: Hooks,
}

/// Small pure functions for what a built-in kind does differently. Each has a plain default.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Completes a new object before it is validated.
    pub prepare_create: fn(&mut Value),
    /// Takes over from the old object what an update may not change.
    pub prepare_update: fn(&mut Value, &Value),
}

impl Default for Hooks {
    fn default() -> Self {
        Hooks { prepare_create: |_| {}, prepare_update: |_, _| {} }
    }
}

/// A kind from a definition, in one version.
pub struct CustomForm {
    pub schema: Option<Arc<schema::Schema>>,
    pub types: Arc<TypeDef>,
    /// Unknown fields stay: a definition of old.
    pub preserve_unknown: bool,
    pub status: bool,
}
