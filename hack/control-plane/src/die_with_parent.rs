//! Children that the kernel kills when this process ends, however it ends.
//!
//! A destructor does not run when its process is killed, so a killed test run would leave a whole
//! control plane behind. The kernel's parent-death signal (`PR_SET_PDEATHSIG`) closes that hole, but a
//! process sets it for itself, between fork and exec; Rust offers that place only to unsafe code.
//! util-linux's `setpriv` sets it and then *becomes* the program (exec keeps the signal), so that the
//! child's id is the program's own and no watchdog process sits in between.
//!
//! Two traps of that signal:
//! - It is sent when the *thread* that forked ends, and test threads come and go. So every child
//!   is forked by one thread that lives as long as the process.
//! - A parent that dies before the signal is set is missed. So the child looks, after it
//!   is set, whether its parent is still the one that forked it.

use std::{
    ffi::OsStr,
    io,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{LazyLock, mpsc},
    thread,
};

type Job = (Command, mpsc::SyncSender<io::Result<Child>>);

/// Forks every child. The sender is static, so the loop ends with the process only.
static SPAWNER: LazyLock<io::Result<mpsc::Sender<Job>>> = LazyLock::new(|| {
    let (jobs, queue) = mpsc::channel::<Job>();
    thread::Builder::new()
        .name("spawner".into())
        .spawn(move || {
            for (mut command, reply) in queue {
                // Nobody is left to tell if the caller is gone; then its child ends here.
                if let Err(mpsc::SendError(Ok(mut orphan))) = reply.send(command.spawn()) {
                    let _ = orphan.kill();
                    let _ = orphan.wait();
                }
            }
        })?;
    Ok(jobs)
});

/// A command for `program`, with no input, to be started by [`spawn`]. Arguments, environment and
/// output may be added.
///
/// A program that cannot be executed shows as exit code 126 or 127 with a message on its standard
/// error, not as an error of `spawn`.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    command_of_parent(std::process::id(), program)
}

fn command_of_parent(parent: u32, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command
        .args(["--pdeathsig", "KILL", "--", "sh", "-c"])
        .arg(r#"[ "$PPID" = "$0" ] && exec "$@""#)
        .arg(parent.to_string())
        .arg(program)
        .stdin(Stdio::null())
        // Ctrl-C is for the parent alone, which may still need its children.
        .process_group(0);
    command
}

/// Starts a command made by [`command`].
///
/// # Errors
/// When it cannot be forked, or when `setpriv` (util-linux) is not on `PATH`.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let jobs = SPAWNER
        .as_ref()
        .map_err(|err| io::Error::new(err.kind(), err.to_string()))?;
    let (reply, answer) = mpsc::sync_channel(1);
    let gone = |_| io::Error::other("the spawner thread is gone");
    jobs.send((command, reply))
        .map_err(|_| gone(mpsc::RecvError))?;
    answer
        .recv()
        .map_err(gone)?
        .map_err(|err| match err.kind() {
            io::ErrorKind::NotFound => {
                io::Error::new(err.kind(), "setpriv (of util-linux) is not on PATH")
            }
            _ => err,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let mut child = thread::spawn(|| {
            let mut command = command("sleep");
            command.arg("60");
            spawn(command).unwrap()
        })
        .join()
        .unwrap();
        thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(child.try_wait().unwrap(), None);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn the_child_is_the_program_itself() {
        let mut command = command("sh");
        command.args(["-c", "echo $$"]).stdout(Stdio::piped());
        let child = spawn(command).unwrap();
        let id = child.id();
        let out = child.wait_with_output().unwrap();
        assert_eq!(
            String::from_utf8(out.stdout).unwrap().trim(),
            id.to_string()
        );
    }

    #[test]
    fn a_child_whose_parent_is_already_gone_does_not_start() {
        let mut orphan = command_of_parent(0, "echo");
        orphan.arg("started").stdout(Stdio::piped());
        let out = spawn(orphan).unwrap().wait_with_output().unwrap();
        assert!(!out.status.success());
        assert_eq!(out.stdout, b"");
    }
}
