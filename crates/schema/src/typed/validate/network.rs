//! Services and endpoint slices: where a service is reached. No address or node port is allocated here.

use std::net::IpAddr;

use meta::names::{dns1123_label, dns1123_subdomain, label_value, qualified_name};
use meta::wire::json;
use meta::{FieldError, FieldPath, Value};

use super::{IMMUTABLE, ROOT, each, go_struct, one_of};
use crate::typed::access::{int, list, members, present, text, texts};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const HEADLESS: &str = "None";
/// Bound: the reference's, of one slice.
const MAX_ENDPOINTS: usize = 1000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;
const MAX_TOPOLOGY_LABELS: usize = 16;
const MAX_HINTS: usize = 8;
/// The longest time a client may stick to an endpoint, in seconds.
const MAX_AFFINITY_SECONDS: i64 = 86_400;

pub(super) fn endpoint_slice(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let address_type = text(new, &["addressType"]);
    let path = ROOT.field("addressType");
    if address_type.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        one_of(errors, &path, address_type, &["FQDN", "IPv4", "IPv6"]);
    }
    slice_ports(new, errors);
    // What an older version let in may stay.
    let unchanged = old.is_some_and(|old| old.get("endpoints") == new.get("endpoints"));
    if !unchanged {
        endpoints(new, address_type, errors);
    }
    if old.is_some_and(|old| text(old, &["addressType"]) != address_type) {
        errors.push(FieldError::invalid(&path, address_type, IMMUTABLE));
    }
}

fn slice_ports(new: &Value, errors: &mut Vec<FieldError>) {
    let (path, ports) = (ROOT.field("ports"), list(new, &["ports"]));
    if ports.len() > MAX_PORTS {
        errors.push(FieldError::too_many(&path, Some(ports.len()), MAX_PORTS));
        return;
    }
    let mut names = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(port, &["name"]);
        if !name.is_empty() {
            each(errors, &path.field("name"), name, dns1123_label(name));
        }
        unique(&mut names, name, &path.field("name"), errors);
        match present(port, &["protocol"]).and_then(Value::as_str) {
            None => errors.push(FieldError::required(&path.field("protocol"), "")),
            Some(protocol) => one_of(errors, &path.field("protocol"), protocol, &PROTOCOLS),
        }
        app_protocol(port, &path, errors);
    }
}

fn endpoints(new: &Value, address_type: &str, errors: &mut Vec<FieldError>) {
    let (path, endpoints) = (ROOT.field("endpoints"), list(new, &["endpoints"]));
    if endpoints.len() > MAX_ENDPOINTS {
        errors.push(FieldError::too_many(&path, Some(endpoints.len()), MAX_ENDPOINTS));
        return;
    }
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = path.index(index);
        addresses(endpoint, address_type, &path.field("addresses"), errors);
        if let Some(name) = present(endpoint, &["nodeName"]).and_then(Value::as_str) {
            each(errors, &path.field("nodeName"), name, dns1123_subdomain(name));
        }
        let topology = path.field("deprecatedTopology");
        let labels = members(endpoint, &["deprecatedTopology"]).count();
        if labels > MAX_TOPOLOGY_LABELS {
            errors.push(FieldError::too_many(&topology, Some(labels), MAX_TOPOLOGY_LABELS));
        }
        check_labels(endpoint, &["deprecatedTopology"], &topology, errors);
        if let Some(name) = present(endpoint, &["hostname"]).and_then(Value::as_str) {
            each(errors, &path.field("hostname"), name, dns1123_label(name));
        }
        let hints = path.field("hints");
        let fine = check_hints(endpoint, "forZones", label_value, &hints, errors);
        if fine {
            check_hints(endpoint, "forNodes", dns1123_subdomain, &hints, errors);
        }
    }
}

fn addresses(endpoint: &Value, address_type: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let addresses = texts(endpoint, &["addresses"]);
    if addresses.is_empty() {
        errors.push(FieldError::required(path, "must contain at least 1 address"));
    } else if addresses.len() > MAX_ADDRESSES {
        errors.push(FieldError::too_many(path, Some(addresses.len()), MAX_ADDRESSES));
    }
    for (index, address) in addresses.into_iter().enumerate() {
        let at = path.index(index);
        if address_type == "FQDN" {
            domain_name(address, &at, errors);
            continue;
        }
        let wanted_four = match address_type {
            "IPv4" => true,
            "IPv6" => false,
            _ => continue,
        };
        match ip(address) {
            Err(why) => errors.push(FieldError::invalid(&at, address, why)),
            Ok(ip) => {
                if ip.is_ipv4() != wanted_four {
                    let why = format!("must be an {address_type} address");
                    errors.push(FieldError::invalid(path, address, why));
                }
                reachable(ip, address, &at, errors);
            }
        }
    }
}

