//! The road of a request, from its first line to its answer, in one place.
//!
//! Every stage is a line of [`serve`]; each takes what the one before gives, so that none can be left out.
//! Measuring, rescuing from panics and the headers that every answer carries wrap it from outside.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use auth::Attributes;
use auth::ResourceAttributes;
use auth::authn::{Authenticated, Credentials};
use auth::authz::Refusal;
use bytes::Bytes;
use futures_util::FutureExt;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{self, HeaderMap};
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response};
use meta::go_duration;
use meta::status::{Status, StatusDetails};

use crate::Server;
use crate::catalog::{Catalog, Resource};
use crate::conversion::Conversions;
use crate::metrics::Subject;
use crate::negotiate::{self, Headers, Media};
use crate::pki::client_certs::PeerCertificate;
use crate::request::{self, Method, RequestInfo};
use crate::respond::{self, Body};
use crate::verbs::{self, Answer, Call, Warnings};
use crate::websocket::{self, Handshake, Session};
use crate::{documents, health};

/// What a connection knows of its peer.
pub(crate) struct Peer {
    /// Tells connections apart.
    pub connection: u64,
    pub certificate: Option<PeerCertificate>,
    /// What the connection goes on as when its last request has been answered.
    pub session: parking_lot::Mutex<Option<Session>>,
}

