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
}

/// What is shown of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shown {
    Whole,
    /// Only its metadata.
    Metadata,
    /// Only the metadata of each object in a list.
    MetadataList,
    Table(TableOptions),
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

/// What objects can be written in; the reference names protobuf too, and so do errors.
const NAMED: [MediaType; 3] = negotiate::ALL_MEDIA_TYPES;
const WRITTEN: [MediaType; 2] = negotiate::CUSTOM_MEDIA_TYPES;

/// The media types that the router of built-in kinds lets through.
const PRODUCED: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// Chooses the form of an answer about `resource`.
pub fn output(headers: &Headers, query: &Query, resource: &Resource) -> Result<Output, Status> {
    route(headers, resource)?;
    let accepted = negotiate::negotiate(&headers.accept, &endpoint())?;
    shown(&accepted, headers, query)
}

/// Chooses the form of a watch.
pub fn watch_output(headers: &Headers, query: &Query, resource: &Resource) -> Result<Output, Status> {
    route(headers, resource)?;
    let accepted = negotiate::negotiate_stream(&headers.accept, &endpoint())?;
    let shown = match shown(&accepted, headers, query)?.shown {
        Shown::MetadataList => Shown::Metadata, // events bring objects
        shown => shown,
    };
    Ok(Output { media: Media::Json, shown })
}

fn endpoint() -> Endpoint<'static> {
    Endpoint { media_types: &NAMED, plain: &WRITTEN, conversions: Conversions::MetadataAndTable }
}

/// Built-in kinds have a router that looks at media types before anything else does.
fn route(headers: &Headers, resource: &Resource) -> Result<(), Status> {
    if resource.is_builtin() {
        Route { produces: &PRODUCED, consumes: &[] }.check(&headers.accept, &headers.content_type)?;
    }
    Ok(())
}

fn shown(accepted: &Accepted, headers: &Headers, query: &Query) -> Result<Output, Status> {
    let shown = match accepted.convert.as_ref() {
        None => Shown::Whole,
        Some(kind) => match Transform::of(kind) {
            Some(Transform::Table) => Shown::Table(table_options(&kind.version, query)?),
            Some(Transform::PartialObjectMetadataList) => Shown::MetadataList,
            Some(_) => Shown::Metadata,
            None => Shown::Whole,
        },
    };
    let pretty = accepted.pretty || negotiate::is_pretty(query.get("pretty"), &headers.user_agent);
    let media = match accepted.media_type {
        MediaType::Yaml => Media::Yaml,
        _ if pretty => Media::PrettyJson,
        _ => Media::Json,
    };
    Ok(Output { media, shown })
}

fn table_options(version: &str, query: &Query) -> Result<TableOptions, Status> {
    let include = match query.get("includeObject").unwrap_or_default() {
        "" | "Metadata" => Include::Metadata,
        "None" => Include::None,
        "Object" => Include::Object,
        other => {
            let path = meta::FieldPath::ROOT.field("includeObject");
            let detail = "must be 'Metadata', 'Object', 'None', or empty";
            let error = meta::FieldError::invalid(&path, other, detail);
            return Err(Status::bad_request(format!("Unable to convert to Table as requested: {error}")));
        }
    };
    Ok(TableOptions {
        api_version: format!("meta.k8s.io/{version}"),
        include,
        headers: table::Headers::Shown,
    })
}

/// The form of a failure or a document: only the encoding counts, and there is always one.
pub fn media(headers: &Headers, query: &Query) -> Media {
    let plain =
        Endpoint { media_types: &WRITTEN, plain: &WRITTEN, conversions: Conversions::MetadataAndTable };
    let accepted = negotiate::negotiate(&headers.accept, &plain);
    let pretty = negotiate::is_pretty(query.get("pretty"), &headers.user_agent);
    match accepted {
        Ok(Accepted { media_type: MediaType::Yaml, .. }) => Media::Yaml,
        Ok(Accepted { pretty: true, .. }) => Media::PrettyJson,
        _ if pretty => Media::PrettyJson,
        _ => Media::Json,
    }
}

/// Whether a client prefers discovery as one document with everything in it. An error when it asks for a
/// version of that which is gone, and for nothing else.
pub fn wants_aggregated(headers: &Headers) -> Result<bool, Status> {
    let documents = Endpoint { media_types: &NAMED, plain: &NAMED, conversions: Conversions::Discovery };
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
        match self.media {
            Media::Json | Media::PrettyJson => "application/json",
            Media::Yaml => "application/yaml",
        }
    }

    /// The form of a Status in place of an object: no table, no reduction.
    #[must_use]
    pub fn as_status(&self) -> Self {
        Output { media: self.media, shown: Shown::Whole }
    }

    /// A name for this form in a version: equal names mean equal bytes.
    pub fn form_name(&self, api_version: &str) -> Arc<str> {
        match &self.shown {
            Shown::Whole => api_version.into(),
            Shown::Metadata | Shown::MetadataList => "metadata".into(),
            Shown::Table(options) => format!("{api_version} {options:?}").into(),
        }
    }
}
