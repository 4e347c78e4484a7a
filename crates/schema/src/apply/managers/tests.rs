//! Owners after creates, updates and patches.

use expect_test::{Expect, expect};

use super::*;
use crate::apply::testing::{TwoVersions, json, text, widgets};
use crate::apply::{ResetFields, SingleVersion};

const NOW: i64 = 1_700_000_000;

fn info(manager: &str) -> ManagerInfo<'_> {
    ManagerInfo { manager, api_version: "g/v1", subresource: "", now: Timestamp::from_second(NOW).unwrap() }
}

fn owners(object: &Value) -> String {
    let list = managed_fields(object).unwrap_or_default();
    let show = |entry: &Value| {
        let member = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("-");
        format!(
            "{} {} {} {} {} {}",
            member("manager"),
            member("operation"),
            member("apiVersion"),
            member("subresource"),
            member("time"),
            text(entry.get("fieldsV1").unwrap())
        )
    };
    list.iter().map(show).collect::<Vec<_>>().join("\n")
}

fn check(live: Option<&str>, new: &str, manager: &str, expected: &Expect) {
    let live = live.map(json);
    let mut new = json(new);
    track_update(live.as_ref(), &mut new, &info(manager), &widgets()).unwrap();
    expected.assert_eq(&owners(&new));
}

#[test]
fn a_creator_owns_everything_but_system_fields() {
    check(
        None,
        "{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a','namespace':'n','labels':{'l':'1'},
          'finalizers':['f/b','f/a'],'ownerReferences':[{'uid':'u','name':'o'}]},
          'spec':{'x':1,'s':null,'list':['a'],'set':['b'],'items':[{'name':'n','a':1}],'ports':[{'port':80}],
          'map':{'k':'v'},'whole':{'p':'q'},'any':{'m':{'n':[1]}}, 'nested':{'deep':{}}},'status':{'x':1}}",
        "kubectl",
        &expect![[
            "kubectl Update g/v1 - 2023-11-14T22:13:20Z {'f:metadata':{'f:finalizers':{'.':{},'v:\\'f/a\\'':{},'v:\\'f/b\\'':{}},'f:labels':{'.':{},'f:l':{}},'f:ownerReferences':{'.':{},'k:{\\'uid\\':\\'u\\'}':{}}},'f:spec':{'.':{},'f:any':{'.':{},'f:m':{'.':{},'f:n':{}}},'f:items':{'.':{},'k:{\\'name\\':\\'n\\'}':{'.':{},'f:a':{},'f:name':{}}},'f:list':{},'f:map':{'.':{},'f:k':{}},'f:nested':{'.':{},'f:deep':{}},'f:ports':{'.':{},'k:{\\'port\\':80,\\'protocol\\':\\'TCP\\'}':{'.':{},'f:port':{}}},'f:s':{},'f:set':{'.':{},'v:\\'b\\'':{}},'f:whole':{},'f:x':{}}}"
        ]],
    );
}

const LIVE: &str = "{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a','uid':'u','resourceVersion':'1',
    'managedFields':[
      {'manager':'one','operation':'Apply','apiVersion':'g/v1','time':'2020-01-01T00:00:00Z','fieldsType':'FieldsV1',
       'fieldsV1':{'f:spec':{'f:x':{},'f:items':{'k:{\\'name\\':\\'n\\'}':{'.':{},'f:a':{},'f:name':{}}}}}},
      {'manager':'two','operation':'Update','apiVersion':'g/v1','time':'2020-01-01T00:00:00Z','fieldsType':'FieldsV1',
       'fieldsV1':{'f:spec':{'f:y':{}}}}]},
    'spec':{'x':1,'y':2,'items':[{'name':'n','a':1}]}}";

fn changed(spec: &str) -> String {
    let mut object = json(LIVE);
    object.as_object_mut().unwrap().insert("spec", json(spec));
    text(&object)
}

#[test]
fn who_changes_a_field_takes_it_from_its_owner() {
    check(
        Some(LIVE),
        &changed("{'x':1,'y':3,'items':[{'name':'n','a':2}]}"),
        "three",
        &expect![[r"
            one Apply g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:name':{}}},'f:x':{}}}
            three Update g/v1 - 2023-11-14T22:13:20Z {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'f:a':{}}},'f:y':{}}}"]],
    );
}

#[test]
fn what_is_removed_is_owned_by_nobody() {
    check(
        Some(LIVE),
        &changed("{'y':2}"),
        "three",
        &expect!["two Update g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:y':{}}}"],
    );
}

