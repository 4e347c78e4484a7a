//! Replays the recorded cases of a corpus of public definitions and objects, purely in process.
//!
//! Needs `CREST_SHARED` to name the folder that holds `corpus/`; says so and passes when it does not.
//! What the rules of `x-kubernetes-validations` decide is not asked here.

mod create;
mod recorded;

use recorded::{Corpus, Verdicts};

#[test]
fn objects_get_the_recorded_verdicts() {
    let Some(corpus) = Corpus::open() else { return };
    let mut verdicts = Verdicts::default();
    create::replay(&corpus, &mut verdicts);
    verdicts.report("objects");
}
