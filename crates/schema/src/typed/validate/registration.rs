//! API services.

use meta::names::{dns1035_label, dns1123_subdomain};
use meta::{FieldError, Value};

use super::{ROOT, each, one_of, port};
use crate::typed::access::{flag, int, list, present, text};
use crate::typed::go_base64;

pub(super) fn service(new: &Value, errors: &mut Vec<FieldError>) {
    let spec = ROOT.field("spec");
    let (group, version) = (text(new, &["spec", "group"]), text(new, &["spec", "version"]));
    let name = text(new, &["metadata", "name"]);
    let required = format!("{version}.{group}");
    // A name that is missing or no path segment is reported with the metadata.
    if name != required && !name.is_empty() && meta::names::path_segment(name).is_empty() {
        let metadata = ROOT.field("metadata");
        let detail = format!("must be `spec.version+\".\"+spec.group`: {}", meta::go_fmt::quote(&required));
        errors.push(FieldError::invalid(&metadata.field("name"), name, detail));
    }
    if group.is_empty() {
        if version != "v1" {
            let detail = "only v1 may have an empty group and it better be legacy kube";
            errors.push(FieldError::required(&spec.field("group"), detail));
        }
    } else {
        each(errors, &spec.field("group"), group, dns1123_subdomain(group));
    }
    each(errors, &spec.field("version"), version, dns1035_label(version));
    for (field, most) in [("groupPriorityMinimum", 20_000), ("versionPriority", 1000)] {
        let priority = int(new, &["spec", field]);
        if !(1..=most).contains(&priority) {
            let detail = format!("must be positive and less than {most}");
            errors.push(FieldError::invalid(&spec.field(field), priority, detail));
        }
    }
    let bundle = text(new, &["spec", "caBundle"]);
    let insecure = flag(new, &["spec", "insecureSkipTLSVerify"]);
    let insecure_path = spec.field("insecureSkipTLSVerify");
    if present(new, &["spec", "service"]).is_none() {
        if !bundle.is_empty() {
            let size = format!("{} bytes", go_base64::decoded_len(bundle));
            let detail = "local APIServices may not have a caBundle";
            errors.push(FieldError::invalid(&spec.field("caBundle"), size, detail));
        }
        if insecure {
            let detail = "local APIServices may not have insecureSkipTLSVerify";
            errors.push(FieldError::invalid(&insecure_path, true, detail));
        }
        return;
    }
    let service = spec.field("service");
    for field in ["namespace", "name"] {
        if text(new, &["spec", "service", field]).is_empty() {
            errors.push(FieldError::required(&service.field(field), ""));
        }
    }
    port(errors, &service.field("port"), int(new, &["spec", "service", "port"]));
    if insecure && !bundle.is_empty() {
        errors.push(FieldError::invalid(&insecure_path, true, "may not be true if caBundle is present"));
    }
}

pub(super) fn status(new: &Value, errors: &mut Vec<FieldError>) {
    let status = ROOT.field("status");
    let conditions = status.field("conditions");
    for (index, condition) in list(new, &["status", "conditions"]).iter().enumerate() {
        let item = conditions.index(index);
        one_of(errors, &item.field("status"), text(condition, &["status"]), &["True", "False", "Unknown"]);
    }
}
