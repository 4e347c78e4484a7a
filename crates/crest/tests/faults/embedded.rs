//! The embedded store: the server is killed, or its disk is full.

use std::io::Write;
use std::path::PathBuf;

use testkit::{Crest, Dice, Setup};

use super::run::{Run, repeat};

const CREST: &str = env!("CARGO_BIN_EXE_crest");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_forgets_nothing() {
    repeat("killed server", |seed| async move {
        let mut crest = Setup::new(CREST).with("--etcd-compaction-interval", "1h").start();
        let run = Run::start([crest.client()], seed).await;
        let mut dice = Dice::new(seed);
        for _ in 0..4 {
            run.load.operations(30 + dice.roll(120)).await;
            crest = crest.crash().await;
            run.fleet.replace(0, crest.client());
            run.recovered().await;
        }
        Some(run.finish().await)
    })
    .await;
}

/// Mounts a small file system for the server alone.
const SMALL_DISK: &str = r#"exec unshare --user --map-root-user --mount sh -c '
    mkdir -p data && mount -t tmpfs -o size=10m tmpfs data && exec "$@"' sh "$@""#;

/// `None`, with a word about it, where no file system can be mounted.
#[expect(clippy::print_stderr, reason = "a skipped test must say so")]
fn on_small_disk() -> Option<Crest> {
    let probe = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"])
        .output();
    if !probe.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no file system can be mounted here");
        return None;
    }
    let setup = Setup::new(CREST).through(SMALL_DISK).with("--etcd-compaction-interval", "1h");
    let (certificates, kubeconfig) = (setup.folder().join("pki"), setup.folder().join("kubeconfig"));
    Some(setup.with("--cert-dir", certificates).with("--kubeconfig-out", kubeconfig).start())
}

/// A file that leaves no room, on the disk that only the server sees.
fn ballast(crest: &Crest) -> PathBuf {
    let inside = format!("/proc/{}/root", crest.id());
    PathBuf::from(inside).join(crest.data_dir().strip_prefix("/").expect("it is absolute")).join("ballast")
}

fn fill(path: &PathBuf) {
    let mut file = std::fs::File::create(path).expect("the disk can be written to");
    while file.write_all(&[1; 4096]).is_ok() {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_stops_writes_until_there_is_room() {
    repeat("full disk", |seed| async move {
        let crest = on_small_disk()?;
        let ballast = ballast(&crest);
        let run = Run::start([crest.client()], seed).await;
        for _ in 0..2 {
            run.load.writes(20, [0]).await;
            fill(&ballast);
            run.load.failures(20).await;
            std::fs::remove_file(&ballast).expect("the ballast can be thrown off");
        }
        Some(run.finish().await)
    })
    .await;
}
