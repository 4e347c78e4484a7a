//! What ownership has to know of a kind: its type in each version, and how to get from one to another.

use std::fmt;

use meta::Value;

use super::reset::ResetFields;
use super::typedef::TypeRef;

/// The versions of one kind, as seen by writes to one of its endpoints (main resource or subresource).
pub trait Versions {
    /// The type of the kind in a version; `None` when the version is no longer known. What managers owned in
    /// such a version is forgotten.
    fn type_of(&self, api_version: &str) -> Option<&TypeRef>;

    /// The fields that writes to this endpoint cannot change, in a version.
    fn reset_fields(&self, _api_version: &str) -> &ResetFields {
        ResetFields::none()
    }

    /// What an object is before it is created: for a kind with struct fields that are always present, the
    /// zero value; nothing for custom resources.
    fn empty(&self) -> Option<&Value> {
        None
    }

    /// The object in another version. Called only when a manager owns fields in a version other than the
    /// request's.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError>;
}

/// Why an object has no form in a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConvertError {
    /// The version does not exist (any more).
    UnknownVersion,
    Failed(String),
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::UnknownVersion => f.write_str("unknown version"),
            ConvertError::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for ConvertError {}

/// A kind with a single version.
#[derive(Clone, Debug)]
pub struct SingleVersion {
    pub api_version: String,
    pub ty: TypeRef,
    pub reset: ResetFields,
    pub empty: Option<Value>,
}

impl Versions for SingleVersion {
    fn type_of(&self, api_version: &str) -> Option<&TypeRef> {
        (api_version == self.api_version).then_some(&self.ty)
    }

    fn reset_fields(&self, _api_version: &str) -> &ResetFields {
        &self.reset
    }

    fn empty(&self) -> Option<&Value> {
        self.empty.as_ref()
    }

    fn convert(&self, _object: &Value, _api_version: &str) -> Result<Value, ConvertError> {
        Err(ConvertError::UnknownVersion)
    }
}
