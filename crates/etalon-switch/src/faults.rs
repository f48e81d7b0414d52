// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parts of the networks that fail for a time, and circuits that come up late.
//!
//! A link that is down, or locks late, is busy until it is not: so whoever looks whether it is free need not know of failures.

use alloc::boxed::Box;
use alloc::vec::Vec;

use etalon_queues::PacketId;
use etalon_scenario::{CircuitFailure, Part};
use etalon_units::{Span, Time};

use crate::rules::{Signal, Step};
use crate::{DropReason, Event, Packet, Pair, Plane, Probe, Rdcn, Sink, Switch};

/// What happens to a failure; at one instant in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    End(u32),
    Begin(u32),
    /// ToR switches learn that it is over.
    Forget(u32),
    /// They learn of it.
    Learn(u32),
}

/// All failures.
#[derive(Debug)]
pub(crate) struct Faults {
    failures: Vec<CircuitFailure>,
    /// What is to come, the first at the end.
    changes: Vec<(Time, Change)>,
    /// Those of which circuits come up late now.
    late: Vec<u32>,
    /// Those that ToR switches know of.
    known: Vec<u32>,
    /// Kinds of circuits.
    kinds: u8,
}

impl Faults {
    /// Those of a network, if there are any.
    pub(crate) fn of(config: &Rdcn) -> Option<Box<Faults>> {
        if config.failures.is_empty() {
            return None;
        }
        let mut changes = Vec::new();
        for (number, failure) in (0..).zip(&config.failures) {
            let end = failure.to.unwrap_or(Time::MAX);
            changes.push((failure.from, Change::Begin(number)));
            changes.push((end, Change::End(number)));
            if failure.locks_after.is_none() {
                let later = |time: Time| time.saturating_add(config.reroute);
                changes.push((later(failure.from), Change::Learn(number)));
                changes.push((later(end), Change::Forget(number)));
            }
        }
        changes.retain(|change| change.0 < Time::MAX);
        changes.sort_unstable_by(|a, b| b.cmp(a));
        Some(Box::new(Faults {
            failures: config.failures.clone(),
            changes,
            late: Vec::new(),
            known: Vec::new(),
            kinds: config.circuits.len() as u8,
        }))
    }

    /// When something next fails or returns, or ToR switches learn of it; [`Time::MAX`] if never.
    pub(crate) fn next_time(&self) -> Time {
        self.changes.last().map_or(Time::MAX, |change| change.0)
    }

    fn take_due(&mut self, now: Time) -> Option<Change> {
        let (time, change) = *self.changes.last()?;
        if time > now {
            return None;
        }
        self.changes.pop();
        Some(change)
    }

    fn failure(&self, number: u32) -> &CircuitFailure {
        &self.failures[number as usize]
    }

    /// How much later the circuits of parts come up of which this holds.
    fn locks_after(&self, hit: impl Fn(Part) -> bool) -> Span {
        let late = self.late.iter().map(|&number| self.failure(number));
        let late = late.filter(|failure| hit(failure.part));
        late.filter_map(|failure| failure.locks_after)
            .max()
            .unwrap_or_default()
    }

    /// Whether ToR switches know that no circuit can join a pair.
    fn knows(&self, pair: Pair) -> bool {
        let parts = || self.known.iter().map(|&number| self.failure(number).part);
        let is_down = |plane: u8| {
            parts().any(|part| {
                part.stops_sending(pair.src, plane) || part.stops_receiving(pair.dst, plane)
            })
        };
        (1..=self.kinds).all(is_down)
    }
}

