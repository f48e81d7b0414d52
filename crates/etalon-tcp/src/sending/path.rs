// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths through the network: what is counted, estimated and controlled for each of them. Sequence space, scoreboard, loss
//! detection, timers and receiver are the connection's.
//!
//! Plain TCP has one path. A connection in a time-division network has several (`paths.rs`).

use crate::Config;
use crate::cc::rate::RateEstimator;
use crate::cc::{CongestionControl, State, Window};
use crate::sending::reduction::Recovery;
use crate::sending::rtt::{Rtt, UNKNOWN};
use crate::sending::validation::Validation;
use crate::tdn_option::PathId;
use crate::timers::Clock;

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

    /// So many new segments were sent.
    #[inline]
    pub(crate) fn sent(&mut self, count: u32) {
        self.outstanding += count;
        self.in_flight += count as i32;
    }

    /// So many segments that had no marks were acknowledged.
    #[inline]
    pub(crate) fn acked(&mut self, count: u32) {
        self.outstanding -= count;
        self.in_flight -= count as i32;
    }

    /// What is another's is its own.
    pub(crate) fn add(&mut self, other: &Pipe) {
        self.outstanding += other.outstanding;
        self.lost += other.lost;
        self.in_flight += other.in_flight;
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
    pub(crate) lost: u32,
    /// When data was last sent on it, in ticks, which wrap, and in nanoseconds.
    pub(crate) last_sent: u32,
    pub(crate) last_sent_ns: u64,
    /// When another path became the active one in its place, in nanoseconds; of a path that was never left, when it was made.
    pub(crate) left: u64,
}

const _: () = assert!(
    size_of::<Path<crate::cc::Any>>() == 168,
    "a sender of TDTCP has one for each network"
);

impl<C: CongestionControl> Path<C> {
    pub(crate) fn new(id: PathId, config: &Config, clock: &Clock, cc: C) -> Path<C> {
        let cwnd = config.initial_cwnd.min(config.max_cwnd).max(1);
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
            left: clock.now,
        }
    }

    /// Whether it is as it was made, and not the first, which had the handshake: so it is if nothing that was sent on it was delivered
    /// or is outstanding, unless that was sent again on it.
    pub(crate) fn is_new(&self) -> bool {
        self.id > 0
            && self.rate.is_none()
            && self.pipe == Pipe::default()
            && (self.delivered, self.lost) == (0, 0)
            && (self.rtt.srtt(), self.rtt.min()) == (0, UNKNOWN)
            && self.recovery.state == State::Open
            && (self.window.ssthresh, self.window.cwnd_count) == (u32::MAX, 0)
            && self.window.cwnd == self.validation.initial_cwnd
    }

    /// Data may be sent from now on; `nxt` is SND.NXT.
    pub(crate) fn establish(&mut self, clock: &Clock, nxt: u32) {
        self.recovery.point = nxt;
        self.last_sent = clock.jiffies as u32;
        self.last_sent_ns = clock.now;
        self.validation.used_at = clock.jiffies as u32;
    }

    /// Its first RTT comes. Of a path that is not the connection's first, the congestion control hears when it came to be, or was left before
    /// that, and what had been sent by then.
    #[cold]
    pub(crate) fn hear_first_rtt(&mut self) {
        if self.id > 0 {
            self.cc.on_new_path(self.left, self.recovery.point);
        }
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
        self.rtt.rto_ticks()
    }

    /// Segment `index` of the scoreboard was sent, again if it was before.
    #[inline]
    pub(crate) fn note_sent(&mut self, clock: &Clock, index: u64) {
        self.last_sent = clock.jiffies as u32;
        self.last_sent_ns = clock.now;
        if self.rate.is_some() {
            self.note_sent_state(clock.now, index);
        }
    }

    #[cold]
    fn note_sent_state(&mut self, now: u64, index: u64) {
        let in_flight = self.pipe.in_flight();
        if let Some(rate) = &mut self.rate {
            rate.on_sent(index, now, self.delivered, self.lost.into(), in_flight);
        }
    }

    /// Tells the congestion control the rate that an ACK shows, once all that it delivers is known.
    #[cold]
    pub(crate) fn sample_rate(&mut self, now: u64) {
        let (delivered, lost, min_rtt) = (self.delivered, self.lost, self.min_rtt());
        let rate = self.rate.as_mut();
        let sample = rate.and_then(|r| r.sample(now, delivered, lost.into(), min_rtt));
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
