// SPDX-License-Identifier: MIT OR Apache-2.0
//! What gives a switch its next weeks: demand, scheduler and control loop in one piece, the same in every engine.

use core::fmt;

use etalon_scenario::{Control, Rdcn};
use etalon_switch::{ConfigError, Pair, Schedule, Switch};
use etalon_units::{Rate, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::control_loop::{ControlLoop, Pace};
use crate::demand::{Demand, DemandError};
use crate::host_demand::HostDemand;
use crate::params::{Params, ParamsError};
use crate::registry::{Options, SchedulerError, scheduler};
use crate::scheduler::{CannotSchedule, Scheduler};

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

/// What a controller gives weeks to: it tells what stands in its queues.
pub trait Reconfigurable {
    /// Number of racks.
    fn racks(&self) -> u16;

    /// Bytes that wait in the queue of a rack pair.
    fn queued_bytes(&self, pair: Pair) -> u64;

    /// When the current week ends, and the next begins.
    fn roll_over(&self) -> Time;

    /// Begins the week as the current one ends, instead of any that waits for that.
    ///
    /// # Errors
    /// [`ConfigError`] if it cannot; nothing changes then.
    fn adopt(&mut self, week: Schedule) -> Result<(), ConfigError>;
}

impl<H: Copy> Reconfigurable for Switch<H> {
    fn racks(&self) -> u16 {
        Switch::racks(self)
    }

    fn queued_bytes(&self, pair: Pair) -> u64 {
        self.voq_bytes(pair)
    }

    fn roll_over(&self) -> Time {
        Switch::roll_over(self)
    }

    fn adopt(&mut self, week: Schedule) -> Result<(), ConfigError> {
        Switch::adopt(self, week)
    }
}

/// Computes the weeks of a reconfigurable network from demand, from virtual time 0 on.
#[derive(Debug)]
pub struct Controller {
    control: ControlLoop,
    /// What is being computed, and of when.
    looked_at: Option<(Time, Demand)>,
}

impl Controller {
    /// A controller for the weeks of `network`; `seed` is that of the experiment. A scheduler whose name
    /// [is a user's](is_of_user) is lent to each [`step`](Controller::step).
    ///
    /// # Errors
    /// [`ControlError`] if there is no such scheduler, or if no week can be built.
    pub fn new(control: &Control, network: &Rdcn, seed: u64) -> Result<Controller, ControlError> {
        let params = Controller::params(control, network)?;
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
        let scheduler = match is_of_user(&control.scheduler) {
            true => None,
            false => Some(scheduler(&control.scheduler, options).map_err(ControlError::Scheduler)?),
        };
        Ok(Controller {
            control: ControlLoop::new(scheduler, params, pace, Time::ZERO),
            looked_at: None,
        })
    }

    /// What its schedulers compute for.
    ///
    /// # Errors
    /// [`ControlError`] if no week can be built.
    pub fn params(control: &Control, network: &Rdcn) -> Result<Params, ControlError> {
        let Control {
            window,
            min_day,
            night,
            ..
        } = *control;
        // Its circuits are of the first kind.
        let circuit = network.circuits.first().map_or(Rate(0), |kind| kind.rate);
        let packet = network.packet.map_or(Rate(0), |packet| packet.rate);
        Params::new(window, min_day, night, circuit, packet).map_err(ControlError::Params)
    }

    /// When it is due next, before what the `network` does at that instant.
    #[must_use]
    #[inline]
    pub fn next_event(&self, network: &impl Reconfigurable) -> Time {
        self.control.next_event(network.roll_over())
    }

    /// Does what is due at `now`: looks at the demand of `hosts`, or at the queues of the `network` if these do not tell; or has
    /// a week, which it returns, adopted by the network at its next roll-over. A scheduler of the user's is `lent`.
    ///
    /// # Errors
    /// [`ControlError`] of the scheduler, and for more demand than can be computed with.
    pub fn step(
        &mut self,
        now: Time,
        network: &mut impl Reconfigurable,
        hosts: Option<&mut HostDemand>,
        lent: Option<&mut dyn Scheduler>,
    ) -> Result<Option<ComputedWeek>, ControlError> {
        if self.control.looks_at_demand() {
            let demand = match hosts {
                Some(hosts) => hosts.demand(now),
                None => Demand::gather(network.racks(), |pair| network.queued_bytes(pair)),
            };
            self.looked_at = Some((now, demand.map_err(ControlError::Demand)?));
        }
        let Some((_, demand)) = &self.looked_at else {
            return Ok(None);
        };
        let week = self.control.step(now, demand, lent);
        let Some(week) = week.map_err(ControlError::Cannot)? else {
            return Ok(None);
        };
        let adopted = network.adopt(week.clone());
        adopted.map_err(ControlError::Network)?;
        let looked_at = self.looked_at.take();
        Ok(looked_at.map(|(time, demand)| ComputedWeek { time, demand, week }))
    }
}

/// Whether a scheduler (or a congestion control) is code of the user's, such as `my.py:longest_first`, and not one of the registry.
#[must_use]
pub fn is_of_user(scheduler: &str) -> bool {
    scheduler.contains(':')
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
    /// The network does not take the week.
    Network(ConfigError),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ControlError::Scheduler(error) => error.fmt(f),
            ControlError::Params(error) => error.fmt(f),
            ControlError::Demand(error) => error.fmt(f),
            ControlError::Cannot(error) => error.fmt(f),
            ControlError::Network(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for ControlError {}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use etalon_scenario::{CircuitNetwork, Estimator};
    use etalon_switch::Plane;
    use etalon_units::{Bytes, Span};

    use super::*;

    const WEEK: u64 = 2_000_000;

    /// Two racks; rack 0 has as many bytes for rack 1 as it is told.
    struct Racks {
        waiting: u64,
        week: u64,
        adopted: Vec<Schedule>,
    }

    impl Reconfigurable for Racks {
        fn racks(&self) -> u16 {
            2
        }

        fn queued_bytes(&self, pair: Pair) -> u64 {
            if pair == (Pair { src: 0, dst: 1 }) {
                self.waiting
            } else {
                0
            }
        }

        fn roll_over(&self) -> Time {
            Time(self.week * WEEK)
        }

        fn adopt(&mut self, week: Schedule) -> Result<(), ConfigError> {
            let (racks, schedule) = (2, week.racks());
            if racks != schedule {
                return Err(ConfigError::RacksDiffer { racks, schedule });
            }
            self.adopted.push(week);
            Ok(())
        }
    }

    fn controller() -> Controller {
        let circuits = alloc::vec![CircuitNetwork {
            rate: Rate::from_gbps(80),
            delay: Span::ZERO,
        }];
        let network = Rdcn::new(None, circuits, 16);
        let control = Control {
            scheduler: "max-weight".into(),
            estimator: Estimator::Voq,
            window: Span(WEEK),
            min_day: Span(180_000),
            night: Span(20_000),
            threshold: Bytes(0),
            only_big: false,
            compute: Span(300_000),
            interval: Span::ZERO,
        };
        Controller::new(&control, &network, 1).expect("a controller")
    }

    #[test]
    fn whatever_has_queues_and_weeks_can_be_controlled() {
        let mut controller = controller();
        let (mut waiting, week) = (5_000_000, 1);
        let mut racks = Racks {
            waiting,
            week,
            adopted: Vec::new(),
        };
        for week in 1..4 {
            racks.week = week;
            racks.waiting = waiting;
            let looks = controller.next_event(&racks);
            assert_eq!(controller.step(looks, &mut racks, None, None), Ok(None));
            racks.waiting = 0; // too late: demand has been looked at
            let done = controller.next_event(&racks);
            assert_eq!(done, looks + Span(300_000));
            let computed = controller.step(done, &mut racks, None, None);
            let computed = computed.expect("a week").expect("a week");
            assert_eq!((computed.time, computed.demand.total()), (looks, waiting));
            assert_eq!(racks.adopted.last(), Some(&computed.week));
            waiting += 1;
        }
        let served = |week: &Schedule| week.day_time(Pair { src: 0, dst: 1 }, Plane::CIRCUIT);
        assert!(racks.adopted.iter().all(|week| served(week) > Span::ZERO));
    }
}
