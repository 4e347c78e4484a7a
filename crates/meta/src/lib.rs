//! The vocabulary of Crest: values, paths, field errors and everything that is said about an object
//! without knowing its kind.
//!
//! Pure: no IO, no clock, no async. Same input, same output, same order of errors.

pub mod field_error;
pub mod go_duration;
pub mod go_fmt;
pub mod gvk;
pub mod json_path;
pub mod names;
pub mod object;
pub mod patch;
pub mod path;
pub mod selector;
pub mod status;
pub mod time;
pub mod value;
pub mod wire;

pub use field_error::{ErrorType, FieldError, Shown};
pub use gvk::{GroupKind, GroupResource, GroupVersion, Gvk, Gvr};
pub use object::{Meta, MetaMut};
pub use path::FieldPath;
pub use status::Status;
pub use value::{Map, Text, Value};
