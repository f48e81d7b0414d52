//! Shared between the thread that runs an experiment and the one that watches it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress out, a request to stop in.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Control {
    /// Asks the run to end soon with what it has measured.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the run was asked to end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The share of virtual time that is done, 0 to 1.
    #[must_use]
    pub fn progress(&self) -> f64 {
        let total = self.total.load(Ordering::Relaxed);
        if total == 0 {
            return 0.0;
        }
        self.done.load(Ordering::Relaxed) as f64 / total as f64
    }

    /// An engine reports how much of the total is done; returns whether to go on.
    pub fn report(&self, done: u64, total: u64) -> bool {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done.min(total), Ordering::Relaxed);
        !self.stopped()
    }
}
