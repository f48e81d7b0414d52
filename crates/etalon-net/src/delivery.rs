// SPDX-License-Identifier: MIT OR Apache-2.0
//! What comes out of the network.

use etalon_switch::Plane;
use etalon_units::Time;

/// A packet that reaches its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<H> {
    /// Which packet.
    pub handle: H,
    /// When.
    pub time: Time,
    /// What carried it.
    pub plane: Plane,
    /// It was marked on its way: CE in its IP header.
    pub ce: bool,
    /// The network marks its TCP header with ECE.
    pub ece: bool,
    /// Only its header has come: the network cut off the rest, for which a queue had no room.
    pub trimmed: bool,
}
