// SPDX-License-Identifier: MIT OR Apache-2.0
//! reTCP's signal (NSDI'20 section 5.3): ECE on what comes from a rack to which a circuit leads, or will soon.

use alloc::vec::Vec;

use etalon_scenario::{HostId, Ocs, Slice};
use etalon_units::{Span, Time};

use super::Circuits;
use super::changes::Change;

/// Circuits that are near.
#[derive(Debug)]
pub(super) struct Near {
    before: Span,
    /// The slice that comes near next.
    next: Slice,
    racks: usize,
    /// By source rack, then by destination rack: circuits of slices that are near and have not ended.
    circuits: Vec<u32>,
}

impl Near {
    /// If the network has the signal.
    pub(super) fn new(config: &Ocs, racks: u16, first: Slice) -> Option<Near> {
        let racks = usize::from(racks);
        Some(Near {
            before: config.ece_in_advance?,
            next: first,
            racks,
            circuits: alloc::vec![0; racks * racks],
        })
    }

    /// Whether a packet from the host of one rack to that of another has ECE: for a circuit the other way.
    #[inline]
    pub(super) fn marks(&self, src: HostId, dst: HostId) -> bool {
        let place = usize::from(dst.rack()) * self.racks + usize::from(src.rack());
        self.circuits[place] > 0
    }
}

impl<H: Copy> Circuits<H> {
    /// A slice comes near.
    pub(super) fn come_near(&mut self, now: Time) {
        let Some(near) = &mut self.near else { return };
        let slice = near.next;
        near.next = self.slices.after(slice);
        let next = near.next.start.0.saturating_sub(near.before.0);
        self.count_circuits(slice.number, 1);
        if !self.slices.are_static() {
            self.changes.push(slice.end(), Change::Past(slice.number));
            self.changes.push(Time(next).max(now), Change::Near);
        }
    }

    /// A slice is over.
    pub(super) fn is_past(&mut self, slice: u32) {
        self.count_circuits(slice, u32::MAX); // one less
    }

    fn count_circuits(&mut self, slice: u32, more: u32) {
        let Some(near) = &mut self.near else { return };
        let racks = near.racks as u16;
        for rack in 0..racks {
            for switch in 0..self.slices.switches() {
                let peer = self.slices.peer(slice as usize, rack, switch);
                if let Some(peer) = peer.filter(|&peer| peer < racks && peer != rack) {
                    let place = usize::from(rack) * near.racks + usize::from(peer);
                    near.circuits[place] = near.circuits[place].wrapping_add(more);
                }
            }
        }
    }
}
