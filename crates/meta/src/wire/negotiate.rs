//! Which format a client wants, and which one it sent: the `Accept` and `Content-Type` headers.
//!
//! Upstream: apiserver/pkg/endpoints/handlers/negotiation/negotiate.go, v1.36, with munnerz/goautoneg for the
//! clauses and emicklei/go-restful for the routes of built-in kinds.

mod accept;
mod mime;

use crate::gvk::{GroupResource, Gvk};
use crate::{Status, Text};

pub use accept::{Clause, parse_accept};
pub use mime::parse_media_type;

/// A format objects can be encoded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaType {
    Json,
    Yaml,
    Protobuf,
}

/// What every resource can be encoded in, in the order of preference.
pub const ALL_MEDIA_TYPES: [MediaType; 3] = [MediaType::Json, MediaType::Yaml, MediaType::Protobuf];

/// What a custom resource can be encoded in: its fields are not known to a protobuf message.
pub const CUSTOM_MEDIA_TYPES: [MediaType; 2] = [MediaType::Json, MediaType::Yaml];

impl MediaType {
    /// The content type.
    pub fn as_str(self) -> &'static str {
        match self {
            MediaType::Json => "application/json",
            MediaType::Yaml => "application/yaml",
            MediaType::Protobuf => "application/vnd.kubernetes.protobuf",
        }
    }

    /// The content type of a watch; `None` for formats that cannot be streamed.
    pub fn as_stream(self) -> Option<&'static str> {
        match self {
            MediaType::Json => Some("application/json;stream=watch"),
            MediaType::Yaml => None,
            MediaType::Protobuf => Some("application/vnd.kubernetes.protobuf;stream=watch"),
        }
    }
}

/// The outcome of a negotiation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub media_type: MediaType,
    /// The client asked for a readable layout in its `Accept` header.
    pub pretty: bool,
    /// The kind the answer is to be turned into, when the client asks for one with `as`, `g` and `v`.
    pub convert: Option<Gvk>,
    /// Of discovery: which servers to include.
    pub profile: Option<Text>,
}

/// A form that any object can be given in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    Table,
    PartialObjectMetadata,
    PartialObjectMetadataList,
}

impl Transform {
    /// The form a kind stands for, in either version of its group.
    pub fn of(gvk: &Gvk) -> Option<Self> {
        if gvk.group != "meta.k8s.io" || !matches!(gvk.version.as_str(), "v1" | "v1beta1") {
            return None;
        }
        match gvk.kind.as_str() {
            "Table" => Some(Transform::Table),
            "PartialObjectMetadata" => Some(Transform::PartialObjectMetadata),
            "PartialObjectMetadataList" => Some(Transform::PartialObjectMetadataList),
            _ => None,
        }
    }
}

/// What an endpoint can answer with.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'a> {
    /// Everything it can encode, in the order of preference; named in errors.
    pub media_types: &'a [MediaType],
    /// The formats of objects that are not turned into another kind.
    pub plain: &'a [MediaType],
    /// The kinds it can turn objects into.
    pub conversions: Conversions,
}

/// Which kinds an endpoint turns its answers into on demand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversions {
    None,
    /// Metadata alone.
    Metadata,
    /// Metadata and tables; the latter in JSON and YAML only.
    MetadataAndTable,
    /// Aggregated discovery.
    Discovery,
}

impl Endpoint<'_> {
    fn allows(&self, media_type: MediaType, convert: Option<&Gvk>) -> bool {
        let Some(gvk) = convert else { return self.plain.contains(&media_type) };
        match (self.conversions, Transform::of(gvk)) {
            (Conversions::Discovery, _) => is_discovery(gvk),
            (Conversions::MetadataAndTable, Some(Transform::Table)) => media_type != MediaType::Protobuf,
            (Conversions::Metadata | Conversions::MetadataAndTable, Some(transform)) => {
                transform != Transform::Table
            }
            _ => false,
        }
    }
}

fn is_discovery(gvk: &Gvk) -> bool {
    gvk.group == "apidiscovery.k8s.io" && gvk.version == "v2" && gvk.kind == "APIGroupDiscoveryList"
}

/// Chooses the format of an answer, or explains what would be acceptable (406).
///
/// ```
/// use crest_meta::wire::negotiate::*;
/// let widgets = Endpoint {
///     media_types: &ALL_MEDIA_TYPES,
///     plain: &CUSTOM_MEDIA_TYPES,
///     conversions: Conversions::MetadataAndTable,
/// };
/// let accepted = negotiate("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", &widgets).unwrap();
/// assert_eq!(Transform::of(&accepted.convert.unwrap()), Some(Transform::Table));
/// assert_eq!(negotiate("text/plain", &widgets).unwrap_err().code, 406);
/// ```
pub fn negotiate(header: &str, endpoint: &Endpoint<'_>) -> Result<Accepted, Status> {
    find(header, endpoint).ok_or_else(|| {
        let names: Vec<&str> = endpoint.media_types.iter().map(|media_type| media_type.as_str()).collect();
        Status::not_acceptable(&names)
    })
}

/// Chooses the format of a watch.
pub fn negotiate_stream(header: &str, endpoint: &Endpoint<'_>) -> Result<Accepted, Status> {
    find(header, endpoint).filter(|accepted| accepted.media_type.as_stream().is_some()).ok_or_else(|| {
        let names: Vec<&str> = endpoint.media_types.iter().filter_map(|media| media.as_stream()).collect();
        Status::not_acceptable(&names)
    })
}

