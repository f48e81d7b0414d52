// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hosts do for transports that are not TCP: NICs with priorities, and pulls.

use std::collections::VecDeque;
use std::sync::Arc;

use etalon_net::Edge;
use etalon_scenario::{Flow, Ndp, Pacer, Scenario, ScenarioError, Transport};
use etalon_transports::ndp::{Header, Puller, Receiver, Sender};
use etalon_units::Time;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::carrier::{Carrier, CarrierRoute, NdpFlow, NdpKind};
use crate::packet::{PacketId, Route};
use crate::parcels::{Body, Parcel, Parcels};
use crate::queue::{Wake, WakeQueue};
use crate::rotors::{BulkFlow, Rotors};
use crate::spray::Spray;

/// The random stream that paths are drawn from, beyond those of hosts and of TCP.
const STREAM_PATHS: u64 = 1 << 33;

/// What leaves a NIC first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// What carries no payload.
    Control,
    /// What is sent again.
    Again,
    /// What is sent for the first time.
    New,
}

/// Packets that wait for the NIC of a host, by priority; in front of those that the NIC has taken.
#[derive(Debug)]
struct Nic {
    waiting: [VecDeque<PacketId>; 3],
    /// When the NIC is done with what it has taken.
    free_at: Time,
    /// It has taken something, and nobody has looked since it was done with that.
    is_busy: bool,
    /// It will be looked at then: something waits, or bulk may.
    is_awaited: bool,
    /// When it is looked at for bulk, [`Time::MAX`] if it is not.
    bulk_at: Time,
}

impl Nic {
    fn new() -> Nic {
        Nic {
            waiting: Default::default(),
            free_at: Time::ZERO,
            is_busy: false,
            is_awaited: false,
            bulk_at: Time::MAX,
        }
    }
}

/// The pulls of a host, and when they are looked at.
#[derive(Debug)]
struct Pulls {
    puller: Puller<u32>,
    armed: u64,
}

/// All hosts.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) parcels: Parcels,
    nics: Vec<Nic>,
    pulls: Vec<Pulls>,
    kinds: Vec<(Ndp, Arc<NdpKind>)>,
    /// What they do for RotorLB, if it carries flows.
    pub(crate) rotors: Option<Box<Rotors>>,
    rng: ChaCha8Rng,
}

impl Hosts {
    /// The hosts of a plan, if TCP does not carry all of these flows.
    pub(crate) fn of(
        plan: &Scenario,
        flows: &[Flow],
        edge: &mut Edge<PacketId>,
    ) -> Result<Option<Box<Hosts>>, ScenarioError> {
        if flows.iter().all(|flow| flow.transport.is_tcp()) {
            return Ok(None);
        }
        if edge.accounts().is_some() || plan.has_applications() {
            return Err(ScenarioError(
                "the simulator has flows that TCP does not carry neither beside jobs or generators nor where hosts announce demand"
                    .to_owned(),
            ));
        }
        let rotors = Rotors::of(plan, flows)?;
        Ok(Some(Box::new(Hosts::new(plan, rotors))))
    }

