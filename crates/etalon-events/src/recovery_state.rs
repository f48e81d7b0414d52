// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sender's loss recovery is in the middle of.

use crate::place::numbered;

numbered! {
    /// The state of loss recovery: the five that Linux tells (`TCP_CA_*`), in its order, by the names that `ss` prints.
    #[derive(Default)]
    pub enum RecoveryState {
        /// Nothing is amiss.
        #[default]
        Open,
        /// Duplicate ACKs or SACKs have come, and nothing is deemed lost yet (RFC 3042).
        Disorder,
        /// The window is being reduced because of ECE (RFC 3168, section 6.1.2).
        Cwr,
        /// Fast recovery (RFC 6675).
        Recovery,
        /// A retransmission timeout, and what it deemed lost is not yet acknowledged (RFC 6298, section 5).
        Loss,
    }
}

impl RecoveryState {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            RecoveryState::Open => "open",
            RecoveryState::Disorder => "disorder",
            RecoveryState::Cwr => "cwr",
            RecoveryState::Recovery => "recovery",
            RecoveryState::Loss => "loss",
        }
    }
}
