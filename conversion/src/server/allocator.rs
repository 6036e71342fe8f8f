//! Making glibc's allocator give large buffers back.
//!
//! By itself it learns to keep freed buffers of up to 32 MiB, in an arena for each thread: after many large reviews the process holds
//! several times as much as it uses, which no bound on the reviews can take into account. It is told otherwise by its environment only,
//! and before the program starts; so the program starts itself once more. Other allocators know nothing of these variables.

use std::env;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// One arena for all threads, so that what one has freed serves the others; small pieces come from each thread's own cache as before.
/// Buffers of at least 4 MiB are the system's again as soon as they are freed. Those of most reviews are smaller, and are used again: up
/// to 16 MiB at the end of the arena are kept for that.
const SETTINGS: [(&str, &str); 3] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "4194304"),
    ("MALLOC_TRIM_THRESHOLD_", "16777216"),
];

/// Starts this program anew with those of the [`SETTINGS`] that its environment has not, as the same process. Returns if there is no need
/// to, or with the reason why it cannot; the program is the same without.
pub(super) fn settle() -> io::Result<()> {
    let mut missing = SETTINGS.to_vec();
    missing.retain(|(name, _)| env::var_os(name).is_none());
    if !cfg!(target_env = "gnu") || missing.is_empty() {
        return Ok(());
    }
    let mut arguments = env::args_os();
    let mut program = Command::new(env::current_exe()?);
    if let Some(name) = arguments.next() {
        program.arg0(name);
    }
    Err(program.args(arguments).envs(missing).exec())
}
