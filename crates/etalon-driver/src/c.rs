// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet as the kernel's C code describes it.

use crate::{Sent, Socket};

/// A packet that a host sends. What follows TCP's ports has a meaning if its flag is set.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CPacket {
    /// Whatever the kernel knows the packet by.
    pub handle: u64,
    /// The receiving host.
    pub dst: u32,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
    /// Congestion window in packets; with ssthresh and srtt_us, if SOCKET.
    pub cwnd: u32,
    /// Slow start threshold in packets.
    pub ssthresh: u32,
    /// Smoothed round trip time in microseconds.
    pub srtt_us: u32,
    /// TCP's or UDP's source port.
    pub sport: u16,
    /// TCP's or UDP's destination port.
    pub dport: u16,
    /// TCP or UDP payload in bytes.
    pub payload: u16,
    /// The flags below.
    pub flags: u16,
}

etalon_scenario::layout!(CPacket {
    handle,
    dst,
    bytes,
    seq,
    ack,
    cwnd,
    ssthresh,
    srtt_us,
    sport,
    dport,
    payload,
    flags,
});

/// The IP header allows CE.
pub const PACKET_ECT: u16 = 1;
/// It is a TCP segment.
pub const PACKET_TCP: u16 = 2;
/// The sending socket is known.
pub const PACKET_SOCKET: u16 = 4;
/// TCP's SYN flag.
pub const PACKET_SYN: u16 = 8;
/// TCP's FIN flag.
pub const PACKET_FIN: u16 = 16;
/// TCP's RST flag.
pub const PACKET_RST: u16 = 32;
/// It is a datagram of UDP, or a fragment of one. Ports and payload are known.
pub const PACKET_UDP: u16 = 64;

impl From<&CPacket> for Sent {
    #[inline]
    fn from(packet: &CPacket) -> Sent {
        let has = |flag| packet.flags & flag != 0;
        let socket = Socket {
            cwnd: packet.cwnd,
            ssthresh: packet.ssthresh,
            srtt_us: packet.srtt_us,
        };
        Sent {
            handle: packet.handle,
            dst: packet.dst,
            bytes: packet.bytes,
            ect: has(PACKET_ECT),
            tcp: has(PACKET_TCP),
            udp: has(PACKET_UDP),
            syn: has(PACKET_SYN),
            fin: has(PACKET_FIN),
            rst: has(PACKET_RST),
            ports: (packet.sport, packet.dport),
            seq: packet.seq,
            ack: packet.ack,
            payload: packet.payload,
            socket: has(PACKET_SOCKET).then_some(socket),
        }
    }
}
