// SPDX-License-Identifier: MIT OR Apache-2.0
//! BBR on one bottleneck, packet by packet: what its paper promises of a path whose rate and round trip are known.
//!
//! The path is a queue without a bound in front of a link, and a fixed delay. Segments leave paced and within the window; each is acknowledged.

use std::collections::VecDeque;

use etalon_tcp::cc::{Any, CongestionControl, RateSample, Report, SentState, State, Window};
use proptest::prelude::*;

const MSS: u32 = 1_448;
const MS: u64 = 1_000_000;
const BASE_RTT: u64 = 10 * MS;
/// Nanoseconds that the link takes for a segment, so that a base RTT holds a hundred.
const SERVICE: u64 = 100_000;
const BDP: u32 = 100;
/// Three quanta of a millisecond of the pace each may stand in the queue.
const QUANTA: u32 = 30;

struct Path {
    cc: Any,
    window: Window,
    now: u64,
    /// When the link is free, and what it takes for a segment.
    free: u64,
    service: u64,
    /// When ACKs arrive, and what was known when their segments were sent.
    acks: VecDeque<(u64, SentState)>,
    next_send: u64,
    delivered: u64,
    delivered_at: u64,
    first_sent_at: u64,
}

/// What one ACK showed.
#[derive(Clone, Copy)]
struct Seen {
    at: u64,
    rtt: u64,
    cwnd: u32,
    in_flight: u32,
}

impl Path {
    /// A connection that opens at `now`.
    fn new(now: u64) -> Path {
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        let mut cc = Any::by_name("bbr", &[]).expect("registered");
        cc.on_open(&mut window, Some(BASE_RTT), MSS);
        Path {
            cc,
            window,
            now,
            free: now,
            service: SERVICE,
            acks: VecDeque::new(),
            next_send: now,
            delivered: 0,
            delivered_at: 0,
            first_sent_at: 0,
        }
    }

    fn send(&mut self) {
        self.now = self.now.max(self.next_send);
        if self.acks.is_empty() {
            (self.first_sent_at, self.delivered_at) = (self.now, self.now);
        }
        self.free = self.free.max(self.now) + self.service;
        let state = SentState {
            sent_at: self.now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            in_flight: self.acks.len() as u32 + 1,
            lost: 0,
            app_limited: false,
        };
        self.acks.push_back((self.free + BASE_RTT - SERVICE, state));
        let rate = self.cc.pacing_rate(&self.window, MSS).expect("paced");
        self.next_send = self.now + u64::from(MSS) * 1_000_000_000 / rate;
    }

    fn take_ack(&mut self) -> Seen {
        let (at, sent) = self.acks.pop_front().expect("an ACK");
        self.now = at;
        self.delivered += 1;
        let interval = (sent.sent_at - sent.first_sent_at).max(at - sent.delivered_at);
        (self.delivered_at, self.first_sent_at) = (at, sent.sent_at);
        let sample = RateSample {
            sent,
            delivered: self.delivered - sent.delivered,
            lost: 0,
            interval,
        };
        self.cc.on_rate_sample(&mut self.window, &sample);
        let report = Report {
            now: at,
            delivered: 1,
            lost: 0,
            total_delivered: self.delivered,
            in_flight: self.acks.len() as u32,
            rtt: Some(at - sent.sent_at),
            state: State::Open,
        };
        self.cc.steer(&mut self.window, &report);
        Seen {
            at,
            rtt: at - sent.sent_at,
            cwnd: self.window.cwnd,
            in_flight: self.acks.len() as u32,
        }
    }

    /// Until `end`. Returns what the ACKs showed.
    fn run(&mut self, end: u64) -> Vec<Seen> {
        let mut seen = Vec::new();
        while self.now < end {
            let has_room = (self.acks.len() as u32) < self.window.cwnd;
            let first = self.acks.front().map_or(u64::MAX, |ack| ack.0);
            if has_room && self.next_send.max(self.now) <= first {
                self.send();
            } else {
                seen.push(self.take_ack());
            }
        }
        seen
    }
}

fn median_rtt(seen: &[Seen]) -> u64 {
    let mut rtts: Vec<u64> = seen.iter().map(|one| one.rtt).collect();
    rtts.sort_unstable();
    rtts[rtts.len() / 2]
}

/// Share of what a link of `service` ns a segment carries in `time`.
fn used(seen: &[Seen], service: u64, time: u64) -> f64 {
    seen.len() as f64 * service as f64 / time as f64
}

#[test]
fn startup_finds_the_rate_in_as_many_round_trips_as_doubling_takes() {
    let mut path = Path::new(0);
    // From 10 segments to 100: log2 10 = 3.3 doublings. Then three round trips without growth and one to drain, each up to 3.75 times as long
    // as without a queue, since 2.89 times 130 segments may be in flight; the doublings end in such long ones, too.
    let seen = path.run((4 + 4) * 15 * BASE_RTT / 4);
    let last = seen[seen.len() - 50..].iter();
    let most = last.map(|one| one.in_flight).max().expect("ACKs");
    assert!(most <= 5 * BDP / 4 + QUANTA, "the queue is drained: {most}");
    let most = seen.iter().map(|one| one.in_flight).max().expect("ACKs");
    let bound = (2.89 * f64::from(BDP + QUANTA)).ceil() as u32;
    assert!((2 * BDP..=bound).contains(&most), "{most}");
}

