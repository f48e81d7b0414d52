// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a log knows of a packet at an edge of the network.

use etalon_scenario::flow_label;

use crate::{HostId, Pair, Record};

/// Says that a packet belongs to none of the experiment's flows, of which a record can number as many.
const NO_FLOW: u32 = MOST_FLOWS;
/// Flows that have a number in records.
pub const MOST_FLOWS: u32 = (1 << 23) - 1;
/// Bits of a length on the wire, above which are 7 of the flow's number and 8 of the subflow's.
const WIRE_BITS: u32 = 17;
const WIRE_BYTES: u32 = (1 << WIRE_BITS) - 1;

/// A packet at an edge of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketHeader {
    /// The sending host: a record has room for 256 in a rack.
    pub src: HostId,
    /// The receiving host.
    pub dst: HostId,
    /// The experiment's flow that it belongs to: the plan's come first, those of programs follow.
    pub flow: Option<u32>,
    /// Which of its flow's subflows, if that is MPTCP's: a record has room for 256.
    pub subflow: u8,
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
    /// Length on the wire in bytes: a record has room for 17 bits.
    pub bytes: u32,
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
}

impl PacketHeader {
    /// Source and destination rack.
    #[must_use]
    #[inline]
    pub fn pair(&self) -> Pair {
        Pair {
            src: self.src.rack(),
            dst: self.dst.rack(),
        }
    }

    /// What tells its flow from others between these hosts; the same of all that is no flow.
    #[must_use]
    #[inline]
    pub fn label(&self) -> u16 {
        self.flow
            .map_or(0, |flow| flow_label(flow, self.subflow, self.to_server))
    }

    /// Fills all of a record but its kind, its time and the upper half of `a`.
    #[inline]
    pub(crate) fn put(self, record: &mut Record) {
        record.src = self.src.rack();
        record.dst = self.dst.rack();
        record.a |= u8::from(self.to_server)
            | u8::from(self.ect) << 1
            | u8::from(self.ce) << 2
            | u8::from(self.ece) << 3;
        record.b = self.payload;
        let [src, dst] = [self.src, self.dst].map(|host| u32::from(host.number() as u8));
        let flow = self.flow.unwrap_or(NO_FLOW);
        record.c = flow & 0xffff | src << 16 | dst << 24;
        debug_assert!(self.bytes <= WIRE_BYTES, "longer than IPv4 allows");
        record.d = self.bytes | (flow >> 16) << WIRE_BITS | u32::from(self.subflow) << 24;
        record.e = u64::from(self.seq) | u64::from(self.ack) << 32;
    }

    #[inline]
    pub(crate) fn get(record: &Record) -> PacketHeader {
        let [low, high, src, dst] = record.c.to_le_bytes();
        let flow =
            u32::from(u16::from_le_bytes([low, high])) | (record.d >> WIRE_BITS & 0x7f) << 16;
        PacketHeader {
            src: HostId::new(record.src, src.into()),
            dst: HostId::new(record.dst, dst.into()),
            flow: (flow != NO_FLOW).then_some(flow),
            subflow: (record.d >> 24) as u8,
            to_server: record.a & 1 != 0,
            ect: record.a & 2 != 0,
            ce: record.a & 4 != 0,
            ece: record.a & 8 != 0,
            payload: record.b,
            bytes: record.d & WIRE_BYTES,
            seq: record.e as u32,
            ack: (record.e >> 32) as u32,
        }
    }
}
