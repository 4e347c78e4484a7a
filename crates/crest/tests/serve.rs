//! `crest serve`: what it leaves on disk, what it refuses to start on, how it ends, how it reports its health.
#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes its texts so")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::json;
use testkit::{CRONTAB_DEFINITION, Client, Credentials, Crest, Ended, Http, Setup, soon, steady};

const CREST: &str = env!("CARGO_BIN_EXE_crest");
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn mode(path: &Path) -> u32 {
    let metadata = fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    metadata.permissions().mode() & 0o777
}

/// Every file below a folder that only its owner should read.
fn secrets(folder: &Path) -> Vec<std::path::PathBuf> {
    let files =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("readable").path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "key")).collect()
}

#[tokio::test]
async fn nobody_else_can_read_the_data() {
    let crest = Crest::start(CREST);
    let data = crest.data_dir();
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("store")), 0o700);
    assert_eq!(mode(&crest.kubeconfig()), 0o600);
    let keys = secrets(&data.join("pki"));
    assert!(keys.len() >= 3, "keys of the authority, the server and the administrator: {keys:?}");
    for key in keys {
        assert_eq!(mode(&key), 0o600, "{}", key.display());
    }
}

#[tokio::test]
async fn certificates_are_made_once() {
    let crest = Crest::start(CREST);
    let pki = crest.data_dir().join("pki");
    let read = || -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(&pki).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
    };
    let (before, kubeconfig) = (read(), fs::read_to_string(crest.kubeconfig()).unwrap());
    let port = format!(":{}", crest.address.port());
    let crest = crest.restart().await;
    assert_eq!(read(), before);
    let after = fs::read_to_string(crest.kubeconfig()).unwrap();
    assert_eq!(
        after,
        kubeconfig.replace(&port, &format!(":{}", crest.address.port())),
        "all but the port is kept"
    );
    crest.client().get("/version").await.expect(200);
}

/// A start that must fail: compares what it says, with the test's folder as DIR.
async fn refuse(setup: &Setup, expected: &Expect) {
    let Ended { code, stderr } = setup.fail().await;
    assert_eq!(code, Some(1), "{stderr}");
    let folder = setup.folder().display().to_string();
    let said: Vec<&str> = stderr.lines().filter(|line| !line.contains("INFO")).collect();
    expected.assert_eq(&steady(&said.join("\n").replace(&folder, "DIR")));
}

