//! The built-in resources: names, verbs, subresources, selectors and the rules of their writes, as one table.
//!
//! Discovery, the catalog and the verbs read this table; nothing else knows which kinds are built in.
//! The order is the reference's: groups as it installs them, resources by name within a group.
//!
//! Upstream: kubernetes/pkg/registry/*/*/{strategy.go,storage/storage.go}, the `rest` packages beside them, the
//! registries of apiextensions-apiserver and kube-aggregator, v1.36.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meta::Value;
use sha2::{Digest as _, Sha256};

use super::Kind;
use super::columns::{Column, Columns};

/// What is fixed about a built-in resource.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each named where it is set")]
pub struct BuiltinResource {
    pub group: &'static str,
    pub kind: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub namespaced: bool,
    /// In the order of discovery.
    pub verbs: &'static [&'static str],
    pub subresources: &'static [Subresource],
    /// False for reviews, which are answered and forgotten.
    pub stored: bool,
    /// Not of the generic control plane: stored for the sake of others, by a set that can be switched off.
    pub workload: bool,
    /// The group and version the reference stores objects in, where they are not the resource's own. The hash in
    /// discovery is made of them; both groups of events share one store.
    pub storage: Option<(&'static str, &'static str)>,
    /// Field labels a selector may name beside `metadata.name` and `metadata.namespace`.
    pub selectable: &'static [&'static str],
    pub name_rule: NameRule,
    pub generation: Generation,
    /// DELETE answers with the object instead of a Status.
    pub delete_returns_object: bool,
    /// PUT on a missing name creates it.
    pub put_creates: bool,
    /// PUT without resourceVersion overwrites; without it the version must be given.
    pub unconditional_update: bool,
    /// Top-level fields that a write through the resource itself leaves as they were (and apply does not own).
    pub reset: &'static [&'static [&'static str]],
}

/// A path below an object of the resource.
#[derive(Debug)]
pub struct Subresource {
    pub name: &'static str,
    /// The kind its body has; with a group when that differs from the resource's.
    pub kind: Option<(&'static str, &'static str)>,
    pub verbs: &'static [&'static str],
    pub reset: &'static [&'static [&'static str]],
}

/// What names of a kind may look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain.
    DnsSubdomain,
    /// RFC 1123 label.
    DnsLabel,
    /// RFC 1035 label: it begins with a letter.
    DnsLabel1035,
    /// Anything that is one segment of a path.
    PathSegment,
    /// Not checked, as for events and reviews.
    Any,
}

/// When `metadata.generation` grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generation {
    /// The kind has none.
    None,
    /// One at creation, one more when any of these top-level fields changes.
    GrowsWith(&'static [&'static str]),
    /// One at creation, one more when anything but metadata changes, or the labels do.
    GrowsWithLabels,
}

const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
const CREATE: &[&str] = &["create"];
const READ_WRITE: &[&str] = &["get", "patch", "update"];
const STATUS: &[&[&str]] = &[&["status"]];
const SPEC: &[&[&str]] = &[&["spec"]];
const SPEC_AND_METADATA: &[&[&str]] = &[&["spec"], &["metadata"]];
const SPEC_GROWS: Generation = Generation::GrowsWith(&["spec"]);
const WEBHOOKS_GROW: Generation = Generation::GrowsWith(&["webhooks"]);

const CORE: &str = "";
const EVENTS: &str = "events.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const CERTIFICATES: &str = "certificates.k8s.io";
const COORDINATION: &str = "coordination.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const FLOWCONTROL: &str = "flowcontrol.apiserver.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const DISCOVERY: &str = "discovery.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const REGISTRATION: &str = "apiregistration.k8s.io";

const EVENT_FIELDS: &[&str] = &[
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "source",
    "type",
];
/// The other group has its own names, and no source.
const NEW_EVENT_FIELDS: &[&str] = &[
    "reason",
    "regarding.apiVersion",
    "regarding.fieldPath",
    "regarding.kind",
    "regarding.name",
    "regarding.namespace",
    "regarding.resourceVersion",
    "regarding.uid",
    "reportingController",
    "type",
];

