// SPDX-License-Identifier: MIT OR Apache-2.0
//! The paths of a connection in a time-division network, one for each network that it has been on
//! ([`Connection::add_paths`](crate::Connection::add_paths)): one is active, the others are parked. Plain TCP has one and pays a test for
//! the others where it asks for them. A path on which nothing was sent has nothing to park: the end of a connection that only receives
//! has no more than its handshake's.

use crate::Config;
use crate::cc::CongestionControl;
use crate::sending::path::Path;
use crate::sending::rtt::Rtt;
use crate::tdn_option::PathId;
use crate::timers::Clock;
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(crate) struct Paths<C> {
    pub active: Path<C>,
    parked: Option<Box<Parked<C>>>,
}

#[derive(Clone, Debug)]
struct Parked<C> {
    paths: Box<[Path<C>]>,
    /// The congestion controls of path 1 and of those after it in their first state, which connections share.
    controls: Arc<[C]>,
    /// Another path than the first has been heard of.
    are_several: bool,
    /// When the active path became so, in microseconds.
    since: u64,
    /// Of TDTCP's switches: RTT samples count whichever way data and ACK went; a window limits what is in flight on all paths.
    all_rtts: bool,
    shared_pipe: bool,
    /// The path by which the ACK came that is being taken, if it says so.
    ack_path: Option<PathId>,
    /// Until when the active path's first segments are paced, in nanoseconds; 0 if they are not.
    burst_until: u64,
    /// How often the timeout was doubled since the last RTT sample.
    backoffs: u8,
}

impl<C> Parked<C> {
    /// Whether the round-trip time of a segment sent at `sent` on path `id` and acknowledged now is one of the path `active`:
    /// data and ACK went by it, and no change of paths came between.
    fn times(&self, active: PathId, sent: u64, id: PathId) -> bool {
        if self.all_rtts {
            return true;
        }
        sent >= self.since && id == active && !self.came_by_another(active)
    }

    /// Whether the ACK came by another path than `active`, where that counts.
    fn came_by_another(&self, active: PathId) -> bool {
        !self.all_rtts && self.ack_path.is_some_and(|path| path != active)
    }
}

impl<C> Paths<C> {
    /// The path with this number, which exists.
    #[inline]
    pub fn of(&mut self, id: PathId) -> &mut Path<C> {
        if id == self.active.id {
            return &mut self.active;
        }
        let parked = self.parked.iter_mut().flat_map(|p| &mut *p.paths);
        let path = parked.into_iter().find(|p| p.id == id);
        path.unwrap_or(&mut self.active)
    }

    /// The active path, and all on which something was sent.
    pub fn iter(&self) -> impl Iterator<Item = &Path<C>> {
        let parked = self.parked.iter().flat_map(|p| &*p.paths);
        core::iter::once(&self.active).chain(parked)
    }

    #[inline]
    pub fn parked(&mut self) -> &mut [Path<C>] {
        match &mut self.parked {
            Some(parked) => &mut parked.paths,
            None => &mut [],
        }
    }

    /// Whether another path than the first has been heard of.
    #[inline]
    pub fn are_several(&self) -> bool {
        self.parked.as_ref().is_some_and(|p| p.are_several)
    }

    /// Whether there are none but the active path, heard of or not.
    pub fn is_only_one(&self) -> bool {
        self.parked.is_none()
    }

    /// Whether an RTT sample of a segment sent at `sent` on path `id` and acknowledged now is one of the active path's.
    #[inline]
    pub fn times(&self, sent: u64, id: PathId) -> bool {
        match &self.parked {
            Some(parked) => parked.times(self.active.id, sent, id),
            None => true,
        }
    }

    /// Whether the ACK says that it came by another path than the active one, so that it shows nothing of that one's RTT.
    pub fn ack_is_anothers(&self) -> bool {
        let parked = self.parked.as_deref();
        parked.is_some_and(|parked| parked.came_by_another(self.active.id))
    }

    /// The path by which the ACK came that was taken last, if it said so.
    pub fn ack_path(&self) -> Option<PathId> {
        self.parked.as_ref().and_then(|parked| parked.ack_path)
    }

    pub fn set_ack_path(&mut self, path: Option<PathId>) {
        if let Some(parked) = &mut self.parked {
            parked.ack_path = path;
        }
    }

