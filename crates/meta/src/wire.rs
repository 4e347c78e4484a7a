//! The formats objects arrive and leave in.
//!
//! Readers accept what the reference's readers accept and fail with their words; writers produce their bytes.

pub mod json;
pub mod negotiate;
pub mod yaml;
