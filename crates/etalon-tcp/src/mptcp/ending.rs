// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a stream ends (RFC 8684, section 3.3.3): DATA_FIN goes out at once, without data or behind the last of it, and has a place of its own
//! in the stream. Only once both ends have acknowledged the other's do subflows end, as TCP connections do.

use crate::cc::CongestionControl;
use crate::connection::Connection;
use crate::mptcp::Mapping;
use crate::mptcp::subflow::Subflow;
use crate::prediction::Prediction;
use crate::timers::Purpose;

/// Where the streams of a subflow end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ending {
    /// The one that goes out: the application writes no more.
    said: Option<u64>,
    /// The one that comes in, as this subflow has heard.
    pub heard: Option<u64>,
    /// It has heard a mapping.
    pub hears_mappings: bool,
}

impl Ending {
    /// Whether DATA_FIN is the next after the bytes of the stream up to `end`.
    pub fn is_behind(&self, end: u64) -> bool {
        self.said == Some(end)
    }
}

impl Subflow {
    /// DATA_FIN for a segment without data, until it is acknowledged.
    pub(super) fn data_fin(&self) -> Option<Mapping> {
        let end = self.ending.said.filter(|&end| self.acked <= end)?;
        Some(Mapping {
            data_seq: end,
            subflow_seq: 0,
            len: 1,
        })
    }
}

impl<C: CongestionControl> Connection<C> {
    /// The stream that goes out ends at `end`: says so before it sends anything else.
    #[cold]
    pub fn end_stream(&mut self, end: u64) {
        if let Some(subflow) = &mut self.subflow {
            subflow.ending.said = Some(end);
            self.ack_before_data = true;
            self.prediction = Prediction::Open;
            self.await_data_ack();
        }
    }

    /// Whether the other end has acknowledged, by this subflow, that the stream which goes out has ended.
    #[must_use]
    pub fn end_is_acked(&self) -> bool {
        let subflow = self.subflow.as_deref();
        subflow.is_some_and(|subflow| subflow.ending.said.is_some_and(|end| subflow.acked > end))
    }

    /// The other end has acknowledged that, by whichever subflow.
    pub fn end_was_acked(&mut self) {
        if let Some(subflow) = &mut self.subflow {
            let acked = subflow.ending.said.map_or(0, |end| end + 1);
            subflow.acked = subflow.acked.max(acked);
        }
    }

    /// Where the stream ends that comes in, as this subflow has heard.
    #[must_use]
    pub fn end_heard(&self) -> Option<u64> {
        self.subflow.as_deref()?.ending.heard
    }

    /// Whether an ACK is due for what has arrived, read or not.
    #[must_use]
    pub fn acks_before_reading(&self) -> bool {
        self.rcv.acks_before_reading()
    }

    /// What is to be acknowledged of the stream is so at once.
    pub fn acknowledge_stream(&mut self) {
        self.rcv.force_ack();
        self.prediction = Prediction::Open;
    }

    /// DATA_FIN that nothing else waits for goes out again after the shortest timeout, as seen on Linux (a lost one comes again after
    /// 204 ms).
    #[cold]
    pub(crate) fn await_data_ack(&mut self) {
        let subflow = self.subflow.as_deref();
        let waits = subflow.is_some_and(|subflow| subflow.data_fin().is_some());
        if waits
            && self.carries_data()
            && self.all_acked()
            && self.snd.timer.purpose == Purpose::None
        {
            let ticks = self.clock.ticks_for_ns(self.config.min_rto);
            self.snd.timer.set(&self.clock, Purpose::Rto, ticks);
        }
    }

    /// The timer of a subflow has fired. Returns whether that was for DATA_FIN, and so nothing is lost.
    #[cold]
    pub(crate) fn repeats_data_fin(&mut self) -> bool {
        let subflow = self.subflow.as_deref();
        let repeats =
            subflow.is_some_and(|subflow| subflow.data_fin().is_some()) && self.all_acked();
        if repeats {
            self.rcv.force_ack();
            self.await_data_ack();
        }
        repeats
    }
}