    /// Segments in flight that the active path's window is to limit.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        match &self.parked {
            Some(parked) => self.sum_in_flight(parked),
            None => self.active.pipe.in_flight(),
        }
    }

    #[cold]
    fn sum_in_flight(&self, parked: &Parked<C>) -> u32 {
        if parked.shared_pipe {
            self.iter().map(|path| path.pipe.in_flight()).sum()
        } else {
            self.active.pipe.in_flight()
        }
    }

    /// Whether one window limits all paths (a shared pipe), and what is in flight on them fills it.
    #[inline]
    pub fn is_full(&self) -> bool {
        let shared = |parked: &Parked<C>| parked.shared_pipe;
        self.parked.as_deref().is_some_and(shared) && self.in_flight() >= self.active.window.cwnd
    }

    /// Half of the RTT of path `id` and half of the slowest path's, in microseconds, of those that are known (SIGCOMM'22, section
    /// 4.4: data on the one, its ACK on the other).
    pub fn mixed_rtt(&self, id: PathId) -> u32 {
        let rtts = || self.iter().map(|path| (path.id, path.rtt.srtt()));
        let slowest = rtts().map(|rtt| rtt.1).max().unwrap_or(0);
        let own = rtts().find(|rtt| rtt.0 == id).map_or(0, |rtt| rtt.1);
        if own == 0 {
            slowest
        } else {
            own.midpoint(slowest)
        }
    }

    /// The smoothed RTT by which the active path's timers go, in microseconds; 0 if none is known.
    pub fn timed_by(&self) -> u32 {
        match self.are_several() {
            true => self.mixed_rtt(self.active.id),
            false => self.active.rtt.srtt(),
        }
    }

    /// How often the timeout was doubled since the last RTT sample of any path (RFC 6298, 5.5 and 5.7). Without other paths the
    /// active one's timeout has it.
    pub fn backoffs(&self) -> u32 {
        (self.parked.as_ref()).map_or(0, |parked| parked.backoffs.into())
    }

    pub fn back_off(&mut self) {
        if let Some(parked) = &mut self.parked {
            parked.backoffs = parked.backoffs.saturating_add(1);
        }
    }

    pub fn end_backoff(&mut self) {
        if let Some(parked) = &mut self.parked {
            parked.backoffs = 0;
        }
    }

    /// There is only the active path from now on. Returns the others.
    pub fn take_parked(&mut self) -> Vec<Path<C>> {
        self.parked
            .take()
            .map_or_else(Vec::new, |parked| parked.paths.into_vec())
    }

    /// The first round trip of the active path, from `now` on, is paced.
    pub fn pace_burst(&mut self, now: u64) {
        let rtt = u64::from(self.active.rtt.srtt()) * 1000;
        if let Some(parked) = &mut self.parked {
            parked.burst_until = now + rtt;
        }
    }

    /// Until when it is; 0 if it is not.
    pub fn burst_until(&self) -> u64 {
        self.parked.as_ref().map_or(0, |parked| parked.burst_until)
    }

    pub fn end_burst(&mut self) {
        if let Some(parked) = &mut self.parked {
            parked.burst_until = 0;
        }
    }

    /// Tells the rate samples of all paths that the segments before `index` were delivered.
    #[cold]
    pub fn note_acked_before(&mut self, index: u64) {
        let parked = self.parked.iter_mut().flat_map(|p| &mut *p.paths);
        for path in core::iter::once(&mut self.active).chain(parked) {
            if let Some(rate) = &mut path.rate {
                rate.on_acked_before(index);
            }
        }
    }
}

impl<C: CongestionControl> Paths<C> {
    /// The RTT by which the receiving half goes: until an end sends data on a TDN, that of the handshake's path, though its ACKs name the TDN
    /// in use.
    #[inline]
    pub fn receivers_rtt(&self) -> &Rtt {
        match &self.parked {
            Some(parked) => self.rtt_of_receiver(parked),
            None => &self.active.rtt,
        }
    }

    #[inline(never)]
    fn rtt_of_receiver<'a>(&'a self, parked: &'a Parked<C>) -> &'a Rtt {
        let first = parked.paths.iter().find(|path| path.id == 0);
        match first {
            Some(first) if self.active.is_new() => &first.rtt,
            _ => &self.active.rtt,
        }
    }

