//! Where etcd's members are, and how to be believed by them.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};

/// How to reach and convince an etcd cluster.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// `https://host:port` or `http://host:port`, at least one.
    pub endpoints: Vec<String>,
    /// The authorities that sign the members' certificates (PEM).
    pub ca_file: Option<PathBuf>,
    /// Our certificate and its key (PEM); both or neither.
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    /// Who we are where etcd's own users are in force.
    pub user: Option<User>,
}

/// A user of etcd.
#[derive(Clone)]
pub struct User {
    pub name: String,
    pub password: String,
}

impl std::fmt::Debug for User {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A configuration that cannot work, told before anything is tried.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("no etcd endpoint is given")]
    NoEndpoint,
    #[error("'{0}' is no endpoint of etcd; write it like https://10.0.0.1:2379")]
    Endpoint(String),
    #[error("'{0}' is reached over TLS: give the authority of its certificate with --etcd-cafile")]
    NoAuthority(String),
    #[error("a client certificate for etcd needs both --etcd-certfile and --etcd-keyfile")]
    HalfCertificate,
    #[error("cannot use '{path}': {fault}")]
    File { path: String, fault: String },
}

/// One member.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// `scheme://host:port`
    pub(super) base: String,
    /// `host:port`
    pub(super) address: String,
    /// The name its certificate must carry; `None` without TLS.
    pub(super) tls_name: Option<ServerName<'static>>,
}

impl Access {
    /// Checks everything that can be checked without a network, the certificate files too.
    pub(super) fn endpoints(&self) -> Result<Vec<Endpoint>, AccessError> {
        if self.endpoints.is_empty() {
            return Err(AccessError::NoEndpoint);
        }
        if self.cert_file.is_some() != self.key_file.is_some() {
            return Err(AccessError::HalfCertificate);
        }
        let endpoints = self.endpoints.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
        if let Some(endpoint) = endpoints.iter().find(|endpoint| endpoint.tls_name.is_some()) {
            if self.ca_file.is_none() {
                return Err(AccessError::NoAuthority(endpoint.base.clone()));
            }
            self.tls()?;
        }
        Ok(endpoints)
    }

    /// The files are read for every connection, so that renewed certificates come into use by themselves.
    pub(super) fn tls(&self) -> Result<Arc<ClientConfig>, AccessError> {
        let mut roots = RootCertStore::empty();
        if let Some(path) = &self.ca_file {
            for certificate in certificates(path)? {
                roots.add(certificate).map_err(|error| file_error(path, &error))?;
            }
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| AccessError::Endpoint(error.to_string()))?
            .with_root_certificates(roots);
        let mut config = match (&self.cert_file, &self.key_file) {
            (Some(certificate), Some(key)) => {
                let secret =
                    PrivateKeyDer::from_pem_slice(&read(key)?).map_err(|error| file_error(key, &error))?;
                let chain = certificates(certificate)?;
                builder
                    .with_client_auth_cert(chain, secret)
                    .map_err(|error| file_error(certificate, &error))?
            }
            _ => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Arc::new(config))
    }
}

fn parse(text: &str) -> Result<Endpoint, AccessError> {
    let wrong = || AccessError::Endpoint(text.to_owned());
    let uri: hyper::Uri = text.trim().trim_end_matches('/').parse().map_err(|_| wrong())?;
    let authority = uri.authority().ok_or_else(wrong)?;
    // As the reference's client does, an endpoint without a scheme is taken to be plain.
    let secure = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        None if authority.port_u16().is_some() => false,
        _ => return Err(wrong()),
    };
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() || authority.as_str().contains('@') {
        return Err(wrong());
    }
    let port = authority.port_u16().unwrap_or(DEFAULT_PORT);
    let host = authority.host();
    let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let tls_name = if secure { Some(ServerName::try_from(bare).map_err(|_| wrong())?) } else { None };
    let scheme = if secure { "https" } else { "http" };
    let address = format!("{host}:{port}");
    Ok(Endpoint { base: format!("{scheme}://{address}"), address, tls_name })
}

const DEFAULT_PORT: u16 = 2379;

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, AccessError> {
    let pem = read(path)?;
    let certificates = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let certificates = certificates.map_err(|error| file_error(path, &error))?;
    if certificates.is_empty() {
        return Err(file_error(path, &"there is no certificate in it"));
    }
    Ok(certificates)
}

fn read(path: &Path) -> Result<Vec<u8>, AccessError> {
    fs::read(path).map_err(|error| file_error(path, &error))
}

fn file_error(path: &Path, fault: &dyn std::fmt::Display) -> AccessError {
    AccessError::File { path: path.display().to_string(), fault: fault.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_as_people_write_them() {
        let parsed = |text: &str| parse(text).map(|endpoint| endpoint.base).ok();
        assert_eq!(parsed("http://127.0.0.1:2379").as_deref(), Some("http://127.0.0.1:2379"));
        assert_eq!(parsed(" https://etcd-0.etcd:2379/ ").as_deref(), Some("https://etcd-0.etcd:2379"));
        assert_eq!(parsed("https://[::1]").as_deref(), Some("https://[::1]:2379"));
        assert_eq!(parsed("etcd:2380").as_deref(), Some("http://etcd:2380"));
        for wrong in ["", "unix:///run/etcd.sock", "http://a/b", "http://user:secret@a:1", "http://"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
        assert_eq!(parse("https://[::1]:1").expect("fine").tls_name, ServerName::try_from("::1").ok());
    }

    #[test]
    fn what_cannot_work_is_told_before_it_is_tried() {
        let access = |endpoint: &str| Access { endpoints: vec![endpoint.to_owned()], ..Access::default() };
        assert!(matches!(Access::default().endpoints(), Err(AccessError::NoEndpoint)));
        assert!(matches!(access("https://a:1").endpoints(), Err(AccessError::NoAuthority(_))));
        let half = Access { cert_file: Some("a".into()), ..access("http://a:1") };
        assert!(matches!(half.endpoints(), Err(AccessError::HalfCertificate)));
        let missing = Access { ca_file: Some("/nowhere/ca.crt".into()), ..access("https://a:1") };
        assert!(matches!(missing.endpoints(), Err(AccessError::File { .. })));
    }

    #[test]
    fn a_password_is_never_printed() {
        let user = User { name: "crest".to_owned(), password: "hunter2".to_owned() };
        assert!(!format!("{user:?}").contains("hunter2"));
    }
}
