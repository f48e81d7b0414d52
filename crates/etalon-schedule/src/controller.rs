//! What gives a switch its next weeks: demand, scheduler and control loop in one piece, the same in every engine.

use core::fmt;

use etalon_scenario::{Control, Rdcn};
use etalon_switch::{ConfigError, Schedule, Switch};
use etalon_units::{Rate, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::control_loop::{ControlLoop, Pace};
use crate::demand::{Demand, DemandError};
use crate::host_demand::HostDemand;
use crate::params::{Params, ParamsError};
use crate::registry::{Options, SchedulerError, scheduler};
use crate::scheduler::CannotSchedule;

/// The scheduler's random stream; those of hosts are numbered from 0, that of initial sequence numbers is 2^32.
const STREAM_SCHEDULER: u64 = (1 << 32) + 1;

/// A week that was computed, and of which demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedWeek {
    /// When demand was looked at.
    pub time: Time,
    /// The demand.
    pub demand: Demand,
    /// The week.
    pub week: Schedule,
}

/// Computes the weeks of a switch from demand, from virtual time 0 on.
#[derive(Debug)]
pub struct Controller {
    control: ControlLoop,
    /// What is being computed, and of when.
    looked_at: Option<(Time, Demand)>,
}

impl Controller {
    /// A controller for the weeks of `network`; `seed` is that of the experiment.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such scheduler, or if no week can be built.
    pub fn new(control: &Control, network: &Rdcn, seed: u64) -> Result<Controller, ControlError> {
        let Control {
            window,
            min_day,
            night,
            ..
        } = *control;
        // Its circuits are of the first kind.
        let circuit = network.circuits.first().map_or(Rate(0), |kind| kind.rate);
        let packet = network.packet.map_or(Rate(0), |packet| packet.rate);
        let params =
            Params::new(window, min_day, night, circuit, packet).map_err(ControlError::Params)?;
        let pace = Pace {
            compute: control.compute,
            interval: control.interval,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(STREAM_SCHEDULER);
        let options = Options {
            big: control.threshold,
            only_big: control.only_big,
            week: None,
            rng,
        };
        let scheduler = scheduler(&control.scheduler, options).map_err(ControlError::Scheduler)?;
        Ok(Controller {
            control: ControlLoop::new(scheduler, params, pace, Time::ZERO),
            looked_at: None,
        })
    }

    /// When it is due next, before what `switch` does at that instant.
    #[must_use]
    #[inline]
    pub fn next_event<H: Copy>(&self, switch: &Switch<H>) -> Time {
        self.control.next_event(switch.roll_over())
    }

    /// Does what is due at `now`: looks at the demand of `hosts`, or at the VOQs of `switch` if these do not tell; or has a
    /// week, which it returns, adopted by the switch at its next roll-over.
    ///
    /// # Errors
    /// [`ControlError`] of the scheduler, and for more demand than can be computed with.
    pub fn step<H: Copy>(
        &mut self,
        now: Time,
        switch: &mut Switch<H>,
        hosts: Option<&mut HostDemand>,
    ) -> Result<Option<ComputedWeek>, ControlError> {
        if self.control.looks_at_demand() {
            let demand = match hosts {
                Some(hosts) => hosts.demand(now),
                None => Demand::gather(switch.racks(), |pair| switch.voq_bytes(pair)),
            };
            self.looked_at = Some((now, demand.map_err(ControlError::Demand)?));
        }
        let Some((_, demand)) = &self.looked_at else {
            return Ok(None);
        };
        let week = self.control.step(now, demand);
        let Some(week) = week.map_err(ControlError::Cannot)? else {
            return Ok(None);
        };
        switch.adopt(week.clone()).map_err(ControlError::Switch)?;
        let looked_at = self.looked_at.take();
        Ok(looked_at.map(|(time, demand)| ComputedWeek { time, demand, week }))
    }
}

/// Why no weeks can be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// There is no such scheduler.
    Scheduler(SchedulerError),
    /// No week can be built.
    Params(ParamsError),
    /// Demand is none.
    Demand(DemandError),
    /// The scheduler has no week.
    Cannot(CannotSchedule),
    /// The switch does not take the week.
    Switch(ConfigError),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Scheduler(error) => error.fmt(f),
            ControlError::Params(error) => error.fmt(f),
            ControlError::Demand(error) => error.fmt(f),
            ControlError::Cannot(error) => error.fmt(f),
            ControlError::Switch(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ControlError {}
