//! The first line of a request: any method, path and query becomes a `RequestInfo` or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use server::request::{Method, parse};

const METHODS: [Method; 8] = [
    Method::Get,
    Method::Head,
    Method::Post,
    Method::Put,
    Method::Patch,
    Method::Delete,
    Method::Options,
    Method::Other,
];

fuzz_target!(|input: (u8, &str)| {
    let (method, line) = input;
    let (path, query) = line.split_once('?').unwrap_or((line, ""));
    let Ok(info) = parse(METHODS[usize::from(method) % METHODS.len()], path, query) else { return };
    let Some(resource) = info.resource else { return };
    assert!(!resource.version.is_empty() || info.path.contains("//"), "a resource has a version: {path}");
    if resource.name_from_path {
        assert!(!resource.name.is_empty() && info.path.contains(&resource.name));
    }
});
