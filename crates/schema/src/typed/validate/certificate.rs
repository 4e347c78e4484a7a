//! Certificate signing requests, as far as no certificate is parsed: the signature of a request is checked where
//! cryptography is.

use meta::names::{DNS1123_LABEL_MAX_BYTES, DNS1123_SUBDOMAIN_MAX_BYTES, dns1123_label, dns1123_subdomain};
use meta::{FieldError, FieldPath, Value};

use super::{ROOT, each, one_of};
use crate::typed::access::{int, list, present, text, texts};
use crate::typed::go_base64;

const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";
const APPROVED: &str = "Approved";
const DENIED: &str = "Denied";
const FAILED: &str = "Failed";

pub(super) fn request(new: &Value, old: Option<&Value>, subresource: &str, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    let encoded = text(new, &["spec", "request"]);
    let pem = go_base64::decode(encoded.as_bytes()).unwrap_or_default();
    if pem_blocks(&pem).first().is_none_or(|kind| kind != "CERTIFICATE REQUEST") {
        let detail = "PEM block type must be CERTIFICATE REQUEST";
        let value = new.at(&["spec", "request"]).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(&spec.field("request"), value, detail));
    }
    usages(new, old, &spec.field("usages"), errors);
    let signer = text(new, &["spec", "signerName"]);
    let legacy = old.is_some_and(|old| text(old, &["spec", "signerName"]) == LEGACY_SIGNER);
    if signer == LEGACY_SIGNER && !legacy {
        let detail = "the legacy signerName is not allowed via this API version";
        errors.push(FieldError::invalid(&spec.field("signerName"), signer, detail));
    } else {
        signer_name(signer, &spec.field("signerName"), errors);
    }
    if present(new, &["spec", "expirationSeconds"]).is_some() {
        let seconds = int(new, &["spec", "expirationSeconds"]);
        if seconds < 600 {
            let detail = "may not specify a duration less than 600 seconds (10 minutes)";
            errors.push(FieldError::invalid(&spec.field("expirationSeconds"), seconds, detail));
        }
    }
    conditions(new, old, errors);
    certificate(new, old, errors);
    if let Some(old) = old {
        update(new, old, subresource, errors);
    }
}

fn usages(new: &Value, old: Option<&Value>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let usages = texts(new, &["spec", "usages"]);
    let before = old.map_or_else(Vec::new, |old| texts(old, &["spec", "usages"]));
    if usages.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if before.iter().all(|usage| USAGES.contains(usage)) {
        for (index, usage) in usages.iter().enumerate() {
            one_of(errors, &path.index(index), usage, &USAGES);
        }
    }
    if !has_repeated(&before) {
        for (index, usage) in usages.iter().enumerate() {
            if usages[..index].contains(usage) {
                errors.push(FieldError::duplicate(&path.index(index), *usage));
            }
        }
    }
}

fn has_repeated(texts: &[&str]) -> bool {
    (1..texts.len()).any(|index| texts[..index].contains(&texts[index]))
}

/// `domain/path`, both of dotted parts.
fn signer_name(name: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        return errors.push(FieldError::required(path, ""));
    }
    let [domain, rest] = name.split('/').collect::<Vec<_>>()[..] else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        return errors.push(FieldError::invalid(path, name, detail));
    };
    if domain.len() > DNS1123_SUBDOMAIN_MAX_BYTES {
        errors.push(FieldError::too_long(path, "", DNS1123_SUBDOMAIN_MAX_BYTES));
    }
    dotted(domain, dns1123_label, path, errors);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, domain, detail));
    }
    dotted(rest, dns1123_subdomain, path, errors);
    // A signer's key in role rules and in names must stay within the usual limits.
    let longest = 2 * DNS1123_SUBDOMAIN_MAX_BYTES + DNS1123_LABEL_MAX_BYTES + 2;
    if name.len() > longest {
        errors.push(FieldError::too_long(path, "", longest));
    }
}

/// Reports the first part that is not what `check` wants.
fn dotted(text: &str, check: fn(&str) -> Vec<String>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let wrong = text.split('.').map(|part| (part, check(part))).find(|(_, problems)| !problems.is_empty());
    if let Some((part, problems)) = wrong {
        let part = meta::go_fmt::quote(part);
        let details = problems.into_iter().map(|problem| format!("validating label {part}: {problem}"));
        each(errors, path, text, details.collect());
    }
}

fn of_type<'a>(object: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(object, &["status", "conditions"]).iter().filter(|c| text(c, &["type"]) == kind).collect()
}

