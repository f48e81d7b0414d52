// SPDX-License-Identifier: MIT OR Apache-2.0
//! RotorLB: what hosts agree upon when circuits change, and the flows that it carries.

use etalon_measure::{Counters, FlowFacts};
use etalon_net::Class;
use etalon_scenario::{
    Flow, HostId, Hosts, Network, Ocs, Offers, RotorLb, Scenario, ScenarioError, Slices,
};
use etalon_transports::rotorlb::{Circuit, Config, Fleet};
use etalon_units::{Rate, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::spray::below;

/// The random stream of shares that do not divide, beyond those of hosts, of TCP and of paths.
const STREAM_SHARES: u64 = 1 << 35;

/// The hosts, as RotorLB has them.
#[derive(Debug)]
pub(crate) struct Rotors {
    pub(crate) fleet: Fleet,
    hosts: Hosts,
    slices: Slices,
    offers: Offers,
    guard: Span,
    /// By uplink: the time of a full packet, of the share of one host, in picoseconds.
    slots: Vec<u64>,
    /// What the last packet takes to its uplink, and over it.
    way: Span,
    rng: ChaCha8Rng,
}

impl Rotors {
    /// For those of these flows that RotorLB carries, if there are any.
    pub(crate) fn of(
        plan: &Scenario,
        flows: &[Flow],
    ) -> Result<Option<Box<Rotors>>, ScenarioError> {
        let Network::Ocs(ocs) = &plan.network else {
            return Ok(None);
        };
        let Some((_, offers)) = ocs.rotorlb() else {
            return Ok(None);
        };
        // Of which class a flow is that is not listed, only its length says.
        let may = |flow: &Flow| plan.rotorlb_of(flow).is_some() || !flow.transport.is_tcp();
        if !flows.iter().any(may) {
            return Ok(None);
        }
        let packet = |flow: &Flow| {
            let packets = plan.rotorlb_of(flow)?;
            Some(u32::from(packets.payload(plan.hosts.mtu)) + u32::from(packets.header))
        };
        let longest = flows.iter().filter_map(packet).max();
        let longest = longest.unwrap_or(plan.hosts.mtu.into());
        Ok(Some(Box::new(Rotors::new(plan, ocs, offers, longest)?)))
    }

    fn new(
        plan: &Scenario,
        ocs: &Ocs,
        offers: Offers,
        packet: u32,
    ) -> Result<Rotors, ScenarioError> {
        let hosts = plan.hosts;
        let slices = Slices::of(&ocs.uplinks)?;
        let bits = u128::from(packet) * 8 * 1_000_000_000_000;
        // A host has its share of each circuit, and each circuit its share of a host's link.
        let share = |circuit: Rate| {
            let of_circuit = circuit.0 / u64::from(hosts.per_rack);
            let of_link = hosts.rate.0 / ocs.uplinks.len() as u64;
            of_circuit.min(of_link).max(1)
        };
        let slots = ocs.uplinks.iter();
        let slots = slots.map(|one| (bits / u128::from(share(one.rate))) as u64);
        let across = ocs.uplinks.iter();
        let across = across.map(|one| one.rate.span_of(packet.into())).max();
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_SHARES);
        let config = Config {
            hosts: hosts.per_rack.into(),
            two_hops: offers.two_hops,
        };
        Ok(Rotors {
            fleet: Fleet::new(config, hosts.racks.into()),
            hosts,
            slots: slots.collect(),
            way: hosts.delay
                + hosts.jitter
                + hosts.rate.span_of(packet.into())
                + across.unwrap_or_default(),
            slices,
            offers,
            guard: ocs.guard,
            rng,
        })
    }

    /// A slice begins: racks that are connected from now on share their circuits.
    pub(crate) fn begin_slice(&mut self, now: Time) {
        let slice = self.slices.at(now);
        let number = slice.number as usize;
        for uplink in 0..self.slices.switches() {
            // At the beginning of time all circuits are new.
            let is_new = now == Time::ZERO || self.slices.changes(number, uplink);
            let until = self.slices.lit_until(slice, uplink);
            // What would be agreed upon for a circuit that never ends could not be agreed upon again.
            let Some(until) = until.filter(|&until| is_new && until < Time::MAX) else {
                continue;
            };
            let margin = self.offers.margin.unwrap_or(self.way) + self.guard;
            let until = Time(until.0.saturating_sub(margin.0));
            let slot = self.slots[uplink];
            let time = u128::from(until.saturating_since(now).0) * 1000;
            let circuit = Circuit {
                uplink: uplink as u8,
                slots: (time / u128::from(slot)).min(u32::MAX.into()) as u32,
                slot,
                until: until.0,
            };
            for rack in 0..self.hosts.racks {
                let peer = self.slices.peer(number, rack, uplink).unwrap_or(rack);
                let pair = (rack.into(), peer.into());
                let rng = &mut self.rng;
                self.fleet
                    .meet(now.0, pair, &circuit, |bound| below(rng, bound));
            }
        }
    }
}

/// A flow that RotorLB carries.
#[derive(Debug)]
pub(crate) struct BulkFlow {
    pub(crate) src: HostId,
    pub(crate) dst: HostId,
    /// Their indices.
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) class: Class,
    bytes: u64,
    payload: u16,
    header: u16,
    padded: bool,
    pub(crate) packets: u32,
    /// Packets that have arrived, and their payload.
    pub(crate) arrived: u32,
    pub(crate) received: u64,
    /// Packets that its sender has given away and that are not there yet: under way, or relayed.
    pub(crate) under_way: u32,
    pub(crate) is_killed: bool,
}

impl BulkFlow {
    pub(crate) fn new(flow: &Flow, packets: RotorLb, plan: &Scenario) -> BulkFlow {
        let (src, dst) = (flow.src(), flow.dst());
        let bytes = flow.bytes.unwrap_or(u64::MAX);
        let mut payload = packets.payload(plan.hosts.mtu);
        if packets.padded {
            // A flow of one packet has nothing to be filled up to.
            payload = bytes.min(payload.into()) as u16;
        }
        let payload = payload.max(1);
        BulkFlow {
            src,
            dst,
            from: plan.hosts.index(src),
            to: plan.hosts.index(dst),
            class: plan.class_of(flow),
            bytes,
            payload,
            header: packets.header,
            padded: packets.padded,
            // One without end has more than time for.
            packets: bytes.div_ceil(payload.into()).min(u32::MAX.into()) as u32,
            arrived: 0,
            received: 0,
            under_way: 0,
            is_killed: false,
        }
    }

    /// The payload of a packet, and the number of the byte behind it.
    pub(crate) fn payload(&self, seq: u32) -> (u32, u64) {
        let first = u64::from(seq) * u64::from(self.payload);
        let len = self.bytes.saturating_sub(first).min(self.payload.into());
        (len as u32, first + len)
    }

    /// Bytes of a packet on the wire.
    pub(crate) fn on_wire(&self, seq: u32) -> u32 {
        let payload = match self.padded {
            true => self.payload.into(),
            false => self.payload(seq).0,
        };
        payload + u32::from(self.header)
    }

    /// Whether nothing can happen in it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.under_way == 0 && (self.is_killed || self.arrived == self.packets)
    }

    /// What is known of it, as of a flow of TCP.
    pub(crate) fn facts(&self) -> FlowFacts {
        FlowFacts {
            counters: Counters {
                received: self.received,
                ..Counters::default()
            },
            ..FlowFacts::default()
        }
    }
}
