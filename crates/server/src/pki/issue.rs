//! Makes certificates: who they are for, how long they hold, what they may be used for.

use std::time::Duration;

use aws_lc_rs::rand;
use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, DnValue,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, SerialNumber,
};

use super::{PkiError, ServingNames};

const AUTHORITY_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 3650);
const LEAF_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 365);
/// A certificate is valid a little before it is made, for clients whose clock is behind.
const CLOCK_SKEW: SignedDuration = SignedDuration::from_hours(1);
/// One that ends within this time is renewed, or a fifth of its lifetime if that is shorter.
const RENEW_BEFORE: SignedDuration = SignedDuration::from_hours(24 * 30);

/// What a leaf certificate is for.
pub(super) enum Purpose<'a> {
    Serving(&'a ServingNames),
    /// A client with everything allowed.
    Admin,
}

/// The common name of the admin's certificate.
pub(super) const ADMIN_NAME: &str = "kubernetes-admin";

pub(super) fn new_key() -> Result<KeyPair, PkiError> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(PkiError::Make)
}

/// A self-signed authority.
pub(super) fn authority(name: &str, key: &KeyPair, now: Timestamp) -> Result<Certificate, PkiError> {
    let mut params = params(name, now, later(now, AUTHORITY_LIFETIME))?;
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages =
        vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.self_signed(key).map_err(PkiError::Make)
}

/// A leaf that does not outlive its authority, which ends at `authority_end`.
pub(super) fn leaf(
    purpose: &Purpose<'_>,
    key: &KeyPair,
    issuer: &Issuer<'_, KeyPair>,
    now: Timestamp,
    authority_end: Timestamp,
) -> Result<Certificate, PkiError> {
    let name = match purpose {
        Purpose::Serving(_) => "kube-apiserver",
        Purpose::Admin => ADMIN_NAME,
    };
    let mut params = params(name, now, later(now, LEAF_LIFETIME).min(authority_end))?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    match purpose {
        Purpose::Serving(names) => {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
            params.subject_alt_names = names.to_san().map_err(PkiError::Make)?;
        }
        Purpose::Admin => {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            let group = DnValue::Utf8String(auth::user::PRIVILEGED_GROUP.to_owned());
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
    }
    params.signed_by(key, issuer).map_err(PkiError::Make)
}

/// Whether so little of a certificate's time is left that a new one should be made.
pub(super) fn is_near_its_end(not_before: Timestamp, not_after: Timestamp, now: Timestamp) -> bool {
    let lifetime = not_after.duration_since(not_before);
    let margin = RENEW_BEFORE.min(lifetime / 5);
    not_after.duration_since(now) < margin
}

fn params(name: &str, now: Timestamp, end: Timestamp) -> Result<CertificateParams, PkiError> {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, DnValue::Utf8String(name.to_owned()));
    let epoch = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = epoch + since_epoch(later(now, -CLOCK_SKEW));
    params.not_after = epoch + since_epoch(end);
    // The default is made from the key, which a renewed certificate keeps; two certificates of an issuer must differ.
    params.serial_number = Some(serial_number()?);
    Ok(params)
}

fn serial_number() -> Result<SerialNumber, PkiError> {
    let mut bytes = [0; 16];
    rand::fill(&mut bytes).map_err(|_| PkiError::Make(rcgen::Error::RingUnspecified))?;
    // Positive, and not shorter than it looks.
    bytes[0] = (bytes[0] & 0x7f) | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

/// Saturates; whole seconds, because certificates know nothing finer.
fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    let second = time.as_second().saturating_add(by.as_secs());
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}

/// Certificates made by a machine that thinks it is before 1970 begin there.
fn since_epoch(time: Timestamp) -> Duration {
    Duration::from_secs(u64::try_from(time.as_second()).unwrap_or(0))
}