impl<H: Copy> Switch<H> {
    /// Has happen to failures what is due.
    #[inline]
    pub(crate) fn suffer<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        while let Some(change) = self.faults.as_mut().and_then(|faults| faults.take_due(now)) {
            self.suffer_one(now, change, sink, probe);
        }
    }

    #[cold]
    #[inline(never)]
    fn suffer_one<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        change: Change,
        sink: &mut S,
        probe: &mut P,
    ) {
        let Some(faults) = &mut self.faults else {
            return;
        };
        match change {
            Change::End(number) => faults.late.retain(|&other| other != number),
            Change::Begin(number) if faults.failure(number).locks_after.is_some() => {
                faults.late.push(number);
            }
            Change::Begin(number) => {
                let failure = *faults.failure(number);
                self.fail(now, &failure, sink, probe);
            }
            Change::Forget(number) => {
                faults.known.retain(|&other| other != number);
                probe.on(now, Event::Rerouted {});
            }
            Change::Learn(number) => {
                faults.known.push(number);
                probe.on(now, Event::Rerouted {});
                self.reroute(now, sink, probe);
            }
        }
    }

    /// A part fails: its links are down until it returns.
    fn fail<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        failure: &CircuitFailure,
        sink: &mut S,
        probe: &mut P,
    ) {
        let (part, until) = (failure.part, failure.to.unwrap_or(Time::MAX));
        let has_packet_network = self.config.packet.is_some();
        for rack in 0..self.racks {
            let stops = [part.stops_sending(rack, 0), part.stops_receiving(rack, 0)];
            for (end, stops) in stops.into_iter().enumerate() {
                if has_packet_network && stops {
                    let link = match end {
                        0 => self.packet.uplink(rack),
                        _ => self.packet.downlink(rack),
                    };
                    link.rest_until(until, &mut self.core.event_queue);
                    let (pool, event_queue) = (&mut self.core.pool, &mut self.core.event_queue);
                    let lost = link.cut(pool, event_queue, |_| true);
                    self.lose(now, lost, sink, probe);
                }
            }
            for plane in 1..=self.config.circuits.len() as u8 {
                let port = self.circuits.port(Plane(plane), rack);
                let receives = !part.stops_receiving(rack, plane);
                if !receives {
                    let link = self.circuits.receiver(port);
                    link.rest_until(until, &mut self.core.event_queue);
                }
                if part.stops_sending(rack, plane) {
                    self.circuits.rest_until(port, until);
                }
                let is_lost =
                    |packet: &Packet<H>| !receives || part.stops_sending(packet.src.rack(), plane);
                let (pool, event_queue) = (&mut self.core.pool, &mut self.core.event_queue);
                let link = self.circuits.receiver(port);
                let lost = link.cut(pool, event_queue, is_lost);
                self.lose(now, lost, sink, probe);
            }
        }
    }

    fn lose<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        lost: Vec<PacketId>,
        sink: &mut S,
        probe: &mut P,
    ) {
        for id in lost {
            let len = self.voq_len(self.core.pool.get(id).packet.pair());
            self.discard(now, id, len, DropReason::LinkDown, sink, probe);
        }
    }

    /// The packet network serves pairs of which ToR switches know now that no circuit can join them.
    fn reroute<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        let mut steps = Vec::new();
        for (src, dst) in (0..self.racks).flat_map(|src| (0..self.racks).map(move |dst| (src, dst)))
        {
            let pair = Pair { src, dst };
            if self
                .faults
                .as_ref()
                .is_some_and(|faults| faults.knows(pair))
            {
                steps.push(Step::Down(pair));
                steps.push(Step::Off(Signal::GateClosed, pair));
                if self.core.voqs.get(pair).told() != Plane::PACKET {
                    steps.push(Step::Tell(pair, Plane::PACKET));
                }
            }
        }
        steps.sort_unstable();
        self.carry_out(now, &steps, sink, probe);
    }

    /// Steps of the schedule without those that make use of circuits of which ToR switches know that there are none; those that come up
    /// late are told so.
    #[cold]
    #[inline(never)]
    pub(crate) fn as_faults_have_it(&mut self, now: Time, steps: &[Step]) -> Vec<Step> {
        let Some(faults) = &self.faults else {
            return steps.to_vec();
        };
        let is_kept = |step: &&Step| match **step {
            Step::Up(pair, _) | Step::On(Signal::GateClosed, pair) => !faults.knows(pair),
            Step::Tell(pair, tdn) => tdn == Plane::PACKET || !faults.knows(pair),
            _ => true,
        };
        let kept: Vec<Step> = steps.iter().filter(is_kept).copied().collect();
        for &step in &kept {
            let Step::Up(pair, plane) = step else {
                continue;
            };
            let sends = faults.locks_after(|part| part.stops_sending(pair.src, plane.0));
            let receives = faults.locks_after(|part| part.stops_receiving(pair.dst, plane.0));
            let (from, to) = (
                self.circuits.port(plane, pair.src),
                self.circuits.port(plane, pair.dst),
            );
            if sends > Span::ZERO {
                self.circuits.rest_until(from, now + sends);
            }
            if receives > Span::ZERO {
                let link = self.circuits.receiver(to);
                link.rest_until(now + receives, &mut self.core.event_queue);
            }
        }
        kept
    }
}
