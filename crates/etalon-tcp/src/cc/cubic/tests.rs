// SPDX-License-Identifier: MIT OR Apache-2.0
use super::curve::cube_root;
use super::*;

const HZ: u32 = 250;
const TICK: u64 = 4_000_000;
const MS: u64 = 1_000_000;

fn ack(jiffies: u64, delivered: u32) -> Ack {
    Ack {
        now: jiffies * TICK,
        jiffies,
        acked: delivered,
        delivered,
        cwnd_limited: true,
        hz: HZ,
        ..Ack::default()
    }
}

fn window(cwnd: u32) -> Window {
    Window {
        cwnd,
        ssthresh: 2,
        cwnd_count: 0,
    }
}

/// A CUBIC whose last reduction was from `w_max` segments, and its window.
fn reduced(w_max: u32) -> (Cubic, Window) {
    let mut cc = Cubic::default();
    let cwnd = cc.ssthresh(&window(w_max), 0);
    (cc, window(cwnd))
}

/// Begins an epoch.
fn begin(cc: &mut Cubic, cwnd: u32) {
    cc.course.begin(cwnd, 1, 0);
}

#[test]
fn cube_root_is_exact() {
    for n in (0..1 << 20).chain((1..=1 << 20).map(|segments| segments * ((1 << 40) / 410))) {
        let root = u64::from(cube_root(n));
        assert!(root.pow(3) <= n && n < (root + 1).pow(3), "{n}");
        assert!(
            (libm::cbrt(n as f64) - root as f64).abs() < 1.0 + 1e-9,
            "{n}"
        );
    }
    let largest = (1u64 << 21) - 1;
    assert_eq!(u64::from(cube_root(largest.pow(3))), largest);
    assert_eq!(u64::from(cube_root(largest.pow(3) - 1)), largest - 1);
}

#[test]
fn the_reduction_and_fast_convergence() {
    let (mut cc, w) = reduced(60);
    assert_eq!(w.cwnd, 42, "60 x 717 / 1024 = 42.01");
    assert_eq!(cc.course.epoch.w_max, 60);
    assert_eq!(cc.ssthresh(&window(50), 0), 35);
    assert_eq!(cc.course.epoch.w_max, 42, "50 x (1 + 0.7002) / 2 = 42.5");
    assert_eq!(cc.ssthresh(&window(1), 0), 2);
    // The same window again is not less.
    let (mut cc, _) = reduced(60);
    cc.ssthresh(&window(60), 0);
    assert_eq!(cc.course.epoch.w_max, 60);
}

#[test]
fn the_curve_is_the_closed_formula() {
    for w_max in [3, 8, 16, 60, 1_000, 100_000] {
        let (mut cc, w) = reduced(w_max);
        begin(&mut cc, w.cwnd);
        let k = libm::cbrt(f64::from(w_max - w.cwnd) / 0.4);
        // C is 410/1024, 0.1 % above 0.4; K is rounded down to 1/1024 s.
        assert!((f64::from(cc.course.epoch.curve.k) / 1024.0 - k).abs() < 0.001 + k * 0.0004);
        for tenths in 0..200u32 {
            let t = f64::from(tenths) / 10.0;
            let exact = 0.4 * libm::pow(t - k, 3.0) + f64::from(w_max);
            let got = f64::from(
                cc.course
                    .epoch
                    .curve
                    .at(u64::from(tenths) * 1024 / 10, cc.course.settings.c),
            );
            let tolerance = 1.5 + 0.004 * libm::fabs(exact - f64::from(w_max));
            assert!(
                (got - exact).abs() < tolerance,
                "W({t}) = {exact} from {w_max}, not {got}"
            );
        }
    }
}

/// The window itself, a whole sender with a round trip of 8 ms, follows the curve.
#[test]
fn the_window_follows_the_curve() {
    let (mut cc, mut w) = reduced(60);
    cc.course.settings.reno_friendly = false;
    cc.course.epoch.delay_min = 8_000;
    let k = libm::cbrt(18.0 / 0.4);
    for jiffies in 0..2_500u64 {
        // Half of the window each tick.
        for _ in 0..w.cwnd / 2 {
            cc.increase(&mut w, &ack(jiffies, 1));
        }
        // Growth is at least a segment in 100 windows, 0.8 s; for the 2.7 s in which the curve is within a segment of
        // its plateau the window creeps ahead of it by that. It falls behind by rounding down, and by a pace that is
        // up to eight ticks old when the curve climbs by 40 segments/s.
        let t = jiffies as f64 / f64::from(HZ);
        let exact = 0.4 * libm::pow(t - k, 3.0) + 60.0;
        let ahead = f64::from(w.cwnd) - exact;
        assert!(
            (-1.0 - 0.032 * 40.0..1.0 + 2.7 / 0.8).contains(&ahead),
            "W({t}) = {exact}, not {}",
            w.cwnd
        );
    }
    assert!(
        w.cwnd > 160,
        "0.4 x (10 - 3.56)^3 + 60 = 167, not {}",
        w.cwnd
    );
}

