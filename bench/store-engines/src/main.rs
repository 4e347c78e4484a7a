//! Compares storage engines under the load of the embedded store.
//!
//! `store-engines ENGINE DIR` prints one table row per phase. Every engine does the same work: one
//! committer takes what waits, looks up each key (the condition of a transaction), writes
//! `log[revision] = record` and `index[key] = revision`, and syncs once per group.

mod engine;
mod load;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use load::{Usage, VALUE_BYTES, Work};

const WRITES: usize = 6_000;
const OBJECTS: usize = 100_000;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let (Some(name), Some(dir)) = (args.next(), args.next()) else {
        eprintln!("usage: store-engines file|fjall|redb|redb-quick|sqlite|rocksdb DIR [start]");
        return ExitCode::FAILURE;
    };
    let dir = PathBuf::from(dir);
    match args.next().as_deref() {
        None => writers(&name, &dir),
        Some("start") => start(&name, &dir),
        Some(other) => panic!("unknown phase {other}"),
    }
    ExitCode::SUCCESS
}

/// Durable writes at several concurrencies, then the load for the `start` phase.
fn writers(name: &str, dir: &PathBuf) {
    std::fs::remove_dir_all(dir).ok();
    std::fs::create_dir_all(dir).unwrap();
    let mut revision = 1;
    let create = |writers, bytes| Work {
        writers,
        count: if writers == 1 { WRITES / 6 } else { WRITES },
        bytes,
        keys: None,
    };
    let update = |writers| Work { writers, count: 5 * WRITES, bytes: 3_300, keys: Some(10_000) };
    let works = [
        create(1, 1_500),
        create(16, 1_500),
        create(64, 1_500),
        create(1, 3_300),
        create(16, 3_300),
        create(64, 3_300),
        update(16),
        update(64),
    ];
    for work in works {
        let mut engine = engine::open(name, dir);
        let Work { writers, count, bytes, keys } = work;
        let verb = if keys.is_some() { "update" } else { "create" };
        let before = Usage::now();
        let started = Instant::now();
        let report = load::run(&mut *engine, &work, &mut revision);
        let spent = Usage::now() - before;
        println!(
            "{name:8} {verb} {bytes} B x {writers:2} writers: {:7.0}/s  {:5.1} us cpu  p50 {:6.2} ms  p99 {:6.2} ms  {:4.1}/sync  rss {} MB",
            count as f64 / started.elapsed().as_secs_f64(),
            spent.cpu_micros / count as f64,
            report.p50_ms,
            report.p99_ms,
            count as f64 / report.syncs as f64,
            load::rss_mb(),
        );
    }
    let mut engine = engine::open(name, dir);
    let before = Usage::now();
    let started = Instant::now();
    load::fill(&mut *engine, OBJECTS, VALUE_BYTES, &mut revision);
    let spent = Usage::now() - before;
    println!(
        "{name:8} fill {OBJECTS} x {VALUE_BYTES} B: {:.1} s  {:.1} us cpu each  rss {} MB (peak {})  disk {} MB",
        started.elapsed().as_secs_f64(),
        spent.cpu_micros / OBJECTS as f64,
        load::rss_mb(),
        load::peak_rss_mb(),
        load::disk_mb(dir),
    );
    // As after kill -9: no destructor flushes anything.
    std::process::exit(0);
}

/// Opening what a killed process left, and reading everything once.
fn start(name: &str, dir: &PathBuf) {
    let before = Usage::now();
    let started = Instant::now();
    let engine = engine::open(name, dir);
    let opened = started.elapsed();
    let opened_rss = load::rss_mb();
    let (count, bytes) = engine.scan();
    println!(
        "{name:8} open {:.1} ms, rss {} MB; scan of {count} index entries and their values ({} MB): {:.0} ms, {:.0} ms cpu in all, rss {} MB",
        opened.as_secs_f64() * 1e3,
        opened_rss,
        bytes / 1_000_000,
        (started.elapsed() - opened).as_secs_f64() * 1e3,
        (Usage::now() - before).cpu_micros / 1e3,
        load::rss_mb(),
    );
    if std::env::args().nth(4).is_some() {
        drop(engine);
    } else {
        std::process::exit(0);
    }
}