/// Serves one request and never fails: whatever happens becomes an answer.
pub(crate) async fn handle(server: Arc<Server>, peer: Arc<Peer>, req: Request<Incoming>) -> Response<Body> {
    let started = Instant::now();
    let audit_id = audit_id(&server, req.headers());
    let warnings = Warnings::default();
    let mut seen = Seen::of(&req);
    let reads = matches!(*req.method(), hyper::Method::GET | hyper::Method::HEAD);
    let in_flight = server.metrics.request_started(reads);
    let served = AssertUnwindSafe(serve(&server, &peer, req, &warnings, &mut seen)).catch_unwind().await;
    let mut response = match served {
        Ok(Ok(response)) => response,
        Ok(Err(status)) => {
            let mut response = respond::status(&status, seen.media);
            if seen.no_sniff {
                respond::forbid_sniffing(&mut response);
            }
            response
        }
        Err(panic) => {
            let what = panic.downcast_ref::<String>().map(String::as_str);
            let what = what.or(panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            tracing::error!(path = seen.path, panic = what, "a request panicked");
            server.metrics.panicked();
            respond::status(
                &Status::internal_error("the server failed on this request; its log says why"),
                Media::Json,
            )
        }
    };
    respond::add_warnings(&mut response, &warnings.take());
    respond::set_header(&mut response, "audit-id", &audit_id);
    response
        .headers_mut()
        .entry(header::CACHE_CONTROL)
        .or_insert(header::HeaderValue::from_static("no-cache, private"));
    if seen.method == hyper::Method::HEAD {
        response = respond::without_body(response);
    }
    let code = response.status().as_u16();
    drop(in_flight);
    server.metrics.request_served(&seen.subject, code, started.elapsed());
    tracing::debug!(method = %seen.method, path = seen.path, code, elapsed = ?started.elapsed(), "served");
    response
}

/// What is remembered of a request for the log, the metrics and the form of failures.
struct Seen {
    method: hyper::Method,
    path: String,
    /// Filled in as far as the catalog knows it: labels must be bounded.
    subject: Subject,
    media: Media,
    /// Set where the reference warns clients not to guess what a refusal is.
    no_sniff: bool,
}

impl Seen {
    fn of(req: &Request<Incoming>) -> Self {
        let (method, path) = (req.method().clone(), req.uri().path().to_owned());
        Seen { method, path, subject: Subject::default(), media: Media::Json, no_sniff: false }
    }

    fn learn(&mut self, info: &RequestInfo, formats: &Headers) {
        self.subject.verb = info.verb;
        self.media = negotiate::failure_media(formats, &info.query);
    }

    fn learn_resource(&mut self, info: &RequestInfo, resource: &Resource) {
        let Some(target) = &info.resource else { return };
        let subresource = resource.subresource(&target.subresource);
        self.subject = Subject {
            verb: info.verb,
            group: resource.group.clone(),
            version: resource.version.clone(),
            resource: resource.names.plural.clone(),
            subresource: subresource.map(|sub| sub.name.clone()).unwrap_or_default(),
            scope: match (target.name_from_path, target.namespace.is_empty()) {
                (true, _) => "resource",
                (false, false) => "namespace",
                (false, true) => "cluster",
            },
        };
    }
}

/// The stages, in order.
async fn serve(
    server: &Arc<Server>,
    peer: &Peer,
    req: Request<Incoming>,
    warnings: &Warnings,
    seen: &mut Seen,
) -> Result<Response<Body>, Status> {
    if !request::is_escaped_well(req.uri().path()) {
        return Ok(respond::bad_request());
    }
    let (mut parts, body) = req.into_parts();
    let upgrade = websocket::is_wanted(&parts.headers).then(|| parts.extensions.remove::<OnUpgrade>());
    let headers = read_headers(&parts.headers);
    let info = request::parse(method(&parts.method), parts.uri.path(), parts.uri.query().unwrap_or_default())
        .map_err(|error| Status::internal_error(format!("failed to create RequestInfo: {error}")))?;
    seen.learn(&info, &headers);
    let deadline = deadline(server, &info)?;
    let user = authenticate(server, peer, &parts.headers, &info, warnings).await?;
    let _place = server.limits.enter(&info)?;
    let permitted = server.permit(attributes(user, &info)).await.inspect_err(|_| seen.no_sniff = true)?;
    let gzip = accepts_gzip(&parts.headers);
    if info.resource.is_none() {
        if let Some(response) = health::answer(server, &info, &headers).await {
            return Ok(response);
        }
        server.settled.wait().await;
        let asked = documents::Asked { info: &info, formats: &headers, headers: &parts.headers, gzip };
        return documents::answer(server, &server.catalog.load_full(), &asked).await;
    }
    let mut resolved = resolve(&server.catalog.load_full(), &info);
    if resolved.is_err() {
        server.settled.wait_for_all(&server.registry).await;
        resolved = resolve(&server.catalog.load_full(), &info);
    }
    let resource = match resolved {
        Ok(resource) => resource,
        Err(Unknown::Page) => return Ok(respond::page_not_found()),
        Err(Unknown::Status(status)) => return Err(*status),
    };
    seen.learn_resource(&info, &resource);
    let body = read_body(server, body).await?;
    let context = respond::Context { resource: &resource, now: server.env.now(), gzip };
    let call = Call {
        server: server.clone(),
        resource: resource.clone(),
        connection: peer.connection,
        info,
        permitted,
        headers,
        body,
        warnings: warnings.clone(),
        conversions: Conversions::default(),
    };
    let answer = match deadline {
        None => verbs::run(call).await?,
        Some(deadline) => match tokio::time::timeout(deadline, verbs::run(call)).await {
            Ok(answer) => answer?,
            Err(_) => return Err(timed_out()),
        },
    };
    match (answer, upgrade) {
        (Answer::Watch(watch), Some(Some(upgrade))) => Ok(switch(peer, upgrade, watch, &parts.headers)),
        (answer, _) => Ok(respond::answer(answer, &context)),
    }
}

/// Makes a `WebSocket` of the connection.
fn switch(
    peer: &Peer,
    upgrade: OnUpgrade,
    watch: Box<verbs::watch::WatchAnswer>,
    headers: &HeaderMap,
) -> Response<Body> {
    match Handshake::of(headers).answer() {
        Ok(response) => {
            *peer.session.lock() = Some(Session::new(upgrade, watch));
            response
        }
        Err(refusal) => *refusal,
    }
}

/// How long the request may take: what the client says, if it asks for less than it would get. Watches have
/// a parameter of their own.
///
/// Upstream: `apiserver/pkg/endpoints/filters/request_deadline.go`, v1.36.
fn deadline(server: &Server, info: &RequestInfo) -> Result<Option<Duration>, Status> {
    if matches!(info.verb, "watch" | "proxy") {
        return Ok(None);
    }
    let longest = server.limits.request_timeout;
    let asked = match info.query.get("timeout") {
        None | Some("") => return Ok(Some(longest)),
        Some(text) => go_duration::parse(text).map_err(|error| {
            Status::bad_request(format!("invalid timeout specified in the request URL - {error}"))
        })?,
    };
    // Nothing or less means no wish.
    let asked = u64::try_from(asked).ok().filter(|asked| *asked > 0).map(Duration::from_nanos);
    Ok(Some(asked.filter(|asked| *asked < longest).unwrap_or(longest)))
}

fn timed_out() -> Status {
    Status::timeout("request did not complete within the allotted timeout", 0)
}

fn method(method: &hyper::Method) -> Method {
    match *method {
        hyper::Method::GET => Method::Get,
        hyper::Method::HEAD => Method::Head,
        hyper::Method::POST => Method::Post,
        hyper::Method::PUT => Method::Put,
        hyper::Method::PATCH => Method::Patch,
        hyper::Method::DELETE => Method::Delete,
        hyper::Method::OPTIONS => Method::Options,
        _ => Method::Other,
    }
}

fn read_headers(headers: &HeaderMap) -> Headers {
    let text = |name| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.collect::<Vec<_>>().join(",")
    };
    Headers {
        accept: text(header::ACCEPT),
        content_type: text(header::CONTENT_TYPE),
        user_agent: text(header::USER_AGENT),
    }
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let value = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| value.split(',').any(|coding| coding.trim() == "gzip"))
}

/// The client's own id of the request if it gave one, else a new one.
fn audit_id(server: &Server, headers: &HeaderMap) -> String {
    let given = headers.get("audit-id").and_then(|value| value.to_str().ok()).filter(|id| !id.is_empty());
    given.map_or_else(|| server.env.uid(), str::to_owned)
}

