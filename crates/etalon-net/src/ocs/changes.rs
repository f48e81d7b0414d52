// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the clock brings: slices, days of circuit switches, failures.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::vec::Vec;
use core::cmp::Reverse;

use etalon_route::{Rest, Ways};
use etalon_scenario::{CrossConnect, Part, Plane, Slice, Slices};
use etalon_switch::{DropReason, Event, Pair, Probe, Sink};
use etalon_units::{Time, Transmitter};

use super::Circuits;
use super::inside::{Circuit, NOBODY};

/// A circuit switch's day for one node, or for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Day {
    uplink: u8,
    /// None for all nodes.
    node: Option<u16>,
    /// The first slice of the day.
    slice: u32,
    from: Time,
    until: Time,
}

/// What changes; at one instant in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// Circuits are there no more, as ToR switches believe.
    Close(Day),
    /// Circuits go down, and come up, that were asked for.
    Rewire,
    /// A failure ends.
    Mend(u32),
    /// A failure begins.
    Fail(u32),
    /// Ways are chosen anew.
    Reroute,
    /// A slice begins.
    Slice,
    /// A slice is over, whose circuits packets announced.
    Past(u32),
    /// Packets announce the circuits of the next slice.
    Near,
    /// Hosts are told of a slice that has begun, or will.
    Tell(u32),
    /// A day of a circuit switch begins: the next is looked for.
    Plan(u8),
    /// Circuits are there, as ToR switches believe.
    Open(Day),
    /// A port may send again.
    Serve(u32),
}

/// Circuits that were asked for and are to change, by time.
#[derive(Debug, Default)]
pub(super) struct Rewirings(pub(super) BTreeMap<Time, Rewiring>);

/// At one instant, circuits that go down, then those that come up.
#[derive(Debug, Default)]
pub(super) struct Rewiring {
    pub(super) down: Vec<CrossConnect>,
    pub(super) up: Vec<CrossConnect>,
}

/// All changes that are to come.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) rewirings: Rewirings,
    heap: BinaryHeap<Reverse<(Time, Change)>>,
    next: Time,
}

impl Changes {
    pub(super) fn push(&mut self, time: Time, change: Change) {
        if time < Time::MAX {
            self.heap.push(Reverse((time, change)));
        }
        self.look();
    }

    fn look(&mut self) {
        self.next = self
            .heap
            .peek()
            .map_or(Time::MAX, |Reverse((time, _))| *time);
    }

    /// When the first is due, [`Time::MAX`] if there is none.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    fn pop(&mut self) -> Option<(Time, Change)> {
        let first = self.heap.pop().map(|Reverse(first)| first);
        self.look();
        first
    }
}

/// The plane of an uplink's circuits.
pub(super) fn plane_of(uplink: u8) -> Plane {
    Plane(Plane::CIRCUIT.0 + uplink)
}

/// The next day of a circuit switch from a slice on: its first slice, its end, and the slice after it.
pub(super) fn day_from(
    slices: &Slices,
    mut slice: Slice,
    uplink: usize,
) -> Option<(Slice, Time, Option<Slice>)> {
    let mut looked = 0;
    let until = loop {
        if let Some(until) = slices.lit_until(slice, uplink) {
            break until;
        }
        slice = slices.after(slice);
        looked += 1;
        if looked > slices.len() {
            return None; // never lit
        }
    };
    let first = slice;
    if until == Time::MAX {
        return Some((first, until, None));
    }
    while slices.stays(slice.number as usize, uplink) {
        slice = slices.after(slice);
    }
    Some((first, until, Some(slices.after(slice))))
}

impl<H: Copy> Circuits<H> {
    /// Plans the next day of a circuit switch, if it has one.
    pub(super) fn plan_day(&mut self, uplink: u8) {
        let Some(ahead) = self.ahead[usize::from(uplink)] else {
            return;
        };
        let found = day_from(&self.slices, ahead, uplink.into());
        let Some((first, until, next)) = found else {
            self.ahead[usize::from(uplink)] = None;
            return;
        };
        let (slice, from) = (first.number, first.start);
        self.ahead[usize::from(uplink)] = next;
        if next.is_some() {
            self.changes.push(from, Change::Plan(uplink));
        }
        let mut day = Day {
            uplink,
            node: None,
            slice,
            from,
            until,
        };
        // From the beginning of time on circuits need no guard: there was none before.
        let opens = match from {
            Time::ZERO => from,
            from => from + self.config.guard,
        };
        if self.skews.is_empty() {
            self.changes.push(opens, Change::Open(day));
            self.changes.push(until, Change::Close(day));
            return;
        }
        for node in 0..self.nodes {
            day.node = Some(node);
            let open = self.by_clock(node, opens);
            self.changes.push(open, Change::Open(day));
            self.changes
                .push(self.by_clock(node, until), Change::Close(day));
        }
    }

