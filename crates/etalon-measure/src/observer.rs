// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes that contain the run's metrics, which is what engines are run with.

use etalon_events::Probe;

use crate::probe::Metrics;
use crate::recorder::Recorder;
use crate::table::Table;

/// A probe that contains the run's metrics.
pub trait Observer: Probe {
    /// The metrics.
    fn metrics(&mut self) -> &mut Metrics;

    /// Whether it is the same to it when it hears of what the schedule does to pairs that have sent nothing
    /// ([`Switch::let_idle_pairs_sleep`](etalon_switch::Switch::let_idle_pairs_sleep)).
    fn may_hear_late(&self) -> bool;

    /// The events that it wrote down, if it does.
    fn into_events(self) -> Option<Table>;
}

impl Observer for Metrics {
    #[inline]
    fn metrics(&mut self) -> &mut Metrics {
        self
    }

    fn may_hear_late(&self) -> bool {
        true
    }

    fn into_events(self) -> Option<Table> {
        None
    }
}

impl Observer for Recorder {
    #[inline]
    fn metrics(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn may_hear_late(&self) -> bool {
        false // it writes down what it hears in that order
    }

    fn into_events(self) -> Option<Table> {
        Some(self.into_table())
    }
}
