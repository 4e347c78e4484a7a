//! The paths of a resource with their operations.
//!
//! Operations are described once and written in either dialect. What all operations of a path take is told
//! once for the path.
//!
//! Upstream: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go, kube-openapi/pkg/{builder,
//! builder3}, apiserver/pkg/endpoints/openapi, v1.36.

use meta::{Map, Value};

use super::parameters::{
    DELETE, DELETE_BODY_SHARED, GET, LIST, NAMESPACE, NAMESPACE_SHARED, PATCH, PATCH_BODY_SHARED, PRETTY,
    QueryParameter, WRITE,
};
use super::{Dialect, object};
use crate::catalog::Resource;

const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";
const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
const PATCH_BODY: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
const MEDIA_TYPES: [&str; 2] = ["application/json", "application/yaml"];
const PATCH_TYPES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// The names of a resource's definitions.
pub(super) struct Names {
    pub(super) kind: String,
    pub(super) list: String,
    pub(super) scale: String,
}

/// One operation, in no dialect yet.
struct Operation {
    method: &'static str,
    /// What the API calls it, as `deletecollection`.
    action: &'static str,
    id: String,
    text: String,
    parameters: Vec<Parameter>,
    body: Option<(String, Body)>,
    /// The definition that answers hold.
    answer: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Object,
    Patch,
    Options,
}

#[derive(Clone)]
enum Parameter {
    Query(&'static QueryParameter),
    Namespace,
    Name(String),
}

/// Adds the paths of a resource.
pub(super) fn add(resource: &Resource, names: &Names, dialect: Dialect, paths: &mut Map) {
    let described = Described { resource, names, dialect };
    let plural = &resource.names.plural;
    let base = base(resource);
    let collection = if resource.namespaced {
        let everywhere = [Verb { action: "list", method: "get", word: "list" }];
        let all = Place { subresource: "", namespaced: false, named: false, suffix: "ForAllNamespaces" };
        described.add(paths, &format!("{base}/{plural}"), &all, &everywhere);
        format!("{base}/namespaces/{{namespace}}/{plural}")
    } else {
        format!("{base}/{plural}")
    };
    let place = Place { subresource: "", namespaced: resource.namespaced, named: false, suffix: "" };
    let verbs = offered(resource, &["list", "create", "deletecollection"]);
    described.add(paths, &collection, &place, &verbs);
    let one = format!("{collection}/{{name}}");
    let place = Place { named: true, ..place };
    let verbs = offered(resource, &["get", "update", "delete", "patch"]);
    described.add(paths, &one, &place, &verbs);
    for subresource in &resource.subresources {
        let place = Place { subresource: &subresource.name, ..place };
        let verbs: Vec<Verb> = subresource.verbs.iter().filter_map(|verb| Verb::of(verb)).collect();
        described.add(paths, &format!("{one}/{}", subresource.name), &place, &verbs);
    }
}

/// A resource whose paths are written.
struct Described<'a> {
    resource: &'a Resource,
    names: &'a Names,
    dialect: Dialect,
}

impl Described<'_> {
    fn add(&self, paths: &mut Map, path: &str, place: &Place<'_>, verbs: &[Verb]) {
        if verbs.is_empty() {
            return;
        }
        let mut operations: Vec<Operation> =
            verbs.iter().map(|verb| operation(self.resource, self.names, place, *verb)).collect();
        let common = take_common(&mut operations);
        let mut item = Map::new();
        for operation in operations {
            item.insert(operation.method, operation.write(self.resource, self.dialect));
        }
        let common = common.iter().map(|parameter| parameter.write(self.dialect)).collect::<Vec<_>>();
        item.insert("parameters", common);
        paths.insert(path, item);
    }
}

fn base(resource: &Resource) -> String {
    if resource.group.is_empty() {
        format!("/api/{}", resource.version)
    } else {
        format!("/apis/{}/{}", resource.group, resource.version)
    }
}

#[derive(Clone, Copy)]
struct Verb {
    action: &'static str,
    method: &'static str,
    /// As the identifier of the operation starts.
    word: &'static str,
}

