//! From a client certificate to a user: the common name is the name, the organizations are the groups.
//!
//! Whether a certificate may be believed is decided by whoever accepts the connection; here it is only read. That is
//! done once per connection, so that a request costs no parsing.
//!
//! Upstream: apiserver/pkg/authentication/request/x509/x509.go, v1.36.

use std::collections::BTreeMap;
use std::fmt::Write;

use aws_lc_rs::digest;
use x509_parser::asn1_rs::{Any, Oid, Tag, oid};
use x509_parser::prelude::{FromDer, X509Certificate};

use super::{Credentials, Objection, Outcome, RequestAuthenticator};
use crate::user::CREDENTIAL_ID;
use crate::{BoxFuture, User, UserInfo};

const COMMON_NAME: Oid<'static> = oid!(2.5.4.3);
const ORGANIZATION: Oid<'static> = oid!(2.5.4.10);
/// A user's uid in a distinguished name; the number belongs to Kubernetes.
const USER_UID: Oid<'static> = oid!(1.3.6.1.4.1.57683.2);

/// What a connection's client certificate says about its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientCertificate {
    /// A client CA vouches for it. Without a common name it names nobody.
    Verified(Option<User>),
    /// It was presented but is not to be believed, for the reason given to the log.
    Rejected(Objection),
}

impl ClientCertificate {
    /// Reads the user from a leaf certificate (DER) whose chain has been verified.
    pub fn from_verified(leaf: &[u8]) -> Self {
        match read_user(leaf) {
            Ok(user) => ClientCertificate::Verified(user.map(User::into_authenticated)),
            Err(objection) => ClientCertificate::Rejected(objection),
        }
    }

    pub fn rejected(reason: impl Into<String>) -> Self {
        ClientCertificate::Rejected(Objection(reason.into()))
    }
}

/// Takes users from client certificates.
pub struct ClientCertificates;

impl RequestAuthenticator for ClientCertificates {
    fn authenticate<'a>(&'a self, credentials: &'a Credentials<'a>) -> BoxFuture<'a, Outcome> {
        crate::ready(match credentials.client_certificate {
            None => Ok(None),
            Some(ClientCertificate::Verified(user)) => Ok(user.clone()),
            Some(ClientCertificate::Rejected(objection)) => Err(objection.clone()),
        })
    }
}

fn read_user(leaf: &[u8]) -> Outcome {
    let (_, certificate) = X509Certificate::from_der(leaf)
        .map_err(|error| Objection(format!("the client certificate cannot be parsed: {error}")))?;
    let mut info = UserInfo::default();
    let mut uids = Vec::new();
    for attribute in certificate.subject().iter_attributes() {
        let value = text(attribute.attr_value());
        let kind = attribute.attr_type();
        if *kind == USER_UID {
            uids.push(value.ok_or_else(|| Objection("unable to parse UID into a string".to_owned()))?);
        } else if let Some(value) = value {
            // Of several common names the last one counts.
            if *kind == COMMON_NAME {
                info.name = value;
            } else if *kind == ORGANIZATION {
                info.groups.push(value);
            }
        }
    }
    if info.name.is_empty() {
        return Ok(None);
    }
    info.uid = only_uid(uids)?;
    info.extra = BTreeMap::from([(CREDENTIAL_ID.to_owned(), vec![credential_id(leaf)])]);
    Ok(Some(User::new(info)))
}

fn only_uid(mut uids: Vec<String>) -> Result<String, Objection> {
    match (uids.pop(), uids.is_empty()) {
        (None, _) => Ok(String::new()),
        (Some(uid), true) if uid.is_empty() => Err(Objection("UID cannot be an empty string".to_owned())),
        (Some(uid), true) => Ok(uid),
        (Some(last), false) => {
            uids.push(last);
            Err(Objection(format!("expected 1 UID, but found multiple: [{}]", uids.join(" "))))
        }
    }
}

fn credential_id(leaf: &[u8]) -> String {
    let mut id = String::from("X509SHA256=");
    for byte in digest::digest(&digest::SHA256, leaf).as_ref() {
        write!(id, "{byte:02x}").expect("a String takes any text");
    }
    id
}

