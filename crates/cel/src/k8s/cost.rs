//! What the functions cost in Kubernetes. The rules hold by name, whatever the overload.

use super::format::NamedFormat;
use crate::ast::Literal;
use crate::cost::estimate::{CallEstimate, CostNode, Estimate, StaticCall};
use crate::cost::{REGEX_LENGTH, RunCall, STRING_TRAVERSAL, scaled};
use crate::{CallCost, Function, Library, Type, Value};

/// Allows two authorization checks in one expression.
const AUTHORIZATION_CHECK: u64 = 350_000;
/// The longest pattern of a name format, for estimates.
const FORMAT_PATTERN: f64 = 128.0;
/// The longest name of a format, for estimates.
const FORMAT_NAME: u64 = 64;
/// Bytes of an address.
const ADDRESS: Estimate = Estimate { min: 4, max: 16 };

pub(super) fn add(mut library: Library) -> Library {
    let mut rule = |names: &[&str], cost: CallCost| {
        for name in names {
            library = std::mem::take(&mut library).function(Function::new(name).cost(cost.clone()));
        }
    };
    rule(&["check"], fixed(AUTHORIZATION_CHECK));
    rule(&["serviceAccount", "path", "group", "resource", "subresource", "namespace", "name"], fixed(1));
    rule(&["allowed", "reason", "error", "errored"], fixed(1));
    rule(&["fieldSelector", "labelSelector"], selector());
    rule(&["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"], list_search());
    rule(&["url"], traversal_of_argument(1.0, true));
    rule(&["lowerAscii", "upperAscii", "substring", "trim"], traversal_of_target());
    rule(&["replace"], CallCost::new(|call| run_traversal(call, 2.0), replace));
    rule(&["split"], CallCost::new(|call| run_traversal(call, 2.0), split));
    rule(&["join"], CallCost::new(|call| Some(scaled(call.result_size(), 2.0 * STRING_TRAVERSAL)), join));
    rule(&["find", "findAll"], regex_search());
    rule(&["cidr", "isIP", "isCIDR"], traversal_of_argument(1.0, false));
    rule(&["quantity", "isQuantity", "semver", "isSemver"], traversal_of_argument(1.0, false));
    rule(&["ip"], ip());
    rule(&["ip.isCanonical"], traversal_of_argument(2.0, false));
    rule(&["masked", "prefixLength", "family", "isUnspecified", "isLoopback"], fixed(1));
    rule(&["isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast"], fixed(1));
    rule(&["containsIP"], contains("cidr_contains_ip_string", false));
    rule(&["containsCIDR"], contains("cidr_contains_cidr_string", true));
    rule(&["validate"], validate());
    rule(&["format.named", "sign", "asInteger", "isInteger", "asApproximateFloat"], fixed(1));
    rule(&["isGreaterThan", "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch"], fixed(1));
    rule(&["getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"], fixed(1));
    rule(&["_==_"], equality());
    library
}

fn fixed(cost: u64) -> CallCost {
    CallCost::new(move |_| Some(cost), move |_| Some(Estimate::fixed(cost).into()))
}

fn run_traversal(call: &RunCall<'_, '_>, factor: f64) -> Option<u64> {
    (!call.args.is_empty()).then(|| scaled(call.size(0), factor * STRING_TRAVERSAL))
}

fn first<'c>(call: &'c StaticCall<'_>) -> Option<&'c CostNode> {
    call.args.first()
}

/// The first argument is read; the result may be of its size.
fn traversal_of_argument(factor: f64, sized: bool) -> CallCost {
    CallCost::new(
        move |call| run_traversal(call, factor),
        move |call| {
            let size = first(call)?.size_or_unknown();
            let cost = size.times(factor * STRING_TRAVERSAL);
            Some(if sized { CallEstimate::sized(cost, size) } else { cost.into() })
        },
    )
}

fn traversal_of_target() -> CallCost {
    CallCost::new(
        |call| run_traversal(call, 1.0),
        |call| {
            let size = call.target?.size_or_unknown();
            Some(CallEstimate::sized(size.times(STRING_TRAVERSAL), size))
        },
    )
}

