//! The certificates of clients: which authorities are believed, and what a presented chain is worth.
//!
//! As in the reference a certificate that nobody vouches for does not end the handshake: the client proves that it has
//! the key, and the request pipeline answers 401. So the handshake only checks the signature (`ProofOfPossession`),
//! and the chain is judged once per connection ([`PeerCertificate`]).
//!
//! Upstream: apiserver/pkg/authentication/request/x509/x509.go, v1.36.
//! DIFFERENCE: client certificates of version 1, or marked as an authority, must be signed by a listed authority
//! itself, without one in between.

mod direct;

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use auth::authn::ClientCertificate;
use jiff::Timestamp;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{self, WebPkiSupportedAlgorithms};
use rustls::pki_types::{CertificateDer, TrustAnchor, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, SignatureScheme};
use webpki::{EndEntityCert, KeyUsage};
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::{X509Certificate, X509Version};

use super::authority::{self, unix_time, validity};
use super::{PkiError, pem};

/// The authorities whose client certificates are believed. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct ClientRoots {
    roots: Arc<[Root]>,
}

#[derive(Clone, Debug)]
struct Root {
    certificate: CertificateDer<'static>,
    anchor: TrustAnchor<'static>,
    /// The reference lets a listed certificate that is no authority stand for itself only.
    may_sign: bool,
    /// An anchor has no dates, but the reference looks at those of its certificate.
    begin: Timestamp,
    end: Timestamp,
}

impl ClientRoots {
    /// Reads `--client-ca-file`.
    pub fn load(path: &Path) -> Result<Self, PkiError> {
        const REMEDY: &str =
            "give a PEM file with the certificates of the authorities that sign client certificates";
        let certificates = pem::Certificates::load(path, REMEDY)?;
        ClientRoots::from_certificates(&certificates.chain).map_err(|error| {
            PkiError::unusable(path, format!("cannot be used as an authority ({error})"), REMEDY)
        })
    }

    pub fn from_certificates(certificates: &[CertificateDer<'_>]) -> Result<Self, webpki::Error> {
        let root = |certificate: &CertificateDer<'_>| {
            let anchor = webpki::anchor_from_trusted_cert(certificate)?.to_owned();
            let parsed = pem::parse(certificate).map_err(|_| webpki::Error::BadDer)?;
            let (begin, end) = validity(&parsed);
            let may_sign = parsed.version() != X509Version::V3 || authority::may_sign(&parsed);
            Ok(Root { certificate: certificate.clone().into_owned(), anchor, may_sign, begin, end })
        };
        Ok(ClientRoots { roots: certificates.iter().map(root).collect::<Result<_, _>>()? })
    }

    /// These and those.
    #[must_use]
    pub fn and(&self, others: &ClientRoots) -> Self {
        ClientRoots { roots: self.roots.iter().chain(others.roots.iter()).cloned().collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.roots.is_empty()
    }

    fn valid_at(&self, now: Timestamp) -> Vec<TrustAnchor<'_>> {
        let valid = self.roots.iter().filter(|root| root.may_sign && root.is_valid_at(now));
        valid.map(|root| root.anchor.clone()).collect()
    }

    fn end_of(&self, anchor: &TrustAnchor<'_>) -> Option<Timestamp> {
        self.roots.iter().filter(|root| root.anchor == *anchor).map(|root| root.end).max()
    }
}

impl Root {
    fn is_valid_at(&self, now: Timestamp) -> bool {
        self.begin <= now && now <= self.end
    }
}