    /// When a node believes that it is this time.
    pub(super) fn by_clock(&self, node: u16, time: Time) -> Time {
        match self.skews.get(usize::from(node)) {
            Some(&skew) if time < Time::MAX => Time(time.0.saturating_add_signed(skew)),
            _ => time,
        }
    }

    /// Makes the first change that is due.
    #[cold]
    pub(super) fn change<S: Sink<H>, P: Probe>(&mut self, sink: &mut S, probe: &mut P) {
        let Some((now, change)) = self.changes.pop() else {
            return;
        };
        self.was_heard = true; // hosts hear of slices
        match change {
            Change::Close(day) => {
                for node in self.nodes_of(&day) {
                    let circuit = self.circuit(node, day.uplink);
                    if self.circuits[circuit].until == day.until {
                        let peer = self.circuits[circuit].peer;
                        self.circuits[circuit] = Circuit::NONE;
                        self.clear(now, node, peer, sink, probe);
                    }
                }
            }
            Change::Open(day) => self.open(now, &day, sink, probe),
            Change::Rewire => self.rewire(now, sink, probe),
            Change::Plan(uplink) => self.plan_day(uplink),
            Change::Slice => self.begin_slice(now, sink, probe),
            Change::Tell(slice) => self.tell(now, slice, sink),
            Change::Past(slice) => self.is_past(slice),
            Change::Near => self.come_near(now),
            Change::Serve(port) => self.serve(now, port, sink, probe),
            Change::Fail(number) => self.fail(now, number, sink, probe),
            Change::Mend(number) => self.mend(now, number, sink, probe),
            Change::Reroute => self.reroute(now, sink, probe),
        }
    }

    fn nodes_of(&self, day: &Day) -> core::ops::Range<u16> {
        match day.node {
            Some(node) => node..node + 1,
            None => 0..self.nodes,
        }
    }

