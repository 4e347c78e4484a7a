//! What is made, what is kept, what is renewed, and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use jiff::SignedDuration;
use x509_parser::extensions::GeneralName;

use super::*;
use crate::pki::testing::{Signer, names, now};

const CERTIFICATES: [&str; 3] = ["ca.crt", "apiserver.crt", "admin.crt"];

fn days(days: i64) -> Timestamp {
    now() + SignedDuration::from_hours(24 * days)
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// One in which everything has been made.
    fn made() -> Self {
        let folder = Folder::new();
        folder.ensure(now()).unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("pki").join(name)
    }

    fn ensure(&self, now: Timestamp) -> Result<Pki, PkiError> {
        ensure(&self.path(""), Some(&names()), now)
    }

    /// The names of what is written at that time, and why.
    fn changes(&self, now: Timestamp) -> Vec<(String, String)> {
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        self.ensure(now)
            .unwrap()
            .changes
            .iter()
            .map(|change| (name(&change.path), change.why.clone()))
            .collect()
    }

    fn changed(&self, now: Timestamp) -> Vec<String> {
        self.changes(now).into_iter().map(|(name, _)| name).collect()
    }

    fn content(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.path("")).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap()))
            .collect()
    }

    fn error(&self, now: Timestamp) -> String {
        let error = self.ensure(now).unwrap_err().to_string();
        error.replace(self.path("").to_str().unwrap(), "")
    }
}

#[test]
fn the_first_start_makes_everything_and_the_next_nothing() {
    let folder = Folder::new();
    assert_eq!(folder.changed(now()), CERTIFICATES);
    let content = folder.content();
    assert_eq!(
        content.keys().collect::<Vec<_>>(),
        ["admin.crt", "admin.key", "apiserver.crt", "apiserver.key", "ca.crt", "ca.key"]
    );
    assert!(folder.changed(now()).is_empty());
    assert_eq!(folder.content(), content);
}

#[test]
fn keys_and_folder_are_for_their_owner() {
    let folder = Folder::made();
    let mode = |name: &str| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(""), 0o700);
    for key in ["ca.key", "apiserver.key", "admin.key"] {
        assert_eq!(mode(key), 0o600, "{key}");
    }
    for certificate in CERTIFICATES {
        assert_eq!(mode(certificate), 0o644, "{certificate}");
    }
}

#[test]
fn what_is_returned_is_what_is_in_the_files() {
    let folder = Folder::new();
    let made = folder.ensure(now()).unwrap();
    let loaded = folder.ensure(now()).unwrap();
    let text = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    for pki in [made, loaded] {
        let serving = pki.serving.unwrap();
        assert_eq!(pki.authority_pem, text("ca.crt"));
        assert_eq!(
            (serving.certificate_pem, serving.key_pem),
            (text("apiserver.crt"), text("apiserver.key"))
        );
        assert_eq!((pki.admin.certificate_pem, pki.admin.key_pem), (text("admin.crt"), text("admin.key")));
        assert_eq!(pki.admin.chain, Certificates::load(&folder.path("admin.crt"), "").unwrap().chain);
        assert_eq!(pki.authority, Certificates::load(&folder.path("ca.crt"), "").unwrap().chain[0]);
    }
}

#[test]
fn certificates_say_what_they_are_for() {
    let folder = Folder::made();
    let pki = folder.ensure(now()).unwrap();
    let authority = pem::parse(&pki.authority).unwrap();
    assert!(may_sign(&authority));
    assert_eq!(authority.subject().to_string(), format!("CN=crest-ca@{}", now().as_second()));
    assert_eq!(validity(&authority), (now() - SignedDuration::from_hours(1), days(3650)));

    let serving = pki.serving.unwrap();
    let serving = pem::parse(&serving.chain[0]).unwrap();
    assert_eq!(validity(&serving), (now() - SignedDuration::from_hours(1), days(365)));
    let usage = serving.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.server_auth && !usage.client_auth && !serving.is_ca());
    let names = &serving.subject_alternative_name().unwrap().unwrap().value.general_names;
    let names: Vec<String> = names
        .iter()
        .map(|name| match name {
            GeneralName::DNSName(name) => (*name).to_owned(),
            GeneralName::IPAddress(bytes) => format!("{bytes:?}"),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        names,
        [
            "box",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "localhost",
            "[10, 0, 0, 1]",
            "[127, 0, 0, 1]",
            "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]",
        ]
    );

    let admin = pem::parse(&pki.admin.chain[0]).unwrap();
    assert_eq!(admin.subject().to_string(), "CN=kubernetes-admin, O=system:masters");
    let usage = admin.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.client_auth && !usage.server_auth && !admin.is_ca());
    assert_ne!(admin.serial, serving.serial);
}

#[test]
fn a_server_with_its_own_certificate_gets_none_made() {
    let folder = Folder::new();
    let pki = ensure(&folder.path(""), None, now()).unwrap();
    assert!(pki.serving.is_none());
    assert_eq!(folder.content().keys().collect::<Vec<_>>(), ["admin.crt", "admin.key", "ca.crt", "ca.key"]);
}

