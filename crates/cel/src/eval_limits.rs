//! Bounds on what an expression may build, whatever its cost.

use crate::error::EvalError;

/// Bound: bytes of a text or byte string that an expression builds.
const BUILT_BYTES_MAX: usize = 64 << 20;

/// Refuses texts and byte strings beyond the bound before they are built.
pub(crate) fn check_built(bytes: usize) -> Result<(), EvalError> {
    if bytes > BUILT_BYTES_MAX {
        return Err(EvalError::new(format!("result exceeds {BUILT_BYTES_MAX} bytes")));
    }
    Ok(())
}
