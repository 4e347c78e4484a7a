//! Chains that are believed, and those that are not.

use rcgen::ExtendedKeyUsagePurpose;

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
            let (head, reason) = text.split_once(" failed: ").expect(&text);
            assert!(head.starts_with("verifying certificate "), "{text}");
            reason.split(':').next().unwrap().to_owned()
        }
    }
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
    assert_eq!(judge(&other.client("mallory", ALWAYS), &roots), "UnknownIssuer");
    // The same name, another key.
    assert_eq!(
        judge(&Signer::new("ours", ALWAYS).client("mallory", ALWAYS), &roots),
        "InvalidSignatureForPublicKey"
    );
    assert!(judge(&ours.client("alice", (2020, 2025)), &roots).starts_with("CertExpired"));
    assert!(judge(&ours.client("alice", (2050, 2060)), &roots).starts_with("CertNotValidYet"));
}

#[test]
fn a_certificate_must_be_for_clients_if_it_says_what_for() {
    let ours = Signer::new("ours", ALWAYS);
    let roots = roots(&[&ours]);
    let with = |uses| judge(&ours.sign("alice", ALWAYS, uses), &roots);
    assert_eq!(with(vec![]), "alice");
    assert_eq!(with(vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]), "alice");
    assert!(with(vec![ExtendedKeyUsagePurpose::ServerAuth]).starts_with("RequiredEkuNotFound"));
}

#[test]
fn intermediates_are_taken_from_the_client() {
    let root = Signer::new("root", ALWAYS);
    let middle = root.intermediate("middle", ALWAYS);
    let roots = roots(&[&root]);
    let mut client = middle.client("alice", ALWAYS);
    assert_eq!(judge(&client, &roots), "UnknownIssuer");
    client.chain.push(middle.certificate.clone());
    assert_eq!(judge(&client, &roots), "alice");
    let ended = root.intermediate("ended", (2020, 2025));
    let mut client = ended.client("alice", ALWAYS);
    client.chain.push(ended.certificate.clone());
    assert!(judge(&client, &roots).starts_with("CertExpired"));
}

#[test]
fn a_root_that_has_ended_vouches_for_nobody() {
    let ended = Signer::new("ended", (2020, 2025));
    assert_eq!(judge(&ended.client("alice", ALWAYS), &roots(&[&ended])), "UnknownIssuer");
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
    assert!(show(peer.at(year(2028))).starts_with("CertExpired"));
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
        format!("verifying certificate SN={serial}, SKID=, AKID= failed: UnknownIssuer")
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
