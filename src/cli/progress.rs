//! How far long work has come, on standard error, where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const TICK: Duration = Duration::from_millis(120);

/// A line that is redrawn, and gone when it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// For work whose end nobody knows.
    pub fn spinner() -> Progress {
        Progress::drawn(ProgressBar::new_spinner(), "{spinner} {elapsed} {msg}")
    }

    /// For so many things.
    pub fn of(all: usize) -> Progress {
        let bar = ProgressBar::new(all as u64);
        Progress::drawn(bar, "{bar:30} {pos}/{len} {msg}, {eta} left")
    }

    fn drawn(bar: ProgressBar, template: &str) -> Progress {
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(TICK);
        Progress(bar)
    }

    /// Says what is being done.
    pub fn say(&self, what: &str) {
        self.0.set_message(what.to_owned());
    }

    /// Counts so many things as done.
    pub fn advance(&self, by: usize) {
        self.0.inc(by as u64);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
