//! The scale subresource of custom resources: a Scale stands for the few fields of an object that it shows.
//!
//! A write makes a Scale of the live object, changes that, and takes its replicas over into the object, which
//! then goes the way of every update. Owners go the same way: there as owners of the Scale, back as those of
//! the object.
//!
//! Upstream: apiextensions-apiserver/pkg/registry/customresource/etcd.go (`ScaleREST`), v1.36.

use std::sync::LazyLock;

use meta::status::Status;
use meta::wire::negotiate::{MediaType, PatchType};
use meta::wire::{json, yaml};
use meta::{FieldError, FieldPath, Map, Value};
use schema::apply::{
    ApplyRequest, ManagerInfo, ReplicasPath, ResetFields, SingleVersion, apply, owners_of_parent,
    owners_of_scale, scale_type, track_update,
};
use schema::scale::ScalePaths;
use schema::typed;

use super::options::{FieldValidation, WriteKind, WriteOptions};
use super::patch::{Patch, PatchBody, patch_type};
use super::update::{Change, match_name};
use super::write::{match_namespace, metadata_mut, metadata_text, set_or_remove};
use super::{Answer, Call, body, get, patched_text};
use crate::catalog::form;

const API_VERSION: &str = "autoscaling/v1";

/// Stands for the replicas of an object that has none, so that a patch without them can be told from one
/// that sets zero.
const NO_REPLICAS: i64 = i32::MIN as i64;

/// Where a kind has what a Scale shows.
pub(super) struct Scaled<'a> {
    pub(super) paths: &'a ScalePaths,
    /// For every version of the kind.
    pub(super) replicas: &'a [ReplicasPath],
}

pub(super) async fn run(call: &Call, scaled: &Scaled<'_>) -> Result<Answer, Status> {
    match call.info.verb {
        "get" => read(call, scaled).await,
        "update" => replace(call, scaled).await,
        _ => patch(call, scaled).await,
    }
}

async fn read(call: &Call, scaled: &Scaled<'_>) -> Result<Answer, Status> {
    let Answer::Object { code, object, output } = get::run(call).await? else {
        return Err(Status::internal_error("an object was read as something else"));
    };
    let object = call.tree(&object).await?;
    let Scale { value, found } = scaled.scale_of(&object).map_err(|why| Status::unknown(500, why))?;
    if !found {
        let path = meta::go_fmt::quote(&scaled.paths.spec_replicas);
        return Err(Status::internal_error(format!("the spec replicas field {path} does not exist")));
    }
    Ok(Answer::Value { code, value, output })
}

async fn replace(call: &Call, scaled: &Scaled<'_>) -> Result<Answer, Status> {
    let output = call.output()?;
    let options = WriteOptions::parse(&call.info.query, WriteKind::Update)?;
    let wanted = from_body(call, options.field_validation)?;
    let expected_uid = metadata_text(&wanted, "uid").to_owned();
    let change = Change { call, options: &options, output, expected_uid, applies: true };
    let answer = change.apply(|live| {
        scaled.write(call, live, |old| {
            let mut wanted = wanted.clone();
            own(call, old, &mut wanted, &options);
            Ok(wanted)
        })
    });
    scaled.show(call, answer.await?).await
}

async fn patch(call: &Call, scaled: &Scaled<'_>) -> Result<Answer, Status> {
    let kind = patch_type(call)?;
    let output = call.output()?;
    let write_kind = if kind == PatchType::Apply { WriteKind::Apply } else { WriteKind::Patch };
    let options = WriteOptions::parse(&call.info.query, write_kind)?;
    let patch = Patch::read(call, kind, options.field_validation);
    let change = Change { call, options: &options, output, expected_uid: String::new(), applies: true };
    let answer = change.apply(|live| {
        scaled.write(call, live, |old| {
            let patch = patch.as_ref().map_err(Status::clone)?;
            let mut scale = patched(call, patch, old, &options)?;
            match_namespace(&mut scale, call.namespace())?;
            match_name(&mut scale, call.name())?;
            Ok(scale)
        })
    });
    scaled.show(call, answer.await?).await
}

/// The Scale of an object, and whether the object says how many replicas it wants.
struct Scale {
    value: Value,
    found: bool,
}

