// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared between the thread that runs an experiment and the one that watches it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::Live;

/// Progress and what was measured so far out, requests to stop and to tell in.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
    asked: AtomicBool,
    live: Mutex<Option<Live>>,
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

    /// What an engine told last; asks it to tell again, which it does soon.
    #[must_use]
    pub fn live(&self) -> Option<Live> {
        self.asked.store(true, Ordering::Relaxed);
        self.live
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether somebody asked what was measured so far.
    #[must_use]
    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// An engine tells what it has measured so far.
    #[cold]
    pub fn tell(&self, live: Live) {
        self.asked.store(false, Ordering::Relaxed);
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
    }

    /// An engine reports how much of the total is done; returns whether to go on.
    pub fn report(&self, done: u64, total: u64) -> bool {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done.min(total), Ordering::Relaxed);
        !self.stopped()
    }
}
