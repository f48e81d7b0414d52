// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links that fail: what is on them is lost, and switches choose other ways.

use alloc::vec::Vec;

use etalon_switch::{DropReason, Probe, Sink};
use etalon_units::{Span, Time};

use super::Fabric;
use crate::fabric::next_hops::NextHops;
use etalon_scenario::{Egress, Node};

/// A link that is down for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One end.
    pub one: Node,
    /// The other.
    pub other: Node,
    /// When it goes down.
    pub from: Time,
    /// When it comes up again; [`Time::MAX`] for never.
    pub to: Time,
    /// How long switches take to choose other ways, after either.
    pub reroute: Span,
}

/// What happens; at one instant in this order, so that a failure may begin as another ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Change {
    /// A port's link comes up.
    Up(u32),
    /// A port's link goes down.
    Down(u32),
    /// Switches choose their ways anew, by what is up.
    Reroute,
}

/// What is still to happen, the first at the end.
#[derive(Debug)]
pub(crate) struct Failures(Vec<(Time, Change)>);

impl Failures {
    /// Failures of links between these ports.
    pub(crate) fn new(failures: Vec<Failure>, ports: &[Egress]) -> Failures {
        let mut changes = Vec::new();
        for failure in failures {
            let both = [(failure.one, failure.other), (failure.other, failure.one)];
            for (number, port) in (0..).zip(ports) {
                if both.contains(&(port.from, port.to)) {
                    changes.push((failure.from, Change::Down(number)));
                    changes.push((failure.to, Change::Up(number)));
                }
            }
            for time in [failure.from, failure.to] {
                changes.push((time.saturating_add(failure.reroute), Change::Reroute));
            }
        }
        sorted(changes)
    }

    /// When the next happens, [`Time::MAX`] if none does.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.0.last().map_or(Time::MAX, |change| change.0)
    }
}

/// The changes that come, the first at the end.
fn sorted(mut changes: Vec<(Time, Change)>) -> Failures {
    changes.retain(|change| change.0 < Time::MAX);
    changes.sort_unstable_by(|a, b| b.cmp(a));
    changes.dedup();
    Failures(changes)
}

impl<H: Copy> Fabric<H> {
    /// The first change happens.
    #[cold]
    #[inline(never)]
    pub(super) fn change<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        match self.failures.0.pop().map(|change| change.1) {
            Some(Change::Down(port)) => self.fail(now, port, sink, probe),
            Some(Change::Up(port)) => self.ports[port as usize].is_up = true,
            Some(Change::Reroute) => {
                let up: Vec<bool> = self.ports.iter().map(|port| port.is_up).collect();
                let switches = (self.hosts.racks, self.switches);
                self.next_hops = NextHops::new(switches, &self.egress, &up, self.seed);
            }
            None => {}
        }
    }

    /// A port's link goes down: what is queued there, and what is under way, is lost.
    fn fail<S: Sink<H>, P: Probe>(&mut self, now: Time, number: u32, sink: &mut S, probe: &mut P) {
        let reason = DropReason::LinkDown;
        self.calendar.remove(number);
        self.ports[number as usize].is_up = false;
        let queue = self.ports[number as usize].queue;
        while let Some(id) = self.ports[number as usize].lose(&mut self.pool) {
            let port = &mut self.ports[number as usize];
            if S::STAMPS {
                port.bytes -= u64::from(self.pool.get(id).packet.bytes);
            }
            let len = port.len;
            self.lose(now, id, queue, len, reason, sink, probe);
        }
        for id in self.wires.cut(number) {
            let port = &mut self.ports[number as usize];
            if self.delay == super::Delay::InQueue {
                port.len -= 1; // which counts them
                if S::STAMPS {
                    port.bytes -= u64::from(self.pool.get(id).packet.bytes);
                }
            }
            let len = port.len;
            self.lose(now, id, queue, len, reason, sink, probe);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn a_link_comes_up_before_it_fails_again_at_the_same_instant() {
        assert!(Change::Up(0) < Change::Down(0) && Change::Down(0) < Change::Reroute);
        let changes = vec![(Time(2), Change::Down(0)), (Time(2), Change::Up(0))];
        assert_eq!(
            sorted(changes).0,
            [(Time(2), Change::Down(0)), (Time(2), Change::Up(0))]
        );
    }
}
