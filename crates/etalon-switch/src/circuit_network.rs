// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuit networks: crossbars without queues, and a port of each ToR switch on each of them.

use alloc::vec::Vec;

use etalon_queues::PacketId;
use etalon_units::{Span, Time};

use crate::core::Core;
use crate::event_queue::{EventQueue, Source};
use crate::link::Link;
use crate::{CircuitNetwork, Event, Packet, Pair, Plane, Probe, QueueId, Sink};

/// The ports of all circuit networks: a network's are in one piece, by rack.
#[derive(Debug)]
pub(crate) struct CircuitFabric {
    ports: Vec<Port>,
    /// By port: when its transmitter is done. A packet outlives its circuit by up to its transmission time, and without a
    /// night the port's next circuit is up by then.
    free_at: Vec<Time>,
    racks: u16,
}

/// A port of a ToR switch, with the circuit that ends there.
#[derive(Debug)]
struct Port {
    link: Link,
    rack: u16,
    plane: Plane,
    /// The source rack, if there is a circuit.
    source: Option<u16>,
}

/// A packet that leaves its VOQ, which then holds `len` packets.
pub(crate) struct Leaving<H> {
    pub(crate) id: PacketId,
    pub(crate) packet: Packet<H>,
    pub(crate) len: u32,
    /// Of so many bytes.
    pub(crate) left: u64,
    /// There is more to send.
    pub(crate) has_more: bool,
}

impl CircuitFabric {
    /// The first of these networks is plane 1.
    pub(crate) fn new(
        circuits: &[CircuitNetwork],
        racks: u16,
        event_queue: &EventQueue,
    ) -> CircuitFabric {
        let of_network = |(index, circuit): (usize, &CircuitNetwork)| {
            let (first, CircuitNetwork { rate, delay }) = (index as u16 * racks, *circuit);
            (0..racks).map(move |rack| Port {
                link: Link::new(rate, delay, Source::Circuit, first + rack, event_queue),
                rack,
                plane: Plane(index as u8 + 1),
                source: None,
            })
        };
        let ports: Vec<Port> = circuits.iter().enumerate().flat_map(of_network).collect();
        CircuitFabric {
            free_at: alloc::vec![Time::ZERO; ports.len()],
            ports,
            racks,
        }
    }

    /// The port of `rack` on a plane of circuits.
    pub(crate) fn port(&self, plane: Plane, rack: u16) -> u16 {
        (u16::from(plane.0) - 1) * self.racks + rack
    }

    /// The plane that a port is on.
    #[inline]
    pub(crate) fn plane(&self, port: u16) -> Plane {
        self.ports[usize::from(port)].plane
    }

    /// Sets up the circuit of `src` that ends at a port. It is served as soon as it is free, but after all transitions of the
    /// schedule at `now`; one that is free and has no backlog is not looked at before it has.
    #[inline]
    pub(crate) fn set_up(
        &mut self,
        now: Time,
        number: u16,
        src: u16,
        has_backlog: bool,
        event_queue: &mut EventQueue,
    ) {
        let port = &mut self.ports[usize::from(number)];
        port.source = Some(src);
        let transmitter = self.free_at[usize::from(number - port.rack + src)];
        let is_free = port.link.free_at().max(transmitter) <= now;
        let time = if is_free && !has_backlog {
            Time::MAX
        } else {
            port.link.free_at().max(now)
        };
        port.link.serve_at(event_queue, time);
    }

    /// The circuit that ends at a port, which nobody else has, is that of `src`, and was before it sent anything.
    pub(crate) fn connect(&mut self, port: u16, src: u16) {
        self.ports[usize::from(port)].source = Some(src);
    }

    /// As [`Switch::next_departure`](crate::Switch::next_departure), of circuits with this `delay` at least.
    pub(crate) fn next_departure(&self, delay: Span, event_queue: &EventQueue) -> Time {
        let next = |port: &Port| port.link.next(event_queue, Span::ZERO, delay);
        self.ports.iter().map(next).min().unwrap_or(Time::MAX)
    }

    /// Takes down the circuit that ends at a port. A packet in transmission completes.
    #[inline]
    pub(crate) fn take_down(&mut self, port: u16) {
        self.ports[usize::from(port)].source = None;
    }

    /// Transmits the next packet of the circuit that ends at a port if there are both, now or as soon as the circuit is free.
    #[inline]
    pub(crate) fn serve<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u16,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let port = &mut self.ports[usize::from(number)];
        let link = &mut port.link;
        if link.free_at() > now {
            return link.serve_when_free(&mut core.event_queue);
        }
        let mut next = Time::MAX;
        if let Some(src) = port.source {
            let pair = Pair {
                src,
                dst: port.rack,
            };
            let transmitter = self.free_at[usize::from(number - port.rack + src)];
            if transmitter > now {
                next = transmitter;
            } else {
                let voq = core.voqs.get_mut(pair);
                if let Some((id, packet)) = voq.pop(&core.pool) {
                    let leaving = Leaving {
                        id,
                        packet,
                        len: voq.len(),
                        left: voq.bytes(),
                        has_more: voq.has_backlog(),
                    };
                    return self.transmit(now, number, leaving, core, sink, probe);
                }
            }
        }
        link.serve_at(&mut core.event_queue, next);
    }

    /// Whether the circuit of `src` that ends at a port can take a packet now.
    #[inline]
    pub(crate) fn is_free(&self, now: Time, number: u16, src: u16) -> bool {
        let port = &self.ports[usize::from(number)];
        let transmitter = self.free_at[usize::from(number - port.rack + src)];
        port.link.free_at() <= now && transmitter <= now
    }

    /// Transmits a packet over the circuit that ends at a port and is free.
    #[inline(always)] // in two places, one of which is seldom come to
    pub(crate) fn transmit<H: Copy, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        number: u16,
        leaving: Leaving<H>,
        core: &mut Core<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let Port {
            link, rack, plane, ..
        } = &mut self.ports[usize::from(number)];
        let Leaving {
            id,
            packet,
            len,
            left,
            has_more,
        } = leaving;
        let pair = packet.pair();
        let dequeue = Event::Dequeue {
            pair,
            queue: QueueId::voq(pair),
            len,
            bytes: packet.bytes,
            plane: *plane,
        };
        probe.on(now, dequeue);
        let from = match S::STAMPS {
            true => {
                let (at, number) = (pair.src, plane.0.into());
                link.transmission(QueueId { at, number }, packet.bytes, left)
            }
            false => link.no_transmission(),
        };
        sink.dequeued(now, packet.handle, from);
        let Core {
            pool, event_queue, ..
        } = core;
        let end = link.send(now, id, packet.bytes, has_more, pool, event_queue);
        self.free_at[usize::from(number - *rack + pair.src)] = end;
    }

    /// What ends at a port.
    pub(crate) fn receiver(&mut self, port: u16) -> &mut Link {
        &mut self.ports[usize::from(port)].link
    }

    /// The transmitter at a port starts nothing before `time`.
    pub(crate) fn rest_until(&mut self, port: u16, time: Time) {
        let free_at = &mut self.free_at[usize::from(port)];
        *free_at = time.max(*free_at);
    }

    /// The link that ends at a port, and the plane that it is on.
    #[inline]
    pub(crate) fn link(&mut self, port: u16) -> (&mut Link, Plane) {
        let port = &mut self.ports[usize::from(port)];
        (&mut port.link, port.plane)
    }
}
