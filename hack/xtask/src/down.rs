//! `make down`.

use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::time::{Instant, sleep};

use crate::{
    cluster_dir::{ClusterDir, Error},
    say,
};

const GRACE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(50);

/// Stops the supervisor, and with it everything that it started, and removes its state.
pub(crate) async fn down(dir: &ClusterDir) -> Result<(), Error> {
    let Some(turn) = dir.find()? else {
        say::step("nothing runs");
        return Ok(());
    };
    let Some(supervisor) = dir.supervisor()? else {
        dir.remove(turn)?;
        say::step("nothing runs");
        return Ok(());
    };
    supervisor.signal(Signal::SIGTERM)?;
    let deadline = Instant::now() + GRACE;
    while let Some(supervisor) = dir.supervisor()? {
        if Instant::now() >= deadline {
            // Its children die with it.
            supervisor.signal(Signal::SIGKILL)?;
        }
        sleep(POLL).await;
    }
    dir.remove(turn)?;
    say::step("stopped");
    Ok(())
}