impl Verb {
    fn of(verb: &str) -> Option<Self> {
        let (action, method, word) = match verb {
            "list" => ("list", "get", "list"),
            "create" => ("post", "post", "create"),
            "deletecollection" => ("deletecollection", "delete", "deletecollection"),
            "get" => ("get", "get", "read"),
            "update" => ("put", "put", "replace"),
            "delete" => ("delete", "delete", "delete"),
            "patch" => ("patch", "patch", "patch"),
            _ => return None,
        };
        Some(Verb { action, method, word })
    }
}

fn offered(resource: &Resource, verbs: &[&str]) -> Vec<Verb> {
    verbs.iter().filter(|verb| resource.allows(verb)).filter_map(|verb| Verb::of(verb)).collect()
}

/// What a path leads to.
#[derive(Clone, Copy)]
struct Place<'a> {
    subresource: &'a str,
    namespaced: bool,
    named: bool,
    suffix: &'a str,
}

fn operation(resource: &Resource, names: &Names, place: &Place<'_>, verb: Verb) -> Operation {
    let scale = place.subresource == "scale";
    let kind = if scale { &names.scale } else { &names.kind };
    let answer = match verb.action {
        "list" => &names.list,
        "delete" | "deletecollection" => STATUS,
        _ => kind,
    };
    let body = match verb.action {
        "post" | "put" => Some((kind.clone(), Body::Object)),
        "patch" => Some((PATCH_BODY.to_owned(), Body::Patch)),
        "delete" => Some((DELETE_OPTIONS.to_owned(), Body::Options)),
        _ => None,
    };
    let query: &'static [QueryParameter] = match verb.action {
        "get" => &GET,
        "list" | "deletecollection" => &LIST,
        "patch" => &PATCH,
        "delete" => &DELETE,
        _ => &WRITE,
    };
    let mut parameters: Vec<Parameter> = query.iter().map(Parameter::Query).collect();
    parameters.push(Parameter::Query(&PRETTY));
    if place.namespaced {
        parameters.push(Parameter::Namespace);
    }
    if place.named {
        parameters.push(Parameter::Name(resource.names.kind.to_string()));
    }
    parameters.sort_by(|left, right| left.name().cmp(right.name()));
    Operation {
        method: verb.method,
        action: verb.action,
        id: identifier(resource, place, verb),
        text: text(resource, place, verb),
        parameters,
        body,
        answer: answer.to_owned(),
    }
}

/// `listExampleComV1NamespacedWidget`.
fn identifier(resource: &Resource, place: &Place<'_>, verb: Verb) -> String {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    let (verb, collection) =
        if verb.word == "deletecollection" { ("delete", "Collection") } else { (verb.word, "") };
    let namespaced = if place.namespaced { "Namespaced" } else { "" };
    format!(
        "{verb}{}{}{collection}{namespaced}{}{}{}",
        camel(group, true),
        camel(&resource.version, true),
        resource.names.kind,
        camel(place.subresource, true),
        place.suffix
    )
}

fn tag(resource: &Resource) -> String {
    let group = if resource.group.is_empty() { "core" } else { &resource.group };
    let group = group.strip_suffix(".k8s.io").unwrap_or(group);
    format!("{}_{}", camel(group, false), camel(&resource.version, false))
}

/// Letters and digits, with a capital after everything else.
fn camel(text: &str, capital: bool) -> String {
    let mut capital = capital;
    let mut out = String::with_capacity(text.len());
    for (index, next) in text.char_indices() {
        if next.is_alphabetic() || next == '_' || (index > 0 && next.is_numeric()) {
            if capital {
                out.extend(next.to_uppercase());
            } else {
                out.push(next);
            }
            capital = false;
        } else {
            capital = true;
        }
    }
    out
}

fn text(resource: &Resource, place: &Place<'_>, verb: Verb) -> String {
    let kind = &resource.names.kind;
    let part =
        if place.subresource.is_empty() { String::new() } else { format!(" {} of", place.subresource) };
    match verb.word {
        "list" => format!("list{part} objects of kind {kind}"),
        "read" | "replace" => format!("{}{part} the specified {kind}", verb.word),
        "patch" => format!("partially update{part} the specified {kind}"),
        "deletecollection" => format!("delete collection of {kind}"),
        word => format!("{word}{part}{}{kind}", article(kind)),
    }
}

