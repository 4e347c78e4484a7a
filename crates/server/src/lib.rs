//! The HTTP server: the pipeline, the catalog of served resources, the verbs, background loops.

pub mod pki;
