//! What a log knows of a packet at an edge of the network.

use crate::{Pair, Record};

/// Says that a packet belongs to none of the experiment's flows.
const NO_FLOW: u32 = u32::MAX;

/// A packet at an edge of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Source and destination rack.
    pub pair: Pair,
    /// The experiment's flow that it belongs to.
    pub flow: Option<u32>,
    /// From the flow's client to its server.
    pub to_server: bool,
    /// The sender is ECN-capable.
    pub ect: bool,
    /// The network marked it: CE in the IP header.
    pub ce: bool,
    /// The network marked it: ECE in the TCP header.
    pub ece: bool,
    /// TCP payload in bytes.
    pub payload: u16,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
}

impl Packet {
    /// Fills all of a record but its kind, its time and the upper half of `a`.
    #[inline]
    pub(crate) fn put(self, record: &mut Record) {
        record.src = self.pair.src;
        record.dst = self.pair.dst;
        record.a |= u8::from(self.to_server)
            | u8::from(self.ect) << 1
            | u8::from(self.ce) << 2
            | u8::from(self.ece) << 3;
        record.b = self.payload;
        record.c = self.flow.unwrap_or(NO_FLOW);
        record.d = self.bytes;
        record.e = u64::from(self.seq) | u64::from(self.ack) << 32;
    }

    #[inline]
    pub(crate) fn get(record: &Record) -> Packet {
        Packet {
            pair: Pair {
                src: record.src,
                dst: record.dst,
            },
            flow: (record.c != NO_FLOW).then_some(record.c),
            to_server: record.a & 1 != 0,
            ect: record.a & 2 != 0,
            ce: record.a & 4 != 0,
            ece: record.a & 8 != 0,
            payload: record.b,
            bytes: record.d,
            seq: record.e as u32,
            ack: (record.e >> 32) as u32,
        }
    }
}
