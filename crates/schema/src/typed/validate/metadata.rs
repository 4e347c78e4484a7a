//! What a kind's own rules demand of metadata, beside the rules that every kind is held to.
//!
//! The reference runs the shared rules for every object and lets most kinds run them again. All errors are told, so
//! that how often a kind does so shows in the answer.
//!
//! Upstream: kubernetes/pkg/apis/core/validation/{validation,events}.go and the strategies of the kinds, v1.36.

use meta::object::{NamespaceRule, validate_object_meta, validate_object_meta_update};
use meta::{FieldError, Meta, Value};

use super::{ROOT, core, name_rule};
use crate::typed::resources::resource_of;
use crate::typed::types::Kind;

/// How the rules of a kind look at metadata.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent of each other")]
struct Looks {
    /// At that of a new object.
    create: bool,
    /// At that of a changed object, as if it were new.
    update: bool,
    /// At what changed.
    change: bool,
    /// Finalizers must be well known or have a path.
    finalizers: bool,
}

/// Kinds that say nothing about it look so.
const PLAIN: Looks = Looks { create: true, update: false, change: true, finalizers: false };
const CORE: Looks = Looks { finalizers: true, ..PLAIN };
const NOTHING: Looks = Looks { create: false, update: false, change: false, finalizers: false };

fn looks(kind: Kind, subresource: &str) -> Looks {
    match (kind.group(), kind.name(), subresource) {
        ("", "Event", _) => NOTHING,
        ("", "Namespace" | "ConfigMap" | "Secret" | "ServiceAccount", "")
        | ("rbac.authorization.k8s.io", _, _) => Looks { update: true, ..CORE },
        ("" | "events.k8s.io", ..) => CORE,
        _ => PLAIN,
    }
}

/// What the kind's own rules find wrong with the metadata of `new`, which is created or replaces `old`.
pub fn validate_metadata(kind: Kind, subresource: &str, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let looks = looks(kind, subresource);
    let (metadata, path) = (Meta::of(new), ROOT.field("metadata"));
    let mut errors = Vec::new();
    let finalizers = |errors: &mut Vec<FieldError>| {
        if looks.finalizers {
            let path = path.field("finalizers");
            for (index, name) in metadata.finalizers().enumerate() {
                core::standard_finalizer(name, &path.index(index), errors);
            }
        }
    };
    if let Some(old) = old.filter(|_| looks.change) {
        errors.extend(validate_object_meta_update(metadata, Meta::of(old), &path));
        finalizers(&mut errors);
    }
    if (old.is_none() && looks.create) || (old.is_some() && looks.update) {
        let namespaced = resource_of(kind).is_some_and(|resource| resource.namespaced);
        let rule = if namespaced { NamespaceRule::Required } else { NamespaceRule::Forbidden };
        errors.extend(validate_object_meta(metadata, rule, name_rule(kind), &path));
        finalizers(&mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;
    use crate::typed::types::kind;

    /// Which fields are complained about, in order.
    fn check(group: &str, name: &str, subresource: &str, old: bool, expected: &[&str]) {
        let kind = kind(group, "v1", name).unwrap();
        let parse = |text: &[u8]| json::parse(text).unwrap().value;
        let new = parse(
            br#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"1","labels":{"a":"-"},"finalizers":["own"]}}"#,
        );
        let live = parse(br#"{"metadata":{"name":"a","namespace":"n","resourceVersion":"1"}}"#);
        let errors = validate_metadata(kind, subresource, &new, old.then_some(&live));
        let fields: Vec<String> = errors.iter().map(|error| error.field.clone()).collect();
        assert_eq!(fields, expected, "{group}/{name}/{subresource}");
    }

    #[test]
    fn kinds_look_at_metadata_in_their_own_ways() {
        let (labels, finalizer) = ("metadata.labels", "metadata.finalizers[0]");
        check("", "ConfigMap", "", false, &[labels, finalizer]);
        check("", "ConfigMap", "", true, &[labels, finalizer, labels, finalizer]);
        check("", "ResourceQuota", "", true, &[labels, finalizer]);
        check("", "Event", "", false, &[]);
        check("", "Event", "", true, &[]);
        check("events.k8s.io", "Event", "", true, &[labels, finalizer]);
        check("coordination.k8s.io", "Lease", "", false, &[labels]);
        check("coordination.k8s.io", "Lease", "", true, &[labels]);
    }
}
