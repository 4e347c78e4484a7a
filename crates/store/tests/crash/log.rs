//! The log, cut and damaged: what a power cut or a bad disk leaves of it.

use std::path::Path;

use crest_store::{
    Revision, Store, Txn,
    embedded::{EmbeddedStore, Options},
};
use tempfile::TempDir;

use super::image::{Image, LOG, State, WATERMARK, state};

/// A store after each of its commits: the files, and what was acknowledged by then.
struct Step {
    image: Image,
    acknowledged: State,
}

/// Creates, updates and deletes, one commit after the other; each is a sync point.
fn steps(dir: &Path) -> Vec<Step> {
    let store = EmbeddedStore::open(dir, Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let commit = |txn| runtime.block_on(store.commit(txn)).unwrap().revision;
    let mut steps = Vec::new();
    let mut revisions = Vec::new();
    for number in 0..12_usize {
        let txn = match number % 4 {
            0 | 1 => Txn::create(format!("/k/{number}"), format!("{number}-{}", "v".repeat(3_000))),
            2 => Txn::update(format!("/k/{}", number - 1), format!("{number}"), revisions[number - 1]),
            _ => Txn::delete(format!("/k/{}", number - 3), revisions[number - 3]),
        };
        revisions.push(commit(txn));
        steps.push(Step { image: Image::take(dir), acknowledged: state(&store).unwrap() });
    }
    steps
}

/// The log lost everything behind some byte of the last, unacknowledged commit.
#[test]
fn a_log_cut_anywhere_keeps_every_acknowledged_write() {
    let dir = TempDir::new().unwrap();
    let steps = steps(dir.path());
    for pair in steps.windows(2) {
        let [before, after] = pair else { unreachable!("windows of two") };
        let (start, end) = (before.image.0[LOG].len(), after.image.0[LOG].len());
        assert!(start < end, "the log grows at each sync point");
        for cut in (start..=end).step_by(331).chain([end - 1, end]) {
            let mut image = after.image.clone();
            image.file(LOG).truncate(cut);
            *image.file(WATERMARK) = before.image.0[WATERMARK].clone();
            let found = image.open().unwrap();
            let expected = if cut == end { &after.acknowledged } else { &before.acknowledged };
            assert_eq!(&found, expected, "cut at {cut} of {start}..{end}");
        }
    }
}

/// The same, but the commit had been acknowledged: the disk lied, or somebody cut the file.
#[test]
fn a_log_that_lost_acknowledged_writes_is_refused() {
    let dir = TempDir::new().unwrap();
    let steps = steps(dir.path());
    let (before, last) = (&steps[steps.len() - 2], &steps[steps.len() - 1]);
    for cut in [0, 1, 32, before.image.0[LOG].len(), last.image.0[LOG].len() - 1] {
        let mut image = last.image.clone();
        image.file(LOG).truncate(cut);
        let refusal = image.open().unwrap_err();
        assert!(refusal.is_damage(), "{refusal:?}");
    }
}

/// Blocks that were allocated but never written read as zeros.
#[test]
fn zeros_at_the_end_of_the_log_are_no_damage() {
    let dir = TempDir::new().unwrap();
    let steps = steps(dir.path());
    let last = steps.last().unwrap();
    let mut image = last.image.clone();
    let length = image.0[LOG].len();
    image.file(LOG).resize(length + 40_000, 0);
    assert_eq!(image.open().unwrap(), last.acknowledged);
}

/// Every byte of the log in turn, or nearly: it opens with all that was acknowledged or not at all.
#[test]
fn a_damaged_log_is_never_served() {
    let dir = TempDir::new().unwrap();
    let steps = steps(dir.path());
    let last = steps.last().unwrap();
    let length = last.image.0[LOG].len();
    let (mut whole, mut refused) = (0, 0);
    // A prime, so that headers and every part of pages are hit.
    for position in (0..length).step_by(367) {
        let mut image = last.image.clone();
        image.file(LOG)[position] ^= 0x40;
        match image.open() {
            Ok(found) => {
                assert_eq!(found, last.acknowledged, "damaged at {position}");
                whole += 1;
            }
            Err(refusal) => {
                assert!(refusal.is_damage(), "{refusal:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "the watermark tells: {refused} refused, {whole} unharmed");
}

/// Without the watermark, as after a power cut, a damaged end is cut off: what remains is a state
/// that was, never a mixture.
#[test]
fn a_damaged_end_leaves_an_earlier_state() {
    let dir = TempDir::new().unwrap();
    let steps = steps(dir.path());
    let last = steps.last().unwrap();
    let length = last.image.0[LOG].len();
    for position in (0..length).step_by(1_009) {
        let mut image = last.image.clone();
        image.file(LOG)[position] ^= 0x01;
        image.file(WATERMARK).clear();
        match image.open() {
            Ok((revision, keys)) if revision == Revision::FIRST => assert!(keys.is_empty()),
            Ok(found) => {
                let known = steps.iter().any(|step| step.acknowledged == found);
                assert!(known, "an invented state after damage at {position}: {found:?}");
            }
            Err(refusal) => assert!(refusal.is_damage(), "{refusal:?}"),
        }
    }
}

/// The files that are not the log: gone, foreign, from a later version, in use.
#[test]
fn what_cannot_be_opened_is_told_in_one_sentence() {
    let dir = TempDir::new().unwrap();
    let store = EmbeddedStore::open(dir.path(), Options::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(store.commit(Txn::create("/a", "1"))).unwrap();
    let message = |dir: &Path| {
        let error = EmbeddedStore::open(dir, Options::default()).err().expect("it is refused");
        error.to_string().replace(&dir.display().to_string(), "DIR")
    };
    assert_eq!(message(dir.path()), "the data in DIR is already in use by another process");
    drop(store);
    let image = Image::take(dir.path());

    let mut gone = image.clone();
    gone.0.remove(super::image::DATABASE);
    gone.0.remove(LOG);
    assert_eq!(
        message(gone.lay_out().path()),
        "the data in DIR is damaged (the database is gone, which was at revision 2); restore it from a backup"
    );
    let mut foreign = image.clone();
    *foreign.file(super::image::DATABASE) = b"something else entirely".repeat(1_000);
    assert_eq!(
        message(foreign.lay_out().path()),
        "the data in DIR is damaged (file is not a database); restore it from a backup"
    );
    let later = image.lay_out();
    let connection = rusqlite::Connection::open(later.path().join(super::image::DATABASE)).unwrap();
    connection.pragma_update(None, "user_version", 9).unwrap();
    drop(connection);
    assert_eq!(message(later.path()), "the data in DIR has format 9, but this program reads format 1 only");
}

/// A bit flips in the database itself: what is read is right, or the read fails.
#[test]
fn a_damaged_record_is_never_served() {
    let dir = TempDir::new().unwrap();
    let expected = {
        let steps = steps(dir.path());
        steps.last().unwrap().acknowledged.clone()
    };
    // Closed: everything is in the database now. The values are where most of the bytes are.
    let image = Image::take(dir.path());
    let database = &image.0[super::image::DATABASE];
    let needle = b"vvvvvvvv";
    let positions: Vec<usize> =
        database.windows(needle.len()).enumerate().filter(|(_, at)| at == needle).map(|(at, _)| at).collect();
    let mut refused = 0;
    for position in positions.into_iter().step_by(211) {
        let mut damaged = image.clone();
        damaged.file(super::image::DATABASE)[position] ^= 0x08;
        match damaged.open() {
            // A version that was superseded: nobody asked for it.
            Ok(found) => assert_eq!(found, expected, "damaged at {position}"),
            Err(refusal) => {
                assert!(refusal.is_damage(), "{refusal:?}");
                refused += 1;
            }
        }
    }
    assert!(refused > 10, "{refused}");
}
