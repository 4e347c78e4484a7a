//! IP addresses and networks, read as Go's `netip` reads them.

use std::any::Any;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::library::quoted as quote;
use crate::{EvalError, Evaluated, Function, Library, Opaque, Overload, Type, Value};

const IP_TYPE: &str = "net.IP";
const CIDR_TYPE: &str = "net.CIDR";

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ip(IpAddr);

/// A network: an address, not necessarily masked, and the length of the prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Opaque for Ip {
    fn type_name(&self) -> &'static str {
        IP_TYPE
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        other.downcast::<Ip>().map(|other| self == other)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn size(&self) -> Option<u64> {
        Some(if self.0.is_ipv4() { 4 } else { 16 })
    }
}

impl Opaque for Cidr {
    fn type_name(&self) -> &'static str {
        CIDR_TYPE
    }

    fn equals(&self, other: &Value<'_>) -> Option<bool> {
        other.downcast::<Cidr>().map(|other| self == other)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn size(&self) -> Option<u64> {
        Some(u64::from(self.bits.div_ceil(8)))
    }
}

impl Cidr {
    fn masked(self) -> Cidr {
        let address = match self.address {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Cidr { address, bits: self.bits }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4()
            && Cidr { address, bits: self.bits }.masked() == self.masked()
    }

    fn contains_network(self, other: Cidr) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

pub(super) fn add(library: Library) -> Library {
    let (ip, cidr) = (|| Type::opaque(IP_TYPE), || Type::opaque(CIDR_TYPE));
    let text = |name: &str, id: &str, result: Type, f: fn(&str) -> Evaluated<'static>| {
        let overload = Overload::global(id, [Type::String], result).implemented(move |args| match args {
            [Value::String(text)] => f(text),
            _ => Err(EvalError::no_such_overload()),
        });
        Function::new(name).overload(overload)
    };
    let on_ip = |name: &str, id: &str, result: Type, f: fn(IpAddr) -> Value<'static>| {
        Function::new(name).overload(
            Overload::member(id, [ip()], result).implemented(move |args| one::<Ip>(args).map(|ip| f(ip.0))),
        )
    };
    let on_cidr = |name: &str, id: &str, result: Type, f: fn(Cidr) -> Value<'static>| {
        Function::new(name).overload(
            Overload::member(id, [cidr()], result).implemented(move |args| one::<Cidr>(args).map(|c| f(*c))),
        )
    };
    let to_text = |id: &str, ty: Type, f: fn(&[Value<'_>]) -> Result<String, EvalError>| {
        Overload::global(id, [ty], Type::String).implemented(move |args| f(args).map(Value::from))
    };
    library
        .type_name(IP_TYPE, ip())
        .type_name(CIDR_TYPE, cidr())
        .function(text("ip", "string_to_ip", ip(), |text| checked_ip(text).map(|ip| Value::opaque(Ip(ip)))))
        .function(text("isIP", "is_ip", Type::Bool, |text| Ok(Value::Bool(checked_ip(text).is_ok()))))
        .function(text("ip.isCanonical", "ip_is_canonical", Type::Bool, |text| {
            checked_ip(text).map(|ip| Value::Bool(ip.to_string() == text))
        }))
        .function(text("cidr", "string_to_cidr", cidr(), |text| checked_cidr(text).map(Value::opaque)))
        .function(text("isCIDR", "is_cidr", Type::Bool, |text| Ok(Value::Bool(checked_cidr(text).is_ok()))))
        .function(Function::new("string").overloads([
            to_text("ip_to_string", ip(), |args| one::<Ip>(args).map(|ip| ip.0.to_string())),
            to_text("cidr_to_string", cidr(), |args| {
                one::<Cidr>(args).map(|cidr| format!("{}/{}", cidr.address, cidr.bits))
            }),
        ]))
        .function(on_ip("family", "ip_family", Type::Int, |ip| Value::Int(if ip.is_ipv4() { 4 } else { 6 })))
        .function(on_ip("isUnspecified", "ip_is_unspecified", Type::Bool, |ip| {
            Value::Bool(ip.is_unspecified())
        }))
        .function(on_ip("isLoopback", "ip_is_loopback", Type::Bool, |ip| Value::Bool(ip.is_loopback())))
        .function(on_ip("isLinkLocalMulticast", "ip_is_link_local_multicast", Type::Bool, |ip| {
            Value::Bool(is_link_local_multicast(ip))
        }))
        .function(on_ip("isLinkLocalUnicast", "ip_is_link_local_unicast", Type::Bool, |ip| {
            Value::Bool(is_link_local_unicast(ip))
        }))
        .function(on_ip("isGlobalUnicast", "ip_is_global_unicast", Type::Bool, |ip| {
            Value::Bool(is_global_unicast(ip))
        }))
        .function(on_cidr("ip", "cidr_ip", ip(), |cidr| Value::opaque(Ip(cidr.address))))
        .function(on_cidr("masked", "cidr_masked", cidr(), |cidr| Value::opaque(cidr.masked())))
        .function(on_cidr("prefixLength", "cidr_prefix_length", Type::Int, |cidr| {
            Value::Int(i64::from(cidr.bits))
        }))
        .function(
            Function::new("containsIP").overloads([
                Overload::member("cidr_contains_ip_string", [cidr(), Type::String], Type::Bool)
                    .implemented(contains_ip),
                Overload::member("cidr_contains_ip_ip", [cidr(), ip()], Type::Bool).implemented(contains_ip),
            ]),
        )
        .function(
            Function::new("containsCIDR").overloads([
                Overload::member("cidr_contains_cidr_string", [cidr(), Type::String], Type::Bool)
                    .implemented(contains_cidr),
                Overload::member("cidr_contains_cidr", [cidr(), cidr()], Type::Bool)
                    .implemented(contains_cidr),
            ]),
        )
}