#[test]
fn the_pace_by_hand() {
    // 42 segments, W_max 60: K = 3.557 s.
    let (mut cc, w) = reduced(60);
    cc.course.settings.reno_friendly = false;
    cc.course.epoch.delay_min = 5_000;
    cc.course.update(w.cwnd, 1, 1_000, HZ);
    // One RTT of 5 ms, so two ticks, ahead: W(8 ms) = 0.4 (0.008 - 3.557)^3 + 60 = 42.12; 42 in whole segments from
    // above, 60 - floor(17.88) = 43: one segment a window.
    assert_eq!(cc.course.epoch.pace, 42);
    // 500 ticks later W(2.008 s) = 60 - floor(0.4 x 1.549^3 = 1.487) = 59: 42 / 17.
    cc.course.update(w.cwnd, 1, 1_500, HZ);
    assert_eq!(cc.course.epoch.pace, 2);
    // Above the plateau's start, nothing to gain: 100 windows for a segment.
    cc.course.update(60, 1, 1_600, HZ);
    assert_eq!(cc.course.epoch.pace, 6_000);
    // A minute on the curve is far above: one segment for two acknowledged.
    cc.course.update(61, 1, 16_000, HZ);
    assert_eq!(cc.course.epoch.pace, 2);
}

#[test]
fn the_look_ahead_is_in_whole_ticks_rounded_up() {
    // 20 s into the epoch the curve climbs by more than a segment a tick.
    let pace = |delay_min, cwnd| {
        let (mut cc, w) = reduced(60);
        cc.course.settings.reno_friendly = false;
        begin(&mut cc, w.cwnd);
        cc.course.epoch.delay_min = delay_min;
        cc.course.update(cwnd, 1, 5_000, HZ);
        cc.course.epoch.pace
    };
    let (mut cc, w) = reduced(60);
    begin(&mut cc, w.cwnd);
    let one_tick_ahead = cc
        .course
        .epoch
        .curve
        .at(5_001 * 1024 / 250, cc.course.settings.c);
    for (delay_min, ahead) in [(1, false), (4_000, false), (4_001, true), (8_000, true)] {
        let climbs = pace(delay_min, one_tick_ahead) < 100 * one_tick_ahead;
        assert_eq!(climbs, ahead, "{delay_min} us");
    }
}

#[test]
fn the_pace_rests_for_hz_over_32_ticks() {
    let (mut cc, w) = reduced(60);
    let at = |cc: &mut Cubic, jiffies| {
        cc.course.update(w.cwnd, 1, jiffies, HZ);
        (cc.course.epoch.last_time, cc.course.epoch.acked)
    };
    assert_eq!(at(&mut cc, 1_000), (1_000, 1));
    assert_eq!(at(&mut cc, 1_007), (1_000, 2), "250 / 32 = 7 ticks");
    assert_eq!(at(&mut cc, 1_008), (1_008, 3));
    // A new window is looked at once a tick; the Reno-friendly estimate moves on.
    cc.course.update(43, 100, 1_008, HZ);
    assert_eq!((cc.course.epoch.last_cwnd, cc.course.epoch.w_est), (42, 43));
    cc.course.update(43, 1, 1_009, HZ);
    assert_eq!(
        (cc.course.epoch.last_cwnd, cc.course.epoch.last_time),
        (43, 1_009)
    );
    // A reduction to the same window does not lift the rest; the new epoch begins after it.
    cc.ssthresh(&window(43), 0);
    cc.course.update(43, 1, 1_010, HZ);
    assert_eq!(cc.course.epoch.start, NEVER);
    cc.course.update(43, 1, 1_017, HZ);
    assert_eq!(cc.course.epoch.start, 1_017);
}

#[test]
fn reno_friendly_by_hand() {
    let (mut cc, w) = reduced(15);
    assert_eq!((w.cwnd, cc.course.settings.reno_pace), (10, 15));
    // 10 x 15 / 8 = 18 segments for each of the estimate; W_est moves once *more* than that are acknowledged.
    cc.course.update(10, 18, 1_000, HZ);
    assert_eq!(cc.course.epoch.w_est, 10);
    let from_curve = cc.course.epoch.pace;
    cc.course.update(10, 1, 1_008, HZ);
    assert_eq!((cc.course.epoch.w_est, cc.course.epoch.acked), (11, 1));
    // 15 - floor(0.4 x 2.32^3 = 4.99) = 11 as well: both ask for one segment a window.
    assert_eq!((from_curve, cc.course.epoch.pace), (10, 10));
    cc.course.update(10, 36, 1_016, HZ);
    assert_eq!(
        (cc.course.epoch.w_est, cc.course.epoch.pace),
        (13, 3),
        "37 are two steps; 10 / 3"
    );
    // One segment above the window is above: 15 / 1, where the curve is at its plateau of 15.
    cc.course.epoch.w_est = 16;
    cc.course.update(15, 0, 1_588, HZ);
    assert_eq!((cc.course.epoch.w_est, cc.course.epoch.pace), (16, 15));
    // What was acknowledged before a new epoch does not count in it.
    cc.ssthresh(&window(12), 0);
    cc.course.update(8, 3, 1_600, HZ);
    assert_eq!((cc.course.epoch.w_est, cc.course.epoch.acked), (8, 3));
}

