//! Everything that belongs to one path through the network: the pipe counters, the window and its congestion control, the RTT
//! estimate, and the state of loss recovery. Sequence space, scoreboard and receiver are the connection's.

use crate::Config;
use crate::cc::{CongestionControl, State, Window};
use crate::prr::Prr;
use crate::rack::Rack;
use crate::rtt::{Rtt, UNKNOWN};
use crate::scoreboard::Pipe;
use crate::seq::before;
use crate::timers::Clock;

/// Duplicate ACKs that mean a loss (RFC 5681), and the assumed degree of reordering.
pub(crate) const DUP_THRESH: u32 = 3;

/// State of one path.
#[derive(Clone, Debug)]
pub struct Path<C> {
    pub(crate) pipe: Pipe,
    pub(crate) window: Window,
    pub(crate) cc: C,
    pub(crate) rtt: Rtt,
    pub(crate) rack: Rack,
    pub(crate) prr: Prr,
    pub(crate) state: State,
    /// SND.NXT when the current state began.
    pub(crate) recovery_point: u32,
    /// Threshold to return to when a reduction is undone; 0 if it must not be.
    pub(crate) ssthresh_before: u32,
    /// SND.UNA when the reduction began, while it may still be undone.
    pub(crate) reduced_at: Option<u32>,
    /// Retransmissions that no DSACK has found needless yet; negative when none was sent.
    pub(crate) unproven_resends: i32,
    /// Timestamp of the first retransmission of the episode; 0 if none.
    pub(crate) first_resend: u32,
    /// F-RTO is testing whether the timeout was spurious.
    pub(crate) frto: bool,
    /// Degree of reordering in segments.
    pub(crate) reordering: u32,
    /// Segments ever delivered and ever marked lost.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    initial_cwnd: u32,
    /// The window limited the sender in the round that ends at `usage_seq`; else the most that it had out.
    limited: bool,
    most_outstanding: u32,
    usage_seq: u32,
    /// When the window was last fully used, in ticks, and the most used since.
    pub(crate) used_stamp: u64,
    used: u32,
}

impl<C: CongestionControl> Path<C> {
    pub(crate) fn new(config: &Config, clock: &Clock, cc: C) -> Path<C> {
        Path {
            pipe: Pipe::default(),
            window: Window {
                cwnd: config.initial_cwnd.max(1),
                ssthresh: u32::MAX,
                cwnd_count: 0,
            },
            cc,
            rtt: Rtt::new(clock, config),
            rack: Rack::default(),
            prr: Prr::default(),
            state: State::Open,
            recovery_point: 0,
            ssthresh_before: 0,
            reduced_at: None,
            unproven_resends: 0,
            first_resend: 0,
            frto: false,
            reordering: DUP_THRESH,
            delivered: 0,
            lost: 0,
            limited: false,
            initial_cwnd: config.initial_cwnd.max(1),
            most_outstanding: 0,
            usage_seq: config.initial_seq,
            used_stamp: 0,
            used: 0,
        }
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
    pub fn in_flight(&self) -> u32 {
        self.pipe.in_flight()
    }

    /// State of loss recovery.
    pub fn recovery_state(&self) -> State {
        self.state
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

    /// Whether the window is being reduced by proportional rate reduction.
    #[inline]
    pub(crate) fn reducing(&self) -> bool {
        matches!(self.state, State::Cwr | State::Recovery)
    }

    /// Whether the state is milder than Cwr.
    #[inline]
    pub(crate) fn open_or_disorder(&self) -> bool {
        matches!(self.state, State::Open | State::Disorder)
    }

    /// Whether growth is justified: the window limited the sender, or in slow start at least half of it was used.
    #[inline]
    pub(crate) fn cwnd_limited(&self) -> bool {
        self.limited
            || (self.window.in_slow_start() && self.window.cwnd < 2 * self.most_outstanding)
    }

    /// After a burst: notes whether the window limited it. The strongest evidence within a round counts.
    #[inline]
    pub(crate) fn validate(
        &mut self,
        clock: &Clock,
        limited: bool,
        una: u32,
        nxt: u32,
        restart_after_idle: bool,
    ) {
        let out = self.pipe.outstanding;
        if limited || !before(una, self.usage_seq) || (!self.limited && out > self.most_outstanding)
        {
            self.limited = limited;
            self.most_outstanding = out;
            self.usage_seq = nxt;
        }
        if self.cwnd_limited() {
            self.used = 0;
            self.used_stamp = clock.jiffies;
        } else {
            self.used = self.used.max(out);
            if restart_after_idle
                && clock.jiffies.saturating_sub(self.used_stamp) >= self.rtt.rto_ticks
            {
                self.shrink_to_used(clock);
            }
        }
    }

    /// Window decay of an application-limited sender (RFC 2861): halfway to what was used in the last timeout.
    fn shrink_to_used(&mut self, clock: &Clock) {
        if self.state == State::Open && self.used < self.window.cwnd {
            let used = self.used.max(self.initial_cwnd);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = self.window.cwnd.midpoint(used);
            }
            self.used = 0;
        }
        self.used_stamp = clock.jiffies;
    }

    /// Threshold that remembers what the window was (RFC 2861): at least three quarters of it.
    pub(crate) fn current_ssthresh(&self) -> u32 {
        if self.reducing() {
            self.window.ssthresh
        } else {
            self.window
                .ssthresh
                .max((self.window.cwnd >> 1) + (self.window.cwnd >> 2))
        }
    }

    /// After `idle` ticks with nothing in flight: halves the window for each timeout, not below the initial one.
    pub(crate) fn restart(&mut self, clock: &Clock, idle: u64) {
        let floor = self.initial_cwnd.min(self.window.cwnd);
        self.window.ssthresh = self.current_ssthresh();
        let mut left = idle;
        while left > self.rtt.rto_ticks && self.window.cwnd > floor {
            left -= self.rtt.rto_ticks;
            self.window.cwnd >>= 1;
        }
        self.window.cwnd = self.window.cwnd.max(floor);
        self.used_stamp = clock.jiffies;
        self.used = 0;
    }

    pub(crate) fn set_state(&mut self, clock: &Clock, state: State) {
        // Each timeout counts, also those after the first.
        if self.state != state || state == State::Loss {
            self.state = state;
            self.cc.on_state(&mut self.window, state, clock.now);
        }
    }
}