fn selector() -> CallCost {
    let estimate = |length: Estimate| {
        let requirements = length.times(0.5).times(50.0);
        Estimate::fixed(10).add(length.times(STRING_TRAVERSAL)).add(requirements)
    };
    CallCost::new(
        move |call| (call.args.len() >= 2).then(|| estimate(Estimate::fixed(call.size(1))).max),
        move |call| (call.args.len() == 1).then(|| estimate(call.args[0].size_or_unknown()).into()),
    )
}

/// Every element of a list is looked at, texts in full; or a text is searched.
fn list_search() -> CallCost {
    CallCost::new(
        |call| Some(call.args.first().map_or(0, traversal)),
        |call| {
            let target = call.target?;
            let size = target.size_or_unknown();
            let Some(element_size) = call.element_size(target) else {
                return Some(size.times(STRING_TRAVERSAL).into());
            };
            let is_text = matches!(target.ty().first_parameter()?, Type::String | Type::Bytes);
            let mut element = Estimate::fixed(1);
            if is_text {
                element = element.add(element_size.times(STRING_TRAVERSAL));
            }
            Some(size.multiply(element).into())
        },
    )
}

/// What it costs to look at every part of a value.
fn traversal(value: &Value<'_>) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "costs are defined in floating point"
    )]
    let bytes = |length: usize| (length as f64 * STRING_TRAVERSAL) as u64;
    match value {
        Value::String(text) => bytes(text.len()),
        Value::Bytes(found) => bytes(found.len()),
        Value::List(list) => list.iter().flatten().map(|item| traversal(&item)).sum(),
        Value::Map(map) => {
            let value_of = |key: &Value<'_>| match map.get(key) {
                Some(Ok(value)) => traversal(&value),
                _ => 1,
            };
            map.keys().iter().map(|key| traversal(key) + value_of(key)).sum()
        }
        _ => 1,
    }
}

/// How long a text can become when parts of it are replaced.
fn replace(call: &StaticCall<'_>) -> Option<CallEstimate> {
    let (Some(target), [old, new, ..]) = (call.target, call.args) else { return None };
    let (size, old, new) = (target.size_or_unknown(), old.size_or_unknown(), new.size_or_unknown());
    let (most, kept_most) = if old.min == 0 {
        (size.max.saturating_add(1), size.max)
    } else if new.max <= old.min {
        (0, size.max)
    } else {
        (divided(size.max, old.min), 0)
    };
    let (least, kept_least) = if old.max == 0 {
        (size.min.saturating_add(1), size.min)
    } else if old.max <= new.min {
        (0, size.min)
    } else {
        (divided(size.min, old.max), 0)
    };
    let count = Estimate { min: least, max: most };
    let kept = Estimate { min: kept_least, max: kept_most };
    Some(CallEstimate::sized(size.times(2.0 * STRING_TRAVERSAL), count.multiply(new).add(kept)))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "costs are defined in floating point; the cast saturates"
)]
fn divided(size: u64, by: u64) -> u64 {
    (size as f64 / by as f64).ceil() as u64
}

fn split(call: &StaticCall<'_>) -> Option<CallEstimate> {
    let size = call.target?.size_or_unknown();
    let max = match call.args.get(1).and_then(CostNode::literal) {
        Some(Literal::Int(limit)) => limit.cast_unsigned(),
        _ => size.max,
    };
    Some(CallEstimate::sized(size.times(2.0 * STRING_TRAVERSAL), Estimate { min: 0, max }))
}

