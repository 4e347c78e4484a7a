//! Chains that are believed, and those that are not.

use rcgen::ExtendedKeyUsagePurpose;
use rustls::pki_types::pem::PemObject;

use super::*;
use crate::pki::testing::{ALWAYS, Client, Signer, now};

fn roots(signers: &[&Signer]) -> ClientRoots {
    let certificates: Vec<_> = signers.iter().map(|signer| signer.certificate.clone()).collect();
    ClientRoots::from_certificates(&certificates).unwrap()
}

fn year(year: i32) -> Timestamp {
    format!("{year}-01-01T00:00:00Z").parse().unwrap()
}

fn judge(client: &Client, roots: &ClientRoots) -> String {
    show(PeerCertificate::judge(&client.chain, roots, now()).unwrap().at(now()))
}

/// The user, or the reason without the certificate's numbers.
fn show(certificate: &ClientCertificate) -> String {
    match certificate {
        ClientCertificate::Verified(Some(user)) => user.name.clone(),
        ClientCertificate::Verified(None) => "nobody".to_owned(),
        ClientCertificate::Rejected(objection) => {
            let text = objection.to_string();
            let (head, reason) = text.split_once(" failed: x509: ").expect(&text);
            assert!(head.starts_with("verifying certificate SN="), "{text}");
            reason.to_owned()
        }
    }
}

const STRANGER: &str = "certificate signed by unknown authority";
const WRONG_USE: &str = "certificate specifies an incompatible key usage";

fn out_of_time(word: &str, year: i32) -> String {
    let now = now();
    format!(
        "certificate has expired or is not yet valid: current time {now} is {word} {year}-01-01T00:00:00Z"
    )
}

#[test]
fn a_chain_to_a_root_is_believed() {
    let (ours, corp) = (Signer::new("ours", ALWAYS), Signer::new("corp", ALWAYS));
    let both = roots(&[&ours]).and(&roots(&[&corp]));
    assert_eq!(judge(&ours.client("alice", ALWAYS), &both), "alice");
    assert_eq!(judge(&corp.client("bob", ALWAYS), &both), "bob");
}

#[test]
fn strangers_and_the_ended_and_the_early_are_not() {
    let (ours, other) = (Signer::new("ours", ALWAYS), Signer::new("other", ALWAYS));
    let roots = roots(&[&ours]);
    assert_eq!(judge(&other.client("mallory", ALWAYS), &roots), STRANGER);
    // The same name, another key.
    assert_eq!(judge(&Signer::new("ours", ALWAYS).client("mallory", ALWAYS), &roots), STRANGER);
    assert_eq!(judge(&ours.client("alice", (2020, 2025)), &roots), out_of_time("after", 2025));
    assert_eq!(judge(&ours.client("alice", (2050, 2060)), &roots), out_of_time("before", 2050));
}

#[test]
fn a_certificate_must_be_for_clients_if_it_says_what_for() {
    let ours = Signer::new("ours", ALWAYS);
    let roots = roots(&[&ours]);
    let with = |uses| judge(&ours.sign("alice", ALWAYS, uses), &roots);
    assert_eq!(with(vec![]), "alice");
    assert_eq!(with(vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]), "alice");
    assert_eq!(with(vec![ExtendedKeyUsagePurpose::ServerAuth]), WRONG_USE);
}

#[test]
fn intermediates_are_taken_from_the_client() {
    let root = Signer::new("root", ALWAYS);
    let middle = root.intermediate("middle", ALWAYS);
    let roots = roots(&[&root]);
    let mut client = middle.client("alice", ALWAYS);
    assert_eq!(judge(&client, &roots), STRANGER);
    client.chain.push(middle.certificate.clone());
    assert_eq!(judge(&client, &roots), "alice");
    let ended = root.intermediate("ended", (2020, 2025));
    let mut client = ended.client("alice", ALWAYS);
    client.chain.push(ended.certificate.clone());
    assert_eq!(judge(&client, &roots), out_of_time("after", 2025));
}

#[test]
fn a_root_that_has_ended_vouches_for_nobody() {
    let ended = Signer::new("ended", (2020, 2025));
    assert_eq!(judge(&ended.client("alice", ALWAYS), &roots(&[&ended])), STRANGER);
}

#[test]
fn a_chain_is_good_until_its_first_end() {
    for (root, middle, leaf, end) in
        [(2040, 2050, 2060, 2040), (2060, 2040, 2050, 2040), (2060, 2050, 2040, 2040)]
    {
        let root = Signer::new("root", (2020, root));
        let middle = root.intermediate("middle", (2020, middle));
        let mut client = middle.client("alice", (2020, leaf));
        client.chain.push(middle.certificate.clone());
        assert_eq!(verify_client_chain(&client.chain, &roots(&[&root]), now()).unwrap(), year(end));
    }
}

