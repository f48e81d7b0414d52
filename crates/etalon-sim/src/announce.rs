//! What applications tell of their sending: application data units (Etalon'18, section 5.2).

use etalon_schedule::HostDemand;
use etalon_switch::Pair;
use etalon_units::Time;

/// Hears of every stream that applications write into. A stream is the data that one endpoint sends: number 2n from
/// flow n's client to its server, number 2n + 1 back. Does nothing unless overridden.
pub(crate) trait Announce {
    /// Whether [`carried`](Announce::carried) is to be told.
    const COUNTS: bool = true;

    /// A flow is opened whose client is in rack `pair.src`; flows come in the order of their numbers. A flow's two racks may
    /// be the same one, and then it does not pass the switch.
    #[inline]
    fn opened(&mut self, flow: u32, pair: Pair) {
        let _ = (flow, pair);
    }

    /// An application hands `bytes` to its stack, [`u64::MAX`] for as much as the network takes.
    #[inline]
    fn written(&mut self, now: Time, stream: u32, bytes: u64) {
        let _ = (now, stream, bytes);
    }

    /// The sender of a stream shuts it down, or its flow is killed: what is left of it will not be sent, if `killed`.
    #[inline]
    fn closed(&mut self, now: Time, stream: u32, killed: bool) {
        let _ = (now, stream, killed);
    }

    /// A part of a stream leaves its VOQ: `len` bytes from `offset`, which is counted from the stream's first byte, modulo
    /// 2^32. The same bytes may come again.
    #[inline]
    fn carried(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        let _ = (now, stream, offset, len);
    }

    /// A part of a stream leaves the network, told as in [`carried`](Announce::carried).
    #[inline]
    fn delivered(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        let _ = (now, stream, offset, len);
    }

    /// What it makes of it: demand, if it is known from hosts.
    fn demand(&mut self) -> Option<&mut HostDemand> {
        None
    }
}

/// Demand is not known from hosts.
impl Announce for () {
    const COUNTS: bool = false;
}

impl Announce for HostDemand {
    fn opened(&mut self, _flow: u32, pair: Pair) {
        self.open_flow(pair);
    }

    fn written(&mut self, now: Time, stream: u32, bytes: u64) {
        HostDemand::written(self, now, stream, bytes);
    }

    fn closed(&mut self, now: Time, stream: u32, killed: bool) {
        // What was written before an orderly close is sent all the same.
        if killed {
            self.killed(now, stream);
        }
    }

    #[inline]
    fn carried(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        HostDemand::carried(self, now, stream, offset, len);
    }

    #[inline]
    fn delivered(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        HostDemand::delivered(self, now, stream, offset, len);
    }

    fn demand(&mut self) -> Option<&mut HostDemand> {
        Some(self)
    }
}
