//! What a list or watch asks for: selections by label and by field.

pub mod field;
pub mod label;

pub use field::FieldSelector;
pub use label::LabelSelector;
