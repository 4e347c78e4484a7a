//! Handshakes in one process, with and without client certificates.

use std::io;

use auth::authn::ClientCertificate;
use rustls::client::{ClientConfig, ResolvesClientCert, Resumption};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::time_provider::TimeProvider;
use rustls::{HandshakeKind, ProtocolVersion, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::*;
use crate::pki::client_certs::tests::{TUTORIAL_CLIENT, TUTORIAL_KEY};
use crate::pki::testing::{self, ALWAYS, Client, Signer, now};
use crate::pki::{PeerCertificate, Pki, authority};

struct Server {
    pki: Pki,
    corp: Signer,
    roots: ClientRoots,
    config: Arc<ServerConfig>,
}

/// Believes its own authority and another one.
fn server() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let pki = testing::pki(folder.path());
    let corp = Signer::new("corp", ALWAYS);
    let roots = ClientRoots::from_certificates(&[pki.authority.clone(), corp.certificate.clone()]).unwrap();
    let config = server_config(pki.serving.as_ref().unwrap(), &roots).unwrap();
    Server { pki, corp, roots, config }
}

/// What the server knows of a connection.
struct Seen {
    chain: Vec<CertificateDer<'static>>,
    protocol: Option<Vec<u8>>,
    version: ProtocolVersion,
    suite: rustls::CipherSuite,
    kind: HandshakeKind,
    exchange: Option<rustls::NamedGroup>,
}

#[derive(Debug)]
struct FixedTime;

impl TimeProvider for FixedTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(authority::unix_time(now()))
    }
}

/// Shows its certificate whatever the server asks for, and whether or not the key belongs to it.
#[derive(Debug)]
struct Shows(Arc<CertifiedKey>);

