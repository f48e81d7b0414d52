//! Paths through the network: what is counted, estimated and controlled for each of them. Sequence space, scoreboard, loss
//! detection, timers and receiver are the connection's.
//!
//! Plain TCP has one path. A connection in a time-division network has one for each network that it may be on
//! ([`Connection::add_path`](crate::Connection::add_path)); one is active, the others are parked.

use crate::Config;
use crate::cc::rate::RateEstimator;
use crate::cc::{CongestionControl, State, Window};
use crate::episode::Recovery;
use crate::rtt::{Rtt, UNKNOWN};
use crate::timers::Clock;
use crate::validation::Validation;

/// Number of a path, from 0.
pub type PathId = u8;

/// Segments of one path (RFC 6675's pipe, kept incrementally).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pipe {
    /// Sent on it (or charged to it, once lost) and not cumulatively acknowledged.
    pub outstanding: u32,
    /// Deemed lost and charged to it.
    pub lost: u32,
    /// In flight. Duplicate ACKs may make it negative.
    in_flight: i32,
}

impl Pipe {
    /// Segments in flight.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.max(0) as u32
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) fn sent(&mut self) {
        self.outstanding += 1;
        self.in_flight += 1;
    }

    /// So many segments that had no marks were acknowledged.
    #[inline]
    pub(crate) fn acked(&mut self, count: u32) {
        self.outstanding -= count;
        self.in_flight -= count as i32;
    }

    /// So many segments are no longer in flight, or are again.
    #[inline]
    pub(crate) fn shrink(&mut self, count: i32) {
        self.in_flight -= count;
    }
}

/// State of one path.
#[derive(Clone, Debug)]
pub struct Path<C> {
    pub(crate) id: PathId,
    pub(crate) pipe: Pipe,
    pub(crate) window: Window,
    pub(crate) cc: C,
    pub(crate) rtt: Rtt,
    pub(crate) recovery: Recovery,
    pub(crate) validation: Validation,
    /// Made for a congestion control that asks for it.
    pub(crate) rate: Option<Box<RateEstimator>>,
    /// Segments ever delivered and ever marked lost.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    /// When data was last sent on it, in ticks and in nanoseconds.
    pub(crate) last_sent: u64,
    pub(crate) last_sent_ns: u64,
}

impl<C: CongestionControl> Path<C> {
    fn new(id: PathId, config: &Config, clock: &Clock, cc: C) -> Path<C> {
        let cwnd = config.initial_cwnd.max(1);
        Path {
            id,
            pipe: Pipe::default(),
            window: Window {
                cwnd,
                ssthresh: u32::MAX,
                cwnd_count: 0,
            },
            rate: cc.wants_rate_samples().then(Box::default),
            cc,
            rtt: Rtt::new(clock, config),
            recovery: Recovery::default(),
            validation: Validation::new(cwnd, config.initial_seq),
            delivered: 0,
            lost: 0,
            last_sent: 0,
            last_sent_ns: 0,
        }
    }

    /// Data may be sent from now on; `nxt` is SND.NXT.
    fn establish(&mut self, clock: &Clock, nxt: u32) {
        self.recovery.point = nxt;
        self.last_sent = clock.jiffies;
        self.last_sent_ns = clock.now;
        self.validation.used_at = clock.jiffies;
    }

    pub(crate) fn set_congestion_control(&mut self, cc: C) {
        self.rate = cc.wants_rate_samples().then(Box::default);
        self.cc = cc;
        self.window.cwnd_count = 0;
    }

    /// Its number.
    pub fn id(&self) -> PathId {
        self.id
    }

    /// Congestion window, threshold and count.
    pub fn window(&self) -> &Window {
        &self.window
    }

    /// The congestion control.
    pub fn congestion_control(&self) -> &C {
        &self.cc
    }

    /// Segment counters.
    pub fn pipe(&self) -> &Pipe {
        &self.pipe
    }

    /// Segments in flight (RFC 6675's pipe).
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.pipe.in_flight()
    }

    /// Segments ever delivered: by SACK, or cumulatively if they were not SACKed before.
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// State of loss recovery.
    pub fn recovery_state(&self) -> State {
        self.recovery.state
    }

    /// Smoothed RTT in nanoseconds, 0 before the first sample.
    pub fn srtt(&self) -> u64 {
        u64::from(self.rtt.srtt()) * 1000
    }

    /// Variance term of the retransmission timeout in nanoseconds.
    pub fn rttvar(&self) -> u64 {
        u64::from(self.rtt.rttvar) * 1000
    }

    /// Smallest RTT of the last 300 s in nanoseconds, `u64::MAX` before the first sample.
    pub fn min_rtt(&self) -> u64 {
        match self.rtt.min() {
            UNKNOWN => u64::MAX,
            us => u64::from(us) * 1000,
        }
    }

    /// Retransmission timeout in ticks, backoff included.
    pub fn rto_ticks(&self) -> u64 {
        self.rtt.rto_ticks
    }

    /// Segment `index` of the scoreboard was sent, again if it was before.
    #[inline]
    pub(crate) fn note_sent(&mut self, clock: &Clock, index: u64) {
        self.last_sent = clock.jiffies;
        self.last_sent_ns = clock.now;
        if self.rate.is_some() {
            self.note_sent_state(clock.now, index);
        }
    }

    #[cold]
    fn note_sent_state(&mut self, now: u64, index: u64) {
        let in_flight = self.pipe.in_flight();
        if let Some(rate) = &mut self.rate {
            rate.on_sent(index, now, self.delivered, self.lost, in_flight);
        }
    }

    /// Tells the congestion control the rate that an ACK shows, once all that it delivers is known.
    #[cold]
    pub(crate) fn sample_rate(&mut self, now: u64) {
        let (delivered, lost, min_rtt) = (self.delivered, self.lost, self.min_rtt());
        let rate = self.rate.as_mut();
        let sample = rate.and_then(|r| r.sample(now, delivered, lost, min_rtt));
        if let Some(sample) = sample {
            self.cc.on_rate_sample(&mut self.window, &sample);
        }
    }

    /// Whether the window lets another segment out.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.pipe.in_flight() < self.window.cwnd
    }
}

