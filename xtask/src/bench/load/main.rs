//! Our own load generator, for a checkout without apibench.
//!
//! It understands the same words and prints the same JSON as apibench, for fewer cases: `start`, `idle`, `create`,
//! `get`, `list full|label` and `watch`. The numbers compare well with each other, less well with the baseline,
//! whose objects were others.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the result line is the product of this program"
)]

mod client;
mod drive;
mod meter;
mod objects;
mod start;
#[cfg(test)]
mod tests;
mod watch;

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use pico_args::Arguments;
use serde_json::{Value, json};
use tokio::task::LocalSet;

use client::{Endpoint, Request};
use drive::Plan;
use meter::Meter;

fn main() -> ExitCode {
    match measure(Arguments::from_env()) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// One thread is enough: the server is to be the one that works.
fn measure(args: Arguments) -> Result<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(args))
}

async fn run(mut args: Arguments) -> Result<Value> {
    let command = args.subcommand()?.context("what is to be measured?")?;
    let server: String = args.value_from_str("--server")?;
    let token: String = args.value_from_str("--token")?;
    let label: String = args.opt_value_from_str("--label")?.unwrap_or_else(|| "server".into());
    if !args.contains("--insecure") {
        bail!("the certificate of the server is not checked; say --insecure");
    }
    let endpoint = Rc::new(Endpoint::new(&server, &token)?);
    let pid: Option<u32> = args.opt_value_from_str("--pid")?;
    let workers: usize = args.opt_value_from_str("-c")?.unwrap_or(16);
    let mut line = match command.as_str() {
        "start" => {
            let cmd: String = args.value_from_str("--cmd")?;
            start::run(&endpoint, &cmd).await?
        }
        "idle" => idle(pid, args.opt_value_from_str("--seconds")?.unwrap_or(10)).await?,
        "create" => {
            let objects: usize = args.opt_value_from_str("--objects")?.unwrap_or(10_000);
            create(&endpoint, pid, workers, objects).await?
        }
        "get" => {
            let count: usize = args.opt_value_from_str("-n")?.unwrap_or(20_000);
            get(&endpoint, pid, workers, count).await?
        }
        "list" => {
            let count: usize = args.opt_value_from_str("-n")?.unwrap_or(20);
            list(&endpoint, pid, workers, count, &args.free_from_str::<String>()?).await?
        }
        "watch" => {
            let watchers: usize = args.opt_value_from_str("-w")?.unwrap_or(1000);
            let events: usize = args.opt_value_from_str("-e")?.unwrap_or(1000);
            watch::run(&endpoint, pid, watchers, events).await?
        }
        other => bail!("{other} is not known"),
    };
    if let Some(word) = args.finish().first() {
        bail!("unexpected argument {}", word.display());
    }
    line["label"] = label.into();
    line["http"] = "h2".into();
    Ok(line)
}

async fn idle(pid: Option<u32>, seconds: u64) -> Result<Value> {
    let meter = Meter::start(pid)?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let usage = meter.stop()?;
    let mut line = usage.to_json(1);
    line["case"] = "idle".into();
    line["rss_mb"] = usage.rss_after_mb().into();
    Ok(line)
}

async fn create(endpoint: &Rc<Endpoint>, pid: Option<u32>, workers: usize, count: usize) -> Result<Value> {
    objects::prepare(endpoint).await?;
    let request = |index| Request::post(objects::collection(index), objects::body(index));
    let outcome = drive::run(endpoint, pid, &Plan { workers, count }, request).await?;
    Ok(outcome.line(&format!("create/c{workers}")))
}

async fn get(endpoint: &Rc<Endpoint>, pid: Option<u32>, workers: usize, count: usize) -> Result<Value> {
    let objects = objects::count(endpoint).await?;
    // A step that shares no factor with the usual counts visits them all, and not in order.
    let request = move |index: usize| Request::get(objects::path(index * 7919 % objects));
    let outcome = drive::run(endpoint, pid, &Plan { workers, count }, request).await?;
    Ok(outcome.line(&format!("get/c{workers}")))
}

async fn list(
    endpoint: &Rc<Endpoint>,
    pid: Option<u32>,
    workers: usize,
    count: usize,
    kind: &str,
) -> Result<Value> {
    let query = match kind {
        "full" => "",
        "label" => "?labelSelector=shard%3Ds7",
        other => bail!("list {other} is not known"),
    };
    let request = move |_| Request::get(format!("{}{query}", objects::ALL));
    let outcome = drive::run(endpoint, pid, &Plan { workers, count }, request).await?;
    let mut line = outcome.line(&format!("list/{kind}/c{workers}"));
    line["unit"] = json!("list");
    Ok(line)
}
