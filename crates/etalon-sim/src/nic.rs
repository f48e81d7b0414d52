//! The way from an endpoint into the network.

use etalon_net::{Edge, Fifo};
use etalon_tcp::{Outlet, Segment};
use etalon_units::Time;

use crate::packet::{ETHERNET_AND_IP, PacketId, Pool, Route};

/// Where an endpoint's segments go: as packets to its peer.
pub(crate) struct Nic<'a> {
    pub(crate) now: Time,
    /// The peer, and its place.
    pub(crate) to: u32,
    pub(crate) place: u32,
    pub(crate) host: u32,
    pub(crate) route: Route,
    pub(crate) under_way: &'a mut u32,
    pub(crate) below: &'a mut Fifo<(Time, u32)>,
    pub(crate) pool: &'a mut Pool,
    pub(crate) edge: &'a mut Edge<PacketId>,
}

impl Outlet for Nic<'_> {
    #[inline(always)] // with every packet
    fn put(&mut self, fill: impl FnOnce(&mut Segment) -> bool) -> bool {
        let packet = self.pool.vacant();
        if !fill(&mut packet.segment) {
            return false;
        }
        let payload = u32::from(packet.segment.len);
        let bytes = ETHERNET_AND_IP + packet.segment.header_len() + payload;
        packet.to = self.to;
        packet.place = self.place;
        packet.route = self.route;
        packet.bytes = bytes;
        packet.ce = false;
        let Some(id) = self.pool.take() else {
            return false;
        };
        *self.under_way += 1;
        let done = self.edge.send(self.now, self.host, bytes, id);
        if payload > 0 {
            self.below.push_back((done, payload));
        }
        true
    }
}
