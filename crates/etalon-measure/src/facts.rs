// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an engine knows of a flow.

/// Counters of a flow since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Bytes that the receiving application has, or could have.
    pub received: u64,
    /// Segments that were sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub rtos: u64,
    /// Tail loss probes.
    pub tlps: u64,
    /// Loss recoveries.
    pub recoveries: u64,
    /// Recoveries and timeouts that were undone because they had been spurious.
    pub undos: u64,
}

impl Counters {
    /// What was added since `then`.
    pub(crate) fn since(&self, then: &Counters) -> Counters {
        Counters {
            received: self.received.saturating_sub(then.received),
            retransmits: self.retransmits.saturating_sub(then.retransmits),
            rtos: self.rtos.saturating_sub(then.rtos),
            tlps: self.tlps.saturating_sub(then.tlps),
            recoveries: self.recoveries.saturating_sub(then.recoveries),
            undos: self.undos.saturating_sub(then.undos),
        }
    }
}

/// What an engine knows of a flow at the end.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowFacts {
    /// Source and destination port.
    pub ports: (u16, u16),
    /// Since the flow started, whatever the warm-up.
    pub counters: Counters,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; none if it was never lowered.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time in virtual nanoseconds; zero without a sample.
    pub srtt_ns: u64,
}
