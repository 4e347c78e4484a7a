//! Tests of coercion.