#[test]
fn before_the_first_reduction_growth_is_one_for_twenty() {
    let mut cc = Cubic::default();
    let mut w = window(50);
    for _ in 0..20 {
        cc.increase(&mut w, &ack(1_000, 1));
    }
    assert_eq!((cc.course.epoch.pace, w.cwnd), (20, 51));
}

#[test]
fn rtt_samples_of_an_epochs_first_second_do_not_count() {
    let (mut cc, mut w) = reduced(60);
    let sample = |cc: &mut Cubic, w: &mut Window, jiffies, rtt| {
        cc.on_ack(
            w,
            &Ack {
                rtt: Some(rtt),
                ..ack(jiffies, 1)
            },
        );
        cc.course.epoch.delay_min
    };
    assert_eq!(sample(&mut cc, &mut w, 999, 3 * MS), 3_000);
    cc.increase(&mut w, &ack(1_000, 1));
    assert_eq!(sample(&mut cc, &mut w, 1_249, 2 * MS), 3_000);
    assert_eq!(sample(&mut cc, &mut w, 1_250, 2 * MS), 2_000);
    assert_eq!(sample(&mut cc, &mut w, 1_251, 4 * MS), 2_000);
    cc.course
        .hystart
        .on_ack(&mut w, &ack(1_251, 1), 4_000, 2_000);
    assert_ne!(cc.course.hystart, HyStart::NONE);
    cc.on_state(&mut w, State::Timeout, 0);
    assert_eq!(cc.course.epoch, Epoch::NONE);
    assert_eq!(cc.course.hystart, HyStart::NONE);
}

#[test]
fn idle_time_moves_the_epoch() {
    let (mut cc, mut w) = reduced(60);
    cc.on_ack(&mut w, &ack(1_000, 1));
    cc.on_restart(&mut w, 1_100 * TICK, 90 * TICK);
    assert_eq!(cc.course.epoch.start, NEVER, "no epoch to move");
    cc.increase(&mut w, &ack(1_000, 1));
    cc.on_restart(&mut w, 1_100 * TICK, 90 * TICK);
    assert_eq!(cc.course.epoch.start, 1_090);
    cc.on_restart(&mut w, 1_100 * TICK, 90 * TICK);
    assert_eq!(cc.course.epoch.start, 1_100, "not into the future");
    cc.on_restart(&mut w, 1_200 * TICK + 3 * MS, 3 * MS);
    assert_eq!(cc.course.epoch.start, 1_100, "within a tick");
}

#[test]
fn hystart_can_be_switched_off() {
    for (switch, expected) in [(1.0, 100), (0.0, u32::MAX)] {
        let mut cc = Cubic::configured(&[0.7, 0.4, 1.0, 1.0, switch]);
        let mut w = Window {
            cwnd: 100,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        for i in 0..20u32 {
            // From 10 ms the delay jumps to 20.
            let rtt = if i == 0 { 10 * MS } else { 20 * MS };
            let sequence = Ack {
                prior_una: i * 1_000,
                una: (i + 1) * 1_000,
                nxt: 1 << 20,
                ..ack(0, 1)
            };
            cc.on_ack(
                &mut w,
                &Ack {
                    now: u64::from(i) * 3 * MS,
                    rtt: Some(rtt),
                    ..sequence
                },
            );
        }
        // The round's minimum is of the first sample, too; the next round sees the jump.
        assert_eq!(w.ssthresh, u32::MAX);
        for i in 0..9u32 {
            let una = (1 << 20) + 1 + i;
            let sequence = Ack {
                prior_una: una - 1,
                una,
                nxt: 1 << 21,
                ..ack(100, 1)
            };
            cc.on_ack(
                &mut w,
                &Ack {
                    now: 1_000 * MS + u64::from(i) * 3 * MS,
                    rtt: Some(20 * MS),
                    ..sequence
                },
            );
        }
        assert_eq!(w.ssthresh, expected);
    }
}

#[test]
fn defaults_are_linuxs() {
    let defaults: Vec<f64> = Cubic::PARAMETERS.iter().map(|p| p.default).collect();
    assert_eq!(Cubic::configured(&defaults), Cubic::default());
}
