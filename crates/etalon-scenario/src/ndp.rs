// SPDX-License-Identifier: MIT OR Apache-2.0
//! NDP: senders push a first window, and receivers pull the rest (Handley et al., SIGCOMM 2017).

use core::fmt;

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};

/// NDP's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ndp {
    /// Packets that a sender pushes unasked.
    pub window: u32,
    /// Bytes of payload in a full packet; none for an MTU less the header.
    #[serde(default, rename = "payload_bytes")]
    pub payload: Option<u16>,
    /// Bytes of a header on the wire, all layers together: of a packet without payload, or trimmed.
    #[serde(rename = "header_bytes")]
    pub header: u16,
    /// All packets of a flow are as long as its first: the last is filled up.
    pub padded: bool,
    /// Who spaces pulls.
    pub pacer: Pacer,
    /// Pulls are as far apart as so many bytes on the receiver's link; none for a full packet with its header.
    #[serde(default)]
    pub pull_bytes: Option<u16>,
    /// What entitles a flow to a pull.
    pub pulls: Pulls,
    /// A packet without any answer is sent again after this time; never, if none.
    #[serde(default, rename = "timeout_ns")]
    pub timeout: Option<Span>,
    /// Once a flow has sent all of its packets, it sends trimmed ones again without being asked.
    pub resends_last: bool,
    /// Packets take so many paths in a random order, a new one each round; none for a random path each.
    #[serde(default)]
    pub paths: Option<u16>,
    /// When a flow is complete.
    pub completes: Completes,
}

/// Who spaces pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Pacer {
    /// The receiving host, for all its flows in turn, as in the paper.
    Host,
    /// Each flow for itself.
    Flow,
}

/// What entitles a flow to a pull.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Pulls {
    /// Each packet that arrives, but no more than are missing, once that is known.
    Needed,
    /// Each packet that arrives.
    Each,
}

/// When a flow is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Completes {
    /// When its last byte has arrived.
    Received,
    /// When its sender knows of that.
    Acked,
}

impl Ndp {
    /// Bytes of payload in a full packet, where the MTU is this.
    #[must_use]
    pub fn payload(&self, mtu: u16) -> u16 {
        self.payload.unwrap_or(mtu.saturating_sub(self.header))
    }

    pub(crate) fn check(&self, who: fmt::Arguments<'_>, mtu: u16) -> Result<(), ScenarioError> {
        ensure!(self.window > 0, "{who}: NDP pushes one packet at least");
        ensure!(
            self.pull_bytes != Some(0),
            "{who}: NDP's pulls must be some bytes apart"
        );
        let (payload, header) = (self.payload(mtu), self.header);
        let bytes = u32::from(payload) + u32::from(header);
        ensure!(
            payload > 0 && header > 0 && bytes <= u32::from(mtu) + 14,
            "{who}: packets of {payload} bytes with headers of {header} do not suit an MTU of {mtu}"
        );
        ensure!(
            self.timeout != Some(Span::ZERO) && self.paths != Some(0),
            "{who}: NDP's timeout and paths must not be zero"
        );
        Ok(())
    }
}
