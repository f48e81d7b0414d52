// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet in a network of circuits, and the ports that it passes.

use etalon_queues::{Classes, PacketId};
use etalon_route::Rest;
use etalon_scenario::{Class, HostId};
use etalon_switch::{DropReason, Packet, Pair, QueueId, Transmission};
use etalon_units::{Pace, Span, Time, Transmitter};

/// No slice yet.
pub(super) const NO_SLICE: u32 = u32::MAX;

/// A packet in the network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Inside<H> {
    pub(super) packet: Packet<H>,
    pub(super) entered: Time,
    /// The slice in which it came to its first ToR switch.
    pub(super) slice: u32,
    /// The port that it passes, or passed last.
    pub(super) over: u32,
    /// The node that it reaches next.
    pub(super) to: u16,
    pub(super) label: u16,
    /// The uplinks that it takes from its next node on, if they are certain.
    pub(super) rest: Rest,
    /// The queue that it left last.
    pub(super) last: QueueId,
    pub(super) class: Class,
    pub(super) hops: u8,
    pub(super) ect: bool,
    pub(super) ce: bool,
    pub(super) trimmed: bool,
    pub(super) has_payload: bool,
    /// It is on its way back to its sender, for this.
    pub(super) returns: Option<DropReason>,
}

impl<H> Inside<H> {
    /// Where it comes from and where it goes to.
    #[inline]
    pub(super) fn ends(&self) -> (HostId, HostId) {
        match self.returns {
            None => (self.packet.src, self.packet.dst),
            Some(_) => (self.packet.dst, self.packet.src),
        }
    }

    /// The racks of the packet as it was sent.
    #[inline]
    pub(super) fn pair(&self) -> Pair {
        self.packet.pair()
    }
}

/// All packets in the network.
pub(super) type Pool<H> = etalon_queues::Pool<Inside<H>>;

/// Where a port is, and where it leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// From a ToR switch to a host.
    ToHost,
    /// From a node to a circuit switch.
    Up { node: u16, uplink: u8 },
    /// From a node to the packet network.
    ToCore,
    /// From the packet network to a rack.
    FromCore(u16),
    /// From a host to its ToR switch.
    FromHost(u16),
}

impl Kind {
    /// The number of the rules for its queue.
    pub(super) const fn rules(self) -> usize {
        match self {
            Kind::Up { .. } => 0,
            Kind::ToHost => 1,
            Kind::ToCore | Kind::FromCore(_) => 2,
            Kind::FromHost(_) => 3,
        }
    }
}

/// What many links have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    pub(super) pace: Pace,
    /// The delay behind the link.
    pub(super) delay: Span,
}

/// A queue with a link behind it. What each packet looks at comes first, in one line of a cache.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Port {
    pub(super) link: Transmitter,
    pub(super) queue: QueueId,
    /// Whose packets come out first of those that come out at one instant: those of the least.
    pub(super) rank: u32,
    /// What it transmits; or has transmitted, until somebody [looks](super::Circuits::is_busy).
    pub(super) sending: Option<Sending>,
    /// The number of its link's wire.
    pub(super) wire: u8,
    /// How many things that it needs have failed.
    pub(super) down: u8,
    pub(super) waiting: Classes,
    /// Bytes that were transmitted, or are: where telemetry is wanted.
    pub(super) sent: u64,
    /// When it asked last to be served, for what its circuit's far end is busy with.
    pub(super) asked: Time,
}

/// A packet in transmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    pub(super) id: PacketId,
    /// Why it will not arrive.
    pub(super) lost: Option<DropReason>,
    /// It goes onto its wire, or is lost, when its transmission ends. If not, it is on its way already.
    pub(super) later: bool,
}

impl Port {
    /// A port that is idle.
    pub(super) fn new(queue: QueueId, wire: u8) -> Port {
        Port {
            link: Transmitter::default(),
            queue,
            rank: 0,
            sending: None,
            wire,
            down: 0,
            waiting: Classes::new(),
            sent: 0,
            asked: Time::ZERO,
        }
    }

    /// What telemetry says of a packet whose transmission is about to start, and that leaves so many bytes in its queue.
    #[inline]
    pub(super) const fn transmission(&self, wire: &Wire, queue: u64) -> Transmission {
        Transmission {
            port: self.queue,
            queue,
            sent: self.sent,
            rate: wire.pace.rate(),
        }
    }
}

/// The circuit of a node's uplink, as its ToR switch knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circuit {
    /// Where it leads; [`NOBODY`] if there is none.
    pub(super) peer: u16,
    /// When light first passes.
    pub(super) from: Time,
    /// When none does any more.
    pub(super) until: Time,
    /// When the last transmission must have ended, by the ToR switch's own clock and guard band.
    pub(super) last: Time,
}

/// No rack.
pub(super) const NOBODY: u16 = u16::MAX;

impl Circuit {
    pub(super) const NONE: Circuit = Circuit {
        peer: NOBODY,
        from: Time::MAX,
        until: Time::ZERO,
        last: Time::ZERO,
    };
}
