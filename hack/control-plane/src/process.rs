//! A child process with a log file, which dies with this process.

use std::{
    ffi::OsString,
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    process::{Child, ExitStatus},
    time::Duration,
};

use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};
use tokio::time::{Instant, sleep};

use crate::die_with_parent;

/// How many lines of a log an error or a [`Process::log_tail`] shows.
const TAIL_LINES: usize = 25;

const POLL: Duration = Duration::from_millis(20);

/// What went wrong with a child process.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program could not be started.
    #[error("cannot start {name}")]
    Start {
        /// The program's name.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Its log file could not be opened.
    #[error("cannot write the log {}", path.display())]
    Log {
        /// The log file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Its state could not be asked for.
    #[error("cannot wait for {name}")]
    Wait {
        /// The program's name.
        name: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It took no notice of SIGTERM and was killed.
    #[error("{name} was still running {} s after SIGTERM and was killed; its log ends:\n{log_tail}", grace.as_secs())]
    Stubborn {
        /// The program's name.
        name: String,
        /// How long it was given.
        grace: Duration,
        /// The last lines of its log.
        log_tail: String,
    },
}

/// What is to be run.
#[derive(Clone, Debug)]
pub struct Program {
    /// What it is called in messages and what its log file is named after.
    pub name: String,
    /// Its executable.
    pub path: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Variables to set besides those it inherits.
    pub env: Vec<(OsString, OsString)>,
}

/// A running (or ended) child, which is killed when this value is dropped and also when this
/// process ends in whatever way, SIGKILL included.
///
/// Standard output and standard error go to a log file; a restart appends to it.
#[derive(Debug)]
#[must_use = "a process is killed when it is dropped"]
pub struct Process {
    program: Program,
    log: PathBuf,
    child: Child,
}

impl Process {
    /// Starts `program`, logging to `<logs>/<name>.log`.
    ///
    /// A path that is no executable is no error here: the process ends at once with exit code
    /// 126 or 127, and its log says why.
    ///
    /// # Errors
    /// When its log cannot be written, or no process can be forked.
    pub fn start(program: Program, logs: &Path) -> Result<Self, Error> {
        let log = logs.join(format!("{}.log", program.name));
        let child = spawn(&program, &log)?;
        Ok(Self {
            program,
            log,
            child,
        })
    }

    /// Starts the same program again, killing it first if it still runs.
    ///
    /// # Errors
    /// As [`Process::start`].
    pub fn restart(&mut self) -> Result<(), Error> {
        self.kill();
        self.child = spawn(&self.program, &self.log)?;
        Ok(())
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.program.name
    }

    /// How it ended, `None` while it runs.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn exit_status(&mut self) -> Result<Option<ExitStatus>, Error> {
        self.child.try_wait().map_err(|source| Error::Wait {
            name: self.program.name.clone(),
            source,
        })
    }

    /// Kills it (SIGKILL) and waits until it is gone. Nothing happens if it has ended.
    pub fn kill(&mut self) {
        // Both fail only for a child that has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Asks it to end (SIGTERM) and says how it did.
    ///
    /// # Errors
    /// When it still runs after `grace`; it is killed then.
    pub async fn terminate(&mut self, grace: Duration) -> Result<ExitStatus, Error> {
        let deadline = Instant::now() + grace;
        self.signal(Signal::SIGTERM)?;
        loop {
            if let Some(status) = self.exit_status()? {
                return Ok(status);
            }
            if Instant::now() >= deadline {
                self.kill();
                return Err(Error::Stubborn {
                    name: self.program.name.clone(),
                    grace,
                    log_tail: self.log_tail(),
                });
            }
            sleep(POLL).await;
        }
    }

    /// Sends it a signal. Nothing happens if it has ended.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn signal(&mut self, signal: Signal) -> Result<(), Error> {
        if self.exit_status()?.is_some() {
            return Ok(());
        }
        // It is not waited for yet, so its id cannot belong to another process.
        let pid = Pid::from_raw(self.child.id().cast_signed());
        signal::kill(pid, signal).map_err(|errno| Error::Wait {
            name: self.program.name.clone(),
            source: errno.into(),
        })
    }

    /// The file that its output goes to.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.log
    }

    /// The last lines that it wrote.
    #[must_use]
    pub fn log_tail(&self) -> String {
        log_tail(&self.log)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(program: &Program, log: &Path) -> Result<Child, Error> {
    let log_error = |source| Error::Log {
        path: log.to_owned(),
        source,
    };
    let output = OpenOptions::new()
        .create(true)
        .append(true)
        .open(log)
        .map_err(log_error)?;
    let errors = output.try_clone().map_err(log_error)?;
    let mut command = die_with_parent::command(&program.path);
    command
        .args(&program.args)
        .envs(program.env.iter().map(|(name, value)| (name, value)))
        .stdout(output)
        .stderr(errors);
    die_with_parent::spawn(command).map_err(|source| Error::Start {
        name: program.name.clone(),
        source,
    })
}

/// The last lines of a log file; says so if it cannot be read.
#[must_use]
pub fn log_tail(log: &Path) -> String {
    match fs::read(log) {
        Ok(bytes) => last_lines(&String::from_utf8_lossy(&bytes), TAIL_LINES).to_owned(),
        Err(err) => format!("({} cannot be read: {err})", log.display()),
    }
}

fn last_lines(text: &str, count: usize) -> &str {
    let text = text.trim_end();
    let start = text
        .rmatch_indices('\n')
        .nth(count.saturating_sub(1))
        .map_or(0, |(at, _)| at + 1);
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Program {
        Program {
            name: "shell".into(),
            path: "sh".into(),
            args: vec!["-c".into(), script.into()],
            env: vec![("GREETING".into(), "hello".into())],
        }
    }

    async fn ended(process: &mut Process) -> ExitStatus {
        loop {
            if let Some(status) = process.exit_status().unwrap() {
                return status;
            }
            sleep(POLL).await;
        }
    }

    #[test]
    fn a_tail_is_the_last_lines_whole() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("a\nb\nc\n", 9), "a\nb\nc");
        assert_eq!(last_lines("", 2), "");
    }

    #[tokio::test]
    async fn both_outputs_go_to_the_log_and_a_restart_appends() {
        let dir = tempfile::tempdir().unwrap();
        let mut process =
            Process::start(shell("echo $GREETING; echo world >&2; exit 3"), dir.path()).unwrap();
        assert_eq!(ended(&mut process).await.code(), Some(3));
        assert_eq!(process.log_tail(), "hello\nworld");
        process.restart().unwrap();
        ended(&mut process).await;
        assert_eq!(process.log_tail(), "hello\nworld\nhello\nworld");
    }

    #[tokio::test]
    async fn terminate_tells_how_the_process_ended() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done";
        let mut process = Process::start(shell(script), dir.path()).unwrap();
        while process.log_tail() != "ready" {
            sleep(POLL).await;
        }
        let status = process.terminate(Duration::from_secs(10)).await.unwrap();
        assert_eq!(status.code(), Some(7));
    }

    #[tokio::test]
    async fn a_process_that_ignores_sigterm_is_killed() {
        let dir = tempfile::tempdir().unwrap();
        let script = "trap '' TERM; echo ready; while :; do sleep 0.01; done";
        let mut process = Process::start(shell(script), dir.path()).unwrap();
        while process.log_tail() != "ready" {
            sleep(POLL).await;
        }
        let err = process
            .terminate(Duration::from_millis(200))
            .await
            .unwrap_err();
        assert!(matches!(err, Error::Stubborn { .. }), "{err}");
        assert!(process.exit_status().unwrap().is_some());
    }

    #[tokio::test]
    async fn the_log_says_why_a_program_could_not_be_executed() {
        let dir = tempfile::tempdir().unwrap();
        let program = Program {
            path: "/does/not/exist".into(),
            ..shell("")
        };
        let mut process = Process::start(program, dir.path()).unwrap();
        assert_eq!(ended(&mut process).await.code(), Some(127));
        assert!(
            process.log_tail().contains("/does/not/exist"),
            "{}",
            process.log_tail()
        );
    }
}
