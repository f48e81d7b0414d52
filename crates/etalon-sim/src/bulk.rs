// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that RotorLB carries, as they go.

use etalon_net::Edge;
use etalon_switch::Plane;
use etalon_transports::rotorlb::{Bulk, Sending};
use etalon_units::Time;

use crate::carrier::Carrier;
use crate::packet::{PacketId, Route};
use crate::parcels::{Body, Parcel};
use crate::rotors::{BulkFlow, Rotors};
use crate::tap::Tap;
use crate::world::World;

impl<T: Tap> World<'_, '_, T> {
    fn rotors(&mut self) -> Option<&mut Rotors> {
        self.hosts.as_mut()?.rotors.as_deref_mut()
    }

    fn bulk(&mut self, flow: u32) -> Option<&mut BulkFlow> {
        self.flows.carrier(flow).and_then(Carrier::bulk)
    }

    /// A slice begins: hosts agree upon what they send over circuits that are new.
    #[cold]
    pub(crate) fn begin_slice(&mut self, now: Time, edge: &mut Edge<PacketId>) {
        let Some(rotors) = self.rotors() else { return };
        rotors.begin_slice(now);
        for host in 0..edge.hosts().count() {
            let Some(hosts) = &mut self.hosts else { return };
            match hosts.serve(now, host, &mut self.queue, edge) {
                true => self.serve_bulk(now, host, edge),
                false => hosts.have_met(host, &mut self.queue),
            }
        }
    }

    /// A flow that starts, if RotorLB carries it, waits at its host.
    pub(crate) fn write_bulk(&mut self, flow: u32) {
        let Some(bulk) = self.bulk(flow) else { return };
        let (from, to, packets) = (bulk.from, bulk.to, bulk.packets);
        if let Some(rotors) = self.rotors() {
            rotors.fleet.write(from, to, flow, packets);
        }
    }

    /// A flow is killed: its host sends no more of it.
    #[cold]
    pub(crate) fn give_up_bulk(&mut self, flow: u32) {
        let Some(bulk) = self.bulk(flow) else { return };
        bulk.is_killed = true;
        let (from, to) = (bulk.from, bulk.to);
        if let Some(rotors) = self.rotors() {
            rotors.fleet.give_up(from, to, flow);
        }
    }

    /// The NIC of a host, which is idle, takes a packet that is due, or is looked at again when one may be.
    pub(crate) fn serve_bulk(&mut self, now: Time, host: u32, edge: &mut Edge<PacketId>) {
        let sending = loop {
            let Some(rotors) = self.rotors() else { return };
            let next = rotors.fleet.next_time(host);
            if next > now.0 {
                if let (Some(hosts), true) = (&mut self.hosts, next < u64::MAX) {
                    hosts.await_bulk(now, host, Time(next), &mut self.queue);
                }
                return;
            }
            if let Some(sending) = rotors.fleet.poll(host, now.0) {
                break sending;
            }
        };
        let Sending {
            packet: Bulk { flow, seq, .. },
            via,
            uplink,
        } = sending;
        let Some(bulk) = self.bulk(flow) else { return };
        let dst = match via == bulk.to {
            true => bulk.dst,
            false => edge.hosts().host(via),
        };
        let src = match host == bulk.from {
            true => bulk.src,
            false => edge.hosts().host(host),
        };
        bulk.under_way += u32::from(host == bulk.from);
        let (bytes, class) = (bulk.on_wire(seq), bulk.class);
        let Some(hosts) = &mut self.hosts else { return };
        let id = hosts.parcels.insert(Parcel {
            body: Body::Bulk(seq),
            flow,
            route: Route { src, dst },
            label: uplink.into(),
            class,
            bytes,
        });
        hosts.transmit(now, host, id, &mut self.queue, edge);
    }

    /// A packet is at its host, or at one that relays it.
    pub(crate) fn deliver_bulk(
        &mut self,
        now: Time,
        parcel: &Parcel,
        (seq, trimmed): (u32, bool),
        plane: Plane,
        edge: &mut Edge<PacketId>,
    ) {
        if trimmed {
            return self.take_back_bulk(parcel, seq);
        }
        let flow = parcel.flow;
        let host = edge.hosts().index(parcel.route.dst);
        let Some(bulk) = self.bulk(flow) else { return };
        let packet = Bulk {
            flow,
            seq,
            to: bulk.to,
        };
        if host != bulk.to && !bulk.is_killed {
            self.meter.relayed(parcel.bytes);
            if let Some(rotors) = self.rotors() {
                rotors.fleet.arrives(host, packet);
            }
            return;
        }
        let relayed = parcel.route.src != bulk.src;
        bulk.under_way -= 1;
        if !bulk.is_killed {
            let (payload, end) = bulk.payload(seq);
            bulk.arrived += 1;
            bulk.received += u64::from(payload);
            let received = bulk.received;
            let row = self.flows.row(flow);
            self.meter.data_left(now, row, payload, end as u32, plane);
            if relayed {
                self.meter.relay_delivered(parcel.bytes);
            }
            if self.meter.received(now, row, received) {
                self.finish_flow(now, edge);
            }
        }
        self.flows.close_carrier_if_over(flow);
    }

    /// A packet is back at the host that sent it, or lost, of which that hears.
    #[cold]
    pub(crate) fn take_back_bulk(&mut self, parcel: &Parcel, seq: u32) {
        let flow = parcel.flow;
        let src = self.flows.hosts().index(parcel.route.src);
        let Some(bulk) = self.bulk(flow) else { return };
        let (to, relays) = (bulk.to, src != bulk.from);
        if bulk.is_killed {
            bulk.under_way -= 1;
            return self.flows.close_carrier_if_over(flow);
        }
        bulk.under_way -= u32::from(!relays);
        let packet = Bulk { flow, seq, to };
        if let Some(rotors) = self.rotors() {
            rotors.fleet.give_back(src, packet, relays);
        }
    }
}