/// With the spaces around it. Plurals have none.
fn article(noun: &str) -> &'static str {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        " "
    } else if noun.starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']) {
        " an "
    } else {
        " a "
    }
}

/// Takes out the parameters that all operations have.
fn take_common(operations: &mut [Operation]) -> Vec<Parameter> {
    let Some((first, others)) = operations.split_first() else { return Vec::new() };
    let everywhere = |parameter: &&Parameter| {
        others.iter().all(|other| other.parameters.iter().any(|known| known.same(parameter)))
    };
    let common: Vec<Parameter> = first.parameters.iter().filter(everywhere).cloned().collect();
    for operation in operations {
        operation.parameters.retain(|parameter| !common.iter().any(|known| known.same(parameter)));
    }
    common
}

impl Parameter {
    fn name(&self) -> &str {
        match self {
            Parameter::Query(parameter) => parameter.name,
            Parameter::Namespace => "namespace",
            Parameter::Name(_) => "name",
        }
    }

    fn same(&self, other: &Parameter) -> bool {
        match (self, other) {
            (Parameter::Query(left), Parameter::Query(right)) => {
                left.name == right.name && left.shared == right.shared
            }
            _ => self.name() == other.name(),
        }
    }

    fn write(&self, dialect: Dialect) -> Value {
        let shared = match self {
            Parameter::Query(parameter) => parameter.shared,
            Parameter::Namespace => Some(NAMESPACE_SHARED),
            Parameter::Name(_) => None,
        };
        match (dialect, shared) {
            (Dialect::V2, Some(shared)) => object([("$ref", format!("#/parameters/{shared}").into())]),
            _ => self.write_out(dialect),
        }
    }

    fn write_out(&self, dialect: Dialect) -> Value {
        let (text, place, kind) = match self {
            Parameter::Query(parameter) => (parameter.text.to_owned(), "query", parameter.kind),
            Parameter::Namespace => (NAMESPACE.to_owned(), "path", "string"),
            Parameter::Name(kind) => (format!("name of the {kind}"), "path", "string"),
        };
        let mut written: Map =
            [("description", Value::from(text)), ("in", place.into()), ("name", self.name().into())]
                .into_iter()
                .collect();
        if place == "path" {
            written.insert("required", true);
        }
        let schema = [("type", Value::from(kind)), ("uniqueItems", true.into())];
        match dialect {
            Dialect::V2 => schema.into_iter().for_each(|(key, value)| _ = written.insert(key, value)),
            Dialect::V3 => _ = written.insert("schema", object(schema)),
        }
        Value::Object(written)
    }
}

impl Operation {
    fn write(self, resource: &Resource, dialect: Dialect) -> Value {
        let mut written = Map::new();
        written.insert("description", self.text.as_str());
        written.insert("operationId", self.id.as_str());
        written.insert("tags", vec![Value::from(tag(resource))]);
        written.insert("x-kubernetes-action", self.action);
        let kind = super::kind_value(resource, &resource.names.kind);
        written.insert("x-kubernetes-group-version-kind", kind);
        written.insert("responses", self.responses(dialect));
        let mut parameters: Vec<Value> =
            self.parameters.iter().map(|parameter| parameter.write(dialect)).collect();
        match dialect {
            Dialect::V2 => {
                if let Some((name, body)) = &self.body {
                    parameters.insert(0, body_parameter(name, *body));
                }
                let consumes: &[&str] = if self.action == "patch" { &PATCH_TYPES } else { &MEDIA_TYPES };
                written.insert("consumes", texts(consumes));
                written.insert("produces", texts(&MEDIA_TYPES));
                written.insert("schemes", texts(&["https"]));
            }
            Dialect::V3 => {
                if let Some((name, body)) = &self.body {
                    written.insert("requestBody", request_body(name, *body));
                }
            }
        }
        if !parameters.is_empty() {
            written.insert("parameters", parameters);
        }
        Value::Object(written)
    }

