// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a packet is received where a plan has what few have. Apart, so that the others need not ask.

use etalon_net::Edge;
use etalon_switch::Plane;
use etalon_units::Time;

use crate::packet::{Packet, PacketId};
use crate::tap::Tap;
use crate::tdns::Follows;
use crate::world::World;

impl<T: Tap> World<'_, '_, T> {
    /// Meters a packet in a run that is not plain.
    #[inline(never)]
    pub(crate) fn meter_uncommon(&mut self, now: Time, handle: PacketId, plane: Plane) {
        let of_subflow = !self.groups.is_empty() && self.meter_subflow(now, handle, plane);
        let Packet {
            segment,
            to,
            place,
            route,
            ..
        } = self.pool.get_mut(handle);
        let (index, pair, payload) = (*to, route.pair(), u32::from(segment.len));
        if of_subflow || payload == 0 || !self.meter.is_carried(pair) {
            return;
        }
        if index & 1 == 0 {
            return self.meter.other_left(pair, payload, plane);
        }
        let row = self.flows.row_at(*place, index);
        let end = segment.seq.wrapping_add(payload);
        self.meter.data_left(now, row, payload, end, plane);
        if self.meter.follows_order() {
            let offset = segment.seq.wrapping_sub(self.flows.first_byte(index ^ 1));
            self.meter.data_left_in_order(row, 0, offset, payload);
        }
    }

    /// As `World::receive` goes on in a run that is not plain: an endpoint has taken a packet, and has `received` so much.
    #[inline(never)]
    pub(crate) fn answer_uncommon(
        &mut self,
        now: Time,
        (index, place): (u32, u32),
        (handle, received): (PacketId, u64),
        edge: &mut Edge<PacketId>,
    ) {
        let payload = self.pool.get_mut(handle).segment.len;
        self.pool.free(handle);
        let (flow, row) = (index >> 1, self.flows.row_at(place, index));
        let end = self.flows.at(place, index);
        if end.follows == Follows::AsSubflow {
            return self.after_segment(now, index, edge);
        }
        if index & 1 == 0 {
            let cwnd = end.connection.path().window().cwnd;
            self.meter.follow_cwnd(now, row, cwnd);
        } else if self.meter.received(now, row, received) {
            if flow < self.flows.planned() {
                self.finish_flow(now, edge);
            } else if self.generated.is_some() {
                self.generated_ended(now, flow, edge);
            }
        }
        self.transmit(now, index, edge);
        if self.meter.follows_senders() {
            self.follow_sender(now, index);
        }
        if flow >= self.flows.planned() && self.generated.is_none() {
            self.with_jobs(now, edge, |jobs, hosts| {
                jobs.received(now, (index, received, payload > 0), hosts);
            });
        }
        if self.flows.left_network(place) {
            self.flows.close_if_over(flow);
        }
    }

    /// What the endpoint's socket has room for by now is its program's to hand over.
    #[cold]
    #[inline(never)]
    pub(crate) fn announce(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let bytes = self.flows.end(index).connection.take_writes();
        if let (Some(accounts), true) = (edge.accounts(), bytes > 0) {
            accounts.accepted(now, index, bytes);
        }
    }

    /// A client may be in another state than before, which somebody may want to know.
    #[cold]
    pub(crate) fn follow_sender(&mut self, now: Time, index: u32) {
        if index & 1 == 0 {
            let sender = self.flows.sender(index);
            self.meter.follow_sender(now, (index >> 1) as usize, sender);
        }
    }

    /// As [`World::transmit`], for what no segment caused: which network there is may be news to the endpoint.
    pub(crate) fn look_and_transmit(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let end = self.flows.end(index);
        if end.follows.looks() {
            self.tdns.look(now.0 * self.tdf, index, end);
        } else if end.follows == Follows::AsSubflow {
            self.transmit_subflow(now, index, edge);
            return;
        }
        self.transmit(now, index, edge);
    }
}
