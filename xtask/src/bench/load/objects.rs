//! The definition and the objects that the load is made of: a workload as controllers keep them.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::client::{Connection, Endpoint, Request};

pub(crate) const ALL: &str = "/apis/load.crest.dev/v1/workloads";
const NAMESPACES: usize = 10;
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD_NAME: &str = "workloads.load.crest.dev";

pub(crate) fn collection(index: usize) -> String {
    format!("/apis/load.crest.dev/v1/namespaces/load-{}/workloads", index % NAMESPACES)
}

pub(crate) fn path(index: usize) -> String {
    format!("{}/{}", collection(index), name(index))
}

pub(crate) fn name(index: usize) -> String {
    format!("w-{index}")
}

/// An object of about 1.5 KB; one in a hundred has each value of the label `shard`.
pub(crate) fn body(index: usize) -> String {
    let container = |number: usize| {
        json!({
            "name": format!("container-{number}"),
            "image": format!("images.example.com/team/service-{number}:v1.{index}.0"),
            "command": ["/usr/bin/service", "--listen=0.0.0.0:8080", "--log=json"],
            "env": { "MODE": "production", "SHARD": format!("s{}", index % 100), "REGION": "north-1" },
            "cpuMillis": 250,
            "memoryMiB": 512,
            "ports": [{ "name": "http", "port": 8080 }, { "name": "metrics", "port": 9090 }],
        })
    };
    json!({
        "apiVersion": "load.crest.dev/v1",
        "kind": "Workload",
        "metadata": {
            "name": name(index),
            "labels": { "app": "load", "shard": format!("s{}", index % 100), "tier": "backend" },
            "annotations": { "load.crest.dev/description": "An object of the size that controllers usually keep." },
        },
        "spec": {
            "replicas": index % 10,
            "minReplicas": 0,
            "maxReplicas": 10,
            "schedule": "*/5 * * * *",
            "containers": (0..4).map(container).collect::<Vec<_>>(),
        },
    })
    .to_string()
}

fn definition() -> Value {
    let text = |pattern: &str| json!({ "type": "string", "maxLength": 128, "pattern": pattern });
    let count = || json!({ "type": "integer", "minimum": 0, "maximum": 100_000 });
    let port = json!({
        "type": "object",
        "required": ["name", "port"],
        "properties": { "name": text("^[a-z]+$"), "port": count(), "protocol": { "type": "string", "default": "TCP" } },
    });
    let container = json!({
        "type": "object",
        "required": ["name", "image"],
        "properties": {
            "name": text("^[a-z][a-z0-9-]*$"),
            "image": text("^[^ ]+$"),
            "command": { "type": "array", "maxItems": 16, "items": { "type": "string", "maxLength": 256 } },
            "env": { "type": "object", "maxProperties": 32, "additionalProperties": { "type": "string", "maxLength": 64 } },
            "cpuMillis": count(),
            "memoryMiB": count(),
            "ports": { "type": "array", "maxItems": 8, "items": port },
        },
    });
    let spec = json!({
        "type": "object",
        "required": ["containers"],
        "properties": {
            "replicas": count(),
            "minReplicas": count(),
            "maxReplicas": count(),
            "paused": { "type": "boolean", "default": false },
            "schedule": text("^(\\S+\\s){4}\\S+$"),
            "containers": { "type": "array", "maxItems": 8, "items": container },
        },
        "x-kubernetes-validations": [
            { "rule": "self.minReplicas <= self.maxReplicas", "message": "the bounds are the wrong way round" },
            { "rule": "self.replicas <= self.maxReplicas", "message": "too many replicas" },
        ],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": CRD_NAME },
        "spec": {
            "group": "load.crest.dev",
            "scope": "Namespaced",
            "names": { "plural": "workloads", "singular": "workload", "kind": "Workload", "listKind": "WorkloadList" },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
                "subresources": { "status": {} },
            }],
        },
    })
}

/// Creates the definition and the namespaces where they are missing, and waits until objects can be created.
pub(crate) async fn prepare(endpoint: &Endpoint) -> Result<Connection> {
    let mut connection = endpoint.connect().await?;
    define(&mut connection).await?;
    for index in 0..NAMESPACES {
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": format!("load-{index}") } });
        create_if_missing(&mut connection, "/api/v1/namespaces", &namespace).await?;
    }
    Ok(connection)
}

/// Creates the definition and waits until it is established and served.
pub(crate) async fn define(connection: &mut Connection) -> Result<()> {
    create_if_missing(connection, CRDS, &definition()).await?;
    let began = Instant::now();
    loop {
        let crd = connection.expect(Request::get(format!("{CRDS}/{CRD_NAME}"))).await?;
        if is_established(&serde_json::from_slice(&crd)?)
            && connection.call(Request::get(format!("{ALL}?limit=1"))).await?.0.is_success()
        {
            return Ok(());
        }
        if began.elapsed() > Duration::from_mins(1) {
            bail!("the definition is not served after a minute");
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn create_if_missing(connection: &mut Connection, path: &str, object: &Value) -> Result<()> {
    let (status, body) = connection.call(Request::post(path, object.to_string())).await?;
    if !status.is_success() && status != 409 {
        bail!("POST {path}: {status} {}", String::from_utf8_lossy(&body));
    }
    Ok(())
}

fn is_established(crd: &Value) -> bool {
    let conditions = crd["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == "Established" && c["status"] == "True"))
}

/// How many objects there are; an error when there are none.
pub(crate) async fn count(endpoint: &Endpoint) -> Result<usize> {
    let mut connection = endpoint.connect().await?;
    let list: Value = serde_json::from_slice(&connection.expect(Request::get(ALL)).await?)?;
    match list["items"].as_array().map_or(0, Vec::len) {
        0 => bail!("there are no objects; run create first"),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_has_the_size_that_it_should_have() {
        let size = body(1234).len();
        assert!((1200..1800).contains(&size), "{size}");
        assert_eq!(path(1234), "/apis/load.crest.dev/v1/namespaces/load-4/workloads/w-1234");
    }

    #[test]
    fn only_a_true_condition_establishes() {
        let crd = |status: &str| json!({ "status": { "conditions": [{ "type": "Established", "status": status }] } });
        assert!(is_established(&crd("True")));
        assert!(!is_established(&crd("False")) && !is_established(&json!({})));
    }
}
