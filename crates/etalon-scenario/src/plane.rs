// SPDX-License-Identifier: MIT OR Apache-2.0
//! The networks between racks, by number.

use serde::{Deserialize, Serialize};

/// One of the networks between racks, by number; [`NetworkKind::planes`](crate::NetworkKind::planes) says what they are called. Also the
/// number of the TDN (SIGCOMM'22) that it is for TCP.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plane(pub u8);

impl Plane {
    /// The packet network, where there is one, or the only network.
    pub const PACKET: Plane = Plane(0);
    /// The first of a reconfigurable network's kinds of circuits.
    pub const CIRCUIT: Plane = Plane(1);

    /// Its place in a list of planes.
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
