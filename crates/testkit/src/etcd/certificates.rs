//! An authority, a certificate for all members and one for clients.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, SanType,
};

/// Who the client is to etcd, where users are asked for.
const CLIENT_NAME: &str = "crest";

pub(super) struct Certificates {
    authority: PathBuf,
    server: (PathBuf, PathBuf),
    client: (PathBuf, PathBuf),
}

impl Certificates {
    /// For members at these addresses, and for proxies before them at 127.0.0.1.
    pub(super) fn make(folder: &Path, addresses: &[Ipv4Addr]) -> Self {
        let key = KeyPair::generate().expect("a key can be made");
        let mut params = named("etcd-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = folder.join("ca.crt");
        write(&authority, &params.self_signed(&key).expect("an authority can be made").pem());
        let issuer = Issuer::new(params, key);

        let mut server = named("etcd");
        let all = addresses.iter().chain([&Ipv4Addr::LOCALHOST]);
        server.subject_alt_names = all.map(|address| SanType::IpAddress(IpAddr::V4(*address))).collect();
        // A member is its own client as well: the HTTP gateway.
        server.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let mut client = named(CLIENT_NAME);
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Certificates {
            authority,
            server: leaf(folder, "server", &server, &issuer),
            client: leaf(folder, "client", &client, &issuer),
        }
    }

    pub(super) fn for_clients(&self) -> [&Path; 3] {
        [&self.authority, &self.client.0, &self.client.1]
    }

    pub(super) fn server_arguments(&self) -> [String; 4] {
        [
            format!("--trusted-ca-file={}", self.authority.display()),
            format!("--cert-file={}", self.server.0.display()),
            format!("--key-file={}", self.server.1.display()),
            "--client-cert-auth=true".to_owned(),
        ]
    }
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn leaf(
    folder: &Path,
    name: &str,
    params: &CertificateParams,
    issuer: &Issuer<'_, KeyPair>,
) -> (PathBuf, PathBuf) {
    let key = KeyPair::generate().expect("a key can be made");
    let certificate = params.signed_by(&key, issuer).expect("a certificate can be signed");
    let (certificate_path, key_path) =
        (folder.join(format!("{name}.crt")), folder.join(format!("{name}.key")));
    write(&certificate_path, &certificate.pem());
    write(&key_path, &key.serialize_pem());
    (certificate_path, key_path)
}

fn write(path: &Path, pem: &str) {
    std::fs::write(path, pem).expect("the temporary folder is writable");
}
