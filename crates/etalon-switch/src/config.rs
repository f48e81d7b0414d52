//! What a switch is built from.

use alloc::vec::Vec;

use etalon_units::{Rate, Span};

use crate::Pair;

/// The names of the hybrid's planes, by number.
pub const PLANES: [&str; 2] = ["packet", "circuit"];

/// Everything that a switch needs to know, except its schedule.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of racks, each with one ToR switch.
    pub racks: u16,
    /// The packet network.
    pub packet: PacketNetwork,
    /// The circuit network.
    pub circuit: CircuitNetwork,
    /// The VOQs of every rack pair.
    pub voq: VoqConfig,
    /// Marks CE above a threshold (DCTCP), if set.
    pub marking: Option<Marking>,
    /// Marks ECE on every packet from D to S while a circuit S -> D is up or starts within this time (reTCP, NSDI'20
    /// section 5.3), if set.
    pub ece_in_advance: Option<Span>,
}

/// The packet network: an uplink and a downlink per rack around one switch with small internal queues.
#[derive(Clone, Copy, Debug)]
pub struct PacketNetwork {
    /// Rate of each uplink and of each downlink.
    pub rate: Rate,
    /// Propagation delay of an uplink (ToR to packet switch).
    pub up_delay: Span,
    /// Propagation delay of a downlink (packet switch to ToR).
    pub down_delay: Span,
    /// Capacity in packets of the internal queue of each (input, output).
    pub internal_queue: u32,
    /// Capacity in packets of the hold at each VOQ, for packets that found their internal queue full. Stands for PFC.
    pub hold_queue: u32,
}

/// The circuit network: a crossbar without queues.
#[derive(Clone, Copy, Debug)]
pub struct CircuitNetwork {
    /// Rate of a circuit.
    pub rate: Rate,
    /// Propagation delay of a circuit, ToR to ToR.
    pub delay: Span,
}

/// Capacities of the VOQs, in packets. A packet in transmission does not count.
#[derive(Clone, Debug)]
pub struct VoqConfig {
    /// Capacity of a VOQ (the small one, where VOQs are resized).
    pub packets: u32,
    /// Dynamic resizing: resize(s, b, tau) of NSDI'20 section 5.2, s being `packets`.
    pub resize: Option<Resize>,
    /// Pairs with a capacity of their own instead of `packets`.
    pub pairs: Vec<(Pair, u32)>,
}

/// Dynamic VOQ resizing.
#[derive(Clone, Copy, Debug)]
pub struct Resize {
    /// The big capacity b, in packets.
    pub packets: u32,
    /// How long before the start of the pair's day the VOQ grows (tau).
    pub in_advance: Span,
}

/// ECN marking: a packet is marked CE if, with it, the VOQ is longer than the threshold.
#[derive(Clone, Copy, Debug)]
pub struct Marking {
    /// Threshold in packets while the VOQ has its ordinary capacity.
    pub threshold: u32,
    /// Threshold in packets while the VOQ has its big capacity.
    pub threshold_big: u32,
}
