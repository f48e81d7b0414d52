// SPDX-License-Identifier: MIT OR Apache-2.0
//! What weeks do to pairs: steps, and the rules by which they follow from a schedule.
//!
//! A pair has a circuit in its days, and three signals. Each is on in a window around each of the pair's days, from some lead
//! before the start of the day to its end; windows that touch or overlap are one. Days repeat every week, so windows reach
//! over the roll-over.
//!
//! | signal      | lead                                        |
//! |-------------|---------------------------------------------|
//! | gate closed | the night before the day                    |
//! | big VOQ     | tau (NSDI'20 section 5.2)                   |
//! | near        | `ece_in_advance` (NSDI'20 section 5.3)      |
//!
//! Where the packet network is dark in all nights, that is so for all pairs. Beside these, each change of the network that leads to a
//! pair's destination (TDN, SIGCOMM'22 section 4.2) can be told to hosts, some lead before it happens.

use etalon_units::Span;

use crate::{Night, Pair, Plane, Rdcn};

/// What the schedule switches on and off for a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// The packet network does not serve the pair's VOQ.
    GateClosed,
    /// The pair's VOQ has its big capacity.
    Enlarged,
    /// A circuit is up or near: packets of the opposite direction carry ECE.
    Announced,
}

impl Signal {
    /// All signals, in order.
    pub(crate) const ALL: [Signal; 3] = [Signal::GateClosed, Signal::Enlarged, Signal::Announced];

    /// The signal's place in a set of signals.
    #[inline]
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A step of the schedule. Steps of one instant come in this order, so that what ends, ends before anything starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A day ends.
    Night(u32),
    /// The packet network serves nobody from now on.
    Dark,
    /// The circuit of a pair goes down.
    Down(Pair),
    /// A signal goes off.
    Off(Signal, Pair),
    /// The packet network serves again.
    Light,
    /// A day starts.
    Day(u32),
    /// A circuit comes up.
    Up(Pair, Plane),
    /// A signal goes on.
    On(Signal, Pair),
    /// Hosts are told which TDN leads to the pair's destination from now on, or soon.
    Tell(Pair, Plane),
}

impl Step {
    /// The pair of racks that it concerns.
    pub(crate) fn pair(self) -> Option<Pair> {
        match self {
            Step::Night(_) | Step::Dark | Step::Light | Step::Day(_) => None,
            Step::Down(pair)
            | Step::Off(_, pair)
            | Step::Up(pair, _)
            | Step::On(_, pair)
            | Step::Tell(pair, _) => Some(pair),
        }
    }
}

/// What a network makes of its weeks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How long before a pair's day these signals go on; `None` for never.
    pub(crate) enlarged: Option<Span>,
    pub(crate) announced: Option<Span>,
    /// How long before a pair's TDN changes hosts are told.
    pub(crate) told: Option<Span>,
    /// Outside of its days a pair has the packet network.
    pub(crate) has_packet: bool,
    /// The packet network is dark in all nights.
    pub(crate) dark_nights: bool,
}

impl Rules {
    pub(crate) fn new(config: &Rdcn) -> Rules {
        let has_packet = config.packet.is_some();
        Rules {
            enlarged: config.voq.resize.map(|resize| resize.in_advance),
            announced: config.ece_in_advance,
            told: config.notify.map(|notify| notify.before),
            has_packet,
            dark_nights: has_packet && config.night == Night::All,
        }
    }

    /// How long before a pair's day, before which there is a night of this length, a signal goes on, if it does.
    pub(crate) fn lead(&self, signal: Signal, night: Span) -> Option<Span> {
        match signal {
            Signal::GateClosed => Some(night),
            Signal::Enlarged => self.enlarged,
            Signal::Announced => self.announced,
        }
    }
}

/// How a week finds a pair when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Initial {
    pub(crate) pair: Pair,
    /// The plane of the circuit that it has, from the week before.
    pub(crate) circuit: Option<Plane>,
    /// Signals that are on before the week's first step, a bit each: windows that reach over the roll-over.
    pub(crate) signals: u8,
    /// The TDN that hosts have been told by then, at that instant included.
    pub(crate) told: Plane,
}

impl Initial {
    /// As of all pairs of which a week says nothing.
    pub(crate) fn at_rest(pair: Pair) -> Initial {
        Initial {
            pair,
            circuit: None,
            signals: 0,
            told: Plane::PACKET,
        }
    }
}
