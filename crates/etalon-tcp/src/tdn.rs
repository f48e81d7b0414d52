//! Connections that change between paths, and what TDTCP asks of a sender beyond a state for each of them (SIGCOMM'22, sections 3
//! and 4): which RTT timers take, which losses wait, what a change does.

use std::sync::Arc;

use crate::cc::CongestionControl;
use crate::connection::Connection;
use crate::path::{Path, PathId};
use crate::prediction::Outlook;
use crate::segment::Segment;
use crate::tdtcp::TdnOption;

/// Paths of which what every ACK asks for takes no memory of its own.
const FEW: usize = 8;

/// How long after it was sent a segment of each path may still arrive, in microseconds.
pub(crate) struct Patience {
    few: [u32; FEW],
    /// That of the paths after these.
    more: Vec<u32>,
}

impl Patience {
    #[inline]
    pub fn of(&self, path: PathId) -> u32 {
        let path = usize::from(path);
        match self.few.get(path) {
            Some(&patience) => patience,
            None => self.more[path - FEW],
        }
    }
}

impl<C: CongestionControl> Connection<C> {
    /// More paths, with congestion controls of their own that begin as these are. They are numbered from 1: the first path is 0.
    /// What is sent goes over path 0 until [`on_tdn`](Connection::on_tdn) names another. Their state is made when they are first named.
    ///
    /// # Panics
    ///
    /// If they are more than 255.
    pub fn add_paths(&mut self, controls: Arc<[C]>) {
        self.outlook.surprise();
        for cc in controls.iter() {
            self.paced |= cc.wants_pacing();
            self.rcv.dctcp |= cc.wants_dctcp_feedback();
            self.reads_ece |= cc.reads_ece_without_ecn();
        }
        self.paths.add(&self.config, controls);
    }

    /// The network has changed: what is sent from `now` on goes over path `id`, with its window, congestion control, RTT and
    /// state of recovery. A path that was not added changes nothing.
    pub fn on_tdn(&mut self, now: u64, id: PathId)
    where
        C: Clone,
    {
        if id == self.paths.active.id {
            return;
        }
        // What waits for its pacing time is asked for again: that may be now.
        self.clock.advance(now);
        self.outlook.surprise();
        if self.paced {
            self.outlook = Outlook::Open;
        }
        // An episode that has ended meanwhile is over.
        self.recover_parked();
        let (nxt, active) = (self.snd.nxt, &self.paths.active);
        let keep = !active.is_new() || self.snd.board.names(active.id);
        if !(self.paths).activate(&self.config, &self.clock, nxt, id, keep) {
            return;
        }
        self.outlook = Outlook::Open;
        if self.config.tdtcp.is_some() {
            self.come_back();
        }
    }

    /// The active path has just become so. For its congestion control no time has passed since it was left; what it sends first
    /// may be paced.
    fn come_back(&mut self) {
        let path = &mut self.paths.active;
        let away = self.clock.now.saturating_sub(path.left);
        path.cc.on_restart(&mut path.window, self.clock.now, away);
        path.last_sent_ns = (path.last_sent_ns + away).min(self.clock.now);
        self.mix_rtts();
        if self.config.tdtcp.is_some_and(|tdtcp| tdtcp.pace_burst) {
            self.paths.pace_burst(self.clock.now);
            self.paced = true;
        }
    }

    /// Whether segments are paced now; the first round trip of a path may be over.
    pub(crate) fn still_paced(&mut self) -> bool {
        let burst = self.paths.burst_until();
        if burst == 0 || self.clock.now < burst {
            return true;
        }
        self.end_burst_pacing();
        self.paced
    }

    /// Only what is paced anyway is paced from now on.
    pub(crate) fn end_burst_pacing(&mut self) {
        self.paths.end_burst();
        self.set_pacing(self.config.pacing);
    }

    /// A segment that carries an acknowledgement says by which TDN.
    #[cold]
    pub(crate) fn hear_tdns(&mut self, segment: &Segment) {
        self.paths.set_ack_path(match segment.tdn {
            Some(TdnOption::DataAck(tdns)) => tdns.ack,
            _ => None,
        });
    }

    /// Whether echoed timestamps show the active path's RTT: they do not say by which path the ACK came.
    pub(crate) fn echoes_tell_the_rtt(&self) -> bool {
        self.config.tdtcp.is_none() || !self.paths.are_several()
    }

    /// Whether losses of other paths than the ACK's wait longer.
    #[inline]
    pub(crate) fn is_relaxed(&self) -> bool {
        self.config.tdtcp.is_some_and(|tdtcp| tdtcp.relaxed)
    }

    /// How long segments of each path are waited for: an RTT, but where the ACK came by
    /// another path that of its own path and the slowest counts, too (section 3.4).
    #[cold]
    pub(crate) fn relaxed_patience(&self) -> Patience {
        let told_by = self.paths.ack_path().unwrap_or(self.rack.path);
        let last = self.paths.iter().map(Path::id).max().unwrap_or(0);
        let patience = |id| match id == told_by || !self.paths.are_several() {
            true => self.rack.rtt,
            false => self.rack.rtt.max(self.paths.mixed_rtt(id)),
        };
        let few = core::array::from_fn(|id| {
            if id <= last.into() {
                patience(id as PathId)
            } else {
                0
            }
        });
        let more = (FEW as PathId..=last).map(patience).collect();
        Patience { few, more }
    }

    /// Timers follow half of the active path's RTT and half of the slowest path's, since ACKs may come by that, and the greatest
    /// variance of any (section 4.4). A path whose RTT is not known keeps the initial timeout.
    #[cold]
    pub(crate) fn mix_rtts(&mut self) {
        if !self.paths.are_several() || self.paths.active.rtt.srtt() == 0 {
            return;
        }
        let variances = self.paths.iter().map(|path| path.rtt.rttvar);
        let variance = variances.max().unwrap_or(0);
        let rtt = self.paths.mixed_rtt(self.paths.active.id);
        let timeouts = self.snd.timeouts;
        let active = &mut self.paths.active;
        active
            .rtt
            .time_by(&self.clock, &self.config, rtt, variance, timeouts);
    }

    /// Recomputes all counters of segments from the records of what is outstanding: for tests.
    ///
    /// # Panics
    ///
    /// If one differs.
    pub fn check_counters(&self) {
        self.snd.board.check(&self.paths, self.snd.sack);
    }
}
