//! What lies between racks: a kind of network, and the choice of one.

use etalon_scenario::{self as scenario, Scenario};
use etalon_switch::{Arrival, ConfigError, Probe, Sink, Switch};
use etalon_units::{Span, Time};

use crate::chain::Chain;
use crate::hybrid::Hybrid;

/// A kind of network between racks. It takes packets at ToR switches and returns them at ToR switches, through a [`Sink`].
pub trait Network<H: Copy> {
    /// A packet enters. All that is due up to `now` has been done.
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    );

    /// The next instant at which something happens inside, [`Time::MAX`] if nothing will.
    fn next_event(&self) -> Time;

    /// No packet is delivered before this, unless one enters; not before [`Network::next_event`].
    fn next_departure(&self) -> Time;

    /// No packet is delivered sooner than this after it entered.
    fn shortest_passage(&self) -> Span;

    /// Does all that is due at `now`.
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P);

    /// The switch that adopts weeks; none if it has none.
    fn switch(&self) -> Option<&Switch<H>> {
        None
    }

    /// As [`Network::switch`], to adopt a week.
    fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        None
    }
}

/// A network of any kind.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // there is one
pub enum AnyNetwork<H> {
    /// The hybrid switch.
    Hybrid(Hybrid<H>),
    /// Queues in a row.
    Chain(Chain<H>),
}

impl<H: Copy> AnyNetwork<H> {
    /// The network of a scenario, at virtual time 0.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such switch.
    pub fn new(scenario: &Scenario) -> Result<AnyNetwork<H>, ConfigError> {
        Ok(match &scenario.network {
            scenario::Network::Rdcn(rdcn) => {
                AnyNetwork::Hybrid(Hybrid::of(rdcn, &scenario.first_week())?)
            }
            scenario::Network::Dumbbell(dumbbell) => AnyNetwork::Chain(Chain::of(dumbbell)),
        })
    }
}

/// Calls the method of whichever network it is.
macro_rules! of_either {
    ($network:expr, $n:ident => $call:expr) => {
        match $network {
            AnyNetwork::Hybrid($n) => $call,
            AnyNetwork::Chain($n) => $call,
        }
    };
}

impl<H: Copy> Network<H> for AnyNetwork<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        of_either!(self, n => n.enqueue(now, arrival, sink, probe));
    }

    #[inline]
    fn next_event(&self) -> Time {
        of_either!(self, n => n.next_event())
    }

    #[inline]
    fn next_departure(&self) -> Time {
        of_either!(self, n => n.next_departure())
    }

    #[inline]
    fn shortest_passage(&self) -> Span {
        of_either!(self, n => n.shortest_passage())
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        of_either!(self, n => n.advance(now, sink, probe));
    }

    #[inline]
    fn switch(&self) -> Option<&Switch<H>> {
        of_either!(self, n => n.switch())
    }

    #[inline]
    fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        of_either!(self, n => n.switch_mut())
    }
}