/// The value of an attribute in any of ASN.1's string types; `None` for what is not a string.
fn text(value: &Any<'_>) -> Option<String> {
    let data = value.data;
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::NumericString => {
            std::str::from_utf8(data).ok().map(str::to_owned)
        }
        // Nobody writes real T.61; what is found under its name is Latin-1.
        Tag::T61String => Some(data.iter().map(|&byte| char::from(byte)).collect()),
        Tag::BmpString => {
            let (units, rest) = data.as_chunks::<2>();
            let units = units.iter().map(|&unit| u16::from_be_bytes(unit));
            let text: Option<String> = char::decode_utf16(units).map(Result::ok).collect();
            text.filter(|_| rest.is_empty())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair};

    use super::*;

    const UID: &[u64] = &[1, 3, 6, 1, 4, 1, 57683, 2];

    fn certificate(subject: &[(DnType, DnValue)]) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.distinguished_name = rcgen::DistinguishedName::new();
        for (kind, value) in subject {
            params.distinguished_name.push(kind.clone(), value.clone());
        }
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    fn read(subject: &[(DnType, DnValue)]) -> ClientCertificate {
        ClientCertificate::from_verified(&certificate(subject))
    }

    fn user(subject: &[(DnType, DnValue)]) -> User {
        match read(subject) {
            ClientCertificate::Verified(Some(user)) => user,
            other => panic!("{other:?}"),
        }
    }

    fn utf8(text: &str) -> DnValue {
        DnValue::Utf8String(text.to_owned())
    }

    /// rcgen keeps one value per type; the same number spelt out counts as another type.
    fn second(numbers: &[u64]) -> DnType {
        DnType::CustomDnType(numbers.to_vec())
    }

    #[test]
    fn name_groups_and_uid_come_from_the_subject() {
        let user = user(&[
            (DnType::OrganizationName, utf8("devs")),
            (second(&[2, 5, 4, 10]), utf8("ops")),
            (DnType::OrganizationalUnitName, utf8("ignored")),
            (DnType::CommonName, utf8("jürgen")),
            (second(UID), utf8("1234")),
        ]);
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("jürgen", "1234"));
        assert_eq!(user.groups, ["devs", "ops", "system:authenticated"]);
    }

    #[test]
    fn the_credential_id_is_the_certificate_s_hash() {
        let leaf = certificate(&[(DnType::CommonName, utf8("alice"))]);
        let ClientCertificate::Verified(Some(user)) = ClientCertificate::from_verified(&leaf) else {
            panic!("a named certificate has a user");
        };
        assert_eq!(user.extra["authentication.kubernetes.io/credential-id"], [credential_id(&leaf)]);
        assert_eq!(
            credential_id(b"abc"),
            "X509SHA256=ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn of_two_common_names_the_last_counts() {
        let user = user(&[(DnType::CommonName, utf8("first")), (second(&[2, 5, 4, 3]), utf8("last"))]);
        assert_eq!(user.name, "last");
    }

    #[test]
    fn other_string_types_are_read_too() {
        let value = |text: &str| DnValue::PrintableString(text.try_into().unwrap());
        assert_eq!(user(&[(DnType::CommonName, value("alice"))]).name, "alice");
        let value = DnValue::BmpString("日本".try_into().unwrap());
        assert_eq!(user(&[(DnType::CommonName, value)]).name, "日本");
        let value = DnValue::TeletexString("alice".try_into().unwrap());
        assert_eq!(user(&[(DnType::CommonName, value)]).name, "alice");
    }

    #[test]
    fn a_certificate_without_a_name_is_nobody_s() {
        assert_eq!(
            read(&[(DnType::OrganizationName, utf8("system:masters"))]),
            ClientCertificate::Verified(None)
        );
        assert_eq!(read(&[(DnType::CommonName, utf8(""))]), ClientCertificate::Verified(None));
    }

    #[test]
    fn a_uid_must_be_one_and_not_empty() {
        let name = (DnType::CommonName, utf8("alice"));
        assert_eq!(
            read(&[name.clone(), (second(UID), utf8(""))]),
            ClientCertificate::rejected("UID cannot be an empty string")
        );
        let uids = |uids: &[&str]| only_uid(uids.iter().map(|&uid| uid.to_owned()).collect());
        assert_eq!(uids(&["a", "b"]).unwrap_err().0, "expected 1 UID, but found multiple: [a b]");
        assert_eq!(uids(&[]).unwrap(), "");
    }

    #[test]
    fn rubbish_is_rejected() {
        for leaf in [&b""[..], b"\x30\x03\x02\x01\x01", &[0xff; 64]] {
            assert!(matches!(ClientCertificate::from_verified(leaf), ClientCertificate::Rejected(_)));
        }
    }
}