impl Scaled<'_> {
    fn scale_of(&self, object: &Value) -> Result<Scale, String> {
        let wanted = self.paths.wanted(object)?;
        let mut status = Map::new();
        status.insert("replicas", as_int32(self.paths.counted(object)?));
        let selector = self.paths.selector(object)?;
        if !selector.is_empty() {
            status.insert("selector", selector);
        }
        let mut metadata = Map::new();
        for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            set_or_remove(&mut metadata, key, object.at(&["metadata", key]).cloned());
        }
        let members = [
            ("apiVersion", API_VERSION.into()),
            ("kind", "Scale".into()),
            ("metadata", Value::Object(metadata)),
            ("spec", spec(as_int32(wanted.unwrap_or(0)))),
            ("status", Value::Object(status)),
        ];
        Ok(Scale { value: Value::Object(members.into_iter().collect()), found: wanted.is_some() })
    }

    /// The object that a changed Scale makes of the live one.
    fn write(
        &self,
        call: &Call,
        live: Option<&Value>,
        change: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Value, Status> {
        let live = live.ok_or_else(|| call.not_found())?;
        let internal = |why: String| Status::unknown(500, why);
        let Scale { value: mut old, found } = self.scale_of(live).map_err(internal)?;
        if !found && let Value::Object(members) = &mut old {
            members.insert("spec", spec(NO_REPLICAS));
        }
        let owners = live.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap_or_default();
        let of_scale = owners_of_scale(owners, self.replicas).map_err(|error| internal(error.to_string()))?;
        if !of_scale.is_empty() {
            metadata_mut(&mut old).insert("managedFields", of_scale);
        }
        let scale = change(&old)?;
        let wanted = scale.at(&["spec", "replicas"]).and_then(Value::as_int).unwrap_or(0);
        if wanted == NO_REPLICAS {
            let path = meta::go_fmt::quote(&self.paths.spec_replicas);
            return Err(Status::bad_request(format!("the spec replicas field {path} cannot be empty")));
        }
        let mut new = live.clone();
        self.paths.set_wanted(&mut new, wanted).map_err(internal)?;
        let version = metadata_text(&scale, "resourceVersion");
        if !version.is_empty() {
            metadata_mut(&mut new).insert("resourceVersion", version);
        }
        let of_scale = scale.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap_or_default();
        let api_version = call.resource.api_version();
        let owners = owners_of_parent(owners, of_scale, &api_version, self.replicas)
            .map_err(|error| internal(error.to_string()))?;
        let owners = (!owners.is_empty()).then_some(Value::Array(owners));
        set_or_remove(metadata_mut(&mut new), "managedFields", owners);
        Ok(new)
    }

    /// The Scale of the object that was written.
    async fn show(&self, call: &Call, answer: Answer) -> Result<Answer, Status> {
        let (code, object, output) = match answer {
            Answer::Object { code, object, output } => (code, call.tree(&object).await?, output),
            Answer::Value { code, value, output } => (code, value, output),
            other => return Ok(other),
        };
        let scale = self.scale_of(&object).map_err(Status::bad_request)?;
        Ok(Answer::Value { code, value: scale.value, output })
    }
}

/// Zero is not printed.
fn spec(replicas: i64) -> Value {
    let mut spec = Map::new();
    if replicas != 0 {
        spec.insert("replicas", replicas);
    }
    Value::Object(spec)
}

/// A Scale counts in 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the reference cuts in the same way")]
fn as_int32(count: i64) -> i64 {
    i64::from(count as i32)
}

fn kind() -> typed::Kind {
    static KIND: LazyLock<typed::Kind> =
        LazyLock::new(|| typed::kind("autoscaling", "v1", "Scale").expect("a Scale is described"));
    *KIND
}

fn ownership() -> &'static SingleVersion {
    static SCALE: LazyLock<SingleVersion> = LazyLock::new(|| SingleVersion {
        api_version: API_VERSION.to_owned(),
        ty: scale_type(),
        reset: ResetFields::new(&[]),
        empty: None,
    });
    &SCALE
}

fn own(call: &Call, old: &Value, new: &mut Value, options: &WriteOptions) {
    let manager = call.manager(options);
    let now = call.server.env.now();
    let info = ManagerInfo { manager: &manager, api_version: API_VERSION, subresource: "scale", now };
    // Without owners rather than without the write, as in the reference.
    let _ = track_update(Some(old), new, &info, ownership());
}

/// Reads the Scale in a request's body.
fn from_body(call: &Call, directive: FieldValidation) -> Result<Value, Status> {
    let mut findings = Vec::new();
    let mut scale = if body::format(call)? == MediaType::Yaml {
        let read = yaml::parse(&call.body).map_err(|_| unreadable())?;
        findings.extend(read.strict_error);
        read.value
    } else {
        let read = json::parse(&call.body).map_err(|_| unreadable())?;
        findings.extend(read.duplicates.iter().map(|path| format!("duplicate field \"{path}\"")));
        read.value
    };
    let unknown = decode(&mut scale).map_err(|_| unreadable())?;
    findings.splice(0..0, unknown);
    match directive {
        FieldValidation::Strict if !findings.is_empty() => return Err(unreadable()),
        FieldValidation::Warn => findings.into_iter().for_each(|finding| call.warnings.add(finding)),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    match_namespace(&mut scale, call.namespace())?;
    match_name(&mut scale, call.name())?;
    Ok(scale)
}

/// Whatever is wrong with a Scale, the reference stumbles over its own description of the failure.
fn unreadable() -> Status {
    Status::bad_request(
        "no kind is registered for the type v1.Scale in scheme \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"",
    )
}

/// Makes a tree a Scale; gives what is not known in it, or why it is none.
fn decode(scale: &mut Value) -> Result<Vec<String>, String> {
    let said =
        |scale: &Value, key: &str| scale.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, named) = (said(scale, "apiVersion"), said(scale, "kind"));
    let foreign =
        (!api_version.is_empty() && api_version != API_VERSION) || (!named.is_empty() && named != "Scale");
    if foreign {
        return Err(format!(
            "no kind {} is registered for version {} in scheme \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:1318\"",
            meta::go_fmt::quote(&named),
            meta::go_fmt::quote(&api_version)
        ));
    }
    let decoded = typed::decode(kind(), scale).map_err(|error| error.to_string())?;
    if let Value::Object(members) = scale {
        members.insert("apiVersion", API_VERSION);
        members.insert("kind", "Scale");
    }
    Ok(decoded.unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect())
}

