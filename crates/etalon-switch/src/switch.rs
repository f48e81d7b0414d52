// SPDX-License-Identifier: MIT OR Apache-2.0
//! The switch: its public face, and the order in which things happen.

use alloc::boxed::Box;
use alloc::vec::Vec;

use etalon_queues::PacketId;
use etalon_units::{Span, Time};

use crate::changes::Changes;
use crate::circuit_network::{CircuitFabric, Leaving};
use crate::core::Core;
use crate::entry::{Entry, Pool};
use crate::event_queue::{Due, EventQueue, Kind, Pending};
use crate::executor::Executor;
use crate::faults::Faults;
use crate::packet_network::PacketFabric;
use crate::rules::{Rules, Signal, Step};
use crate::voq::{Server, Voqs};
use crate::week::Week;
use crate::{
    Arrival, ConfigError, Departure, DropReason, Event, Packet, Pair, Plane, Probe, QueueId, Rdcn,
    Schedule, Sink, tell,
};

/// A hybrid switch for packets known by handles `H`.
///
/// The caller owns the clock: it calls [`advance`](Switch::advance) at (or after) [`next_event`](Switch::next_event),
/// and [`enqueue`](Switch::enqueue) when a packet arrives.
///
/// # Packet network
/// VOQ, gate, round robin over the VOQs of the ToR, uplink, internal queue of its (input, output), round robin over the
/// inputs, downlink. Both links are store-and-forward, and a packet in transmission has left its queue. A packet that
/// finds its internal queue full returns to a hold at its VOQ, from where it is sent before all packets of the VOQ, over
/// either network. There may be no packet network: then packets wait for circuits.
///
/// # Circuits
/// Circuits may be of several kinds, each with its rate and delay; a kind is a plane, on which each ToR has a port. A day's
/// circuits are of one kind. A circuit drains the VOQ of its pair in the pair's days. A packet whose transmission began before
/// the day ended completes; until it has, neither its source's port nor its destination's starts another. The packet gate of a pair is closed
/// from the start of the night before the pair's day to the end of the day; in all other days and nights the packet
/// network serves the pair. If the pair also has a circuit in the next configuration, the gate stays closed through
/// the night between; the circuit still goes down for it, unless the night has no length. With [`Night::All`](crate::Night)
/// the packet network serves nobody in any night.
///
/// # Failures
/// What is in transmission or on the way over a link that fails is lost; what waits stays in its VOQ. A link starts nothing while it is
/// down, nor, if it locks late, for that time after its circuit came up. A failure covers its start and not its end.
///
/// # Order
/// What is due at one instant happens in a fixed order: failures, transitions of the schedule (days that end and all that ends
/// with them, then days that start), packets that leave over circuits, packets that leave over the packet network,
/// circuits, downlinks and uplinks that can take their next packet, packets that reach the packet switch; within each
/// by rack, and circuits of one kind before those of the next. So a day covers its start and not its end, and a place in an internal queue that becomes free at an instant
/// can be taken at that instant.
#[derive(Debug)]
pub struct Switch<H> {
    pub(crate) core: Core<H>,
    pub(crate) packet: PacketFabric,
    pub(crate) circuits: CircuitFabric,
    pub(crate) executor: Executor,
    /// Of a switch whose circuits are asked for, which has no weeks.
    pub(crate) changes: Option<Changes>,
    /// Steps of one instant: memory that is used again.
    pub(crate) due: Vec<Step>,
    pub(crate) config: Rdcn,
    pub(crate) racks: u16,
    delays: Delays,
    /// There may be pairs that sleep.
    pub(crate) has_sleepers: bool,
    /// What fails, if anything does.
    pub(crate) faults: Option<Box<Faults>>,
}

/// What came of doing what comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// Nothing was due.
    Nothing,
    /// No packet came out, and the schedule had no step.
    Inside,
    /// One may have, or it had, at this time.
    Outside(Time),
}

/// Propagation delays, for what cannot happen before.
#[derive(Clone, Copy, Debug)]
struct Delays {
    circuit: Span,
    up: Span,
    down: Span,
    /// From entering the switch to leaving it.
    passage: Span,
    /// From a transition of the schedule to a delivery; none, if hosts are told of transitions.
    transition: Span,
}

impl Delays {
    fn of(config: &Rdcn) -> Delays {
        let delays = config.circuits.iter().map(|circuit| circuit.delay);
        let circuit = delays.min().unwrap_or_default();
        let packet = config
            .packet
            .map(|packet| (packet.up_delay, packet.down_delay));
        let (up, down) = packet.unwrap_or((circuit, Span::ZERO)); // none: not sooner
        let passage = circuit.min(up + down);
        Delays {
            circuit,
            up,
            down,
            passage,
            transition: if config.notify.is_some() {
                Span::ZERO
            } else {
                passage
            },
        }
    }
}

