//! What holds for any text: continue tokens that clients send back, objects that a store gives back.
//!
//! The same properties are fuzzed in `fuzz/`; here they guard every change.

use crest_registry::{ContinueToken, FieldPathSpec, FieldPaths, Object};
use meta::wire::json;
use proptest::prelude::*;
use store::Revision;

fn paths() -> FieldPaths {
    FieldPaths(vec![FieldPathSpec { label: "spec.a".into(), path: vec!["spec".into(), "a".into()] }])
}

fn quoted(text: &str) -> String {
    json::to_string(&meta::Value::from(text))
}

proptest! {
    #[test]
    fn no_token_makes_it_panic(text in "[ -~]{0,80}") {
        if let Ok(token) = ContinueToken::decode(&text) {
            prop_assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
        }
    }

    #[test]
    fn a_token_survives_its_journey(
        revision in 1..i64::MAX.cast_unsigned(),
        last in "([a-z0-9][a-z0-9-]{0,5}/)?[a-z0-9][a-z0-9.-]{0,10}",
    ) {
        let token = ContinueToken::behind(Some(Revision(revision)), &last);
        prop_assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
    }

    #[test]
    fn the_quick_look_agrees_with_reading_it_all(
        name in "[a-z]{0,5}",
        uid in "[0-9a-f]{0,5}",
        namespace in "[a-z]{0,5}",
        (label, label_value) in ("[a-z][a-z./-]{0,6}", "[A-Za-z0-9._-]{0,8}"),
        value in ".{0,8}",
        version in prop::option::of("[0-9]{1,4}"),
    ) {
        let version = version.map(|version| format!(r#""resourceVersion":"{version}","#)).unwrap_or_default();
        let value_text = quoted(&value);
        let text = format!(
            r#"{{"apiVersion":"v1","kind":"A","metadata":{{"labels":{{"{label}":"{label_value}"}},"name":"{name}","namespace":"{namespace}",{version}"uid":"{uid}"}},"spec":{{"a":{value_text}}}}}"#
        );
        let object = Object::new(text.as_bytes(), Revision(42), &paths().into()).expect("this is an object");
        prop_assert_eq!(object.name(), &name);
        prop_assert_eq!(object.namespace(), &namespace);
        prop_assert_eq!(object.uid(), &uid);
        prop_assert_eq!(object.label(&label), Some(label_value.as_str()));
        prop_assert!(object.field_is(&paths().0[0], &value));
        let shown = json::parse(object.bytes()).expect("it stays JSON").value;
        let shown_version = shown.at(&["metadata", "resourceVersion"]).and_then(meta::Value::as_str);
        prop_assert_eq!(shown_version, Some("42"));
    }

    #[test]
    fn no_stored_text_makes_it_panic(text in r#"[{}\[\]":,\\a-z0-9 ]{0,80}"#) {
        if let Some(object) = Object::new(text.as_bytes(), Revision(7), &paths().into()) {
            let _ = (object.name(), object.metadata(), object.with_api_version("v2"), object.body_without_type());
        }
    }
}
