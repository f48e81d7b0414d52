// SPDX-License-Identifier: MIT OR Apache-2.0
//! Numbers of paths, and the option of TDTCP that names them (SIGCOMM'22, section 4.3).

/// Number of a path, from 0.
pub type PathId = u8;

/// The option TD_DATA_ACK: by which TDN a segment's data travels, and by which its acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TdDataAck {
    /// The TDN of its data, if it has any.
    pub data: Option<PathId>,
    /// The TDN of its acknowledgement.
    pub ack: Option<PathId>,
}

/// Length of TD_DATA_ACK on the wire in bytes (figure 5c prints 16 and draws 8).
pub(crate) const DATA_ACK_BYTES: u32 = 8;

/// TDTCP's option, of which a segment has one at most (figures 5b and 5c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TdnOption {
    /// TD_CAPABLE, on a SYN: the number of TDNs that is offered or agreed on.
    Capable(u8),
    /// TD_DATA_ACK, on all others.
    DataAck(TdDataAck),
}

impl TdnOption {
    /// Its length on the wire in bytes.
    #[must_use]
    pub const fn wire_len(&self) -> u32 {
        match self {
            TdnOption::Capable(_) => 4,
            TdnOption::DataAck(_) => DATA_ACK_BYTES,
        }
    }
}
