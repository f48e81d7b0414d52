// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP timers that are due at the same time.

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
        let mut due = std::mem::take(&mut self.due_timers);
        let mut next = Some(first);
        while let Some(index) = next {
            if let Some(end) = self.flows.end_if_open(index) {
                match end.connection.next_timer() <= now.0 * self.tdf {
                    true => due.push((end.connection.next_timer_rank(), end.turn, index)),
                    // It was set later meanwhile: nothing comes of it now.
                    false => self.timer(now, index, edge),
                }
            }
            next = self.queue.take_timer_at(now);
        }
        due.sort_unstable_by(|a, b| b.cmp(a));
        for (turn, (_, _, index)) in (1..).zip(due.drain(..)) {
            if let Some(end) = self.flows.end_if_open(index) {
                end.turn = turn;
            }
            self.timer(now, index, edge);
        }
        self.due_timers = due;
    }
}