/// A packet joined its VOQ, which now holds `len`, and is marked if `ce`.
#[inline(always)] // with every packet that enters, in two places
fn queued<H, P: Probe>(now: Time, packet: &Packet<H>, len: u32, ce: bool, probe: &mut P) {
    let (pair, bytes) = (packet.pair(), packet.bytes);
    let queue = QueueId::voq(pair);
    let enqueue = Event::Enqueue {
        pair,
        queue,
        len,
        bytes,
    };
    probe.on(now, enqueue);
    if ce {
        probe.on(now, Event::Marked { pair, queue, len });
    }
}

impl<H: Copy> Switch<H> {
    /// An empty switch whose first week starts at `start`. Until then there are no circuits and all gates are open.
    ///
    /// # Errors
    /// [`ConfigError`] if the configuration makes no sense for as many racks as the schedule has.
    pub fn new(config: &Rdcn, schedule: &Schedule, start: Time) -> Result<Switch<H>, ConfigError> {
        let racks = schedule.racks();
        config.check(racks)?;
        config.check_week(racks, schedule)?;
        let ports = usize::from(racks) * config.circuits.len();
        let packet = config.packet.as_ref();
        let event_queue = EventQueue::new(ports);
        let no_packet_network = PacketFabric::absent;
        let with_packet_network = |packet| PacketFabric::new(packet, racks, &event_queue);
        let mut switch = Switch {
            packet: packet.map_or_else(no_packet_network, with_packet_network),
            circuits: CircuitFabric::new(&config.circuits, racks, &event_queue),
            core: Core {
                event_queue,
                pool: Pool::new(),
                voqs: Voqs::new(config, racks),
            },
            executor: Executor::new(Week::compile(schedule, &Rules::new(config)), start),
            changes: None,
            due: Vec::new(),
            config: config.clone(),
            racks,
            delays: Delays::of(config),
            has_sleepers: false,
            faults: Faults::of(config),
        };
        switch.await_step();
        Ok(switch)
    }

    /// Adopts `schedule` at the end of the current week. A schedule that waits to be adopted is replaced.
    ///
    /// Up to the roll-over the switch acts as if the old week were to be repeated. What the new schedule has in advance
    /// of its first days (bigger VOQs, ECE, a closed gate in the night before) starts at the roll-over at the earliest.
    ///
    /// # Errors
    /// [`ConfigError`] if the schedule is for another number of racks, or for planes that there are not; nothing changes then.
    pub fn adopt(&mut self, schedule: Schedule) -> Result<(), ConfigError> {
        let week = self.compile(&schedule)?;
        self.executor.adopt(week);
        Ok(())
    }

    /// Adopts `schedule` at the end of the first week that does not end before `at`. It then replaces one that was
    /// [adopted](Switch::adopt) at once, and one that was to be adopted before.
    ///
    /// # Errors
    /// As of [`Switch::adopt`].
    pub fn adopt_later(&mut self, at: Time, schedule: &Schedule) -> Result<(), ConfigError> {
        let week = self.compile(schedule)?;
        self.executor.adopt_later(at, week);
        Ok(())
    }

    fn compile(&self, schedule: &Schedule) -> Result<Week, ConfigError> {
        self.config.check_week(self.racks, schedule)?;
        Ok(Week::compile(schedule, &Rules::new(&self.config)))
    }

    /// When something next happens inside the switch. The schedule never ends, so there always is a next event.
    #[must_use]
    #[inline]
    pub fn next_event(&self) -> Time {
        self.core.event_queue.next_time()
    }

    /// No packet is [delivered](Sink::deliver) before this, unless one enters, and no host is [told](Sink::tdn_changed) of its TDN:
    /// whoever waits for these only, and not for events inside, need not [`advance`](Switch::advance) until then. Not before
    /// [`next_event`](Switch::next_event).
    #[must_use]
    #[inline]
    pub fn next_departure(&self) -> Time {
        let Delays {
            circuit, up, down, ..
        } = self.delays;
        let event_queue = &self.core.event_queue;
        let packet = self.packet.next_departure(up, down, event_queue);
        let schedule = self.next_step();
        packet
            .min(self.circuits.next_departure(circuit, event_queue))
            .min(schedule.saturating_add(self.delays.transition))
    }

    /// Time may not come to this, nor beyond: there is nothing that could be due then.
    #[must_use]
    pub fn never(&self) -> Time {
        self.core.event_queue.never()
    }

