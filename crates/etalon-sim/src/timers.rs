// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP timers that are due at the same time.

use std::cmp::Reverse;

use etalon_net::Edge;
use etalon_units::Time;

use crate::packet::PacketId;
use crate::tap::Tap;
use crate::world::World;

impl<T: Tap> World<'_, '_, T> {
    /// TCP timers that share an instant, this endpoint's first in the queue. All hosts are of one kernel: its order is that of their ranks,
    /// and the reverse of that in which they were armed if that was at one instant, too.
    #[inline(never)] // few instants have two
    pub(crate) fn timers(&mut self, now: Time, first: u32, edge: &mut Edge<PacketId>) {
        let mut due = vec![first];
        due.extend(std::iter::from_fn(|| self.queue.take_timer_at(now)));
        due.sort_by_cached_key(|&index| {
            let end = self.flows.end_if_open(index);
            Reverse(end.map(|end| (end.connection.next_timer_rank(), end.turn, index)))
        });
        for (turn, &index) in (1..).zip(&due) {
            if let Some(end) = self.flows.end_if_open(index) {
                end.turn = turn;
            }
            self.timer(now, index, edge);
        }
    }
}
