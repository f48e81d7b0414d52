// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a net needs of the engine that it is in.

use etalon_switch::{Arrival, DropReason, Plane, Transmission};
use etalon_units::Time;

use crate::accounts::Part;
use crate::delivery::Delivery;
use crate::edge::Edge;

/// An engine, as its net sees it: it has the packets that the net knows by handles of type `H`.
pub trait Environment<H> {
    /// A packet reaches its host's ToR switch. What the network needs to know of it.
    fn enter(&mut self, now: Time, handle: H) -> Arrival<H>;

    /// A packet reaches its host. It may answer at once.
    fn deliver(&mut self, delivery: Delivery<H>, edge: &mut Edge<H>);

    /// A packet is no more.
    fn discard(&mut self, now: Time, handle: H, reason: DropReason, edge: &mut Edge<H>);

    /// A packet that the network had no room or no way for is back at its sender. Whoever makes nothing of that has lost it.
    #[inline]
    fn given_back(&mut self, now: Time, handle: H, why: DropReason, edge: &mut Edge<H>) {
        self.discard(now, handle, why, edge);
    }

    /// Whether it wants telemetry, which is kept only then.
    const STAMPS: bool = false;

    /// A packet left a queue on its way: telemetry for whoever [wants it](Environment::STAMPS).
    #[inline]
    fn stamped(&mut self, now: Time, handle: H, from: Transmission) {
        let _ = (now, handle, from);
    }

    /// A slice of time starts, number `slice` from 0: all hosts of a network of circuits hear of it.
    #[inline]
    fn slice(&mut self, now: Time, slice: u64, edge: &mut Edge<H>) {
        let _ = (now, slice, edge);
    }

    /// What a packet carries of a stream of which there is an account; none if nothing.
    fn part(&mut self, handle: H) -> Option<Part>;

    /// A notification reaches `host`: from now on, or soon, network `tdn` leads to the hosts of `rack`.
    fn notified(&mut self, now: Time, host: u32, rack: u16, tdn: Plane, edge: &mut Edge<H>);

    /// The NIC of `host` is done with a packet, and takes the next: for those packets of which this
    /// [was asked](Edge::tell_when_free).
    fn nic_free(&mut self, host: u32, handle: H);
}