const fn status(reset: &'static [&'static [&'static str]]) -> Subresource {
    Subresource { name: "status", kind: None, verbs: READ_WRITE, reset }
}

/// What most resources have in common.
const BASE: BuiltinResource = BuiltinResource {
    group: CORE,
    kind: "",
    plural: "",
    singular: "",
    short_names: &[],
    categories: &[],
    namespaced: false,
    verbs: ALL_VERBS,
    subresources: &[],
    stored: true,
    workload: false,
    storage: None,
    selectable: &[],
    name_rule: NameRule::DnsSubdomain,
    generation: Generation::None,
    delete_returns_object: false,
    put_creates: false,
    unconditional_update: true,
    reset: &[],
};

/// A review: created, answered, never stored.
const REVIEW: BuiltinResource =
    BuiltinResource { verbs: CREATE, stored: false, name_rule: NameRule::Any, ..BASE };

const ADMISSION_BASE: BuiltinResource = BuiltinResource {
    group: ADMISSION,
    categories: &["api-extensions"],
    unconditional_update: false,
    ..BASE
};

const RBAC_BASE: BuiltinResource =
    BuiltinResource { group: RBAC, name_rule: NameRule::PathSegment, put_creates: true, ..BASE };

static RESOURCES: [BuiltinResource; 31] = [
    BuiltinResource {
        kind: "ConfigMap",
        plural: "configmaps",
        singular: "configmap",
        short_names: &["cm"],
        namespaced: true,
        ..BASE
    },
    BuiltinResource {
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        namespaced: true,
        selectable: EVENT_FIELDS,
        name_rule: NameRule::Any,
        put_creates: true,
        ..BASE
    },
    BuiltinResource {
        kind: "Namespace",
        plural: "namespaces",
        singular: "namespace",
        short_names: &["ns"],
        verbs: NO_COLLECTION,
        subresources: &[
            Subresource { name: "finalize", kind: None, verbs: &["update"], reset: STATUS },
            status(SPEC),
        ],
        selectable: &["status.phase"],
        name_rule: NameRule::DnsLabel,
        delete_returns_object: true,
        reset: STATUS,
        ..BASE
    },
    BuiltinResource {
        kind: "ResourceQuota",
        plural: "resourcequotas",
        singular: "resourcequota",
        short_names: &["quota"],
        namespaced: true,
        subresources: &[status(SPEC)],
        delete_returns_object: true,
        reset: STATUS,
        ..BASE
    },
    BuiltinResource {
        kind: "Secret",
        plural: "secrets",
        singular: "secret",
        namespaced: true,
        selectable: &["type"],
        ..BASE
    },
    BuiltinResource {
        kind: "ServiceAccount",
        plural: "serviceaccounts",
        singular: "serviceaccount",
        short_names: &["sa"],
        namespaced: true,
        subresources: &[Subresource {
            name: "token",
            kind: Some((AUTHENTICATION, "TokenRequest")),
            verbs: CREATE,
            reset: &[],
        }],
        delete_returns_object: true,
        ..BASE
    },
    BuiltinResource {
        kind: "Service",
        plural: "services",
        singular: "service",
        short_names: &["svc"],
        categories: &["all"],
        namespaced: true,
        workload: true,
        subresources: &[status(SPEC)],
        selectable: &["spec.clusterIP", "spec.type"],
        name_rule: NameRule::DnsLabel,
        delete_returns_object: true,
        put_creates: true,
        reset: STATUS,
        ..BASE
    },
    BuiltinResource {
        group: AUTHENTICATION,
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        ..REVIEW
    },
    BuiltinResource {
        group: AUTHENTICATION,
        kind: "TokenReview",
        plural: "tokenreviews",
        singular: "tokenreview",
        ..REVIEW
    },
    BuiltinResource {
        group: AUTHORIZATION,
        kind: "LocalSubjectAccessReview",
        plural: "localsubjectaccessreviews",
        singular: "localsubjectaccessreview",
        namespaced: true,
        ..REVIEW
    },
    BuiltinResource {
        group: AUTHORIZATION,
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        ..REVIEW
    },
    BuiltinResource {
        group: AUTHORIZATION,
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        ..REVIEW
    },
    BuiltinResource {
        group: AUTHORIZATION,
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
        ..REVIEW
    },
    BuiltinResource {
        group: CERTIFICATES,
        kind: "CertificateSigningRequest",
        plural: "certificatesigningrequests",
        singular: "certificatesigningrequest",
        short_names: &["csr"],
        subresources: &[
            Subresource {
                name: "approval",
                kind: None,
                verbs: READ_WRITE,
                reset: &[&["spec"], &["status", "certificate"]],
            },
            status(&[&["spec"], &["status", "conditions"]]),
        ],
        selectable: &["spec.signerName"],
        name_rule: NameRule::Any,
        reset: &[&["spec"], &["status"]],
        ..BASE
    },
    BuiltinResource {
        group: COORDINATION,
        kind: "Lease",
        plural: "leases",
        singular: "lease",
        namespaced: true,
        put_creates: true,
        unconditional_update: false,
        ..BASE
    },
    BuiltinResource {
        group: DISCOVERY,
        kind: "EndpointSlice",
        plural: "endpointslices",
        singular: "endpointslice",
        namespaced: true,
        workload: true,
        generation: Generation::GrowsWithLabels,
        ..BASE
    },
    BuiltinResource {
        kind: "ClusterRoleBinding",
        plural: "clusterrolebindings",
        singular: "clusterrolebinding",
        ..RBAC_BASE
    },
    BuiltinResource { kind: "ClusterRole", plural: "clusterroles", singular: "clusterrole", ..RBAC_BASE },
    BuiltinResource {
        kind: "RoleBinding",
        plural: "rolebindings",
        singular: "rolebinding",
        namespaced: true,
        ..RBAC_BASE
    },
    BuiltinResource { kind: "Role", plural: "roles", singular: "role", namespaced: true, ..RBAC_BASE },
    BuiltinResource {
        group: FLOWCONTROL,
        kind: "FlowSchema",
        plural: "flowschemas",
        singular: "flowschema",
        subresources: &[status(SPEC_AND_METADATA)],
        generation: SPEC_GROWS,
        reset: STATUS,
        ..BASE
    },
    BuiltinResource {
        group: FLOWCONTROL,
        kind: "PriorityLevelConfiguration",
        plural: "prioritylevelconfigurations",
        singular: "prioritylevelconfiguration",
        subresources: &[status(SPEC_AND_METADATA)],
        generation: SPEC_GROWS,
        reset: STATUS,
        ..BASE
    },
    BuiltinResource {
        kind: "MutatingAdmissionPolicy",
        plural: "mutatingadmissionpolicies",
        singular: "mutatingadmissionpolicy",
        storage: Some((ADMISSION, "v1beta1")),
        generation: SPEC_GROWS,
        ..ADMISSION_BASE
    },
    BuiltinResource {
        kind: "MutatingAdmissionPolicyBinding",
        plural: "mutatingadmissionpolicybindings",
        singular: "mutatingadmissionpolicybinding",
        storage: Some((ADMISSION, "v1beta1")),
        generation: SPEC_GROWS,
        ..ADMISSION_BASE
    },
    BuiltinResource {
        kind: "MutatingWebhookConfiguration",
        plural: "mutatingwebhookconfigurations",
        singular: "mutatingwebhookconfiguration",
        generation: WEBHOOKS_GROW,
        ..ADMISSION_BASE
    },
    BuiltinResource {
        kind: "ValidatingAdmissionPolicy",
        plural: "validatingadmissionpolicies",
        singular: "validatingadmissionpolicy",
        subresources: &[status(SPEC_AND_METADATA)],
        generation: SPEC_GROWS,
        reset: STATUS,
        ..ADMISSION_BASE
    },
    BuiltinResource {
        kind: "ValidatingAdmissionPolicyBinding",
        plural: "validatingadmissionpolicybindings",
        singular: "validatingadmissionpolicybinding",
        generation: SPEC_GROWS,
        ..ADMISSION_BASE
    },
    BuiltinResource {
        kind: "ValidatingWebhookConfiguration",
        plural: "validatingwebhookconfigurations",
        singular: "validatingwebhookconfiguration",
        generation: WEBHOOKS_GROW,
        ..ADMISSION_BASE
    },
    BuiltinResource {
        group: EVENTS,
        kind: "Event",
        plural: "events",
        singular: "event",
        short_names: &["ev"],
        namespaced: true,
        storage: Some((CORE, "v1")),
        selectable: NEW_EVENT_FIELDS,
        name_rule: NameRule::Any,
        put_creates: true,
        ..BASE
    },
    BuiltinResource {
        group: EXTENSIONS,
        kind: "CustomResourceDefinition",
        plural: "customresourcedefinitions",
        singular: "customresourcedefinition",
        short_names: &["crd", "crds"],
        categories: &["api-extensions"],
        subresources: &[status(SPEC)],
        storage: Some((EXTENSIONS, "v1beta1")),
        generation: SPEC_GROWS,
        unconditional_update: false,
        reset: STATUS,
        ..BASE
    },
    BuiltinResource {
        group: REGISTRATION,
        kind: "APIService",
        plural: "apiservices",
        singular: "apiservice",
        categories: &["api-extensions"],
        subresources: &[status(SPEC_AND_METADATA)],
        name_rule: NameRule::PathSegment,
        unconditional_update: false,
        reset: STATUS,
        ..BASE
    },
];

/// All built-in resources, in the order of their groups.
pub fn resources() -> &'static [BuiltinResource] {
    &RESOURCES
}

