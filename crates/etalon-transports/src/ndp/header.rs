// SPDX-License-Identifier: MIT OR Apache-2.0
//! What NDP sends.

/// What a packet is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Payload for the receiver, or its header alone if it was trimmed.
    #[default]
    Data,
    /// A packet has arrived whole.
    Ack,
    /// A packet has arrived trimmed.
    Nack,
    /// The sender may send.
    Pull,
}

/// A header of NDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// What it is.
    pub kind: Kind,
    /// Data: it is the flow's last packet.
    pub last: bool,
    /// Data: payload in bytes.
    pub len: u16,
    /// Data: its number in the flow, from 0. ACK and NACK: the number of the packet that they answer.
    pub seq: u32,
    /// ACK, NACK, and pull: all packets with smaller numbers have arrived.
    pub cumulative: u32,
    /// ACK, NACK, and pull: how many packets the receiver has pulled by now.
    pub pull: u32,
    /// ACK, NACK, and pull: as `pull`, with the pulls that wait for their turn.
    pub promised: u32,
}

impl Header {
    /// Whether it carries payload.
    #[must_use]
    pub fn is_data(&self) -> bool {
        self.kind == Kind::Data
    }
}
