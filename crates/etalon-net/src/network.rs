// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies between racks: a kind of network, and the choice of one.

use core::fmt::Debug;

use etalon_scenario::{Scenario, network_kinds};
use etalon_schedule::CrossConnected;
use etalon_switch::{Arrival, ConfigError, Probe, Sink, Switch};
use etalon_units::{Span, Time};

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

    /// Does all that is due at `now`, when something is. What comes later, up to `until`, may be done as well, as long as no packet has
    /// come out: whoever is told of nothing need not be asked in between.
    #[inline]
    fn run<S: Sink<H>, P: Probe>(&mut self, now: Time, until: Time, sink: &mut S, probe: &mut P) {
        let _ = until;
        self.advance(now, sink, probe);
    }

    /// Whether packets between hosts of one rack are for it too; if not, their ToR switch returns them at once.
    #[inline]
    fn carries_within_racks(&self) -> bool {
        false
    }

    /// The switch that adopts weeks; none if it has none.
    fn switch(&self) -> Option<&Switch<H>> {
        None
    }

    /// As [`Network::switch`], to adopt a week.
    fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        None
    }

    /// What changes the circuits that are asked for; none if there are none.
    fn circuits_mut(&mut self) -> Option<&mut dyn CrossConnected> {
        None
    }
}

/// A description of a network, from which one is made: each kind has this beside it.
pub trait Described {
    /// The network.
    type Network<H: Copy + Debug>: Network<H> + Debug;

    /// The network that this part of `scenario` describes, at virtual time 0.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such network.
    fn network<H: Copy + Debug>(
        &self,
        scenario: &Scenario,
    ) -> Result<Self::Network<H>, ConfigError>;
}

/// What does the same with a network of any kind, compiled for each.
pub trait Visitor<H: Copy> {
    /// What comes of it.
    type Answer;

    /// Does it.
    fn visit<N: Network<H>>(self, network: N) -> Self::Answer;
}

macro_rules! any_network {
    ($($(#[$doc:meta])* $Kind:ident,)*) => {
        /// A network of any kind, told apart with every call.
        #[derive(Debug)]
        #[allow(clippy::large_enum_variant)] // there is one
        pub enum AnyNetwork<H: Copy + Debug> {
            $($(#[$doc])* $Kind(<etalon_scenario::$Kind as Described>::Network<H>),)*
        }

        impl<H: Copy + Debug> AnyNetwork<H> {
            /// The network of a scenario, at virtual time 0.
            ///
            /// # Errors
            /// [`ConfigError`] if there is no such network.
            pub fn new(scenario: &Scenario) -> Result<AnyNetwork<H>, ConfigError> {
                Ok(match &scenario.network {
                    $(etalon_scenario::Network::$Kind(kind) => AnyNetwork::$Kind(kind.network(scenario)?),)*
                })
            }
        }

        /// Has `visitor` visit the network of a scenario, at virtual time 0.
        ///
        /// # Errors
        /// [`ConfigError`] if there is no such network.
        pub fn visit<H: Copy + Debug, V: Visitor<H>>(
            scenario: &Scenario,
            visitor: V,
        ) -> Result<V::Answer, ConfigError> {
            Ok(match &scenario.network {
                $(etalon_scenario::Network::$Kind(kind) => visitor.visit(kind.network(scenario)?),)*
            })
        }

        impl<H: Copy + Debug> Network<H> for AnyNetwork<H> {
            #[inline]
            fn enqueue<S: Sink<H>, P: Probe>(
                &mut self,
                now: Time,
                arrival: Arrival<H>,
                sink: &mut S,
                probe: &mut P,
            ) {
                match self {
                    $(AnyNetwork::$Kind(n) => n.enqueue(now, arrival, sink, probe),)*
                }
            }

            #[inline]
            fn next_event(&self) -> Time {
                match self {
                    $(AnyNetwork::$Kind(n) => n.next_event(),)*
                }
            }

            #[inline]
            fn next_departure(&self) -> Time {
                match self {
                    $(AnyNetwork::$Kind(n) => n.next_departure(),)*
                }
            }

            #[inline]
            fn shortest_passage(&self) -> Span {
                match self {
                    $(AnyNetwork::$Kind(n) => n.shortest_passage(),)*
                }
            }

            #[inline]
            fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
                match self {
                    $(AnyNetwork::$Kind(n) => n.advance(now, sink, probe),)*
                }
            }

            #[inline]
            fn run<S: Sink<H>, P: Probe>(
                &mut self,
                now: Time,
                until: Time,
                sink: &mut S,
                probe: &mut P,
            ) {
                match self {
                    $(AnyNetwork::$Kind(n) => n.run(now, until, sink, probe),)*
                }
            }

            #[inline]
            fn carries_within_racks(&self) -> bool {
                match self {
                    $(AnyNetwork::$Kind(n) => n.carries_within_racks(),)*
                }
            }

            #[inline]
            fn switch(&self) -> Option<&Switch<H>> {
                match self {
                    $(AnyNetwork::$Kind(n) => n.switch(),)*
                }
            }

            #[inline]
            fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
                match self {
                    $(AnyNetwork::$Kind(n) => n.switch_mut(),)*
                }
            }

            fn circuits_mut(&mut self) -> Option<&mut dyn CrossConnected> {
                match self {
                    $(AnyNetwork::$Kind(n) => n.circuits_mut(),)*
                }
            }
        }
    };
}
network_kinds!(any_network);
