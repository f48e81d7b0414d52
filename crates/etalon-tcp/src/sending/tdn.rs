// SPDX-License-Identifier: MIT OR Apache-2.0
//! What TDTCP asks of a sender beyond a state for each path (SIGCOMM'22, sections 3 and 4): which RTT timers take, which losses wait, what a change does.

use crate::Config;
use crate::cc::CongestionControl;
use crate::segment::Segment;
use crate::sending::Sender;
use crate::sending::path::Path;
use crate::tdn_option::{PathId, TdnOption};
use crate::timers::Clock;

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

impl<C: CongestionControl> Sender<C> {
    /// The active path has just become so. For its congestion control no time has passed since it was left; what it sends first
    /// may be paced.
    pub(crate) fn come_back(&mut self, clock: &Clock, config: &Config) {
        let path = &mut self.paths.active;
        let away = clock.now.saturating_sub(path.left);
        path.cc.on_restart(&mut path.window, clock.now, away);
        path.last_sent_ns = (path.last_sent_ns + away).min(clock.now);
        self.mix_rtts(clock, config);
        if config.tdtcp.is_some_and(|tdtcp| tdtcp.pace_burst) {
            self.paths.pace_burst(clock.now);
            self.paced = true;
        }
    }

    /// Whether what a path sends first was paced until now.
    pub(crate) fn burst_is_over(&self, clock: &Clock) -> bool {
        let until = self.paths.burst_until();
        until != 0 && clock.now >= until
    }

    /// Only what is paced anyway is paced from now on.
    pub(crate) fn end_burst_pacing(&mut self, config: &Config) {
        self.paths.end_burst();
        self.choose_pacing(config);
    }

    /// A segment that carries an acknowledgement says by which TDN.
    #[cold]
    pub(crate) fn hear_tdns(&mut self, segment: &Segment) {
        self.paths.set_ack_path(match segment.tdn {
            Some(TdnOption::DataAck(tdns)) => tdns.ack,
            _ => None,
        });
    }

    /// Whether the timestamp that an ACK echoes shows the active path's RTT: it does not say by which path the segment went, so there may be
    /// but one at this end, and at the other, which names in ACKs what it uses.
    pub(crate) fn echoes_tell_the_rtt(&self, config: &Config) -> bool {
        config.tdtcp.is_none() || !self.paths.are_several() && !self.paths.ack_is_anothers()
    }

    /// Whether losses of other paths than the ACK's wait longer.
    #[inline]
    pub(crate) fn is_relaxed(&self, config: &Config) -> bool {
        config.tdtcp.is_some_and(|tdtcp| tdtcp.relaxed)
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
    /// variance of any (section 4.4). While the active path's RTT is not known its timeout is the initial one, and its loss probe, which
    /// costs a segment at most, takes the slowest path's RTT.
    #[cold]
    pub(crate) fn mix_rtts(&mut self, clock: &Clock, config: &Config) {
        if !self.paths.are_several() {
            return;
        }
        let variances = self.paths.iter().map(|path| path.rtt.rttvar);
        let variance = variances.max().unwrap_or(0);
        let (rtt, backoffs) = (self.paths.timed_by(), self.paths.backoffs());
        let active = &mut self.paths.active;
        active.rtt.time_by(clock, config, rtt, variance, backoffs);
    }
}

#[cfg(test)]
mod tests {
    use crate::cc::Any;
    use crate::segment::Flags;
    use crate::sending::alone::{Alone, MS};
    use crate::tdn_option::PathId;

    /// Ten segments on path 0 and then ten on path 1.
    fn sent_on_two() -> Alone {
        let mut alone = Alone::with_data("reno");
        let control = Any::by_name("reno", &[]).expect("a control");
        alone.snd.paths.add(&alone.config, [control].into());
        assert_eq!(alone.send().len(), 10);
        alone.clock.advance(alone.clock.now + 5 * MS);
        change(&mut alone, 1);
        assert_eq!(alone.send().len(), 10);
        alone
    }

    fn change(alone: &mut Alone, id: PathId) {
        let (config, clock, snd) = (&alone.config, &alone.clock, &mut alone.snd);
        assert!(snd.paths.activate(config, clock, snd.nxt, id, true));
    }

    /// So on the Linux engine.
    #[test]
    fn a_dsack_counts_once_something_of_the_path_in_use_is_delivered() {
        let mut alone = sent_on_two();
        alone.snd.rack.reordering.seen = true;
        alone.snd.rack.note_dsack();
        alone.ack(5 * MS, 5, &[], Flags(0));
        assert!(alone.snd.rack.dsack, "path 0 has been left");
        alone.ack(5 * MS, 11, &[], Flags(0));
        assert!(!alone.snd.rack.dsack);
    }
}
