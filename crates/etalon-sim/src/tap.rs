// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who looks on: captures and traces.

use etalon_scenario::{Flow, HostId};
use etalon_switch::DropReason;
use etalon_units::Time;

use crate::packet::Packet;

/// Sees packets at the network's edges. Does nothing unless overridden.
pub(crate) trait Tap {
    /// The run is TCP's flows and no more, so that packets are not asked about anything uncommon (`is_plain` in `engine.rs` lists it).
    const PLAIN: bool = false;

    /// The run may have what few have and every packet would have to be asked about: telemetry, or flows whose packets spread over all ways.
    const EXTRAS: bool = false;

    /// An endpoint is woken when the first of the data that it sends has left its host.
    const AWAITS_DEPARTURE: bool = false;

    /// A packet enters the network.
    #[inline]
    fn entered(&mut self, now: Time, packet: &mut Packet) {
        let _ = (now, packet);
    }

    /// A packet leaves the network towards its host.
    #[inline]
    fn left(&mut self, now: Time, packet: &Packet) {
        let _ = (now, packet);
    }

    /// A host hears that network `tdn` leads to the rack `about`.
    #[inline]
    fn notified(&mut self, now: Time, host: HostId, about: u16, tdn: u8) {
        let _ = (now, host, about, tdn);
    }

    /// An application opens a flow beyond those of the plan, or MPTCP such a subflow of it, right after.
    #[inline]
    fn opened(&mut self, flow: &Flow, subflow: u8) {
        let _ = (flow, subflow);
    }

    /// The network drops a packet.
    #[inline]
    fn lost(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        let _ = (now, packet, reason);
    }
}

impl Tap for () {}

/// Looks on at nothing, in a run that is [plain](Tap::PLAIN).
pub(crate) struct Plain;

impl Tap for Plain {
    const PLAIN: bool = true;
}

/// Looks on at nothing, in a run with extras.
pub(crate) struct Extras;

impl Tap for Extras {
    const EXTRAS: bool = true;
}

/// Looks on at nothing, whatever the run may have, and [awaits](Tap::AWAITS_DEPARTURE) the departure of data.
pub(crate) struct Departure;

impl Tap for Departure {
    const EXTRAS: bool = true;
    const AWAITS_DEPARTURE: bool = true;
}
