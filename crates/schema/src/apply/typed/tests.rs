//! Values against types.