#[test]
fn leaves_are_renewed_in_their_last_thirty_days_with_the_same_key() {
    let folder = Folder::made();
    let before = folder.content();
    assert!(folder.changed(days(335)).is_empty());
    let late = days(335) + SignedDuration::from_secs(1);
    let why = format!("the one there ends {}", days(365));
    assert_eq!(
        folder.changes(late),
        [("apiserver.crt".to_owned(), why.clone()), ("admin.crt".to_owned(), why)]
    );
    let after = folder.content();
    for (name, content) in &before {
        let renewed = ["apiserver.crt", "admin.crt"].contains(&name.as_str());
        assert_eq!(after[name] != *content, renewed, "{name}");
    }
    assert!(folder.changed(late).is_empty());
    let serial = |content: &BTreeMap<String, Vec<u8>>| {
        let text = String::from_utf8(content["admin.crt"].clone()).unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(text.as_bytes()).unwrap();
        pem.parse_x509().unwrap().serial.clone()
    };
    assert_ne!(serial(&before), serial(&after));
}

#[test]
fn an_ended_leaf_and_one_from_the_future_are_replaced() {
    let folder = Folder::made();
    assert_eq!(folder.changed(days(400)), ["apiserver.crt", "admin.crt"]);
    // The clock was set back, but not before the authority's beginning.
    assert_eq!(folder.changed(days(1)), ["apiserver.crt", "admin.crt"]);
}

#[test]
fn short_lived_certificates_are_renewed_in_their_last_fifth() {
    let begin = now();
    let near = |lifetime: i64, at: i64| {
        let hours = SignedDuration::from_hours;
        issue::is_near_its_end(begin, begin + hours(lifetime), begin + hours(at))
    };
    assert!(!near(100, 80));
    assert!(near(100, 81));
    assert!(near(100, 1000));
    assert!(!near(24 * 3650, 24 * 3620));
    assert!(near(24 * 3650, 24 * 3620 + 1));
}

#[test]
fn the_authority_is_renewed_with_its_name_and_key() {
    let folder = Folder::made();
    let old = folder.ensure(now()).unwrap();
    let late = days(3625);
    // Made shortly before the authority's end, and ending with it.
    folder.ensure(days(3615)).unwrap();
    let issued = folder.ensure(days(3615)).unwrap();
    let leaf = pem::parse(&issued.admin.chain[0]).unwrap();
    assert_eq!(validity(&leaf).1, days(3650));

    assert_eq!(folder.changed(late)[0], "ca.crt");
    let new = folder.ensure(late).unwrap();
    let (old_parsed, new_parsed) = (pem::parse(&old.authority).unwrap(), pem::parse(&new.authority).unwrap());
    assert_eq!(new_parsed.subject(), old_parsed.subject());
    assert_eq!(new_parsed.public_key().raw, old_parsed.public_key().raw);
    assert_eq!(validity(&new_parsed).1, days(3625 + 3650));
    // What the old one signed is still vouched for by the new one.
    let roots = crate::pki::ClientRoots::from_certificates(&[new.authority]).unwrap();
    let end = crate::pki::client_certs::verify_client_chain(&issued.admin.chain, &roots, late).unwrap();
    assert_eq!(end, days(3650));
}

#[test]
fn a_new_name_asks_for_a_new_serving_certificate_only() {
    let folder = Folder::made();
    let elsewhere = ServingNames::new([192, 168, 7, 7].into(), Some("box"), &[]);
    let changed = |names: &ServingNames| {
        let changes = ensure(&folder.path(""), Some(names), now()).unwrap().changes;
        changes.into_iter().map(|change| change.why).collect::<Vec<_>>()
    };
    assert_eq!(changed(&elsewhere), ["the one there does not name 192.168.7.7"]);
    // The new one names all that the old one did.
    assert!(changed(&names()).is_empty());
    let renamed = ServingNames::new([127, 0, 0, 1].into(), Some("other"), &[]);
    assert_eq!(changed(&renamed), ["the one there does not name other"]);
}

#[test]
fn a_new_authority_signs_new_leaves() {
    let folder = Folder::made();
    fs::remove_file(folder.path("ca.crt")).unwrap();
    fs::remove_file(folder.path("ca.key")).unwrap();
    let changes = folder.changes(days(1));
    assert_eq!(changes[0], ("ca.crt".to_owned(), "there was none".to_owned()));
    assert_eq!(changes[1].0, "apiserver.crt");
    assert!(changes[1].1.starts_with("the one there is not vouched for by ca.crt ("), "{}", changes[1].1);
    assert_eq!(changes[2].0, "admin.crt");
    assert!(folder.changed(days(1)).is_empty());
}

