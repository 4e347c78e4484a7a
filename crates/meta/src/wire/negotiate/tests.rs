//! Headers against the choices the reference makes.

use proptest::prelude::*;

use super::*;

const BUILT_IN: Endpoint<'static> = Endpoint {
    media_types: &ALL_MEDIA_TYPES,
    plain: &ALL_MEDIA_TYPES,
    conversions: Conversions::MetadataAndTable,
};

const CUSTOM: Endpoint<'static> = Endpoint { plain: &CUSTOM_MEDIA_TYPES, ..BUILT_IN };

fn show(outcome: Result<Accepted, Status>) -> String {
    match outcome {
        Err(status) => format!("{} {}", status.code, status.message),
        Ok(accepted) => {
            let pretty = if accepted.pretty { " pretty" } else { "" };
            let convert = accepted.convert.map_or(String::new(), |gvk| format!(" as {gvk}"));
            format!("{:?}{pretty}{convert}", accepted.media_type)
        }
    }
}

#[test]
fn formats_are_chosen_by_clause_and_offer() {
    let none = "406 only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    for (header, built_in, custom) in [
        ("", "Json", "Json"),
        ("*/*", "Json", "Json"),
        ("*", "Json", "Json"),
        ("application/*", "Json", "Json"),
        ("application/yaml", "Yaml", "Yaml"),
        ("application/vnd.kubernetes.protobuf", "Protobuf", none),
        ("application/vnd.kubernetes.protobuf, application/json", "Protobuf", "Json"),
        ("application/json, application/vnd.kubernetes.protobuf", "Json", "Json"),
        ("application/vnd.kubernetes.protobuf;q=0.5, application/json;q=0.4", "Protobuf", "Json"),
        ("application/json;q=0.1, application/yaml;q=0.9", "Yaml", "Yaml"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "Json", "Json"),
        ("text/plain", none, none),
        ("application/json/x", none, none),
        ("application/json;pretty=1", "Json pretty", "Json pretty"),
        ("application/json;stream=watch", "Json", "Json"),
        ("application/json;stream=other", none, none),
        ("application/yaml;stream=watch", none, none),
    ] {
        assert_eq!(show(negotiate(header, &BUILT_IN)), built_in, "{header}");
        assert_eq!(show(negotiate(header, &CUSTOM)), custom, "{header}");
    }
}

#[test]
fn conversions_need_a_known_kind_and_a_format_that_can_carry_it() {
    let table = "as=Table;v=v1;g=meta.k8s.io";
    let json_table = "Json as meta.k8s.io/v1, Kind=Table";
    assert_eq!(show(negotiate(&format!("application/json;{table}"), &CUSTOM)), json_table);
    assert_eq!(show(negotiate(&format!("*/*;{table}"), &CUSTOM)), json_table);
    let fallback = format!("application/vnd.kubernetes.protobuf;{table}, application/json");
    assert_eq!(show(negotiate(&fallback, &CUSTOM)), "Json");
    assert_eq!(
        show(negotiate(
            "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
            &CUSTOM
        )),
        "Protobuf as meta.k8s.io/v1, Kind=PartialObjectMetadata"
    );
    for header in ["as=Nope;v=v1;g=meta.k8s.io", "as=Table;v=v2;g=meta.k8s.io", "as=Table"] {
        assert!(negotiate(&format!("application/json;{header}"), &CUSTOM).is_err(), "{header}");
    }
    let plain = Endpoint { conversions: Conversions::Metadata, ..BUILT_IN };
    assert!(negotiate(&format!("application/json;{table}"), &plain).is_err());
    let discovery = Endpoint { conversions: Conversions::Discovery, ..BUILT_IN };
    let list = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer";
    assert_eq!(negotiate(list, &discovery).unwrap().profile.as_deref(), Some("nopeer"));
    assert!(negotiate(list, &CUSTOM).is_err());
}

#[test]
fn watches_cannot_be_yaml() {
    assert_eq!(show(negotiate_stream("", &CUSTOM)), "Json");
    assert_eq!(
        show(negotiate_stream("application/yaml", &CUSTOM)),
        "406 only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"
    );
}

#[test]
fn bodies_name_their_format() {
    for (header, expected) in [
        ("", Some(MediaType::Json)),
        ("application/json", Some(MediaType::Json)),
        ("APPLICATION/Json ; charset=utf-8;", Some(MediaType::Json)),
        ("application/yaml", Some(MediaType::Yaml)),
        ("application/json; a=b; a=c", None),
        ("*/*", None),
        ("bad content type", None),
        ("text/plain", None),
    ] {
        assert_eq!(negotiate_input(header, &ALL_MEDIA_TYPES).ok(), expected, "{header}");
    }
    assert_eq!(
        negotiate_input("text/plain", &ALL_MEDIA_TYPES).unwrap_err().message,
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    );
}

#[test]
fn patches_name_their_kind_exactly() {
    let custom = |header: &str| negotiate_patch(header, &CUSTOM_PATCH_TYPES).ok();
    assert_eq!(custom("application/merge-patch+json; charset=utf-8"), Some(PatchType::Merge));
    assert_eq!(custom("Application/Merge-Patch+JSON"), None);
    assert_eq!(
        negotiate_patch("application/strategic-merge-patch+json", &CUSTOM_PATCH_TYPES).unwrap_err().message,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
}

#[test]
fn the_router_of_built_in_kinds_is_stricter() {
    let types = ALL_MEDIA_TYPES.map(MediaType::as_str);
    let route = Route { produces: &types, consumes: &["application/merge-patch+json"] };
    let check = |accept: &str, content_type: &str| match route.check(accept, content_type) {
        Ok(()) => String::new(),
        Err(status) => format!("{} {}", status.code, status.message),
    };
    assert_eq!(check("", "application/merge-patch+json;x=y"), "");
    assert_eq!(check("text/html, */*;q=0.1", "application/merge-patch+json"), "");
    assert_eq!(
        check("application/*", "application/merge-patch+json"),
        "406 406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    );
    assert_eq!(check("", ""), "415 415: Unsupported Media Type");
    assert!(Route { consumes: &[], ..route }.check("application/json;as=Table", "x").is_ok());
}

#[test]
fn people_get_a_readable_layout() {
    assert!(is_pretty(Some("true"), ""));
    assert!(!is_pretty(Some("yes"), "curl/8"));
    assert!(is_pretty(Some(""), "curl/8"));
    assert!(!is_pretty(None, "kubectl/v1.36"));
}

proptest! {
    #[test]
    fn no_header_makes_it_panic(header in r#"([a-z*]{0,3}|[/;,= "\\é]){0,20}"#) {
        let _ = negotiate(&header, &BUILT_IN);
        let _ = negotiate_input(&header, &ALL_MEDIA_TYPES);
    }
}
