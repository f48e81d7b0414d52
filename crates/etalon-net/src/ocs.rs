// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network of circuits: racks with several uplinks, each to a circuit switch with a schedule of its own, or to a packet network.
//!
//! A ToR switch asks [`Ways`] where a packet goes: to its host, into the queue of an uplink, whatever that leads to when the
//! packet's turn comes, or into the queue of what waits for a circuit to another rack. An uplink whose circuit is up sends from its own queue
//! and from that of what waits for its circuit, by class (strict priority); of one class its own queue goes first.
//!
//! A packet leaves its queue when its transmission starts. It is lost in the dark if its circuit came up later, or goes before the
//! transmission ends, unless late packets complete. Of most transmissions the end is not looked at: where nothing waits for it, and
//! nothing can be lost, the packet is on its way to the far end from the start.
//!
//! What is due at one instant happens in this order: days that end, failures, slices, days that begin; then transmissions that end, by
//! port; then packets that arrive.

mod asked;
mod changes;
mod ece;
mod inside;
mod returned;
mod tdns;
mod tor;
mod voqs;

use alloc::vec::Vec;
use core::fmt::Debug;

use etalon_queues::{Calendar, Lists};
use etalon_route::{Rest, Ways};
use etalon_scenario::{
    Class, Count, Full, Hosts, Late, Layer, Limit, Ocs, Part, Plane, QueueId, Scenario, Slice,
    Slices,
};
use etalon_schedule::CrossConnected;
use etalon_switch::{Arrival, ConfigError, Departure, Packet, Probe, Sink};
use etalon_units::{Pace, Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::around::Around;
use crate::network::{Described, Network};
use changes::{Change, Changes};
use ece::Near;
use inside::{Circuit, Inside, Kind, NO_SLICE, Pool, Port, Wire};
use tdns::Notified;
use voqs::Voqs;

/// Bytes on the wire of the longest packet beyond its MTU.
const ETHERNET: u64 = 14;
/// The random stream of clocks, and of coins, beyond those of hosts and notifications.
const STREAM: u64 = 1 << 34;

/// A network of circuits, for packets with handles `H`.
#[derive(Debug)]
pub struct Circuits<H> {
    hosts: Hosts,
    config: Ocs,
    nodes: u16,
    seed: u64,
    slices: Slices,
    ways: Ways,
    /// The present slice, and how many have begun.
    slice: u32,
    begun: u64,
    /// By circuit switch: where to look for its next day.
    ahead: Vec<Option<Slice>>,
    /// By node, if clocks are wrong: by how many nanoseconds.
    skews: Vec<i64>,
    changes: Changes,
    /// Failures that have begun and not ended.
    failed: Vec<u32>,
    /// What ToR switches know to have failed.
    known: Vec<Part>,
    /// What hosts were told of TDNs, if they are told.
    notified: Option<Notified>,
    /// Circuits that are near, if packets carry ECE for them.
    near: Option<Near>,
    /// To hosts, uplinks of nodes, from the packet network, from hosts.
    ports: Vec<Port>,
    /// By port; apart from what changes with each packet, so that they stay in a near cache.
    kinds: Vec<Kind>,
    wires: Vec<Wire>,
    first_up: u32,
    first_down: u32,
    first_own: u32,
    /// What queues hold: of uplinks, to hosts, of the packet network, of hosts.
    rules: [Lists; 4],
    /// By node and circuit switch.
    circuits: Vec<Circuit>,
    /// In the same order: how long what comes from there takes.
    receives_until: Vec<Time>,
    /// In the same order: how many failures keep it from receiving.
    deaf: Vec<u8>,
    voqs: Voqs,
    /// Ports whose transmissions somebody waits for.
    calendar: Calendar,
    /// Packets on their way to the far ends of ports.
    coming: Calendar,
    /// Of ports that are done with a transmission now, those below this know it: all, but in the first part of an instant.
    done_below: u32,
    /// Any transmission may be cut.
    can_fail: bool,
    /// Packets may have to wait although their circuit is up: late packets complete, or there are guard bands.
    looks_ahead: bool,
    pool: Pool<H>,
    around: Around<H>,
    coin: ChaCha8Rng,
    /// The class that RotorLB carries.
    rotorlb: Option<Class>,
    /// Whether a probe hears of what passes a port without waiting there.
    tells: bool,
    /// Whether a probe hears of what hosts send.
    tells_of_hosts: bool,
    /// Something was heard of outside, which [`Circuits::run`] looks at.
    was_heard: bool,
    /// No packet passes sooner.
    shortest: Span,
}

impl Described for Ocs {
    type Network<H: Copy + Debug> = Circuits<H>;

    fn network<H: Copy + Debug>(&self, scenario: &Scenario) -> Result<Circuits<H>, ConfigError> {
        let made = Circuits::new(self, scenario.hosts, scenario.seed)?;
        Ok(Circuits {
            tells: scenario.measure.ports,
            tells_of_hosts: scenario.measure.links.is_some(),
            ..made
        })
    }
}

/// A queue of a layer: packets, drop tail.
fn drop_tail(layer: &Layer) -> Limit {
    Limit {
        count: Count::Packets,
        room: Some(layer.queue_packets.into()),
        mark_above: layer.mark_above_packets.map(u64::from),
        full: Full::Drop,
    }
}

/// What queues hold: of uplinks, to hosts, of the packet network, of hosts.
fn rules(config: &Ocs) -> [Lists; 4] {
    let limits = || config.classes.iter();
    let core = config.packet.as_ref().map(drop_tail);
    let unbound = |limit: Limit| Limit {
        room: None,
        mark_above: None,
        ..limit
    };
    [
        Lists::new(limits().map(|class| class.queue)),
        Lists::new(limits().map(|class| class.downlink.unwrap_or(class.queue))),
        Lists::new(limits().map(|class| core.unwrap_or(class.queue))),
        Lists::new(limits().map(|class| unbound(class.queue))),
    ]
}

/// The number of a wire, which there is from now on.
fn number_of(wires: &mut Vec<Wire>, rate: Rate, delay: Span) -> u8 {
    let is_alike = |wire: &Wire| wire.pace.rate() == rate && wire.delay == delay;
    let found = wires.iter().position(is_alike).unwrap_or_else(|| {
        let pace = Pace::new(rate);
        wires.push(Wire { pace, delay });
        wires.len() - 1
    });
    // There is at most one for each uplink of `MOST_UPLINKS`, one to hosts and one for the packet network.
    debug_assert!(wires.len() <= 256);
    found as u8
}

/// Ranks ports: packets that come out at one instant come by what is behind their port (a delay, and a host or not), in the order of
/// ports in which such is there first; then by port.
fn rank(ports: &mut [Port], kinds: &[Kind], wires: &[Wire]) {
    let mut behind = Vec::new();
    let of_port = |(port, kind): (&Port, &Kind)| {
        let wire = (wires[usize::from(port.wire)].delay, *kind == Kind::ToHost);
        let found = behind.iter().position(|other| *other == wire);
        found.unwrap_or_else(|| {
            behind.push(wire);
            behind.len() - 1
        })
    };
    let places: Vec<usize> = ports.iter().zip(kinds).map(of_port).collect();
    let mut order: Vec<usize> = (0..ports.len()).collect();
    order.sort_by_key(|&port| places[port]);
    for (rank, port) in (0..).zip(order) {
        ports[port].rank = rank;
    }
}

impl<H: Copy> Circuits<H> {
    /// An empty network at virtual time 0, for a description that was checked.
    ///
    /// # Errors
    /// [`ConfigError`] if its circuits or ways cannot be tabled.
    pub fn new(config: &Ocs, hosts: Hosts, seed: u64) -> Result<Circuits<H>, ConfigError> {
        let slices = Slices::of(&config.uplinks).map_err(|error| ConfigError::tables(&error))?;
        let ways = Ways::new(config, hosts.racks, &slices, seed, &[])
            .map_err(|error| ConfigError::tables(&error))?;
        let nodes = config.nodes(&hosts);
        let uplinks = config.uplinks.len();
        let first = slices.at(Time::ZERO);
        let mut coin = ChaCha8Rng::seed_from_u64(seed);
        coin.set_stream(STREAM);
        let mut network = Circuits {
            nodes,
            seed,
            slice: first.number,
            begun: 0,
            ahead: alloc::vec![Some(first); uplinks],
            skews: Vec::new(),
            changes: Changes::default(),
            failed: Vec::new(),
            known: Vec::new(),
            notified: Notified::new(config, hosts.racks),
            near: Near::new(config, hosts.racks, first),
            ports: Vec::new(),
            kinds: Vec::new(),
            wires: Vec::new(),
            first_up: 0,
            first_down: 0,
            first_own: 0,
            rules: rules(config),
            circuits: alloc::vec![Circuit::NONE; usize::from(nodes) * uplinks],
            receives_until: alloc::vec![Time::ZERO; usize::from(nodes) * uplinks],
            deaf: alloc::vec![0; usize::from(nodes) * uplinks],
            voqs: Voqs::new(nodes),
            calendar: Calendar::new(0, Span::ZERO),
            coming: Calendar::new(0, Span::ZERO),
            done_below: u32::MAX,
            can_fail: !config.failures.is_empty() || config.asked.is_some(),
            looks_ahead: config.late == Late::Completes || config.guard > Span::ZERO,
            pool: Pool::new(),
            around: Around::new(config.ack_bypass),
            coin,
            rotorlb: config.rotorlb().map(|found| found.0),
            tells: false,
            tells_of_hosts: false,
            was_heard: false,
            shortest: Span::ZERO,
            config: config.clone(),
            hosts,
            slices,
            ways,
        };
        network.add_ports();
        network.measure();
        network.set_clocks();
        Ok(network)
    }

    fn add_ports(&mut self) {
        let (config, hosts, nodes) = (&self.config, &self.hosts, self.nodes);
        let (mut firsts, mut ports, mut kinds) = ([0; 3], Vec::new(), Vec::new());
        let mut wires: Vec<Wire> = Vec::new();
        let mut add = |kind, at, number, rate, delay| {
            let queue = QueueId { at, number };
            ports.push(Port::new(queue, number_of(&mut wires, rate, delay)));
            kinds.push(kind);
            ports.len() as u32
        };
        let mut before = 0;
        let all_hosts = || (0..hosts.count()).map(|index| (index, hosts.host(index)));
        if let Some(access) = config.access {
            for (_, host) in all_hosts() {
                let (at, number) = (host.rack(), host.number());
                before = add(Kind::ToHost, at, number, access.rate, access.delay);
            }
        }
        firsts[0] = before;
        for node in 0..nodes {
            for (uplink, switch) in (0..).zip(&config.uplinks) {
                let number = config.uplink_queue(hosts, uplink);
                let kind = Kind::Up { node, uplink };
                before = add(kind, node, number, switch.rate, switch.delay);
            }
            if let Some(layer) = &config.packet {
                let number = config.uplink_queue(hosts, config.uplinks.len() as u8);
                before = add(Kind::ToCore, node, number, layer.rate, layer.delay);
            }
        }
        firsts[1] = before;
        if let Some(layer) = &config.packet {
            for rack in 0..hosts.racks {
                // The packet network is one switch, behind all others and hosts.
                before = add(
                    Kind::FromCore(rack),
                    u16::MAX,
                    rack,
                    layer.rate,
                    layer.delay,
                );
            }
        }
        firsts[2] = before;
        if let (Some(access), true) = (config.access, config.host_queues) {
            for (index, host) in all_hosts() {
                let at = (u32::from(nodes) + index) as u16;
                let kind = Kind::FromHost(host.rack());
                add(kind, at, 0, access.rate, access.delay);
            }
        }
        rank(&mut ports, &kinds, &wires);
        (self.ports, self.kinds, self.wires) = (ports, kinds, wires);
        [self.first_up, self.first_down, self.first_own] = firsts;
    }

    /// Looks how long a transmission takes at most, and a passage at least.
    fn measure(&mut self) {
        let Circuits {
            config,
            hosts,
            ports,
            wires,
            ..
        } = &*self;
        let longest = u64::from(hosts.mtu) + ETHERNET;
        let spans = wires.iter().map(|wire| wire.pace.rate().span_of(longest));
        let longest = spans.max().unwrap_or_default();
        let calendar = Calendar::new(ports.len(), longest);
        let furthest = wires.iter().map(|wire| wire.delay).max();
        let coming = Calendar::new(0, longest + furthest.unwrap_or_default());
        let circuits = config.uplinks.iter().map(|switch| switch.delay);
        let delays = circuits.chain(config.packet.map(|layer| layer.delay + layer.delay));
        let shortest = match config.access {
            Some(access) => access.delay,
            None => delays.min().unwrap_or_default(),
        };
        let around = self.around.delay();
        let shortest = around.map_or(shortest, |around| around.min(shortest));
        (self.calendar, self.coming, self.shortest) = (calendar, coming, shortest);
    }

    /// Sets what is to come: clocks, first days, slices, failures.
    fn set_clocks(&mut self) {
        let most = self.config.skew.0;
        if most > 0 {
            // Uniform over [-most, most], drawn for each.
            let draw = |_| {
                let wide = u128::from(2 * most + 1) * u128::from(self.coin.next_u64());
                (wide >> 64) as i64 - most as i64
            };
            self.skews = (0..self.nodes).map(draw).collect();
        }
        self.changes.push(Time::ZERO, Change::Slice);
        if self.near.is_some() {
            self.changes.push(Time::ZERO, Change::Near);
        }
        for uplink in 0..self.config.uplinks.len() as u8 {
            self.plan_day(uplink);
        }
        let failures = self.config.failures.iter().enumerate();
        for (number, failure) in failures {
            let end = failure.to.unwrap_or(Time::MAX);
            self.changes.push(failure.from, Change::Fail(number as u32));
            self.changes.push(end, Change::Mend(number as u32));
            if failure.locks_after.is_none() {
                for time in [failure.from, end] {
                    let learnt = time.saturating_add(self.config.reroute);
                    self.changes.push(learnt, Change::Reroute);
                }
            }
        }
    }

    /// The place of a node's circuit over an uplink.
    #[inline]
    fn circuit(&self, node: u16, uplink: u8) -> usize {
        usize::from(node) * self.config.uplinks.len() + usize::from(uplink)
    }

    /// The port of a node's uplink; that of the packet network is behind the last.
    #[inline]
    fn up(&self, node: u16, uplink: u8) -> u32 {
        let each = self.config.uplinks.len() as u32 + u32::from(self.config.packet.is_some());
        self.first_up + u32::from(node) * each + u32::from(uplink)
    }

    /// The port from the packet network to a rack.
    fn down_to(&self, rack: u16) -> u32 {
        self.first_down + u32::from(rack)
    }

    /// Packets inside: in queues, in transmission, on wires. They are counted for that.
    #[must_use]
    pub fn inside(&self) -> usize {
        self.pool.used()
    }

    /// Does what is due first, if that is by `now`, and returns when it was due.
    #[inline(always)] // in two loops
    fn step<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        sink: &mut S,
        probe: &mut P,
    ) -> Option<Time> {
        let (changes, transmission) = (self.changes.next(), self.calendar.next());
        let (coming, around) = (self.coming.next(), self.around.next());
        let first = changes.min(transmission).min(coming).min(around);
        if first > now || first == Time::MAX {
            return None;
        }
        if changes == first {
            self.done_below = 0;
            self.change(sink, probe);
            self.done_below = u32::MAX;
        } else if transmission == first {
            if let Some(port) = self.calendar.pop() {
                self.done_below = port;
                self.transmitted(first, port, sink, probe);
                self.done_below = u32::MAX;
            }
        } else if coming > first {
            self.pass_around(first, sink);
        } else if let Some(packet) = self.coming.pop() {
            self.arrive(first, packet, sink, probe);
        }
        Some(first)
    }

    /// Whether a packet carries ECE: a circuit the other way is there, or near.
    #[inline]
    fn is_announced(&self, packet: &Packet<H>) -> bool {
        let near = self.near.as_ref();
        near.is_some_and(|near| near.marks(packet.src, packet.dst))
    }

    /// Delivers what has come on the way around.
    #[inline(never)]
    fn pass_around<S: Sink<H>>(&mut self, now: Time, sink: &mut S) {
        self.was_heard = true;
        let latency = self.around.delay().unwrap_or_default();
        while let Some((time, packet)) = self.around.take(now) {
            sink.deliver(Departure {
                packet,
                time,
                latency,
                queue: QueueId::default(),
                plane: Plane::PACKET,
                ce: false,
                ece: self.is_announced(&packet),
                trimmed: false,
            });
        }
    }
}