#[test]
fn the_link_is_full_and_the_queue_short() {
    let mut path = Path::new(0);
    path.run(500 * MS);
    let seen = path.run(9_500 * MS);
    assert!(used(&seen, SERVICE, 9_000 * MS) > 0.97);
    let queue = median_rtt(&seen) - BASE_RTT;
    // And the one that is being sent, and what is rounded up.
    assert!(queue <= u64::from(QUANTA + 3) * SERVICE, "{queue}");
    // A cwnd gain of 2, three quanta of the faster phase, and what ACKs aggregate.
    let most = seen.iter().map(|one| one.cwnd).max().expect("ACKs");
    assert!(most <= 2 * BDP + 5 * QUANTA / 4 + 10, "{most}");
}

#[test]
fn every_ten_seconds_the_path_is_emptied_for_two_hundred_milliseconds() {
    let mut path = Path::new(0);
    let seen = path.run(32_000 * MS);
    let low: Vec<u64> = seen
        .iter()
        .filter(|one| one.cwnd == 4)
        .map(|one| one.at)
        .collect();
    let mut begins = vec![low[0]];
    begins.extend(
        low.windows(2)
            .filter(|w| w[1] - w[0] > 1_000 * MS)
            .map(|w| w[1]),
    );
    // The shortest round trip is seen again now and then, which puts it off.
    assert!((2..=3).contains(&begins.len()), "{begins:?}");
    for begin in begins {
        let end = low
            .iter()
            .rfind(|&&at| at < begin + 1_000 * MS)
            .expect("low");
        let lasted = (end - begin) / MS;
        assert!((200..=240).contains(&lasted), "{lasted} ms");
    }
}

#[test]
fn the_clock_of_the_shortest_round_trip_begins_with_the_connection() {
    let begin = 30_000 * MS;
    let seen = Path::new(begin).run(begin + 9_000 * MS);
    assert!(
        seen.iter().all(|one| one.cwnd > 4),
        "no probe of the round trip yet"
    );
}

#[test]
fn the_rate_is_known_after_the_path_was_emptied() {
    let mut path = Path::new(0);
    let seen = path.run(20_000 * MS);
    let low = seen.iter().rfind(|one| one.cwnd == 4).expect("a probe");
    // The last probe ended long enough ago for a second of full use.
    let after = seen
        .iter()
        .filter(|one| (low.at + 20 * MS..low.at + 520 * MS).contains(&one.at));
    assert!(low.at < 19_400 * MS, "{}", low.at);
    let share = after.count() as f64 * SERVICE as f64 / (500 * MS) as f64;
    assert!(share > 0.95, "{share}");
}

#[test]
fn a_rate_that_doubles_or_halves_is_followed() {
    let mut path = Path::new(0);
    path.run(1_000 * MS);
    path.service = SERVICE / 2;
    // A quarter more in each cycle of eight round trips: 2 is reached after log 2 / log 1.25 = 3.1 of them.
    path.run(1_000 * MS + 40 * BASE_RTT);
    let seen = path.run(2_400 * MS);
    assert!(used(&seen, SERVICE / 2, 1_000 * MS) > 0.95);
    path.service = SERVICE;
    // The filter forgets after ten round trips, which the queue has made longer; then it drains.
    path.run(3_200 * MS);
    let seen = path.run(4_200 * MS);
    assert!(used(&seen, SERVICE, 1_000 * MS) > 0.95);
    let queue = median_rtt(&seen) - BASE_RTT;
    assert!(queue <= 5 * u64::from(QUANTA) * SERVICE / 4, "{queue}");
}

/// An ACK, the time since the last one in `now`, and the rate sample that comes with it, if any.
fn told() -> impl Strategy<Value = (Report, Option<RateSample>)> {
    let counts = (0..5_000_u32, 0..100_u32, 0..5_000_u32);
    let interval = prop_oneof![1..1_000_u64, 1..1_000_000_000_u64];
    let times = (interval, any::<Option<u32>>(), any::<bool>());
    let state = prop_oneof![
        4 => Just(State::Open),
        1 => Just(State::LimitedTransmit),
        1 => Just(State::Cwr),
        1 => Just(State::FastRecovery),
        1 => Just(State::Timeout)
    ];
    (counts, times, state).prop_map(
        |((delivered, lost, in_flight), (interval, rtt, app_limited), state)| {
            let sent = SentState {
                sent_at: 0,
                delivered: 0,
                delivered_at: 0,
                first_sent_at: 0,
                in_flight,
                lost: 0,
                app_limited,
            };
            let sample = RateSample {
                sent,
                delivered: delivered.into(),
                lost: lost.into(),
                interval,
            };
            let report = Report {
                now: interval,
                delivered,
                lost,
                total_delivered: 0,
                in_flight,
                rtt: rtt.map(u64::from),
                state,
            };
            (report, rtt.map(|_| sample))
        },
    )
}

proptest! {
    #[test]
    fn any_sequence_of_acks_keeps_window_and_pace_in_bounds(acks in proptest::collection::vec(told(), 1..200)) {
        let mut path = Path::new(0);
        let (mut now, mut delivered) = (1, 0);
        for (one, sample) in acks {
            now += one.now;
            delivered += u64::from(one.delivered);
            if one.state > State::LimitedTransmit {
                prop_assert_eq!(path.cc.ssthresh(&path.window, now), u32::MAX);
            }
            if let Some(mut sample) = sample {
                // A third of them begins a round trip.
                sample.sent.delivered = if one.delivered % 3 == 0 { delivered } else { 0 };
                path.cc.on_rate_sample(&mut path.window, &sample);
            }
            let report = Report { now, total_delivered: delivered, ..one };
            path.cc.steer(&mut path.window, &report);
            prop_assert!((1..=Window::MAX_CWND).contains(&path.window.cwnd));
            prop_assert!(path.cc.pacing_rate(&path.window, MSS).is_some_and(|rate| rate > 0));
        }
    }
}