#[test]
fn a_connection_does_not_outlive_its_certificate() {
    let ours = Signer::new("ours", ALWAYS);
    let client = ours.client("alice", (2020, 2027));
    let peer = PeerCertificate::judge(&client.chain, &roots(&[&ours]), now()).unwrap();
    assert_eq!(show(peer.at(year(2027))), "alice");
    let ClientCertificate::Rejected(objection) = peer.at(year(2028)) else { panic!("it has ended") };
    assert!(objection.to_string().ends_with(" ended 2027-01-01T00:00:00Z, after the connection was made"));
}

#[test]
fn without_a_certificate_or_a_root_there_is_nothing_to_judge() {
    let ours = Signer::new("ours", ALWAYS);
    assert!(PeerCertificate::judge(&[], &roots(&[&ours]), now()).is_none());
    assert!(
        PeerCertificate::judge(&ours.client("alice", ALWAYS).chain, &ClientRoots::default(), now()).is_none()
    );
}

#[test]
fn the_reason_names_the_certificate() {
    let client = Signer::new("other", ALWAYS).client("mallory", ALWAYS);
    let peer = PeerCertificate::judge(&client.chain, &roots(&[&Signer::new("ours", ALWAYS)]), now()).unwrap();
    let ClientCertificate::Rejected(objection) = peer.at(now()) else { panic!("a stranger is rejected") };
    let serial = pem::parse(&client.chain[0]).unwrap().serial.to_string();
    assert_eq!(
        objection.to_string(),
        format!("verifying certificate SN={serial}, SKID=, AKID= failed: x509: {STRANGER}")
    );
    assert_eq!(hex(&[0x0a, 0xff, 0x00]), "0A:FF:00");
}

#[test]
fn rubbish_is_rejected() {
    let rubbish = [CertificateDer::from(vec![0x30, 0x03, 0x02, 0x01, 0x01])];
    let peer = PeerCertificate::judge(&rubbish, &roots(&[&Signer::new("ours", ALWAYS)]), now()).unwrap();
    assert!(matches!(peer.at(now()), ClientCertificate::Rejected(_)));
}

#[test]
fn the_client_ca_file_may_hold_several_and_must_hold_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client-ca.crt");
    let load = |text: String| {
        std::fs::write(&path, text).unwrap();
        ClientRoots::load(&path).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "F"))
    };
    let (a, b) = (Signer::new("a", ALWAYS), Signer::new("b", ALWAYS));
    let roots = load(format!("# both\n{}\n{}", a.certificate_pem(), b.certificate_pem())).unwrap();
    assert_eq!(judge(&b.client("bob", ALWAYS), &roots), "bob");
    let remedy = "give a PEM file with the certificates of the authorities that sign client certificates";
    assert_eq!(load(String::new()).unwrap_err(), format!("'F' contains no certificate; {remedy}"));
    let cut = a.certificate_pem()[..100].to_owned();
    assert_eq!(load(cut).unwrap_err(), format!("'F' is cut off: a PEM section has no END line; {remedy}"));
    std::fs::remove_file(&path).unwrap();
    let error = ClientRoots::load(&path).unwrap_err().to_string();
    assert!(error.ends_with(&format!("client-ca.crt' does not exist; {remedy}")), "{error}");
}

/// An authority and a certificate of version 1 that it signed, as a tutorial has them made with openssl: `req -x509
/// -subj /CN=tutorial-ca`, `req -new -subj /O=devs/CN=alice`, `x509 -req -CA`.
pub(in crate::pki) const TUTORIAL_AUTHORITY: &str = "\
-----BEGIN CERTIFICATE-----
MIIBhDCCASmgAwIBAgIUDj5N7SLanMKQtFknAUCnle0T6zgwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLdHV0b3JpYWwtY2EwIBcNMjYxMTE1MTA0MTU0WhgPMjEyNjEw
MjIxMDQxNTRaMBYxFDASBgNVBAMMC3R1dG9yaWFsLWNhMFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEbPQ3denpXDyEo0dPprWAh3fiIePvgUb9lJPe3MQY9Sq7op1S
JL0Dr/BLDl3Xb4geva/7sT7F5wjHlczFgPn6u6NTMFEwHQYDVR0OBBYEFCrZA+Ga
RxWBDGMhMhshPoMhRDYnMB8GA1UdIwQYMBaAFCrZA+GaRxWBDGMhMhshPoMhRDYn
MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAKLv0AcsEdeiR0j5
s/D58N5PU03pRbC7AAMvB1/LxsQeAiEAhvMrr4XzU8qQPsd+PKYUs0YUBCuVzIXf
avv/Wng5P+Y=
-----END CERTIFICATE-----
";
pub(in crate::pki) const TUTORIAL_CLIENT: &str = "\
-----BEGIN CERTIFICATE-----
MIIBMjCB2AIULf3VNz7flUkQRmxybpDUPdRgFHwwCgYIKoZIzj0EAwIwFjEUMBIG
A1UEAwwLdHV0b3JpYWwtY2EwIBcNMjYxMTE1MTA0MTU0WhgPMjEyNjEwMjExMDQx
NTRaMB8xDTALBgNVBAoMBGRldnMxDjAMBgNVBAMMBWFsaWNlMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEZuRaa51Jj+DPFRyYugsLc1p7jc6k87aiMKRdczcG7LR4
+QyX7oP68WahuSXwbotGlIN+I6krCX+Vbd0Dix6edzAKBggqhkjOPQQDAgNJADBG
AiEAjmgaU/hQu4tub1p8xJ91S8wsfcbei1yB3A6ktY6GDX8CIQDp/dBCxKoZBX+D
Wcnqxmmb8UxhSDfisX+J1Lt/0/tBTw==
-----END CERTIFICATE-----
";
/// Good for nothing but these tests.
pub(in crate::pki) const TUTORIAL_KEY: &str = "\
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIF7ppV7BytCn7zYAmu3RJRc3TIQAHf/KwfdoVu7tdZf/oAoGCCqGSM49
AwEHoUQDQgAEZuRaa51Jj+DPFRyYugsLc1p7jc6k87aiMKRdczcG7LR4+QyX7oP6
8WahuSXwbotGlIN+I6krCX+Vbd0Dix6edw==
-----END EC PRIVATE KEY-----
";

