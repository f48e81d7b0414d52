// SPDX-License-Identifier: MIT OR Apache-2.0
//! The links from ToR switches to hosts, with a queue each.

use alloc::vec::Vec;

use etalon_queues::{DropTail, Fifo, Pending};
use etalon_scenario::{HostId, Hosts};
use etalon_switch::{DropReason, Event, Pair, Probe, QueueId, Transmission};
use etalon_units::{Serializer, Time};

use crate::delivery::Delivery;

/// A packet that has come out of the network between racks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving<H> {
    pub(crate) dst: HostId,
    pub(crate) pair: Pair,
    pub(crate) bytes: u32,
    /// As it reaches its host if that has no queue.
    pub(crate) delivery: Delivery<H>,
}

/// A host's queue, with what is in it or in transmission, and when that will have passed the link.
#[derive(Debug)]
struct Downlink<H> {
    queue: DropTail,
    /// Its name, and bytes that it has transmitted.
    port: QueueId,
    sent: u64,
    inside: Fifo<(Time, Arriving<H>)>,
}

/// A drop-tail queue and a link for each host. What leaves the network between racks, or stays in a rack, goes through that
/// of its host: a network that is faster than a NIC fills it.
#[derive(Debug)]
pub(crate) struct Downlinks<H> {
    hosts: Hosts,
    links: Vec<Downlink<H>>,
    pending: Pending,
    /// What has come, but is not queued yet: the network between racks is at work.
    incoming: Fifo<Arriving<H>>,
}

impl<H: Copy> Downlinks<H> {
    /// For these hosts: links of their NICs' rate, queues for so many `packets`, the one in transmission included.
    pub(crate) fn new(hosts: Hosts, packets: u32) -> Downlinks<H> {
        let link = |host| Downlink {
            queue: DropTail::new(Serializer::new(hosts.rate), packets),
            port: downlink_of(&hosts, hosts.host(host)),
            sent: 0,
            inside: Fifo::default(),
        };
        Downlinks {
            hosts,
            links: (0..hosts.count()).map(link).collect(),
            pending: Pending::new(hosts.count() as usize),
            incoming: Fifo::default(),
        }
    }

    /// A packet comes to the ToR switch of its host.
    pub(crate) fn arrive(&mut self, come: Arriving<H>) {
        self.incoming.push_back(come);
    }

    /// Queues the packets that have [come](Downlinks::arrive), up to the first whose queue is full, which it returns.
    pub(crate) fn queue<P: Probe>(&mut self, probe: &mut P) -> Option<Delivery<H>> {
        while let Some(come) = self.incoming.pop_front() {
            let Arriving {
                dst,
                pair,
                bytes,
                delivery,
            } = come;
            let index = self.hosts.index(dst);
            let link = &mut self.links[index as usize];
            let idle = link.inside.is_empty();
            let Some(passes) = link.queue.take(delivery.time, bytes) else {
                probe.on(delivery.time, passed(&come));
                let dropped = Event::Dropped {
                    pair,
                    queue: downlink_of(&self.hosts, dst),
                    len: link.queue.capacity(),
                    bytes,
                    reason: DropReason::DownlinkFull,
                };
                probe.on(delivery.time, dropped);
                return Some(delivery);
            };
            link.inside.push_back((passes, come));
            if idle {
                self.pending.push(passes, index);
            }
        }
        None
    }

    /// When the next packet has passed its link, or has come and is to be queued.
    pub(crate) fn next(&self) -> Time {
        let come = self.incoming.front();
        self.pending
            .next()
            .min(come.map_or(Time::MAX, |come| come.delivery.time))
    }

    /// What the packet met that has passed its link, if one has by `now`, and when its transmission began: telemetry.
    pub(crate) fn met(&self, now: Time) -> Option<(H, Time, Transmission)> {
        if self.pending.next() > now {
            return None;
        }
        let link = &self.links[self.pending.first()? as usize];
        let (passes, first) = link.inside.front()?;
        let rate = self.hosts.rate;
        let starts = Time(
            passes
                .0
                .saturating_sub(rate.span_of(u64::from(first.bytes)).0),
        );
        let behind = (1..link.inside.len()).map_while(|place| link.inside.get(place));
        let behind = behind.take_while(|(_, come)| come.delivery.time <= starts);
        let met = Transmission {
            port: link.port,
            queue: behind.map(|(_, come)| u64::from(come.bytes)).sum(),
            sent: link.sent,
            rate,
        };
        Some((first.delivery.handle, starts, met))
    }

    /// Takes the packet that has passed its link, if one has by `now`.
    pub(crate) fn pass<P: Probe>(&mut self, now: Time, probe: &mut P) -> Option<Delivery<H>> {
        let time = self.pending.next();
        if time > now {
            return None;
        }
        let host = self.pending.first()?;
        let link = &mut self.links[host as usize];
        let (_, come) = link.inside.pop_front()?;
        link.sent += u64::from(come.bytes);
        let next = link.inside.front().map(|first| first.0);
        self.pending.move_first(host, next);
        probe.on(time, passed(&come));
        Some(Delivery {
            time,
            ..come.delivery
        })
    }
}

/// A packet is out of its host's queue.
fn passed<H>(come: &Arriving<H>) -> Event {
    Event::Passed {
        pair: come.pair,
        bytes: come.bytes,
        plane: come.delivery.plane,
    }
}

/// The queue of a host's downlink: in its ToR switch, behind the queues to racks.
fn downlink_of(hosts: &Hosts, host: HostId) -> QueueId {
    QueueId {
        at: host.rack(),
        number: hosts.racks + host.number(),
    }
}
