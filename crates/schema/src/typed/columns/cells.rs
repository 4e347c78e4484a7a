//! What fills the columns: one small function per kind, all over served objects.

use jiff::Timestamp;
use meta::Value;

use crate::typed::access::{list, text};

const NONE: &str = "<none>";
const UNSET: &str = "<unset>";

/// The number of members or items.
fn count(object: &Value, path: &[&str]) -> i64 {
    let length = match object.at(path) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(items)) => items.len(),
        _ => 0,
    };
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn or<'a>(value: &'a str, otherwise: &'a str) -> &'a str {
    if value.is_empty() { otherwise } else { value }
}

fn name(object: &Value) -> Value {
    text(object, &["metadata", "name"]).into()
}

fn age(object: &Value, now: i64) -> Value {
    since(object.at(&["metadata", "creationTimestamp"]), now).into()
}

fn since(time: Option<&Value>, now: i64) -> String {
    let time = time.and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
    time.map_or_else(|| "<unknown>".to_owned(), |time| human_duration(now - time.as_second()))
}

/// A length of time in one or two units, as the reference rounds it.
///
/// ```
/// use crest_schema::typed::columns::human_duration;
/// assert_eq!([119, 120, 605, 90_000].map(human_duration), ["119s", "2m", "10m", "25h"]);
/// ```
pub fn human_duration(seconds: i64) -> String {
    let two = |big: i64, big_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{big}{big_unit}"),
        _ => format!("{big}{big_unit}{small}{small_unit}"),
    };
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    match () {
        () if seconds < -1 => "<invalid>".to_owned(),
        () if seconds < 0 => "0s".to_owned(),
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if days < 365 * 2 => format!("{days}d"),
        () if days < 365 * 8 => two(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

pub(super) fn name_and_creation(object: &Value, _: i64) -> Vec<Value> {
    let created = or(text(object, &["metadata", "creationTimestamp"]), "0001-01-01T00:00:00Z");
    vec![name(object), created.into()]
}

pub(super) fn name_and_age(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), age(object, now)]
}

pub(super) fn namespace(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), text(object, &["status", "phase"]).into(), age(object, now)]
}

pub(super) fn config_map(object: &Value, now: i64) -> Vec<Value> {
    let entries = count(object, &["data"]) + count(object, &["binaryData"]);
    vec![name(object), entries.into(), age(object, now)]
}

pub(super) fn secret(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), text(object, &["type"]).into(), count(object, &["data"]).into(), age(object, now)]
}

pub(super) fn lease(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), text(object, &["spec", "holderIdentity"]).into(), age(object, now)]
}

/// What an event's fields are called in its group.
struct EventFields {
    about: &'static str,
    source: &'static str,
    reporter: &'static str,
    message: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
}

pub(super) fn core_event(object: &Value, now: i64) -> Vec<Value> {
    let fields = EventFields {
        about: "involvedObject",
        source: "source",
        reporter: "reportingComponent",
        message: "message",
        first: "firstTimestamp",
        last: "lastTimestamp",
        count: "count",
    };
    event(object, now, &fields)
}

pub(super) fn new_event(object: &Value, now: i64) -> Vec<Value> {
    let fields = EventFields {
        about: "regarding",
        source: "deprecatedSource",
        reporter: "reportingController",
        message: "note",
        first: "deprecatedFirstTimestamp",
        last: "deprecatedLastTimestamp",
        count: "deprecatedCount",
    };
    event(object, now, &fields)
}

fn event(object: &Value, now: i64, fields: &EventFields) -> Vec<Value> {
    let set = |path: &[&str]| object.at(path).filter(|time| !time.is_null());
    let first = since(set(&[fields.first]).or_else(|| set(&["eventTime"])), now);
    let series = set(&["series"]);
    let last = match series {
        Some(series) => since(series.get("lastObservedTime"), now),
        None => set(&[fields.last]).map_or_else(|| first.clone(), |time| since(Some(time), now)),
    };
    let counted = match series {
        Some(series) => series.get("count"),
        None => object.get(fields.count),
    };
    let counted = counted.and_then(Value::as_int).unwrap_or(0);
    let counted = if series.is_none() && counted == 0 { 1 } else { counted };
    let kind = text(object, &[fields.about, "kind"]).to_lowercase();
    let about = match text(object, &[fields.about, "name"]) {
        "" => kind,
        named => format!("{kind}/{named}"),
    };
    let component = or(text(object, &[fields.source, "component"]), text(object, &[fields.reporter]));
    let source = match or(text(object, &[fields.source, "host"]), text(object, &["reportingInstance"])) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    };
    vec![
        last.into(),
        text(object, &["type"]).into(),
        text(object, &["reason"]).into(),
        about.into(),
        text(object, &[fields.about, "fieldPath"]).into(),
        source.into(),
        text(object, &[fields.message]).trim().into(),
        first.into(),
        counted.into(),
        name(object),
    ]
}

