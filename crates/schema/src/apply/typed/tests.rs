//! Values against types: messages and mentioned fields.

use super::*;
use crate::apply::testing::{json, text, widget_type};

fn errors(spec: &str, duplicates: Duplicates) -> String {
    let object = json(&format!("{{'spec':{spec}}}"));
    validate(&widget_type(), &object, duplicates).err().map(|errors| errors.to_string()).unwrap_or_default()
}

#[test]
fn messages_are_those_of_the_reference() {
    for (spec, message) in [
        ("{'x':'1'}", ".spec.x: expected numeric (int or float), got string"),
        ("{'x':[1]}", ".spec.x: expected numeric (int or float), got []interface {}"),
        ("{'s':1}", ".spec.s: expected string, got &value.valueUnstructured{Value:1}"),
        (
            "{'s':{'a':[null]}}",
            r#".spec.s: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"a":[]interface {}{interface {}(nil)}}}"#,
        ),
        ("{'flag':'yes'}", ".spec.flag: expected boolean, got &{yes}"),
        ("{'ios':{'a':1}}", ".spec.ios: expected any scalar, got &{map[a:1]}"),
        ("{'items':{'k':1}}", ".spec.items: expected list, got &{map[k:1]}"),
        ("{'map':[1,'a']}", ".spec.map: expected map, got &{[1 a]}"),
        ("7", ".spec: expected map, got &{7}"),
        ("{'unknown':1}", ".spec.unknown: field not declared in schema"),
        ("{'list':[1]}", ".spec.list[0]: expected string, got &value.valueUnstructured{Value:1}"),
        ("{'whole':{'p':1}}", ".spec.whole.p: expected string, got &value.valueUnstructured{Value:1}"),
        ("{'set':['a','b','a']}", r#".spec.set: duplicate entries for key [="a"]"#),
        ("{'items':[{'name':'d'},{'name':'d'}]}", r#".spec.items: duplicate entries for key [name="d"]"#),
        (
            "{'items':[{'a':1}]}",
            r#".spec.items: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn't have default values for any key fields)"#,
        ),
        (
            "{'items':[null]}",
            ".spec.items: element 0: associative list with keys may not have a null element",
        ),
        ("{'items':[1]}", ".spec.items: element 0: associative list with keys may not have non-map elements"),
        (
            "{'set':[{}]}",
            ".spec.set: element 0: associative list without keys has an element that's a map type",
        ),
        ("{'set':[[]]}", ".spec.set: element 0: not supported: associative list with lists as elements"),
        (
            "{'set':[null]}",
            ".spec.set: element 0: associative list without keys has an element that's an explicit null",
        ),
        (
            "{'items':[{'name':'n','a':'x'}]}",
            r#".spec.items[name="n"].a: expected numeric (int or float), got string"#,
        ),
        (
            "{'ports':[{'port':80,'host':1}]}",
            r#".spec.ports[port=80,protocol="TCP"].host: expected string, got &value.valueUnstructured{Value:1}"#,
        ),
        (
            "{'s':1,'x':'a'}",
            "errors:\n  .spec.s: expected string, got &value.valueUnstructured{Value:1}\n  .spec.x: expected numeric (int or float), got string",
        ),
    ] {
        assert_eq!(errors(spec, Duplicates::Refused), message, "{spec}");
    }
}

#[test]
fn null_and_unknown_content_conform() {
    for spec in [
        "null",
        "{'x':null,'s':null,'items':null,'map':null,'any':null,'list':null,'whole':null}",
        "{'any':{'a':[{},[null]],'b':1}}",
        "{'ports':[{},{'protocol':'UDP'}]}",
    ] {
        assert_eq!(errors(spec, Duplicates::Refused), "", "{spec}");
    }
}

#[test]
fn what_is_stored_may_have_duplicates() {
    let spec = "{'set':['a','a'],'items':[{'name':'d'},{'name':'d','a':1}]}";
    assert_eq!(errors(spec, Duplicates::Allowed), "");
    assert_ne!(errors(spec, Duplicates::Refused), "");
    assert!(errors("{'items':[{'name':'d','a':'x'}]}", Duplicates::Allowed).contains("expected numeric"));
}

#[test]
fn a_configuration_mentions_leaves_items_and_members() {
    for (spec, mentioned) in [
        ("{'x':1,'s':null}", "{'f:spec':{'f:s':{},'f:x':{}}}"),
        ("{}", "{'f:spec':{}}"),
        ("{'list':['a'],'whole':{'p':'q'}}", "{'f:spec':{'f:list':{},'f:whole':{}}}"),
        ("{'set':['b','a']}", r"{'f:spec':{'f:set':{'v:\'a\'':{},'v:\'b\'':{}}}}"),
        ("{'set':[],'x':1}", "{'f:spec':{'f:x':{}}}"),
        ("{'map':{}}", "{'f:spec':{'f:map':{}}}"),
        ("{'map':{'k':'v'}}", "{'f:spec':{'f:map':{'f:k':{}}}}"),
        ("{'maps':{'m':{'a':1}}}", "{'f:spec':{'f:maps':{'f:m':{'.':{},'f:a':{}}}}}"),
        (
            "{'items':[{'name':'n','a':1}]}",
            r"{'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:a':{},'f:name':{}}}}}",
        ),
        ("{'any':{'a':{'b':[1]}}}", "{'f:spec':{'f:any':{'f:a':{'.':{},'f:b':{}}}}}"),
        ("{'nested':{'deep':{}}}", "{'f:spec':{'f:nested':{'f:deep':{}}}}"),
    ] {
        let object = json(&format!("{{'metadata':{{'name':'a'}},'spec':{spec}}}"));
        let fields = field_set(&widget_type(), &object, ResetFields::none());
        assert_eq!(text(&fields.into_value()), mentioned, "{spec}");
    }
}

#[test]
fn a_cheap_answer_agrees_with_the_worded_one() {
    for spec in [
        "{'x':1}",
        "{'x':'1'}",
        "{'set':[null]}",
        "{'items':[{}]}",
        "{'ports':[{}]}",
        "{'any':{'a':[]}}",
        "{'q':1}",
        "{'whole':{'p':1}}",
        "{'list':[1]}",
        "null",
        "[]",
    ] {
        let object = json(&format!("{{'spec':{spec}}}"));
        let worded = errors(spec, Duplicates::Refused).is_empty();
        assert_eq!(conforms(widget_type().def(), &object), worded, "{spec}");
    }
}
