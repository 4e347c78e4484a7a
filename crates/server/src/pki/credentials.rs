//! Reading a kubeconfig back, to reach a server as its administrator.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use meta::Value;
use meta::wire::yaml;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::files;
use super::{PkiError, tls};

const REMEDY: &str = "give the kubeconfig that 'crest serve' wrote";

/// A server, and somebody it believes.
pub struct Credentials {
    /// `host:port`
    pub address: String,
    host: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Credentials {
    /// Reads the first cluster and user of a kubeconfig with embedded certificates.
    pub fn load(path: &Path) -> Result<Self, PkiError> {
        let text =
            files::read_if_there(path)?.ok_or_else(|| PkiError::unusable(path, "does not exist", REMEDY))?;
        Credentials::parse(&text).map_err(|fault| PkiError::unusable(path, fault, REMEDY))
    }

    fn parse(text: &[u8]) -> Result<Self, String> {
        let config = yaml::parse(text).map_err(|error| format!("is no YAML ({error})"))?.value;
        let cluster = first(&config, "clusters", "cluster").ok_or("has no cluster")?;
        let user = first(&config, "users", "user").ok_or("has no user")?;
        let server = cluster.get("server").and_then(Value::as_str).unwrap_or_default();
        let address = server.strip_prefix("https://").ok_or("names no https server")?.trim_end_matches('/');
        let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let mut roots = RootCertStore::empty();
        for certificate in certificates(cluster, "certificate-authority-data")? {
            roots
                .add(certificate)
                .map_err(|error| format!("has an authority that cannot be used ({error})"))?;
        }
        let chain = certificates(user, "client-certificate-data")?;
        let key = PrivateKeyDer::from_pem_slice(&embedded(user, "client-key-data")?)
            .map_err(|error| format!("has a key that cannot be read ({error})"))?;
        let config = ClientConfig::builder_with_provider(Arc::new(tls::provider()))
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_root_certificates(roots).with_client_auth_cert(chain, key))
            .map_err(|error| format!("has certificates that cannot be used ({error})"))?;
        Ok(Credentials {
            address: address.to_owned(),
            host: ServerName::try_from(host).map_err(|_| "names a server that is no host".to_owned())?,
            config: Arc::new(config),
        })
    }

    /// Speaks TLS over a connection to the server.
    pub async fn connect(&self, stream: TcpStream) -> std::io::Result<TlsStream<TcpStream>> {
        TlsConnector::from(self.config.clone()).connect(self.host.clone(), stream).await
    }
}

fn first<'a>(config: &'a Value, list: &str, member: &str) -> Option<&'a Value> {
    config.get(list)?.as_array()?.first()?.get(member)
}

fn embedded(value: &Value, key: &str) -> Result<Vec<u8>, String> {
    let text = value.get(key).and_then(Value::as_str).ok_or_else(|| format!("has no {key}"))?;
    STANDARD.decode(text).map_err(|error| format!("has a {key} that is no base64 ({error})"))
}

fn certificates(value: &Value, key: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = embedded(value, key)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    certificates.map_err(|error| format!("has a {key} that cannot be read ({error})"))
}

#[cfg(test)]
mod tests {
    use super::super::kubeconfig::Kubeconfig;
    use super::super::testing;
    use super::*;

    #[test]
    fn what_is_written_can_be_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let pki = testing::pki(&folder.path().join("pki"));
        let written =
            Kubeconfig { server: "https://[::1]:6443", authority_pem: &pki.authority_pem, user: &pki.admin };
        let credentials = Credentials::parse(written.to_yaml().as_bytes()).unwrap();
        assert_eq!(credentials.address, "[::1]:6443");
    }

    #[test]
    fn what_is_no_kubeconfig_is_told_apart() {
        for (text, expected) in [
            ("a: [", "is no YAML"),
            ("{}", "has no cluster"),
            ("clusters: [{cluster: {server: 'http://x'}}]\nusers: [{user: {}}]", "names no https server"),
        ] {
            let fault = Credentials::parse(text.as_bytes()).err().unwrap();
            assert!(fault.starts_with(expected), "{fault}");
        }
    }
}
