//! How long a server takes from nothing to its first object, and what it uses then.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::client::{Connection, Endpoint, Request};
use super::meter::{Snapshot, rounded};
use super::objects;

const PATIENCE: Duration = Duration::from_mins(1);

/// A started server, ended when this goes out of scope.
struct Server(Child);

impl Server {
    fn spawn(command: &str) -> Result<Self> {
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {command}")]).process_group(0);
        shell.stdin(Stdio::null()).stdout(Stdio::null());
        Ok(Self(shell.spawn().context("cannot run --cmd")?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
        let _ = self.0.wait();
    }
}

pub(crate) async fn run(endpoint: &Endpoint, command: &str) -> Result<Value> {
    let began = Instant::now();
    let since = || rounded(began.elapsed().as_secs_f64());
    let mut server = Server::spawn(command)?;
    let pid = server.0.id();
    let mut connection = await_ready(endpoint, &mut server.0).await?;
    let ready_s = since();
    objects::define(&mut connection).await?;
    let established_s = since();
    let body = objects::body(0);
    let path = objects::collection(0).replace("load-0", "default");
    connection.expect(Request::post(path, body)).await?;
    let (first_object_s, cpu_s) = (since(), Snapshot::of(pid)?.cpu_s);
    tokio::time::sleep(Duration::from_secs(3)).await;
    Ok(json!({
        "case": "start",
        "ready_s": ready_s,
        "established_s": established_s,
        "first_object_s": first_object_s,
        "first_object_cpu_s": rounded(cpu_s),
        "idle_rss_mb": rounded(Snapshot::of(pid)?.rss_mb),
    }))
}

async fn await_ready(endpoint: &Endpoint, server: &mut Child) -> Result<Connection> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if let Some(status) = server.try_wait()? {
            bail!("the server ended: {status}");
        }
        if let Ok(mut connection) = endpoint.connect().await
            && let Ok((status, _)) = connection.call(Request::get("/readyz")).await
            && status.is_success()
        {
            return Ok(connection);
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bail!("not ready after {} s", PATIENCE.as_secs())
}
