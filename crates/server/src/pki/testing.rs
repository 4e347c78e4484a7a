//! Certificates for tests.

use std::path::Path;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Pki, ServingNames, ensure};

/// Some day; nothing here looks at the clock except TLS itself.
pub(super) fn now() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().unwrap()
}

pub(super) fn names() -> ServingNames {
    ServingNames::new([127, 0, 0, 1].into(), Some("box"), &[])
}

pub(super) fn pki(folder: &Path) -> Pki {
    ensure(folder, Some(&names()), now()).unwrap()
}

/// An authority that a test signs with.
pub(super) struct Signer {
    pub(super) certificate: CertificateDer<'static>,
    certificate_pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(super) struct Client {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

/// From and to, as years.
pub(super) const ALWAYS: (i32, i32) = (2020, 2090);

impl Signer {
    pub(super) fn new(name: &str, years: (i32, i32)) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = authority_params(name, years);
        let certificate = params.self_signed(&key).unwrap();
        Signer::from_parts(&certificate, params, key)
    }

    /// Another authority, for which this one vouches.
    pub(super) fn intermediate(&self, name: &str, years: (i32, i32)) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = authority_params(name, years);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Signer::from_parts(&certificate, params, key)
    }

    /// One whose certificate does not say that it is an authority.
    pub(super) fn leaf(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = params(name, ALWAYS);
        let certificate = params.self_signed(&key).unwrap();
        Signer::from_parts(&certificate, params, key)
    }

    /// An intermediate that says what its certificate is for.
    pub(super) fn authority_for(&self, name: &str, uses: Vec<ExtendedKeyUsagePurpose>) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = authority_params(name, ALWAYS);
        params.extended_key_usages = uses;
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Signer::from_parts(&certificate, params, key)
    }

    fn from_parts(certificate: &rcgen::Certificate, params: CertificateParams, key: KeyPair) -> Self {
        Signer {
            certificate: certificate.der().clone(),
            certificate_pem: certificate.pem(),
            issuer: Issuer::new(params, key),
        }
    }

    pub(super) fn certificate_pem(&self) -> &str {
        &self.certificate_pem
    }

    pub(super) fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    pub(super) fn client(&self, name: &str, years: (i32, i32)) -> Client {
        self.sign(name, years, vec![ExtendedKeyUsagePurpose::ClientAuth])
    }

    pub(super) fn sign(&self, name: &str, years: (i32, i32), uses: Vec<ExtendedKeyUsagePurpose>) -> Client {
        let key = KeyPair::generate().unwrap();
        let mut params = params(name, years);
        params.extended_key_usages = uses;
        let certificate = params.signed_by(&key, &self.issuer).unwrap().der().clone();
        Client { chain: vec![certificate], key: key.into() }
    }
}

fn authority_params(name: &str, years: (i32, i32)) -> CertificateParams {
    let mut params = params(name, years);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}

fn params(name: &str, (from, to): (i32, i32)) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = rcgen::date_time_ymd(from, 1, 1);
    params.not_after = rcgen::date_time_ymd(to, 1, 1);
    params
}
