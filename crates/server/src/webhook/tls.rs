//! Whom a webhook's certificate is believed from, and what is said about one that is not believed.
//!
//! The texts are those of Go's crypto/tls and crypto/x509, 1.26.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{
    CertificateError, DigitallySignedStruct, InvalidMessage, OtherError, RootCertStore, SignatureScheme,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::config::{ClientConfig, ConfigError};

/// The TLS side of a client.
pub(super) fn client_config(config: &ClientConfig) -> Result<Arc<rustls::ClientConfig>, ConfigError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let (roots, listed) = if config.ca_bundle.is_empty() {
        (system_roots(), Vec::new())
    } else {
        bundle_roots(&config.ca_bundle)?
    };
    let trusted = (!roots.is_empty())
        .then(|| WebPkiServerVerifier::builder_with_provider(roots, provider.clone()).build())
        .transpose()
        .map_err(|_| ConfigError::Tls)?;
    let verifier = Verifier { trusted, listed, provider: provider.clone() };
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(|_| ConfigError::Tls)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    if config.target.may_speak_http2() {
        tls.alpn_protocols.push(b"h2".to_vec());
    }
    tls.alpn_protocols.push(b"http/1.1".to_vec());
    Ok(Arc::new(tls))
}

type Roots = (Arc<RootCertStore>, Vec<CertificateDer<'static>>);

fn bundle_roots(bundle: &[u8]) -> Result<Roots, ConfigError> {
    let listed: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(bundle).filter_map(Result::ok).collect();
    if listed.is_empty() {
        return Err(ConfigError::CaBundle);
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(listed.iter().cloned());
    Ok((Arc::new(roots), listed))
}

/// The authorities that the machine trusts, read when they are first needed.
fn system_roots() -> Arc<RootCertStore> {
    static ROOTS: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    let read = || {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(%error, "an authority of this machine cannot be read");
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        Arc::new(roots)
    };
    ROOTS.get_or_init(read).clone()
}

/// Whether nobody who is trusted vouches for a certificate. An authority that serves with its own certificate is
/// such a stranger too unless it is listed.
fn is_unknown_authority(error: &CertificateError) -> bool {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => true,
        CertificateError::Other(OtherError(why)) => {
            matches!(why.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
        }
        _ => false,
    }
}

/// Believes what an authority vouches for, and a certificate that is itself in the bundle: many webhooks serve
/// with the very certificate that they hand out as their authority.
#[derive(Debug)]
struct Verifier {
    /// `None`: there is nobody to vouch for anything.
    trusted: Option<Arc<WebPkiServerVerifier>>,
    listed: Vec<CertificateDer<'static>>,
    provider: Arc<rustls::crypto::CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let vouched = match &self.trusted {
            Some(trusted) => {
                trusted.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            None => Err(CertificateError::UnknownIssuer.into()),
        };
        vouched.or_else(|error| match error {
            _ if self.listed.contains(end_entity) => verify_listed(end_entity, server_name, now),
            rustls::Error::InvalidCertificate(error) if is_unknown_authority(&error) => {
                Err(unknown_authority(end_entity, &self.listed))
            }
            error => Err(error),
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A certificate that needs nobody to vouch for it must still be valid now and for this name.
fn verify_listed(
    certificate: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, rustls::Error> {
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if seconds > parsed.validity().not_after.timestamp() {
        return Err(CertificateError::Expired.into());
    }
    if seconds < parsed.validity().not_before.timestamp() {
        return Err(CertificateError::NotValidYet.into());
    }
    let names = webpki::EndEntityCert::try_from(certificate).map_err(|_| CertificateError::BadEncoding)?;
    let valid = names.verify_is_valid_for_subject_name(server_name);
    valid.map_err(|_| rustls::Error::from(CertificateError::NotValidForName))?;
    Ok(ServerCertVerified::assertion())
}

/// Nobody vouches for a certificate. If somebody of the right name is there but has another key, that is said too.
fn unknown_authority(certificate: &CertificateDer<'_>, listed: &[CertificateDer<'static>]) -> rustls::Error {
    let parse = |der| X509Certificate::from_der(der).ok().map(|(_, parsed)| parsed);
    let candidate = parse(certificate).and_then(|child| {
        let named = |parent: &X509Certificate<'_>| parent.subject().as_raw() == child.issuer().as_raw();
        let parent = listed.iter().filter_map(|der| parse(der)).find(named)?;
        let name = parent.subject().iter_common_name().next().or(parent.subject().iter_organization().next());
        let name = name.and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned();
        Some((verification_failure(&child), name))
    });
    let hint = candidate.map_or_else(String::new, |(failure, name)| {
        let (failure, name) = (meta::go_fmt::quote(failure), meta::go_fmt::quote(&name));
        format!(
            " (possibly because of {failure} while trying to verify candidate authority certificate {name})"
        )
    });
    let text = format!("certificate signed by unknown authority{hint}");
    CertificateError::Other(OtherError(Arc::new(Unbelieved(text)))).into()
}

/// What Go says of a signature that does not fit, by the algorithm.
fn verification_failure(certificate: &X509Certificate<'_>) -> &'static str {
    const ECDSA: &str = "1.2.840.10045.4";
    const ED25519: &str = "1.3.101.112";
    let algorithm = certificate.signature_algorithm.algorithm.to_id_string();
    if algorithm.starts_with(ECDSA) {
        "x509: ECDSA verification failure"
    } else if algorithm == ED25519 {
        "x509: Ed25519 verification failure"
    } else {
        "crypto/rsa: verification error"
    }
}

/// Why a certificate is not believed, in Go's words.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unbelieved(String);

/// What Go says of a failed handshake.
pub(super) fn failure_text(error: &rustls::Error, server_name: &str) -> String {
    match error {
        rustls::Error::InvalidCertificate(error) => {
            format!("tls: failed to verify certificate: x509: {}", certificate_text(error, server_name))
        }
        // Nearly always it is a server without TLS.
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "http: server gave HTTP response to HTTPS client".to_owned()
        }
        rustls::Error::InvalidMessage(_) => "tls: first record does not look like a TLS handshake".to_owned(),
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", alert_text(*alert)),
        rustls::Error::PeerIncompatible(_) => {
            "tls: server selected an unsupported protocol version or cipher suite".to_owned()
        }
        other => format!("tls: {other}"),
    }
}

fn certificate_text(error: &CertificateError, server_name: &str) -> String {
    match error {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "certificate signed by unknown authority".to_owned()
        }
        CertificateError::Expired | CertificateError::NotValidYet => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::ExpiredContext { time, not_after } => {
            let (now, limit) = (moment(*time), moment(*not_after));
            format!("certificate has expired or is not yet valid: current time {now} is after {limit}")
        }
        CertificateError::NotValidYetContext { time, not_before } => {
            let (now, limit) = (moment(*time), moment(*not_before));
            format!("certificate has expired or is not yet valid: current time {now} is before {limit}")
        }
        CertificateError::NotValidForNameContext { presented, .. } => names_text(presented, server_name),
        CertificateError::NotValidForName => names_text(&[], server_name),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        CertificateError::Other(OtherError(why)) => why.to_string(),
        CertificateError::UnhandledCriticalExtension => "unhandled critical extension".to_owned(),
        other => other.to_string(),
    }
}

fn moment(time: UnixTime) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    jiff::Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default()
}

/// Which names a certificate is for instead.
fn names_text(presented: &[String], server_name: &str) -> String {
    let (mut names, mut addresses) = (Vec::new(), Vec::new());
    for presented in presented {
        if let Some(name) = presented.strip_prefix("DnsName(\"").and_then(|rest| rest.strip_suffix("\")")) {
            names.push(name);
        } else if let Some(address) =
            presented.strip_prefix("IpAddress(").and_then(|rest| rest.strip_suffix(')'))
        {
            addresses.push(address);
        }
    }
    let valid_for = match server_name.parse::<IpAddr>() {
        Ok(_) if addresses.is_empty() => {
            return format!(
                "cannot validate certificate for {server_name} because it doesn't contain any IP SANs"
            );
        }
        Ok(_) => addresses,
        Err(_) => names,
    };
    if valid_for.is_empty() {
        return format!("certificate is not valid for any names, but wanted to match {server_name}");
    }
    format!("certificate is valid for {}, not {server_name}", valid_for.join(", "))
}

fn alert_text(alert: rustls::AlertDescription) -> String {
    use rustls::AlertDescription as Alert;
    match alert {
        Alert::HandshakeFailure => "handshake failure".to_owned(),
        Alert::ProtocolVersion => "protocol version not supported".to_owned(),
        Alert::CertificateRequired => "certificate required".to_owned(),
        Alert::BadCertificate => "bad certificate".to_owned(),
        Alert::InternalError => "internal error".to_owned(),
        Alert::UnrecognisedName => "unrecognized name".to_owned(),
        Alert::NoApplicationProtocol => "no application protocol".to_owned(),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

    struct Authority {
        issuer: Issuer<'static, KeyPair>,
        der: CertificateDer<'static>,
    }

    fn authority(name: &str) -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = rcgen::DistinguishedName::new();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let der = params.self_signed(&key).unwrap().der().clone();
        Authority { issuer: Issuer::new(params, key), der }
    }

    fn leaf(authority: &Authority, names: &[&str], end: i32) -> CertificateDer<'static> {
        let mut params =
            CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        params.not_after = rcgen::date_time_ymd(end, 1, 1);
        params.signed_by(&KeyPair::generate().unwrap(), &authority.issuer).unwrap().der().clone()
    }

    fn verify(
        listed: &[&CertificateDer<'static>],
        shown: &CertificateDer<'static>,
        name: &str,
    ) -> Result<(), String> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let listed: Vec<_> = listed.iter().map(|der| (*der).clone()).collect();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(listed.iter().cloned());
        let trusted = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
        let verifier = Verifier { trusted: trusted.ok(), listed, provider };
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_hours(500_000));
        let server_name = ServerName::try_from(name.to_owned()).unwrap();
        let verified = verifier.verify_server_cert(shown, &[], &server_name, &[], now);
        verified.map(drop).map_err(|error| failure_text(&error, name))
    }

    #[test]
    fn a_certificate_is_believed_or_told_apart_as_go_does() {
        let (known, stranger, namesake) = (authority("a"), authority("b"), authority("a"));
        let shown = leaf(&known, &["s.n.svc", "10.0.0.1"], 2040);
        let prefix = "tls: failed to verify certificate: x509:";
        assert_eq!(verify(&[&stranger.der, &known.der], &shown, "s.n.svc"), Ok(()));
        assert_eq!(verify(&[&known.der], &shown, "10.0.0.1"), Ok(()));
        for (listed, shown, name, why) in [
            (vec![&stranger.der], &shown, "s.n.svc", "certificate signed by unknown authority"),
            (vec![], &shown, "s.n.svc", "certificate signed by unknown authority"),
            (
                vec![&namesake.der],
                &shown,
                "s.n.svc",
                r#"certificate signed by unknown authority (possibly because of "x509: ECDSA verification failure" while trying to verify candidate authority certificate "a")"#,
            ),
            (vec![&known.der], &shown, "t.n.svc", "certificate is valid for s.n.svc, not t.n.svc"),
            (vec![&known.der], &shown, "10.0.0.2", "certificate is valid for 10.0.0.1, not 10.0.0.2"),
            (
                vec![&known.der],
                &leaf(&known, &["s.n.svc"], 2040),
                "10.0.0.2",
                "cannot validate certificate for 10.0.0.2 because it doesn't contain any IP SANs",
            ),
            (
                vec![&known.der],
                &leaf(&known, &["s.n.svc"], 2020),
                "s.n.svc",
                "certificate has expired or is not yet valid: current time 2027-01-15T08:00:00Z is after 2020-01-01T00:00:00Z",
            ),
        ] {
            assert_eq!(verify(&listed, shown, name), Err(format!("{prefix} {why}")));
        }
    }

    #[test]
    fn a_certificate_may_be_its_own_authority() {
        for is_ca in [IsCa::NoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
            let mut params = CertificateParams::new(vec!["s.n.svc".to_owned()]).unwrap();
            params.is_ca = is_ca;
            let own = params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone();
            assert_eq!(verify(&[&own], &own, "s.n.svc"), Ok(()));
            let other = verify(&[&own], &own, "t.n.svc").unwrap_err();
            assert!(other.ends_with("not t.n.svc") || other.ends_with("match t.n.svc"), "{other}");
        }
    }
}