impl ResolvesClientCert for Shows {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn client_config(
    server: &Server,
    versions: &[&'static SupportedProtocolVersion],
    client: Option<Client>,
) -> Arc<ClientConfig> {
    client_config_with(server, aws_lc_rs::default_provider(), versions, client)
}

fn client_config_with(
    server: &Server,
    provider: CryptoProvider,
    versions: &[&'static SupportedProtocolVersion],
    client: Option<Client>,
) -> Arc<ClientConfig> {
    let mut authorities = RootCertStore::empty();
    authorities.add(server.pki.authority.clone()).unwrap();
    let builder = ClientConfig::builder_with_details(Arc::new(provider), Arc::new(FixedTime))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(authorities);
    let mut config = match client {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let key = aws_lc_rs::sign::any_supported_type(&client.key).unwrap();
            builder.with_client_cert_resolver(Arc::new(Shows(Arc::new(CertifiedKey::new(client.chain, key)))))
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    config.resumption = Resumption::in_memory_sessions(8);
    Arc::new(config)
}

/// One connection with a byte sent each way: only then has each side seen what the other thinks of it.
async fn connect(server: &Server, client: &Arc<ClientConfig>, name: &'static str) -> io::Result<Seen> {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let acceptor = TlsAcceptor::from(Arc::clone(&server.config));
    let accept = async move {
        let mut stream = acceptor.accept(far).await?;
        let mut byte = [0];
        stream.read_exact(&mut byte).await?;
        stream.write_all(&byte).await?;
        stream.flush().await?;
        let (_, connection) = stream.get_ref();
        Ok::<_, io::Error>(Seen {
            chain: connection
                .peer_certificates()
                .unwrap_or_default()
                .iter()
                .map(|c| c.clone().into_owned())
                .collect(),
            protocol: connection.alpn_protocol().map(<[u8]>::to_vec),
            version: connection.protocol_version().unwrap(),
            suite: connection.negotiated_cipher_suite().unwrap().suite(),
            kind: connection.handshake_kind().unwrap(),
            exchange: connection.negotiated_key_exchange_group().map(SupportedKxGroup::name),
        })
    };
    let connector = TlsConnector::from(Arc::clone(client));
    let connect = async move {
        let mut stream = connector.connect(ServerName::try_from(name).unwrap(), near).await?;
        stream.write_all(b"x").await?;
        stream.flush().await?;
        let mut byte = [0];
        stream.read_exact(&mut byte).await?;
        Ok::<_, io::Error>(())
    };
    let (seen, connected) = tokio::join!(accept, connect);
    let seen = seen?;
    connected.map(|()| seen)
}

async fn shown(server: &Server, client: Client) -> ClientCertificate {
    let config = client_config(server, &[&TLS13], Some(client));
    let seen = connect(server, &config, "localhost").await.unwrap();
    PeerCertificate::judge(&seen.chain, &server.roots, now()).unwrap().at(now()).clone()
}

fn admin(server: &Server) -> Client {
    let admin = &server.pki.admin;
    Client { chain: admin.chain.clone(), key: admin.key.clone_key() }
}

#[tokio::test]
async fn a_client_without_a_certificate_is_served() {
    let server = server();
    let seen = connect(&server, &client_config(&server, &[&TLS13, &TLS12], None), "localhost").await.unwrap();
    assert!(seen.chain.is_empty());
    assert_eq!(seen.protocol.as_deref(), Some(&b"h2"[..]));
    assert_eq!(seen.version, ProtocolVersion::TLSv1_3);
    assert_eq!(seen.suite, rustls::CipherSuite::TLS13_AES_128_GCM_SHA256);
}

#[tokio::test]
async fn the_key_exchange_is_the_best_that_the_client_has_begun() {
    let server = server();
    for (groups, expected) in [
        (vec![kx_group::X25519MLKEM768, kx_group::X25519], rustls::NamedGroup::X25519MLKEM768),
        // Another round trip would cost more than it is worth.
        (vec![kx_group::X25519, kx_group::X25519MLKEM768], rustls::NamedGroup::X25519),
        (vec![kx_group::SECP256R1], rustls::NamedGroup::secp256r1),
    ] {
        let provider = CryptoProvider { kx_groups: groups, ..aws_lc_rs::default_provider() };
        let config = client_config_with(&server, provider, &[&TLS13], None);
        let seen = connect(&server, &config, "localhost").await.unwrap();
        assert_eq!((seen.exchange, seen.kind), (Some(expected), HandshakeKind::Full));
    }
}

#[tokio::test]
async fn the_server_is_known_by_all_its_names() {
    let server = server();
    let config = client_config(&server, &[&TLS13], None);
    for name in ["localhost", "127.0.0.1", "::1", "box", "kubernetes.default.svc.cluster.local", "10.0.0.1"] {
        connect(&server, &config, name).await.expect(name);
    }
    assert!(connect(&server, &config, "elsewhere").await.is_err());
}

#[tokio::test]
async fn tls_1_2_is_still_spoken() {
    let server = server();
    let config = client_config(&server, &[&TLS12], Some(admin(&server)));
    let seen = connect(&server, &config, "localhost").await.unwrap();
    assert_eq!(seen.version, ProtocolVersion::TLSv1_2);
    assert_eq!(seen.suite, rustls::CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256);
    assert_eq!(seen.chain, server.pki.admin.chain);
}

#[tokio::test]
async fn the_admin_certificate_is_the_admin() {
    let server = server();
    let ClientCertificate::Verified(Some(user)) = shown(&server, admin(&server)).await else {
        panic!("the server's own authority vouches for the admin");
    };
    assert_eq!(user.name, "kubernetes-admin");
    assert_eq!(user.groups, ["system:masters", "system:authenticated"]);
}

#[tokio::test]
async fn other_authorities_vouch_too() {
    let server = server();
    let client = server.corp.client("alice", ALWAYS);
    let ClientCertificate::Verified(Some(user)) = shown(&server, client).await else {
        panic!("corp is believed");
    };
    assert_eq!(user.name, "alice");
}

#[tokio::test]
async fn bad_certificates_get_through_the_handshake_but_are_not_believed() {
    let server = server();
    for client in [
        Signer::new("stranger", ALWAYS).client("mallory", ALWAYS),
        server.corp.client("alice", (2020, 2025)),
        server.corp.client("alice", (2050, 2060)),
    ] {
        assert!(matches!(shown(&server, client).await, ClientCertificate::Rejected(_)));
    }
}

#[tokio::test]
async fn certificates_of_version_1_get_through_with_their_key_only() {
    let server = server();
    let chain = vec![CertificateDer::from_pem_slice(TUTORIAL_CLIENT.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(TUTORIAL_KEY.as_bytes()).unwrap();
    for version in [&TLS13, &TLS12] {
        let with = |key| client_config(&server, &[version], Some(Client { chain: chain.clone(), key }));
        let seen = connect(&server, &with(key.clone_key()), "localhost").await.unwrap();
        assert_eq!(seen.chain, chain, "{version:?}");
        let other = server.pki.admin.key.clone_key();
        assert!(connect(&server, &with(other), "localhost").await.is_err(), "{version:?}");
    }
}

#[tokio::test]
async fn a_certificate_without_its_key_ends_the_handshake() {
    let server = server();
    let stolen =
        Client { chain: server.pki.admin.chain.clone(), key: server.corp.client("mallory", ALWAYS).key };
    for version in [&TLS13, &TLS12] {
        let stolen = Client { chain: stolen.chain.clone(), key: stolen.key.clone_key() };
        let config = client_config(&server, &[version], Some(stolen));
        assert!(connect(&server, &config, "localhost").await.is_err(), "{version:?}");
    }
}

#[tokio::test]
async fn a_client_that_comes_again_resumes_with_its_certificate() {
    let server = server();
    for version in [&TLS13, &TLS12] {
        let config = client_config(&server, &[version], Some(admin(&server)));
        let first = connect(&server, &config, "localhost").await.unwrap();
        let second = connect(&server, &config, "localhost").await.unwrap();
        assert_eq!((first.kind, second.kind), (HandshakeKind::Full, HandshakeKind::Resumed), "{version:?}");
        assert_eq!(second.chain, server.pki.admin.chain, "{version:?}");
    }
}

#[tokio::test]
async fn without_authorities_no_certificate_is_asked_for() {
    let mut server = server();
    server.config = server_config(server.pki.serving.as_ref().unwrap(), &ClientRoots::default()).unwrap();
    let config = client_config(&server, &[&TLS13], Some(admin(&server)));
    assert!(connect(&server, &config, "localhost").await.unwrap().chain.is_empty());
}

#[test]
fn given_certificate_and_key_files_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let pki = testing::pki(folder.path());
    let path = |name: &str| folder.path().join(name);
    let identity = Identity::load(&path("apiserver.crt"), &path("apiserver.key")).unwrap();
    assert_eq!(identity.chain, pki.serving.unwrap().chain);
    assert_eq!(format!("{identity:?}"), "Identity { certificates: 1, .. }");
    server_config(&identity, &ClientRoots::default()).unwrap();
    let remedy = "give a PEM file with the server's certificate and one with its unencrypted private key";
    for (certificate, key, expected) in [
        ("none.crt", "apiserver.key", "'none.crt' does not exist"),
        ("apiserver.crt", "none.key", "'none.key' does not exist"),
        ("apiserver.key", "apiserver.key", "'apiserver.key' contains no certificate"),
        ("apiserver.crt", "apiserver.crt", "'apiserver.crt' contains no private key"),
        ("apiserver.crt", "admin.key", "'apiserver.crt' does not belong to the private key 'admin.key'"),
    ] {
        let error = Identity::load(&path(certificate), &path(key)).unwrap_err().to_string();
        let error = error.replace(&format!("{}/", folder.path().display()), "");
        assert_eq!(error, format!("{expected}; {remedy}"));
    }
}

#[test]
fn one_file_may_hold_certificate_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let serving = testing::pki(folder.path()).serving.unwrap();
    let path = folder.path().join("both.pem");
    std::fs::write(&path, format!("{}{}", serving.key_pem, serving.certificate_pem)).unwrap();
    assert_eq!(Identity::load(&path, &path).unwrap().chain, serving.chain);
}
