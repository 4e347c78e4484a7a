//! What form a client wants its answer in, for the resources and documents that are served.

use std::sync::Arc;

use meta::status::Status;
use meta::wire::negotiate::{
    self, Accepted, Conversions, Endpoint, MediaType, Route, Transform, parse_accept,
};

use crate::catalog::Resource;
use crate::request::Query;
use crate::verbs::table::{self, Include, TableOptions};

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Json,
    PrettyJson,
    Yaml,
    /// The binary encoding; only kinds that are built in have one.
    Protobuf,
}

impl Media {
    pub fn content_type(self) -> &'static str {
        match self {
            Media::Json | Media::PrettyJson => MediaType::Json.as_str(),
            Media::Yaml => MediaType::Yaml.as_str(),
            Media::Protobuf => MediaType::Protobuf.as_str(),
        }
    }
}

/// What is shown of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Whole,
    /// Only its metadata.
    Metadata(MetaVersion),
    /// Only the metadata of each object in a list.
    MetadataList(MetaVersion),
    Table(TableOptions),
}

/// The version of the kinds that any object can be shown as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetaVersion {
    V1,
    V1Beta1,
}

impl MetaVersion {
    fn of(version: &str) -> Self {
        if version == "v1beta1" { MetaVersion::V1Beta1 } else { MetaVersion::V1 }
    }

    /// With its group.
    pub fn api_version(self) -> &'static str {
        match self {
            MetaVersion::V1 => "meta.k8s.io/v1",
            MetaVersion::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

/// The form of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub media: Media,
    pub shown: Shown,
}

/// What the headers of a request say about formats.
#[derive(Clone, Debug, Default)]
pub struct Headers {
    pub accept: String,
    pub content_type: String,
    pub user_agent: String,
}

/// Everything that some answer can be written in; custom resources themselves have no binary encoding.
const ALL: [MediaType; 3] = negotiate::ALL_MEDIA_TYPES;

/// The media types that the router of built-in kinds lets through.
const PRODUCED: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The same for paths that can be watched.
const PRODUCED_OR_STREAMED: [&str; 5] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

/// Chooses the form of an answer about one object of `resource`.
pub fn output(headers: &Headers, query: &Query, resource: &Resource) -> Result<Output, Status> {
    route(headers, resource, &PRODUCED)?;
    let accepted = negotiate::negotiate(&headers.accept, &endpoint(resource))?;
    Ok(shown(&accepted, headers, query))
}

/// Chooses the form of a list.
pub fn list_output(headers: &Headers, query: &Query, resource: &Resource) -> Result<Output, Status> {
    route(headers, resource, &PRODUCED_OR_STREAMED)?;
    let accepted = negotiate::negotiate(&headers.accept, &endpoint(resource))?;
    Ok(shown(&accepted, headers, query))
}

/// Chooses the form of a watch.
pub fn watch_output(headers: &Headers, query: &Query, resource: &Resource) -> Result<Output, Status> {
    route(headers, resource, &PRODUCED_OR_STREAMED)?;
    negotiate::negotiate(&headers.accept, &endpoint(resource))?;
    let accepted = negotiate::negotiate_stream(&headers.accept, &endpoint(resource))?;
    let output = shown(&accepted, headers, query);
    // Events are never laid out for people.
    let media = if output.media == Media::PrettyJson { Media::Json } else { output.media };
    Ok(Output { media, shown: output.shown })
}

fn endpoint(resource: &Resource) -> Endpoint<'static> {
    let plain: &[MediaType] = if resource.is_builtin() { &ALL } else { &negotiate::CUSTOM_MEDIA_TYPES };
    Endpoint { media_types: &ALL, plain, conversions: Conversions::MetadataAndTable }
}

/// Built-in kinds have a router that looks at media types before anything else does.
fn route(headers: &Headers, resource: &Resource, produces: &[&str]) -> Result<(), Status> {
    if resource.is_builtin() {
        Route { produces, consumes: &[] }.check(&headers.accept, &headers.content_type)?;
    }
    Ok(())
}

