// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hybrid switch as a network between racks.

use core::fmt::Debug;

use etalon_scenario::{Rdcn, Scenario};
use etalon_schedule::CrossConnected;
use etalon_switch::{Arrival, ConfigError, Departure, Plane, Probe, QueueId, Sink, Switch};
use etalon_units::{Span, Time};

use crate::around::Around;
use crate::network::{Described, Network};

/// The hybrid switch, and beside it, if wanted, a way around it for acknowledgements.
#[derive(Debug)]
pub struct Hybrid<H> {
    switch: Switch<H>,
    around: Around<H>,
}

impl Described for Rdcn {
    type Network<H: Copy + Debug> = Hybrid<H>;

    fn network<H: Copy + Debug>(&self, scenario: &Scenario) -> Result<Hybrid<H>, ConfigError> {
        let mut switch = Switch::new(self, &scenario.first_week(), Time::ZERO)?;
        for change in scenario.changes() {
            switch.adopt_later(change.at, &change.week)?;
        }
        if scenario.asked().is_some() {
            switch.follow_requests(scenario.first_circuits());
        }
        Ok(Hybrid::new(switch, self.ack_bypass))
    }
}

impl<H: Copy> Hybrid<H> {
    /// Around `switch`, packets without payload take `bypass` instead of entering it, and no queue; if none, they enter it as
    /// others do. They are marked with ECE all the same.
    #[must_use]
    pub fn new(switch: Switch<H>, bypass: Option<Span>) -> Hybrid<H> {
        Hybrid {
            switch,
            around: Around::new(bypass),
        }
    }

    /// Delivers the packets that have passed the switch on their way around, which takes `latency`.
    #[inline(never)]
    fn pass_around<S: Sink<H>>(&mut self, now: Time, latency: Span, sink: &mut S) {
        while let Some((time, packet)) = self.around.take(now) {
            let pair = packet.pair();
            sink.deliver(Departure {
                packet,
                time,
                latency,
                queue: QueueId::voq(pair),
                plane: Plane::PACKET,
                ce: false,
                ece: self.switch.announces(pair.opposite()),
                trimmed: false,
            });
        }
    }
}

impl<H: Copy> Network<H> for Hybrid<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        if let (Some(delay), true) = (self.around.delay(), arrival.pure_ack) {
            self.around.push(now + delay, arrival.packet);
            return;
        }
        self.switch.enqueue(now, arrival, sink, probe);
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.switch.next_event().min(self.around.next())
    }

    #[inline]
    fn next_departure(&self) -> Time {
        self.switch.next_departure().min(self.around.next())
    }

    #[inline]
    fn shortest_passage(&self) -> Span {
        let through = self.switch.shortest_passage();
        let around = self.around.delay();
        around.map_or(through, |around| around.min(through))
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        self.switch.advance(now, sink, probe);
        if let Some(bypass) = self.around.delay() {
            self.pass_around(now, bypass, sink);
        }
    }

    #[inline]
    fn run<S: Sink<H>, P: Probe>(&mut self, now: Time, until: Time, sink: &mut S, probe: &mut P) {
        match self.around.delay() {
            None => self.switch.run(until, sink, probe),
            Some(_) => self.advance(now, sink, probe),
        }
    }

    #[inline]
    fn switch(&self) -> Option<&Switch<H>> {
        Some(&self.switch)
    }

    #[inline]
    fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        Some(&mut self.switch)
    }

    fn circuits_mut(&mut self) -> Option<&mut dyn CrossConnected> {
        Some(&mut self.switch)
    }
}
