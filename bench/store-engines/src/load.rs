//! The writers, the committer, and what they cost.

use std::{
    collections::VecDeque,
    path::Path,
    sync::mpsc::{self, Receiver, SyncSender},
    thread,
    time::Instant,
};

use crate::engine::{Engine, Put};

pub const VALUE_BYTES: usize = 3_200;
/// As many transactions at most share a sync.
const GROUP: usize = 256;
/// So many superseded values are kept before the oldest are removed.
const HISTORY: usize = 5_000;

pub struct Report {
    pub syncs: usize,
    pub p50_ms: f64,
    pub p99_ms: f64,
}

struct Request {
    key: Vec<u8>,
    value: Vec<u8>,
    answer: SyncSender<u64>,
}

pub struct Work {
    pub writers: usize,
    pub count: usize,
    pub bytes: usize,
    /// Keys to choose from; `None` creates a new one each time.
    pub keys: Option<u64>,
}

pub fn run(engine: &mut dyn Engine, work: &Work, revision: &mut u64) -> Report {
    let (tx, rx) = mpsc::sync_channel::<Request>(1024);
    let base = *revision;
    thread::scope(|scope| {
        let handles: Vec<_> = (0..work.writers)
            .map(|writer| {
                let tx = tx.clone();
                scope.spawn(move || write(&tx, writer, work, base))
            })
            .collect();
        drop(tx);
        let syncs = commit(engine, &rx, revision);
        let mut latencies: Vec<f64> = handles.into_iter().flat_map(|handle| handle.join().unwrap()).collect();
        latencies.sort_by(f64::total_cmp);
        let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize];
        Report { syncs, p50_ms: at(0.5), p99_ms: at(0.99) }
    })
}

fn write(tx: &SyncSender<Request>, writer: usize, work: &Work, base: u64) -> Vec<f64> {
    let mut random = base.wrapping_mul(31).wrapping_add(writer as u64 + 1);
    (0..work.count / work.writers)
        .map(|number| {
            let (answer, answered) = mpsc::sync_channel(1);
            let key = match work.keys {
                None => key(&mut random, base, (writer * 1_000_000 + number) as u64),
                Some(keys) => key(&mut (next(&mut random) % keys), 0, 0),
            };
            let started = Instant::now();
            tx.send(Request { key, value: value(&mut random, work.bytes), answer }).unwrap();
            answered.recv().unwrap();
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect()
}

fn commit(engine: &mut dyn Engine, rx: &Receiver<Request>, revision: &mut u64) -> usize {
    let mut syncs = 0;
    let mut superseded = VecDeque::new();
    while let Ok(first) = rx.recv() {
        let mut group = vec![first];
        while group.len() < GROUP
            && let Ok(next) = rx.try_recv()
        {
            group.push(next);
        }
        let puts: Vec<Put<'_>> = group
            .iter()
            .map(|request| {
                *revision += 1;
                Put { revision: *revision, key: &request.key, value: &request.value }
            })
            .collect();
        engine.begin();
        let mut forget = Vec::new();
        for put in &puts {
            if let Some(previous) = engine.current(put.key) {
                std::hint::black_box(engine.value(previous));
                superseded.push_back(previous);
            }
        }
        while superseded.len() > HISTORY && forget.len() < 2 * puts.len() {
            forget.extend(superseded.pop_front());
        }
        engine.commit(&puts, &forget);
        syncs += 1;
        for request in &group {
            request.answer.send(*revision).ok();
        }
    }
    syncs
}

/// Many objects in large groups: only the state afterwards matters.
pub fn fill(engine: &mut dyn Engine, count: usize, bytes: usize, revision: &mut u64) {
    let mut random = 7;
    let mut objects: Vec<(Vec<u8>, Vec<u8>)> = Vec::with_capacity(GROUP);
    for number in 0..count {
        objects.push((key(&mut random, 0, number as u64), value(&mut random, bytes)));
        if objects.len() == GROUP || number + 1 == count {
            let puts: Vec<Put<'_>> = objects
                .iter()
                .map(|(key, value)| {
                    *revision += 1;
                    Put { revision: *revision, key, value }
                })
                .collect();
            engine.begin();
            engine.commit(&puts, &[]);
            objects.clear();
        }
    }
}

/// Names are not in order: the index is written all over.
fn key(random: &mut u64, base: u64, number: u64) -> Vec<u8> {
    let shuffled = next(random);
    format!("/registry/stable.example.com/crontabs/default/{shuffled:016x}-{base}-{number}").into_bytes()
}

/// Text that compresses somewhat, like JSON does.
fn value(random: &mut u64, bytes: usize) -> Vec<u8> {
    let mut value = Vec::with_capacity(bytes + 32);
    while value.len() < bytes {
        value.extend_from_slice(br#"{"name":"field","value":""#);
        value.extend_from_slice(format!("{:016x}\"}},", next(random)).as_bytes());
    }
    value.truncate(bytes);
    value
}

fn next(random: &mut u64) -> u64 {
    *random = random.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *random;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[derive(Copy, Clone)]
pub struct Usage {
    pub cpu_micros: f64,
}

impl Usage {
    /// User and system time of the whole process, ended threads included.
    pub fn now() -> Self {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
        Self { cpu_micros: ticks * 1e4 }
    }
}

impl std::ops::Sub for Usage {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self { cpu_micros: self.cpu_micros - before.cpu_micros }
    }
}

pub fn rss_mb() -> u64 {
    status_kb("VmRSS:") / 1024
}

pub fn peak_rss_mb() -> u64 {
    status_kb("VmHWM:") / 1024
}

fn status_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

pub fn disk_mb(dir: &Path) -> u64 {
    fn bytes(dir: &Path) -> u64 {
        use std::os::unix::fs::MetadataExt;
        std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| {
                let entry = entry.unwrap();
                let meta = entry.metadata().unwrap();
                if meta.is_dir() { bytes(&entry.path()) } else { meta.blocks() * 512 }
            })
            .sum()
    }
    bytes(dir) / 1_000_000
}