/// The only argument.
fn one<'v, T: 'static>(args: &'v [Value<'_>]) -> Result<&'v T, EvalError> {
    match args {
        [only] => only.downcast().ok_or_else(EvalError::no_such_overload),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn contains_ip<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [network, address] = args else { return Err(EvalError::no_such_overload()) };
    let network = network.downcast::<Cidr>().ok_or_else(EvalError::no_such_overload)?;
    let address = match address {
        // The reference loses the reason why text is no address.
        Value::String(text) => checked_ip(text).ok(),
        other => other.downcast::<Ip>().map(|ip| ip.0),
    };
    address.map(|address| Value::Bool(network.contains(address))).ok_or_else(EvalError::no_such_overload)
}

fn contains_cidr<'a>(args: &[Value<'a>]) -> Evaluated<'a> {
    let [network, other] = args else { return Err(EvalError::no_such_overload()) };
    let network = network.downcast::<Cidr>().ok_or_else(EvalError::no_such_overload)?;
    let other = match other {
        Value::String(text) => checked_cidr(text)?,
        other => *other.downcast::<Cidr>().ok_or_else(EvalError::no_such_overload)?,
    };
    Ok(Value::Bool(network.contains_network(other)))
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !is_broadcast
        && !ip.is_unspecified()
        && !ip.is_loopback()
        && !ip.is_multicast()
        && !is_link_local_unicast(ip)
}

/// An address without zone that is not an IPv4 address in disguise.
fn checked_ip(text: &str) -> Result<IpAddr, EvalError> {
    let shown = quote(text);
    let (ip, has_zone) = parse_address(text).map_err(|error| {
        EvalError::new(format!("IP Address {shown} parse error during conversion from string: {error}"))
    })?;
    if has_zone {
        return Err(EvalError::new(format!("IP address {shown} with zone value is not allowed")));
    }
    if is_mapped(ip) {
        return Err(EvalError::new(format!("IPv4-mapped IPv6 address {shown} is not allowed")));
    }
    Ok(ip)
}

fn checked_cidr(text: &str) -> Result<Cidr, EvalError> {
    const CONTEXT: &str = "network address parse error during conversion from string";
    let cidr = parse_prefix(text).map_err(|why| {
        EvalError::new(format!("{CONTEXT}: {CONTEXT}: netip.ParsePrefix({}): {why}", quote(text)))
    })?;
    if is_mapped(cidr.address) {
        let shown = quote(text);
        return Err(EvalError::new(format!("{CONTEXT}: IPv4-mapped IPv6 address {shown} is not allowed")));
    }
    Ok(cidr)
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

fn parse_prefix(text: &str) -> Result<Cidr, String> {
    let (address, bits_text) = text.rsplit_once('/').ok_or("no '/'")?;
    let (address, has_zone) = parse_address(address)?;
    if has_zone {
        return Err("IPv6 zones cannot be present in a prefix".to_owned());
    }
    let bad_bits = || format!("bad bits after slash: {}", quote(bits_text));
    if bits_text.len() > 1 && !bits_text.starts_with(|c: char| ('1'..='9').contains(&c)) {
        return Err(bad_bits());
    }
    let bits: i64 = bits_text.parse().map_err(|_| bad_bits())?;
    let max = if address.is_ipv4() { 32 } else { 128 };
    match u8::try_from(bits) {
        Ok(bits) if bits <= max => Ok(Cidr { address, bits }),
        _ => Err("prefix length out of range".to_owned()),
    }
}

/// An address, and whether it has a zone. The error is Go's text.
pub(super) fn parse_address(text: &str) -> Result<(IpAddr, bool), String> {
    let describe = |(message, at): (&str, &str)| {
        let place = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
        format!("ParseAddr({}): {message}{place}", quote(text))
    };
    match text.find(['.', ':', '%']).map(|at| text.as_bytes()[at]) {
        Some(b'.') => parse_v4(text).map(|ip| (IpAddr::V4(ip), false)).map_err(describe),
        Some(b':') => {
            let (address, zone) = text.split_once('%').map_or((text, None), |(ip, zone)| (ip, Some(zone)));
            if zone == Some("") {
                return Err(describe(("zone must be a non-empty string", "")));
            }
            parse_v6(address).map(|ip| (IpAddr::V6(ip), zone.is_some())).map_err(describe)
        }
        Some(_) => Err(describe(("missing IPv6 address", ""))),
        None => Err(describe(("unable to parse IP", ""))),
    }
}

/// What is wrong, and from where on.
type Problem<'t> = (&'static str, &'t str);

fn parse_v4(text: &str) -> Result<Ipv4Addr, Problem<'_>> {
    let bytes = text.as_bytes();
    let mut octets = [0_u8; 4];
    let (mut position, mut value, mut digits) = (0, 0_u32, 0);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                octets[position] = u8::try_from(value).map_err(|_| ("IPv4 field has value >255", ""))?;
            }
            b'.' => {
                if at == 0 || at == bytes.len() - 1 || bytes[at - 1] == b'.' {
                    return Err(("IPv4 field must have at least one digit", &text[at..]));
                }
                if position == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                position += 1;
                (value, digits) = (0, 0);
            }
            _ => return Err(("unexpected character", text.get(at..).unwrap_or_default())),
        }
    }
    if position < 3 { Err(("IPv4 address too short", "")) } else { Ok(Ipv4Addr::from(octets)) }
}

