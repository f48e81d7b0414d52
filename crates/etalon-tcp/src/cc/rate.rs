// SPDX-License-Identifier: MIT OR Apache-2.0
//! Delivery rates (draft-ietf-ccwg-bbr, "Delivery Rate Samples"): what congestion controls that model the path need to know. For
//! each segment the state of the path when it was sent is kept; when it is delivered, a sample says how many segments were
//! delivered meanwhile, and in what time.
//!
//! Made only for a control that asks for it ([`wants_rate_samples`](super::CongestionControl::wants_rate_samples)).

use std::collections::VecDeque;

/// The path when a segment was sent. Times in nanoseconds of host time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentState {
    /// When it was sent.
    pub sent_at: u64,
    /// Segments delivered on the path by then, and when the last of them was.
    pub delivered: u64,
    /// As said.
    pub delivered_at: u64,
    /// When the segment was sent that was delivered last by then.
    pub first_sent_at: u64,
    /// Segments in flight with it.
    pub in_flight: u32,
    /// Segments lost from the path by then.
    pub lost: u64,
    /// The application, not the window, limited the sender.
    pub app_limited: bool,
}

/// One sample: what happened while the segment was under way that was sent last among those that an ACK newly delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// The path when that segment was sent.
    pub sent: SentState,
    /// Segments delivered since.
    pub delivered: u64,
    /// Segments lost since.
    pub lost: u64,
    /// The time that this took in nanoseconds: of sending or of acknowledging, whichever was longer.
    pub interval: u64,
}

impl RateSample {
    /// Segments a second.
    #[must_use]
    pub fn segments_per_second(&self) -> f64 {
        self.delivered as f64 * 1e9 / self.interval as f64
    }
}

/// Makes samples for one path.
#[derive(Clone, Debug, Default)]
pub(crate) struct RateEstimator {
    /// Outstanding segments by their number on the scoreboard, in order.
    segments: VecDeque<(u64, SentState)>,
    delivered_at: u64,
    first_sent_at: u64,
    /// Segments delivered when what an idle application left unused is past; 0 if it never left any.
    app_limited_until: u64,
    /// That of the segments delivered by the present ACK that was sent last.
    newest: Option<SentState>,
}

impl RateEstimator {
    /// Segment `index` is sent at `now`. `delivered`, `lost`: ever; `in_flight`: with it.
    pub fn on_sent(&mut self, index: u64, now: u64, delivered: u64, lost: u64, in_flight: u32) {
        if in_flight <= 1 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let state = SentState {
            sent_at: now,
            delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight,
            lost,
            app_limited: self.app_limited_until > 0 && delivered <= self.app_limited_until,
        };
        let place = self.segments.partition_point(|s| s.0 < index);
        self.segments.insert(place, (index, state));
    }

    /// Segment `index` was delivered out of order.
    pub fn on_sacked(&mut self, index: u64) {
        if let Ok(place) = self.segments.binary_search_by_key(&index, |s| s.0) {
            if let Some((_, state)) = self.segments.remove(place) {
                self.note_delivered(state);
            }
        }
    }

    /// Segment `index` is sent again, perhaps on another path.
    pub fn forget(&mut self, index: u64) {
        if let Ok(place) = self.segments.binary_search_by_key(&index, |s| s.0) {
            self.segments.remove(place);
        }
    }

    /// All segments before `index` were delivered.
    pub fn on_acked_before(&mut self, index: u64) {
        while self.segments.front().is_some_and(|s| s.0 < index) {
            if let Some((_, state)) = self.segments.pop_front() {
                self.note_delivered(state);
            }
        }
    }

    fn note_delivered(&mut self, state: SentState) {
        let key = |s: &SentState| (s.delivered, s.sent_at);
        if self.newest.as_ref().is_none_or(|n| key(n) <= key(&state)) {
            self.newest = Some(state);
        }
    }

    /// The sample of the ACK that arrived at `now`, after which so many segments have ever been delivered and lost. `min_rtt` in
    /// nanoseconds: what was delivered faster was not clocked by the path.
    pub fn sample(
        &mut self,
        now: u64,
        delivered: u64,
        lost: u64,
        min_rtt: u64,
    ) -> Option<RateSample> {
        let sent = self.newest.take()?;
        self.delivered_at = now;
        self.first_sent_at = sent.sent_at;
        let sending = sent.sent_at - sent.first_sent_at;
        let interval = sending.max(now - sent.delivered_at);
        // Round trips are measured in whole microseconds, which may be up to one more.
        let in_time = interval.saturating_add(999) >= min_rtt;
        (in_time && interval > 0).then_some(RateSample {
            sent,
            delivered: delivered - sent.delivered,
            lost: lost - sent.lost,
            interval,
        })
    }

    /// Nothing more waits to be sent although the window has room: what is sent until `delivered` segments have been delivered says
    /// nothing of the path's rate.
    pub fn limit(&mut self, delivered: u64) {
        self.app_limited_until = delivered;
    }
}
