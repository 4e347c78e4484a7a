//! Authorization checks: declared so that misuse is reported as such, implemented by hosts that authorize.

use crate::{Function, Library, Overload, Type};

const AUTHORIZER: &str = "kubernetes.authorization.Authorizer";
const PATH_CHECK: &str = "kubernetes.authorization.PathCheck";
const GROUP_CHECK: &str = "kubernetes.authorization.GroupCheck";
const RESOURCE_CHECK: &str = "kubernetes.authorization.ResourceCheck";
const DECISION: &str = "kubernetes.authorization.Decision";

/// Function, overload, receiver, number of text arguments, result.
const DECLARATIONS: &[(&str, &str, &str, usize, Result<&str, Type>)] = &[
    ("path", "authorizer_path", AUTHORIZER, 1, Ok(PATH_CHECK)),
    ("group", "authorizer_group", AUTHORIZER, 1, Ok(GROUP_CHECK)),
    ("serviceAccount", "authorizer_serviceaccount", AUTHORIZER, 2, Ok(AUTHORIZER)),
    ("resource", "groupcheck_resource", GROUP_CHECK, 1, Ok(RESOURCE_CHECK)),
    ("subresource", "resourcecheck_subresource", RESOURCE_CHECK, 1, Ok(RESOURCE_CHECK)),
    ("namespace", "resourcecheck_namespace", RESOURCE_CHECK, 1, Ok(RESOURCE_CHECK)),
    ("name", "resourcecheck_name", RESOURCE_CHECK, 1, Ok(RESOURCE_CHECK)),
    ("fieldSelector", "resourcecheck_fieldselector", RESOURCE_CHECK, 1, Ok(RESOURCE_CHECK)),
    ("labelSelector", "resourcecheck_labelselector", RESOURCE_CHECK, 1, Ok(RESOURCE_CHECK)),
    ("check", "pathcheck_check", PATH_CHECK, 1, Ok(DECISION)),
    ("check", "resourcecheck_check", RESOURCE_CHECK, 1, Ok(DECISION)),
    ("errored", "decision_errored", DECISION, 0, Err(Type::Bool)),
    ("error", "decision_error", DECISION, 0, Err(Type::String)),
    ("allowed", "decision_allowed", DECISION, 0, Err(Type::Bool)),
    ("reason", "decision_reason", DECISION, 0, Err(Type::String)),
];

pub(super) fn add(mut library: Library) -> Library {
    for (name, id, receiver, texts, result) in DECLARATIONS {
        let params = [Type::object(receiver)].into_iter().chain(std::iter::repeat_n(Type::String, *texts));
        let result = match result {
            Ok(object) => Type::object(object),
            Err(scalar) => scalar.clone(),
        };
        library = library.function(Function::new(name).overload(Overload::member(id, params, result)));
    }
    library
}
