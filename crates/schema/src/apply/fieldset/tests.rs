//! Laws and spellings of field sets.
use super::*;
