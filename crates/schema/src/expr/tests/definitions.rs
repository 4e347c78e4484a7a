//! Definitions.
