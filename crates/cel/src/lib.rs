//! The CEL language: parse, check, cost, evaluate. Knows no Kubernetes and no JSON crate.
