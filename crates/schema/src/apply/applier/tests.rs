//! Apply, step by step: what the object becomes, who owns it, and what is refused.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use jiff::Timestamp;

use super::*;
use crate::apply::testing::{TwoVersions, json, text, widgets};
use crate::apply::{ResetFields, SingleVersion, track_update};

/// A request: `manager`, then `apply`, `force`, `update` or `status` (which applies there), then the spec,
/// or the whole object when it begins with `{'metadata'` or `{'status'`.
type Step<'a> = (&'a str, &'a str, &'a str);

struct World {
    live: Option<Value>,
    seconds: i64,
    log: String,
}

impl World {
    fn run(steps: &[Step<'_>]) -> World {
        let mut world = World { live: None, seconds: 0, log: String::new() };
        for step in steps {
            world.step(*step);
        }
        world
    }

    fn step(&mut self, (manager, verb, body): Step<'_>) {
        self.seconds += 1;
        let status = verb == "status";
        let kind = if status {
            SingleVersion { reset: ResetFields::new(&[&["metadata"], &["spec"]]), ..widgets() }
        } else {
            widgets()
        };
        let info = ManagerInfo {
            manager,
            api_version: "g/v1",
            subresource: if status { "status" } else { "" },
            now: Timestamp::from_second(self.seconds).unwrap(),
        };
        let result = if verb == "update" {
            let mut new = self.object(body, true);
            track_update(self.live.as_ref(), &mut new, &info, &kind).unwrap();
            Ok(new)
        } else {
            let request = ApplyRequest { info, kind: "Widget", force: verb == "force" };
            apply(self.live.as_ref(), self.object(body, false), &request, &kind)
        };
        match result {
            Ok(mut object) => {
                object.get_mut("metadata").and_then(Value::as_object_mut).unwrap().insert("uid", "u");
                self.live = Some(object);
            }
            Err(error) => writeln!(self.log, "{manager} {verb}: {error}").unwrap(),
        }
    }

    /// The body as an object; an update starts from what is there.
    fn object(&self, body: &str, from_live: bool) -> Value {
        let mut object = json("{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a'}}");
        if let (true, Some(live)) = (from_live, &self.live) {
            object = live.clone();
        }
        let members = object.as_object_mut().unwrap();
        if body.starts_with("{'metadata'") || body.starts_with("{'status'") {
            for (name, value) in json(body).as_object().unwrap().iter() {
                members.insert(name, value.clone());
            }
        } else if !body.is_empty() {
            members.insert("spec", json(body));
        }
        object
    }

    /// The object without what is the same everywhere, then its owners with the seconds of their times.
    fn shown(&self) -> String {
        let mut out = self.log.clone();
        let Some(mut object) = self.live.clone() else { return out };
        let owners = crate::apply::managers::take_managed_fields(&mut object).unwrap_or_default();
        let members = object.as_object_mut().unwrap();
        members.retain(|name, _| name != "apiVersion" && name != "kind");
        let metadata = members.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
        metadata.retain(|name, _| name != "name" && name != "uid");
        if metadata.is_empty() {
            members.remove("metadata");
        }
        out.push_str(&text(&object));
        for owner in owners.as_array().unwrap_or_default() {
            let member = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or_default();
            let time: Option<Timestamp> = member("time").parse().ok();
            let time = time.map_or("-".to_owned(), |time| time.as_second().to_string());
            let subresource = member("subresource");
            let fields = text(owner.get("fieldsV1").unwrap());
            let (manager, operation) = (member("manager"), member("operation"));
            write!(out, "\n{manager} {operation}{subresource} @{time} {fields}").unwrap();
        }
        out
    }
}

fn check(steps: &[Step<'_>], expected: &Expect) {
    expected.assert_eq(&World::run(steps).shown());
}

#[test]
fn apply_creates_and_owns_what_it_names() {
    check(
        &[("one", "apply", "{'x':1,'map':{'k':'v'},'items':[{'name':'n','a':1}]}")],
        &expect![[r"
        {'spec':{'items':[{'a':1,'name':'n'}],'map':{'k':'v'},'x':1}}
        one Apply @1 {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:a':{},'f:name':{}}},'f:map':{'f:k':{}},'f:x':{}}}"]],
    );
}

#[test]
fn applying_the_same_again_changes_nothing() {
    check(
        &[("one", "apply", "{'x':1}"), ("one", "apply", "{'x':1}")],
        &expect![[r"
        {'spec':{'x':1}}
        one Apply @1 {'f:spec':{'f:x':{}}}"]],
    );
}

#[test]
fn fields_with_the_same_value_are_shared_and_the_second_owner_has_no_time() {
    check(
        &[("one", "apply", "{'x':1,'y':2}"), ("two", "apply", "{'x':1}")],
        &expect![[r"
        {'spec':{'x':1,'y':2}}
        two Apply @- {'f:spec':{'f:x':{}}}
        one Apply @1 {'f:spec':{'f:x':{},'f:y':{}}}"]],
    );
}

#[test]
fn a_field_of_another_applier_is_a_conflict() {
    check(
        &[("one", "apply", "{'x':1,'y':2}"), ("two", "apply", "{'x':5}")],
        &expect![[r#"
        two apply: Apply failed with 1 conflict: conflict with "one": .spec.x
        {'spec':{'x':1,'y':2}}
        one Apply @1 {'f:spec':{'f:x':{},'f:y':{}}}"#]],
    );
}

#[test]
fn several_conflicts_are_grouped_by_manager() {
    check(
        &[
            ("one", "apply", "{'x':1,'y':2}"),
            ("two", "apply", "{'s':'a','items':[{'name':'n','a':1}]}"),
            ("three", "update", "{'x':1,'y':2,'s':'a','flag':true,'items':[{'name':'n','a':1}]}"),
            ("four", "apply", "{'x':3,'y':4,'s':'b','flag':false,'items':[{'name':'n','a':2}]}"),
        ],
        &expect![[r#"
            four apply: Apply failed with 5 conflicts: conflicts with "one":
            - .spec.x
            - .spec.y
            conflicts with "three" using g/v1:
            - .spec.flag
            conflicts with "two":
            - .spec.s
            - .spec.items[name="n"].a
            {'spec':{'flag':true,'items':[{'a':1,'name':'n'}],'s':'a','x':1,'y':2}}
            one Apply @1 {'f:spec':{'f:x':{},'f:y':{}}}
            two Apply @2 {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:a':{},'f:name':{}}},'f:s':{}}}
            three Update @3 {'f:spec':{'f:flag':{}}}"#]],
    );
}

#[test]
fn force_takes_the_fields() {
    check(
        &[("one", "apply", "{'x':1,'y':2}"), ("two", "force", "{'x':5}")],
        &expect![[r"
        {'spec':{'x':5,'y':2}}
        one Apply @1 {'f:spec':{'f:y':{}}}
        two Apply @2 {'f:spec':{'f:x':{}}}"]],
    );
}

#[test]
fn what_is_no_longer_applied_is_removed() {
    check(
        &[
            (
                "one",
                "apply",
                "{'x':1,'map':{'a':'1','b':'2'},'set':['p','q'],'items':[{'name':'n','a':1},{'name':'m'}],'nested':{'deep':{'k':'v'}}}",
            ),
            ("one", "apply", "{'map':{'a':'1'},'set':['q'],'items':[{'name':'m'}]}"),
        ],
        &expect![[r"
            {'spec':{'items':[{'name':'m'}],'map':{'a':'1'},'set':['q']}}
            one Apply @2 {'f:spec':{'f:items':{'k:{\'name\':\'m\'}':{'.':{},'f:name':{}}},'f:map':{'f:a':{}},'f:set':{'v:\'q\'':{}}}}"]],
    );
}

#[test]
fn what_another_applier_or_updater_owns_stays() {
    check(
        &[
            ("one", "apply", "{'x':1,'y':1,'s':'a'}"),
            ("two", "apply", "{'x':1}"),
            ("three", "update", "{'x':1,'y':2,'s':'a'}"),
            ("one", "apply", "{}"),
        ],
        &expect![[r"
            {'spec':{'x':1,'y':2}}
            two Apply @- {'f:spec':{'f:x':{}}}
            one Apply @4 {'f:spec':{}}
            three Update @3 {'f:spec':{'f:y':{}}}"]],
    );
}

#[test]
fn a_list_item_stays_with_the_fields_that_others_own() {
    check(
        &[
            ("one", "apply", "{'items':[{'name':'n','a':1}]}"),
            ("two", "apply", "{'items':[{'name':'n','b':'x'}]}"),
            ("one", "apply", "{'x':1}"),
        ],
        &expect![[r"
            {'spec':{'items':[{'b':'x','name':'n'}],'x':1}}
            two Apply @2 {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:b':{},'f:name':{}}}}}
            one Apply @3 {'f:spec':{'f:x':{}}}"]],
    );
}

#[test]
fn a_removed_item_takes_along_what_updates_put_into_it() {
    check(
        &[
            ("one", "apply", "{'items':[{'name':'n','a':1},{'name':'m'}]}"),
            ("two", "update", "{'items':[{'name':'n','a':1,'b':'x'},{'name':'m'}]}"),
            ("one", "apply", "{'items':[{'name':'m'}]}"),
        ],
        &expect![[r"
            {'spec':{'items':[{'name':'m'}]}}
            one Apply @3 {'f:spec':{'f:items':{'k:{\'name\':\'m\'}':{'.':{},'f:name':{}}}}}"]],
    );
}

#[test]
fn the_configuration_orders_its_items_between_those_of_others() {
    check(
        &[("one", "apply", "{'set':['a','b','c','d']}"), ("two", "apply", "{'set':['d','x','b']}")],
        &expect![[r"
            {'spec':{'set':['a','c','d','x','b']}}
            one Apply @1 {'f:spec':{'f:set':{'v:\'a\'':{},'v:\'b\'':{},'v:\'c\'':{},'v:\'d\'':{}}}}
            two Apply @2 {'f:spec':{'f:set':{'v:\'b\'':{},'v:\'d\'':{},'v:\'x\'':{}}}}"]],
    );
}

#[test]
fn keys_may_come_from_defaults() {
    check(
        &[
            ("one", "apply", "{'ports':[{'port':80,'host':'a'}]}"),
            ("two", "apply", "{'ports':[{'port':80,'protocol':'TCP'},{'port':80,'protocol':'UDP'}]}"),
            ("two", "apply", "{'ports':[{'port':80,'protocol':'UDP'}]}"),
        ],
        &expect![[r"
            {'spec':{'ports':[{'host':'a','port':80},{'port':80,'protocol':'UDP'}]}}
            one Apply @1 {'f:spec':{'f:ports':{'k:{\'port\':80,\'protocol\':\'TCP\'}':{'.':{},'f:host':{},'f:port':{}}}}}
            two Apply @3 {'f:spec':{'f:ports':{'k:{\'port\':80,\'protocol\':\'UDP\'}':{'.':{},'f:port':{},'f:protocol':{}}}}}"]],
    );
}

#[test]
fn atomic_lists_and_maps_are_owned_and_replaced_as_a_whole() {
    check(
        &[
            ("one", "apply", "{'list':['a','b'],'whole':{'p':'q'}}"),
            ("two", "apply", "{'list':['a']}"),
            ("two", "force", "{'list':['a']}"),
            ("two", "apply", "{}"),
        ],
        &expect![[r#"
            two apply: Apply failed with 1 conflict: conflict with "one": .spec.list
            {'spec':{'whole':{'p':'q'}}}
            one Apply @1 {'f:spec':{'f:whole':{}}}
            two Apply @4 {'f:spec':{}}"#]],
    );
}

#[test]
fn preserved_fields_are_owned_member_by_member() {
    check(
        &[
            ("one", "apply", "{'any':{'a':{'b':1},'l':[1,2]}}"),
            ("two", "apply", "{'any':{'a':{'c':{}}}}"),
            ("one", "apply", "{'any':{'l':[1,2]}}"),
        ],
        &expect![[r"
            {'spec':{'any':{'a':{'c':{}},'l':[1,2]}}}
            two Apply @2 {'f:spec':{'f:any':{'f:a':{'.':{},'f:c':{}}}}}
            one Apply @3 {'f:spec':{'f:any':{'f:l':{}}}}"]],
    );
}

#[test]
fn null_is_a_value_for_a_leaf_and_nothing_for_a_container_with_content() {
    check(
        &[
            ("one", "apply", "{'x':1,'map':{'k':'v'},'set':['a']}"),
            ("two", "force", "{'x':null,'map':null,'set':null}"),
        ],
        &expect![[r"
            {'spec':{'map':{'k':'v'},'set':['a'],'x':null}}
            one Apply @1 {'f:spec':{'f:map':{'f:k':{}},'f:set':{'v:\'a\'':{}}}}
            two Apply @2 {'f:spec':{'f:map':{},'f:set':{},'f:x':{}}}"]],
    );
}

#[test]
fn an_update_takes_fields_and_the_applier_gets_them_back_by_force() {
    check(
        &[
            ("one", "apply", "{'x':1}"),
            ("upd", "update", "{'x':2}"),
            ("one", "apply", "{'x':1}"),
            ("one", "force", "{'x':1}"),
        ],
        &expect![[r#"
            one apply: Apply failed with 1 conflict: conflict with "upd" using g/v1: .spec.x
            {'spec':{'x':1}}
            one Apply @4 {'f:spec':{'f:x':{}}}"#]],
    );
}

#[test]
fn what_was_there_before_the_first_apply_has_an_owner_of_its_own() {
    check(
        &[
            ("upd", "update", "{'x':1,'y':2}"),
            ("upd", "update", "{'metadata':{'name':'a','uid':'u','managedFields':[]}}"),
            ("one", "apply", "{'x':5}"),
            ("one", "apply", "{'y':2}"),
        ],
        &expect![[r#"
            one apply: Apply failed with 1 conflict: conflict with "before-first-apply" using g/v1: .spec.x
            {'spec':{'x':1,'y':2}}
            one Apply @- {'f:spec':{'f:y':{}}}
            before-first-apply Update @4 {'f:spec':{'.':{},'f:x':{},'f:y':{}}}"#]],
    );
}

#[test]
fn status_is_applied_apart() {
    check(
        &[
            ("one", "apply", "{'status':{'x':9},'spec':{'x':1}}"),
            ("one", "status", "{'status':{'x':1,'items':[{'name':'A'}]},'spec':{'x':5}}"),
            ("two", "status", "{'status':{'x':3}}"),
            ("two", "status", "{'status':{'items':[{'name':'B'}]}}"),
            ("one", "status", "{'status':{'x':1}}"),
        ],
        &expect![[r#"
            two status: Apply failed with 1 conflict: conflict with "one" with subresource "status": .status.x
            {'spec':{'x':5},'status':{'items':[{'name':'B'}],'x':1}}
            one Apply @1 {'f:spec':{'f:x':{}}}
            two Applystatus @4 {'f:status':{'f:items':{'k:{\'name\':\'B\'}':{'.':{},'f:name':{}}}}}
            one Applystatus @5 {'f:status':{'f:x':{}}}"#]],
    );
}

#[test]
fn labels_and_finalizers_are_owned_one_by_one() {
    check(
        &[
            ("one", "apply", "{'metadata':{'name':'a','labels':{'a':'1','b':'2'},'finalizers':['f/x']}}"),
            ("two", "apply", "{'metadata':{'name':'a','labels':{'b':'2'},'finalizers':['f/y']}}"),
            ("one", "apply", "{'metadata':{'name':'a'}}"),
        ],
        &expect![[r"
            {'metadata':{'finalizers':['f/y'],'labels':{'b':'2'}}}
            two Apply @2 {'f:metadata':{'f:finalizers':{'v:\'f/y\'':{}},'f:labels':{'f:b':{}}}}"]],
    );
}

#[test]
fn an_applier_that_names_nothing_is_forgotten() {
    check(
        &[("one", "apply", "{'x':1}"), ("two", "apply", "{'y':1}"), ("one", "apply", "")],
        &expect![[r"
        {'spec':{'y':1}}
        two Apply @2 {'f:spec':{'f:y':{}}}"]],
    );
}

#[test]
fn duplicates_that_are_there_are_replaced_by_an_applied_item() {
    check(
        &[
            (
                "upd",
                "update",
                "{'items':[{'name':'n','a':1},{'name':'m'},{'name':'n','b':'x'}],'set':['a','b','a']}",
            ),
            ("one", "force", "{'items':[{'name':'n','a':7}],'set':['a']}"),
        ],
        &expect![[r"
            {'spec':{'items':[{'a':7,'name':'n'},{'name':'m'}],'set':['a','b']}}
            one Apply @2 {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:a':{},'f:name':{}}},'f:set':{'v:\'a\'':{}}}}
            upd Update @1 {'f:spec':{'.':{},'f:items':{'.':{},'k:{\'name\':\'m\'}':{'.':{},'f:name':{}}},'f:set':{'.':{},'v:\'b\'':{}}}}"]],
    );
}

#[test]
fn kubectl_takes_over_from_client_side_apply() {
    let last_applied = r"{\'apiVersion\':\'g/v1\',\'kind\':\'Widget\',\'spec\':{\'x\':1,\'y\':2}}";
    let created = format!(
        "{{'metadata':{{'name':'a','annotations':{{'kubectl.kubernetes.io/last-applied-configuration':'{last_applied}'}}}},'spec':{{'x':1,'y':2,'s':'a'}}}}"
    );
    check(
        &[
            ("kubectl-client-side-apply", "update", &created),
            ("other", "update", "{'x':1,'y':3,'s':'a'}"),
            // x is as it was applied and may be changed; y is not.
            ("kubectl", "apply", "{'x':7,'y':8}"),
            ("someone", "apply", "{'x':7}"),
            ("kubectl", "apply", "{'x':7}"),
        ],
        &expect![[r#"
            kubectl apply: Apply failed with 1 conflict: conflict with "other" using g/v1: .spec.y
            someone apply: Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using g/v1: .spec.x
            {'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'{\'apiVersion\':\'g/v1\',\'kind\':\'Widget\',\'metadata\':{\'name\':\'a\'},\'spec\':{\'x\':7}}\n'}},'spec':{'s':'a','x':7,'y':3}}
            kubectl Apply @5 {'f:spec':{'f:x':{}}}
            kubectl-client-side-apply Update @1 {'f:metadata':{'f:annotations':{'.':{},'f:kubectl.kubernetes.io/last-applied-configuration':{}}},'f:spec':{'.':{},'f:s':{}}}
            other Update @2 {'f:spec':{'f:y':{}}}"#]],
    );
}

#[test]
fn requests_that_cannot_be_applied_are_refused() {
    let check = |config: &str, expected: ApplyError| {
        let info =
            ManagerInfo { manager: "m", api_version: "g/v1", subresource: "", now: Timestamp::UNIX_EPOCH };
        let request = ApplyRequest { info, kind: "Widget", force: false };
        assert_eq!(apply(None, json(config), &request, &widgets()).unwrap_err(), expected, "{config}");
    };
    let bad = |text: &str| ApplyError::BadRequest(text.to_owned());
    let internal = |text: &str| ApplyError::Internal(text.to_owned());
    check("{'kind':'Widget'}", bad("invalid object type: /, Kind=Widget"));
    check("{'apiVersion':'g/v1'}", bad("invalid object type: g/v1, Kind="));
    check("{'apiVersion':'g/v2','kind':'Widget'}", bad("invalid object type: g/v2, Kind=Widget"));
    check("{'apiVersion':'a/b/c','kind':'Widget'}", bad("invalid object type: /, Kind="));
    check("{}", bad("invalid object type: /, Kind="));
    let with = |rest: &str| format!("{{'apiVersion':'g/v1','kind':'Widget','metadata':{{'name':'a'{rest}");
    check(&with(",'managedFields':[]}}"), bad("metadata.managedFields must be nil"));
    check(&with(",'managedFields':[{'manager':'x'}]}}"), bad("metadata.managedFields must be nil"));
    check(
        &with(",'namespace':'n'},'spec':{'unknown':1}}"),
        internal(
            "failed to create typed patch object (n/a; g/v1, Kind=Widget): .spec.unknown: field not declared in schema",
        ),
    );
    check(
        &with("},'status':{'set':['a','a']}}"),
        internal(
            "failed to create typed patch object (/a; g/v1, Kind=Widget): .status.set: duplicate entries for key [=\"a\"]",
        ),
    );
}

fn in_version(live: Option<&Value>, version: &str, manager: &str, spec: &str) -> Result<Value, ApplyError> {
    let api_version = format!("g/{version}");
    let versions = TwoVersions::new();
    let live = live.map(|live| versions.convert(live, &api_version).unwrap());
    let config = json(&format!(
        "{{'apiVersion':'{api_version}','kind':'Widget','metadata':{{'name':'a','uid':'u'}},'spec':{spec}}}"
    ));
    let info =
        ManagerInfo { manager, api_version: &api_version, subresource: "", now: Timestamp::UNIX_EPOCH };
    apply(live.as_ref(), config, &ApplyRequest { info, kind: "Widget", force: false }, &versions)
}

#[test]
fn what_was_applied_in_another_version_is_removed_and_kept_there() {
    let live = in_version(None, "v1", "one", "{'x':1,'y':1,'map':{'k':'v'}}").unwrap();
    let live = in_version(Some(&live), "v2", "two", "{'z':1}").unwrap();
    let live = in_version(Some(&live), "v2", "one", "{'map':{'k':'v'}}").unwrap();
    let shown = World { live: Some(live), seconds: 0, log: String::new() }.shown();
    expect![[r"
        {'spec':{'map':{'k':'v'},'z':1}}
        two Apply @- {'f:spec':{'f:z':{}}}
        one Apply @0 {'f:spec':{'f:map':{'f:k':{}}}}"]]
    .assert_eq(&shown);
}

#[test]
fn a_conflict_is_found_in_the_version_of_the_owner() {
    let live = in_version(None, "v1", "one", "{'x':1}").unwrap();
    let error = in_version(Some(&live), "v2", "two", "{'z':2}").unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"one\": .spec.x");
}

#[test]
fn a_live_object_that_does_not_conform_is_reported() {
    let live =
        json("{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a','uid':'u'},'spec':{'x':'1'}}");
    let info = ManagerInfo { manager: "m", api_version: "g/v1", subresource: "", now: Timestamp::UNIX_EPOCH };
    let request = ApplyRequest { info, kind: "Widget", force: false };
    let config = json("{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a'}}");
    assert_eq!(
        apply(Some(&live), config, &request, &widgets()).unwrap_err().to_string(),
        "failed to create manager for existing fields: failed to convert new object (/a; g/v1, Kind=Widget) to smd typed: .spec.x: expected numeric (int or float), got string"
    );
}

mod properties;

/// Every walk recurses; the deepest object that can be read must not exhaust a worker's stack.
#[test]
fn the_deepest_object_fits_the_stack_of_a_worker() {
    const DEPTH: usize = meta::wire::json::MAX_DEPTH - 4;
    // Two megabytes is what a worker has; frames without optimization are larger.
    const STACK_BYTES: usize = if cfg!(debug_assertions) { 4 << 20 } else { 2 << 20 };
    let nested = |leaf: i64| {
        let text = format!("{}{leaf}{}", "{'a':".repeat(DEPTH), "}".repeat(DEPTH));
        json(&format!(
            "{{'apiVersion':'g/v1','kind':'Widget','metadata':{{'name':'a'}},'spec':{{'any':{text}}}}}"
        ))
    };
    let work = move || {
        let info =
            ManagerInfo { manager: "m", api_version: "g/v1", subresource: "", now: Timestamp::UNIX_EPOCH };
        let mut live = nested(1);
        track_update(None, &mut live, &info, &widgets()).unwrap();
        live.get_mut("metadata").and_then(Value::as_object_mut).unwrap().insert("uid", "u");
        let mut new = nested(2);
        track_update(Some(&live), &mut new, &info, &widgets()).unwrap();
        let request = ApplyRequest { info, kind: "Widget", force: true };
        let applied = apply(Some(&live), nested(3), &request, &widgets()).unwrap();
        apply(Some(&applied), json("{'apiVersion':'g/v1','kind':'Widget'}"), &request, &widgets()).unwrap();
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}