fn shown(accepted: &Accepted, headers: &Headers, query: &Query) -> Output {
    let shown = match accepted.convert.as_ref() {
        None => Shown::Whole,
        Some(kind) => match Transform::of(kind) {
            Some(Transform::Table) => Shown::Table(table_options(&kind.version, query)),
            Some(Transform::PartialObjectMetadataList) => Shown::MetadataList(MetaVersion::of(&kind.version)),
            Some(Transform::PartialObjectMetadata) => Shown::Metadata(MetaVersion::of(&kind.version)),
            None => Shown::Whole,
        },
    };
    Output { media: media_of(accepted, headers, query), shown }
}

fn media_of(accepted: &Accepted, headers: &Headers, query: &Query) -> Media {
    let pretty = accepted.pretty || negotiate::is_pretty(query.get("pretty"), &headers.user_agent);
    match accepted.media_type {
        MediaType::Yaml => Media::Yaml,
        MediaType::Protobuf => Media::Protobuf,
        MediaType::Json if pretty => Media::PrettyJson,
        MediaType::Json => Media::Json,
    }
}

fn table_options(version: &str, query: &Query) -> TableOptions {
    let include = match query.get("includeObject").unwrap_or_default() {
        "" | "Metadata" => Include::Metadata,
        "None" => Include::None,
        "Object" => Include::Object,
        other => Include::Unknown(other.to_owned()),
    };
    TableOptions { version: MetaVersion::of(version), include, headers: table::Headers::Shown }
}

/// Refuses what the router of built-in groups refuses of the documents about them.
pub fn route_document(headers: &Headers) -> Result<(), Status> {
    Route { produces: &PRODUCED, consumes: &[] }.check(&headers.accept, "")
}

/// Refuses what the router refuses of a document that only exists as JSON.
pub fn route_raw(headers: &Headers) -> Result<(), Status> {
    Route { produces: &["application/json"], consumes: &[] }.check(&headers.accept, "")
}

/// The form of a failure: only the encoding counts, and where none fits there is still one.
pub fn failure_media(headers: &Headers, query: &Query) -> Media {
    document_media(headers, query).unwrap_or(Media::PrettyJson)
}

/// The form of a document that is no object: nothing it could be turned into.
pub fn document_media(headers: &Headers, query: &Query) -> Result<Media, Status> {
    let plain = Endpoint { media_types: &ALL, plain: &ALL, conversions: Conversions::None };
    let accepted = negotiate::negotiate(&headers.accept, &plain)?;
    Ok(media_of(&accepted, headers, query))
}

/// Whether a client prefers discovery as one document with everything in it. An error when it asks for a
/// version of that which is gone, and for nothing else.
pub fn wants_aggregated(headers: &Headers) -> Result<bool, Status> {
    let documents = Endpoint { media_types: &ALL, plain: &ALL, conversions: Conversions::Discovery };
    let accepted = negotiate::negotiate(&headers.accept, &documents)?;
    if accepted.media_type == MediaType::Protobuf {
        // We have no protobuf discovery; a client that prefers it takes JSON as its next choice.
        let clauses = parse_accept(&headers.accept);
        return Ok(clauses.iter().any(|clause| {
            clause.covers("application/json") && clause.parameters.contains(&("as", "APIGroupDiscoveryList"))
        }));
    }
    Ok(accepted.convert.is_some())
}

impl Output {
    pub fn content_type(&self) -> &'static str {
        self.media.content_type()
    }

    /// The content type of a watch.
    pub fn stream_type(&self) -> &'static str {
        match self.media {
            Media::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            _ => MediaType::Json.as_str(),
        }
    }

    /// A name for this form in a version: equal names mean equal bytes.
    pub fn form_name(&self, api_version: &str) -> Arc<str> {
        let media = self.media;
        match &self.shown {
            Shown::Whole if media == Media::Json => api_version.into(),
            shown => format!("{api_version} {media:?} {shown:?}").into(),
        }
    }
}
