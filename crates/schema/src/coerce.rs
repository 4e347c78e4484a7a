//! Brings the metadata of a resource, and of the resources embedded in it, into the form that typed metadata has:
//! known fields only, of the right type, without empty ones.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/schema/objectmeta/algorithm.go and coerce.go, v1.36.

use meta::object::{CoerceError, Coerced, Malformed, MetaOwner, coerce};
use meta::{FieldError, FieldPath, Map, Value};

use crate::structural::{Facts, Members, Node, Schema};

/// Coerces `metadata` of an object.
///
/// The paths of unknown fields are added to `unknown`, in the order of the fields. Fails with the text of the
/// reference's JSON decoder; `metadata` is gone then.
///
/// ```
/// use meta::object::Malformed;
/// use meta::wire::json;
/// use crest_schema::coerce::coerce_metadata;
/// let mut object = json::parse(br#"{"metadata": {"name": "a", "labels": {}, "colour": 1}}"#).unwrap().value;
/// let mut unknown = Vec::new();
/// coerce_metadata(&mut object, Malformed::Reject, Some(&mut unknown)).unwrap();
/// assert_eq!(json::to_string(&object), r#"{"metadata":{"name":"a"}}"#);
/// assert_eq!(unknown, ["metadata.colour"]);
/// ```
pub fn coerce_metadata(
    object: &mut Value,
    malformed: Malformed,
    unknown: Option<&mut Vec<String>>,
) -> Result<(), CoerceError> {
    let Some(metadata) = object.get_mut("metadata") else {
        return Ok(());
    };
    let coerced = coerce(std::mem::take(metadata), MetaOwner::Custom, malformed)?;
    *metadata = coerced.metadata.into();
    if let Some(unknown) = unknown {
        unknown.extend(coerced.unknown);
    }
    Ok(())
}

impl Schema {
    /// Coerces the type and the metadata of embedded resources; those of the object itself are the caller's
    /// ([`coerce_metadata`]).
    pub fn coerce_embedded(
        &self,
        object: &mut Value,
        malformed: Malformed,
        unknown: Option<&mut Vec<String>>,
    ) -> Result<(), FieldError> {
        if !self.root.facts.has(Facts::EMBEDDED) {
            return Ok(());
        }
        let mut found = Vec::new();
        let mut coercer = Coercer { malformed, unknown: unknown.is_some().then_some(&mut found) };
        coercer.value(object, &self.root, self.root.embedded_resource, &FieldPath::ROOT)?;
        if let Some(unknown) = unknown {
            found.sort_unstable();
            unknown.append(&mut found);
        }
        Ok(())
    }
}

/// Coerces a whole object, the resource at its root included, and drops what is malformed.
pub(crate) fn repair(object: &mut Value, root: &Node) {
    let mut coercer = Coercer { malformed: Malformed::Drop, unknown: None };
    coercer.value(object, root, true, &FieldPath::ROOT).expect("what is malformed is dropped");
}

/// Coerces a value by its schema and refuses what is malformed. `is_resource` says whether the value itself is one.
pub(crate) fn check(
    value: &mut Value,
    node: &Node,
    is_resource: bool,
    path: &FieldPath<'_>,
) -> Result<(), FieldError> {
    Coercer { malformed: Malformed::Reject, unknown: None }.value(value, node, is_resource, path)
}

struct Coercer<'r> {
    malformed: Malformed,
    unknown: Option<&'r mut Vec<String>>,
}

impl Coercer<'_> {
    fn value(
        &mut self,
        value: &mut Value,
        node: &Node,
        is_resource: bool,
        path: &FieldPath<'_>,
    ) -> Result<(), FieldError> {
        if !is_resource && !node.facts.has(Facts::EMBEDDED) {
            return Ok(());
        }
        match value {
            Value::Object(map) => {
                if is_resource {
                    self.resource(map, path)?;
                }
                self.members(map, node, path)
            }
            Value::Array(items) => match node.items.as_deref() {
                Some(node) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
                    self.value(item, node, node.embedded_resource, &path.index(index))
                }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn members(&mut self, map: &mut Map, node: &Node, path: &FieldPath<'_>) -> Result<(), FieldError> {
        let mut members = Members::of(node);
        for (name, value) in map.iter_mut() {
            if let Some(property) = members.declared(name) {
                self.value(value, property, property.embedded_resource, &path.field(name))?;
            } else if let Some(node) = node.additional.schema() {
                self.value(value, node, node.embedded_resource, &path.key(name))?;
            }
        }
        Ok(())
    }

    fn resource(&mut self, map: &mut Map, path: &FieldPath<'_>) -> Result<(), FieldError> {
        for name in ["apiVersion", "kind"] {
            match map.get(name) {
                None | Some(Value::String(_)) => {}
                Some(_) if self.malformed == Malformed::Drop => {
                    map.remove(name);
                }
                Some(other) => {
                    return Err(FieldError::invalid(&path.field(name), other.clone(), "must be a string"));
                }
            }
        }
        let Some(metadata) = map.get_mut("metadata") else {
            return Ok(());
        };
        match coerce(metadata.clone(), MetaOwner::Custom, self.malformed) {
            Ok(Coerced { metadata: coerced, unknown: found }) => {
                *metadata = coerced.into();
                if let Some(unknown) = &mut self.unknown {
                    let owner = if path.is_root() { String::new() } else { format!("{path}.") };
                    unknown.extend(found.into_iter().map(|found| format!("{owner}{found}")));
                }
                Ok(())
            }
            // Metadata that is no object at all stays as it is when the rest is repaired.
            Err(_) if self.malformed == Malformed::Drop => Ok(()),
            Err(error) => {
                Err(FieldError::invalid(&path.field("metadata"), metadata.clone(), error.to_string()))
            }
        }
    }
}
