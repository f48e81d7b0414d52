//! One end of a flow: a TCP connection and its place in the network.

use etalon_fabric::Fifo;
use etalon_switch::Pair;
use etalon_tcp::{Connection, cc};
use etalon_units::Time;

/// One end of a flow. Endpoint 2n is the client of flow n, which sends data; endpoint 2n + 1 its server.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) connection: Connection<cc::Any>,
    /// Index of the host that it runs on.
    pub(crate) host: u32,
    /// From this endpoint's rack to its peer's.
    pub(crate) pair: Pair,
    /// When its pending timer event is due, [`Time::MAX`] if it has none. The event may be earlier than needed: it is
    /// moved when it comes up, which costs less than moving it with every packet.
    pub(crate) armed: Time,
    /// Data handed to the NIC: when it has left, and its payload (TCP small queues).
    pub(crate) below: Fifo<(Time, u32)>,
    /// An event for the first of `below` is pending.
    pub(crate) waits: bool,
}

impl Endpoint {
    /// Its earliest timer may be due before its pending event. Divides nothing: it is asked with every packet.
    #[inline]
    pub(crate) fn lacks_timer(&self, tdf: u64) -> bool {
        self.connection.next_timer() < self.armed.0.saturating_mul(tdf)
    }
}

/// Counters of a connection when measurement began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Baseline {
    pub(crate) received: u64,
    pub(crate) retransmits: u64,
    pub(crate) rtos: u64,
    pub(crate) tlps: u64,
    pub(crate) recoveries: u64,
    pub(crate) undos: u64,
}

/// What is known of a flow beyond its endpoints.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Bytes to deliver; `u64::MAX` for bulk.
    pub(crate) bytes: u64,
    /// Sequence number of the stream's first byte.
    pub(crate) first_byte: u32,
    pub(crate) end: Option<Time>,
    /// Payload that left the network, by network.
    pub(crate) payload: [u64; 2],
    /// Highest byte of the stream that left the network.
    pub(crate) highest: u64,
    pub(crate) sequence: crate::sequence::Follower,
    pub(crate) baseline: Baseline,
    /// Integral of cwnd over time, and where it stands.
    pub(crate) cwnd_time: u128,
    pub(crate) cwnd: u32,
    pub(crate) cwnd_since: Time,
}

impl Flow {
    /// A segment of the stream that ends at `end` left the network. Returns the highest byte that did.
    #[inline]
    pub(crate) fn reach(&mut self, end: u32) -> u64 {
        // Unwraps the 32-bit sequence number: it is within 2^31 of the highest one seen.
        let end = end.wrapping_sub(self.first_byte);
        let ahead = end.wrapping_sub(self.highest as u32) as i32;
        if ahead > 0 {
            self.highest += ahead as u64;
        }
        self.highest
    }

    /// The client's window is `cwnd` from now on.
    #[inline]
    pub(crate) fn follow_cwnd(&mut self, now: Time, cwnd: u32) {
        if cwnd != self.cwnd {
            self.cwnd_time += u128::from(self.cwnd) * u128::from((now - self.cwnd_since).0);
            (self.cwnd, self.cwnd_since) = (cwnd, now);
        }
    }
}
