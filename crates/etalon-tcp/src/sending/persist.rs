// SPDX-License-Identifier: MIT OR Apache-2.0
//! The persist timer and its window probes: the peer's window is all that holds data back (RFC 9293, section 3.8.6.1).

use crate::Config;
use crate::cc::CongestionControl;
use crate::sending::output::{Limits, Transmission};
use crate::sending::{Forced, Sender};
use crate::timers::{Clock, Purpose};

impl<C: CongestionControl> Sender<C> {
    /// Sets the timer, if nothing is outstanding and something waits.
    #[inline]
    pub(crate) fn check_persist(&mut self, clock: &Clock, config: &Config, mss: u32) {
        if self.board.is_empty() && self.has_unsent() {
            self.set_persist(clock, config, mss);
        } else if self.timer.purpose == Purpose::Persist {
            self.timer.clear();
        }
    }

    /// The peer has told its window while nothing is outstanding. A window that lets a segment go ends the probing, and its back-off. Any other
    /// puts the next probe off, unless it came with data in order (seen on Linux).
    pub(crate) fn window_heard(
        &mut self,
        clock: &Clock,
        config: &Config,
        mss: u32,
        in_order: bool,
    ) {
        if self.next_len_of(config, mss, self.fin).is_some() {
            self.persist_backoff = 0;
        }
        if self.timer.purpose == Purpose::Persist && !in_order {
            self.timer.clear();
        }
        self.check_persist(clock, config, mss);
    }

    fn set_persist(&mut self, clock: &Clock, config: &Config, mss: u32) {
        let blocked = self.next_len_of(config, mss, self.fin).is_none();
        if blocked && self.timer.purpose == Purpose::None {
            let [least, most] = [config.min_rto, config.max_rto].map(|ns| clock.ticks_for_ns(ns));
            let base = self.paths.active.rtt.rto_ticks().max(least);
            let ticks = (base << self.persist_backoff.min(16)).min(most);
            self.timer.set(clock, Purpose::Persist, ticks);
        } else if !blocked && self.timer.purpose == Purpose::Persist {
            self.timer.clear();
        }
    }

    /// The persist timer fired.
    pub(crate) fn on_persist_timer(&mut self) {
        if !self.board.is_empty() || !self.has_unsent() {
            return;
        }
        self.persist_backoff = self.persist_backoff.saturating_add(1);
        self.forced = Some(Forced::WindowProbe);
    }

    /// A probe with data, if the window is open by now. If not, an old sequence number has to draw an ACK.
    pub(crate) fn window_probe(
        &mut self,
        clock: &Clock,
        config: &Config,
        limits: Limits,
    ) -> Option<Transmission> {
        self.stats.window_probes += 1;
        let room = self.window_end().wrapping_sub(self.nxt);
        if self.window == 0 || (room as i32) <= 0 {
            return None;
        }
        self.paths.active.restart_after_idle(clock, config);
        self.fill_buffer(limits);
        let len = u64::from(room.min(self.mss)).min(self.pending);
        Some(self.new_transmission(clock, limits.within_mapping(len as u32), limits))
    }
}
