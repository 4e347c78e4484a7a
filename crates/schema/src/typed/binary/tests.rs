//! Messages as the reference writes them, and the way back.

use meta::wire::json;

use super::*;
use crate::typed::{decode, kind};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn decoded(group: &str, name: &str, text: &str) -> Value {
    let mut object = json::parse(text.as_bytes()).unwrap().value;
    decode(kind(group, "v1", name).unwrap(), &mut object).unwrap();
    object
}

#[test]
fn reads_what_the_reference_writes() {
    // An empty Namespace: scalars are written although they are empty.
    let message = hex("0a10 0a00 1200 1a00 2200 2a00 3200 3800 4200 1200 1a02 0a00");
    let mut object = read(kind("", "v1", "Namespace").unwrap(), &message).unwrap();
    decode(kind("", "v1", "Namespace").unwrap(), &mut object).unwrap();
    assert_eq!(json::to_string(&object), r#"{"metadata":{},"spec":{},"status":{}}"#);
}

#[test]
fn writes_what_the_reference_writes() {
    for (group, name, text, expected) in [
        ("", "Namespace", "{}", "0a10 0a00 1200 1a00 2200 2a00 3200 3800 4200 1200 1a02 0a00"),
        (
            "meta.k8s.io",
            "Status",
            r#"{"metadata":{},"status":"Failure","message":"m","reason":"NotFound","code":404}"#,
            "0a06 0a00 1200 1a00 1207 4661696c757265 1a01 6d 2208 4e6f74466f756e64 309403",
        ),
    ] {
        let kind = kind(group, "v1", name).unwrap();
        let object = json::parse(text.as_bytes()).unwrap().value;
        assert_eq!(write(kind, &object), hex(expected), "{name}");
    }
}

#[test]
fn objects_survive_the_way_there_and_back() {
    for (group, name, text) in [
        (
            "",
            "ConfigMap",
            r#"{"metadata":{"name":"a","labels":{"x":"y"},"creationTimestamp":"2020-01-02T03:04:05Z","generation":-3},"data":{"k":"é"},"binaryData":{"b":"AAEC"},"immutable":false}"#,
        ),
        (
            "",
            "Event",
            r#"{"metadata":{"name":"e"},"eventTime":"2020-01-02T03:04:05.123456Z","series":{"count":2}}"#,
        ),
        ("", "ResourceQuota", r#"{"spec":{"hard":{"cpu":"500m","pods":"10"}}}"#),
        (
            "",
            "Service",
            r#"{"spec":{"ports":[{"port":80,"targetPort":"http"},{"port":81,"targetPort":81}]}}"#,
        ),
        (
            "certificates.k8s.io",
            "CertificateSigningRequest",
            r#"{"spec":{"extra":{"a":["b","c"],"d":[]},"request":"AA=="}}"#,
        ),
        (
            "admissionregistration.k8s.io",
            "ValidatingAdmissionPolicy",
            r#"{"spec":{"matchConstraints":{"resourceRules":[{"resourceNames":["n"],"operations":["CREATE"],"apiGroups":["*"],"scope":"*"}]}}}"#,
        ),
        (
            "apiextensions.k8s.io",
            "CustomResourceDefinition",
            r#"{"spec":{"versions":[{"name":"v1","schema":{"openAPIV3Schema":{"maximum":2.5,"minimum":1,"default":{"a":null},"enum":[1,"x"],"items":{"type":"string"},"additionalProperties":false,"properties":{"p":{"items":[{"type":"object"}],"additionalProperties":{"type":"string"}}},"dependencies":{"a":["b"],"c":{"type":"string"}}}}}]}}"#,
        ),
        ("meta.k8s.io", "Status", r#"{"status":"Failure","code":404,"details":{"causes":[{"field":"f"}]}}"#),
    ] {
        let kind = kind(group, "v1", name).unwrap();
        let object = decoded(group, name, text);
        let mut again = read(kind, &write(kind, &object)).unwrap();
        decode(kind, &mut again).unwrap();
        assert_eq!(json::to_string(&again), json::to_string(&object), "{name}");
    }
}

#[test]
fn envelopes_name_the_kind() {
    let body = Envelope::seal("v1", "ConfigMap", b"xyz");
    assert_eq!(body, hex("6b387300 0a0f 0a027631 1209 436f6e6669674d6170 1203 78797a 1a00 2200"));
    let envelope = Envelope::open(&body).unwrap();
    assert_eq!((envelope.api_version, envelope.kind, envelope.message), ("v1", "ConfigMap", &b"xyz"[..]));
    assert_eq!(Envelope::open(b"{}"), Err(BinaryError::NotBinary));
}

#[test]
fn lists_and_events_wrap_messages() {
    let meta = json::parse(br#"{"resourceVersion":"7"}"#).unwrap().value;
    assert_eq!(write_list(&meta, [&b"a"[..], b"b"]), hex("0a07 0a00 120137 1a00 120161 120162"));
    assert_eq!(write_event("ADDED", b"x"), hex("0a05 4144444544 1203 0a01 78"));
}

#[test]
fn bad_messages_are_refused() {
    let kind = kind("", "v1", "ConfigMap").unwrap();
    for (message, expected) in [
        ("0a05 00", "unexpected EOF"),
        ("0a", "unexpected EOF"),
        ("08 01", "proto: wrong wireType = 0 for field metadata"),
        ("0b", "proto: wrong wireType = 3 for field "),
        ("ffffffffffffffffffffff", "proto: integer overflow"),
        ("0a03 0a01 ff", "proto: invalid UTF-8 string"),
    ] {
        assert_eq!(
            read(kind, &hex(message)).map_err(|error| error.to_string()),
            Err(expected.to_owned()),
            "{message}"
        );
    }
    // Numbers nobody knows are skipped.
    assert_eq!(read(kind, &hex("f87f 01 fa7f 01 00")), Ok(meta::Map::new().into()));
}