    fn begin_slice<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        // The slice at the beginning of time may have begun before it.
        let slice = self.slices.at(now);
        self.slice = slice.number;
        let number = self.begun;
        self.begun += 1;
        if !self.slices.are_static() {
            self.changes.push(slice.end(), Change::Slice);
        }
        probe.on(now, Event::Slice { slice: number });
        sink.slice_began(now, number);
        self.announce(now, slice, sink);
    }

    fn open<S: Sink<H>, P: Probe>(&mut self, now: Time, day: &Day, sink: &mut S, probe: &mut P) {
        let uplink = usize::from(day.uplink);
        for node in self.nodes_of(day) {
            let peer = self.slices.peer(day.slice as usize, node, uplink);
            let Some(peer) = peer.filter(|&peer| peer != node) else {
                continue;
            };
            let late = self.locks_after(node, peer, day.uplink);
            let last = match day.until {
                Time::MAX => Time::MAX,
                until if self.config.guard.0 > 0 => {
                    let guarded = Time(until.0.saturating_sub(self.config.guard.0));
                    self.by_clock(node, guarded)
                }
                _ => Time::MAX, // without a guard band nobody looks ahead
            };
            let circuit = self.circuit(node, day.uplink);
            self.circuits[circuit] = Circuit {
                peer,
                from: day.from.saturating_add(late),
                until: day.until,
                last,
            };
            if self.config.asked.is_some() {
                let (pair, plane, up) = (
                    Pair {
                        src: node,
                        dst: peer,
                    },
                    plane_of(day.uplink),
                    true,
                );
                probe.on(now, Event::Joined { pair, plane, up });
            }
        }
        for node in self.nodes_of(day) {
            let port = self.up(node, day.uplink);
            if self.circuits[self.circuit(node, day.uplink)].peer != NOBODY {
                self.serve(now, port, sink, probe);
            }
        }
    }

    /// How much later than the day a circuit comes up, as failures have it.
    pub(super) fn locks_after(&self, from: u16, to: u16, uplink: u8) -> etalon_units::Span {
        let hit = |part: Part| part.stops_sending(from, uplink) || part.stops_receiving(to, uplink);
        let failed = self
            .failed
            .iter()
            .map(|&number| &self.config.failures[number as usize]);
        failed
            .filter(|failure| hit(failure.part))
            .filter_map(|failure| failure.locks_after)
            .max()
            .unwrap_or_default()
    }

    fn fail<S: Sink<H>, P: Probe>(&mut self, now: Time, number: u32, sink: &mut S, probe: &mut P) {
        self.failed.push(number);
        let failure = self.config.failures[number as usize];
        if failure.locks_after.is_some() {
            return;
        }
        for (node, uplink) in self.all_uplinks() {
            if failure.part.stops_receiving(node, uplink) {
                let circuit = self.circuit(node, uplink);
                self.deaf[circuit] += 1;
            }
            if failure.part.stops_sending(node, uplink) {
                let port = self.up(node, uplink);
                self.ports[port as usize].down += 1;
                if self.ports[port as usize].down == 1 {
                    self.cut(now, port, sink, probe);
                }
            }
        }
    }

    fn mend<S: Sink<H>, P: Probe>(&mut self, now: Time, number: u32, sink: &mut S, probe: &mut P) {
        self.failed.retain(|&other| other != number);
        let failure = self.config.failures[number as usize];
        if failure.locks_after.is_some() {
            return;
        }
        for (node, uplink) in self.all_uplinks() {
            if failure.part.stops_receiving(node, uplink) {
                let circuit = self.circuit(node, uplink);
                self.deaf[circuit] -= 1;
            }
            if failure.part.stops_sending(node, uplink) {
                let port = self.up(node, uplink);
                self.ports[port as usize].down -= 1;
                self.serve(now, port, sink, probe);
            }
        }
    }

    pub(super) fn all_uplinks(&self) -> impl Iterator<Item = (u16, u8)> + use<H> {
        let uplinks = self.config.uplinks.len() as u8;
        (0..self.nodes).flat_map(move |node| (0..uplinks).map(move |uplink| (node, uplink)))
    }

    /// All that is at a port, or on its wire, is lost.
    fn cut<S: Sink<H>, P: Probe>(&mut self, now: Time, number: u32, sink: &mut S, probe: &mut P) {
        let reason = DropReason::LinkDown;
        let port = &mut self.ports[number as usize];
        let queue = port.queue;
        if let Some(sending) = &mut port.sending {
            sending.lost = Some(reason);
        } else {
            port.link = Transmitter::default();
        }
        let rules = self.kinds[number as usize].rules();
        while let Some((list, id)) = self.ports[number as usize].waiting.next(&self.rules[rules]) {
            let bytes = self.pool.get(id).packet.bytes;
            let waiting = &mut self.ports[number as usize].waiting;
            waiting.take(&self.rules[rules], list, &self.pool, bytes);
            let len = waiting.len();
            self.lose(now, id, queue, len, reason, sink, probe);
        }
        let is_over = |&(_, id): &(Time, u32)| self.pool.get(id).over == number;
        let mut on_wire: Vec<_> = self.coming.all().filter(is_over).collect();
        on_wire.sort_unstable();
        for (_, id) in on_wire {
            self.coming.remove(id);
            let len = self.ports[number as usize].waiting.len();
            self.lose(now, id, queue, len, reason, sink, probe);
        }
    }

    /// ToR switches have learnt what has failed, and what is well again.
    fn reroute<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        let failures = self
            .failed
            .iter()
            .map(|&number| &self.config.failures[number as usize]);
        self.known = failures
            .filter(|failure| failure.locks_after.is_none())
            .map(|failure| failure.part)
            .collect();
        if self.choose_ways() {
            probe.on(now, Event::Rerouted {});
            self.tell_again(now, sink);
        }
    }

    /// Chooses ways anew, around what is known to have failed.
    pub(super) fn choose_ways(&mut self) -> bool {
        let (racks, slices) = (self.hosts.racks, &self.slices);
        // What was possible at first is no larger now.
        let ways = Ways::new(&self.config, racks, slices, self.seed, &self.known);
        let is_chosen = ways.is_ok();
        if let Ok(ways) = ways {
            self.ways = ways;
            self.pool
                .all_mut()
                .for_each(|inside| inside.rest = Rest::NONE);
        }
        is_chosen
    }
}