async fn authenticate(
    server: &Server,
    peer: &Peer,
    headers: &HeaderMap,
    info: &RequestInfo,
    warnings: &Warnings,
) -> Result<auth::User, Status> {
    let from_protocol = match headers.get(header::AUTHORIZATION) {
        None if websocket::is_wanted(headers) => websocket::bearer_token(headers).map_err(|why| {
            tracing::debug!(path = info.path, reason = why, "unauthorized");
            server.metrics.unauthorized();
            Status::unauthorized("Unauthorized")
        })?,
        _ => None,
    };
    let from_protocol = from_protocol.map(|token| format!("Bearer {token}"));
    let authorization = headers.get(header::AUTHORIZATION).map(header::HeaderValue::as_bytes);
    let credentials = Credentials {
        client_certificate: peer.certificate.as_ref().map(|certificate| certificate.at(server.env.now())),
        authorization: authorization.or(from_protocol.as_ref().map(String::as_bytes)),
        path: &info.path,
    };
    match server.authenticators.authenticate(&credentials).await {
        Ok(Authenticated { user, warning }) => {
            if let Some(warning) = warning {
                warnings.add(warning);
            }
            Ok(user)
        }
        Err(unauthorized) => {
            tracing::debug!(path = info.path, reason = %unauthorized, "unauthorized");
            server.metrics.unauthorized();
            Err(Status::unauthorized("Unauthorized"))
        }
    }
}

fn attributes(user: auth::User, info: &RequestInfo) -> Attributes {
    let resource = info.resource.as_ref().map(|resource| ResourceAttributes {
        namespace: resource.namespace.as_str().into(),
        group: resource.group.as_str().into(),
        version: resource.version.as_str().into(),
        resource: resource.resource.as_str().into(),
        subresource: resource.subresource.as_str().into(),
        name: resource.name.as_str().into(),
    });
    Attributes { user, verb: info.verb.into(), resource, path: info.path.as_str().into() }
}

/// A refusal of the authorizer as the client reads it.
pub(crate) fn refused(refusal: &Refusal) -> Status {
    match refusal {
        Refusal::Forbidden(forbidden) => {
            let details = forbidden.details();
            Status {
                code: 403,
                reason: "Forbidden".into(),
                message: forbidden.message(),
                details: Some(Box::new(StatusDetails {
                    name: details.name.to_owned(),
                    group: details.group.to_owned(),
                    kind: details.kind.to_owned(),
                    ..StatusDetails::default()
                })),
                continue_token: None,
            }
        }
        Refusal::Failed(why) => Status::internal_error(why),
    }
}

/// Why a path leads nowhere.
enum Unknown {
    /// Nobody knows the group, or a definition's group has no such resource.
    Page,
    Status(Box<Status>),
}

/// Finds the description of what a path names.
fn resolve(catalog: &Catalog, info: &RequestInfo) -> Result<Arc<Resource>, Unknown> {
    let Some(target) = &info.resource else { return Err(Unknown::Page) };
    let Some(group) = catalog.group(&target.group) else { return Err(Unknown::Page) };
    let not_found =
        || if group.builtin { Unknown::Status(Box::new(verbs::not_found())) } else { Unknown::Page };
    let found = catalog.resource(&target.group, &target.version, &target.resource).ok_or_else(not_found)?;
    // A resource of the cluster is not found below a namespace, nor one object of a namespace without it.
    let is_namespace = target.resource == "namespaces" && target.group.is_empty();
    if is_namespace && target.name_from_path && target.namespace != target.name {
        return Err(not_found());
    }
    let in_namespace = !target.namespace.is_empty() && !is_namespace;
    // Without a namespace, objects in namespaces can only be read.
    let everywhere = !in_namespace && found.namespaced;
    let reads = matches!(info.verb, "list" | "watch");
    let misplaced = in_namespace && !found.namespaced || everywhere && target.name_from_path;
    // Built-in kinds have a router that knows every path. Others are told by what the path begins with.
    let unknown = if found.is_builtin() {
        misplaced || target.has_more_segments
    } else {
        in_namespace && !found.namespaced || everywhere && !reads
    };
    if unknown {
        return Err(not_found());
    }
    if everywhere && !reads {
        return Err(Unknown::Status(Box::new(verbs::method_not_allowed())));
    }
    Ok(found.clone())
}

/// Reads a body up to the limit.
async fn read_body(server: &Server, body: Incoming) -> Result<Bytes, Status> {
    let limit = server.limits.body_bytes;
    let collected =
        tokio::time::timeout(server.limits.request_timeout, Limited::new(body, limit).collect()).await;
    match collected {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
            Err(Status::too_large(format!("limit is {limit}")))
        }
        Ok(Err(error)) => Err(Status::bad_request(format!("the body could not be read: {error}"))),
        Err(_) => Err(timed_out()),
    }
}
