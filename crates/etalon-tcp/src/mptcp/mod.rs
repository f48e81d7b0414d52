// SPDX-License-Identifier: MIT OR Apache-2.0
//! Multipath TCP (RFC 8684): one stream over several connections, its subflows.
//!
//! A subflow is a [`Connection`](crate::Connection) whose payload is [mapped](Mapping) into the stream (`subflow`). What the stream
//! has yet to send, by which subflow, is a [`DataSender`]'s; its order at the other end a [`DataReceiver`]'s. Which subflow gets data
//! is up to the owner of all three, as are their opening and closing.
//!
//! The handshake is Linux's on the wire, but nobody checks it: options say which step they are, their keys and hashes are for who
//! writes them into packets.

use core::fmt;

mod data;
mod ending;
mod held;
mod subflow;

pub use data::{BUFFER, DataReceiver, DataSender, Piece, send_buffer};
pub(crate) use subflow::Subflow;

/// What makes a connection a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mptcp {
    /// Its number, which is the identifier of its address: 0 opens the stream, the others join it.
    pub subflow: u8,
}

/// Bytes of the stream that a subflow carries one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Sequence number of the first in the stream.
    pub data_seq: u64,
    /// The same in the subflow, of which the first byte has number 1.
    pub subflow_seq: u32,
    /// How many, with DATA_FIN, which is the last and in no subflow.
    pub len: u16,
}

/// What the data sequence signal says (DSS, section 3.3): what is in the segment, and what has arrived of the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dss {
    /// The next byte of the stream that is expected (DATA_ACK).
    pub data_ack: u64,
    /// Of which mapping the payload is a part.
    pub mapping: Option<Mapping>,
    /// The keys go with the mapping, for an end that may not have heard the ACK which ended the handshake: on the wire, this is MP_CAPABLE with data
    /// (section 3.1), which acknowledges nothing.
    pub opens: bool,
    /// The stream ends with the mapping (DATA_FIN, section 3.3.3).
    pub ends: bool,
    /// DATA_ACK beside a mapping has eight bytes, not four, as of an end that has heard a mapping itself.
    pub long_ack: bool,
}

/// One of MPTCP's options, of which a segment has one at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MptcpOption {
    /// MP_CAPABLE (section 3.1), in the handshake of subflow 0: SYN, SYN-ACK, and the ACK that ends it.
    Capable,
    /// MP_JOIN (section 3.2), in those of the others.
    Join(u8),
    /// DSS, on all other segments.
    Dss(Dss),
}

impl fmt::Display for MptcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MptcpOption::Capable => f.write_str("capable"),
            MptcpOption::Join(id) => write!(f, "join id {id}"),
            MptcpOption::Dss(dss) => {
                write!(f, "dss ack {}", dss.data_ack)?;
                let Some(m) = &dss.mapping else {
                    return Ok(());
                };
                let (seq, subseq, len) = (m.data_seq, m.subflow_seq, m.len);
                let opens = if dss.opens { " opens" } else { "" };
                let ends = if dss.ends { " fin" } else { "" };
                write!(f, " seq {seq} subseq {subseq} len {len}{opens}{ends}")
            }
        }
    }
}

/// Length of DSS on the wire in bytes, padded, as Linux writes it: with a mapping (four or eight bytes of DATA_ACK), and without (eight).
const DSS_BYTES: u32 = 24;
const LONG_DSS_BYTES: u32 = 28;
const DATA_ACK_BYTES: u32 = 12;

impl MptcpOption {
    /// Its length on the wire in bytes, padded; in a segment with SYN, or ACK, or both.
    #[must_use]
    pub const fn wire_len(&self, syn: bool, ack: bool) -> u32 {
        match (self, syn, ack) {
            (MptcpOption::Capable, true, false) => 4,
            (MptcpOption::Capable, true, true) => 12,
            (MptcpOption::Capable, ..) => 20,
            (MptcpOption::Join(_), true, false) => 12,
            (MptcpOption::Join(_), true, true) => 16,
            (MptcpOption::Join(_), ..) => 24,
            (MptcpOption::Dss(dss), ..) if dss.mapping.is_none() => DATA_ACK_BYTES,
            (MptcpOption::Dss(dss), ..) if dss.long_ack => LONG_DSS_BYTES,
            (MptcpOption::Dss(_), ..) => DSS_BYTES,
        }
    }
}
