//! The certificate folder: an authority, a serving certificate and an admin certificate, made once and kept.
//!
//! Keys are never replaced, certificates only by better ones for the same key, so that no crash leaves a pair that
//! does not match. A leaf is made again when its time runs out, when another authority signed it, or when the server
//! is now called something it does not name. The authority keeps its name and key when it is renewed: what it signed
//! stays valid. What cannot be understood is left alone and reported.

use std::fmt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rcgen::{Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use x509_parser::prelude::X509Certificate;
use x509_parser::time::ASN1Time;

use super::files::{self, Batch, PUBLIC, SECRET};
use super::issue::{self, Purpose};
use super::pem::{self, Certificates, PrivateKey};
use super::{Identity, PkiError, ServingNames, client_certs};

const AUTHORITY_REMEDY: &str = "restore both ca.crt and ca.key, or move them away to have a new authority made \
     (then every kubeconfig made with the old one must be replaced)";
const AUTHORITY_NAME: &str = "crest-ca";

/// The content of the certificate folder, ready for use.
#[derive(Debug)]
pub struct Pki {
    /// For clients, to know the server by; and one of the authorities whose client certificates are believed.
    pub authority_pem: String,
    pub authority: CertificateDer<'static>,
    /// `None` when the server was given another certificate.
    pub serving: Option<Identity>,
    pub admin: Identity,
    /// What was written just now, for the log. Empty on an ordinary start.
    pub changes: Vec<Change>,
}

/// A certificate that was made, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    pub why: String,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made '{}': {}", self.path.display(), self.why)
    }
}

/// Loads the folder's certificates, and makes those that are missing or near their end.
///
/// `serving` is what the server is called; `None` when it uses a certificate of its own, which is then not made.
pub fn ensure(folder: &Path, serving: Option<&ServingNames>, now: Timestamp) -> Result<Pki, PkiError> {
    files::create_folder(folder)?;
    let mut work = Work { folder, now, batch: Batch::default(), changes: Vec::new() };
    let authority = work.authority()?;
    let serving =
        serving.map(|names| work.leaf("apiserver", &Purpose::Serving(names), &authority)).transpose()?;
    let admin = work.leaf("admin", &Purpose::Admin, &authority)?;
    work.batch.commit()?;
    Ok(Pki {
        authority_pem: authority.pem,
        authority: authority.certificate,
        serving,
        admin,
        changes: work.changes,
    })
}

/// What is to be written, so far.
struct Work<'a> {
    folder: &'a Path,
    now: Timestamp,
    batch: Batch,
    changes: Vec<Change>,
}

struct Authority {
    pem: String,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
    end: Timestamp,
}

