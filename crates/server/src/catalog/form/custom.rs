//! Bodies of the kinds that definitions make: by which schema they are read.

use std::sync::Arc;

use meta::object::Malformed;
use meta::{FieldError, Map, Value};

use super::{CustomForm, Reads, differ_outside, take_only_status};
use crate::catalog::Resource;
use crate::verbs::write::{metadata_mut, set_or_remove};
use crate::verbs::{Call, NamedKind};

impl CustomForm {
    pub(super) fn prepare_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return take_only_status(new, old);
        }
        let ignored: &[&str] = if self.status { &["metadata", "status"] } else { &["metadata"] };
        if self.status
            && let Value::Object(members) = new
        {
            set_or_remove(members, "status", old.get("status").cloned());
        }
        if differ_outside(old, new, ignored) {
            let generation = old.at(&["metadata", "generation"]).and_then(Value::as_int).unwrap_or(0);
            metadata_mut(new).insert("generation", generation + 1);
        }
    }

    /// Everything that the schema and its rules find wrong. What they forgive is a warning.
    pub(super) fn check(&self, call: &Call, new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
        let Some(schema) = &self.schema else { return };
        let found = match (call.target().subresource.as_str(), old) {
            ("status", Some(old)) => schema.validate_status(new, old, self.scale.as_ref()),
            _ => schema.validate(new, old, self.scale.as_ref()),
        };
        errors.extend(found.errors);
        found.warnings.into_iter().for_each(|warning| call.warnings.add(warning));
    }

    /// The same for an object that claims to be of another kind.
    pub(super) fn check_foreign(
        &self,
        call: &Call,
        new: &Value,
        old: Option<&Value>,
        errors: &mut Vec<FieldError>,
    ) {
        let Some(schema) = self.schema.as_ref().filter(|_| call.target().subresource != "status") else {
            return;
        };
        let found = schema.validate_foreign(new, old);
        errors.extend(found.errors);
        found.warnings.into_iter().for_each(|warning| call.warnings.add(warning));
    }

    pub(super) fn decode(
        &self,
        resource: &Resource,
        value: &mut Value,
        named: &NamedKind,
    ) -> Result<Vec<String>, String> {
        let mut unknown = Vec::new();
        let own_kind = named.kind == resource.names.kind && named.version.group == resource.group;
        let schema = if own_kind { self.schema_of(&named.version.to_string()) } else { None };
        match schema {
            Some(schema) if !self.preserve_unknown => {
                let shaped = schema.shape(value, Malformed::Reject, Some(&mut unknown));
                shaped.map_err(|error| error.to_string())?;
            }
            _ => schema::coerce::coerce_metadata(value, Malformed::Reject, Some(&mut unknown))
                .map_err(|error| error.to_string())?,
        }
        if let Some(schema) = schema {
            schema.default(value);
        } else if own_kind && self.schema.is_some() {
            // A version that the definition does not have. It will be refused for that; of its fields none is
            // known.
            let members = value.as_object().into_iter().flat_map(Map::keys);
            let known = ["apiVersion", "kind", "metadata"];
            unknown.extend(members.filter(|key| !known.contains(key)).map(str::to_owned));
        }
        Ok(unknown)
    }

    /// The schema of one of the definition's versions.
    pub(super) fn schema_of(&self, api_version: &str) -> Option<&Arc<schema::Schema>> {
        if api_version == self.ownership.api_version {
            return self.schema.as_ref();
        }
        match &self.reads {
            Reads::AsStored => None,
            Reads::Converted(views) => {
                let schemas = &views.converter().schemas;
                schemas.iter().find(|(version, _)| version == api_version)?.1.as_ref()
            }
        }
    }
}
