// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tail loss probe that is in flight (RFC 8985, section 7). When one is sent: `tlp.rs`.

use crate::seq::{after, before};
use crate::tdn_option::PathId;

/// The probe in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LossProbe {
    /// SND.NXT after it was sent (`TLP.end_seq`); none if no probe is in flight.
    pub end: Option<u32>,
    /// It was a retransmission (`TLP.is_retrans`).
    pub retransmitted: bool,
    /// The path on which the probed segment was sent.
    pub path: PathId,
}

impl LossProbe {
    #[inline]
    pub fn is_out(&self) -> bool {
        self.end.is_some()
    }

    /// Whether a DSACK that ends at `end` reports it.
    pub fn ends_at(&self, end: u32) -> bool {
        self.end == Some(end)
    }

    pub fn forget(&mut self) {
        self.end = None;
    }

    /// Section 7.4.2, TLP_process_ack(). Returns whether the probe repaired a loss, which nothing else has told.
    pub fn on_ack(&mut self, ack: u32, pure_duplicate: bool, reported: bool) -> bool {
        let Some(end) = self.end.filter(|&end| !before(ack, end)) else {
            return false;
        };
        // It carried new data, or the receiver had its segment already: nothing was lost.
        if !self.retransmitted || reported {
            self.end = None;
            return false;
        }
        if after(ack, end) {
            return true;
        }
        if pure_duplicate {
            self.end = None;
        }
        false
    }
}
