//! Who gives the network its next weeks.

use etalon_fabric::Hybrid;
use etalon_measure::{Metrics, PlanError};
use etalon_schedule::{ComputedWeek, Controller, HostDemand};
use etalon_units::Time;

use crate::packet::PacketId;

/// Gives a network `F` its next weeks.
pub(crate) trait Steering<F> {
    /// When it is due next, before what the network does at that instant.
    fn next_event(&self, network: &F) -> Time;

    /// Does what is due at `now`; `hosts` know demand, if anybody but the switch does.
    fn step(
        &mut self,
        now: Time,
        network: &mut F,
        hosts: Option<&mut HostDemand>,
        metrics: &mut Metrics,
    ) -> Result<(), PlanError>;
}

/// All weeks are the same.
impl<F> Steering<F> for () {
    #[inline]
    fn next_event(&self, _: &F) -> Time {
        Time::MAX
    }

    fn step(
        &mut self,
        _: Time,
        _: &mut F,
        _: Option<&mut HostDemand>,
        _: &mut Metrics,
    ) -> Result<(), PlanError> {
        Ok(())
    }
}

/// Weeks are computed from demand.
impl Steering<Hybrid<PacketId>> for Controller {
    fn next_event(&self, network: &Hybrid<PacketId>) -> Time {
        Controller::next_event(self, network.switch())
    }

    fn step(
        &mut self,
        now: Time,
        network: &mut Hybrid<PacketId>,
        hosts: Option<&mut HostDemand>,
        metrics: &mut Metrics,
    ) -> Result<(), PlanError> {
        let computed = Controller::step(self, now, network.switch_mut(), hosts)
            .map_err(|e| PlanError(e.to_string()))?;
        if let Some(ComputedWeek { time, demand, week }) = computed {
            metrics.computed(time, demand.entries(), &week);
        }
        Ok(())
    }
}
