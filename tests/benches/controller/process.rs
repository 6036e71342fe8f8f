//! What a process has used, as the system counts it.

use std::{fs, io, time::Duration};

/// The clock ticks of a second in which Linux counts CPU time for programs (`USER_HZ`).
const TICKS: u64 = 100;

pub struct Usage {
    /// Of all its threads, in user and in kernel mode.
    pub cpu: Duration,
    /// The most that was resident at a time, in bytes.
    pub peak_memory: u64,
}

impl Usage {
    /// Of a running process.
    pub fn of(id: u32) -> io::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        // The second field, in parentheses, may hold anything.
        let fields: Vec<_> = stat
            .rsplit_once(')')
            .map_or("", |(_, rest)| rest)
            .split_whitespace()
            .collect();
        let number = |text: &str| text.parse::<u64>().map_err(io::Error::other);
        // utime and stime are the 14th and the 15th.
        let ticks = number(fields[11])? + number(fields[12])?;
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"))
            .ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            cpu: Duration::from_millis(ticks * 1000 / TICKS),
            peak_memory: number(peak)? * 1024,
        })
    }
}