fn domain_name(name: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let faults = dns1123_subdomain(name);
    if !faults.is_empty() {
        errors.push(FieldError::invalid(path, name, faults.join(",")));
    } else if !name.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, name, why));
    } else if let Some((label, faults)) =
        name.split('.').map(|label| (label, dns1123_label(label))).find(|(_, faults)| !faults.is_empty())
    {
        errors.push(FieldError::invalid(path, label, faults.join(",")));
    }
}

/// Whether there are not too many of them.
fn check_hints(
    endpoint: &Value,
    key: &'static str,
    check: fn(&str) -> Vec<String>,
    path: &FieldPath<'_>,
    errors: &mut Vec<FieldError>,
) -> bool {
    let (path, hints) = (path.field(key), list(endpoint, &["hints", key]));
    if hints.len() > MAX_HINTS {
        errors.push(FieldError::too_many(&path, Some(hints.len()), MAX_HINTS));
        return false;
    }
    let mut names = Vec::new();
    for (index, hint) in hints.iter().enumerate() {
        let (element, name) = (path.index(index), text(hint, &["name"]));
        unique(&mut names, name, &element.field("name"), errors);
        each(errors, &element.field("name"), name, check(name));
    }
    true
}

pub(super) fn service(new: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    let kind = text(new, &["spec", "type"]);
    let headless = texts(new, &["spec", "clusterIPs"]) == [HEADLESS];
    let ports = list(new, &["spec", "ports"]);
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(FieldError::required(&spec.field("ports"), ""));
    }
    if headless && matches!(kind, "LoadBalancer" | "NodePort") {
        let why = format!("may not be set to 'None' for {kind} services");
        errors.push(FieldError::invalid(&spec.field("clusterIPs").index(0), HEADLESS, why));
    }
    if kind == "ExternalName" {
        external_name(new, &spec, errors);
    }
    service_ports(ports, &spec.field("ports"), errors);
    check_labels(new, &["spec", "selector"], &spec.field("selector"), errors);
    affinity(new, &spec, errors);
    if kind != "ExternalName" {
        families(new, &spec, errors);
    }
    external_addresses(new, old, &spec.field("externalIPs"), errors);
    one_of(errors, &spec.field("type"), kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
    doubled_ports(ports, kind, &spec.field("ports"), errors);
}

fn external_name(new: &Value, spec: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let not_here = "may not be set for ExternalName services";
    let addressed = !texts(new, &["spec", "clusterIPs"]).is_empty();
    for (key, set) in [
        ("clusterIPs", addressed),
        ("ipFamilies", !list(new, &["spec", "ipFamilies"]).is_empty()),
        ("ipFamilyPolicy", present(new, &["spec", "ipFamilyPolicy"]).is_some()),
    ] {
        if set {
            errors.push(FieldError::forbidden(&spec.field(key), not_here));
        }
    }
    let (path, name) = (spec.field("externalName"), text(new, &["spec", "externalName"]));
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else {
        each(errors, &path, name, dns1123_subdomain(name));
    }
}

fn service_ports(ports: &[Value], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let mut names = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(port, &["name"]);
        if !name.is_empty() {
            each(errors, &path.field("name"), name, dns1123_label(name));
            unique(&mut names, name, &path.field("name"), errors);
        } else if ports.len() > 1 {
            errors.push(FieldError::required(&path.field("name"), ""));
        }
        port_number(int(port, &["port"]), &path.field("port"), errors);
        one_of(errors, &path.field("protocol"), text(port, &["protocol"]), &PROTOCOLS);
        let target = path.field("targetPort");
        match port.get("targetPort") {
            Some(Value::String(name)) => each(errors, &target, name, port_name(name)),
            _ => port_number(int(port, &["targetPort"]), &target, errors),
        }
        app_protocol(port, &path, errors);
    }
}

fn affinity(new: &Value, spec: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let affinity = text(new, &["spec", "sessionAffinity"]);
    one_of(errors, &spec.field("sessionAffinity"), affinity, &["ClientIP", HEADLESS]);
    if affinity == "ClientIP" {
        let seconds = int(new, &["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"]);
        if !(1..=MAX_AFFINITY_SECONDS).contains(&seconds) {
            let config = spec.field("sessionAffinityConfig");
            let client = config.field("clientIP");
            let why = format!("must be greater than 0 and less than {MAX_AFFINITY_SECONDS}");
            errors.push(FieldError::invalid(&client.field("timeoutSeconds"), seconds, why));
        }
    }
}

fn families(new: &Value, spec: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let path = spec.field("ipFamilies");
    let mut seen = Vec::new();
    for (index, family) in texts(new, &["spec", "ipFamilies"]).into_iter().enumerate() {
        let path = path.index(index);
        one_of(errors, &path, family, &["IPv4", "IPv6"]);
        unique(&mut seen, family, &path, errors);
    }
    if let Some(policy) = present(new, &["spec", "ipFamilyPolicy"]).and_then(Value::as_str) {
        let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        one_of(errors, &spec.field("ipFamilyPolicy"), policy, &policies);
    }
    let path = spec.field("clusterIPs");
    for (index, address) in texts(new, &["spec", "clusterIPs"]).into_iter().enumerate() {
        if let Err(why) = ip(address).map(drop)
            && !(index == 0 && address == HEADLESS)
        {
            errors.push(FieldError::invalid(&path.index(index), address, why));
        }
    }
}

