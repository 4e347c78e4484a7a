//! Tests of the judgement of definitions.