fn parse_v6(text: &str) -> Result<Ipv6Addr, Problem<'_>> {
    let mut groups: Vec<u16> = Vec::with_capacity(8);
    let mut ellipsis = None;
    let mut rest = text;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok(Ipv6Addr::UNSPECIFIED);
        }
    }
    while groups.len() < 8 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", rest));
        }
        if rest[digits..].starts_with('.') {
            if ellipsis.is_none() && groups.len() != 6 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", rest));
            }
            if groups.len() > 6 {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", rest));
            }
            let [a, b, c, d] = parse_v4(rest)?.octets();
            groups.extend([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]);
            rest = "";
            break;
        }
        groups.push(u16::from_str_radix(&rest[..digits], 16).unwrap_or(0));
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        let Some(after) = rest.strip_prefix(':') else {
            return Err(("unexpected character, want colon", rest));
        };
        if after.is_empty() {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            if ellipsis.is_some() {
                return Err(("multiple :: in address", rest));
            }
            ellipsis = Some(groups.len());
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match ellipsis {
        None if groups.len() < 8 => return Err(("address string too short", "")),
        Some(_) if groups.len() == 8 => {
            return Err(("the :: must expand to at least one field of zeros", ""));
        }
        Some(at) => {
            let zeros = std::iter::repeat_n(0, 8 - groups.len());
            groups.splice(at..at, zeros.collect::<Vec<u16>>());
        }
        None => {}
    }
    let mut segments = [0; 8];
    segments.copy_from_slice(&groups);
    Ok(Ipv6Addr::from(segments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        for (text, expected) in [
            ("127.0.0.256", "ParseAddr(\"127.0.0.256\"): IPv4 field has value >255"),
            ("1.2.3", "ParseAddr(\"1.2.3\"): IPv4 address too short"),
            ("01.2.3.4", "ParseAddr(\"01.2.3.4\"): IPv4 field has octet with leading zero"),
            ("1..2.3", "ParseAddr(\"1..2.3\"): IPv4 field must have at least one digit (at \".2.3\")"),
            ("abc", "ParseAddr(\"abc\"): unable to parse IP"),
            ("1::2::3", "ParseAddr(\"1::2::3\"): multiple :: in address (at \":3\")"),
            ("1:2", "ParseAddr(\"1:2\"): address string too short"),
        ] {
            assert_eq!(parse_address(text).unwrap_err(), expected);
        }
        for text in ["::", "::1", "2001:db8::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "10.0.0.1"] {
            assert_eq!(parse_address(text).unwrap().0, text.parse::<IpAddr>().unwrap(), "{text}");
        }
    }

    #[test]
    fn networks_mask_and_contain() {
        let network = checked_cidr("10.1.2.3/8").unwrap();
        assert_eq!(network.masked().address.to_string(), "10.0.0.0");
        assert!(network.contains("10.9.9.9".parse().unwrap()));
        assert!(!network.contains("::1".parse().unwrap()));
        assert!(network.contains_network(checked_cidr("10.1.0.0/16").unwrap()));
        assert!(!checked_cidr("10.1.0.0/16").unwrap().contains_network(network));
        assert!(checked_cidr("0.0.0.0/0").unwrap().contains("1.1.1.1".parse().unwrap()));
        assert!(checked_cidr("10.0.0.0/08").is_err());
    }
}
