//! PEM files with certificates and keys, read with errors that a person can act on.

use std::path::{Path, PathBuf};

use rcgen::{KeyPair, PublicKeyData};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::error::X509Error;
use x509_parser::nom;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{PkiError, files};

/// One or more certificates of one file, every one of them parsable.
pub(super) struct Certificates {
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Never empty.
    pub(super) chain: Vec<CertificateDer<'static>>,
    remedy: String,
}

impl Certificates {
    /// `remedy` is what to do when the file is not usable.
    pub(super) fn load(path: &Path, remedy: &str) -> Result<Self, PkiError> {
        Self::load_if_there(path, remedy)?.ok_or_else(|| missing(path, remedy))
    }

    pub(super) fn load_if_there(path: &Path, remedy: &str) -> Result<Option<Self>, PkiError> {
        let Some(text) = files::read_if_there(path)? else { return Ok(None) };
        let unusable = |fault: String| PkiError::unusable(path, fault, remedy);
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| unusable(describe(&error)))?;
        if chain.is_empty() {
            return Err(unusable("contains no certificate".to_owned()));
        }
        for certificate in &chain {
            parse(certificate)
                .map_err(|error| unusable(format!("contains a broken certificate ({error})")))?;
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Some(Certificates { path: path.to_owned(), text, chain, remedy: remedy.to_owned() }))
    }

    pub(super) fn leaf(&self) -> &CertificateDer<'static> {
        &self.chain[0]
    }

    /// Whether the first certificate is for this key.
    pub(super) fn belong_to(&self, key: &PrivateKey) -> Result<bool, PkiError> {
        let pair = key.pair()?;
        let leaf = parse(self.leaf()).map_err(|error| {
            PkiError::unusable(&self.path, format!("contains a broken certificate ({error})"), &self.remedy)
        })?;
        Ok(leaf.public_key().raw == pair.subject_public_key_info())
    }
}

/// The private key of one file.
pub(super) struct PrivateKey {
    pub(super) path: PathBuf,
    pub(super) text: String,
    pub(super) key: PrivateKeyDer<'static>,
    remedy: String,
}

impl PrivateKey {
    pub(super) fn load(path: &Path, remedy: &str) -> Result<Self, PkiError> {
        Self::load_if_there(path, remedy)?.ok_or_else(|| missing(path, remedy))
    }

    pub(super) fn load_if_there(path: &Path, remedy: &str) -> Result<Option<Self>, PkiError> {
        let Some(text) = files::read_if_there(path)? else { return Ok(None) };
        let text = String::from_utf8_lossy(&text).into_owned();
        let key = PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|error| {
            let fault = match error {
                _ if text.contains("ENCRYPTED") => "is encrypted".to_owned(),
                pem::Error::NoItemsFound => "contains no private key".to_owned(),
                error => describe(&error),
            };
            PkiError::unusable(path, fault, remedy)
        })?;
        Ok(Some(PrivateKey { path: path.to_owned(), text, key, remedy: remedy.to_owned() }))
    }

    /// The key ready for signing, which proves that it is one.
    pub(super) fn pair(&self) -> Result<KeyPair, PkiError> {
        KeyPair::try_from(&self.key).map_err(|error| {
            PkiError::unusable(&self.path, format!("contains a broken private key ({error})"), &self.remedy)
        })
    }
}

/// The certificate's fields, borrowed from its bytes; nothing may follow it.
pub(super) fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, X509Error> {
    match X509Certificate::from_der(certificate) {
        Ok(([], parsed)) => Ok(parsed),
        Err(nom::Err::Error(error) | nom::Err::Failure(error)) => Err(error),
        Ok(_) | Err(nom::Err::Incomplete(_)) => Err(X509Error::InvalidCertificate),
    }
}

fn missing(path: &Path, remedy: &str) -> PkiError {
    PkiError::unusable(path, "does not exist", remedy)
}

/// The library prints byte arrays where a person wants words.
fn describe(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "is cut off: a PEM section has no END line".to_owned(),
        pem::Error::IllegalSectionStart { .. } => "has a malformed BEGIN line".to_owned(),
        pem::Error::Base64Decode(_) => "is damaged: a PEM section is not valid base64".to_owned(),
        other => format!("is not a usable PEM file ({other})"),
    }
}