fn der(text: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(text.as_bytes()).unwrap()
}

#[test]
fn certificates_of_version_1_are_believed_like_others() {
    let chain = [der(TUTORIAL_CLIENT)];
    let tutorial = ClientRoots::from_certificates(&[der(TUTORIAL_AUTHORITY)]).unwrap();
    let at = |year_: i32, roots: &ClientRoots| {
        let peer = PeerCertificate::judge(&chain, roots, year(year_)).unwrap();
        match peer.at(year(year_)) {
            ClientCertificate::Verified(Some(user)) => format!("{} {}", user.name, user.groups[0]),
            other => show(other),
        }
    };
    assert_eq!(at(2030, &tutorial), "alice devs");
    assert_eq!(at(2030, &roots(&[&Signer::new("ours", ALWAYS)])), STRANGER);
    assert_eq!(at(2030, &roots(&[&Signer::new("tutorial-ca", ALWAYS)])), STRANGER);
    assert!(at(2020, &tutorial).contains(" is before 2026-11-15T"));
    assert!(at(2200, &tutorial).contains(" is after 2126-10-21T"));
}

#[test]
fn a_changed_certificate_of_version_1_is_not() {
    let good = der(TUTORIAL_CLIENT);
    let tutorial = ClientRoots::from_certificates(&[der(TUTORIAL_AUTHORITY)]).unwrap();
    let parsed = pem::parse(&good).unwrap();
    let name_at = good.windows(5).position(|bytes| bytes == b"alice").unwrap();
    let algorithm_at = good.len() - parsed.signature_value.data.len() - 5;
    for at in [name_at, algorithm_at, good.len() - 1] {
        let mut bad = good.to_vec();
        bad[at] ^= 1;
        let verdict = verify_client_chain(&[CertificateDer::from(bad)], &tutorial, year(2030));
        assert!(verdict.is_err(), "{at}: {verdict:?}");
    }
    assert!(verify_client_chain(std::slice::from_ref(&good), &tutorial, year(2030)).is_ok());
}

#[test]
fn authorities_may_be_clients_too() {
    let root = Signer::new("root", ALWAYS);
    let middle = root.intermediate("middle", (2020, 2030));
    let chain =
        |signer: &Signer| Client { chain: vec![signer.certificate.clone()], ..root.client("", ALWAYS) };
    assert_eq!(judge(&chain(&root), &roots(&[&root])), "root");
    assert_eq!(judge(&chain(&middle), &roots(&[&root])), "middle");
    assert_eq!(judge(&chain(&middle), &roots(&[&Signer::new("root", ALWAYS)])), STRANGER);
    assert_eq!(judge(&chain(&root), &roots(&[&middle])), STRANGER);
    let serving_only = root.authority_for("serving", vec![ExtendedKeyUsagePurpose::ServerAuth]);
    assert_eq!(judge(&chain(&serving_only), &roots(&[&root])), WRONG_USE);
    assert_eq!(verify_client_chain(&chain(&middle).chain, &roots(&[&root]), now()).unwrap(), year(2030));
}

#[test]
fn a_listed_certificate_that_is_no_authority_vouches_for_nobody() {
    let listed = Signer::leaf("listed");
    let client = listed.client("mallory", ALWAYS);
    assert_eq!(judge(&client, &roots(&[&listed])), STRANGER);
}
