//! The listener's TLS configuration.
//!
//! TLS 1.2 and 1.3, HTTP/2 and HTTP/1.1, AES-128 first because it is the fastest that is safe, tickets so that a
//! client that comes again skips the handshake's signatures. The tickets carry the client's certificate, whose chain is
//! judged again on every connection; nothing is kept on the server.

use std::sync::Arc;

use rustls::crypto::aws_lc_rs::{self, Ticketer, cipher_suite as suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::server::NoServerSessionStorage;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, SupportedCipherSuite};

use super::client_certs::{ClientRoots, ProofOfPossession};
use super::{Identity, PkiError};

/// In the order of the server's preference, which counts.
const CIPHER_SUITES: [SupportedCipherSuite; 9] = [
    suite::TLS13_AES_128_GCM_SHA256,
    suite::TLS13_AES_256_GCM_SHA384,
    suite::TLS13_CHACHA20_POLY1305_SHA256,
    suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
];

/// The first one withstands a later quantum computer; the reference prefers it too.
const KEY_EXCHANGES: [&dyn SupportedKxGroup; 4] =
    [kx_group::X25519MLKEM768, kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1];

/// One ticket for each connection; a client that uses it gets the next.
const TICKETS: usize = 1;

/// Asks for client certificates when there are authorities to believe.
pub fn server_config(identity: &Identity, roots: &ClientRoots) -> Result<Arc<ServerConfig>, PkiError> {
    let provider = Arc::new(provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13, &TLS12])
        .map_err(PkiError::Tls)?;
    let builder = if roots.is_empty() {
        builder.with_no_client_auth()
    } else {
        builder.with_client_cert_verifier(Arc::new(ProofOfPossession::new(roots, algorithms)))
    };
    let mut config =
        builder.with_single_cert(identity.chain.clone(), identity.key.clone_key()).map_err(PkiError::Tls)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.ignore_client_order = true;
    config.ticketer = Ticketer::new().map_err(PkiError::Tls)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = TICKETS;
    Ok(Arc::new(config))
}

pub(super) fn provider() -> CryptoProvider {
    CryptoProvider {
        cipher_suites: CIPHER_SUITES.to_vec(),
        kx_groups: KEY_EXCHANGES.to_vec(),
        ..aws_lc_rs::default_provider()
    }
}

#[cfg(test)]
mod tests;
