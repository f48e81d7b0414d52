//! The packet network: uplinks, internal queues, downlinks.

use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::event_queue::{EventQueue, Source};
use crate::link::Link;
use crate::pool::{PacketId, Queue};
use crate::round_robin::RoundRobin;
use crate::switch::Core;
use crate::{Event, PacketNetwork, Pair, Plane, Probe, QueueId, Sink};

/// One switch with a link from and to each ToR; without any, where there is no packet network.
#[derive(Debug)]
pub(crate) struct PacketFabric {
    racks: usize,
    /// By source rack.
    uplinks: Vec<Link>,
    /// By source rack: the destinations whose VOQ has backlog and an open gate.
    open: Vec<RoundRobin>,
    /// By [`Pair::index`].
    internal: Vec<Queue>,
    internal_capacity: u32,
    /// By destination rack: the sources whose internal queue is not empty.
    waiting: Vec<RoundRobin>,
    /// By destination rack.
    downlinks: Vec<Link>,
}

impl PacketFabric {
    pub(crate) fn new(
        packet: &PacketNetwork,
        racks: u16,
        event_queue: &EventQueue,
    ) -> PacketFabric {
        let count = usize::from(racks);
        let turns = || (0..racks).map(|_| RoundRobin::new(racks)).collect();
        let links = |delay, source| {
            (0..racks)
                .map(|rack| Link::new(packet.rate, delay, source, rack, event_queue))
                .collect()
        };
        PacketFabric {
            racks: count,
            uplinks: links(packet.up_delay, Source::Uplink),
            open: turns(),
            internal: alloc::vec![Queue::new(); count * count],
            internal_capacity: packet.internal_queue,
            waiting: turns(),
            downlinks: links(packet.down_delay, Source::Downlink),
        }
    }

    /// No packet network: whose VOQs are [dark](crate::voq::Voq::is_open) for good need none.
    pub(crate) fn absent() -> PacketFabric {
        PacketFabric {
            racks: 0,
            uplinks: Vec::new(),
            open: Vec::new(),
            internal: Vec::new(),
            internal_capacity: 0,
            waiting: Vec::new(),
            downlinks: Vec::new(),
        }
    }

    /// As [`Switch::next_departure`](crate::Switch::next_departure), with these delays.
    pub(crate) fn next_departure(&self, up: Span, down: Span, event_queue: &EventQueue) -> Time {
        let up = |link: &Link| link.next(event_queue, down, up + down);
        let down = |link: &Link| link.next(event_queue, Span::ZERO, down);
        let (uplinks, downlinks) = (self.uplinks.iter().map(up), self.downlinks.iter().map(down));
        uplinks.chain(downlinks).min().unwrap_or(Time::MAX)
    }

    /// The VOQ of `pair` has backlog and an open gate: it takes part in the round robin.
    #[inline]
    pub(crate) fn open(&mut self, pair: Pair) {
        self.open[usize::from(pair.src)].insert(pair.dst);
    }

    /// The VOQ of `pair` has no backlog or a closed gate.
    #[inline]
    pub(crate) fn close(&mut self, pair: Pair) {
        self.open[usize::from(pair.src)].remove(pair.dst);
    }

    /// Has the uplink of `src` served as soon as it is free, but after all transitions of the schedule at `now`.
    pub(crate) fn wake<H>(&mut self, now: Time, src: u16, core: &mut Core<H>) {
        let uplink = &mut self.uplinks[usize::from(src)];
        let time = uplink.free_at().max(now);
        uplink.serve_at(&mut core.event_queue, time);
    }

    /// Transmits the next packet of `src` if there is one, now or as soon as the uplink is free.
    #[inline]
    pub(crate) fn serve_uplink<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        src: u16,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let uplink = &mut self.uplinks[usize::from(src)];
        if uplink.free_at() > now {
            uplink.serve_when_free(&mut core.event_queue);
        } else {
            self.transmit_at_once(now, src, core, sink, probe);
        }
    }

    /// Most packets find their uplink busy.
    #[inline(never)]
    fn transmit_at_once<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        src: u16,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        self.transmit(now, src, core, sink, probe);
    }

    /// Transmits the next packet of `src`, whose uplink is free, if there is one.
    #[inline(always)] // in two places, one of which is seldom come to
    pub(crate) fn transmit<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        src: u16,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let uplink = &mut self.uplinks[usize::from(src)];
        let open = &mut self.open[usize::from(src)];
        if let Some(dst) = open.serve() {
            let pair = Pair { src, dst };
            let queue = QueueId::voq(pair);
            let voq = core.voqs.get_mut(pair);
            if let Some(id) = voq.pop(&core.pool) {
                if !voq.has_backlog() {
                    open.remove(dst);
                }
                let packet = core.pool.get(id).packet;
                let dequeue = Event::Dequeue {
                    pair,
                    queue,
                    len: voq.len(),
                    bytes: packet.bytes,
                    plane: Plane::PACKET,
                };
                probe.on(now, dequeue);
                sink.dequeued(now, packet.handle);
                let has_more = !open.is_empty();
                uplink.send(now, id, has_more, &mut core.pool, &mut core.event_queue);
                return;
            }
        }
        uplink.serve_at(&mut core.event_queue, Time::MAX);
    }

    /// A packet of `src` reaches the packet switch. Returns it if its internal queue is full.
    #[inline(always)] // its only call
    pub(crate) fn arrive<H: Copy>(
        &mut self,
        now: Time,
        src: u16,
        core: &mut Core<H>,
    ) -> Option<PacketId> {
        let id = self.uplinks[usize::from(src)].receive(&core.pool, &mut core.event_queue)?;
        let pair = core.pool.get(id).packet.pair();
        let dst = usize::from(pair.dst);
        let (downlink, waiting) = (&mut self.downlinks[dst], &mut self.waiting[dst]);
        if waiting.is_empty() && downlink.free_at() <= now {
            // As it would be queued and leave its queue at once.
            waiting.serve_only(src);
            downlink.send(now, id, false, &mut core.pool, &mut core.event_queue);
            return None;
        }
        let queue = &mut self.internal[pair.index(self.racks)];
        if queue.len() >= self.internal_capacity {
            return Some(id);
        }
        queue.push(&mut core.pool, id);
        self.waiting[usize::from(pair.dst)].insert(src);
        self.serve_downlink(now, pair.dst, core);
        None
    }

    /// Transmits the next packet for `dst` if there is one, now or as soon as the downlink is free.
    #[inline]
    pub(crate) fn serve_downlink<H: Copy>(&mut self, now: Time, dst: u16, core: &mut Core<H>) {
        let downlink = &mut self.downlinks[usize::from(dst)];
        if downlink.free_at() > now {
            return downlink.serve_when_free(&mut core.event_queue);
        }
        let waiting = &mut self.waiting[usize::from(dst)];
        if let Some(src) = waiting.serve() {
            let queue = &mut self.internal[Pair { src, dst }.index(self.racks)];
            if let Some(id) = queue.pop(&core.pool) {
                if queue.is_empty() {
                    waiting.remove(src);
                }
                let has_more = !waiting.is_empty();
                downlink.send(now, id, has_more, &mut core.pool, &mut core.event_queue);
                return;
            }
        }
        downlink.serve_at(&mut core.event_queue, Time::MAX);
    }

    /// Takes the packet that reached the ToR of `dst`.
    #[inline]
    pub(crate) fn receive<H: Copy>(&mut self, dst: u16, core: &mut Core<H>) -> Option<PacketId> {
        self.downlinks[usize::from(dst)].receive(&core.pool, &mut core.event_queue)
    }
}