/// The resource that serves `kind`, if one does.
pub fn resource_of(kind: Kind) -> Option<&'static BuiltinResource> {
    RESOURCES.iter().find(|resource| resource.group == kind.group() && resource.kind == kind.name())
}

impl BuiltinResource {
    /// Every built-in resource is served in one version.
    pub fn version(&self) -> &'static str {
        "v1"
    }

    pub fn kind(&self) -> Kind {
        super::kind(self.group, self.version(), self.kind).expect("every resource has a described kind")
    }

    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    /// What discovery shows to tell whether stored objects have changed their form; nothing for reviews.
    pub fn storage_version_hash(&self) -> Option<String> {
        let (group, version) = self.storage.unwrap_or((self.group, self.version()));
        self.stored.then(|| storage_version_hash(group, version, self.kind))
    }

    pub fn columns(&self) -> &'static [Column] {
        Columns::of(self.group, self.kind).definitions()
    }

    /// The cells of one object; `now` is in seconds since the epoch.
    pub fn cells(&self, object: &Value, now: i64) -> Vec<Value> {
        Columns::of(self.group, self.kind).cells(object, now)
    }

    /// Where a field selector's label points in an object as it is stored. Events are stored in the form of the core
    /// group, whichever group they come through.
    ///
    /// The reference lets `source` fall back to the reporting component when an event names no source; a path
    /// cannot say that, [`Self::selector_field`] does.
    pub fn stored_path<'a>(&self, label: &'a str) -> Vec<&'a str> {
        let mut path: Vec<&str> = label.split('.').collect();
        if self.kind == "Event" {
            match path[0] {
                "regarding" => path[0] = "involvedObject",
                "reportingController" => path[0] = "reportingComponent",
                "source" => path.push("component"),
                _ => {}
            }
        }
        path
    }

    /// The value a field selector compares, or `None` when the label is not one of this resource.
    ///
    /// Objects are given in the form of this resource's own kind.
    pub fn selector_field(&self, object: &Value, label: &str) -> Option<String> {
        let text = |path: &[&str]| object.at(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        match label {
            "metadata.name" => return Some(text(&["metadata", "name"])),
            "metadata.namespace" if self.namespaced => return Some(text(&["metadata", "namespace"])),
            _ if !self.selectable.contains(&label) => return None,
            _ => {}
        }
        match label {
            "source" => match text(&["source", "component"]) {
                component if component.is_empty() => Some(text(&["reportingComponent"])),
                component => Some(component),
            },
            _ => Some(text(&label.split('.').collect::<Vec<_>>())),
        }
    }
}

/// Where a group and its version stand in discovery, higher first: the priorities of its automatic API service.
///
/// Upstream: kubernetes/pkg/controlplane/apiserver/aggregator.go, v1.36.
pub fn group_priority(group: &str) -> Option<(i32, i32)> {
    let priority = match group {
        // The aggregator lists itself, before all others.
        REGISTRATION => (20_001, 0),
        CORE => (18_000, 1),
        EVENTS => (17_750, 15),
        AUTHENTICATION => (17_700, 15),
        AUTHORIZATION => (17_600, 15),
        CERTIFICATES => (17_300, 15),
        RBAC => (17_000, 15),
        EXTENSIONS | ADMISSION => (16_700, 15),
        COORDINATION => (16_500, 15),
        DISCOVERY => (16_200, 15),
        FLOWCONTROL => (16_100, 21),
        _ => return None,
    };
    Some(priority)
}

/// ```
/// use crest_schema::typed::storage_version_hash;
/// assert_eq!(storage_version_hash("", "v1", "ConfigMap"), "qFsyl6wFWjQ=");
/// ```
pub fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(&digest[..8])
}

#[cfg(test)]
mod tests;
