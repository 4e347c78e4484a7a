//! `crest backup` and `crest restore`.
//!
//! The data of a running server are locked, so it is asked for the backup over HTTPS, as its administrator; the
//! data of one that does not run are opened. An etcd is read and written directly, whether servers run on it or not.

use std::fs::{self, File};
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use server::pki::credentials::Credentials;
use store::backup::{self, Archive, Summary};
use store::embedded::{self, EmbeddedStore, OpenError};
use store::etcd::{self, Revisions};
use store::{Revision, Store, SystemClock};
use tokio::net::TcpStream;

use crate::flags::{BackupFlags, RestoreFlags};

pub(crate) fn write(flags: &BackupFlags) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let summary = runtime.block_on(async {
        if flags.etcd.are_given() {
            return Ok(backup::write_file(flags.etcd.open(None)?, &flags.file).await?);
        }
        let dir = flags.data_dir.join("store");
        if !dir.exists() {
            bail!("there is no data in '{}': name the server's with --data-dir", flags.data_dir.display());
        }
        match EmbeddedStore::open(&dir, embedded::Options::default()) {
            Ok(store) => {
                let store = Arc::new(store);
                let summary = backup::write_file(store.clone(), &flags.file).await?;
                store.close().await?;
                Ok(summary)
            }
            Err(OpenError::Locked { .. }) => from_server(flags).await,
            Err(error) => Err(error.into()),
        }
    })?;
    say(&format!(
        "Wrote {} objects at revision {} to {}",
        summary.records,
        summary.revision,
        flags.file.display()
    ));
    Ok(())
}

pub(crate) fn restore(flags: &RestoreFlags) -> anyhow::Result<()> {
    let file = File::open(&flags.file).with_context(|| format!("cannot read '{}'", flags.file.display()))?;
    if flags.etcd.are_given() {
        return restore_etcd(flags, BufReader::new(file));
    }
    crate::serve::make_private_dir(&flags.data_dir)?;
    let summary = embedded::restore(BufReader::new(file), &flags.data_dir.join("store"))?;
    say(&format!(
        "Restored {} objects at revision {}\n\nStart it with:\n  crest serve --data-dir {}",
        summary.records,
        summary.revision,
        flags.data_dir.display()
    ));
    Ok(())
}

/// How many revisions go by between two words about them.
const TELL_EVERY: u64 = 20_000;

fn restore_etcd(flags: &RestoreFlags, file: BufReader<File>) -> anyhow::Result<()> {
    let runtime = runtime()?;
    let revisions = if flags.new_revisions { Revisions::New } else { Revisions::Kept };
    let summary = runtime.block_on(async {
        let store = flags.etcd.open_etcd(None)?;
        let mut next = TELL_EVERY;
        let told = |revision: Revision| {
            if revision.0 >= next {
                next = revision.0 + TELL_EVERY;
                say(&format!("at revision {revision}"));
            }
        };
        let summary = etcd::restore(&store, file, revisions, &SystemClock, told).await?;
        store.close().await?;
        anyhow::Ok(summary)
    })?;
    say(&format!(
        "Restored {} objects; etcd is at revision {}\n\nStart it with:\n  crest serve --etcd-servers {}",
        summary.records,
        summary.revision,
        flags.etcd.etcd_servers.join(",")
    ));
    Ok(())
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the async runtime")
}

#[expect(clippy::print_stdout, reason = "the outcome is for the person who asked")]
fn say(text: &str) {
    println!("{text}");
}

/// Has a running server make the backup.
async fn from_server(flags: &BackupFlags) -> anyhow::Result<Summary> {
    let path = flags.kubeconfig.clone().unwrap_or_else(|| flags.data_dir.join("admin.kubeconfig"));
    let credentials = Credentials::load(&path).with_context(|| {
        format!(
            "the data are in use by a running server, and '{}' does not tell how to ask it",
            path.display()
        )
    })?;
    let partial = partial_path(&flags.file);
    let received = receive(&credentials, &partial).await;
    let summary = received.and_then(|()| check(&partial));
    match summary {
        Ok(summary) => {
            fs::rename(&partial, &flags.file)
                .with_context(|| format!("cannot write '{}'", flags.file.display()))?;
            Ok(summary)
        }
        Err(error) => {
            let _ = fs::remove_file(&partial); // it may not even be there
            Err(error)
        }
    }
}

fn partial_path(path: &Path) -> std::path::PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

async fn receive(credentials: &Credentials, path: &Path) -> anyhow::Result<()> {
    let stream = TcpStream::connect(&credentials.address)
        .await
        .with_context(|| format!("cannot reach the server at {}", credentials.address))?;
    let stream = credentials.connect(stream).await.context("cannot agree with the server on TLS")?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let request = hyper::Request::get("/crest/backup")
        .header(hyper::header::HOST, &credentials.address)
        .body(Empty::<Bytes>::new())?;
    let transfer = async {
        let mut response = sender.send_request(request).await?;
        if response.status() != hyper::StatusCode::OK {
            let body = response.into_body().collect().await?.to_bytes();
            bail!("the server answered {}", String::from_utf8_lossy(&body));
        }
        let mut file = private_file(path).with_context(|| format!("cannot write '{}'", path.display()))?;
        while let Some(frame) = response.frame().await {
            if let Some(piece) = frame?.data_ref() {
                file.write_all(piece)?;
            }
        }
        file.sync_all()?;
        Ok(())
    };
    tokio::select! {
        done = transfer => done,
        ended = connection => {
            ended.context("the connection to the server broke")?;
            bail!("the server closed the connection before the backup was complete")
        }
    }
}

/// A file for its owner only: secrets are in it.
fn private_file(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// Reads a backup to its end, which proves that it is whole.
fn check(path: &Path) -> anyhow::Result<Summary> {
    let mut archive = Archive::open(BufReader::new(File::open(path)?))?;
    while archive.next()?.is_some() {}
    Ok(archive.summary())
}