fn find(header: &str, endpoint: &Endpoint<'_>) -> Option<Accepted> {
    if header.is_empty() {
        let media_type = *endpoint.media_types.first()?;
        return Some(Accepted { media_type, pretty: false, convert: None, profile: None });
    }
    parse_accept(header).iter().find_map(|clause| {
        let fitting = endpoint.media_types.iter().filter(|media_type| clause.covers(media_type.as_str()));
        fitting.copied().find_map(|media_type| accept_clause(clause, media_type, endpoint))
    })
}

/// What a clause asks of a format, unless the endpoint cannot do it.
fn accept_clause(clause: &Clause<'_>, media_type: MediaType, endpoint: &Endpoint<'_>) -> Option<Accepted> {
    let mut accepted = Accepted { media_type, pretty: false, convert: None, profile: None };
    for (name, value) in &clause.parameters {
        let convert = &mut accepted.convert;
        match *name {
            "as" => convert.get_or_insert_default().kind = (*value).into(),
            "g" => convert.get_or_insert_default().group = (*value).into(),
            "v" => convert.get_or_insert_default().version = (*value).into(),
            "stream" if !value.is_empty() && (*value != "watch" || media_type.as_stream().is_none()) => {
                return None;
            }
            "sv" if !matches!(*value, "" | "v1") => return None,
            "pretty" => accepted.pretty = *value == "1",
            "profile" => accepted.profile = Some((*value).into()),
            _ => {}
        }
    }
    endpoint.allows(media_type, accepted.convert.as_ref()).then_some(accepted)
}

/// The format of a body, or what is accepted instead (415). No header means the first format.
pub fn negotiate_input(content_type: &str, accepted: &[MediaType]) -> Result<MediaType, Status> {
    let media_type = if content_type.is_empty() {
        accepted.first().copied()
    } else {
        let name = parse_media_type(content_type);
        name.and_then(|name| accepted.iter().copied().find(|media_type| media_type.as_str() == name))
    };
    media_type.ok_or_else(|| {
        let names: Vec<&str> = accepted.iter().map(|media_type| media_type.as_str()).collect();
        Status::unsupported_media_type(&names)
    })
}

/// A way to change an object in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// The patches of built-in kinds.
pub const ALL_PATCH_TYPES: [PatchType; 4] =
    [PatchType::Json, PatchType::Merge, PatchType::Strategic, PatchType::Apply];

/// The patches of custom resources: a strategic one would need Go types.
pub const CUSTOM_PATCH_TYPES: [PatchType; 3] = [PatchType::Json, PatchType::Merge, PatchType::Apply];

impl PatchType {
    /// The content type of its body.
    pub fn as_str(self) -> &'static str {
        match self {
            PatchType::Json => "application/json-patch+json",
            PatchType::Merge => "application/merge-patch+json",
            PatchType::Strategic => "application/strategic-merge-patch+json",
            PatchType::Apply => "application/apply-patch+yaml",
        }
    }
}

/// The kind of a patch, or what is accepted instead (415). Parameters are ignored, case is not.
pub fn negotiate_patch(content_type: &str, accepted: &[PatchType]) -> Result<PatchType, Status> {
    let name = match content_type.find(';') {
        Some(index) if index > 0 => &content_type[..index],
        _ => content_type,
    };
    accepted.iter().copied().find(|patch_type| patch_type.as_str() == name).ok_or_else(|| {
        let names: Vec<&str> = accepted.iter().map(|patch_type| patch_type.as_str()).collect();
        Status::unsupported_media_type(&names)
    })
}

/// Whether an answer is laid out for people: by the query, or because a browser or `curl` asks.
pub fn is_pretty(query: Option<&str>, user_agent: &str) -> bool {
    match query {
        Some(value) if !value.is_empty() => matches!(value, "1" | "t" | "T" | "TRUE" | "true" | "True"),
        _ => ["curl", "Wget", "Mozilla/5.0"].iter().any(|client| user_agent.starts_with(client)),
    }
}

/// What the router of built-in kinds lets through to its handlers. Custom resources have no such router.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The types an `Accept` header may name.
    pub produces: &'a [&'a str],
    /// The types of a body; empty when any will do.
    pub consumes: &'a [&'a str],
}

impl Route<'_> {
    /// Refuses what the router of the reference refuses, in its words.
    pub fn check(&self, accept: &str, content_type: &str) -> Result<(), Status> {
        let refuse =
            |code: u16, message: &str| Err(Status::generic(code, "", &GroupResource::default(), "", message));
        let content_type = if content_type.is_empty() { "application/octet-stream" } else { content_type };
        if !self.consumes.is_empty() && !names_one_of(content_type, self.consumes) {
            return refuse(415, "415: Unsupported Media Type");
        }
        let anything = accept.is_empty() || names_one_of(accept, &["*/*"]);
        if !anything && !names_one_of(accept, self.produces) {
            let available = self.produces.join(", ");
            return refuse(406, &format!("406: Not Acceptable\n\nAvailable representations: {available}"));
        }
        Ok(())
    }
}

/// Whether a list of types, parameters aside, has one of these.
fn names_one_of(header: &str, types: &[&str]) -> bool {
    header.split(',').any(|part| {
        let name = part.split(';').next().unwrap_or_default().trim_matches(' ');
        types.contains(&name)
    })
}

#[cfg(test)]
mod tests;
