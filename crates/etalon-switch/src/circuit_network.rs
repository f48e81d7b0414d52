//! The circuit network: a crossbar without queues, and a link to each rack.

use alloc::vec::Vec;

use etalon_units::Time;

use crate::event_queue::Kind;
use crate::link::Link;
use crate::pool::PacketId;
use crate::switch::Core;
use crate::{Event, Pair, Plane, Probe, QueueId, Rdcn, Sink};

/// For each rack the circuit that ends there.
#[derive(Debug)]
pub(crate) struct CircuitFabric {
    /// By destination rack.
    links: Vec<Link>,
    /// By destination rack: the source, if there is a circuit.
    source_of: Vec<Option<u16>>,
    /// By source rack: when its transmitter is done. A packet outlives its circuit by up to its transmission time,
    /// and without a night the source's next circuit is up by then.
    source_free_at: Vec<Time>,
}

impl CircuitFabric {
    pub(crate) fn new(config: &Rdcn, racks: u16) -> CircuitFabric {
        let circuit = &config.circuit;
        CircuitFabric {
            links: (0..racks)
                .map(|rack| {
                    Link::new(
                        circuit.rate,
                        circuit.delay,
                        rack,
                        Kind::CircuitFree,
                        Kind::CircuitArrival,
                    )
                })
                .collect(),
            source_of: alloc::vec![None; usize::from(racks)],
            source_free_at: alloc::vec![Time::ZERO; usize::from(racks)],
        }
    }

    /// Sets up the circuit of `pair`, or takes it down. A packet in transmission completes.
    pub(crate) fn set(&mut self, pair: Pair, up: bool) {
        self.source_of[usize::from(pair.dst)] = up.then_some(pair.src);
    }

    /// Has the circuit to `dst` served as soon as it is free, but after all transitions of the schedule at `now`.
    pub(crate) fn wake<H>(&self, now: Time, dst: u16, core: &mut Core<H>) {
        let link = &self.links[usize::from(dst)];
        link.serve_at(&mut core.event_queue, link.free_at().max(now));
    }

    /// Transmits the next packet of the circuit to `dst` if there are both, now or as soon as the circuit is free.
    #[inline]
    pub(crate) fn serve<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        dst: u16,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let link = &mut self.links[usize::from(dst)];
        if link.free_at() > now {
            return link.serve_at(&mut core.event_queue, link.free_at());
        }
        let mut next = Time::MAX;
        if let Some(src) = self.source_of[usize::from(dst)] {
            let pair = Pair { src, dst };
            let source_free_at = &mut self.source_free_at[usize::from(src)];
            if *source_free_at > now {
                next = *source_free_at;
            } else {
                let queue = QueueId::voq(pair);
                let voq = core.voqs.get_mut(pair);
                if let Some(id) = voq.pop(&core.pool) {
                    let packet = core.pool.get(id).packet;
                    let dequeue = Event::Dequeue {
                        pair,
                        queue,
                        len: voq.len(),
                        bytes: packet.bytes,
                        plane: Plane::CIRCUIT,
                    };
                    probe.on(now, dequeue);
                    sink.dequeued(now, packet.handle);
                    let has_more = voq.has_backlog();
                    let end = link.send(now, id, &mut core.pool, &mut core.event_queue);
                    *source_free_at = end;
                    if has_more {
                        next = end;
                    }
                }
            }
        }
        link.serve_at(&mut core.event_queue, next);
    }

    /// Takes the packet that reached the ToR of `dst`.
    #[inline]
    pub(crate) fn receive<H: Copy>(&mut self, dst: u16, core: &mut Core<H>) -> Option<PacketId> {
        self.links[usize::from(dst)].receive(&core.pool, &mut core.event_queue)
    }
}
