//! Where a service is: what the operator says, or what the objects of the control plane say.
//!
//! There is no cluster here, so that no address of a service leads anywhere by itself. A service is found through its
//! endpoints, as the reference finds it with `--enable-aggregator-routing`; one without endpoints through its cluster
//! IP, as the reference does otherwise.
//!
//! Upstream: apiserver/pkg/util/proxy/proxy.go, v1.36.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use meta::wire::json;
use meta::{Text, Value};
use registry::{Cache, Registry};

use super::config::Service;

const SERVICE_NAME_LABEL: &str = "kubernetes.io/service-name";

/// A host and a port to dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub host: String,
    pub port: u16,
}

/// Which services the operator has placed: `namespace/name=host:port` or `namespace/name:port=host:port`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceMap(BTreeMap<Placed, Place>);

/// Namespace and name of a service, and one of its ports or all of them.
type Placed = (Text, Text, Option<u16>);

/// Why a text is no entry of a [`ServiceMap`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' does not place a service; write it like namespace/name=host:port or namespace/name:443=host:port"
)]
pub struct NoEntry(String);

impl ServiceMap {
    /// Adds an entry as it stands on the command line.
    pub fn add(&mut self, entry: &str) -> Result<(), NoEntry> {
        let parsed = parse_entry(entry).ok_or_else(|| NoEntry(entry.to_owned()))?;
        self.0.insert(parsed.0, parsed.1);
        Ok(())
    }

    /// An entry for the port counts before one for all ports.
    fn find(&self, service: &Service) -> Option<&Place> {
        let key = |port| (service.namespace.clone(), service.name.clone(), port);
        self.0.get(&key(Some(service.port))).or_else(|| self.0.get(&key(None)))
    }
}

fn parse_entry(entry: &str) -> Option<(Placed, Place)> {
    let (service, place) = entry.split_once('=')?;
    let (namespace, name) = service.split_once('/')?;
    let (name, port) = match name.split_once(':') {
        Some((name, port)) => (name, Some(port.parse().ok().filter(|port| *port > 0)?)),
        None => (name, None),
    };
    let (host, to) = place.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let to = to.parse().ok().filter(|port| *port > 0)?;
    if namespace.is_empty() || name.is_empty() || name.contains('/') || host.is_empty() {
        return None;
    }
    Some(((namespace.into(), name.into(), port), Place { host: host.to_owned(), port: to }))
}

/// Why a service has no place. The texts are the reference's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    #[error("service {} not found", meta::go_fmt::quote(.0))]
    NotFound(Text),
    #[error("no service port {port} found for service {}", meta::go_fmt::quote(.name))]
    NoPort { name: Text, port: u16 },
    #[error("no endpoints available for service {}", meta::go_fmt::quote(.0))]
    NoEndpoints(Text),
    #[error("unsupported service type {}", meta::go_fmt::quote(.0))]
    Type(Text),
    #[error("the storage failed")]
    Storage,
}

/// Finds services.
pub struct Services {
    pub map: ServiceMap,
    pub registry: Arc<Registry>,
    /// Where `Service` objects are; `None`: nowhere.
    pub objects: Option<Arc<Cache>>,
    /// Where `EndpointSlice` objects are.
    pub slices: Option<Arc<Cache>>,
}

impl Services {
    /// Where a service is now.
    pub async fn resolve(&self, service: &Service) -> Result<Place, ResolveError> {
        if let Some(place) = self.map.find(service) {
            return Ok(place.clone());
        }
        let object = match &self.objects {
            Some(objects) => {
                self.registry.fresh(objects).await.map_err(|_| ResolveError::Storage)?;
                objects.get(&registry::join_key(&service.namespace, &service.name))
            }
            None => None,
        };
        let object = object.and_then(|object| Some(json::parse(object.bytes()).ok()?.value));
        let object = object.ok_or_else(|| ResolveError::NotFound(service.name.clone()))?;
        let slices = match &self.slices {
            Some(slices) => self.slices_of(slices, service).await?,
            None => Vec::new(),
        };
        place(service, &object, &slices)
    }

