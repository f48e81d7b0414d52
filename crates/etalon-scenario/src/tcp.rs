//! The hosts' TCP.

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};

/// The hosts' TCP. Times are those of the hosts' clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tcp {
    /// Timer ticks a second.
    pub hz: u32,
    /// Smallest retransmission timeout.
    #[serde(rename = "min_rto_ns")]
    pub min_rto: Span,
    /// Initial congestion window in segments.
    pub initial_cwnd: u32,
    /// Shortest delay of an acknowledgement.
    #[serde(rename = "min_delayed_ack_ns")]
    pub min_delayed_ack: Span,
    /// Longest delay of an acknowledgement.
    #[serde(rename = "max_delayed_ack_ns")]
    pub max_delayed_ack: Span,
    /// Receive buffer at first, in bytes of data.
    pub receive_buffer_bytes: u32,
    /// What autotuning lets the receive buffer grow to, in bytes of data.
    pub max_receive_buffer_bytes: u32,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Senders space their segments.
    pub pacing: bool,
}

impl Tcp {
    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        ensure!(
            (1..=1_000_000).contains(&self.hz),
            "tcp.hz must lie between 1 and 1000000"
        );
        Ok(())
    }
}
