//! What the developer sees while something long runs: a spinner on a terminal, one line per step everywhere.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// A step that is under way.
pub(crate) struct Progress {
    name: String,
    began: Instant,
    spinner: ProgressBar,
}

impl Progress {
    pub(crate) fn start(name: impl Into<String>) -> Self {
        let name = name.into();
        // Indicatif draws nothing when standard error is not a terminal.
        let spinner = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("  {spinner} {prefix}  {elapsed}  {wide_msg:.dim}")
            .expect("the template is valid");
        spinner.set_style(style);
        spinner.set_prefix(name.clone());
        spinner.enable_steady_tick(Duration::from_millis(120));
        Self { name, began: Instant::now(), spinner }
    }

    /// What it is doing now; shown on a terminal only.
    pub(crate) fn note(&self, text: &str) {
        self.spinner.set_message(text.trim().to_string());
    }

    /// A line that stays, above the spinner.
    pub(crate) fn line(&self, text: &str) {
        self.spinner.suspend(|| println!("{text}"));
    }

    pub(crate) fn done(&self, detail: &str) {
        self.end("ok", detail);
    }

    pub(crate) fn failed(&self, detail: &str) {
        self.end("FAIL", detail);
    }

    pub(crate) fn skipped(&self, why: &str) {
        self.end("skip", why);
    }

    fn end(&self, outcome: &str, detail: &str) {
        self.spinner.finish_and_clear();
        println!("{}", step_line(outcome, &self.name, self.began.elapsed(), detail));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.spinner.finish_and_clear();
    }
}

fn step_line(outcome: &str, name: &str, took: Duration, detail: &str) -> String {
    format!("{outcome:>4}  {name:<22} {:>8}  {detail}", duration(took)).trim_end().to_string()
}

/// A duration for people: `0.4 s`, `12 s`, `3 min 05 s`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        10..60 => format!("{seconds} s"),
        _ => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_lines_align_and_have_no_trailing_space() {
        let line = step_line("ok", "clippy", Duration::from_millis(1234), "");
        assert_eq!(line, "  ok  clippy                    1.2 s");
        let line = step_line("FAIL", "tests", Duration::from_secs(185), "3 failed");
        assert_eq!(line, "FAIL  tests                  3 min 05 s  3 failed");
    }
}