#[tokio::test]
async fn a_busy_port_is_named() {
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    let setup = Setup::new(CREST).with("--secure-port", &port);
    let ended = setup.fail().await;
    assert_eq!(ended.code, Some(1));
    expect![[r#"
        crest: cannot listen on 127.0.0.1:PORT: Address already in use (os error 98); another program uses this port: choose one with --secure-port, or 0 for any
    "#]].assert_eq(&ended.stderr.replace(&port, "PORT"));
}

#[tokio::test]
async fn a_data_directory_that_cannot_be_made_is_named() {
    let setup = Setup::new(CREST);
    fs::write(setup.folder().join("file"), "").unwrap();
    let inside = setup.folder().join("file/data");
    refuse(
        &setup.with("--data-dir", inside),
        &expect![[r#"
        crest: cannot use the data directory 'DIR/file/data': Not a directory (os error 20)
    "#]],
    )
    .await;
}

#[tokio::test]
async fn one_server_has_the_data_to_itself() {
    let crest = Crest::start(CREST);
    refuse(
        crest.setup(),
        &expect![[r#"
        crest: the data in DIR/data/store is already in use by another process
    "#]],
    )
    .await;
    crest.client().get("/readyz").await; // the first is not disturbed
}

#[tokio::test]
async fn a_damaged_store_is_refused() {
    let mut crest = Crest::start(CREST);
    crest.terminate();
    assert_eq!(crest.ended().await.code, Some(0));
    let file = crest.data_dir().join("store/store.db");
    let mut bytes = fs::read(&file).unwrap();
    bytes[..64].fill(0xa5);
    fs::write(&file, bytes).unwrap();
    refuse(
        crest.setup(),
        &expect![[r#"
        crest: the data in DIR/data/store is damaged (file is not a database); restore it from a backup
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_store_that_lost_its_data_is_refused() {
    let crest = Crest::start(CREST);
    let object = json!({"metadata": {"name": "kept"}});
    crest.client().create(CONFIG_MAPS, &object).await.expect(201);
    let setup = crest.setup().clone();
    drop(crest);
    for name in ["store.db", "store.db-wal", "store.db-shm"] {
        let _ = fs::remove_file(setup.data_dir().join("store").join(name));
    }
    refuse(&setup, &expect![[r#"
        crest: the data in DIR/data/store is damaged (the database is gone, which was at revision NUMBER); restore it from a backup
    "#]]).await;
}

#[tokio::test]
async fn a_bad_token_file_is_named() {
    let setup = Setup::new(CREST);
    let missing = setup.folder().join("missing.csv");
    refuse(&setup.clone().with("--token-auth-file", missing), &expect![[r#"
        crest: --token-auth-file: cannot read token file 'DIR/missing.csv': No such file or directory (os error 2)
    "#]]).await;
    let bad = setup.folder().join("bad.csv");
    fs::write(&bad, "token,user\n").unwrap();
    refuse(&setup.with("--token-auth-file", bad), &expect![[r#"
        crest: --token-auth-file: token file 'DIR/bad.csv' must have at least 3 columns (token, user name, user uid), found 2 (record number '1')
    "#]]).await;
}

#[tokio::test]
async fn bad_certificates_are_named() {
    let setup = Setup::new(CREST);
    let bad = setup.folder().join("bad.pem");
    fs::write(&bad, "no certificate\n").unwrap();
    refuse(&setup.clone().with("--client-ca-file", &bad), &expect![[r#"
        crest: --client-ca-file: 'DIR/bad.pem' contains no certificate; give a PEM file with the certificates of the authorities that sign client certificates
    "#]]).await;
    let both = setup.with("--tls-cert-file", &bad).with("--tls-private-key-file", &bad);
    refuse(&both, &expect![[r#"
        crest: 'DIR/bad.pem' contains no certificate; give a PEM file with the server's certificate and one with its unencrypted private key
    "#]]).await;
}

#[tokio::test]
async fn unknown_options_are_explained() {
    let Ended { code, stderr } = Setup::new(CREST).with("--secure-prot", "1").fail().await;
    assert_eq!(code, Some(2));
    assert!(stderr.contains("'--secure-port'"), "a similar option is suggested: {stderr}");
}

#[tokio::test]
async fn a_stop_ends_watches_and_finishes() {
    let mut crest = Crest::start(CREST);
    let client = crest.client();
    let old = crest.client_as(Credentials::Admin, Http::One);
    let mut watches = vec![client.watch(CONFIG_MAPS).await, old.watch(CONFIG_MAPS).await];
    client.create(CONFIG_MAPS, &json!({"metadata": {"name": "last"}})).await.expect(201);
    for watch in &mut watches {
        assert_eq!(watch.take(1).await, ["ADDED last"]);
    }
    crest.terminate();
    for watch in &mut watches {
        assert_eq!(watch.next().await, None);
    }
    let ended = crest.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(
        client.apart().try_send(client.request("GET".parse().unwrap(), "/healthz", None, "")).await.is_err()
    );
}

#[tokio::test]
async fn a_stop_finishes_the_requests_under_way() {
    let mut crest = Crest::start(CREST);
    let client = crest.client();
    client.get("/healthz").await; // the connection is made
    let writes: Vec<_> = (0..20)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move {
                let object = json!({"metadata": {"name": format!("write-{number}")}});
                client.try_send(client.json("POST".parse().unwrap(), CONFIG_MAPS, &object)).await
            })
        })
        .collect();
    let mut watch = client.watch(CONFIG_MAPS).await;
    watch.event().await;
    crest.terminate();
    let mut acknowledged = 0;
    for write in writes {
        acknowledged += usize::from(write.await.unwrap().is_ok_and(|answer| answer.code == 201));
    }
    assert_eq!(crest.ended().await.code, Some(0));
    let crest = crest.setup().start();
    let list = crest.client().get(CONFIG_MAPS).await.expect(200);
    assert!(
        list["items"].as_array().unwrap().len() >= acknowledged && acknowledged > 0,
        "{acknowledged}: {list}"
    );
}

/// Load balancers see that it is not ready before they meet closed doors.
#[tokio::test]
async fn a_stop_that_is_put_off_is_told_and_everything_goes_on() {
    let crest = Setup::new(CREST).with("--shutdown-delay-duration", "1h").start();
    let client = crest.client();
    client.get("/readyz").await;
    crest.terminate();
    let told = async {
        while client.get("/readyz").await.code != 500 {
            tokio::task::yield_now().await;
        }
    };
    testkit::soon("the news", told).await;
    assert_eq!(client.get("/livez").await.code, 200);
    let object = json!({"metadata": {"name": "late"}});
    client.apart().create(CONFIG_MAPS, &object).await.expect(201);
}

#[tokio::test]
async fn health_has_named_checks() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let ask = async |path: &str| {
        let answer = client.get(path).await;
        format!("{} {}", answer.code, answer.text())
    };
    for path in ["/healthz", "/livez", "/readyz", "/healthz/ping", "/readyz/etcd", "/livez?exclude=etcd"] {
        assert_eq!(ask(path).await, "200 ok", "{path}");
    }
    expect![[r#"
        200 [+]ping ok
        [+]log ok
        [+]etcd excluded: ok
        [+]poststarthook/start-apiextensions-controllers ok
        [+]poststarthook/crd-informer-synced ok
        [+]shutdown ok
        warn: some health checks cannot be excluded: no matches for "nonsense"
        readyz check passed
    "#]]
    .assert_eq(&ask("/readyz?verbose&exclude=etcd&exclude=nonsense").await);
    expect![[r#"
        200 [+]ping ok
        [+]log ok
        [+]etcd ok
        [+]poststarthook/start-apiextensions-controllers ok
        livez check passed
    "#]]
    .assert_eq(&ask("/livez?verbose").await);
    expect![[r#"
        404 404 page not found
    "#]]
    .assert_eq(&ask("/readyz/nonsense").await);
    assert_eq!(client.get("/healthz").await.header("content-type"), "text/plain; charset=utf-8");
}

#[tokio::test]
async fn the_version_is_the_references() {
    let crest = Crest::start(CREST);
    let anybody = crest.client_as(Credentials::Nobody, Http::Two);
    let version = anybody.get("/version").await.expect(200);
    assert_eq!((version["major"].as_str(), version["minor"].as_str()), (Some("1"), Some("36")));
    assert!(version["gitVersion"].as_str().is_some_and(|text| text.starts_with("v1.36.")), "{version}");
}

/// The value of a figure with these labels.
async fn figure(client: &Client, name: &str, labels: &[&str]) -> Option<f64> {
    let text = client.get("/metrics").await.text();
    let fits = |line: &&str| line.starts_with(name) && labels.iter().all(|label| line.contains(label));
    text.lines().find(fits)?.rsplit(' ').next()?.parse().ok()
}

#[tokio::test]
async fn metrics_come_in_the_format_that_is_asked_for() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    client.get(CONFIG_MAPS).await.expect(200);
    let plain = client.get("/metrics").await;
    let expected = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";
    assert_eq!(plain.header("content-type"), expected);
    assert!(plain.text().contains("\n# TYPE apiserver_request_total counter\n"), "{}", plain.text());
    let mut request = client.request("GET".parse().unwrap(), "/metrics", None, "");
    let accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3";
    request.headers_mut().insert("accept", accept.parse().unwrap());
    let open = client.send(request).await;
    assert!(open.header("content-type").starts_with("application/openmetrics-text"));
    assert!(open.text().ends_with("# EOF\n"));
}

#[tokio::test]
async fn metrics_count_requests_and_watches() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    for name in ["one", "two"] {
        client.create(CONFIG_MAPS, &json!({"metadata": {"name": name}})).await.expect(201);
    }
    let labels = [r#"verb="POST""#, r#"resource="configmaps""#, r#"code="201""#];
    assert_eq!(figure(&client, "apiserver_request_total", &labels).await, Some(2.0));
    assert_eq!(figure(&client, "apiserver_longrunning_requests", &[]).await, Some(0.0));
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?resourceVersion=0")).await;
    watch.take(2).await;
    assert_eq!(figure(&client, "apiserver_longrunning_requests", &[]).await, Some(1.0));
    let labels = [r#"verb="POST""#, r#"resource="configmaps""#, r#"le="+Inf""#];
    assert_eq!(figure(&client, "apiserver_request_duration_seconds_bucket", &labels).await, Some(2.0));
}

#[tokio::test]
async fn a_definition_is_served_before_the_start_is_announced() {
    let crest = Crest::start(CREST);
    let client = crest.client();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let post = client.request("POST".parse().unwrap(), path, Some("application/yaml"), CRONTAB_DEFINITION);
    client.send(post).await.expect(201);
    let mut watch = client.watch(&format!("{path}?resourceVersion=0")).await;
    soon(
        "establishment",
        watch.until(|event| event.object["status"]["conditions"].to_string().contains("Established")),
    )
    .await;
    let crest = crest.restart().await;
    crest.client().get("/readyz").await;
    crest.client().get(testkit::CRONTABS).await.expect(200);
}