    async fn slices_of(&self, slices: &Cache, service: &Service) -> Result<Vec<Value>, ResolveError> {
        let applied = self.registry.fresh(slices).await.map_err(|_| ResolveError::Storage)?;
        let below = registry::join_key(&service.namespace, "");
        let objects = slices.snapshot(applied).objects;
        let of_service = objects
            .range::<_, str>((Bound::Included(below.as_str()), Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(below.as_str()))
            .filter(|(_, entry)| entry.object.label(SERVICE_NAME_LABEL) == Some(&*service.name))
            .filter_map(|(_, entry)| Some(json::parse(entry.object.bytes()).ok()?.value));
        Ok(of_service.collect())
    }
}

/// The place of a service, by its object and its endpoint slices.
fn place(service: &Service, object: &Value, slices: &[Value]) -> Result<Place, ResolveError> {
    let text = |path: &[&str]| object.at(path).and_then(Value::as_str).unwrap_or_default();
    match text(&["spec", "type"]) {
        "" | "ClusterIP" | "NodePort" | "LoadBalancer" => {}
        "ExternalName" => {
            return Ok(Place { host: text(&["spec", "externalName"]).to_owned(), port: service.port });
        }
        other => return Err(ResolveError::Type(other.into())),
    }
    let ports = object.at(&["spec", "ports"]).and_then(Value::as_array).unwrap_or_default();
    let port =
        ports.iter().find(|port| port.get("port").and_then(Value::as_int) == Some(service.port.into()));
    let port = port.ok_or_else(|| ResolveError::NoPort { name: service.name.clone(), port: service.port })?;
    let port_name = port.get("name").and_then(Value::as_str).unwrap_or_default();
    let preferred = object.at(&["spec", "ipFamilies"]).and_then(Value::as_array).and_then(<[Value]>::first);
    let mut slices: Vec<&Value> = slices.iter().collect();
    slices.sort_by_key(|slice| slice.get("addressType") != preferred);
    if let Some(place) = slices.iter().find_map(|slice| ready_endpoint(slice, port_name)) {
        return Ok(place);
    }
    match text(&["spec", "clusterIP"]) {
        "" | "None" => Err(ResolveError::NoEndpoints(service.name.clone())),
        address => Ok(Place { host: address.to_owned(), port: service.port }),
    }
}

/// An endpoint of a slice that takes requests on a port.
fn ready_endpoint(slice: &Value, port_name: &str) -> Option<Place> {
    let list = |key: &str| slice.get(key).and_then(Value::as_array).unwrap_or_default();
    let named = |port: &&Value| port.get("name").and_then(Value::as_str).unwrap_or_default() == port_name;
    let port = list("ports").iter().find(named)?.get("port")?.as_int()?;
    let ready =
        |endpoint: &&Value| endpoint.at(&["conditions", "ready"]).and_then(Value::as_bool) != Some(false);
    let endpoint = list("endpoints").iter().find(ready)?;
    let address = endpoint.get("addresses")?.as_array()?.first()?.as_str()?;
    Some(Place { host: address.to_owned(), port: u16::try_from(port).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap().value
    }

    fn service(port: u16) -> Service {
        Service { namespace: "n".into(), name: "s".into(), port }
    }

    fn placed(object: &str, slices: &[&str], port: u16) -> Result<String, String> {
        let slices: Vec<Value> = slices.iter().map(|slice| value(slice)).collect();
        let place = place(&service(port), &value(object), &slices);
        place.map(|place| format!("{} {}", place.host, place.port)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_service_is_where_its_ready_endpoints_are() {
        let object = r#"{"spec":{"ipFamilies":["IPv4"],"ports":[{"port":443},{"name":"b","port":444}]}}"#;
        let v6 = r#"{"addressType":"IPv6","ports":[{"port":1}],"endpoints":[{"addresses":["::1"]}]}"#;
        let v4 = r#"{"addressType":"IPv4","ports":[{"name":"","port":2},{"name":"b","port":3}],"endpoints":[
            {"addresses":["10.0.0.1"],"conditions":{"ready":false}},{"addresses":["10.0.0.2","10.0.0.3"]}]}"#;
        assert_eq!(placed(object, &[v6, v4], 443), Ok("10.0.0.2 2".to_owned()));
        assert_eq!(placed(object, &[v6], 443), Ok("::1 1".to_owned()));
        assert_eq!(placed(object, &[v6, v4], 444), Ok("10.0.0.2 3".to_owned()));
        let none = Err("no endpoints available for service \"s\"".to_owned());
        assert_eq!(placed(object, &[v6], 444), none);
        assert_eq!(placed(object, &[], 443), none);
        assert_eq!(placed(object, &[v4], 1), Err("no service port 1 found for service \"s\"".to_owned()));
    }

    #[test]
    fn without_endpoints_the_address_of_the_service_counts() {
        let object = r#"{"spec":{"clusterIP":"10.1.2.3","type":"NodePort","ports":[{"port":443}]}}"#;
        assert_eq!(placed(object, &[], 443), Ok("10.1.2.3 443".to_owned()));
        let headless = r#"{"spec":{"clusterIP":"None","ports":[{"port":443}]}}"#;
        assert_eq!(placed(headless, &[], 443), Err("no endpoints available for service \"s\"".to_owned()));
        let outside = r#"{"spec":{"type":"ExternalName","externalName":"a.example"}}"#;
        assert_eq!(placed(outside, &[], 8443), Ok("a.example 8443".to_owned()));
        assert_eq!(
            placed(r#"{"spec":{"type":"X"}}"#, &[], 443),
            Err("unsupported service type \"X\"".to_owned())
        );
    }

    #[test]
    fn entries_of_the_command_line_are_read_or_refused() {
        let mut map = ServiceMap::default();
        map.add("n/s=127.0.0.1:9443").unwrap();
        map.add("n/s:444=[::1]:9444").unwrap();
        assert_eq!(map.find(&service(443)), Some(&Place { host: "127.0.0.1".into(), port: 9443 }));
        assert_eq!(map.find(&service(444)), Some(&Place { host: "::1".into(), port: 9444 }));
        for wrong in
            ["", "n/s", "s=a:1", "n/s=a", "n/s=a:0", "n/s:x=a:1", "/s=a:1", "n/=a:1", "n/s=:1", "n/s/t=a:1"]
        {
            assert!(map.add(wrong).is_err(), "{wrong}");
        }
    }
}
