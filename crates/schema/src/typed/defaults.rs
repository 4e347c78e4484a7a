//! What the reference fills in when it reads an object of a kind.
//!
//! Works on decoded objects. Idempotent. Runs on every write, and would change nothing on a read of what it wrote.
//! Defaults of definitions live with definitions.
//!
//! Upstream: the `SetDefaults_*` functions of kubernetes/pkg/apis/*/v1/defaults.go and
//! kube-aggregator/pkg/apis/apiregistration/v1/defaults.go; the conversion of Secret, v1.36.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meta::{Map, Value};

use super::Kind;
use super::access::{items_mut, map_mut, text};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
/// The label every namespace carries its name in.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Fills in the defaults of `kind`.
///
/// ```
/// use meta::wire::json;
/// use crest_schema::typed::{default, kind};
/// let mut secret = json::parse(br#"{"stringData":{"k":"v"}}"#).unwrap().value;
/// default(kind("", "v1", "Secret").unwrap(), &mut secret);
/// assert_eq!(json::to_string(&secret), r#"{"data":{"k":"dg=="},"type":"Opaque"}"#);
/// ```
pub fn default(kind: Kind, object: &mut Value) {
    match kind.name() {
        "Namespace" => namespace(object),
        "Secret" => secret(object),
        "Service" => service(object),
        "RoleBinding" | "ClusterRoleBinding" => role_binding(object),
        "ValidatingWebhookConfiguration" => {
            items_mut(object, &["webhooks"]).for_each(|webhook| self::webhook(webhook, false));
        }
        "MutatingWebhookConfiguration" => {
            items_mut(object, &["webhooks"]).for_each(|webhook| self::webhook(webhook, true));
        }
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            if let Some(spec) = map_mut(object, &["spec"]) {
                set(spec, "failurePolicy", "Fail");
            }
            if let Some(constraints) =
                object.get_mut("spec").and_then(|spec| spec.get_mut("matchConstraints"))
            {
                match_resources(constraints);
            }
        }
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            if let Some(resources) = object.get_mut("spec").and_then(|spec| spec.get_mut("matchResources")) {
                match_resources(resources);
            }
        }
        "APIService" => {
            if let Some(service) = object.get_mut("spec").and_then(|spec| spec.get_mut("service")) {
                service_port(service);
            }
        }
        "FlowSchema" => {
            if let Some(spec) = map_mut(object, &["spec"]) {
                set_nonzero(spec, "matchingPrecedence", 1000);
            }
        }
        "PriorityLevelConfiguration" => priority_level(object),
        "EndpointSlice" => items_mut(object, &["ports"]).filter_map(Value::as_object_mut).for_each(|port| {
            set(port, "name", "");
            set(port, "protocol", "TCP");
        }),
        "TokenRequest" => {
            if let Some(spec) = map_mut(object, &["spec"]) {
                set(spec, "expirationSeconds", 3600_i64);
            }
        }
        _ => {}
    }
}

/// Sets a member that is absent or null.
fn set(map: &mut Map, key: &str, value: impl Into<Value>) {
    if map.get(key).is_none_or(Value::is_null) {
        map.insert(key, value);
    }
}

/// Sets a string that is absent or empty.
fn set_text(map: &mut Map, key: &str, value: &str) {
    if map.get(key).and_then(Value::as_str).is_none_or(str::is_empty) {
        map.insert(key, value);
    }
}

/// Sets a number that is absent or zero.
fn set_nonzero(map: &mut Map, key: &str, value: i64) {
    if map.get(key).and_then(Value::as_int).is_none_or(|number| number == 0) {
        map.insert(key, value);
    }
}

fn namespace(object: &mut Value) {
    label_with_name(object);
    if let Some(status) = map_mut(object, &["status"]) {
        set_text(status, "phase", "Active");
    }
}

/// Also called once more after a name was generated, when it is first known.
pub(super) fn label_with_name(object: &mut Value) {
    let name = text(object, &["metadata", "name"]).to_owned();
    if !name.is_empty()
        && let Some(labels) = map_mut(object, &["metadata", "labels"])
    {
        labels.insert(NAME_LABEL, name);
    }
}

fn secret(object: &mut Value) {
    let Some(secret) = object.as_object_mut() else { return };
    set_text(secret, "type", "Opaque");
    let Some(Value::Object(plain)) = secret.remove("stringData") else { return };
    if plain.is_empty() {
        return;
    }
    let Some(data) = map_mut(object, &["data"]) else { return };
    for (key, value) in plain.iter() {
        data.insert(key, STANDARD.encode(value.as_str().unwrap_or_default()));
    }
}

