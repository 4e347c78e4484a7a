//! Every developer task of Crest, in Rust: `cargo xtask test`, `conform`, `bench`.

fn main() {}
