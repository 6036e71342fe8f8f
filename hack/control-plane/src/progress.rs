//! Progress of a build that takes minutes, on standard error.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// How often a line is written where no terminal can redraw one.
const PLAIN_INTERVAL: Duration = Duration::from_secs(30);

/// Tells a person what is being built, which of how many, and for how long.
///
/// It writes to standard error itself, since a test's own output is captured and shown too late.
pub(crate) struct Progress {
    step: usize,
    steps: usize,
    what: &'static str,
    begun: Instant,
    step_begun: Instant,
    last_plain: Instant,
    terminal: bool,
}

impl Progress {
    pub(crate) fn new(steps: usize) -> Self {
        let now = Instant::now();
        Self {
            step: 0,
            steps,
            what: "",
            begun: now,
            step_begun: now,
            last_plain: now,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// The next step begins.
    pub(crate) fn step(&mut self, what: &'static str) {
        self.step += 1;
        self.what = what;
        self.step_begun = Instant::now();
        self.last_plain = self.step_begun;
        self.write(&self.line(), self.terminal);
    }

    /// The step still runs; to be called several times a second.
    pub(crate) fn tick(&mut self) {
        if self.terminal {
            self.write(&self.line(), true);
        } else if self.last_plain.elapsed() >= PLAIN_INTERVAL {
            self.last_plain = Instant::now();
            self.write(&self.line(), false);
        }
    }

    /// The step ended well.
    pub(crate) fn done(&self) {
        let took = minutes(self.step_begun.elapsed());
        self.write(
            &format!(
                "control plane: built {} ({} of {}) in {took}",
                self.what, self.step, self.steps
            ),
            false,
        );
    }

    /// A line that stays.
    pub(crate) fn note(&self, text: &str) {
        self.write(text, false);
    }

    fn line(&self) -> String {
        format!(
            "control plane: building {} ({} of {}), {} so far, {} in all",
            self.what,
            self.step,
            self.steps,
            minutes(self.step_begun.elapsed()),
            minutes(self.begun.elapsed()),
        )
    }

    fn write(&self, text: &str, redrawn: bool) {
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        let end = if redrawn { "" } else { "\n" };
        // Progress that nobody can read is no reason to fail.
        let _ = write!(io::stderr(), "{clear}{text}{end}");
        let _ = io::stderr().flush();
    }
}

fn minutes(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds:02}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_minutes_and_seconds() {
        assert_eq!(minutes(Duration::from_millis(59_900)), "59s");
        assert_eq!(minutes(Duration::from_secs(65)), "1m05s");
        assert_eq!(minutes(Duration::from_secs(3600)), "60m00s");
    }

    #[test]
    fn a_line_says_which_of_how_many() {
        let mut progress = Progress::new(2);
        progress.step("etcd");
        assert_eq!(
            progress.line(),
            "control plane: building etcd (1 of 2), 0s so far, 0s in all"
        );
    }
}
