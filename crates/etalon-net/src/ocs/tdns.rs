// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ToR switches tell hosts of TDNs: by pair, a function of the slice.

use alloc::vec::Vec;

use etalon_route::{At, Next};
use etalon_scenario::{Class, Ocs, Slice, Tdns};
use etalon_switch::{Pair, Plane, Sink};
use etalon_units::{Span, Time};

use super::changes::Change;
use super::{Circuits, NO_SLICE};

/// What hosts were told.
#[derive(Debug)]
pub(super) struct Notified {
    tdns: Tdns,
    before: Span,
    /// The slice that they heard of last.
    slice: u32,
    /// By source rack, then by destination rack.
    last: Vec<Plane>,
}

impl Notified {
    /// If hosts of so many racks are told anything.
    pub(super) fn new(config: &Ocs, racks: u16) -> Option<Notified> {
        let notify = config.notify?;
        Some(Notified {
            tdns: config.tdns,
            before: notify.before,
            slice: NO_SLICE,
            last: alloc::vec![Plane::PACKET; usize::from(racks) * usize::from(racks)],
        })
    }
}

impl<H: Copy> Circuits<H> {
    /// A slice begins: hosts hear of the first, and will hear of the next.
    pub(super) fn announce<S: Sink<H>>(&mut self, now: Time, slice: Slice, sink: &mut S) {
        let Some(told) = &self.notified else { return };
        let (before, is_first) = (told.before, told.slice == NO_SLICE);
        if is_first {
            self.tell(now, slice.number, sink);
        }
        if !self.slices.are_static() {
            let heard = Time(slice.end().0.saturating_sub(before.0)).max(now);
            let next = self.slices.after(slice).number;
            self.changes.push(heard, Change::Tell(next));
        }
    }

    /// ToR switches tell hosts of the TDNs of a slice that are others than they were.
    pub(super) fn tell<S: Sink<H>>(&mut self, now: Time, slice: u32, sink: &mut S) {
        let Some(mut told) = self.notified.take() else {
            return;
        };
        told.slice = slice;
        let racks = self.hosts.racks;
        let pairs = (0..racks).flat_map(|src| (0..racks).map(move |dst| Pair { src, dst }));
        for (pair, last) in pairs.zip(&mut told.last) {
            let tdn = match told.tdns {
                _ if pair.src == pair.dst => continue,
                Tdns::One => Plane::PACKET,
                Tdns::Slice => Plane(slice as u8),
                Tdns::Length(longest) => Plane(self.circuits_in_a_row(slice, pair).min(longest)),
            };
            if tdn != *last {
                *last = tdn;
                sink.tdn_changed(now, pair, tdn);
            }
        }
        self.notified = Some(told);
    }

    /// Ways, or circuits that were asked for, are others from now on.
    pub(super) fn tell_again<S: Sink<H>>(&mut self, now: Time, sink: &mut S) {
        let slice = self.notified.as_ref().map(|told| told.slice);
        if let Some(slice) = slice.filter(|&slice| slice != NO_SLICE) {
            self.tell(now, slice, sink);
        }
    }

    /// How many circuits a packet of the first class crosses, on the pair's first path, if it enters in a slice. It is 0 over the packet
    /// network, and where a circuit on the way is not there in this slice.
    fn circuits_in_a_row(&self, slice: u32, pair: Pair) -> u8 {
        let mut at = At {
            entered: slice,
            slice,
            source: pair.src,
            here: pair.src,
            destination: pair.dst,
            hops: 0,
            class: Class::default(),
            label: 0,
        };
        while at.hops < self.config.most_hops {
            let over = |uplink: u8| self.there(slice, at.here, uplink);
            let next = match self.ways.next(&at) {
                Next::Deliver => return at.hops,
                Next::Now(uplink) => over(uplink),
                Next::Await(rack) => {
                    let mut uplinks = 0..self.config.uplinks.len() as u8;
                    let is_lit = |uplink: u8| {
                        let dark = self.slices.dark_after(slice as usize, uplink.into());
                        dark > Span::ZERO
                    };
                    let leads = uplinks.any(|uplink| over(uplink) == Some(rack) && is_lit(uplink));
                    leads.then_some(rack)
                }
                Next::Nowhere => None,
            };
            let Some(next) = next else { break };
            at.here = next;
            at.hops += 1;
        }
        0
    }

    /// Where an uplink leads in a slice, as ToR switches believe; nowhere if that is known to have failed, or is the packet network.
    fn there(&self, slice: u32, node: u16, uplink: u8) -> Option<u16> {
        let switch = usize::from(uplink);
        if switch == self.slices.switches() {
            return None;
        }
        let peer = self.slices.peer(slice as usize, node, switch)?;
        let mut known = self.known.iter();
        let fails = known
            .any(|part| part.stops_sending(node, uplink) || part.stops_receiving(peer, uplink));
        (!fails && peer != node).then_some(peer)
    }
}
