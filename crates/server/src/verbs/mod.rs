//! The verbs, for every resource alike. They know descriptions and objects, and nothing of HTTP.

mod body;
mod converted;
mod create;
mod delete;
mod delete_collection;
mod delete_options;
mod get;
mod list;
pub mod options;
mod patch;
mod patched_text;
pub mod propagation;
mod scale;
mod select;
pub mod table;
mod text_order;
mod update;
pub mod watch;
pub mod write;

use std::sync::Arc;

use auth::Permitted;
use bytes::Bytes;
use meta::Value;
use meta::status::Status;
use parking_lot::Mutex;
use registry::Object;

use crate::Server;
use crate::catalog::Resource;
use crate::catalog::form::{CustomForm, Form};
use crate::conversion::Conversions;
use crate::negotiate::{Headers, Media, Output, Shown};
use crate::request::{Method, RequestInfo, ResourceInfo};

pub use body::{NamedKind, unusable_patch};
pub use list::ListAnswer;
use table::{Include, TableOptions};

/// How long a read waits for a version that nobody has given out yet.
const FUTURE_VERSION_WAIT: std::time::Duration = std::time::Duration::from_secs(3);

/// One request for a resource of ours, on its way through a verb.
pub struct Call {
    pub server: Arc<Server>,
    pub resource: Arc<Resource>,
    /// Tells connections apart.
    pub connection: u64,
    pub info: RequestInfo,
    pub permitted: Permitted,
    pub headers: Headers,
    pub body: Bytes,
    pub warnings: Warnings,
    pub conversions: Conversions,
}

