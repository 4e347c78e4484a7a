//! Where a webhook is and how it is recognized, as definitions and webhook configurations write it down.
//!
//! Upstream: apiserver/pkg/util/webhook/client.go, v1.36.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use meta::{Text, Value};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// The port of services and URLs that name none.
const DEFAULT_PORT: u16 = 443;

/// What Go escapes in the path of a URL.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// A webhook's address and the authorities that may vouch for it. Equal ones share a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    pub target: Target,
    /// PEM; empty: those that the machine trusts.
    pub ca_bundle: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    Url {
        /// Host and port as they are written.
        authority: String,
        path: String,
    },
    Service {
        service: Service,
        path: String,
    },
}

/// A service, to be resolved anew for every connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Service {
    pub namespace: Text,
    pub name: Text,
    pub port: u16,
}

/// Why there can be no client for a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("webhook configuration must have either service or URL")]
    Nowhere,
    #[error("the URL of a webhook must begin with https:// and name a host")]
    Url,
    #[error("unable to load root certificates: unable to parse bytes as PEM block")]
    CaBundle,
    #[error("the TLS library refuses the configuration")]
    Tls,
}

impl ClientConfig {
    /// Reads a `clientConfig`.
    pub fn of(value: &Value) -> Result<Self, ConfigError> {
        let text =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let bundle = STANDARD.decode(text(value, "caBundle")).map_err(|_| ConfigError::CaBundle)?;
        let ca_bundle = if bundle.trim_ascii().is_empty() { Vec::new() } else { bundle };
        let target = match value.get("service").filter(|service| !service.is_null()) {
            Some(service) => {
                let port = service.get("port").and_then(Value::as_int);
                let port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
                Target::Service {
                    service: Service {
                        namespace: text(service, "namespace").into(),
                        name: text(service, "name").into(),
                        port: port.unwrap_or(DEFAULT_PORT),
                    },
                    path: clean_path(&text(service, "path")),
                }
            }
            None => match value.get("url").and_then(Value::as_str).unwrap_or_default() {
                "" => return Err(ConfigError::Nowhere),
                url => Target::of_url(url)?,
            },
        };
        Ok(ClientConfig { target, ca_bundle })
    }
}

impl Target {
    fn of_url(url: &str) -> Result<Self, ConfigError> {
        let scheme_length = "https://".len();
        let is_https = url.get(..scheme_length).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
        let rest = if is_https { &url[scheme_length..] } else { return Err(ConfigError::Url) };
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if authority.is_empty() || authority.contains('@') {
            return Err(ConfigError::Url);
        }
        let path = percent_decode_str(path).decode_utf8_lossy();
        Ok(Target::Url { authority: authority.to_owned(), path: clean_path(&path) })
    }

    /// The address without a query, as messages show it.
    pub fn url(&self) -> String {
        match self {
            Target::Url { authority, path } => format!("https://{authority}{path}"),
            Target::Service { service, path } => {
                format!("https://{}:{}{path}", service.server_name(), service.port)
            }
        }
    }

    /// The name that the certificate must be for: a host or an address without brackets.
    pub fn server_name(&self) -> String {
        match self {
            Target::Url { authority, .. } => split_authority(authority).0.to_owned(),
            Target::Service { service, .. } => service.server_name(),
        }
    }

    pub fn port(&self) -> u16 {
        match self {
            Target::Url { authority, .. } => split_authority(authority).1,
            Target::Service { service, .. } => service.port,
        }
    }

    /// Whether HTTP/2 may be spoken. Elsewhere one connection would keep a webhook with several replicas from
    /// sharing the work, so that the reference speaks it to its own machine only.
    pub fn may_speak_http2(&self) -> bool {
        let Target::Url { authority, .. } = self else { return false };
        let (host, _) = split_authority(authority);
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl Service {
    fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// Host and port of `host`, `host:port`, `[address]` or `[address]:port`.
fn split_authority(authority: &str) -> (&str, u16) {
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => (address, port.strip_prefix(':')),
        None => match authority.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (authority, None),
        },
    };
    (host, port.and_then(|port| port.parse().ok()).unwrap_or(DEFAULT_PORT))
}

/// Go's `path.Join("/", path)`, escaped: no empty steps, no dots, no slash at the end.
fn clean_path(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    utf8_percent_encode(&format!("/{}", steps.join("/")), IN_PATH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<ClientConfig, ConfigError> {
        ClientConfig::of(&meta::wire::json::parse(text.as_bytes()).unwrap().value)
    }

    #[test]
    fn an_address_is_shown_as_the_reference_shows_it() {
        for (written, url, name, port, http2) in [
            (r#"{"url":"https://a.example"}"#, "https://a.example/", "a.example", 443, false),
            (
                r#"{"url":"HTTPS://a.example:8443/x/../c//d/"}"#,
                "https://a.example:8443/c/d",
                "a.example",
                8443,
                false,
            ),
            (r#"{"url":"https://127.0.0.1:9/c%20d?q#f"}"#, "https://127.0.0.1:9/c%20d", "127.0.0.1", 9, true),
            (r#"{"url":"https://[::1]:9/c"}"#, "https://[::1]:9/c", "::1", 9, true),
            (r#"{"url":"https://localhost"}"#, "https://localhost/", "localhost", 443, true),
            (r#"{"service":{"namespace":"n","name":"s"}}"#, "https://s.n.svc:443/", "s.n.svc", 443, false),
            (
                r#"{"service":{"namespace":"n","name":"s","path":"/c","port":8443}}"#,
                "https://s.n.svc:8443/c",
                "s.n.svc",
                8443,
                false,
            ),
        ] {
            let target = config(written).unwrap().target;
            assert_eq!(
                (target.url().as_str(), target.server_name().as_str(), target.port()),
                (url, name, port)
            );
            assert_eq!(target.may_speak_http2(), http2, "{written}");
        }
    }

    #[test]
    fn what_leads_nowhere_is_refused() {
        assert_eq!(config("{}"), Err(ConfigError::Nowhere));
        for url in ["http://a", "https://", "https:///c", "https://u@a/", "ftp"] {
            assert_eq!(config(&format!(r#"{{"url":"{url}"}}"#)), Err(ConfigError::Url), "{url}");
        }
        let broken = config(r#"{"url":"https://a","caBundle":"%"}"#);
        assert_eq!(broken, Err(ConfigError::CaBundle));
        // Nothing but white space is no bundle.
        assert_eq!(config(r#"{"url":"https://a","caBundle":"IAo="}"#).unwrap().ca_bundle, b"");
    }
}
