// SPDX-License-Identifier: MIT OR Apache-2.0
//! DCTCP (RFC 8257): Reno whose reaction to marks is in proportion to the share of marked segments.
//!
//! As in Linux, and other than in the RFC:
//!
//! - Segments are counted, where section 3.3 counts bytes.
//! - The first ACK ends a window too, one without marks.
//! - alpha is a multiple of 1/1024. Once a window's decay would round to nothing, alpha drops to 0 rather than staying
//!   at a small value for ever.
//! - Loss cuts the window in half (section 3.5 asks for what plain TCP does), also if Cwr has already begun.
//!
//! The receiver's side (section 3.2) is part of the connection.

use super::{Ack, Configured, CongestionControl, Parameter, Reno, State, Window};
use crate::rare::{Fresh, Rare};

/// alpha = 1, and g = 1, as kept here.
const ONE: u32 = 1024;

/// DCTCP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dctcp {
    /// Apart, so that other congestion controls need not have room for it; at an end that only receives it is never changed.
    course: Rare<Course>,
}

/// What an ACK changes, and the weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Course {
    /// The estimate of the share of marked segments, in units of 1/1024.
    alpha: u32,
    /// The weight of a new observation, in units of 1/1024.
    g: u32,
    /// The observation window ends when this sequence number is acknowledged; none before the first ACK.
    window_end: Option<u32>,
    delivered: u32,
    delivered_marked: u32,
    /// The window at the last reduction, to return to if it was spurious.
    prior_cwnd: u32,
    /// `ssthresh` was called for the change of state that follows.
    reducing: bool,
}

impl Fresh for Course {
    fn fresh() -> &'static Course {
        static START: Course = Course::new(ONE / 16, ONE);
        &START
    }
}

impl Dctcp {
    /// The estimated share of marked segments, from 0 to 1024.
    #[must_use]
    pub fn alpha_1024(&self) -> u32 {
        self.course.alpha
    }
}

impl Course {
    const fn new(g: u32, alpha: u32) -> Course {
        Course {
            alpha,
            g,
            window_end: None,
            delivered: 0,
            delivered_marked: 0,
            prior_cwnd: 0,
            reducing: false,
        }
    }

    /// RFC 8257, section 3.3, step 6: alpha = (1 - g) alpha + g M.
    fn update_alpha(&mut self) {
        let decay = (self.alpha * self.g) / ONE;
        self.alpha -= if decay == 0 { self.alpha } else { decay };
        if self.delivered_marked > 0 {
            let share =
                u64::from(self.delivered_marked) * u64::from(self.g) / u64::from(self.delivered);
            self.alpha = (self.alpha + share as u32).min(ONE);
        }
    }

    fn react_to_loss(&mut self, window: &mut Window, cwnd: u32) {
        self.prior_cwnd = cwnd;
        window.ssthresh = (cwnd / 2).max(2);
    }
}

impl Configured for Dctcp {
    const PARAMETERS: &'static [Parameter] = &[
        Parameter::number(
            "g",
            1.0 / 16.0,
            1.0 / 256.0,
            1.0,
            "weight of a new observation in alpha",
        ),
        Parameter::number(
            "alpha",
            1.0,
            0.0,
            1.0,
            "estimate of the share of marked segments at the start",
        ),
    ];

    fn configured(values: &[f64]) -> Self {
        let fixed = |value: f64| libm::round(value * f64::from(ONE)) as u32;
        Self {
            course: Rare::new(Course::new(fixed(values[0]), fixed(values[1]))),
        }
    }
}

impl CongestionControl for Dctcp {
    #[inline(never)] // so that to ask which control it is takes no registers
    fn on_ack(&mut self, _window: &mut Window, ack: &Ack) {
        let course = &mut *self.course;
        course.delivered = course.delivered.saturating_add(ack.delivered);
        if ack.ece {
            course.delivered_marked = course.delivered_marked.saturating_add(ack.delivered);
        }
        // Sequence numbers wrap: at or beyond the end is a difference below 2^31.
        if course
            .window_end
            .is_none_or(|end| ack.una.wrapping_sub(end) < 1 << 31)
        {
            course.update_alpha();
            course.delivered = 0;
            course.delivered_marked = 0;
            course.window_end = Some(ack.nxt);
        }
    }

