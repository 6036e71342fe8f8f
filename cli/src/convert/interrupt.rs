//! Ctrl-C while files are written: the one at hand is finished, so that nothing half done is left, and no other is begun.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use tokio::signal::ctrl_c;

/// Whether Ctrl-C was pressed.
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on Ctrl-C does not end the program by itself.
    pub(super) fn watched() -> Self {
        let interrupt = Self(Arc::default());
        let interrupted = Arc::clone(&interrupt.0);
        let mut pressed = Box::pin(ctrl_c());
        // It is listened to from the first time on that it is asked.
        if (&mut pressed).now_or_never().is_none() {
            tokio::spawn(async move {
                if pressed.await.is_ok() {
                    interrupted.store(true, Ordering::Relaxed);
                }
            });
        }
        interrupt
    }

    /// Whether it was.
    pub(super) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