impl<H: Copy> Network<H> for Circuits<H> {
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let Packet { src, dst, .. } = arrival.packet;
        if let (Some(delay), true) = (self.around.delay(), arrival.pure_ack) {
            if src.rack() != dst.rack() {
                return self.around.push(now + delay, arrival.packet);
            }
        }
        let id = self.pool.insert(Inside {
            packet: arrival.packet,
            entered: now,
            slice: NO_SLICE,
            over: 0,
            to: src.rack(),
            label: arrival.label,
            rest: Rest::NONE,
            last: QueueId::default(),
            class: arrival.class,
            hops: 0,
            ect: arrival.ect,
            ce: false,
            trimmed: false,
            has_payload: !arrival.pure_ack,
            returns: None,
        });
        if self.first_own < self.ports.len() as u32 {
            let port = self.first_own + self.hosts.index(src);
            self.queue(now, port, id, sink, probe);
        } else {
            self.come(now, src.rack(), id, sink, probe);
        }
    }

    #[inline]
    fn next_event(&self) -> Time {
        let inside = self.calendar.next().min(self.coming.next());
        inside.min(self.changes.next()).min(self.around.next())
    }

    fn next_departure(&self) -> Time {
        self.next_event()
    }

    fn shortest_passage(&self) -> Span {
        self.shortest
    }

    fn carries_within_racks(&self) -> bool {
        self.config.access.is_some()
    }

    fn circuits_mut(&mut self) -> Option<&mut dyn CrossConnected> {
        Some(self)
    }

    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        while self.step(now, sink, probe).is_some() {}
    }

    #[inline]
    fn run<S: Sink<H>, P: Probe>(&mut self, now: Time, until: Time, sink: &mut S, probe: &mut P) {
        let mut last = until;
        self.was_heard = false;
        while let Some(time) = self.step(last, sink, probe) {
            debug_assert!(now <= time);
            if self.was_heard {
                last = time; // what else is due at that instant is still done
            }
        }
    }
}
