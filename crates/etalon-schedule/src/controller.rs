//! What gives a switch its next weeks: demand, scheduler and control loop in one piece, the same in every engine.

use alloc::string::String;
use core::fmt;

use etalon_switch::{ConfigError, Schedule, Switch};
use etalon_units::{Bytes, Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::control_loop::{ControlLoop, Pace};
use crate::demand::{Demand, DemandError};
use crate::host_demand::{Estimator, HostDemand};
use crate::params::{Params, ParamsError};
use crate::registry::{Options, SchedulerError, scheduler};
use crate::scheduler::CannotSchedule;

/// The scheduler's random stream; those of hosts are numbered from 0, that of initial sequence numbers is 2^32.
const STREAM_SCHEDULER: u64 = (1 << 32) + 1;

/// How weeks are computed from demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlConfig {
    /// The scheduler by name.
    pub scheduler: String,
    /// Where demand is known from.
    pub estimator: Estimator,
    /// Length of a week.
    pub window: Span,
    /// Shortest day.
    pub min_day: Span,
    /// The time after each day in which circuits are rearranged.
    pub night: Span,
    /// What one circuit carries.
    pub circuit: Rate,
    /// What the packet network carries from, and to, one rack.
    pub packet: Rate,
    /// Demand below this is small.
    pub threshold: Bytes,
    /// Small demand is always left to the packet network, not only where there is big demand.
    pub only_big: bool,
    /// When weeks are computed.
    pub pace: Pace,
}

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
    /// A controller; `seed` is that of the experiment.
    ///
    /// # Errors
    /// [`ControlError`] if there is no such scheduler, or if no week can be built.
    pub fn new(config: &ControlConfig, seed: u64) -> Result<Controller, ControlError> {
        let ControlConfig {
            window,
            min_day,
            night,
            circuit,
            packet,
            ..
        } = *config;
        let params =
            Params::new(window, min_day, night, circuit, packet).map_err(ControlError::Params)?;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(STREAM_SCHEDULER);
        let options = Options {
            big: config.threshold,
            only_big: config.only_big,
            week: None,
            rng,
        };
        let scheduler = scheduler(&config.scheduler, options).map_err(ControlError::Scheduler)?;
        Ok(Controller {
            control: ControlLoop::new(scheduler, params, config.pace, Time::ZERO),
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
