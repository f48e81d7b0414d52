//! The way from an endpoint into the network.

use etalon_net::{Edge, Fifo};
use etalon_tcp::{Outlet, Segment};
use etalon_units::Time;

use crate::endpoint::Endpoint;
use crate::packet::{ETHERNET_AND_IP, PacketId, Pool, Route};
use crate::queue::{Queue, Wake};

/// Sends what an endpoint has to send, and arms its timer. `at`: when, its number and its place.
#[inline(always)] // with every packet
pub(crate) fn send(
    end: &mut Endpoint,
    at: (Time, u32, u32),
    tdf: u64,
    pool: &mut Pool,
    queue: &mut Queue,
    edge: &mut Edge<PacketId>,
) {
    let (now, index, place) = at;
    while let Some(&(time, payload)) = end.below.front() {
        if time > now {
            break;
        }
        end.below.pop_front();
        end.connection.departed(payload);
    }
    let mut nic = Nic {
        now,
        to: index ^ 1,
        place: place ^ 1,
        host: end.host,
        route: end.route,
        under_way: &mut end.under_way,
        below: &mut end.below,
        pool,
        edge,
    };
    end.connection.transmit(now.0 * tdf, &mut nic);
    if !end.waits && end.connection.is_throttled() {
        if let Some(&(time, _)) = end.below.front() {
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
struct Nic<'a> {
    now: Time,
    /// The peer, and its place.
    to: u32,
    place: u32,
    host: u32,
    route: Route,
    under_way: &'a mut u32,
    below: &'a mut Fifo<(Time, u32)>,
    pool: &'a mut Pool,
    edge: &'a mut Edge<PacketId>,
}

impl Outlet for Nic<'_> {
    #[inline(always)] // with every packet
    fn put(&mut self, fill: impl FnOnce(&mut Segment) -> bool) -> bool {
        let (id, packet) = self.pool.take();
        if !fill(&mut packet.segment) {
            self.pool.free(id);
            return false;
        }
        let payload = u32::from(packet.segment.len);
        let bytes = ETHERNET_AND_IP + packet.segment.header_len() + payload;
        packet.to = self.to;
        packet.place = self.place;
        packet.route = self.route;
        packet.bytes = bytes;
        packet.ce = false;
        *self.under_way += 1;
        let done = self.edge.send(self.now, self.host, bytes, id);
        if payload > 0 {
            self.below.push_back((done, payload));
        }
        true
    }
}
