// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packet network: uplinks, internal queues, downlinks.

use alloc::vec::Vec;

use etalon_queues::{PacketId, Queue};
use etalon_units::{Span, Time};

use crate::core::Core;
use crate::event_queue::{EventQueue, Source};
use crate::link::Link;
use crate::round_robin::RoundRobin;
use crate::{Event, PacketNetwork, Pair, Plane, Probe, QueueId, Sink};

/// One switch with a link from and to each ToR; without any, where there is no packet network.
#[derive(Debug)]
pub(crate) struct PacketFabric {
    racks: usize,
    /// By source rack.
    uplinks: Vec<Uplink>,
    /// By [`Pair::index`].
    internal: Vec<Queue>,
    internal_capacity: u32,
    /// By destination rack.
    downlinks: Vec<Downlink>,
}

#[derive(Debug)]
struct Uplink {
    link: Link,
    /// The destinations whose VOQ has backlog and an open gate.
    open: RoundRobin,
}

#[derive(Debug)]
struct Downlink {
    link: Link,
    /// The sources whose internal queue is not empty.
    waiting: RoundRobin,
}

impl PacketFabric {
    pub(crate) fn new(
        packet: &PacketNetwork,
        racks: u16,
        event_queue: &EventQueue,
    ) -> PacketFabric {
        let count = usize::from(racks);
        let link = |delay, source, rack| Link::new(packet.rate, delay, source, rack, event_queue);
        let uplink = |rack| Uplink {
            link: link(packet.up_delay, Source::Uplink, rack),
            open: RoundRobin::new(racks),
        };
        let downlink = |rack| Downlink {
            link: link(packet.down_delay, Source::Downlink, rack),
            waiting: RoundRobin::new(racks),
        };
        PacketFabric {
            racks: count,
            uplinks: (0..racks).map(uplink).collect(),
            internal: alloc::vec![Queue::new(); count * count],
            internal_capacity: packet.internal_queue,
            downlinks: (0..racks).map(downlink).collect(),
        }
    }

    /// No packet network: whose VOQs are [dark](crate::voq::Voq::is_open) for good need none.
    pub(crate) fn absent() -> PacketFabric {
        PacketFabric {
            racks: 0,
            uplinks: Vec::new(),
            internal: Vec::new(),
            internal_capacity: 0,
            downlinks: Vec::new(),
        }
    }

    /// As [`Switch::next_departure`](crate::Switch::next_departure), with these delays.
    pub(crate) fn next_departure(&self, up: Span, down: Span, event_queue: &EventQueue) -> Time {
        let up = |uplink: &Uplink| uplink.link.next(event_queue, down, up + down);
        let down = |downlink: &Downlink| downlink.link.next(event_queue, Span::ZERO, down);
        let (uplinks, downlinks) = (self.uplinks.iter().map(up), self.downlinks.iter().map(down));
        uplinks.chain(downlinks).min().unwrap_or(Time::MAX)
    }

    /// The VOQ of `pair` has backlog and an open gate: it takes part in the round robin.
    #[inline]
    pub(crate) fn open(&mut self, pair: Pair) {
        self.uplinks[usize::from(pair.src)].open.insert(pair.dst);
    }

    /// The VOQ of `pair` has no backlog or a closed gate.
    #[inline]
    pub(crate) fn close(&mut self, pair: Pair) {
        self.uplinks[usize::from(pair.src)].open.remove(pair.dst);
    }

    /// Has the uplink of `src` served as soon as it is free, but after all transitions of the schedule at `now`.
    pub(crate) fn wake<H>(&mut self, now: Time, src: u16, core: &mut Core<H>) {
        let uplink = &mut self.uplinks[usize::from(src)].link;
        let time = uplink.free_at().max(now);
        uplink.serve_at(&mut core.event_queue, time);
    }

