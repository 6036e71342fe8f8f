//! Telling on the standard error how far a long command is: a bar on a terminal, a plain line every few seconds elsewhere.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Says something on the standard error. Where that takes no more it is not said: the work does not end for it.
pub fn say(text: &str) {
    let _ = writeln!(stderr(), "{text}");
}

/// Between two plain lines.
const EVERY: Duration = Duration::from_secs(5);

/// How far a command is. Dropping it takes the bar away.
pub struct Progress {
    what: &'static str,
    bar: ProgressBar,
    plain: bool,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Begins to tell of `what` is being done to `total` objects; that number is not always known.
    #[must_use]
    pub fn start(what: &'static str, total: Option<u64>) -> Self {
        let plain = !stderr().is_terminal();
        let target = if plain {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(total, target);
        let template = match total {
            Some(_) => "{msg} {wide_bar} {pos}/{len}, {per_sec}, {eta} left",
            None => "{msg} {spinner} {pos}, {per_sec}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self {
            what,
            bar,
            plain,
            last_line: Mutex::new(Instant::now()),
        }
    }

    /// Tells that so many more are done.
    pub fn add(&self, count: u64) {
        self.bar.inc(count);
        if self.plain
            && let Ok(mut last) = self.last_line.try_lock()
            && last.elapsed() >= EVERY
        {
            *last = Instant::now();
            say(&self.line());
        }
    }

    /// Tells that it is still at it.
    pub fn tick(&self) {
        self.bar.tick();
    }

    fn line(&self) -> String {
        let (done, rate) = (self.bar.position(), self.bar.per_sec());
        match self.bar.length() {
            Some(total) => {
                let left = HumanDuration(self.bar.eta());
                format!(
                    "{}: {done} of {total}, {rate:.0} a second, {left} left",
                    self.what
                )
            }
            None => format!("{}: {done}, {rate:.0} a second", self.what),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
