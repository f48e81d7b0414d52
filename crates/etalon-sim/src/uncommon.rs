// SPDX-License-Identifier: MIT OR Apache-2.0
//! What follows a packet in runs that are not [plain](Tap::PLAIN). It repeats nothing of `world.rs`: where `PLAIN` holds, the compiler leaves
//! out each call of it. `a_trace_is_the_same_run_again` (`tests/engine.rs`) holds a plain run against the same one that is not.

use etalon_net::Edge;
use etalon_units::Time;

use crate::endpoint::Follows;
use crate::packet::PacketId;
use crate::tap::Tap;
use crate::world::World;

impl<T: Tap> World<'_, '_, T> {
    /// The server of a flow has received all.
    #[cold]
    pub(crate) fn received_all(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        if flow < self.flows.planned() {
            self.finish_flow(now, edge);
        } else if self.applications.generated.is_some() {
            self.generated_ended(now, flow, edge);
        }
    }

    /// An endpoint has taken a packet, `with_data` or not, has `received` so much by now, and has sent what it had to send.
    pub(crate) fn after_packet(
        &mut self,
        now: Time,
        index: u32,
        (received, with_data): (u64, bool),
        edge: &mut Edge<PacketId>,
    ) {
        if self.announces {
            self.announce(now, index, edge);
        }
        if self.meter.follows_senders() {
            self.follow_sender(now, index);
        }
        if index >> 1 >= self.flows.planned() && self.applications.generated.is_none() {
            self.with_jobs(now, edge, |jobs, hosts| {
                jobs.received(now, (index, received, with_data), hosts);
            });
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
