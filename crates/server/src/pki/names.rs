//! The names and addresses that the serving certificate must be good for.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

use rcgen::SanType;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

/// The first address of the default service network, under which pods know the API server.
const SERVICE_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// What clients may call the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingNames {
    /// Lower case.
    dns: BTreeSet<String>,
    addresses: BTreeSet<IpAddr>,
}

impl ServingNames {
    /// This machine's loopback names, the names of the service `kubernetes`, and what it is bound to.
    ///
    /// `host_name` and `more` are left out where no certificate could hold them.
    pub fn new(bind_address: IpAddr, host_name: Option<&str>, more: &[IpAddr]) -> Self {
        let services = [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let host_name = host_name.map(str::to_ascii_lowercase).filter(|name| is_dns_name(name));
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST), SERVICE_ADDRESS];
        ServingNames {
            dns: services.into_iter().chain(["localhost"]).map(str::to_owned).chain(host_name).collect(),
            addresses: loopback
                .into_iter()
                .chain([bind_address])
                .chain(more.iter().copied())
                .filter(|address| !address.is_unspecified())
                .collect(),
        }
    }

    /// Also what a load balancer before it is called; `None` when that is neither a name nor an address.
    #[must_use]
    pub fn and(mut self, host: &str) -> Option<Self> {
        let name = host.to_ascii_lowercase();
        match host.parse::<IpAddr>() {
            Ok(address) => {
                self.addresses.insert(address);
            }
            Err(_) if is_dns_name(&name) => {
                self.dns.insert(name);
            }
            Err(_) => return None,
        }
        Some(self)
    }

    pub(super) fn to_san(&self) -> Result<Vec<SanType>, rcgen::Error> {
        let names = self.dns.iter().map(|name| Ok(SanType::DnsName(name.as_str().try_into()?)));
        names.chain(self.addresses.iter().map(|&address| Ok(SanType::IpAddress(address)))).collect()
    }

    /// The first name that a certificate is not good for.
    pub(super) fn missing_from(&self, certificate: &X509Certificate<'_>) -> Option<String> {
        let names = match certificate.subject_alternative_name() {
            Ok(Some(names)) => names.value.general_names.as_slice(),
            _ => &[],
        };
        let has = |wanted: &GeneralName<'_>| names.contains(wanted);
        let dns = self.dns.iter().find(|name| !has(&GeneralName::DNSName(name)));
        let address = || self.addresses.iter().find(|&&address| !has_address(names, address));
        dns.cloned().or_else(|| address().map(IpAddr::to_string))
    }
}

fn has_address(names: &[GeneralName<'_>], address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => names.contains(&GeneralName::IPAddress(&address.octets())),
        IpAddr::V6(address) => names.contains(&GeneralName::IPAddress(&address.octets())),
    }
}

fn is_dns_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

/// What the machine calls itself.
pub fn host_name() -> Option<String> {
    rustix::system::uname().nodename().to_str().ok().map(str::to_owned)
}

/// The address that others most likely reach this machine by, for a server that is bound to all of them.
///
/// Asks the routing table; nothing is sent.
pub fn outward_address() -> Option<IpAddr> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
    socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|address| !address.is_unspecified())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &ServingNames) -> String {
        let addresses = names.addresses.iter().map(IpAddr::to_string);
        names.dns.iter().cloned().chain(addresses).collect::<Vec<_>>().join(" ")
    }

    const ALWAYS: &str =
        "kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local localhost";

    #[test]
    fn a_load_balancer_is_named_too() {
        let names = ServingNames::new(Ipv4Addr::LOCALHOST.into(), None, &[]);
        let more = names.clone().and("API.example.com").and_then(|names| names.and("192.0.2.9")).unwrap();
        assert!(texts(&more).contains("api.example.com") && texts(&more).contains("192.0.2.9"));
        for wrong in ["", "https://api.example.com", "api:6443", "a..b"] {
            assert_eq!(names.clone().and(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn loopback_service_host_and_bind_address_are_served() {
        let names = ServingNames::new([192, 168, 7, 7].into(), Some("Box.Example"), &[[10, 1, 1, 1].into()]);
        assert_eq!(
            texts(&names),
            format!("box.example {ALWAYS} 10.0.0.1 10.1.1.1 127.0.0.1 192.168.7.7 ::1")
        );
    }

    #[test]
    fn what_a_certificate_cannot_hold_is_left_out() {
        for host in ["", "a..b", "-a", "a b", "größe", &"a".repeat(64), "*"] {
            let names = ServingNames::new(Ipv4Addr::UNSPECIFIED.into(), Some(host), &[]);
            assert_eq!(texts(&names), format!("{ALWAYS} 10.0.0.1 127.0.0.1 ::1"), "{host:?}");
        }
    }
}