    pub fn new(config: &Config, clock: &Clock, cc: C) -> Paths<C> {
        Paths {
            active: Path::new(0, config, clock, cc),
            parked: None,
        }
    }

    /// The connection is established; `nxt` is SND.NXT.
    pub fn establish(&mut self, clock: &Clock, nxt: u32) {
        self.active.establish(clock, nxt);
        for path in self.parked() {
            path.establish(clock, nxt);
        }
    }

    /// The congestion controls of all paths, also of those that have not been heard of.
    pub fn controls(&self) -> impl Iterator<Item = &C> {
        let first = self.parked.iter().flat_map(|parked| parked.controls.iter());
        self.iter().map(|path| &path.cc).chain(first)
    }

    /// More paths with these congestion controls, of which nothing is heard yet. They are numbered from 1.
    ///
    /// # Panics
    ///
    /// If they are more than 255.
    pub fn add(&mut self, config: &Config, controls: Arc<[C]>) {
        assert!(controls.len() < 256, "at most 256 paths");
        self.parked = Some(Box::new(Parked {
            paths: Box::default(),
            controls,
            are_several: false,
            since: 0,
            all_rtts: config.tdtcp.is_some_and(|tdtcp| tdtcp.all_rtts),
            shared_pipe: config.tdtcp.is_some_and(|tdtcp| tdtcp.shared_pipe),
            ack_path: None,
            burst_until: 0,
            backoffs: 0,
        }));
    }

    /// Path `id` is the active one from now on; it is made when it is first heard of, with the initial window, no threshold and
    /// no RTT. The one that was active is parked, if it is to be kept. Returns whether path `id` was added and not active already.
    pub fn activate(
        &mut self,
        config: &Config,
        clock: &Clock,
        nxt: u32,
        id: PathId,
        keep: bool,
    ) -> bool
    where
        C: Clone,
    {
        let Some(parked) = &mut self.parked else {
            return false;
        };
        let place = parked.paths.iter().position(|p| p.id == id);
        if place.is_none() && usize::from(id).wrapping_sub(1) >= parked.controls.len() {
            return false;
        }
        let active = &mut self.active;
        active.left = clock.now;
        match place {
            Some(place) if !keep => {
                let mut paths = core::mem::take(&mut parked.paths).into_vec();
                *active = paths.swap_remove(place);
                parked.paths = paths.into();
            }
            Some(place) => core::mem::swap(active, &mut parked.paths[place]),
            None => {
                let control = parked.controls[usize::from(id) - 1].clone();
                let mut path = Path::new(id, config, clock, control);
                path.validation.round_end = nxt;
                path.establish(clock, nxt);
                let left = core::mem::replace(active, path);
                if keep {
                    let mut paths = core::mem::take(&mut parked.paths).into_vec();
                    paths.reserve_exact(1);
                    paths.push(left);
                    parked.paths = paths.into();
                }
            }
        }
        // Its reduction may have begun while it was parked.
        if let Some(reduction) = self.active.recovery.reduction.changed_mut() {
            reduction.undo.interrupt();
        }
        parked.are_several = true;
        parked.since = clock.us;
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::cc::Any;
    use crate::sending::alone::Alone;

    /// Seen on the Linux engine (plan 181 of `etalon validate --random 200 --seed 7001`): a receiver whose ACKs name TDN 1 holds SACKs back for
    /// a twentieth of the handshake's round trip, though it has measured none of TDN 1.
    #[test]
    fn an_end_that_only_receives_stays_on_the_path_of_its_handshake() {
        let mut alone = Alone::new("reno");
        let (config, clock) = (alone.config.clone(), alone.clock.clone());
        let snd = &mut alone.snd;
        let handshake = 10_000;
        snd.paths
            .active
            .rtt
            .sample(&clock, &config, handshake, 0, 0);
        let control = Any::by_name("reno", &[]).expect("a control");
        snd.paths.add(&config, [control].into());
        assert!(snd.paths.activate(&config, &clock, snd.nxt, 1, true));
        assert_eq!(snd.paths.active.rtt.srtt(), 0);
        assert_eq!(snd.paths.receivers_rtt().srtt(), handshake);
        // What sends on it uses it.
        alone.write(1_000);
        assert_eq!(alone.send().len(), 1);
        assert_eq!(alone.snd.paths.receivers_rtt().srtt(), 0);
    }
}
