//! Objects in the binary encoding that typed clients ask for. Only kinds that are built in have one.

use meta::{Map, Value, wire::json};
use registry::Object;
use schema::typed::{self, binary};

use crate::catalog::Resource;
use crate::catalog::form::Form;
use crate::negotiate::{MetaVersion, Shown};

/// How the objects of a resource become messages.
pub(crate) struct Messages {
    kind: typed::Kind,
    /// Only the metadata of each.
    reduced: bool,
    /// What the envelope of one object says.
    pub(crate) api_version: String,
    pub(crate) kind_name: String,
}

impl Messages {
    /// `None` for custom resources, unless only their metadata is shown.
    pub(crate) fn new(resource: &Resource, shown: &Shown) -> Option<Self> {
        let reduced = |version: MetaVersion| {
            let kind = typed::kind("meta.k8s.io", "v1", "PartialObjectMetadata")?;
            let api_version = version.api_version().to_owned();
            Some(Messages { kind, reduced: true, api_version, kind_name: kind.name().to_owned() })
        };
        match (shown, &resource.form) {
            (Shown::Metadata(version) | Shown::MetadataList(version), _) => reduced(*version),
            (Shown::Whole, Form::Builtin(form)) => Some(Messages {
                kind: form.kind,
                reduced: false,
                api_version: resource.api_version(),
                kind_name: resource.names.kind.to_string(),
            }),
            _ => None,
        }
    }

    /// The message of a stored object, without its envelope.
    pub(crate) fn message(&self, object: &Object) -> Vec<u8> {
        let parse = |text: &[u8]| json::parse(text).map(|parsed| parsed.value).unwrap_or_default();
        if self.reduced {
            let members: Map = [("metadata", parse(&object.metadata()))].into_iter().collect();
            return binary::write(self.kind, &Value::Object(members));
        }
        binary::write(self.kind, &parse(object.bytes()))
    }

    /// A stored object in its envelope.
    pub(crate) fn body(&self, object: &Object) -> Vec<u8> {
        binary::Envelope::seal(&self.api_version, &self.kind_name, &self.message(object))
    }
}

/// A value that says what it is, in its envelope; `None` when no kind with a binary encoding is called so.
pub(crate) fn of_value(value: &Value) -> Option<Vec<u8>> {
    let (api_version, kind) = (meta::object::api_version(value), meta::object::kind(value));
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    // Every group serves these, under its own name.
    let shared = typed::kind("meta.k8s.io", "v1", kind);
    let described = typed::kind(group, version, kind).or(shared)?;
    Some(binary::Envelope::seal(api_version, kind, &binary::write(described, value)))
}

/// A built-in object as kube-apiserver stores it, in the form in which Crest does.
pub(crate) fn stored_by_others(stored: &[u8]) -> Option<Vec<u8>> {
    let envelope = binary::Envelope::open(stored).ok()?;
    let (group, version) = envelope.api_version.split_once('/').unwrap_or(("", envelope.api_version));
    let kind = typed::kind(group, version, envelope.kind)?;
    let mut value = binary::read(kind, envelope.message).ok()?;
    let _unknown = typed::decode(kind, &mut value).ok()?;
    if let Value::Object(members) = &mut value {
        members.insert("apiVersion", envelope.api_version);
        members.insert("kind", envelope.kind);
    }
    Some(registry::codec::encode(&value))
}