#[test]
fn lost_parts_that_can_be_made_again_are() {
    for (lost, changed) in [
        (&["apiserver.crt"][..], &["apiserver.crt"][..]),
        (&["apiserver.key"], &["apiserver.crt"]),
        (&["admin.key", "admin.crt"], &["admin.crt"]),
        // A crash after the first key was written.
        (&["ca.crt", "apiserver.crt", "apiserver.key", "admin.crt", "admin.key"], &CERTIFICATES),
    ] {
        let folder = Folder::made();
        let key = fs::read(folder.path("ca.key")).unwrap();
        for name in lost {
            fs::remove_file(folder.path(name)).unwrap();
        }
        assert_eq!(folder.changed(now()), changed, "{lost:?}");
        assert!(folder.changed(now()).is_empty(), "{lost:?}");
        assert_eq!(fs::read(folder.path("ca.key")).unwrap(), key, "{lost:?}");
    }
}

#[test]
fn a_lost_authority_key_is_not_made_up_for() {
    let folder = Folder::made();
    let before = folder.content();
    fs::remove_file(folder.path("ca.key")).unwrap();
    assert_eq!(
        folder.error(now()),
        "'ca.key' is missing; restore both ca.crt and ca.key, or move them away to have a new authority made \
         (then every kubeconfig made with the old one must be replaced)"
    );
    fs::write(folder.path("ca.key"), &before["ca.key"]).unwrap();
    assert_eq!(folder.content(), before);
}

#[test]
fn broken_files_are_named_and_left_alone() {
    let folder = Folder::made();
    let good = folder.content();
    let cut = |name: &str| good[name][..good[name].len() / 2].to_vec();
    let flipped = |name: &str| {
        // Inside the base64: what decodes is no longer DER.
        String::from_utf8(good[name].clone()).unwrap().replacen("\nMI", "\nAI", 1).into_bytes()
    };
    let cases: [(&str, Vec<u8>, &str); 10] = [
        ("ca.crt", cut("ca.crt"), "is cut off: a PEM section has no END line"),
        ("ca.crt", b"nonsense".to_vec(), "contains no certificate"),
        ("ca.crt", flipped("ca.crt"), "contains a broken certificate ("),
        ("ca.crt", good["admin.crt"].clone(), "does not belong to the key in ca.key"),
        ("ca.key", Vec::new(), "contains no private key"),
        ("ca.key", flipped("ca.key"), "contains a broken private key ("),
        ("apiserver.crt", cut("apiserver.crt"), "is cut off: a PEM section has no END line"),
        ("apiserver.key", good["apiserver.crt"].clone(), "contains no private key"),
        ("admin.crt", good["apiserver.crt"].clone(), "does not belong to the key in admin.key"),
        (
            "admin.key",
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII=\n-----END ENCRYPTED PRIVATE KEY-----\n".to_vec(),
            "is encrypted",
        ),
    ];
    for (name, content, fault) in cases {
        fs::write(folder.path(name), &content).unwrap();
        let error = folder.error(now());
        assert!(error.starts_with(&format!("'{name}' {fault}")), "{name}: {error}");
        let stem = name.split('.').next().unwrap();
        assert!(error.contains(&format!("{stem}.crt and {stem}.key")), "{name}: {error}");
        assert_eq!(fs::read(folder.path(name)).unwrap(), content, "{name}");
        fs::write(folder.path(name), &good[name]).unwrap();
    }
    assert_eq!(folder.content(), good);
}

#[test]
fn a_leaf_is_no_authority() {
    let folder = Folder::made();
    fs::copy(folder.path("admin.crt"), folder.path("ca.crt")).unwrap();
    fs::copy(folder.path("admin.key"), folder.path("ca.key")).unwrap();
    assert!(folder.error(now()).starts_with("'ca.crt' is not the certificate of an authority; "));
}

#[test]
fn an_authority_from_the_future_points_to_the_clock() {
    let folder = Folder::made();
    let error = folder.error(days(-2));
    let begin = now() - SignedDuration::from_hours(1);
    assert!(
        error.starts_with(&format!("'ca.crt' is not valid before {begin}, and it is {} now; ", days(-2))),
        "{error}"
    );
}

#[test]
fn another_s_authority_is_used_but_not_renewed() {
    let folder = Folder::new();
    let signer = Signer::new("corp", (2020, 2027));
    fs::create_dir(folder.path("")).unwrap();
    fs::write(folder.path("ca.crt"), signer.certificate_pem()).unwrap();
    fs::write(folder.path("ca.key"), signer.key_pem()).unwrap();
    assert_eq!(folder.changed(now()), ["apiserver.crt", "admin.crt"]);
    let pki = folder.ensure(now()).unwrap();
    assert_eq!(pki.authority, signer.certificate);
    // It ends on the first day of 2027; so do they.
    assert_eq!(validity(&pem::parse(&pki.admin.chain[0]).unwrap()).1.to_string(), "2027-01-01T00:00:00Z");
    let last_days = "2026-12-30T00:00:00Z".parse().unwrap();
    assert_eq!(folder.ensure(last_days).unwrap().authority, signer.certificate);
    let error = folder.error("2027-01-02T00:00:00Z".parse().unwrap());
    assert!(error.starts_with("'ca.crt' ended 2027-01-01T00:00:00Z; "), "{error}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let folder = Folder::new();
    fs::write(folder.0.path().join("pki"), "a file").unwrap();
    let error = folder.ensure(now()).unwrap_err();
    assert!(error.to_string().starts_with("cannot create the folder '"), "{error}");
}