    fn responses(&self, dialect: Dialect) -> Value {
        let codes: &[(&str, &str)] = match self.action {
            "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            "put" => &[("200", "OK"), ("201", "Created")],
            "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        };
        let reference = dialect.reference(&self.answer);
        let mut responses: Map = codes
            .iter()
            .map(|(code, text)| {
                let answer = match dialect {
                    Dialect::V2 => ("schema", reference.clone()),
                    Dialect::V3 => ("content", content(&MEDIA_TYPES, &reference)),
                };
                (*code, object([("description", (*text).into()), answer]))
            })
            .collect();
        responses.insert("401", object([("description", "Unauthorized".into())]));
        Value::Object(responses)
    }
}

fn content(types: &[&str], schema: &Value) -> Value {
    Value::Object(types.iter().map(|name| (*name, object([("schema", schema.clone())]))).collect())
}

fn request_body(name: &str, body: Body) -> Value {
    let types: &[&str] = if body == Body::Patch { &PATCH_TYPES } else { &MEDIA_TYPES };
    let mut written: Map = [("content", content(types, &Dialect::V3.reference(name)))].into_iter().collect();
    if body != Body::Options {
        written.insert("required", true);
    }
    Value::Object(written)
}

fn body_parameter(name: &str, body: Body) -> Value {
    match body {
        Body::Object => object([
            ("in", "body".into()),
            ("name", "body".into()),
            ("required", true.into()),
            ("schema", Dialect::V2.reference(name)),
        ]),
        Body::Patch => object([("$ref", format!("#/parameters/{PATCH_BODY_SHARED}").into())]),
        Body::Options => object([("$ref", format!("#/parameters/{DELETE_BODY_SHARED}").into())]),
    }
}

fn texts(texts: &[&str]) -> Value {
    Value::Array(texts.iter().map(|text| Value::from(*text)).collect())
}

/// The parameters that `OpenAPI` v2 describes once for all paths.
pub(super) fn shared() -> Value {
    let all = LIST.iter().chain(&GET).chain(&WRITE).chain(&PATCH).chain(&DELETE).chain([&PRETTY]);
    let mut shared: Map = all
        .filter_map(|parameter| Some((parameter.shared?, Parameter::Query(parameter).write_out(Dialect::V2))))
        .collect();
    shared.insert(NAMESPACE_SHARED, Parameter::Namespace.write_out(Dialect::V2));
    for (shared_name, name, required) in
        [(PATCH_BODY_SHARED, PATCH_BODY, true), (DELETE_BODY_SHARED, DELETE_OPTIONS, false)]
    {
        let mut body: Map =
            [("in", Value::from("body")), ("name", "body".into()), ("schema", Dialect::V2.reference(name))]
                .into_iter()
                .collect();
        if required {
            body.insert("required", true);
        }
        shared.insert(shared_name, body);
    }
    Value::Object(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_made_of_letters() {
        assert_eq!(camel("int-or-string.pub.example.com", true), "IntOrStringPubExampleCom");
        assert_eq!(camel("v1beta1", false), "v1beta1");
    }

    #[test]
    fn kinds_have_articles() {
        assert_eq!(["Widget", "Apple", "Widgets", "Class"].map(article), [" a ", " an ", " ", " a "]);
    }

    #[test]
    fn what_all_operations_take_is_told_once() {
        let operation = |query: &'static [QueryParameter]| Operation {
            method: "get",
            action: "get",
            id: String::new(),
            text: String::new(),
            parameters: query.iter().map(Parameter::Query).chain([Parameter::Namespace]).collect(),
            body: None,
            answer: String::new(),
        };
        let mut operations = [operation(&WRITE), operation(&PATCH)];
        let common = take_common(&mut operations);
        let names = |parameters: &[Parameter]| {
            parameters.iter().map(|parameter| parameter.name().to_owned()).collect::<Vec<_>>()
        };
        // The manager is told differently of the two.
        assert_eq!(names(&common), ["dryRun", "fieldValidation", "namespace"]);
        assert_eq!(names(&operations[0].parameters), ["fieldManager"]);
        assert_eq!(names(&operations[1].parameters), ["fieldManager", "force"]);
    }
}
