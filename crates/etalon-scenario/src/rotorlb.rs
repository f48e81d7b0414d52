// SPDX-License-Identifier: MIT OR Apache-2.0
//! RotorLB: hosts keep bulk until a circuit leads to its rack, or have others relay it (Mellette et al., SIGCOMM 2017).

use core::fmt;

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::ndp::Ndp;

/// How hosts share the circuits of a class that is routed so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offers {
    /// Hosts offer what is left of a circuit to packets that a host of another rack relays.
    pub two_hops: bool,
    /// Hosts stop to send so long before a circuit goes; none for what the way of the last packet to its uplink takes.
    #[serde(default, rename = "margin_ns")]
    pub margin: Option<Span>,
}

/// The packets of a flow that RotorLB carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RotorLb {
    /// Bytes of payload in a full packet; none for an MTU less the header.
    #[serde(default, rename = "payload_bytes")]
    pub payload: Option<u16>,
    /// Bytes of a header on the wire, all layers together.
    #[serde(rename = "header_bytes")]
    pub header: u16,
    /// All packets of a flow are as long as its first: the last is filled up.
    pub padded: bool,
}

impl RotorLb {
    /// Bytes of payload in a full packet, where the MTU is this.
    #[must_use]
    pub fn payload(&self, mtu: u16) -> u16 {
        self.payload.unwrap_or(mtu.saturating_sub(self.header))
    }

    pub(crate) fn check(&self, who: fmt::Arguments<'_>, mtu: u16) -> Result<(), ScenarioError> {
        let (payload, header) = (self.payload(mtu), self.header);
        let bytes = u32::from(payload) + u32::from(header);
        ensure!(
            payload > 0 && header > 0 && bytes <= u32::from(mtu) + 14,
            "{who}: packets of {payload} bytes with headers of {header} do not suit an MTU of {mtu}"
        );
        Ok(())
    }
}

impl From<&Ndp> for RotorLb {
    /// NDP's packets, for flows that are too long for NDP.
    fn from(ndp: &Ndp) -> RotorLb {
        RotorLb {
            payload: ndp.payload,
            header: ndp.header,
            padded: ndp.padded,
        }
    }
}
