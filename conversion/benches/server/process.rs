//! What a process takes, from Linux's `/proc`.

use std::fs;
use std::time::Duration;

use crate::Result;

/// How many ticks of `/proc/PID/stat` make a second: fixed by the kernel's interface on every machine that this runs on.
const TICKS: f64 = 100.0;

/// A process that runs.
pub struct Process(u32);

impl Process {
    pub fn of(id: u32) -> Self {
        Self(id)
    }

    /// The process that listens at the port of `url`.
    pub fn listening_at(url: &str) -> Result<Self> {
        let authority = url.split('/').nth(2).unwrap_or_default();
        let port = authority.rsplit(':').next().unwrap_or_default();
        let port: u16 = port.parse().map_err(|_| format!("{url} has no port"))?;
        let inode = listening_inode(port)?.ok_or(format!("nothing listens at port {port}"))?;
        let socket = format!("socket:[{inode}]");
        for entry in fs::read_dir("/proc")? {
            let entry = entry?;
            let Some(id) = entry.file_name().to_str().and_then(|id| id.parse().ok()) else {
                continue;
            };
            // Processes end meanwhile, and others' are not to be looked into.
            let Ok(files) = fs::read_dir(entry.path().join("fd")) else {
                continue;
            };
            let is_it = |link: std::path::PathBuf| link.as_os_str() == socket.as_str();
            if files
                .flatten()
                .any(|file| fs::read_link(file.path()).is_ok_and(is_it))
            {
                return Ok(Self(id));
            }
        }
        Err(format!("the process that listens at port {port} is not to be found").into())
    }

    /// The CPU time that it has taken.
    pub fn cpu_time(&self) -> Result<Duration> {
        let stat = self.read("stat")?;
        // The name may hold anything, so the fields are counted from the end of it.
        let (_, fields) = stat.rsplit_once(')').ok_or("no stat")?;
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: f64 = ticks.map(|ticks| ticks.parse::<f64>().unwrap_or(0.0)).sum();
        Ok(Duration::from_secs_f64(ticks / TICKS))
    }

    /// The memory that it takes now, in MiB.
    pub fn resident(&self) -> Result<f64> {
        self.status("VmRSS:")
    }

    /// The most memory that it has taken since [`Process::forget_peak`], in MiB.
    pub fn peak(&self) -> Result<f64> {
        self.status("VmHWM:")
    }

    /// Begins to look for the peak anew.
    pub fn forget_peak(&self) -> Result<()> {
        Ok(fs::write(format!("/proc/{}/clear_refs", self.0), "5")?)
    }

    fn status(&self, name: &str) -> Result<f64> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        Ok(number.ok_or(format!("no {name}"))?.parse::<f64>()? / 1024.0)
    }

    fn read(&self, file: &str) -> Result<String> {
        Ok(fs::read_to_string(format!("/proc/{}/{file}", self.0))?)
    }
}

fn listening_inode(port: u16) -> Result<Option<String>> {
    let end = format!(":{port:04X}");
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        for line in fs::read_to_string(table)?.lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            // local_address, st (0A: LISTEN), inode
            if let [_, local, _, "0A", _, _, _, _, _, inode, ..] = fields[..]
                && local.ends_with(&end)
            {
                return Ok(Some(inode.to_owned()));
            }
        }
    }
    Ok(None)
}
