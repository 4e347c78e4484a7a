//! Certificates: the server's own authority, the kubeconfig made with it, TLS and the certificates of clients.
//!
//! At start [`authority::ensure`] makes or renews what is in the certificate folder, [`kubeconfig::write`] writes the
//! admin's access file, [`tls::server_config`] builds the listener's configuration. For each connection
//! [`client_certs::PeerCertificate::judge`] decides once what its client certificate is worth.

pub mod authority;
pub mod client_certs;
pub mod credentials;
mod files;
mod issue;
pub mod kubeconfig;
pub mod names;
mod pem;
pub mod tls;

#[cfg(test)]
mod testing;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::{CertificateDer, PrivateKeyDer};

pub use authority::{Change, Pki, ensure};
pub use client_certs::{ClientRoots, PeerCertificate};
pub use names::ServingNames;

/// Why certificates cannot be had. Names the file, and says what to do where that is known.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    #[error("cannot {action} '{}'", path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
    #[error("'{}' {fault}; {remedy}", path.display())]
    Unusable { path: PathBuf, fault: String, remedy: String },
    #[error("cannot make a certificate")]
    Make(#[source] rcgen::Error),
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
}

impl PkiError {
    fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        PkiError::Io { action, path: path.to_owned(), source }
    }

    fn unusable(path: &Path, fault: impl Into<String>, remedy: impl Into<String>) -> Self {
        PkiError::Unusable { path: path.to_owned(), fault: fault.into(), remedy: remedy.into() }
    }
}

/// A certificate with its key, as text for files and as data for TLS.
pub struct Identity {
    pub certificate_pem: String,
    pub key_pem: String,
    /// The leaf first.
    pub chain: Vec<CertificateDer<'static>>,
    pub key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads `--tls-cert-file` and `--tls-private-key-file`. Both may be the same file.
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, PkiError> {
        const REMEDY: &str =
            "give a PEM file with the server's certificate and one with its unencrypted private key";
        let certificates = pem::Certificates::load(certificate, REMEDY)?;
        let private = pem::PrivateKey::load(key, REMEDY)?;
        if !certificates.belong_to(&private)? {
            let fault = format!("does not belong to the private key '{}'", key.display());
            return Err(PkiError::unusable(certificate, fault, REMEDY));
        }
        Ok(Identity {
            certificate_pem: certificates.text,
            key_pem: private.text,
            chain: certificates.chain,
            key: private.key,
        })
    }
}

impl fmt::Debug for Identity {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}
