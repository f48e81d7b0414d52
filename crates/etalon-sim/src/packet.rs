//! Packets in flight, recycled.

use etalon_switch::Pair;
use etalon_tcp::Segment;

/// Ethernet header (14 bytes) and IPv4 header (20 bytes) around a TCP segment.
pub(crate) const ETHERNET_AND_IP: u32 = 34;

/// A packet between two hosts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    pub(crate) segment: Segment,
    /// The receiving endpoint: twice the flow's number, plus one for the flow's server.
    pub(crate) to: u32,
    /// Rack pair that it crosses.
    pub(crate) pair: Pair,
    /// Length on the wire in bytes, Ethernet header included.
    pub(crate) bytes: u32,
    /// CE in the IP header.
    pub(crate) ce: bool,
    /// Identification in the IP header, set where packets are captured.
    pub(crate) ip_id: u16,
}

/// A packet's place in the pool.
pub(crate) type PacketId = u32;

/// All packets in flight. Places are used again, last out first in.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    packets: Vec<Packet>,
    free: Vec<PacketId>,
}

impl Pool {
    #[inline]
    pub(crate) fn insert(&mut self, packet: Packet) -> PacketId {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        self.packets.push(packet);
        (self.packets.len() - 1) as PacketId
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Packet {
        &mut self.packets[id as usize]
    }

    /// The packet's place may be used again.
    #[inline]
    pub(crate) fn free(&mut self, id: PacketId) {
        self.free.push(id);
    }

    /// The largest number of packets that were in flight together.
    pub(crate) fn peak(&self) -> usize {
        self.packets.len()
    }
}
