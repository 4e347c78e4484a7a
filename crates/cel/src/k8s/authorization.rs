//! Authorization checks: declared so that misuse is reported as such, implemented by hosts that authorize.

use crate::{Function, Library, Overload, Type};

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
const DECISION: &str = "kubernetes.authorization.Decision";

/// A function on one of these types, with text arguments.
struct Declaration {
    name: &'static str,
    id: &'static str,
    receiver: &'static str,
    texts: usize,
    result: Returned,
}

enum Returned {
    Object(&'static str),
    Scalar(Type),
}

const fn declaration(
    name: &'static str,
    id: &'static str,
    receiver: &'static str,
    texts: usize,
    result: Returned,
) -> Declaration {
    Declaration { name, id, receiver, texts, result }
}

const DECLARATIONS: &[Declaration] = &{
    use Returned::{Object, Scalar};
    [
        declaration("path", "authorizer_path", AUTHORIZER, 1, Object(PATH_CHECK)),
        declaration("group", "authorizer_group", AUTHORIZER, 1, Object(GROUP_CHECK)),
        declaration("serviceAccount", "authorizer_serviceaccount", AUTHORIZER, 2, Object(AUTHORIZER)),
        declaration("resource", "groupcheck_resource", GROUP_CHECK, 1, Object(RESOURCE_CHECK)),
        declaration("subresource", "resourcecheck_subresource", RESOURCE_CHECK, 1, Object(RESOURCE_CHECK)),
        declaration("namespace", "resourcecheck_namespace", RESOURCE_CHECK, 1, Object(RESOURCE_CHECK)),
        declaration("name", "resourcecheck_name", RESOURCE_CHECK, 1, Object(RESOURCE_CHECK)),
        declaration(
            "fieldSelector",
            "resourcecheck_fieldselector",
            RESOURCE_CHECK,
            1,
            Object(RESOURCE_CHECK),
        ),
        declaration(
            "labelSelector",
            "resourcecheck_labelselector",
            RESOURCE_CHECK,
            1,
            Object(RESOURCE_CHECK),
        ),
        declaration("check", "pathcheck_check", PATH_CHECK, 1, Object(DECISION)),
        declaration("check", "resourcecheck_check", RESOURCE_CHECK, 1, Object(DECISION)),
        declaration("errored", "decision_errored", DECISION, 0, Scalar(Type::Bool)),
        declaration("error", "decision_error", DECISION, 0, Scalar(Type::String)),
        declaration("allowed", "decision_allowed", DECISION, 0, Scalar(Type::Bool)),
        declaration("reason", "decision_reason", DECISION, 0, Scalar(Type::String)),
    ]
};

pub(super) fn add(mut library: Library) -> Library {
    for declaration in DECLARATIONS {
        let texts = std::iter::repeat_n(Type::String, declaration.texts);
        let params = [Type::object(declaration.receiver)].into_iter().chain(texts);
        let result = match &declaration.result {
            Returned::Object(name) => Type::object(name),
            Returned::Scalar(scalar) => scalar.clone(),
        };
        let overload = Overload::member(declaration.id, params, result);
        library = library.function(Function::new(declaration.name).overload(overload));
    }
    library
}
