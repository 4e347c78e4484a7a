//! Laws and spellings of field sets.

use proptest::prelude::*;

use super::*;
use crate::apply::testing::{json, set, text};

#[test]
fn a_parent_and_its_child_are_different_members() {
    let mut fields = FieldSet::new();
    fields.insert(&["f:a", "f:b"]);
    assert!(!fields.contains(&["f:a"]));
    fields.insert(&["f:a"]);
    assert_eq!(text(&fields.clone().into_value()), "{'f:a':{'.':{},'f:b':{}}}");
    fields.subtract(&set("{'f:a':{}}"));
    assert_eq!(fields, set("{'f:a':{'f:b':{}}}"));
    fields.insert(&["f:a"]);
    fields.subtract(&set("{'f:a':{'f:b':{}}}"));
    assert_eq!(fields, set("{'f:a':{}}"));
    fields.insert(&["f:a", "f:c"]);
    assert_eq!(fields, set("{'f:a':{'.':{},'f:c':{}}}"));
    assert!(!fields.contains::<&str>(&[]));
}

#[test]
fn a_recursive_difference_takes_what_is_below() {
    let mut fields = set("{'f:a':{'.':{},'f:b':{},'f:c':{'f:d':{}}},'f:e':{}}");
    fields.subtract_recursive(&set("{'f:a':{'f:c':{}},'f:e':{'f:x':{}}}"));
    assert_eq!(fields, set("{'f:a':{'.':{},'f:b':{}},'f:e':{}}"));
    fields.subtract_recursive(&set("{'f:a':{}}"));
    assert_eq!(fields, set("{'f:e':{}}"));
}

#[test]
fn leaves_are_members_without_members_below() {
    let fields = set("{'f:a':{'.':{},'f:b':{'.':{},'f:c':{}}},'f:d':{}}");
    assert_eq!(fields.leaves(), set("{'f:a':{'f:b':{'f:c':{}}},'f:d':{}}"));
    assert_eq!(fields.len(), 4);
}

#[test]
fn members_are_listed_level_by_level_in_the_order_of_the_reference() {
    let fields = set(
        r"{'f:spec':{'.':{},'f:z':{},'f:ports':{'k:{\'port\':8080}':{'.':{},'f:a':{}},'k:{\'port\':80}':{}},
           'f:set':{'v:10':{},'v:9':{},'v:\'a\'':{}}},'f:a':{}}",
    );
    assert_eq!(
        fields.paths(),
        [
            ".a",
            ".spec",
            ".spec.z",
            ".spec.ports[port=80]",
            ".spec.ports[port=8080]",
            ".spec.ports[port=8080].a",
            ".spec.set[=9]",
            ".spec.set[=10]",
            ".spec.set[=\"a\"]",
        ]
    );
    assert_eq!(
        fields.to_json(),
        r#"{"f:a":{},"f:spec":{".":{},"f:ports":{"k:{\"port\":80}":{},"k:{\"port\":8080}":{".":{},"f:a":{}}},"f:set":{"v:9":{},"v:10":{},"v:\"a\"":{}},"f:z":{}}}"#
    );
}

#[test]
fn foreign_documents_are_read_as_the_reference_reads_them() {
    for (document, read) in [
        ("{}", "{}"),
        ("null", "{}"),
        ("{'.':{}}", "{}"),
        ("{'f:a':null,'f:b':{'.':5}}", "{'f:a':{},'f:b':{}}"),
        ("{'f:a':{'x:y':{}}}", "{'f:a':{}}"),
        ("{'f:':{},'f:a<b':{}}", "{'f:':{},'f:a\\u003cb':{}}"),
    ] {
        assert_eq!(text(&FieldSet::from_value(json(document)).unwrap().into_value()), read, "{document}");
    }
    for document in ["[]", "{'f:a':1}", "{'a':{}}", "{'i:x':{}}", "{'k:[]':{}}", "{'v:':{}}"] {
        assert!(FieldSet::from_value(json(document)).is_err(), "{document}");
    }
}

#[test]
fn what_is_stored_may_be_anything_without_harm() {
    let mut odd = FieldSet::trusted(json("{'f:a':7,'f:b':{'f:c':null},'junk':{'.':{}}}"));
    odd.union(set("{'f:a':{'f:x':{}},'f:b':{'f:c':{}}}"));
    odd.subtract(&set("{'f:b':{'f:c':{}}}"));
    odd.insert(&["f:a", "f:y"]);
    assert!(odd.contains(&["f:a", "f:y"]));
    assert!(!odd.to_json().is_empty() && !odd.paths().is_empty());
    assert_eq!(FieldSet::trusted(json("[]")), FieldSet::new());
}

/// Paths over few names, so that sets overlap.
fn paths() -> impl Strategy<Value = Vec<Vec<&'static str>>> {
    let element = prop::sample::select(vec!["f:a", "f:b", r#"k:{"n":1}"#, r#"v:"x""#, "i:0"]);
    prop::collection::vec(prop::collection::vec(element, 1..4), 0..12)
}

fn build(paths: &[Vec<&str>]) -> FieldSet {
    let mut fields = FieldSet::new();
    for path in paths {
        fields.insert(path);
    }
    fields
}

/// The same set as a list of paths: the model.
fn members(fields: &FieldSet) -> std::collections::BTreeSet<Vec<String>> {
    let mut members = std::collections::BTreeSet::new();
    fields.for_each(&mut |path| {
        members.insert(path.iter().map(|&element| element.to_owned()).collect());
    });
    members
}

proptest! {
    #[test]
    fn sets_behave_as_sets_of_paths(left in paths(), right in paths()) {
        let (left, right) = (build(&left), build(&right));
        let (left_members, right_members) = (members(&left), members(&right));

        let mut union = left.clone();
        union.union(right.clone());
        prop_assert_eq!(members(&union), &left_members | &right_members);

        let mut difference = left.clone();
        difference.subtract(&right);
        prop_assert_eq!(members(&difference), &left_members - &right_members);
        prop_assert_eq!(members(&left.intersection(&right)), &left_members & &right_members);
        prop_assert_eq!(left.is_subset(&right), left_members.is_subset(&right_members));
        prop_assert_eq!(left.len(), left_members.len());
        prop_assert_eq!(left.is_empty(), left_members.is_empty());

        let mut outside = left.clone();
        outside.subtract_recursive(&right);
        let kept = left_members.iter().filter(|path| !right_members.iter().any(|top| path.starts_with(top)));
        prop_assert_eq!(members(&outside), kept.cloned().collect());
    }

    #[test]
    fn equal_members_make_equal_documents(paths in paths()) {
        let fields = build(&paths);
        let reversed: Vec<_> = paths.iter().rev().cloned().collect();
        prop_assert_eq!(&build(&reversed), &fields);
        // Every document that results from an operation is in the one form.
        let mut detour = fields.clone();
        detour.union(build(&[vec!["f:a", "f:z"], vec!["f:q"]]));
        detour.subtract(&build(&[vec!["f:a", "f:z"], vec!["f:q"]]));
        prop_assert_eq!(&detour, &fields);
    }

    #[test]
    fn what_is_written_reads_back(paths in paths()) {
        let fields = build(&paths);
        let written = meta::wire::json::parse(fields.to_json().as_bytes()).unwrap().value;
        prop_assert_eq!(&written, &fields.clone().into_value());
        prop_assert_eq!(FieldSet::from_value(written).unwrap(), fields);
    }
}
