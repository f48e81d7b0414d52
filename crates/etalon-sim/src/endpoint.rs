// SPDX-License-Identifier: MIT OR Apache-2.0
//! One end of a flow: a TCP connection and its place in the network.

use etalon_net::Fifo;
use etalon_tcp::{Connection, cc};
use etalon_units::Time;

use crate::packet::Envelope;

/// No group: the endpoint is none of MPTCP's.
pub(crate) const ALONE: u32 = u32::MAX;

/// How an endpoint comes to know which TDN leads to its peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Follows {
    /// It need not know.
    #[default]
    Nothing,
    /// Its host tells it (push).
    IsTold,
    /// Its host tells its congestion control, and TCP goes on as before.
    InControl,
    /// It is a subflow: MPTCP's scheduler looks.
    AsSubflow,
    // Those that look stand last, so that one comparison tells them from the others.
    /// It looks when it sends or receives (pull).
    Looks,
    /// As above, but only once: it is told what changes later.
    LooksOnce,
}

impl Follows {
    #[inline]
    pub(crate) fn looks(self) -> bool {
        self as u8 >= Follows::Looks as u8
    }
}

/// One end of a flow. Endpoint 2n is the client of flow n, which opens it; endpoint 2n + 1 its server.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) connection: Connection<cc::Any>,
    pub(crate) way: Egress,
    /// When its pending timer event is due, in host time, `u64::MAX` if it has none. The event may be earlier than needed: it is
    /// moved when it comes up, which costs less than moving it with every packet.
    armed: u64,
    /// When it was woken among the timers that shared its last instant: what two armed at one instant was armed in this order.
    pub(crate) turn: u32,
    /// An event for the first packet that is [below](Egress::below) is pending.
    pub(crate) waits: bool,
    /// The flow of MPTCP's that it is a subflow of, by number among these, and which one; or [`ALONE`].
    pub(crate) group: u32,
    pub(crate) subflow: u8,
    /// How it comes to know which network leads to its peer.
    pub(crate) follows: Follows,
}

/// Its way into the network.
#[derive(Debug)]
pub(crate) struct Egress {
    /// Index of the host that it runs on.
    pub(crate) host: u32,
    /// Of its packets, without a length.
    pub(crate) envelope: Envelope,
    /// Data handed to the NIC: when it has left, and its payload (TCP small queues).
    pub(crate) below: Fifo<Departing>,
    /// Packets that it has sent and that are under way; where no flow can end, all that it has sent, modulo 2^32.
    pub(crate) under_way: u32,
}

/// Data handed to the NIC, of which there are as many as packets under way: without padding.
#[derive(Clone, Copy, Debug, Default)]
#[repr(Rust, packed(4))]
pub(crate) struct Departing {
    /// When it has left.
    pub(crate) time: Time,
    /// Its payload in bytes.
    pub(crate) payload: u32,
}

impl Endpoint {
    /// An endpoint with nothing pending.
    pub(crate) fn new(connection: Connection<cc::Any>, host: u32, envelope: Envelope) -> Endpoint {
        Endpoint {
            connection,
            way: Egress {
                host,
                envelope,
                below: Fifo::default(),
                under_way: 0,
            },
            armed: u64::MAX,
            turn: 0,
            waits: false,
            group: ALONE,
            subflow: 0,
            follows: Follows::Nothing,
        }
    }

    /// Sets its timer event for its earliest timer, if it has none that comes as early. Returns when that event is due.
    #[inline(never)] // now and then, where packets are received
    pub(crate) fn arm(&mut self, tdf: u64) -> Option<Time> {
        let time = Time(self.connection.next_timer().div_ceil(tdf));
        let armed = time.0.saturating_mul(tdf);
        (armed < self.armed).then(|| {
            self.armed = armed;
            time
        })
    }

    /// Whether its timer event is due at `host_now`.
    pub(crate) fn is_armed_at(&self, host_now: u64) -> bool {
        self.armed == host_now
    }

    /// Its timer event has come.
    pub(crate) fn disarm(&mut self) {
        self.armed = u64::MAX;
    }

    /// Its earliest timer may be due before its pending event. Divides nothing: it is asked with every packet.
    #[inline]
    pub(crate) fn lacks_timer(&self) -> bool {
        self.connection.has_timer_before(self.armed)
    }
}