pub(super) fn resource_quota(object: &Value, now: i64) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let hard = object.at(&["status", "hard"]).and_then(Value::as_object);
    for (resource, hard) in hard.into_iter().flat_map(meta::Map::iter) {
        let used = or(text(object, &["status", "used", resource]), "0");
        let cell = format!("{resource}: {used}/{}", hard.as_str().unwrap_or("0"));
        if resource.starts_with("limits.") { limits.push(cell) } else { requests.push(cell) }
    }
    vec![name(object), requests.join(", ").into(), limits.join(", ").into(), age(object, now)]
}

pub(super) fn role_binding(object: &Value, now: i64) -> Vec<Value> {
    let role = format!("{}/{}", text(object, &["roleRef", "kind"]), text(object, &["roleRef", "name"]));
    let of_kind = |kind: &str| {
        let subjects = list(object, &["subjects"]).iter().filter(|subject| text(subject, &["kind"]) == kind);
        let names = subjects.map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, &["namespace"]), text(subject, &["name"])),
            _ => text(subject, &["name"]).to_owned(),
        });
        Value::from(names.collect::<Vec<_>>().join(", "))
    };
    let subjects = ["User", "Group", "ServiceAccount"].map(of_kind);
    [name(object), role.into(), age(object, now)].into_iter().chain(subjects).collect()
}

pub(super) fn signing_request(object: &Value, now: i64) -> Vec<Value> {
    let duration = object.at(&["spec", "expirationSeconds"]).and_then(Value::as_int);
    let has = |kind: &str| list(object, &["status", "conditions"]).iter().any(|c| text(c, &["type"]) == kind);
    let mut status = String::from(match () {
        () if has("Denied") => "Denied",
        () if has("Approved") => "Approved",
        () => "Pending",
    });
    if has("Failed") {
        status.push_str(",Failed");
    }
    if !text(object, &["status", "certificate"]).is_empty() {
        status.push_str(",Issued");
    }
    vec![
        name(object),
        age(object, now),
        or(text(object, &["spec", "signerName"]), NONE).into(),
        text(object, &["spec", "username"]).into(),
        duration.map_or_else(|| NONE.to_owned(), human_duration).into(),
        status.into(),
    ]
}

pub(super) fn webhooks(object: &Value, now: i64) -> Vec<Value> {
    vec![name(object), count(object, &["webhooks"]).into(), age(object, now)]
}

pub(super) fn validating_policy(object: &Value, now: i64) -> Vec<Value> {
    policy(object, now, "validations")
}

pub(super) fn mutating_policy(object: &Value, now: i64) -> Vec<Value> {
    policy(object, now, "mutations")
}

fn policy(object: &Value, now: i64, rules: &str) -> Vec<Value> {
    let param = match object.at(&["spec", "paramKind"]) {
        Some(param) => format!("{}/{}", text(param, &["apiVersion"]), text(param, &["kind"])),
        None => UNSET.to_owned(),
    };
    vec![name(object), count(object, &["spec", rules]).into(), param.into(), age(object, now)]
}

pub(super) fn policy_binding(object: &Value, now: i64) -> Vec<Value> {
    let param = match object.at(&["spec", "paramRef"]) {
        Some(param) if !text(param, &["name"]).is_empty() => {
            format!("{}/{}", or(text(param, &["namespace"]), "*"), text(param, &["name"]))
        }
        Some(param) => param.get("selector").map_or_else(|| UNSET.to_owned(), go_selector),
        None => UNSET.to_owned(),
    };
    vec![name(object), text(object, &["spec", "policyName"]).into(), param.into(), age(object, now)]
}

/// A label selector as Go's generated `String` prints it.
fn go_selector(selector: &Value) -> String {
    let labels = selector.get("matchLabels").and_then(Value::as_object);
    let labels = labels
        .into_iter()
        .flat_map(meta::Map::iter)
        .map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .concat();
    let expressions = list(selector, &["matchExpressions"])
        .iter()
        .map(|rule| {
            let values: Vec<_> = list(rule, &["values"]).iter().filter_map(Value::as_str).collect();
            let values = values.join(" ");
            let (key, operator) = (text(rule, &["key"]), text(rule, &["operator"]));
            format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        })
        .collect::<Vec<_>>()
        .concat();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},\
         MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

pub(super) fn flow_schema(object: &Value, now: i64) -> Vec<Value> {
    let dangling = list(object, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == "Dangling");
    vec![
        name(object),
        text(object, &["spec", "priorityLevelConfiguration", "name"]).into(),
        object.at(&["spec", "matchingPrecedence"]).and_then(Value::as_int).unwrap_or(0).into(),
        or(text(object, &["spec", "distinguisherMethod", "type"]), NONE).into(),
        age(object, now),
        dangling.map_or("?", |condition| text(condition, &["status"])).into(),
    ]
}

