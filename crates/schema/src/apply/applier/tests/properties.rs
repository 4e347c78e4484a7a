//! What holds whatever is applied.

use proptest::prelude::*;

use super::*;
use crate::apply::testing::{anything, config, widget_type};
use crate::apply::{Duplicates, merge, validate};

fn request(manager: &str, force: bool) -> ApplyRequest<'_> {
    let info = ManagerInfo { manager, api_version: "g/v1", subresource: "", now: Timestamp::UNIX_EPOCH };
    ApplyRequest { info, kind: "Widget", force }
}

fn applied(live: Option<&Value>, config: &Value, manager: &str) -> Value {
    let mut object = apply(live, config.clone(), &request(manager, true), &widgets()).unwrap();
    object.get_mut("metadata").and_then(Value::as_object_mut).unwrap().insert("uid", "u");
    object
}

/// Every other field of a configuration, so that two halves have none in common. An empty list is nobody's
/// and would not outlive its applier; there is none here.
fn half(config: &Value, odd: bool) -> Value {
    let is_empty = |value: &Value| {
        value.as_array().is_some_and(<[Value]>::is_empty) || value.as_object().is_some_and(Map::is_empty)
    };
    let mut config = config.clone();
    let members = config.as_object_mut().unwrap();
    let spec = members.get_mut("spec").and_then(Value::as_object_mut).unwrap();
    spec.retain(|name, value| (name.len() % 2 == 1) == odd && !is_empty(value));
    if spec.is_empty() {
        members.remove("spec");
    }
    config
}

/// The object with its owners, but without the times: who changes nothing gets none.
fn timeless(mut object: Value) -> String {
    let owners = crate::apply::managers::take_managed_fields(&mut object).unwrap_or_default();
    let mut lines = vec![text(&object)];
    for owner in owners.as_array().unwrap_or_default() {
        let mut owner = owner.clone();
        owner.as_object_mut().unwrap().remove("time");
        lines.push(text(&owner));
    }
    lines.sort();
    lines.join("\n")
}

proptest! {
    #[test]
    fn applying_twice_is_applying_once(first in config(), second in config()) {
        let live = applied(Some(&applied(None, &first, "one")), &second, "two");
        let once = applied(Some(&live), &first, "one");
        let twice = applied(Some(&once), &first, "one");
        prop_assert_eq!(text(&twice), text(&once));
    }

    #[test]
    fn appliers_of_disjoint_fields_commute(left in config(), right in config()) {
        let (left, right) = (half(&left, true), half(&right, false));
        let one_way = applied(Some(&applied(None, &left, "one")), &right, "two");
        let other_way = applied(Some(&applied(None, &right, "two")), &left, "one");
        prop_assert_eq!(timeless(one_way), timeless(other_way));
    }

    #[test]
    fn what_one_applies_and_withdraws_leaves_the_others_alone(left in config(), right in config()) {
        let (left, right) = (half(&left, true), half(&right, false));
        let nothing = json("{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a'}}");
        let before = applied(None, &left, "one");
        let between = applied(Some(&before), &right, "two");
        let after = applied(Some(&between), &nothing, "two");
        prop_assert_eq!(timeless(after), timeless(before));
    }

    #[test]
    fn merging_is_idempotent_and_conforms(live in config(), config in config()) {
        let ty = widget_type();
        let once = merge(&ty, live.clone(), config.clone());
        prop_assert!(validate(&ty, &once, Duplicates::Refused).is_ok());
        prop_assert_eq!(text(&merge(&ty, once.clone(), config)), text(&once));
        prop_assert_eq!(text(&merge(&ty, live.clone(), live.clone())), text(&live));
    }

    #[test]
    fn an_applier_owns_its_configuration_and_nothing_conflicts_with_itself(first in config(), second in config()) {
        let live = applied(None, &first, "one");
        let result = apply(Some(&live), second, &request("one", false), &widgets());
        prop_assert!(result.is_ok());
    }

    #[test]
    fn owners_never_overlap_after_an_update(first in config(), second in config()) {
        let live = applied(None, &first, "one");
        let mut new = second.clone();
        let info = ManagerInfo { manager: "two", ..request("", false).info };
        track_update(Some(&live), &mut new, &info, &widgets()).unwrap();
        let entries = entry::decode(managed_fields(&new).unwrap_or_default().to_vec(), Origin::Foreign).unwrap();
        if let [left, right] = entries.as_slice() {
            prop_assert!(left.fields.intersection(&right.fields).is_empty());
        }
    }

    #[test]
    fn no_input_makes_it_panic(live in anything(), mut new in anything(), members in anything()) {
        let mut config = json("{'apiVersion':'g/v1','kind':'Widget','metadata':{'name':'a'}}");
        config.as_object_mut().unwrap().insert("spec", members);
        let info = request("m", false).info;
        // Whether it works is not the question.
        let _ = track_update(Some(&live), &mut new, &info, &widgets());
        let _ = track_update(None, &mut new, &info, &widgets());
        for force in [true, false] {
            let _ = apply(Some(&live), config.clone(), &request("m", force), &widgets());
            let _ = apply(Some(&new), config.clone(), &request("kubectl", force), &widgets());
            let _ = apply(None, live.clone(), &request("m", force), &widgets());
        }
    }
}
