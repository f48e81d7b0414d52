// SPDX-License-Identifier: MIT OR Apache-2.0
//! The way from an endpoint into the network.

use std::marker::PhantomData;

use etalon_net::Edge;
use etalon_tcp::{Outlet, RareOptions, Segment};
use etalon_units::Time;

use crate::endpoint::{Departing, Egress, Endpoint};
use crate::packet::{ETHERNET_AND_IP, PacketId, PacketPool};
use crate::queue::{Wake, WakeQueue};
use crate::tap::Tap;

/// Sends what an endpoint has to send, and arms its timer. `at`: when, and its number.
#[inline(always)] // with every packet
pub(crate) fn send<T: Tap>(
    end: &mut Endpoint,
    at: (Time, u32),
    tdf: u64,
    pool: &mut PacketPool,
    queue: &mut WakeQueue,
    edge: &mut Edge<PacketId>,
) {
    let (now, index) = at;
    let mut payload = 0;
    end.way.below.drop_while(
        |&Departing {
             time,
             payload: data,
         }| {
            if time > now {
                return false;
            }
            payload += u64::from(data);
            true
        },
    );
    if payload > 0 {
        end.connection.departed(payload);
    }
    if !end.connection.is_silent() {
        let answers = end.connection.only_answers();
        let mut nic = Nic::<T> {
            of_run: PhantomData,
            wants_telemetry: T::EXTRAS && end.connection.wants_telemetry(),
            now,
            way: &mut end.way,
            pool,
            edge,
            done: now,
            first: None,
        };
        end.connection.transmit(now.0 * tdf, &mut nic);
        if let (true, Some(time)) = (T::AWAITS_DEPARTURE, nic.first) {
            end.waits = true;
            queue.push(time, Wake::Departed(index));
        }
        if answers {
            debug_assert!(end.arm(tdf).is_none());
            return;
        }
    }
    if end.connection.is_throttled() && !end.waits {
        if let Some(&Departing { time, .. }) = end.way.below.front() {
            end.waits = true;
            queue.push(time.max(now), Wake::Departed(index));
        }
    }
    if end.lacks_timer() {
        if let Some(time) = end.arm(tdf) {
            queue.push(time, Wake::Timer(index));
        }
    }
}

/// Where an endpoint's segments go: as packets to its peer.
struct Nic<'a, T> {
    of_run: PhantomData<T>,
    wants_telemetry: bool,
    now: Time,
    way: &'a mut Egress,
    pool: &'a mut PacketPool,
    edge: &'a mut Edge<PacketId>,
    /// When the NIC is done with what was handed over last.
    done: Time,
    /// When it is done with the first data, if that is awaited.
    first: Option<Time>,
}

impl<T> Nic<'_, T> {
    /// A packet of so many bytes may have an option for telemetry. Its length with that.
    fn carry(&mut self, id: PacketId, bytes: u32, has_data: bool) -> u32 {
        let Some(telemetry) = &mut self.pool.telemetry else {
            return bytes;
        };
        let place = self.way.envelope.place ^ 1;
        let option = telemetry.send(id, place, self.wants_telemetry, has_data);
        let envelope = &mut self.pool.get_mut(id).envelope;
        envelope.size = self.way.envelope.size.with(bytes + option);
        bytes + option
    }
}

impl<T: Tap> Outlet for Nic<'_, T> {
    #[inline(always)] // with every packet
    fn put(&mut self, fill: impl FnOnce(&mut Segment) -> bool) -> bool {
        let (id, packet) = self.pool.take();
        if !fill(&mut packet.segment) {
            self.pool.free(id);
            return false;
        }
        let payload = u32::from(packet.segment.len);
        let mut bytes = ETHERNET_AND_IP + packet.segment.header_len() + payload;
        packet.envelope = self.way.envelope;
        packet.envelope.size = self.way.envelope.size.with(bytes);
        if T::EXTRAS {
            bytes = self.carry(id, bytes, payload > 0);
        }
        self.way.under_way = self.way.under_way.wrapping_add(1);
        self.done = match T::PLAIN {
            true => self.edge.send_at_once(self.now, self.way.host, bytes, id),
            false => self.edge.send(self.now, self.way.host, bytes, id),
        };
        if T::AWAITS_DEPARTURE && payload > 0 {
            self.first.get_or_insert(self.done);
        }
        true
    }

    #[inline(always)] // with every burst
    fn end_chunk(&mut self, payload: u32) {
        if payload > 0 {
            let time = self.done;
            self.way
                .below
                .push_back_sparingly(Departing { time, payload });
        }
    }

    fn spare(&mut self) -> RareOptions {
        self.pool.spare()
    }
}