#[test]
fn an_update_without_change_keeps_owners_and_times() {
    check(
        Some(LIVE),
        &changed("{'x':1.0,'y':2,'items':[{'name':'n','a':1}]}"),
        "two",
        &expect![[r"
            one Apply g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:a':{},'f:name':{}}},'f:x':{}}}
            two Update g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:y':{}}}"]],
    );
}

#[test]
fn owners_come_from_the_live_object_when_the_request_names_none_or_nonsense() {
    for given in [
        "",
        ",'managedFields':null",
        ",'managedFields':[{'manager':'m','operation':'Bogus','apiVersion':'g/v1','fieldsType':'FieldsV1'}]",
        ",'managedFields':[{'manager':'m','operation':'Update','apiVersion':'g/v1','fieldsType':'FieldsV9'}]",
        ",'managedFields':[{'manager':'m','operation':'Update','apiVersion':'g/v1','fieldsType':'FieldsV1','fieldsV1':{'junk':{}}}]",
        ",'managedFields':[{'manager':'m','operation':'Update','apiVersion':'','fieldsType':'FieldsV1'}]",
    ] {
        let new = format!("{{'metadata':{{'name':'a'{given}}},'spec':{{'x':1,'y':3}}}}");
        check(
            Some(LIVE),
            &new,
            "two",
            &expect![[r"
                one Apply g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:x':{}}}
                two Update g/v1 - 2023-11-14T22:13:20Z {'f:spec':{'f:y':{}}}"]],
        );
    }
}

#[test]
fn a_request_may_set_the_owners() {
    let given = "[{'manager':'m','operation':'Update','apiVersion':'g/v1','fieldsType':'FieldsV1',
        'time':'2020-01-01T02:00:00.5+02:00','fieldsV1':{'f:spec':{'f:x':{'.':1},'f:items':{'k:{ \\'name\\': \\'n\\'}':null}}},'junk':1}]";
    check(
        Some(LIVE),
        &format!(
            "{{'metadata':{{'name':'a','managedFields':{given}}},'spec':{{'x':1,'y':2,'items':[{{'name':'n','a':1}}]}}}}"
        ),
        "two",
        &expect![[
            r"m Update g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{}},'f:x':{}}}"
        ]],
    );
}

#[test]
fn clearing_the_owners_stops_the_tracking() {
    for given in ["[]", "[{}]", "[{'manager':''}]"] {
        let new = format!("{{'metadata':{{'name':'a','managedFields':{given}}},'spec':{{'x':7}}}}");
        check(Some(LIVE), &new, "two", &expect![""]);
    }
    check(
        Some("{'metadata':{'uid':'u'},'spec':{'x':1}}"),
        "{'metadata':{},'spec':{'x':2}}",
        "two",
        &expect![""],
    );
}

#[test]
fn a_subresource_does_not_set_owners_and_has_its_own_entry() {
    let status = SingleVersion { reset: ResetFields::new(&[&["metadata"], &["spec"]]), ..widgets() };
    let mut new =
        json("{'metadata':{'managedFields':[],'labels':{'a':'b'}},'spec':{'x':9},'status':{'x':1}}");
    let info = ManagerInfo { subresource: "status", ..info("one") };
    track_update(Some(&json(LIVE)), &mut new, &info, &status).unwrap();
    expect![[r"
        one Apply g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:items':{'k:{\'name\':\'n\'}':{'.':{},'f:a':{},'f:name':{}}},'f:x':{}}}
        two Update g/v1 - 2020-01-01T00:00:00Z {'f:spec':{'f:y':{}}}
        one Update g/v1 status 2023-11-14T22:13:20Z {'f:status':{'.':{},'f:x':{}}}"]]
    .assert_eq(&owners(&new));
}

#[test]
fn an_object_that_does_not_conform_is_not_tracked() {
    for spec in
        ["{'x':'1'}", "{'nope':1}", "{'set':[null]}", "{'items':[{}]}", "{'list':[1]}", "{'whole':{'p':1}}"]
    {
        let mut new = json(&changed(spec));
        let tracked = track_update(Some(&json(LIVE)), &mut new, &info("one"), &widgets());
        assert_eq!(tracked, Err(TrackError::NotConforming), "{spec}");
        assert_eq!(managed_fields(&new), None);
    }
}

#[test]
fn a_kind_with_a_zero_value_does_not_own_its_structs() {
    let kind = SingleVersion { empty: Some(json("{'metadata':{},'spec':{'x':0}}")), ..widgets() };
    let mut new = json("{'metadata':{'labels':{'a':'b'}},'spec':{'x':0,'s':'q'}}");
    track_update(None, &mut new, &info(""), &kind).unwrap();
    expect!["unknown Update g/v1 - 2023-11-14T22:13:20Z {'f:metadata':{'f:labels':{'.':{},'f:a':{}}},'f:spec':{'f:s':{}}}"]
        .assert_eq(&owners(&new));
}

#[test]
fn the_oldest_updates_are_merged_when_there_are_too_many() {
    let mut live = json("{'metadata':{'uid':'u','name':'a'},'spec':{'map':{}}}");
    for round in 0..14 {
        let mut new = live.clone();
        let map = new.get_mut("spec").unwrap().get_mut("map").unwrap().as_object_mut().unwrap();
        map.insert(format!("k{round:02}"), "v");
        let manager = format!("m{round:02}");
        let mut info = info(&manager);
        info.now = Timestamp::from_second(NOW + round).unwrap();
        let live_now = (round > 0).then_some(&live);
        track_update(live_now, &mut new, &info, &widgets()).unwrap();
        live = new;
    }
    let owners = owners(&live);
    assert_eq!(owners.lines().count(), 10, "{owners}");
    expect![[r"ancient-changes Update g/v1 - 2023-11-14T22:13:24Z {'f:spec':{'.':{},'f:map':{'.':{},'f:k00':{},'f:k01':{},'f:k02':{},'f:k03':{},'f:k04':{}}}}"]]
        .assert_eq(owners.lines().next().unwrap());
    assert!(owners.lines().nth(1).unwrap().starts_with("m05 "));
}

#[test]
fn a_list_that_became_atomic_is_owned_whole() {
    let live = "{'metadata':{'uid':'u','managedFields':[{'manager':'one','operation':'Apply','apiVersion':'g/v1','fieldsType':'FieldsV1',
        'fieldsV1':{'f:spec':{'f:list':{'v:\\'a\\'':{}},'f:whole':{'f:p':{}},'f:map':{'f:k':{}}}}}]},
        'spec':{'list':['a'],'whole':{'p':'q'},'map':{'k':'v'}}}";
    check(
        Some(live),
        "{'metadata':{},'spec':{'list':['a'],'whole':{'p':'q'},'map':{'k':'v'},'x':1}}",
        "two",
        &expect![[r"
            one Apply g/v1 - - {'f:spec':{'f:list':{},'f:map':{'f:k':{}},'f:whole':{}}}
            two Update g/v1 - 2023-11-14T22:13:20Z {'f:spec':{'f:x':{}}}"]],
    );
}

#[test]
fn what_is_owned_in_another_version_is_compared_there() {
    let entry = |manager: &str, version: &str, field: &str| {
        format!(
            "{{'manager':'{manager}','operation':'Update','apiVersion':'g/{version}','fieldsType':'FieldsV1','fieldsV1':{{'f:spec':{{'f:{field}':{{}},'f:y':{{}}}}}}}}"
        )
    };
    let live = format!(
        "{{'metadata':{{'uid':'u','managedFields':[{},{}]}},'spec':{{'x':1,'y':1}}}}",
        entry("old", "v2", "z"),
        entry("gone", "v0", "q")
    );
    let mut new = json("{'metadata':{},'spec':{'x':2,'y':1}}");
    track_update(Some(&json(&live)), &mut new, &info("new"), &TwoVersions::new()).unwrap();
    expect![[r"
        old Update g/v2 - - {'f:spec':{'f:y':{}}}
        new Update g/v1 - 2023-11-14T22:13:20Z {'f:spec':{'f:x':{}}}"]]
    .assert_eq(&owners(&new));
}

#[test]
fn only_times_that_changed_are_put_back() {
    let live = json(LIVE);
    let mut new = json(&LIVE.replacen("2020", "2024", 1));
    assert!(restore_times_if_unchanged(&live, &mut new));
    assert_eq!(new, live);
    assert!(!restore_times_if_unchanged(&live, &mut new), "nothing to put back");
    for (from, to) in [("'x':1", "'x':2"), ("'name':'a'", "'name':'b'"), ("'f:y':{}", "'f:q':{}")] {
        let mut new = json(&LIVE.replacen("2020", "2024", 1).replacen(from, to, 1));
        assert!(!restore_times_if_unchanged(&live, &mut new), "{from}");
    }
}

#[test]
fn the_user_agent_names_the_manager() {
    for (agent, manager) in [
        ("kubectl/v1.36", "kubectl"),
        ("a\tb\u{200b}é c", "abé c"),
        ("", ""),
        (&"é".repeat(70), &"é".repeat(64)),
    ] {
        assert_eq!(manager_of_user_agent(agent), manager);
    }
}
