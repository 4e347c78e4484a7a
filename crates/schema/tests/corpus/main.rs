//! Replays the recorded cases of a corpus of public definitions and objects, purely in process.
//!
//! Needs `CREST_SHARED` to name the folder that holds `corpus/`; says so and passes when it does not.

#![expect(clippy::print_stdout, reason = "the counts are the point of a replay")]

mod create;
mod definitions;
mod kinds;
mod recorded;
mod update;

use recorded::{Corpus, Verdicts};

#[test]
fn objects_get_the_recorded_verdicts() {
    let Some(corpus) = Corpus::open() else { return };
    let mut verdicts = Verdicts::default();
    create::replay(&corpus, &mut verdicts);
    update::replay(&corpus, &mut verdicts);
    verdicts.report("objects");
}

#[test]
fn definitions_get_the_recorded_verdicts() {
    let Some(corpus) = Corpus::open() else { return };
    let mut verdicts = Verdicts::default();
    definitions::replay(&corpus, &mut verdicts);
    verdicts.report("definitions");
}