fn external_addresses(new: &Value, old: Option<&Value>, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let known = old.map(|old| texts(old, &["spec", "externalIPs"])).unwrap_or_default();
    for (index, address) in texts(new, &["spec", "externalIPs"]).into_iter().enumerate() {
        match ip(address) {
            Ok(ip) => reachable(ip, address, &path.index(index), errors),
            Err(_) if known.contains(&address) => {}
            Err(why) => errors.push(FieldError::invalid(&path.index(index), address, why)),
        }
    }
}

fn doubled_ports(ports: &[Value], kind: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let node_port = |port: &Value| int(port, &["nodePort"]);
    if kind == "ClusterIP" {
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| node_port(port) != 0) {
            let why = "may not be used when `type` is 'ClusterIP'";
            errors.push(FieldError::forbidden(&path.index(index).field("nodePort"), why));
        }
    }
    let same = |left: &Value, right: &Value, key: &str| {
        text(left, &["protocol"]) == text(right, &["protocol"]) && int(left, &[key]) == int(right, &[key])
    };
    for (index, port) in ports.iter().enumerate().filter(|(_, port)| node_port(port) != 0) {
        if ports[..index].iter().any(|before| same(before, port, "nodePort")) {
            errors.push(FieldError::duplicate(&path.index(index).field("nodePort"), node_port(port)));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        if ports[..index].iter().any(|before| same(before, port, "port")) {
            let protocol = json::to_vec(&text(port, &["protocol"]).into());
            let shown = go_struct(&[
                ("Name", "\"\"".to_owned()),
                ("Protocol", String::from_utf8_lossy(&protocol).into_owned()),
                ("AppProtocol", "null".to_owned()),
                ("Port", int(port, &["port"]).to_string()),
                ("TargetPort", "0".to_owned()),
                ("NodePort", "0".to_owned()),
            ]);
            errors.push(FieldError::duplicate(&path.index(index), Value::Null).shown_as(shown));
        }
    }
}

fn app_protocol(port: &Value, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if let Some(name) = present(port, &["appProtocol"]).and_then(Value::as_str) {
        each(errors, &path.field("appProtocol"), name, qualified_name(name));
    }
}

fn check_labels(object: &Value, at: &[&str], path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    for (key, value) in members(object, at) {
        each(errors, path, key, qualified_name(key));
        let value = value.as_str().unwrap_or_default();
        each(errors, &path.key(key), value, label_value(value));
    }
}

fn unique<'a>(seen: &mut Vec<&'a str>, name: &'a str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if seen.contains(&name) {
        errors.push(FieldError::duplicate(path, name));
    } else {
        seen.push(name);
    }
}

fn port_number(port: i64, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    if !(1..=65_535).contains(&port) {
        errors.push(FieldError::invalid(path, port, "must be between 1 and 65535, inclusive"));
    }
}

/// What is wrong with the name of a port (RFC 6335).
fn port_name(name: &str) -> Vec<String> {
    const MAX_BYTES: usize = 15;
    let faults = [
        (name.len() > MAX_BYTES, "must be no more than 15 characters"),
        (
            !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (!name.bytes().any(|byte| byte.is_ascii_lowercase()), "must contain at least one letter (a-z)"),
        (name.contains("--"), "must not contain consecutive hyphens"),
        (name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen"),
    ];
    faults.into_iter().filter(|(found, _)| *found).map(|(_, why)| why.to_owned()).collect()
}

/// An address as the reference takes one in fields that are older than its strictness.
fn ip(text: &str) -> Result<IpAddr, &'static str> {
    let mapped = |ip: &IpAddr| matches!(ip, IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
    match text.parse::<IpAddr>() {
        Ok(ip) if mapped(&ip) => Err("must not be an IPv4-mapped IPv6 address"),
        Ok(ip) => Ok(ip),
        Err(_) if has_leading_zeros(text) => Err("must not have leading 0s"),
        Err(_) => Err("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    }
}

/// Whether this would be an IPv4 address without the zeros before its numbers.
fn has_leading_zeros(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    let number = |part: &&str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) && part.parse::<u8>().is_ok()
    };
    parts.len() == 4 && parts.iter().all(number)
}

/// Addresses that lead nowhere, or only back.
fn reachable(ip: IpAddr, text: &str, path: &FieldPath<'_>, errors: &mut Vec<FieldError>) {
    let (link_local, multicast) = match ip {
        IpAddr::V4(four) => (four.is_link_local(), four.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(six) => (six.is_unicast_link_local(), six.segments()[0] & 0xff0f == 0xff02),
    };
    let faults = [
        (ip.is_unspecified(), format!("may not be unspecified ({text})")),
        (ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()),
    ];
    let found = faults.into_iter().filter(|(found, _)| *found);
    errors.extend(found.map(|(_, why)| FieldError::invalid(path, text, why)));
}