fn join(call: &StaticCall<'_>) -> Option<CallEstimate> {
    let target = call.target?;
    let list = target.size_or_unknown();
    let mut size = call.element_size(target).map_or(Estimate::default(), |element| list.multiply(element));
    if let Some(separator) = first(call) {
        let gaps = Estimate { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
        size = size.add(separator.size_or_unknown().multiply(gaps));
    }
    Some(CallEstimate::sized(size.times(STRING_TRAVERSAL), size))
}

fn regex_search() -> CallCost {
    CallCost::new(
        |call| {
            let text = scaled(call.size(0).saturating_add(1), STRING_TRAVERSAL);
            (call.args.len() >= 2).then(|| text.saturating_mul(scaled(call.size(1), REGEX_LENGTH)))
        },
        |call| {
            let size = call.target?.size_or_unknown();
            let text = size.add(Estimate::fixed(1)).times(STRING_TRAVERSAL);
            let pattern = first(call)?.size_or_unknown().times(REGEX_LENGTH);
            Some(CallEstimate::sized(text.multiply(pattern), Estimate { min: 0, max: size.max }))
        },
    )
}

/// `ip(text)` reads text; `cidr.ip()` reads a field.
fn ip() -> CallCost {
    CallCost::new(
        |call| if call.overload == Some("cidr_ip") { Some(1) } else { run_traversal(call, 1.0) },
        |call| {
            if call.overload == "cidr_ip" {
                return Some(Estimate::fixed(1).into());
            }
            Some(first(call)?.size_or_unknown().times(STRING_TRAVERSAL).into())
        },
    )
}

/// Addresses are compared byte by byte; text is read first.
fn contains(text_overload: &'static str, is_network: bool) -> CallCost {
    CallCost::new(
        move |call| {
            if call.args.len() < 2 {
                return None;
            }
            let network = call.size(0);
            let mut cost = scaled(network + network, STRING_TRAVERSAL);
            if is_network {
                cost += scaled(network, STRING_TRAVERSAL) + 1;
            }
            if call.overload == Some(text_overload) {
                cost += scaled(call.size(1), STRING_TRAVERSAL);
            }
            Some(cost)
        },
        move |call| {
            let mut cost = ADDRESS.add(ADDRESS).times(STRING_TRAVERSAL);
            if is_network {
                cost = cost.add(ADDRESS.times(STRING_TRAVERSAL)).add(Estimate::fixed(1));
            }
            let argument = first(call)?.size_or_unknown();
            if call.overload == text_overload {
                cost = cost.add(argument.times(STRING_TRAVERSAL));
            }
            Some(cost.into())
        },
    )
}

fn validate() -> CallCost {
    CallCost::new(
        |call| {
            let [format, text] = call.args else { return None };
            let format = format.downcast::<NamedFormat>()?;
            let text = scaled(text.size().saturating_add(1), STRING_TRAVERSAL);
            Some(text.saturating_mul(scaled(format.0.pattern_length, REGEX_LENGTH)))
        },
        |call| {
            let size = first(call)?.size_or_unknown();
            Some(size.times(STRING_TRAVERSAL).times(FORMAT_PATTERN * REGEX_LENGTH).into())
        },
    )
}

/// Values of these libraries compare at a fixed price.
fn equality() -> CallCost {
    CallCost::new(
        |call| match call.args {
            [Value::Opaque(left), _] if is_ours(left.type_name()) => Some(1),
            _ => None,
        },
        |call| {
            let [left, right] = call.args else { return None };
            if left.ty() != right.ty() {
                return None;
            }
            let cost = match left.ty() {
                Type::Opaque(name, _) if matches!(&**name, "net.IP" | "net.CIDR") => Estimate::fixed(1),
                Type::Object(name) => match &**name {
                    "kubernetes.NamedFormat" => Estimate { min: 1, max: FORMAT_NAME }.times(STRING_TRAVERSAL),
                    "kubernetes.URL" => {
                        // The reference takes the right side's size for both.
                        let max = right.size().map_or(1, |size| size.max);
                        Estimate { min: 1, max }.times(STRING_TRAVERSAL)
                    }
                    "kubernetes.Quantity" | "kubernetes.Semver" => Estimate::fixed(1),
                    name if name.starts_with("kubernetes.authorization.") => Estimate::fixed(1),
                    _ => return None,
                },
                _ => return None,
            };
            Some(cost.into())
        },
    )
    .opaque_only()
}

fn is_ours(type_name: &str) -> bool {
    type_name.starts_with("kubernetes.") || type_name.starts_with("net.")
}