pub(super) fn priority_level(object: &Value, now: i64) -> Vec<Value> {
    let number = |path: &[&str]| object.at(path).cloned().unwrap_or_else(|| NONE.into());
    let queuing = |field: &str| number(&["spec", "limited", "limitResponse", "queuing", field]);
    vec![
        name(object),
        text(object, &["spec", "type"]).into(),
        number(&["spec", "limited", "nominalConcurrencyShares"]),
        queuing("queues"),
        queuing("handSize"),
        queuing("queueLengthLimit"),
        age(object, now),
    ]
}

pub(super) fn service(object: &Value, now: i64) -> Vec<Value> {
    let kind = text(object, &["spec", "type"]);
    let cluster_ip = list(object, &["spec", "clusterIPs"]).first().and_then(Value::as_str).unwrap_or(NONE);
    let ports = list(object, &["spec", "ports"]).iter().map(service_port).collect::<Vec<_>>().join(",");
    let selector = object.at(&["spec", "selector"]).and_then(Value::as_object);
    let selector = selector
        .into_iter()
        .flat_map(meta::Map::iter)
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect::<Vec<_>>()
        .join(",");
    vec![
        name(object),
        kind.into(),
        cluster_ip.into(),
        external_ip(object, kind).into(),
        or(&ports, NONE).into(),
        age(object, now),
        or(&selector, NONE).into(),
    ]
}

fn service_port(port: &Value) -> String {
    let number = |field: &str| port.get(field).and_then(Value::as_int).unwrap_or(0);
    let protocol = text(port, &["protocol"]);
    match number("nodePort") {
        node @ 1.. => format!("{}:{node}/{protocol}", number("port")),
        _ => format!("{}/{protocol}", number("port")),
    }
}

fn external_ip(object: &Value, kind: &str) -> String {
    let mut addresses: Vec<&str> = Vec::new();
    if kind == "LoadBalancer" {
        let ingress = list(object, &["status", "loadBalancer", "ingress"]).iter();
        addresses.extend(ingress.map(|entry| or(text(entry, &["ip"]), text(entry, &["hostname"]))));
        addresses.retain(|address| !address.is_empty());
        addresses.sort_unstable();
        addresses.dedup();
    }
    addresses.extend(list(object, &["spec", "externalIPs"]).iter().filter_map(Value::as_str));
    match (kind, addresses.is_empty()) {
        ("ExternalName", _) => text(object, &["spec", "externalName"]).to_owned(),
        ("ClusterIP" | "NodePort", true) => NONE.to_owned(),
        ("LoadBalancer", true) => "<pending>".to_owned(),
        ("ClusterIP" | "NodePort" | "LoadBalancer", false) => addresses.join(","),
        _ => "<unknown>".to_owned(),
    }
}

pub(super) fn endpoint_slice(object: &Value, now: i64) -> Vec<Value> {
    let ports = list(object, &["ports"]).iter().map(|port| match port.get("port").and_then(Value::as_int) {
        Some(number) => number.to_string(),
        None => port.get("name").and_then(Value::as_str).unwrap_or("*").to_owned(),
    });
    let endpoints = list(object, &["endpoints"]).iter().flat_map(|endpoint| list(endpoint, &["addresses"]));
    let addresses = endpoints.filter_map(Value::as_str).map(str::to_owned);
    vec![
        name(object),
        text(object, &["addressType"]).into(),
        at_most_three(&ports.collect::<Vec<_>>()).into(),
        at_most_three(&addresses.collect::<Vec<_>>()).into(),
        age(object, now),
    ]
}

fn at_most_three(all: &[String]) -> String {
    let shown = all[..all.len().min(3)].join(",");
    match all.len() {
        4.. => format!("{shown} + {} more...", all.len() - 3),
        _ if shown.is_empty() => UNSET.to_owned(),
        _ => shown,
    }
}

pub(super) fn api_service(object: &Value, now: i64) -> Vec<Value> {
    let service = match object.at(&["spec", "service"]) {
        Some(service) => format!("{}/{}", text(service, &["namespace"]), text(service, &["name"])),
        None => "Local".to_owned(),
    };
    let available =
        list(object, &["status", "conditions"]).iter().find(|c| text(c, &["type"]) == "Available");
    let available = match available {
        None => "Unknown".to_owned(),
        Some(condition) => match (text(condition, &["status"]), text(condition, &["reason"])) {
            ("True", _) | (_, "") => text(condition, &["status"]).to_owned(),
            (status, reason) => format!("{status} ({reason})"),
        },
    };
    vec![name(object), service.into(), available.into(), age(object, now)]
}
