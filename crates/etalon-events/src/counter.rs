// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted of flows.

use crate::place::numbered;

numbered! {
    /// What a kernel counts of each flow.
    pub enum Counter {
        /// Bytes that the receiving application was given.
        Received,
        /// Segments sent again.
        Retransmits,
        /// Retransmission timeouts.
        Rtos,
        /// Tail loss probes.
        Tlps,
        /// Times that fast recovery began.
        Recoveries,
        /// Times that a window reduction was undone.
        Undos,
        /// Congestion window in packets.
        Cwnd,
        /// Slow start threshold in packets.
        Ssthresh,
        /// Smoothed round trip time in microseconds of host time.
        Srtt,
    }
}