/// What a patch makes of a Scale, with its owners recorded.
fn patched(call: &Call, patch: &Patch, old: &Value, options: &WriteOptions) -> Result<Value, Status> {
    if let PatchBody::Apply(configuration) = &patch.body {
        return applied(call, old, configuration, options);
    }
    // Custom resources take no strategic patches; their media type has been refused.
    let mut new = patch.body.merged(Some(old))?;
    let text = patched_text::of_builtin(&new, patch.body.touches_metadata());
    let refused = |why: String| {
        let error = FieldError::invalid(&FieldPath::ROOT.field("patch"), text.as_str(), why);
        Status::invalid(&meta::gvk::GroupKind::new("", ""), "", &[error])
    };
    let mut findings = patch.findings.clone();
    findings.extend(decode(&mut new).map_err(refused)?);
    match options.field_validation {
        FieldValidation::Strict if !findings.is_empty() => {
            return Err(refused(format!("strict decoding error: {}", findings.join(", "))));
        }
        FieldValidation::Warn => findings.into_iter().for_each(|finding| call.warnings.add(finding)),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    own(call, old, &mut new, options);
    Ok(new)
}

fn applied(call: &Call, old: &Value, configuration: &Value, options: &WriteOptions) -> Result<Value, Status> {
    let request = ApplyRequest {
        info: ManagerInfo {
            manager: &options.field_manager,
            api_version: API_VERSION,
            subresource: "scale",
            now: call.server.env.now(),
        },
        kind: "Scale",
        force: options.force == Some(true),
    };
    let mut new =
        apply(Some(old), configuration.clone(), &request, ownership()).map_err(form::apply_status)?;
    decode(&mut new).map_err(|why| Status::unknown(500, why))?;
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap().value
    }

    fn paths(selector: Option<&str>) -> ScalePaths {
        ScalePaths {
            spec_replicas: ".spec.size.count".into(),
            status_replicas: ".status.count".into(),
            label_selector: selector.map(Into::into),
        }
    }

    fn scale(object: &str) -> Result<(String, bool), String> {
        let scaled = Scaled { paths: &paths(Some(".status.selector")), replicas: &[] };
        let scale = scaled.scale_of(&value(object))?;
        Ok((json::to_string(&scale.value), scale.found))
    }

    #[test]
    fn a_scale_shows_what_the_paths_lead_to() {
        let object = r#"{"metadata":{"name":"a","uid":"u","labels":{}},"spec":{"size":{"count":3}},"status":{"count":2,"selector":"a=b"}}"#;
        let shown = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","uid":"u"},"spec":{"replicas":3},"status":{"replicas":2,"selector":"a=b"}}"#;
        assert_eq!(scale(object), Ok((shown.to_owned(), true)));
        let shown = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{},"spec":{},"status":{"replicas":0}}"#;
        assert_eq!(scale("{}"), Ok((shown.to_owned(), false)));
    }

    #[test]
    fn what_is_no_number_is_an_error() {
        assert_eq!(
            scale(r#"{"spec":{"size":{"count":"x"}}}"#),
            Err(".spec.size.count accessor error: x is of the type string, expected int64".to_owned())
        );
    }

    #[test]
    fn setting_replicas_makes_the_way_to_them() {
        let mut object = value(r#"{"spec":{"other":1}}"#);
        paths(None).set_wanted(&mut object, 5).unwrap();
        assert_eq!(json::to_string(&object), r#"{"spec":{"other":1,"size":{"count":5}}}"#);
        assert!(paths(None).set_wanted(&mut value(r#"{"spec":{"size":1}}"#), 5).is_err());
    }

    #[test]
    fn only_a_scale_is_taken_for_one() {
        assert!(decode(&mut value(r#"{"kind":"Widget","apiVersion":"autoscaling/v1"}"#)).is_err());
        assert!(decode(&mut value(r#"{"kind":"Scale","apiVersion":"g/v1"}"#)).is_err());
        let mut scale = value(r#"{"spec":{"replicas":1},"nope":1}"#);
        assert_eq!(decode(&mut scale), Ok(vec!["unknown field \"nope\"".to_owned()]));
        assert_eq!(scale.get("kind").and_then(Value::as_str), Some("Scale"));
    }
}