    /// The VOQ of `pair` has backlog and an open gate: the next packet of its ToR is transmitted, now or as soon as the uplink is free.
    #[inline(always)] // with every packet that enters
    pub(crate) fn backlogged<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        pair: Pair,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let uplink = &mut self.uplinks[usize::from(pair.src)];
        uplink.open.insert(pair.dst);
        if uplink.link.free_at() > now {
            uplink.link.serve_when_free(&mut core.event_queue);
        } else {
            self.transmit_at_once(now, pair.src, core, sink, probe);
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
        let Uplink { link, open } = &mut self.uplinks[usize::from(src)];
        if let Some(dst) = open.serve() {
            let pair = Pair { src, dst };
            let queue = QueueId::voq(pair);
            let voq = core.voqs.get_mut(pair);
            if let Some((id, packet)) = voq.pop(&core.pool) {
                if !voq.has_backlog() {
                    open.remove(dst);
                }
                let dequeue = Event::Dequeue {
                    pair,
                    queue,
                    len: voq.len(),
                    bytes: packet.bytes,
                    plane: Plane::PACKET,
                };
                probe.on(now, dequeue);
                let from = match S::STAMPS {
                    true => {
                        let number = Plane::PACKET.0.into();
                        let port = QueueId { at: src, number };
                        link.transmission(port, packet.bytes, voq.bytes())
                    }
                    false => link.no_transmission(),
                };
                sink.dequeued(now, packet.handle, from);
                let has_more = !open.is_empty();
                let Core {
                    pool, event_queue, ..
                } = core;
                link.send(now, id, packet.bytes, has_more, pool, event_queue);
                return;
            }
        }
        link.serve_at(&mut core.event_queue, Time::MAX);
    }

    /// The link from `src`.
    #[inline]
    pub(crate) fn uplink(&mut self, src: u16) -> &mut Link {
        &mut self.uplinks[usize::from(src)].link
    }

    /// The link to `dst`.
    #[inline]
    pub(crate) fn downlink(&mut self, dst: u16) -> &mut Link {
        &mut self.downlinks[usize::from(dst)].link
    }

    /// A packet of `src` has reached the packet switch. False if its internal queue is full.
    #[inline(always)] // its only call
    pub(crate) fn arrive<H: Copy>(
        &mut self,
        now: Time,
        src: u16,
        id: PacketId,
        core: &mut Core<H>,
    ) -> bool {
        let Core {
            pool, event_queue, ..
        } = core;
        let packet = pool.get(id).packet;
        let pair = packet.pair();
        let Downlink { link, waiting } = &mut self.downlinks[usize::from(pair.dst)];
        if waiting.is_empty() && link.free_at() <= now {
            // As it would be queued and leave its queue at once.
            waiting.serve_only(src);
            link.send(now, id, packet.bytes, false, pool, event_queue);
            return true;
        }
        let queue = &mut self.internal[pair.index(self.racks)];
        if queue.len() >= self.internal_capacity {
            return false;
        }
        queue.push(pool, id);
        waiting.insert(src);
        self.serve_downlink(now, pair.dst, core);
        true
    }

    /// Transmits the next packet for `dst` if there is one, now or as soon as the downlink is free.
    #[inline]
    pub(crate) fn serve_downlink<H: Copy>(&mut self, now: Time, dst: u16, core: &mut Core<H>) {
        let Downlink { link, waiting } = &mut self.downlinks[usize::from(dst)];
        if link.free_at() > now {
            return link.serve_when_free(&mut core.event_queue);
        }
        if let Some(src) = waiting.serve() {
            let queue = &mut self.internal[Pair { src, dst }.index(self.racks)];
            if let Some(id) = queue.pop(&core.pool) {
                if queue.is_empty() {
                    waiting.remove(src);
                }
                let (has_more, bytes) = (!waiting.is_empty(), core.pool.get(id).packet.bytes);
                let Core {
                    pool, event_queue, ..
                } = core;
                link.send(now, id, bytes, has_more, pool, event_queue);
                return;
            }
        }
        link.serve_at(&mut core.event_queue, Time::MAX);
    }
}
