//! What happens to every custom resource between its bytes and everything else: metadata coerced, unknown fields and
//! unwanted nulls gone, embedded resources coerced. [`Schema::default`] comes next.
//!
//! Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go (unstructuredSchemaCoercer), v1.36.

use meta::object::{CoerceError, Malformed};
use meta::{FieldError, Value};

use crate::coerce::coerce_metadata;
use crate::structural::Schema;

/// Why an object cannot be brought into shape. The texts are the reference's.
#[derive(Debug, PartialEq)]
pub enum ShapeError {
    /// `metadata` is not metadata.
    Metadata(CoerceError),
    /// An embedded resource is not one.
    Embedded(FieldError),
}

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ShapeError::Metadata(error) => error.fmt(f),
            ShapeError::Embedded(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShapeError {}

impl Schema {
    /// Brings an object of the kind into shape.
    ///
    /// The paths of unknown fields are added to `unknown` in the reference's order: metadata, then the rest sorted,
    /// then the metadata of embedded resources sorted. An object from storage uses [`Malformed::Drop`].
    ///
    /// ```
    /// use meta::wire::json;
    /// use meta::object::Malformed;
    /// use crest_schema::Schema;
    /// let written = json::parse(br#"{"properties": {"a": {"type": "string"}}}"#).unwrap().value;
    /// let schema = Schema::compile(&written).unwrap();
    /// let mut object = json::parse(br#"{"a": null, "b": 1, "metadata": {"c": 2}}"#).unwrap().value;
    /// let mut unknown = Vec::new();
    /// schema.shape(&mut object, Malformed::Reject, Some(&mut unknown)).unwrap();
    /// assert_eq!(json::to_string(&object), r#"{"metadata":{}}"#);
    /// assert_eq!(unknown, ["metadata.c", "b"]);
    /// ```
    pub fn shape(
        &self,
        object: &mut Value,
        malformed: Malformed,
        mut unknown: Option<&mut Vec<String>>,
    ) -> Result<(), ShapeError> {
        coerce_metadata(object, malformed, unknown.as_deref_mut()).map_err(ShapeError::Metadata)?;
        self.prune(object, unknown.as_deref_mut());
        self.coerce_embedded(object, malformed, unknown).map_err(ShapeError::Embedded)
    }
}
