//! What every control plane has from the start: its first namespaces.

use meta::{Map, Value};
use registry::NewObject;

use crate::Server;
use crate::catalog::Resource;
use crate::catalog::builtin::{IMMORTAL_NAMESPACES, NAMESPACE_FINALIZER};

/// Clients look for it although there are no nodes. Unlike the others it may be deleted.
const LEASES_OF_NODES: &str = "kube-node-lease";

/// Who makes them, as their owners show.
const MANAGER: &str = "kube-apiserver";

/// Makes the namespaces that always exist, unless they do.
pub(crate) async fn make_namespaces(server: &Server) -> Result<(), registry::Error> {
    let catalog = server.catalog.load();
    let Some(namespaces) = catalog.resource("", "v1", "namespaces") else { return Ok(()) };
    server.registry.fresh(&namespaces.cache).await?;
    for name in IMMORTAL_NAMESPACES.into_iter().chain([LEASES_OF_NODES]) {
        if namespaces.cache.get(name).is_some() {
            continue;
        }
        let object = NewObject::from(registry::codec::encode(&namespace(server, namespaces, name)));
        match server.registry.create(&namespaces.cache, name, object).await {
            Ok(_) | Err(registry::Error::AlreadyExists) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn namespace(server: &Server, namespaces: &Resource, name: &str) -> Value {
    let object = |members: Vec<(&str, Value)>| Value::Object(members.into_iter().collect::<Map>());
    let labels = object(vec![("kubernetes.io/metadata.name", name.into())]);
    let metadata = object(vec![
        ("name", name.into()),
        ("uid", server.env.uid().into()),
        ("creationTimestamp", meta::time::format(server.env.now()).into()),
        ("labels", labels),
    ]);
    let mut namespace =
        object(vec![("apiVersion", "v1".into()), ("kind", "Namespace".into()), ("metadata", metadata)]);
    namespaces.form.own_as(MANAGER, "", None, &mut namespace, server.env.now());
    if let Value::Object(members) = &mut namespace {
        let finalizers = Value::Array(vec![NAMESPACE_FINALIZER.into()]);
        members.insert("spec", object(vec![("finalizers", finalizers)]));
        members.insert("status", object(vec![("phase", "Active".into())]));
    }
    namespace
}