fn conditions(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let status = ROOT.field("status");
    let path = status.field("conditions");
    let both_before =
        old.is_some_and(|old| !of_type(old, APPROVED).is_empty() && !of_type(old, DENIED).is_empty());
    let before = old.map_or(&[][..], |old| list(old, &["status", "conditions"]));
    let types: Vec<&str> = before.iter().map(|condition| text(condition, &["type"])).collect();
    let (empty_before, repeated_before) = (types.contains(&""), has_repeated(&types));
    let mut seen: Vec<&str> = Vec::new();
    for (index, condition) in list(new, &["status", "conditions"]).iter().enumerate() {
        let item = path.index(index);
        let kind = text(condition, &["type"]);
        if kind.is_empty() && !empty_before {
            errors.push(FieldError::required(&item.field("type"), ""));
        }
        let only_true = [APPROVED, DENIED, FAILED].contains(&kind);
        let supported: &[&str] = if only_true { &["True"] } else { &["False", "True", "Unknown"] };
        match text(condition, &["status"]) {
            "" => errors.push(FieldError::required(&item.field("status"), "")),
            value => one_of(errors, &item.field("status"), value, supported),
        }
        let excluded = match kind {
            APPROVED => DENIED,
            DENIED => APPROVED,
            _ => "",
        };
        if !both_before && !excluded.is_empty() && seen.contains(&excluded) {
            let detail = "Approved and Denied conditions are mutually exclusive";
            errors.push(FieldError::invalid(&path, kind, detail));
        }
        if seen.contains(&kind) && !repeated_before {
            errors.push(FieldError::duplicate(&item.field("type"), kind));
        }
        seen.push(kind);
    }
}

fn certificate(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let encoded = text(new, &["status", "certificate"]);
    // What was already there, or already wrong, may stay.
    let before = old.map_or("", |old| text(old, &["status", "certificate"]));
    if before == encoded || certificate_problem(before).is_some() {
        return;
    }
    if let Some(detail) = certificate_problem(encoded) {
        let status = ROOT.field("status");
        errors.push(FieldError::invalid(&status.field("certificate"), "<certificate data>", detail));
    }
}

fn certificate_problem(encoded: &str) -> Option<String> {
    if encoded.is_empty() {
        return None;
    }
    let pem = go_base64::decode(encoded.as_bytes()).unwrap_or_default();
    let blocks = pem_blocks(&pem);
    match blocks.iter().find(|kind| *kind != "CERTIFICATE") {
        Some(kind) => {
            Some(format!("only CERTIFICATE PEM blocks are allowed, found {}", meta::go_fmt::quote(kind)))
        }
        None if blocks.is_empty() => Some("must contain at least one CERTIFICATE PEM block".to_owned()),
        None => None,
    }
}

/// The types of the PEM blocks, in order.
fn pem_blocks(pem: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(pem);
    let mut blocks = Vec::new();
    let mut open: Option<&str> = None;
    for line in text.lines().map(str::trim_end) {
        let named = |prefix: &str| line.strip_prefix(prefix).and_then(|rest| rest.strip_suffix("-----"));
        if let Some(kind) = named("-----BEGIN ") {
            open = Some(kind);
        } else if let (Some(kind), Some(end)) = (open, named("-----END ")) {
            if kind == end {
                blocks.push(kind.to_owned());
            }
            open = None;
        }
    }
    blocks
}

fn update(new: &Value, old: &Value, subresource: &str, errors: &mut Vec<FieldError>) {
    let status = ROOT.field("status");
    let path = status.field("conditions");
    let mut forbid = |detail: String| errors.push(FieldError::forbidden(&path, detail));
    for kind in [APPROVED, DENIED, FAILED] {
        if of_type(new, kind).len() < of_type(old, kind).len() {
            forbid(format!("updates may not remove a condition of type {kind:?}"));
        }
    }
    if subresource != "approval" {
        for kind in [APPROVED, DENIED] {
            let (now, before) = (of_type(new, kind), of_type(old, kind));
            if now.len() > before.len() {
                forbid(format!("updates may not add a condition of type {kind:?}"));
            } else if now.len() == before.len() && now != before {
                forbid(format!("updates may not modify a condition of type {kind:?}"));
            }
        }
    }
    let before = text(old, &["status", "certificate"]);
    if text(new, &["status", "certificate"]) != before {
        let path = status.field("certificate");
        if subresource != "status" {
            errors.push(FieldError::forbidden(&path, "updates may not set certificate content"));
        } else if !before.is_empty() {
            errors.push(FieldError::forbidden(&path, "updates may not modify existing certificate content"));
        }
    }
}
