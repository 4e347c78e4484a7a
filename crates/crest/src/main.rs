//! The program: flags become a configuration, the configuration becomes a running server.

fn main() {}