fn service(object: &mut Value) {
    let Some(spec) = map_mut(object, &["spec"]) else { return };
    set_text(spec, "sessionAffinity", "None");
    set_text(spec, "type", "ClusterIP");
    let affinity = spec.get("sessionAffinity").and_then(Value::as_str).unwrap_or_default();
    if affinity == "None" {
        spec.remove("sessionAffinityConfig");
    } else if affinity == "ClientIP" {
        let timeout = spec.get("sessionAffinityConfig").and_then(|c| c.at(&["clientIP", "timeoutSeconds"]));
        if timeout.is_none() {
            let client: Map = [("timeoutSeconds", Value::Int(10_800))].into_iter().collect();
            let config: Map = [("clientIP", Value::from(client))].into_iter().collect();
            spec.insert("sessionAffinityConfig", config);
        }
    }
    let kind = spec.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let load_balancer = kind == "LoadBalancer";
    let has_external = spec.get("externalIPs").and_then(Value::as_array).is_some_and(|ips| !ips.is_empty());
    if load_balancer || kind == "NodePort" || (kind == "ClusterIP" && has_external) {
        set_text(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind != "ExternalName" {
        set(spec, "internalTrafficPolicy", "Cluster");
    }
    if load_balancer {
        set(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in items_mut(object, &["spec", "ports"]).filter_map(Value::as_object_mut) {
        set_text(port, "protocol", "TCP");
        let unset = match port.get("targetPort") {
            None | Some(Value::Null | Value::Int(0)) => true,
            Some(target) => target.as_str() == Some(""),
        };
        if unset {
            let number = port.get("port").cloned().unwrap_or(Value::Int(0));
            port.insert("targetPort", number);
        }
    }
}

fn role_binding(object: &mut Value) {
    if let Some(role) = map_mut(object, &["roleRef"]) {
        set_text(role, "apiGroup", RBAC_GROUP);
    }
    for subject in items_mut(object, &["subjects"]) {
        if matches!(text(subject, &["kind"]), "User" | "Group")
            && let Some(subject) = subject.as_object_mut()
        {
            set_text(subject, "apiGroup", RBAC_GROUP);
        }
    }
}

fn webhook(webhook: &mut Value, mutating: bool) {
    if let Some(map) = webhook.as_object_mut() {
        set(map, "failurePolicy", "Fail");
        set(map, "matchPolicy", "Equivalent");
        set(map, "namespaceSelector", Map::new());
        set(map, "objectSelector", Map::new());
        set(map, "timeoutSeconds", 10_i64);
        if mutating {
            set(map, "reinvocationPolicy", "Never");
        }
    }
    rule_scopes(webhook, "rules");
    if let Some(service) = webhook.get_mut("clientConfig").and_then(|config| config.get_mut("service")) {
        service_port(service);
    }
}

fn service_port(service: &mut Value) {
    if let Some(service) = service.as_object_mut() {
        set(service, "port", 443_i64);
    }
}

fn rule_scopes(holder: &mut Value, field: &str) {
    for rule in items_mut(holder, &[field]).filter_map(Value::as_object_mut) {
        set(rule, "scope", "*");
    }
}

fn match_resources(resources: &mut Value) {
    if let Some(map) = resources.as_object_mut() {
        set(map, "matchPolicy", "Equivalent");
        set(map, "namespaceSelector", Map::new());
        set(map, "objectSelector", Map::new());
    }
    rule_scopes(resources, "resourceRules");
    rule_scopes(resources, "excludeResourceRules");
}

fn priority_level(object: &mut Value) {
    let Some(spec) = object.get_mut("spec") else { return };
    if let Some(exempt) = spec.get_mut("exempt").and_then(Value::as_object_mut) {
        set(exempt, "nominalConcurrencyShares", 0_i64);
        set(exempt, "lendablePercent", 0_i64);
    }
    let Some(limited) = spec.get_mut("limited") else { return };
    if let Some(limited) = limited.as_object_mut() {
        set(limited, "nominalConcurrencyShares", 30_i64);
        set(limited, "lendablePercent", 0_i64);
    }
    let queuing = limited.get_mut("limitResponse").and_then(|response| response.get_mut("queuing"));
    if let Some(queuing) = queuing.and_then(Value::as_object_mut) {
        set_nonzero(queuing, "handSize", 8);
        set_nonzero(queuing, "queues", 64);
        set_nonzero(queuing, "queueLengthLimit", 50);
    }
}

#[cfg(test)]
mod tests;
