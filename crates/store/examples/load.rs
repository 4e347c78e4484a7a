//! Measures the embedded store: durable writes at several concurrencies, start, memory.
//!
//! `cargo run --release -p crest-store --example load -- DIR [OBJECTS]`; DIR is emptied first. CPU is
//! that of the whole process, the writers included.

#![expect(clippy::print_stdout, reason = "the table is what it is for")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use crest_store::{
    KeyRange, Range, Revision, Store, Txn,
    embedded::{EmbeddedStore, Options},
};

const WRITES: usize = 16_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let dir = PathBuf::from(args.next().expect("usage: load DIR [OBJECTS]"));
    let objects = args.next().map_or(100_000, |count| count.parse().expect("a number"));
    fs::remove_dir_all(&dir).ok();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(run(&dir, objects));
}

async fn run(dir: &Path, objects: usize) {
    let started = Instant::now();
    let mut store = open(dir);
    println!("open, empty: {:.1} ms, rss {} MB", started.elapsed().as_secs_f64() * 1e3, rss_mb());
    for (writers, bytes) in [(1, 1_500), (16, 1_500), (64, 1_500), (1, 3_300), (16, 3_300), (64, 3_300)] {
        measure(&store, "create", writers, bytes, create).await;
    }
    for writers in [16, 64] {
        measure(&store, "update", writers, 3_300, update).await;
    }
    let filled = Instant::now();
    let before = cpu_micros();
    in_parallel(&store, 64, objects / 64, 3_200, fill).await;
    println!(
        "fill {objects} x 3200 B: {:.1} s, {:.1} us cpu each, rss {} MB, disk {} MB",
        filled.elapsed().as_secs_f64(),
        (cpu_micros() - before) / objects as f64,
        rss_mb(),
        store.stats().disk_bytes / 1_000_000,
    );
    drop(store);
    let started = Instant::now();
    let before = cpu_micros();
    store = open(dir);
    let opened = started.elapsed();
    let count = scan(&*store).await;
    println!(
        "open {:.1} ms; {count} objects read in pages: {:.0} ms, {:.0} ms cpu in all, rss {} MB",
        opened.as_secs_f64() * 1e3,
        started.elapsed().saturating_sub(opened).as_secs_f64() * 1e3,
        (cpu_micros() - before) / 1e3,
        rss_mb(),
    );
}

fn open(dir: &Path) -> Arc<EmbeddedStore> {
    // Short, so that compaction takes part in what is measured.
    let options = Options { keep_history: Duration::from_secs(2), ..Options::default() };
    Arc::new(EmbeddedStore::open(dir, options).expect("the store opens"))
}

/// Does one write; the revision is what the writer's last one was given.
type Step = fn(&Arc<EmbeddedStore>, usize, usize, Vec<u8>, Revision) -> Txn;

fn create(_: &Arc<EmbeddedStore>, writer: usize, number: usize, value: Vec<u8>, last: Revision) -> Txn {
    let scattered = mix((writer * 1_000_003 + number) as u64 ^ last.0 << 20);
    Txn::create(format!("/registry/example.com/crontabs/default/{scattered:016x}"), value)
}

fn update(_: &Arc<EmbeddedStore>, writer: usize, number: usize, value: Vec<u8>, last: Revision) -> Txn {
    let key = format!("/registry/example.com/crontabs/updated/{writer:04}");
    if number == 0 {
        Txn::put(key, value, crest_store::Expect::Anything)
    } else {
        Txn::update(key, value, last)
    }
}

fn fill(_: &Arc<EmbeddedStore>, writer: usize, number: usize, value: Vec<u8>, _: Revision) -> Txn {
    let scattered = mix((writer * 1_000_003 + number) as u64);
    Txn::create(format!("/registry/example.com/filled/default/{scattered:016x}"), value)
}

async fn measure(store: &Arc<EmbeddedStore>, verb: &str, writers: usize, bytes: usize, step: Step) {
    let each = if writers == 1 { WRITES / 16 } else { WRITES / writers };
    let (before, stats, started) = (cpu_micros(), store.stats(), Instant::now());
    let mut latencies = in_parallel(store, writers, each, bytes, step).await;
    let (elapsed, spent, count) = (started.elapsed(), cpu_micros() - before, (each * writers) as f64);
    latencies.sort_unstable();
    let at = |share: usize| latencies[(latencies.len() - 1) * share / 100].as_secs_f64() * 1e3;
    println!(
        "{verb} {bytes} B x {writers:2} writers: {:6.0}/s  {:5.1} us cpu  p50 {:5.2} ms  p99 {:5.2} ms  {:4.1}/sync  rss {} MB",
        count / elapsed.as_secs_f64(),
        spent / count,
        at(50),
        at(99),
        count / (store.stats().syncs - stats.syncs) as f64,
        rss_mb(),
    );
}

async fn in_parallel(
    store: &Arc<EmbeddedStore>,
    writers: usize,
    each: usize,
    bytes: usize,
    step: Step,
) -> Vec<Duration> {
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut latencies = Vec::with_capacity(each);
                let mut last = store.current().await.expect("the store is open");
                for number in 0..each {
                    let txn = step(&store, writer, number, vec![b'x'; bytes], last);
                    let started = Instant::now();
                    last = store.commit(txn).await.expect("the write succeeds").revision;
                    latencies.push(started.elapsed());
                }
                latencies
            })
        })
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.expect("the writer ends"));
    }
    latencies
}

async fn scan(store: &dyn Store) -> usize {
    let (mut rest, mut count) = (KeyRange::all(), 0);
    loop {
        let page = store.range(Range::values(rest.clone()).limit(1_000)).await.expect("readable");
        count += page.kvs.len();
        match page.kvs.last() {
            Some(last) if page.more => rest = rest.behind(&last.key),
            _ => return count,
        }
    }
}

fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

/// User and system time of the process.
fn cpu_micros() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("a line").split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<f64>().expect("a number");
    (ticks(11) + ticks(12)) * 1e4
}

fn rss_mb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a process has memory");
    line.split_whitespace().nth(1).and_then(|kb| kb.parse::<u64>().ok()).expect("a number") / 1024
}