impl Work<'_> {
    fn authority(&mut self) -> Result<Authority, PkiError> {
        let path = self.folder.join("ca.crt");
        let certificates = Certificates::load_if_there(&path, AUTHORITY_REMEDY)?;
        let key_path = self.folder.join("ca.key");
        let key = PrivateKey::load_if_there(&key_path, AUTHORITY_REMEDY)?;
        match (certificates, key) {
            (Some(_), None) => Err(PkiError::unusable(&key_path, "is missing", AUTHORITY_REMEDY)),
            (Some(certificates), Some(key)) => self.known_authority(certificates, &key),
            (None, key) => {
                let name = format!("{AUTHORITY_NAME}@{}", self.now.as_second());
                let key = self.key("ca", key)?;
                self.new_authority(&name, key, "there was none".to_owned())
            }
        }
    }

    fn known_authority(
        &mut self,
        certificates: Certificates,
        key: &PrivateKey,
    ) -> Result<Authority, PkiError> {
        let unusable = |fault: &str| PkiError::unusable(&certificates.path, fault, AUTHORITY_REMEDY);
        if !certificates.belong_to(key)? {
            return Err(unusable("does not belong to the key in ca.key"));
        }
        let parsed = pem::parse(certificates.leaf())
            .map_err(|error| unusable(&format!("contains a broken certificate ({error})")))?;
        if !may_sign(&parsed) {
            return Err(unusable("is not the certificate of an authority"));
        }
        let (begin, end) = validity(&parsed);
        if self.now < begin {
            return Err(unusable(&format!("is not valid before {begin}, and it is {} now", self.now)));
        }
        if issue::is_near_its_end(begin, end, self.now) {
            if let Some(name) = own_name(&parsed) {
                let name = name.to_owned();
                return self.new_authority(&name, key.pair()?, format!("the one there ends {end}"));
            }
            if end < self.now {
                return Err(unusable(&format!("ended {end}")));
            }
        }
        let certificate = certificates.leaf().clone();
        let issuer = Issuer::from_ca_cert_der(&certificate, key.pair()?).map_err(PkiError::Make)?;
        Ok(Authority { pem: certificates.text, certificate, issuer, end })
    }

    fn new_authority(&mut self, name: &str, key: KeyPair, why: String) -> Result<Authority, PkiError> {
        let certificate = issue::authority(name, &key, self.now)?;
        let (pem, certificate) = (certificate.pem(), certificate.der().clone());
        self.put_certificate("ca", &pem, why);
        let parsed = pem::parse(&certificate).expect("a certificate just made can be parsed");
        let (_, end) = validity(&parsed);
        let issuer = Issuer::from_ca_cert_der(&certificate, key).map_err(PkiError::Make)?;
        Ok(Authority { pem, certificate, issuer, end })
    }

    fn leaf(
        &mut self,
        stem: &str,
        purpose: &Purpose<'_>,
        authority: &Authority,
    ) -> Result<Identity, PkiError> {
        let path = self.folder.join(format!("{stem}.crt"));
        let key_path = self.folder.join(format!("{stem}.key"));
        let remedy = format!("move {stem}.crt and {stem}.key away to have new ones made");
        let certificates = Certificates::load_if_there(&path, &remedy)?;
        let key = PrivateKey::load_if_there(&key_path, &remedy)?;
        let why = match (&certificates, &key) {
            (None, _) => Some("there was none".to_owned()),
            (Some(_), None) => Some(format!("{stem}.key was missing")),
            (Some(certificates), Some(key)) if !certificates.belong_to(key)? => {
                let fault = format!("does not belong to the key in {stem}.key");
                return Err(PkiError::unusable(&path, fault, remedy));
            }
            (Some(certificates), Some(_)) => self.why_replace(certificates, purpose, authority),
        };
        match (why, certificates, key) {
            (None, Some(certificates), Some(key)) => Ok(Identity {
                certificate_pem: certificates.text,
                key_pem: key.text,
                chain: certificates.chain,
                key: key.key,
            }),
            (why, _, key) => {
                let key = self.key(stem, key)?;
                let certificate = issue::leaf(purpose, &key, &authority.issuer, self.now, authority.end)?;
                self.put_certificate(stem, &certificate.pem(), why.unwrap_or_default());
                Ok(Identity {
                    certificate_pem: certificate.pem(),
                    key_pem: key.serialize_pem(),
                    chain: vec![certificate.der().clone()],
                    key: key.into(),
                })
            }
        }
    }

    /// What speaks against a leaf, if anything.
    fn why_replace(
        &self,
        certificates: &Certificates,
        purpose: &Purpose<'_>,
        authority: &Authority,
    ) -> Option<String> {
        let Ok(parsed) = pem::parse(certificates.leaf()) else {
            return Some("the one there is broken".to_owned());
        };
        let (begin, end) = validity(&parsed);
        if self.now < begin {
            return Some(format!("the one there begins {begin}"));
        }
        if issue::is_near_its_end(begin, end, self.now) {
            return Some(format!("the one there ends {end}"));
        }
        if let Err(error) = check_signature(certificates, purpose, authority, self.now) {
            let error = client_certs::describe(&error);
            return Some(format!("the one there is not vouched for by ca.crt ({error})"));
        }
        match purpose {
            Purpose::Serving(names) => {
                names.missing_from(&parsed).map(|name| format!("the one there does not name {name}"))
            }
            Purpose::Admin => None,
        }
    }

    /// The key of the folder, or a new one.
    fn key(&mut self, stem: &str, known: Option<PrivateKey>) -> Result<KeyPair, PkiError> {
        if let Some(known) = known {
            return known.pair();
        }
        let key = issue::new_key()?;
        let path = self.folder.join(format!("{stem}.key"));
        self.batch.add(path, key.serialize_pem().into_bytes(), SECRET);
        Ok(key)
    }

    fn put_certificate(&mut self, stem: &str, pem: &str, why: String) {
        let path = self.folder.join(format!("{stem}.crt"));
        self.batch.add(path.clone(), pem.as_bytes().to_vec(), PUBLIC);
        self.changes.push(Change { path, why });
    }
}

/// Whether the authority signed this leaf for this purpose.
fn check_signature(
    certificates: &Certificates,
    purpose: &Purpose<'_>,
    authority: &Authority,
    now: Timestamp,
) -> Result<(), webpki::Error> {
    let anchors: [TrustAnchor<'_>; 1] = [webpki::anchor_from_trusted_cert(&authority.certificate)?];
    let usage = match purpose {
        Purpose::Serving(_) => webpki::KeyUsage::server_auth(),
        Purpose::Admin => webpki::KeyUsage::client_auth(),
    };
    let leaf = webpki::EndEntityCert::try_from(certificates.leaf())?;
    let (between, now) = (&certificates.chain[1..], unix_time(now));
    leaf.verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, between, now, usage, None, None)?;
    Ok(())
}

/// The name of an authority made here. Another's is not renewed: it may be known elsewhere, or be signed by a third.
fn own_name<'a>(certificate: &'a X509Certificate<'_>) -> Option<&'a str> {
    let mut attributes = certificate.subject().iter_attributes();
    let name = attributes.next()?.as_str().ok()?;
    let is_ours = name.split_once('@').is_some_and(|(name, _)| name == AUTHORITY_NAME);
    (is_ours && attributes.next().is_none() && certificate.subject() == certificate.issuer()).then_some(name)
}

/// Marked as an authority, and its key not for something else.
pub(super) fn may_sign(certificate: &X509Certificate<'_>) -> bool {
    let signs = match certificate.key_usage() {
        Ok(usage) => usage.is_none_or(|usage| usage.value.key_cert_sign()),
        Err(_) => false,
    };
    certificate.is_ca() && signs
}

pub(super) fn validity(certificate: &X509Certificate<'_>) -> (Timestamp, Timestamp) {
    let time = |time: ASN1Time| Timestamp::from_second(time.timestamp()).unwrap_or(Timestamp::MAX);
    (time(certificate.validity().not_before), time(certificate.validity().not_after))
}

pub(super) fn unix_time(time: Timestamp) -> UnixTime {
    let seconds = u64::try_from(time.as_second()).unwrap_or(0);
    UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
