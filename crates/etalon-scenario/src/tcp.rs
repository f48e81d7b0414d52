// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hosts' TCP.

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::Distance;
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
    /// Retransmission timeout before the first sample of the RTT; none for the standard's (RFC 6298).
    #[serde(default, rename = "initial_rto_ns")]
    pub initial_rto: Option<Span>,
    /// Largest congestion window in segments; none for no bound.
    #[serde(default)]
    pub max_cwnd: Option<u32>,
    /// The same four by [`Distance`](crate::Distance), where they differ: within a rack, within a pod, across the core.
    #[serde(default)]
    pub by_distance: Option<[TcpPath; 3]>,
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
    /// What the memory of a socket's send buffer may become.
    pub max_send_buffer_bytes: u32,
    /// Selective acknowledgements (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Senders space their segments.
    pub pacing: bool,
    /// A chunk of segments waits while less of the window is free than this part of it (`tcp_tso_win_divisor`).
    pub tso_win_divisor: u32,
    /// A sender's window shrinks while it is idle (RFC 2861, section 3.1).
    #[serde(default = "decays")]
    pub slow_start_after_idle: bool,
}

fn decays() -> bool {
    true
}

/// What TCP takes for the way to a peer, as in [`Tcp`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TcpPath {
    /// Smallest retransmission timeout.
    #[serde(rename = "min_rto_ns")]
    pub min_rto: Span,
    /// Initial congestion window in segments.
    pub initial_cwnd: u32,
    /// Retransmission timeout before the first sample of the RTT.
    #[serde(default, rename = "initial_rto_ns")]
    pub initial_rto: Option<Span>,
    /// Largest congestion window in segments.
    #[serde(default)]
    pub max_cwnd: Option<u32>,
}

/// Segments of a congestion window that a plan can ask for.
const LARGEST_WINDOW: u32 = 65_535;

impl Tcp {
    /// What it takes for the way to a peer at this distance.
    #[must_use]
    pub fn path(&self, distance: Distance) -> TcpPath {
        let everywhere = TcpPath {
            min_rto: self.min_rto,
            initial_cwnd: self.initial_cwnd,
            initial_rto: self.initial_rto,
            max_cwnd: self.max_cwnd,
        };
        self.by_distance
            .map_or(everywhere, |paths| paths[distance as usize])
    }

    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        ensure!(
            (1..=1_000_000).contains(&self.hz),
            "tcp.hz must lie between 1 and 1000000"
        );
        for distance in [Distance::Rack, Distance::Pod, Distance::Core] {
            let path = self.path(distance);
            for window in [Some(path.initial_cwnd), path.max_cwnd]
                .into_iter()
                .flatten()
            {
                ensure!(
                    (1..=LARGEST_WINDOW).contains(&window),
                    "a window that tcp sets has 1 to {LARGEST_WINDOW} segments, not {window}"
                );
            }
        }
        Ok(())
    }
}
