//! One end of a flow: a TCP connection and its place in the network.

use etalon_net::Fifo;
use etalon_tcp::{Connection, cc};
use etalon_units::Time;

use crate::packet::Route;
use crate::subflows::ALONE;
use crate::tdns::Follows;

/// One end of a flow. Endpoint 2n is the client of flow n, which opens it; endpoint 2n + 1 its server.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) connection: Connection<cc::Any>,
    /// Index of the host that it runs on.
    pub(crate) host: u32,
    /// From this endpoint's host to its peer's.
    pub(crate) route: Route,
    /// When its pending timer event is due, [`Time::MAX`] if it has none. The event may be earlier than needed: it is
    /// moved when it comes up, which costs less than moving it with every packet.
    pub(crate) armed: Time,
    /// The same in host time.
    armed_host: u64,
    /// Data handed to the NIC: when it has left, and its payload (TCP small queues).
    pub(crate) below: Fifo<(Time, u32)>,
    /// An event for the first of `below` is pending.
    pub(crate) waits: bool,
    /// The flow of MPTCP's that it is a subflow of, by number among these, and which one; or [`ALONE`].
    pub(crate) group: u32,
    pub(crate) subflow: u8,
    /// How it comes to know which network leads to its peer.
    pub(crate) follows: Follows,
}

impl Endpoint {
    /// An endpoint with nothing pending.
    pub(crate) fn new(connection: Connection<cc::Any>, host: u32, route: Route) -> Endpoint {
        Endpoint {
            connection,
            host,
            route,
            armed: Time::MAX,
            armed_host: u64::MAX,
            below: Fifo::default(),
            waits: false,
            group: ALONE,
            subflow: 0,
            follows: Follows::Nothing,
        }
    }

    /// Its timer event is due at `time`.
    pub(crate) fn arm(&mut self, time: Time, tdf: u64) {
        self.armed = time;
        self.armed_host = time.0.saturating_mul(tdf);
    }

    /// Its timer event has come.
    pub(crate) fn disarm(&mut self) {
        self.armed = Time::MAX;
        self.armed_host = u64::MAX;
    }

    /// Its earliest timer may be due before its pending event. Divides nothing: it is asked with every packet.
    #[inline]
    pub(crate) fn lacks_timer(&self) -> bool {
        self.connection.next_timer() < self.armed_host
    }
}