/// The paths of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Paths<C> {
    pub active: Path<C>,
    /// The others. Plain TCP has none and allocates nothing.
    parked: Option<Box<Parked<C>>>,
}

#[derive(Clone, Debug)]
struct Parked<C> {
    paths: Vec<Path<C>>,
    /// When the active path became so, in microseconds.
    since: u64,
    /// It remains so.
    frozen: bool,
    /// A window limits what is in flight on all paths.
    shared: bool,
}

impl<C> Paths<C> {
    /// The path with this number, which exists.
    #[inline]
    pub fn of(&mut self, id: PathId) -> &mut Path<C> {
        if id == self.active.id {
            return &mut self.active;
        }
        let parked = self.parked.iter_mut().flat_map(|p| &mut p.paths);
        let path = parked.into_iter().find(|p| p.id == id);
        path.unwrap_or(&mut self.active)
    }

    /// All of them, the active one first.
    pub fn iter(&self) -> impl Iterator<Item = &Path<C>> {
        let parked = self.parked.iter().flat_map(|p| &p.paths);
        core::iter::once(&self.active).chain(parked)
    }

    #[inline]
    pub fn parked(&mut self) -> &mut [Path<C>] {
        match &mut self.parked {
            Some(parked) => &mut parked.paths,
            None => &mut [],
        }
    }

    /// Whether what was sent at `sent` on path `id` and is acknowledged now has met no change of paths: only then is the time
    /// between the round-trip time of the active path.
    #[inline]
    pub fn unchanged_since(&self, sent: u64, id: PathId) -> bool {
        match &self.parked {
            Some(parked) => sent >= parked.since && id == self.active.id,
            None => true,
        }
    }

    /// There is only the active path from now on; none other has sent anything.
    pub fn forget_parked(&mut self) {
        self.parked = None;
    }

    /// The active path remains the active one, whatever becomes of networks; what is in flight on others counts for it.
    pub fn freeze(&mut self) {
        if let Some(parked) = &mut self.parked {
            (parked.frozen, parked.shared) = (true, true);
        }
    }

    /// Tells the rate samples of all paths that the segments before `index` were delivered.
    #[cold]
    pub fn note_acked_before(&mut self, index: u64) {
        let parked = self.parked.iter_mut().flat_map(|p| &mut p.paths);
        for path in core::iter::once(&mut self.active).chain(parked) {
            if let Some(rate) = &mut path.rate {
                rate.on_acked_before(index);
            }
        }
    }

    /// Makes path `id` the active one. Returns whether there is such a path and it was not active already.
    pub fn activate(&mut self, us: u64, id: PathId) -> bool {
        let Some(parked) = &mut self.parked else {
            return false;
        };
        let path = parked.paths.iter_mut().find(|p| p.id == id);
        let Some(path) = path.filter(|_| !parked.frozen) else {
            return false;
        };
        core::mem::swap(&mut self.active, path);
        parked.since = us;
        true
    }
}

impl<C: CongestionControl> Paths<C> {
    /// Whether one window limits all paths, and what is in flight on them fills it.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.parked
            .as_ref()
            .is_some_and(|parked| parked.shared && self.sum_is_full())
    }

    #[cold]
    fn sum_is_full(&self) -> bool {
        let in_flight: u32 = self.iter().map(|path| path.pipe.in_flight()).sum();
        in_flight >= self.active.window.cwnd
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

    /// One more path, parked. Returns its number.
    ///
    /// # Panics
    ///
    /// If there are 256 already.
    pub fn add(&mut self, config: &Config, clock: &Clock, cc: C, nxt: u32) -> PathId {
        let parked = self.parked.get_or_insert_with(|| {
            Box::new(Parked {
                paths: Vec::new(),
                since: 0,
                frozen: false,
                shared: config.tdtcp.is_some_and(|tdtcp| tdtcp.shared_pipe),
            })
        });
        let id = PathId::try_from(parked.paths.len() + 1).expect("at most 256 paths");
        let mut path = Path::new(id, config, clock, cc);
        path.validation.round_end = nxt;
        path.establish(clock, nxt);
        parked.paths.push(path);
        id
    }
}
