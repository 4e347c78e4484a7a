//! What the reference remarks on although it accepts the object.
//!
//! Upstream: `WarningsOnCreate` and `WarningsOnUpdate` of the strategies in kubernetes/pkg/registry, v1.36. That a TLS
//! secret's key does not fit its certificate is left to where cryptography is.

use meta::Value;

use super::types::Kind;
use super::{Quantity, access};

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// The texts of the warnings about `new`, which is created or replaces `old`.
pub fn warnings(kind: Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    match kind.name() {
        "ServiceAccount" => service_account(new, old).into_iter().collect(),
        "ResourceQuota" if old.is_none() => quota(new),
        _ => Vec::new(),
    }
}

fn service_account(new: &Value, old: Option<&Value>) -> Option<String> {
    let annotated = |object: &Value| object.at(&["metadata", "annotations", MOUNTABLE]).is_some();
    (annotated(new) && !old.is_some_and(annotated)).then(|| {
        format!(
            "metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access \
             to mounted secrets"
        )
    })
}

/// Requests above limits can never be used up.
fn quota(new: &Value) -> Vec<String> {
    let amount = |name: &str| Quantity::parse(access::text(new, &["spec", "hard", name])).ok();
    let mut found = Vec::new();
    for name in ["cpu", "memory", "storage", "ephemeral-storage"] {
        let (mut request, limit) = (format!("requests.{name}"), format!("limits.{name}"));
        if amount(&request).is_none() && matches!(name, "cpu" | "memory") {
            name.clone_into(&mut request);
        }
        if let (Some(requested), Some(limited)) = (amount(&request), amount(&limit))
            && requested > limited
        {
            found.push(format!(
                "ResourceQuota {request} ({requested}) should be less than {limit} ({limited})"
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use meta::wire::json;

    use super::*;
    use crate::typed::kind;

    fn run(name: &str, new: &str, old: Option<&str>) -> Vec<String> {
        let parse = |text: &str| json::parse(text.as_bytes()).unwrap().value;
        warnings(kind("", "v1", name).unwrap(), &parse(new), old.map(parse).as_ref())
    }

    #[test]
    fn quotas_that_contradict_themselves() {
        let quota =
            r#"{"spec":{"hard":{"cpu":"2","limits.cpu":"1","requests.memory":"1Gi","limits.memory":"2Gi"}}}"#;
        assert_eq!(
            run("ResourceQuota", quota, None),
            ["ResourceQuota cpu (2) should be less than limits.cpu (1)"]
        );
        assert_eq!(run("ResourceQuota", quota, Some("{}")), [""; 0]);
    }

    #[test]
    fn an_annotation_that_is_going_away_is_named_once() {
        let account = r#"{"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}"#;
        assert_eq!(run("ServiceAccount", account, None).len(), 1);
        assert_eq!(run("ServiceAccount", account, Some("{}")).len(), 1);
        assert_eq!(run("ServiceAccount", account, Some(account)), [""; 0]);
    }
}
