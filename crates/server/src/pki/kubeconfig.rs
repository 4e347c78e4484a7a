//! The admin's access file, for `kubectl --kubeconfig`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::files::{self, SECRET};
use super::{Identity, PkiError};

/// What a client needs to reach the server as somebody.
#[derive(Clone, Copy, Debug)]
pub struct Kubeconfig<'a> {
    /// `https://…`, see [`server_url`].
    pub server: &'a str,
    /// What the client knows the server by: an authority, or the server's own certificate.
    pub authority_pem: &'a str,
    pub user: &'a Identity,
}

/// Where clients on this machine reach a server bound to `address`.
pub fn server_url(address: SocketAddr) -> String {
    let host = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    format!("https://{}", SocketAddr::new(host, address.port()))
}

/// Writes the file for its owner only, unless exactly that is there already.
pub fn write(path: &Path, kubeconfig: &Kubeconfig<'_>) -> Result<(), PkiError> {
    let text = kubeconfig.to_yaml();
    let is_secret = || std::fs::metadata(path).is_ok_and(|file| file.permissions().mode() & 0o777 == SECRET);
    if files::read_if_there(path)?.is_some_and(|there| there == text.as_bytes()) && is_secret() {
        return Ok(());
    }
    files::write(path, text.as_bytes(), SECRET)
}

impl Kubeconfig<'_> {
    /// Every value is base64, a URL or a constant, so nothing needs quoting.
    pub fn to_yaml(&self) -> String {
        format!(
            "\
apiVersion: v1
kind: Config
clusters:
- name: crest
  cluster:
    certificate-authority-data: {authority}
    server: {server}
contexts:
- name: crest
  context:
    cluster: crest
    user: crest-admin
current-context: crest
users:
- name: crest-admin
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
",
            authority = STANDARD.encode(self.authority_pem),
            server = self.server,
            certificate = STANDARD.encode(&self.user.certificate_pem),
            key = STANDARD.encode(&self.user.key_pem),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::pki::testing;

    #[test]
    fn clients_on_this_machine_reach_a_server_bound_to_everything() {
        for (address, url) in [
            ("127.0.0.1:6443", "https://127.0.0.1:6443"),
            ("0.0.0.0:43210", "https://127.0.0.1:43210"),
            ("[::]:6443", "https://[::1]:6443"),
            ("192.168.7.7:443", "https://192.168.7.7:443"),
            ("[fd00::7]:6443", "https://[fd00::7]:6443"),
        ] {
            assert_eq!(server_url(address.parse().unwrap()), url);
        }
    }

    #[test]
    fn the_file_holds_everything_and_is_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let pki = testing::pki(&folder.path().join("pki"));
        let path = folder.path().join("admin.kubeconfig");
        let kubeconfig = Kubeconfig {
            server: "https://127.0.0.1:6443",
            authority_pem: &pki.authority_pem,
            user: &pki.admin,
        };
        write(&path, &kubeconfig).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, kubeconfig.to_yaml());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.trim_start().strip_prefix(key)).unwrap();
            String::from_utf8(STANDARD.decode(line.trim()).unwrap()).unwrap()
        };
        assert_eq!(value("certificate-authority-data:"), pki.authority_pem);
        assert_eq!(value("client-certificate-data:"), pki.admin.certificate_pem);
        assert_eq!(value("client-key-data:"), pki.admin.key_pem);
        assert!(text.contains("\n    server: https://127.0.0.1:6443\n"));
    }

    #[test]
    fn an_unchanged_file_is_left_alone_and_a_readable_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let pki = testing::pki(&folder.path().join("pki"));
        let path = folder.path().join("admin.kubeconfig");
        let at = |server| Kubeconfig { server, authority_pem: &pki.authority_pem, user: &pki.admin };
        let inode = || std::os::unix::fs::MetadataExt::ino(&fs::metadata(&path).unwrap());
        write(&path, &at("https://127.0.0.1:1")).unwrap();
        // Holds the number, so that it is not given out again.
        let held = fs::File::open(&path).unwrap();
        let first = inode();
        write(&path, &at("https://127.0.0.1:1")).unwrap();
        assert_eq!(inode(), first);
        write(&path, &at("https://127.0.0.1:2")).unwrap();
        assert_ne!(inode(), first);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        write(&path, &at("https://127.0.0.1:2")).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        drop(held);
    }
}
