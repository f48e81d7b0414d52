//! Who gives the network its next weeks.

use etalon_fabric::Hybrid;
use etalon_measure::plan::{ControlPlan, RdcnPlan};
use etalon_measure::{Metrics, Plan, PlanError};
use etalon_schedule::{ControlLoop, Demand, DemandError, Options, Pace, Params, scheduler};
use etalon_switch::Schedule;
use etalon_units::{Bytes, Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::demand::KnowsDemand;
use crate::packet::PacketId;

/// The scheduler's random stream; those of hosts are numbered from 0, that of initial sequence numbers is 2^32.
const STREAM_SCHEDULER: u64 = (1 << 32) + 1;

/// Gives a network `F` its next weeks, whose hosts announce to `A`.
pub(crate) trait Steering<F, A> {
    /// When it is due next, before what the network does at that instant.
    fn next_event(&self, network: &F) -> Time;

    /// Does what is due at `now`.
    fn step(
        &mut self,
        now: Time,
        network: &mut F,
        hosts: &mut A,
        metrics: &mut Metrics,
    ) -> Result<(), PlanError>;
}

/// All weeks are the same.
impl<F, A> Steering<F, A> for () {
    #[inline]
    fn next_event(&self, _: &F) -> Time {
        Time::MAX
    }

    fn step(&mut self, _: Time, _: &mut F, _: &mut A, _: &mut Metrics) -> Result<(), PlanError> {
        Ok(())
    }
}

/// Weeks are computed from demand.
#[derive(Debug)]
pub(crate) struct Computing {
    control: ControlLoop,
    /// What is being computed, and of when: to be noted when it is handed over.
    demand: Option<(Time, Demand)>,
}

impl Computing {
    pub(crate) fn new(
        plan: &Plan,
        network: &RdcnPlan,
        control: &ControlPlan,
    ) -> Result<Computing, PlanError> {
        let params = Params::new(
            Span(control.window_ns),
            Span(control.min_day_ns),
            Span(control.night_ns),
            Rate(network.circuit.rate_bps),
            Rate(network.packet.rate_bps),
        )
        .map_err(refused)?;
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_SCHEDULER);
        let options = Options {
            big: Bytes(control.threshold_bytes),
            only_big: control.only_big,
            week: None,
            rng,
        };
        let pace = Pace {
            compute: Span(control.compute_ns),
            interval: Span(control.interval_ns),
        };
        let scheduler = scheduler(&control.scheduler, options).map_err(refused)?;
        Ok(Computing {
            control: ControlLoop::new(scheduler, params, pace, Time::ZERO),
            demand: None,
        })
    }
}

impl<A: KnowsDemand> Steering<Hybrid<PacketId>, A> for Computing {
    fn next_event(&self, network: &Hybrid<PacketId>) -> Time {
        self.control.next_event(network.switch().roll_over())
    }

    fn step(
        &mut self,
        now: Time,
        network: &mut Hybrid<PacketId>,
        hosts: &mut A,
        metrics: &mut Metrics,
    ) -> Result<(), PlanError> {
        if self.control.looks_at_demand() {
            let demand = hosts.demand(now).unwrap_or_else(|| queued(network));
            self.demand = Some((now, demand.map_err(refused)?));
        }
        let Some((time, demand)) = &self.demand else {
            return Ok(());
        };
        let week: Option<Schedule> = self.control.step(now, demand).map_err(refused)?;
        if let Some(week) = week {
            metrics.computed(*time, demand.entries(), &week);
            network.switch_mut().adopt(week).map_err(refused)?;
        }
        Ok(())
    }
}

/// Demand as the ToRs see it: the bytes in each VOQ.
fn queued(network: &Hybrid<PacketId>) -> Result<Demand, DemandError> {
    let switch = network.switch();
    Demand::gather(switch.racks(), |pair| switch.voq_bytes(pair))
}

fn refused(error: impl ToString) -> PlanError {
    PlanError(error.to_string())
}