/// Checks that `chain`, the leaf first, leads to one of `roots`, is valid now and may be used by clients.
///
/// Returns until when that holds.
pub fn verify_client_chain(
    chain: &[CertificateDer<'_>],
    roots: &ClientRoots,
    now: Timestamp,
) -> Result<Timestamp, webpki::Error> {
    let (leaf, between) = chain.split_first().ok_or(webpki::Error::BadDer)?;
    match verify_ordinary(leaf, between, roots, now) {
        Err(error) if direct::is_for_us(&error) => direct::verify(leaf, roots, now),
        verdict => verdict,
    }
}

fn verify_ordinary(
    leaf: &CertificateDer<'_>,
    between: &[CertificateDer<'_>],
    roots: &ClientRoots,
    now: Timestamp,
) -> Result<Timestamp, webpki::Error> {
    let parsed = EndEntityCert::try_from(leaf)?;
    let anchors = roots.valid_at(now);
    let usage = KeyUsage::client_auth();
    let algorithms = webpki::ALL_VERIFICATION_ALGS;
    let path = parsed.verify_for_usage(algorithms, &anchors, between, unix_time(now), usage, None, None)?;
    let mut end = roots.end_of(path.anchor()).unwrap_or(now);
    for certificate in path.intermediate_certificates().map(webpki::Cert::der).chain([leaf.clone()]) {
        end = end.min(end_of(&certificate)?);
    }
    Ok(end)
}

fn end_of(certificate: &CertificateDer<'_>) -> Result<Timestamp, webpki::Error> {
    let parsed = pem::parse(certificate).map_err(|_| webpki::Error::BadDer)?;
    Ok(validity(&parsed).1)
}

/// What a connection's client certificate is worth: judged once, asked for every request.
#[derive(Debug)]
pub struct PeerCertificate {
    judged: ClientCertificate,
    end: Timestamp,
    /// What it is worth from then on: a connection may outlive its certificate.
    ended: ClientCertificate,
}

impl PeerCertificate {
    /// `None` when no certificate was presented, or none is ever believed.
    pub fn judge(chain: &[CertificateDer<'_>], roots: &ClientRoots, now: Timestamp) -> Option<Self> {
        let leaf = chain.first()?;
        if roots.is_empty() {
            return None;
        }
        let name = identifier(leaf);
        let rejected = |error: &webpki::Error| {
            ClientCertificate::rejected(format!("verifying certificate {name} failed: {}", describe(error)))
        };
        Some(match verify_client_chain(chain, roots, now) {
            Ok(end) => {
                let ended = format!("certificate {name} ended {end}, after the connection was made");
                let judged = ClientCertificate::from_verified(leaf);
                PeerCertificate { judged, end, ended: ClientCertificate::rejected(ended) }
            }
            // A rejected certificate stays so, even if it is merely too early: the client connects again.
            Err(error) => {
                PeerCertificate { judged: rejected(&error), end: Timestamp::MAX, ended: rejected(&error) }
            }
        })
    }

    pub fn at(&self, now: Timestamp) -> &ClientCertificate {
        if now <= self.end { &self.judged } else { &self.ended }
    }
}

/// What is wrong with a chain, in the reference's words where it has some.
pub(super) fn describe(error: &webpki::Error) -> String {
    let date = |time: &UnixTime| {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
    };
    let dates = |now: &UnixTime, word: &str, limit: &UnixTime| {
        let (now, limit) = (date(now), date(limit));
        format!("x509: certificate has expired or is not yet valid: current time {now} is {word} {limit}")
    };
    match error {
        webpki::Error::UnknownIssuer | webpki::Error::InvalidSignatureForPublicKey => {
            "x509: certificate signed by unknown authority".to_owned()
        }
        webpki::Error::CertExpired { time, not_after } => dates(time, "after", not_after),
        webpki::Error::CertNotValidYet { time, not_before } => dates(time, "before", not_before),
        webpki::Error::RequiredEkuNotFoundContext(_) => {
            "x509: certificate specifies an incompatible key usage".to_owned()
        }
        other => format!("x509: {other}"),
    }
}

/// Tells a certificate from others in the log, as the reference does.
fn identifier(leaf: &CertificateDer<'_>) -> String {
    let Ok(parsed) = pem::parse(leaf) else { return "that cannot be parsed".to_owned() };
    let (subject, authority) = key_identifiers(&parsed);
    format!("SN={}, SKID={}, AKID={}", parsed.serial, hex(subject), hex(authority))
}

fn key_identifiers<'a>(certificate: &'a X509Certificate<'_>) -> (&'a [u8], &'a [u8]) {
    let (mut subject, mut authority): (&[u8], &[u8]) = (&[], &[]);
    for extension in certificate.extensions() {
        match extension.parsed_extension() {
            ParsedExtension::SubjectKeyIdentifier(id) => subject = id.0,
            ParsedExtension::AuthorityKeyIdentifier(id) => {
                authority = id.key_identifier.as_ref().map_or(&[], |id| id.0);
            }
            _ => {}
        }
    }
    (subject, authority)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for (index, byte) in bytes.iter().enumerate() {
        let separator = if index == 0 { "" } else { ":" };
        write!(text, "{separator}{byte:02X}").expect("a String takes any text");
    }
    text
}

/// Asks clients for a certificate but insists on none, and checks only that they hold the key of the one they show.
#[derive(Debug)]
pub(super) struct ProofOfPossession {
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ProofOfPossession {
    pub(super) fn new(roots: &ClientRoots, algorithms: WebPkiSupportedAlgorithms) -> Self {
        let hint = |root: &Root| DistinguishedName::in_sequence(&root.anchor.subject);
        ProofOfPossession { hints: roots.roots.iter().map(hint).collect(), algorithms }
    }
}

impl ClientCertVerifier for ProofOfPossession {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// Tells clients with several certificates which one to show.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    /// Anything that is a certificate; [`PeerCertificate::judge`] says what it is worth.
    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        match pem::parse(end_entity) {
            Ok(_) => Ok(ClientCertVerified::assertion()),
            Err(_) => Err(rustls::CertificateError::BadEncoding.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match direct::old_key(certificate) {
            None => crypto::verify_tls12_signature(message, certificate, signature, &self.algorithms),
            Some(key) => direct::verify_tls12(&key, message, signature, &self.algorithms)
                .map(|()| HandshakeSignatureValid::assertion()),
        }
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        match direct::old_key(certificate) {
            None => crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms),
            Some(key) => {
                crypto::verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
            }
        }
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

#[cfg(test)]
pub(super) mod tests;