    fn new(plan: &Scenario, rotors: Option<Box<Rotors>>) -> Hosts {
        let count = plan.hosts.count() as usize;
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_PATHS);
        Hosts {
            parcels: Parcels::default(),
            nics: (0..count).map(|_| Nic::new()).collect(),
            pulls: (0..count)
                .map(|_| Pulls {
                    puller: Puller::new(0),
                    armed: u64::MAX,
                })
                .collect(),
            kinds: Vec::new(),
            rotors,
            rng,
        }
    }

    fn kind(&mut self, ndp: &Ndp, plan: &Scenario) -> Arc<NdpKind> {
        if let Some((_, kind)) = self.kinds.iter().find(|(same, _)| same == ndp) {
            return kind.clone();
        }
        let kind = Arc::new(NdpKind::new(ndp, plan));
        self.kinds.push((*ndp, kind.clone()));
        kind
    }

    /// The two ends of a flow that starts.
    pub(crate) fn open(&mut self, flow: &Flow, plan: &Scenario) -> Option<Carrier> {
        if let Some(packets) = plan.rotorlb_of(flow) {
            return Some(Carrier::Bulk(Box::new(BulkFlow::new(flow, packets, plan))));
        }
        let Transport::Ndp(ndp) = &*flow.transport else {
            return None;
        };
        let kind = self.kind(ndp, plan);
        let (src, dst) = (flow.src(), flow.dst());
        let way = |src, dst| CarrierRoute {
            host: plan.hosts.index(src),
            route: Route { src, dst },
            spray: Spray::new(kind.paths),
        };
        let mut config = kind.config;
        if let (true, Some(bytes)) = (config.padded, flow.bytes) {
            // A flow of one packet has nothing to be filled up to.
            config.payload = bytes.min(config.payload.into()) as u16;
        }
        let ways = [way(src, dst), way(dst, src)];
        let puller = match kind.pacer {
            Pacer::Flow => Some(Puller::new(config.spacing)),
            Pacer::Host => {
                let pulls = &mut self.pulls[ways[1].host as usize];
                pulls.puller.set_spacing(config.spacing);
                None
            }
        };
        Some(Carrier::Ndp(Box::new(NdpFlow {
            sender: Sender::new(flow.bytes, &config),
            receiver: Receiver::new(),
            config,
            kind,
            puller,
            ways,
            class: plan.class_of(flow),
            under_way: 0,
            armed: u64::MAX,
            pull_armed: u64::MAX,
            is_killed: false,
        })))
    }

    /// Packets leave one of a flow's ends: from its sender, or back.
    pub(crate) fn send(
        &mut self,
        now: Time,
        (flow, carrier): (u32, &mut NdpFlow),
        (packet, priority): (Header, Priority),
        (queue, edge): (&mut WakeQueue, &mut Edge<PacketId>),
    ) {
        let way = &mut carrier.ways[usize::from(!packet.is_data())];
        let config = &carrier.config;
        let len = match packet.is_data() && config.padded {
            true => config.payload,
            false => packet.len,
        };
        carrier.under_way += 1;
        let id = self.parcels.insert(Parcel {
            body: Body::Ndp(packet),
            flow,
            route: way.route,
            label: way.spray.next(&mut self.rng),
            class: carrier.class,
            bytes: u32::from(config.header) + u32::from(len),
        });
        let nic = &mut self.nics[way.host as usize];
        nic.waiting[priority as usize].push_back(id);
        if nic.is_awaited {
            return;
        }
        let free_at = nic.free_at;
        let is_free = free_at < now || free_at == now && queue.is_past_nic(now, way.host);
        if !nic.is_busy || is_free {
            self.serve(now, way.host, queue, edge);
        } else {
            self.look_when_free(way.host, queue);
        }
    }

    /// The NIC of a host is looked at when it is done with what it has taken.
    fn look_when_free(&mut self, host: u32, queue: &mut WakeQueue) {
        let nic = &mut self.nics[host as usize];
        if !nic.is_awaited {
            nic.is_awaited = true;
            queue.push_nic(nic.free_at, host);
        }
    }

    /// The NIC of a host takes what comes first, if it is free. Returns whether it is idle.
    pub(crate) fn serve(
        &mut self,
        now: Time,
        host: u32,
        queue: &mut WakeQueue,
        edge: &mut Edge<PacketId>,
    ) -> bool {
        let nic = &mut self.nics[host as usize];
        if nic.free_at > now {
            return false;
        }
        (nic.is_awaited, nic.is_busy) = (false, false);
        let first = nic.waiting.iter_mut().find_map(VecDeque::pop_front);
        if let Some(id) = first {
            self.transmit(now, host, id, queue, edge);
        }
        first.is_none()
    }

    /// The NIC of a host, which is idle, takes a packet.
    pub(crate) fn transmit(
        &mut self,
        now: Time,
        host: u32,
        id: PacketId,
        queue: &mut WakeQueue,
        edge: &mut Edge<PacketId>,
    ) {
        let nic = &mut self.nics[host as usize];
        nic.free_at = edge.send(now, host, self.parcels.get(id).bytes, id);
        (nic.is_awaited, nic.is_busy) = (false, true);
        let more = nic.waiting.iter().any(|waiting| !waiting.is_empty());
        if more || self.may_have_bulk(host) {
            self.look_when_free(host, queue);
        }
    }

    /// Whether a host may have bulk to send before racks meet again.
    fn may_have_bulk(&self, host: u32) -> bool {
        let rotors = self.rotors.as_ref();
        rotors.is_some_and(|rotors| rotors.fleet.next_time(host) < u64::MAX)
    }

    /// Racks have met: the NIC of a host, which is busy, is looked at for bulk when it is done.
    pub(crate) fn have_met(&mut self, host: u32, queue: &mut WakeQueue) {
        if self.may_have_bulk(host) {
            self.look_when_free(host, queue);
        }
    }

    /// The NIC of a host, which is idle, is looked at again when it may have bulk to send.
    pub(crate) fn await_bulk(&mut self, now: Time, host: u32, next: Time, queue: &mut WakeQueue) {
        let nic = &mut self.nics[host as usize];
        if nic.bulk_at <= now {
            nic.bulk_at = Time::MAX;
        }
        if next < nic.bulk_at {
            nic.bulk_at = next;
            queue.push(next, Wake::Nic(host));
        }
    }

    /// A packet of data is at its receiver, which answers, and may pull later.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        (flow, carrier): (u32, &mut NdpFlow),
        (packet, trimmed): (&Header, bool),
        queue: &mut WakeQueue,
    ) -> Header {
        let host = carrier.ways[1].host;
        let (puller, armed, wake) = match &mut carrier.puller {
            Some(puller) => (puller, &mut carrier.pull_armed, Wake::PullOfFlow(flow)),
            None => {
                let pulls = &mut self.pulls[host as usize];
                (&mut pulls.puller, &mut pulls.armed, Wake::Pull(host))
            }
        };
        let config = &carrier.config;
        let came = (packet, trimmed);
        let answer = carrier
            .receiver
            .on_data(now.0, came, config, (puller, flow));
        arm(puller, armed, wake, queue);
        answer
    }

    /// A host's puller, whose time has come, until it is [put back](Hosts::put_back).
    pub(crate) fn take_puller(&mut self, host: u32) -> Puller<u32> {
        let pulls = &mut self.pulls[host as usize];
        pulls.armed = u64::MAX;
        std::mem::replace(&mut pulls.puller, Puller::new(0))
    }

    pub(crate) fn put_back(&mut self, host: u32, puller: Puller<u32>, queue: &mut WakeQueue) {
        let pulls = &mut self.pulls[host as usize];
        pulls.puller = puller;
        arm(&pulls.puller, &mut pulls.armed, Wake::Pull(host), queue);
    }
}

/// Sets the event for the next pull, if there is none that comes as early.
pub(crate) fn arm(puller: &Puller<u32>, armed: &mut u64, wake: Wake, queue: &mut WakeQueue) {
    let next = puller.next_time();
    if next < *armed {
        *armed = next;
        queue.push(Time(next), wake);
    }
}
