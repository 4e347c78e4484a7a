//! What the reference remarks on although it accepts the object.
//!
//! Upstream: `WarningsOnCreate` and `WarningsOnUpdate` of the strategies in kubernetes/pkg/registry, v1.36. Of the pair
//! in a TLS secret only the PEM around it is looked at: whether the key fits the certificate is left to where
//! cryptography is.

use meta::Value;

use super::types::Kind;
use super::{Quantity, access, go_base64};

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// The texts of the warnings about `new`, which is created or replaces `old`.
pub fn warnings(kind: Kind, new: &Value, old: Option<&Value>) -> Vec<String> {
    match kind.name() {
        "ServiceAccount" => service_account(new, old).into_iter().collect(),
        "ResourceQuota" if old.is_none() => quota(new),
        "Secret" if access::text(new, &["type"]) == "kubernetes.io/tls" => {
            tls_pair(new).into_iter().collect()
        }
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

/// What of a certificate and its key cannot be found.
///
/// Upstream: Go's crypto/tls, `X509KeyPair`.
fn tls_pair(secret: &Value) -> Option<String> {
    let types = |key: &str| {
        let data = access::text(secret, &["data", key]);
        pem_types(&String::from_utf8_lossy(&go_base64::decode(data.as_bytes()).unwrap_or_default()))
    };
    let is_key = |kind: &str| kind.ends_with("PRIVATE KEY");
    let found = types("tls.crt");
    if !found.iter().any(|kind| kind == "CERTIFICATE") {
        return Some(match found.as_slice() {
            [] => "tls: failed to find any PEM data in certificate input".to_owned(),
            [kind] if is_key(kind) => "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".to_owned(),
            _ => format!("tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [{}]", found.join(" ")),
        });
    }
    let found = types("tls.key");
    if !found.iter().any(|kind| is_key(kind)) {
        return Some(match found.as_slice() {
            [] => "tls: failed to find any PEM data in key input".to_owned(),
            [kind] if kind == "CERTIFICATE" => {
                "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
            }
            _ => format!(
                "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM blocks of the following types: [{}]",
                found.join(" ")
            ),
        });
    }
    None
}

/// The types of the PEM blocks in a text.
fn pem_types(text: &str) -> Vec<String> {
    let mut types = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) =
            line.strip_prefix("-----BEGIN ").and_then(|line| line.trim_end().strip_suffix("-----"))
        else {
            continue;
        };
        let end = format!("-----END {kind}-----");
        let rest = lines.clone();
        let body: Vec<&str> = rest.clone().take_while(|line| line.trim_end() != end).collect();
        let ends = rest.clone().nth(body.len()).is_some();
        // Headers before the first empty line are none of the base64.
        let encoded: String =
            body.iter().filter(|line| !line.contains(": ")).map(|line| line.trim()).collect();
        if ends && go_base64::decode(encoded.as_bytes()).is_ok() {
            types.push(kind.to_owned());
            lines.nth(body.len());
        }
    }
    types
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
    fn a_pair_that_is_none_is_told() {
        let certificate = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
        let key = "-----BEGIN EC PRIVATE KEY-----\nYWJj\n-----END EC PRIVATE KEY-----\n";
        let broken = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        let check = |crt: &str, key: &str, expected: &[&str]| {
            let (crt, key) = (go_base64::encode(crt.as_bytes()), go_base64::encode(key.as_bytes()));
            let secret =
                format!(r#"{{"type":"kubernetes.io/tls","data":{{"tls.crt":"{crt}","tls.key":"{key}"}}}}"#);
            assert_eq!(run("Secret", &secret, None), expected);
        };
        check("", "", &["tls: failed to find any PEM data in certificate input"]);
        check(broken, key, &["tls: failed to find any PEM data in certificate input"]);
        check(
            key,
            "",
            &[
                "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
            ],
        );
        check(
            &format!("{key}{key}"),
            "",
            &[
                "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the following types: [EC PRIVATE KEY EC PRIVATE KEY]",
            ],
        );
        check(certificate, "x", &["tls: failed to find any PEM data in key input"]);
        check(
            certificate,
            certificate,
            &["tls: found a certificate rather than a key in the PEM for the private key"],
        );
        check(certificate, key, &[]);
    }

    #[test]
    fn an_annotation_that_is_going_away_is_named_once() {
        let account = r#"{"metadata":{"annotations":{"kubernetes.io/enforce-mountable-secrets":"true"}}}"#;
        assert_eq!(run("ServiceAccount", account, None).len(), 1);
        assert_eq!(run("ServiceAccount", account, Some("{}")).len(), 1);
        assert_eq!(run("ServiceAccount", account, Some(account)), [""; 0]);
    }
}
