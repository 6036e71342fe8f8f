//! When the process is asked to stop.

use std::{io, time::Duration};

use tokio::{
    signal::unix::{Signal, SignalKind, signal as listen},
    sync::watch,
    time::sleep,
};

/// Turns to `true` at SIGTERM or SIGINT. The next of them ends the process at once, with the exit code 1.
///
/// # Errors
/// When the handler of a signal cannot be installed.
pub fn signal() -> io::Result<watch::Receiver<bool>> {
    let mut terminate = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        either(&mut terminate, &mut interrupt).await;
        tracing::info!("stopping: passes in flight finish");
        sender.send_replace(true);
        either(&mut terminate, &mut interrupt).await;
        tracing::warn!("stopped at once, since it was asked for twice");
        std::process::exit(1);
    });
    Ok(receiver)
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! {
        _ = one.recv() => {}
        _ = other.recv() => {}
    }
}

/// Returns once stop is asked for.
pub async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error says that nobody is left who could say stop, which happens only at the end.
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Returns once stop was asked for that long ago.
pub async fn stopped_for(time: Duration, stop: watch::Receiver<bool>) {
    stopped(stop).await;
    sleep(time).await;
}
