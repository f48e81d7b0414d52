//! What a record says of a packet at an edge of the network.

use etalon_switch::Pair;
use etalon_units::Time;

use super::Record;

/// Says that a packet belongs to none of the experiment's flows.
pub const NO_FLOW: u32 = u32::MAX;

/// What the log knows of a packet at an edge of the network.
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
    #[inline]
    pub(super) fn record(&self, time: Time, kind: u8, high: u8) -> Record {
        Record {
            time,
            kind,
            a: u8::from(self.to_server)
                | u8::from(self.ect) << 1
                | u8::from(self.ce) << 2
                | u8::from(self.ece) << 3
                | high << 4,
            src: self.pair.src,
            dst: self.pair.dst,
            b: self.payload,
            c: self.flow.unwrap_or(NO_FLOW),
            d: self.bytes,
            e: u64::from(self.seq) | u64::from(self.ack) << 32,
        }
    }

    #[inline]
    pub(super) fn of(record: &Record) -> Packet {
        Packet {
            pair: pair(record),
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

#[inline]
pub(super) fn pair(record: &Record) -> Pair {
    Pair {
        src: record.src,
        dst: record.dst,
    }
}
