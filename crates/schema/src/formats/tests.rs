//! Tests of formats.