    #[inline]
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        Reno::grow(window, ack);
    }

    /// RFC 8257, section 3.3, step 9: cwnd (1 - alpha / 2).
    #[inline]
    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        let course = &mut *self.course;
        course.prior_cwnd = window.cwnd;
        course.reducing = true;
        let cut = u64::from(window.cwnd) * u64::from(course.alpha) / u64::from(2 * ONE);
        (window.cwnd - cut as u32).max(2)
    }

    fn on_state(&mut self, window: &mut Window, state: State, _now: u64) {
        let course = &mut *self.course;
        let reducing = core::mem::take(&mut course.reducing);
        match state {
            State::FastRecovery => course.react_to_loss(window, window.cwnd),
            // A timeout cuts the window before it says so, and not again if one within the same flight already has.
            State::Timeout if reducing => course.react_to_loss(window, course.prior_cwnd),
            State::Timeout | State::Cwr | State::Open | State::LimitedTransmit => {}
        }
    }

    #[inline]
    fn undo(&mut self, window: &Window, _prior_cwnd: u32) -> u32 {
        window.cwnd.max(self.course.prior_cwnd)
    }

    #[inline]
    fn wants_dctcp_feedback(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Acknowledges `marked` segments with ECE and `clean` without, 1000 bytes each, as one observation window.
    fn observe(cc: &mut Dctcp, una: &mut u32, marked: u32, clean: u32) {
        let mut window = Window {
            cwnd: marked + clean,
            ssthresh: 2,
            cwnd_count: 0,
        };
        let nxt = una.wrapping_add((marked + clean) * 1000);
        for i in 0..marked + clean {
            let una_after = una.wrapping_add(1000);
            // A window's first ACK is the one that ends the window before it.
            let ack = Ack {
                acked: 1,
                delivered: 1,
                ece: i < marked,
                prior_una: *una,
                una: una_after,
                nxt: nxt.wrapping_add(1000),
                ..Ack::default()
            };
            cc.on_ack(&mut window, &ack);
            *una = una_after;
        }
    }

    #[test]
    fn alpha_follows_the_rfc() {
        let mut cc = Dctcp::default();
        // Start short of the wrap of sequence numbers.
        let mut una = u32::MAX - 25_000;
        let mut alpha = 1.0;
        // One quarter is marked: alpha = 15/16 alpha + 1/16 x 1/4 in each window of 20 segments.
        for round in 0..60 {
            let before = cc.alpha_1024();
            observe(&mut cc, &mut una, 5, 15);
            if round > 0 {
                alpha = alpha * 15.0 / 16.0 + 0.25 / 16.0;
            } else {
                assert!(cc.alpha_1024() <= before, "the first ACK ends a window");
            }
            // Decay and gain are both rounded down, by less than one unit a window and with opposite signs; an error
            // of one window decays by 15/16, so that either sum stays below 16.
            let exact = alpha * f64::from(ONE);
            let error = (exact - f64::from(cc.alpha_1024())).abs();
            assert!(
                error < 16.0,
                "round {round}: {exact} and {}",
                cc.alpha_1024()
            );
        }
    }

    #[test]
    fn alpha_by_hand() {
        let mut cc = Dctcp::default();
        let mut una = 0;
        observe(&mut cc, &mut una, 0, 10);
        assert_eq!(
            cc.alpha_1024(),
            960,
            "1024 - 1024 / 16: the first ACK ends a window"
        );
        observe(&mut cc, &mut una, 10, 0);
        assert_eq!(
            cc.alpha_1024(),
            906,
            "960 - 60, and 64 / 10 for the first of the marks"
        );
        observe(&mut cc, &mut una, 0, 10);
        assert_eq!(cc.alpha_1024(), 907, "906 - 56 + 64 x 9 / 10");
        for _ in 0..80 {
            observe(&mut cc, &mut una, 0, 10);
        }
        assert_eq!(cc.alpha_1024(), 0, "it does not linger at 15/1024");
    }

    #[test]
    fn the_cut_is_in_proportion() {
        let window = Window {
            cwnd: 40,
            ssthresh: 2,
            cwnd_count: 0,
        };
        let cut = |alpha| Dctcp::configured(&[1.0 / 16.0, alpha]).ssthresh(&window, 0);
        assert_eq!([cut(1.0), cut(0.5), cut(0.25), cut(0.0)], [20, 30, 35, 40]);
        assert_eq!(
            Dctcp::default().ssthresh(&Window { cwnd: 1, ..window }, 0),
            2
        );
    }

    #[test]
    fn loss_halves_whatever_alpha_is() {
        let mut cc = Dctcp::configured(&[1.0 / 16.0, 0.0]);
        let mut window = Window {
            cwnd: 40,
            ssthresh: 40,
            cwnd_count: 0,
        };
        window.ssthresh = cc.ssthresh(&window, 0);
        cc.on_state(&mut window, State::Cwr, 0);
        assert_eq!(window.ssthresh, 40);
        cc.on_state(&mut window, State::FastRecovery, 0);
        assert_eq!(window.ssthresh, 20);
        // A timeout within that recovery takes no new threshold, and has cut the window already.
        (window.cwnd, window.ssthresh) = (1, 17);
        cc.on_state(&mut window, State::Timeout, 0);
        assert_eq!(window.ssthresh, 17);
        assert_eq!(cc.undo(&window, 0), 40);
        // A timeout of its own does.
        window.cwnd = 30;
        window.ssthresh = cc.ssthresh(&window, 0);
        window.cwnd = 1;
        cc.on_state(&mut window, State::Timeout, 0);
        assert_eq!(window.ssthresh, 15);
    }

    #[test]
    fn an_undo_returns_to_the_window_at_the_last_reduction() {
        let mut cc = Dctcp::default();
        let window = |cwnd| Window {
            cwnd,
            ssthresh: 2,
            cwnd_count: 0,
        };
        cc.ssthresh(&window(40), 0);
        cc.on_state(&mut window(40), State::Cwr, 0);
        cc.on_state(&mut window(30), State::FastRecovery, 0);
        assert_eq!(cc.undo(&window(20), 0), 30);
    }

    #[test]
    fn defaults_are_those_of_the_rfc() {
        let defaults: Vec<f64> = Dctcp::PARAMETERS.iter().map(|p| p.default).collect();
        assert_eq!(Dctcp::configured(&defaults), Dctcp::default());
        assert!(Dctcp::default().wants_dctcp_feedback());
    }
}