    /// No packet takes less time than this from entering the switch to leaving it.
    #[must_use]
    #[inline]
    pub fn shortest_passage(&self) -> Span {
        self.delays.passage
    }

    /// A packet enters the switch.
    ///
    /// All that is due before `now` must have been done ([`advance`](Switch::advance)). If events are due exactly at
    /// `now`, the packet comes before or after them, as the caller calls.
    ///
    /// # Panics
    /// If there is no such rack.
    pub fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let Arrival { packet, ect, .. } = arrival;
        let pair = packet.pair();
        debug_assert!(self.next_event() >= now, "the switch has not been advanced");
        assert!(pair.src.max(pair.dst) < self.racks, "there is no such rack");
        let voq = self.core.voqs.get(pair);
        let len = voq.len();
        if len >= voq.capacity() {
            let (ends, of) = ((packet.src, packet.dst), (packet.handle, packet.bytes));
            return self.enqueue_full(now, of, ends, ect, sink, probe);
        }
        self.admit(now, packet, ect, sink, probe);
    }

    /// A packet enters, for which its VOQ has room.
    #[inline(always)] // one of its two calls is rare
    pub(crate) fn admit<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Packet<H>,
        ect: bool,
        sink: &mut S,
        probe: &mut P,
    ) {
        let (pair, bytes) = (packet.pair(), packet.bytes);
        let core = &mut self.core;
        let voq = core.voqs.get_mut(pair);
        let len = voq.len();
        let marking = self.config.marking.as_ref();
        let ce = ect && marking.is_some_and(|marking| voq.marks(marking, len + 1));
        let id = core.pool.insert(Entry {
            packet,
            entered: now,
            arrives: Pending::NONE,
            ce,
        });
        if let (Server::Circuit(port), false) = (voq.server(), voq.has_backlog()) {
            if self.circuits.is_free(now, port, pair.src) {
                // As it would be queued and leave its queue at once.
                queued(now, &packet, 1, ce, probe);
                let leaving = Leaving {
                    id,
                    packet,
                    len: 0,
                    left: 0,
                    has_more: false,
                };
                self.circuits
                    .transmit(now, port, leaving, core, sink, probe);
                return;
            }
        }
        voq.push(&mut core.pool, id, bytes);
        queued(now, &packet, len + 1, ce, probe);
        let server = voq.server();
        self.backlogged(now, pair, server, sink, probe);
    }

    /// Does everything that is due at or before `now`, in order. Time does not come to [`never`](Switch::never): that is for the caller to see to.
    pub fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        while self.do_first(now, sink, probe) != Done::Nothing {}
    }

    /// Does what is due at or before `until`, in order, up to the first instant at which a packet comes out or the schedule has a step:
    /// who is told of nothing need not be asked in between. As for [`advance`](Switch::advance), time does not come to [`never`](Switch::never).
    #[inline]
    pub fn run<S: Sink<H>, P: Probe>(&mut self, until: Time, sink: &mut S, probe: &mut P) {
        let mut last = until;
        loop {
            match self.do_first(last, sink, probe) {
                Done::Nothing => return,
                Done::Inside => {}
                // What else is due at that instant is still done.
                Done::Outside(time) => last = time,
            }
        }
    }

    /// Does what comes first, if it is due at or before `now`.
    #[inline(always)] // in two places, of which a program has one
    fn do_first<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) -> Done {
        let Some(Due { time, kind, port }) = self.core.event_queue.first(now) else {
            return Done::Nothing;
        };
        let core = &mut self.core;
        let (link, plane) = match kind {
            Kind::CircuitArrival => self.circuits.link(port),
            Kind::DownlinkArrival => (self.packet.downlink(port), Plane::PACKET),
            Kind::UplinkArrival => (self.packet.uplink(port), Plane::PACKET),
            Kind::CircuitFree => {
                self.circuits.serve(time, port, core, sink, probe);
                return Done::Inside;
            }
            Kind::DownlinkFree => {
                self.packet.serve_downlink(time, port, core);
                return Done::Inside;
            }
            Kind::UplinkFree => {
                self.packet.transmit(time, port, core, sink, probe);
                return Done::Inside;
            }
            Kind::Schedule => {
                self.act(time, sink, probe);
                return Done::Outside(time);
            }
        };
        let id = link.receive(&core.pool, &mut core.event_queue);
        if kind != Kind::UplinkArrival {
            self.depart(time, id, plane, sink, probe);
        } else if self.packet.arrive(time, port, id, core) {
            return Done::Inside;
        } else {
            self.hold(time, id, sink, probe);
        }
        Done::Outside(time)
    }

    /// Number of packets in the VOQ of `pair`. A packet in transmission has left it; the hold does not count.
    #[must_use]
    pub fn voq_len(&self, pair: Pair) -> u32 {
        self.core.voqs.get(pair).len()
    }

    /// Number of racks.
    #[must_use]
    pub fn racks(&self) -> u16 {
        self.racks
    }

    /// Bytes of the packets in the VOQ of `pair` and in its hold.
    #[must_use]
    pub fn voq_bytes(&self, pair: Pair) -> u64 {
        self.core.voqs.get(pair).bytes()
    }

    /// When the current week ends, and a schedule that was [adopted](Switch::adopt) starts.
    #[must_use]
    pub fn roll_over(&self) -> Time {
        self.executor.roll_over()
    }

    /// Capacity of the VOQ of `pair` in packets, at this moment.
    #[must_use]
    pub fn voq_capacity(&self, pair: Pair) -> u32 {
        self.core.voqs.capacity(pair)
    }

    /// The plane that serves the VOQ of `pair`: that of its circuit, if it has one, else the packet network, if its gate is open.
    #[must_use]
    pub fn plane(&self, pair: Pair) -> Option<Plane> {
        match self.core.voqs.get(pair).server() {
            Server::Circuit(port) => Some(self.circuits.plane(port)),
            Server::Packet => Some(Plane::PACKET),
            Server::None => None,
        }
    }

    /// Whether a circuit for `pair` is up, or starts within `ece_in_advance` of its configuration: what ECE tells the hosts of
    /// `pair.src`. Never, if that is not set.
    #[must_use]
    pub fn announces(&self, pair: Pair) -> bool {
        self.core.voqs.get(pair).is_on(Signal::Announced)
    }

    /// Number of packets inside the switch: in VOQs, in holds, in internal queues and on links. They are counted for that.
    #[must_use]
    pub fn queued(&self) -> u64 {
        self.core.pool.used() as u64
    }

    /// The VOQ of `pair` has backlog: the network that is open to it, if any, serves it.
    #[inline(always)] // with every packet that enters
    fn backlogged<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        pair: Pair,
        server: Server,
        sink: &mut S,
        probe: &mut P,
    ) {
        let core = &mut self.core;
        match server {
            Server::Circuit(port) => self.circuits.serve(now, port, core, sink, probe),
            Server::Packet => self.packet.backlogged(now, pair, core, sink, probe),
            Server::None => {}
        }
    }

    /// A packet found its internal queue full.
    fn hold<S: Sink<H>, P: Probe>(&mut self, now: Time, id: PacketId, sink: &mut S, probe: &mut P) {
        let packet = self.core.pool.get(id).packet;
        let (pair, bytes) = (packet.pair(), packet.bytes);
        if self.core.voqs.hold(pair, &mut self.core.pool, id) {
            let queue = QueueId::voq(pair);
            probe.on(now, Event::Held { pair, queue, bytes });
            let server = self.core.voqs.get(pair).server();
            self.backlogged(now, pair, server, sink, probe);
        } else {
            let len = self.core.voqs.get(pair).len();
            self.discard(now, id, len, DropReason::HoldFull, sink, probe);
        }
    }

    /// A packet leaves towards its host.
    #[inline(always)] // its only call
    fn depart<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        plane: Plane,
        sink: &mut S,
        probe: &mut P,
    ) {
        let entry = self.core.pool.remove(id);
        let pair = entry.packet.pair();
        // Without signals the other direction's VOQ, which is elsewhere in memory, is not looked at.
        let ece = self.config.ece_in_advance.is_some()
            && self.core.voqs.get(pair.opposite()).is_on(Signal::Announced);
        let departure = Departure {
            packet: entry.packet,
            time: now,
            latency: now - entry.entered,
            queue: QueueId::voq(pair),
            plane,
            ce: entry.ce,
            ece,
            trimmed: false,
        };
        tell::departed(departure, sink, probe);
    }

    /// Drops a packet; its VOQ now holds `len` packets.
    pub(crate) fn discard<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        id: PacketId,
        len: u32,
        reason: DropReason,
        sink: &mut S,
        probe: &mut P,
    ) {
        let packet = self.core.pool.remove(id).packet;
        self.dropped(now, &packet, len, reason, sink, probe);
    }

    /// A packet is no more; its VOQ now holds `len` packets.
    pub(crate) fn dropped<S: Sink<H>, P: Probe>(
        &self,
        now: Time,
        packet: &Packet<H>,
        len: u32,
        reason: DropReason,
        sink: &mut S,
        probe: &mut P,
    ) {
        let queue = QueueId::voq(packet.pair());
        tell::lost(now, packet, (queue, len), reason, sink, probe);
    }
}
