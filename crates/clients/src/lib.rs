//! Nothing but tests: see `tests/`.
//!
//! A crate of its own because the client libraries take longer to build than everything they test.
