//! Client certificates that a chain builder for the web does not take, but the reference does.
//!
//! Those of version 1, which is what `openssl x509 -req` makes unless it is told otherwise, and those marked as an
//! authority, which is what `openssl req -x509` makes. They are accepted when an authority signed them directly, or
//! when they are themselves on the list.
//!
//! Upstream: the rules are those of Go's crypto/x509 `Certificate.Verify` for chains of one or two.

use jiff::Timestamp;
use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::{CertificateDer, SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use rustls::{CertificateError, DigitallySignedStruct};
use webpki::{Error, KeyUsage, RawPublicKeyEntity, RequiredEkuNotFoundContext};
use x509_parser::asn1_rs::{Any, FromDer};
use x509_parser::extensions::{ParsedExtension, X509Extension};
use x509_parser::prelude::{X509Certificate, X509Version};

use super::{ClientRoots, Root};
use crate::pki::authority::{unix_time, validity};
use crate::pki::pem;

/// Whether an error says that the certificate was not taken, rather than that it is wrong.
pub(super) fn is_for_us(error: &Error) -> bool {
    matches!(error, Error::UnsupportedCertVersion | Error::CaUsedAsEndEntity)
}

/// Until when the certificate is good, if an authority signed it or it is on the list itself.
pub(super) fn verify(
    leaf: &CertificateDer<'_>,
    roots: &ClientRoots,
    now: Timestamp,
) -> Result<Timestamp, Error> {
    let parsed = pem::parse(leaf).map_err(|_| Error::BadDer)?;
    check_dates(&parsed, now)?;
    check_extensions(&parsed)?;
    let end = validity(&parsed).1;
    let mut error = Error::UnknownIssuer;
    for root in roots.roots.iter().filter(|root| root.is_valid_at(now)) {
        if root.certificate == *leaf {
            return Ok(end);
        }
        match check_signature(leaf, &parsed, root) {
            Ok(()) => return Ok(end.min(root.end)),
            Err(Error::UnknownIssuer) => {}
            Err(other) => error = other,
        }
    }
    Err(error)
}

fn check_dates(leaf: &X509Certificate<'_>, now: Timestamp) -> Result<(), Error> {
    let (begin, end) = validity(leaf);
    if now < begin {
        return Err(Error::CertNotValidYet { time: unix_time(now), not_before: unix_time(begin) });
    }
    if end < now {
        return Err(Error::CertExpired { time: unix_time(now), not_after: unix_time(end) });
    }
    Ok(())
}

/// For clients if it says what for, and nothing critical that is not understood.
fn check_extensions(leaf: &X509Certificate<'_>) -> Result<(), Error> {
    if leaf.extensions().iter().any(|extension| extension.critical && !is_understood(extension)) {
        return Err(Error::UnsupportedCriticalExtension);
    }
    match leaf.extended_key_usage() {
        Ok(None) => Ok(()),
        Ok(Some(usage)) if usage.value.client_auth || usage.value.any => Ok(()),
        _ => Err(Error::RequiredEkuNotFoundContext(RequiredEkuNotFoundContext {
            required: KeyUsage::client_auth(),
            present: Vec::new(),
        })),
    }
}

fn is_understood(extension: &X509Extension<'_>) -> bool {
    matches!(
        extension.parsed_extension(),
        ParsedExtension::BasicConstraints(_)
            | ParsedExtension::KeyUsage(_)
            | ParsedExtension::ExtendedKeyUsage(_)
            | ParsedExtension::SubjectAlternativeName(_)
            | ParsedExtension::SubjectKeyIdentifier(_)
            | ParsedExtension::AuthorityKeyIdentifier(_)
    )
}

fn check_signature(
    leaf: &CertificateDer<'_>,
    parsed: &X509Certificate<'_>,
    root: &Root,
) -> Result<(), Error> {
    let authority = pem::parse(&root.certificate).map_err(|_| Error::BadDer)?;
    // An authority limited to some names would need them compared; none of these certificates is worth that.
    if !root.may_sign
        || root.anchor.name_constraints.is_some()
        || authority.subject().as_raw() != parsed.issuer().as_raw()
    {
        return Err(Error::UnknownIssuer);
    }
    let named = signature_algorithm(leaf)?;
    let algorithms = webpki::ALL_VERIFICATION_ALGS
        .iter()
        .filter(|algorithm| algorithm.signature_alg_id().as_ref() == named);
    check_with(
        authority.public_key().raw,
        algorithms.copied(),
        parsed.tbs_certificate.as_ref(),
        &parsed.signature_value.data,
    )
}

/// The content of the outer algorithm identifier, which must be the one that was signed.
fn signature_algorithm<'a>(certificate: &'a CertificateDer<'_>) -> Result<&'a [u8], Error> {
    let bad = |_| Error::BadDer;
    let (_, outer) = Any::from_der(certificate).map_err(bad)?;
    let (rest, signed) = Any::from_der(outer.data).map_err(bad)?;
    let (_, algorithm) = Any::from_der(rest).map_err(bad)?;
    let mut fields = signed.data;
    let mut first_sequence = None;
    // Version and serial number come before it; neither is a sequence.
    while first_sequence.is_none() {
        let (rest, field) = Any::from_der(fields).map_err(bad)?;
        fields = rest;
        first_sequence = (field.tag() == x509_parser::asn1_rs::Tag::Sequence).then_some(field.data);
    }
    if first_sequence != Some(algorithm.data) {
        return Err(Error::SignatureAlgorithmMismatch);
    }
    Ok(algorithm.data)
}

/// Checks a signature with whichever algorithm fits the key.
fn check_with(
    public_key_info: &[u8],
    mut algorithms: impl Iterator<Item = &'static dyn SignatureVerificationAlgorithm>,
    message: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    let info = SubjectPublicKeyInfoDer::from(public_key_info);
    let key = RawPublicKeyEntity::try_from(&info)?;
    // One scheme has several algorithms, by the kind of key; the wrong kinds fail without being tried.
    if algorithms.any(|algorithm| key.verify_signature(algorithm, message, signature).is_ok()) {
        return Ok(());
    }
    Err(Error::InvalidSignatureForPublicKey)
}

/// The key of a certificate of version 1, whose handshake signature must be checked without the usual parser.
pub(super) fn old_key(certificate: &CertificateDer<'_>) -> Option<SubjectPublicKeyInfoDer<'static>> {
    let parsed = pem::parse(certificate).ok()?;
    let is_old = parsed.version() != X509Version::V3;
    is_old.then(|| SubjectPublicKeyInfoDer::from(parsed.public_key().raw.to_vec()))
}

/// The handshake signature of TLS 1.2 by such a key.
pub(super) fn verify_tls12(
    key: &SubjectPublicKeyInfoDer<'_>,
    message: &[u8],
    signature: &DigitallySignedStruct,
    supported: &WebPkiSupportedAlgorithms,
) -> Result<(), rustls::Error> {
    let scheme = supported.mapping.iter().find(|(scheme, _)| *scheme == signature.scheme);
    let algorithms = scheme.map_or(&[][..], |(_, algorithms)| algorithms);
    check_with(key, algorithms.iter().copied(), message, signature.signature())
        .map_err(|_| CertificateError::BadSignature.into())
}