/// What the client should be told besides the answer; kept outside of it, since failures carry warnings too.
#[derive(Clone, Default)]
pub struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Adds a warning unless it has been given already.
    pub fn add(&self, warning: impl Into<String>) {
        let warning = warning.into();
        let mut warnings = self.0.lock();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// What a verb gives back.
pub enum Answer {
    /// An object as it is stored, to be shown in the version and form that was asked for.
    Object {
        code: u16,
        object: Arc<Object>,
        output: Output,
    },
    /// An object, or what stands for one, that is not stored in this form.
    Value {
        code: u16,
        value: Value,
        output: Output,
    },
    List {
        list: list::ListAnswer,
        output: Output,
    },
    /// The confirmation of a deletion.
    Status {
        status: Status,
        media: Media,
    },
    Watch(Box<watch::WatchAnswer>),
}

impl Answer {
    fn shown(&self) -> Option<&Shown> {
        match self {
            Answer::Object { output, .. } | Answer::Value { output, .. } | Answer::List { output, .. } => {
                Some(&output.shown)
            }
            Answer::Watch(watch) => Some(watch.shown()),
            Answer::Status { .. } => None,
        }
    }
}

/// Runs the verb that a request asks for, and shows what is stored as the kind shows it.
pub async fn run(call: Call) -> Result<Answer, Status> {
    let resource = call.resource.clone();
    let form = &resource.form;
    let (server, writes) = (call.server.clone(), matches!(call.info.verb, "create" | "update" | "patch"));
    let mut answer = dispatch(call).await?;
    if writes {
        server.settled.wait_after_write(&resource.cache, &server.registry).await;
    }
    check_reduction(&answer, &resource)?;
    match &mut answer {
        Answer::Object { object, .. } => {
            *object = form.show(object).await.map_err(|error| error.status())?;
        }
        Answer::List { list, .. } => {
            form.show_all(&mut list.objects).await.map_err(|error| error.status())?;
        }
        Answer::Value { .. } | Answer::Status { .. } | Answer::Watch(_) => {}
    }
    Ok(answer)
}

/// A list cannot be shown as one object's metadata, nor an object as a list, nor anything in an unknown table.
///
/// Asked when the work is done, as in the reference: what could not be found was not found first of all.
fn check_reduction(answer: &Answer, resource: &Resource) -> Result<(), Status> {
    if let Some(Shown::Table(TableOptions { include: Include::Unknown(given), .. })) = answer.shown() {
        let path = meta::FieldPath::ROOT.field("includeObject");
        let detail = "must be 'Metadata', 'Object', 'None', or empty";
        let error = meta::FieldError::invalid(&path, given.as_str(), detail);
        return Err(Status::bad_request(format!("Unable to convert to Table as requested: {error}")));
    }
    let unfit = |asked: &str, found: &str| {
        let kind = match answer {
            Answer::List { .. } => &resource.names.list_kind,
            _ => &resource.names.kind,
        };
        let go_type = match resource.group.split('.').next() {
            _ if !resource.is_builtin() => "unstructured.UnstructuredList".to_owned(),
            Some("") | None => format!("core.{kind}"),
            Some(package) => format!("{package}.{kind}"),
        };
        let message = format!("you requested {asked}, but the requested object is {found} (*{go_type})");
        let mut status = Status::unknown(406, message);
        status.reason = meta::status::reason::NOT_ACCEPTABLE.into();
        Err(status)
    };
    match answer {
        Answer::List { output: Output { shown: Shown::Metadata(_), .. }, .. } => {
            unfit("PartialObjectMetadata", "a list")
        }
        Answer::Object { output: Output { shown: Shown::MetadataList(_), .. }, .. }
        | Answer::Value { output: Output { shown: Shown::MetadataList(_), .. }, .. } => {
            if resource.is_builtin() {
                unfit("PartialObjectMetadataList", "not a list")
            } else {
                Err(Status::unknown(500, "content is not a list"))
            }
        }
        _ => Ok(()),
    }
}

async fn dispatch(call: Call) -> Result<Answer, Status> {
    if let Some(deprecation) = &call.resource.deprecation {
        call.warnings.add(deprecation.clone());
    }
    let builtin = call.resource.is_builtin();
    // The router of built-in kinds knows nothing of HEAD, and of other methods on the old paths of watches.
    let unrouted = match call.info.method {
        Method::Get => false,
        Method::Head => true,
        _ => call.info.verb == "watch",
    };
    let target = call.target();
    let known = target.subresource.is_empty() || call.resource.subresource(&target.subresource).is_some();
    if builtin && unrouted && known {
        return Err(method_not_allowed());
    }
    if !target.subresource.is_empty() {
        return Box::pin(run_subresource(&call)).await;
    }
    let named = target.name_from_path;
    match (call.info.verb, named) {
        ("get", _) => get::run(&call).await,
        ("list", _) => list::run(&call).await,
        // The futures of these are large; in a box they do not make those of reads large too.
        ("watch", _) => Box::pin(watch::run(&call)).await,
        ("create", named) if !(builtin && named) => Box::pin(create::run(&call)).await,
        ("update", true) => Box::pin(update::run(&call)).await,
        ("patch", true) => Box::pin(patch::run(&call)).await,
        ("patch", false) if !builtin => {
            patch::patch_type(&call)?;
            Err(name_required())
        }
        ("update", false) if !builtin => Err(name_required()),
        ("delete", true) => Box::pin(delete::run(&call)).await,
        ("deletecollection", false) if call.resource.allows("deletecollection") => {
            Box::pin(delete_collection::run(&call)).await
        }
        (verb, _) if !builtin => Err(Status::method_not_supported(&call.resource.group_resource(), verb)),
        _ => Err(method_not_allowed()),
    }
}

fn name_required() -> Status {
    Status::bad_request("name must be provided")
}

async fn run_subresource(call: &Call) -> Result<Answer, Status> {
    let name = call.target().subresource.as_str();
    let Some(subresource) = call.resource.subresource(name) else { return Err(call.no_such_path()) };
    if !subresource.verbs.contains(&call.info.verb) {
        return Err(if call.resource.is_builtin() {
            method_not_allowed()
        } else {
            Status::method_not_supported(&call.resource.group_resource(), call.info.verb)
        });
    }
    if let Form::Custom(CustomForm { scale: Some(paths), replicas, .. }) = &call.resource.form
        && name == "scale"
    {
        return scale::run(call, &scale::Scaled { paths, replicas }).await;
    }
    match call.info.verb {
        "get" => get::run(call).await,
        "update" => update::run(call).await,
        "patch" => patch::run(call).await,
        _ => Err(method_not_allowed()),
    }
}

/// A method that a known path does not take.
pub fn method_not_allowed() -> Status {
    Status::generic(405, "", &meta::gvk::GroupResource::new("", ""), "", "")
}

/// A path below a known group that leads nowhere.
pub fn not_found() -> Status {
    Status::generic(404, "", &meta::gvk::GroupResource::new("", ""), "", "")
}

impl Call {
    /// The part of the path that names the resource; only such requests come here.
    pub fn target(&self) -> &ResourceInfo {
        static NOTHING: std::sync::OnceLock<ResourceInfo> = std::sync::OnceLock::new();
        self.info.resource.as_ref().unwrap_or_else(|| NOTHING.get_or_init(ResourceInfo::default))
    }

    /// Which part of an object this request is about; empty: the object itself.
    fn subresource(&self) -> &str {
        &self.target().subresource
    }

    fn name(&self) -> &str {
        &self.target().name
    }

    /// The namespace of the objects asked for; empty for resources of the cluster.
    fn namespace(&self) -> &str {
        if self.resource.namespaced { &self.target().namespace } else { "" }
    }

    /// The key of the object asked for.
    fn key(&self) -> meta::Text {
        registry::join_key(self.namespace(), self.name())
    }

    fn not_found(&self) -> Status {
        Status::not_found(&self.resource.group_resource(), self.name())
    }

    /// A part of the object that its kind does not have.
    fn no_such_path(&self) -> Status {
        if self.resource.is_builtin() { not_found() } else { self.not_found() }
    }

    fn output(&self) -> Result<Output, Status> {
        crate::negotiate::output(&self.headers, &self.info.query, &self.resource)
    }

    /// Waits until everything up to a revision is there, but not for ever: it may never have been given out.
    async fn wait_for(&self, revision: store::Revision) -> Result<(), Status> {
        let registry = &self.server.registry;
        let waited = tokio::time::timeout(FUTURE_VERSION_WAIT, registry.wait_for(revision)).await;
        match waited {
            Ok(done) => done.map_err(|error| storage_status(&error, self)),
            Err(_) => Err(too_large_version(revision, registry.applied())),
        }
    }

    /// Who owns the fields that this request sets.
    pub(crate) fn manager(&self, options: &options::WriteOptions) -> String {
        if options.field_manager.is_empty() {
            schema::apply::manager_of_user_agent(&self.headers.user_agent)
        } else {
            options.field_manager.clone()
        }
    }
}

/// What a failure of the registry means to a client.
pub fn storage_status(error: &registry::Error, call: &Call) -> Status {
    let resource = call.resource.group_resource();
    match error {
        registry::Error::AlreadyExists => Status::already_exists(&resource, call.name()),
        registry::Error::Conflict(Some(_)) | registry::Error::Overtaken => {
            Status::modified(&resource, call.name())
        }
        registry::Error::Conflict(None) => call.not_found(),
        registry::Error::Expired { .. } => {
            Status::resource_expired("The resourceVersion for the provided list is too old.")
        }
        registry::Error::Future { current } => too_large_version(*current, *current),
        registry::Error::TooLarge { .. } => Status::unknown(500, "etcdserver: request is too large"),
        registry::Error::Behind => outage_status(&store::Outage::TimedOut),
        registry::Error::Unreadable | registry::Error::Gone | registry::Error::Store(_) => {
            tracing::error!(error = error as &dyn std::error::Error, path = call.info.path, "storage failed");
            match error {
                registry::Error::Store(error) => error.outage().as_ref().map(outage_status),
                _ => None,
            }
            .unwrap_or_else(|| Status::internal_error("the storage failed; the server's log says why"))
        }
    }
}

/// What an outage of etcd means to a client: its own words where it has any, as in the reference.
fn outage_status(outage: &store::Outage) -> Status {
    match outage {
        store::Outage::Said(words) => Status::unknown(500, words.clone()),
        store::Outage::TimedOut => Status::timeout(
            "request did not complete within requested timeout - context deadline exceeded",
            0,
        ),
        store::Outage::Unreachable => {
            Status::unknown(500, "rpc error: code = Unavailable desc = etcd cannot be reached")
        }
    }
}

/// A resource version that nobody has given out yet.
fn too_large_version(asked: store::Revision, current: store::Revision) -> Status {
    use meta::status::Cause;
    let mut status = Status::timeout(format!("Too large resource version: {asked}, current: {current}"), 1);
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: meta::status::cause::RESOURCE_VERSION_TOO_LARGE.into(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        });
    }
    status
}
