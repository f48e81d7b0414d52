// SPDX-License-Identifier: MIT OR Apache-2.0
//! What congestion controls that model the path are given: rate samples and a pacing rate of their own.
use crate::common::{Fate, MS, Pair, SECOND, US};
use etalon_tcp::cc::{Ack, CongestionControl, RateSample, Reno, State, Window};
use etalon_tcp::{Config, Connection, Segment};

/// A control with a fixed window, and a pacing rate if asked for, that collects samples.
#[derive(Clone, Debug, Default)]
struct Collector {
    cwnd: u32,
    bytes_per_second: Option<u64>,
    samples: Vec<RateSample>,
    /// Round trips in nanoseconds, and with them in microseconds.
    rtts: Vec<(u64, u64)>,
}

impl CongestionControl for Collector {
    fn on_rate_sample(&mut self, _window: &mut Window, sample: &RateSample) {
        self.samples.push(*sample);
    }

    fn on_ack(&mut self, _window: &mut Window, ack: &Ack) {
        self.rtts.extend(ack.rtt.zip(ack.rtt_us()));
    }

    fn increase(&mut self, window: &mut Window, _ack: &Ack) {
        window.cwnd = self.cwnd;
    }

    fn ssthresh(&mut self, _window: &Window, _now: u64) -> u32 {
        self.cwnd
    }

    fn on_state(&mut self, window: &mut Window, _state: State, _now: u64) {
        window.cwnd = self.cwnd;
    }

    fn pacing_rate(&self, _window: &Window, _mss: u32) -> Option<u64> {
        self.bytes_per_second
    }

    fn wants_pacing(&self) -> bool {
        self.bytes_per_second.is_some()
    }

    fn wants_rate_samples(&self) -> bool {
        true
    }
}

/// A pair whose link carries a segment each 100 us, with an RTT of 2.1 ms: 21 segments fill it.
fn pair(
    cc: Collector,
    fate: impl FnMut(u64, bool, &Segment) -> Fate,
) -> Pair<Collector, impl FnMut(u64, bool, &Segment) -> Fate> {
    let roomy = Config {
        receive_buffer: 64 << 20,
        initial_receive_window: 64 << 20,
        ..Config::default()
    };
    let eager = Config {
        tso_win_divisor: 100,
        ..Config::default()
    };
    let client = Connection::client(eager, cc);
    let server = Connection::server(roomy, Collector::default());
    let mut pair = Pair::new(client, server, MS, fate);
    pair.transmission = 100 * US;
    pair
}

fn samples(pair: &Pair<Collector, impl FnMut(u64, bool, &Segment) -> Fate>) -> &[RateSample] {
    &pair.client.path().congestion_control().samples
}

#[test]
fn samples_show_the_rate_of_the_bottleneck() {
    let cc = Collector {
        cwnd: 60,
        ..Collector::default()
    };
    let mut pair = pair(cc, |_, _, _| Fate::Deliver);
    pair.client.write_forever();
    pair.run(SECOND);
    let samples = samples(&pair);
    assert!(samples.len() > 1_000);
    for sample in &samples[100..] {
        let rate = sample.segments_per_second();
        assert!((9_500.0..=10_500.0).contains(&rate), "{rate} {sample:?}");
        assert!(
            !sample.sent.app_limited && sample.sent.in_flight >= 59 && sample.lost == 0,
            "{sample:?}"
        );
    }
}

#[test]
fn a_window_below_what_fills_the_path_shows_its_own_rate() {
    let cc = Collector {
        cwnd: 7,
        ..Collector::default()
    };
    let mut pair = pair(cc, |_, _, _| Fate::Deliver);
    pair.client.write_forever();
    pair.run(SECOND);
    let last = samples(&pair).last().expect("many");
    // 7 segments a round trip, which delayed ACKs make a little longer than 2.1 ms.
    let rate = last.segments_per_second();
    assert!((2_500.0..=3_340.0).contains(&rate), "{rate}");
}

#[test]
fn what_an_application_writes_now_and_then_is_marked_so() {
    let cc = Collector {
        cwnd: 60,
        ..Collector::default()
    };
    let mut pair = pair(cc, |_, _, _| Fate::Deliver);
    for n in 1..50 {
        pair.client.write(5 * 8948);
        pair.run(n * 20 * MS);
    }
    let samples = samples(&pair);
    assert!(samples.len() > 100 && samples[10..].iter().all(|s| s.sent.app_limited));
}

#[test]
fn losses_are_counted_and_do_not_break_the_rate() {
    let mut n = 0;
    let cc = Collector {
        cwnd: 60,
        ..Collector::default()
    };
    let mut pair = pair(cc, move |_, to_server, s| {
        n += u32::from(to_server && s.len > 0);
        if to_server && s.len > 0 && n % 40 == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    pair.client.write_forever();
    pair.run(SECOND);
    let lost = pair.client.stats().lost;
    let samples = samples(&pair);
    assert!(lost > 200 && samples.iter().any(|s| s.lost > 0));
    for sample in &samples[100..] {
        assert!(sample.segments_per_second() <= 10_500.0, "{sample:?}");
    }
}

#[test]
fn a_control_sets_the_pacing_rate() {
    // A quarter of what the link carries, though the window would fill it.
    let rate = 8948 * 2_500;
    let cc = Collector {
        cwnd: 60,
        bytes_per_second: Some(rate),
        ..Collector::default()
    };
    let mut pair = pair(cc, |_, _, _| Fate::Deliver);
    pair.client.write_forever();
    pair.run(SECOND);
    let times: Vec<u64> = pair.data().skip(20).map(|l| l.at).collect();
    assert!(times.windows(2).all(|t| t[1] - t[0] >= 399 * US), "bursts");
    assert!(times.len() > 2_400, "{}", times.len());
}

#[test]
fn round_trips_are_told_to_the_nanosecond() {
    let cc = Collector {
        cwnd: 1,
        ..Collector::default()
    };
    let mut pair = pair(cc, |_, _, _| Fate::Deliver);
    (pair.delay, pair.transmission) = (12_345, 0);
    for n in 1..40 {
        pair.client.write(2 * 8948);
        pair.run(n * 50 * MS + n * 77);
    }
    let rtts = &pair.client.path().congestion_control().rtts;
    let least = rtts.iter().min().expect("some");
    // There and back, and in microseconds one more or less, by when the segment left.
    assert_eq!(least.0, 2 * 12_345);
    let us: Vec<u64> = rtts
        .iter()
        .filter(|rtt| rtt.0 == least.0)
        .map(|rtt| rtt.1)
        .collect();
    assert!(
        us.contains(&24) && us.contains(&25) && us.iter().all(|us| matches!(us, 24 | 25)),
        "{us:?}"
    );
}

#[test]
fn a_control_may_want_less_than_a_segment_a_round_trip() {
    // One segment in 100 ms: the round trip takes 2.1 ms, and a delayed ACK 44 more.
    let cc = Collector {
        cwnd: 1,
        bytes_per_second: Some(8948 * 10),
        ..Collector::default()
    };
    let mut pair = pair(cc, |_, _, _| Fate::Deliver);
    pair.client.write_forever();
    pair.run(6 * SECOND);
    let times: Vec<u64> = pair.data().skip(11).map(|l| l.at).collect();
    assert!((50..=60).contains(&times.len()), "{}", times.len());
    assert!(
        times
            .windows(2)
            .all(|t| (100 * MS..101 * MS).contains(&(t[1] - t[0])))
    );
    assert_eq!(pair.client.stats().rtos, 0);
}

#[test]
fn pacing_spreads_the_window_over_the_round_trip() {
    let config = Config {
        pacing: true,
        ..Config::default()
    };
    let roomy = Config {
        receive_buffer: 64 << 20,
        ..Config::default()
    };
    let mut pair = Pair::new(
        Connection::client(config, Reno),
        Connection::server(roomy, Reno),
        5 * MS,
        |_, _, _: &Segment| Fate::Deliver,
    );
    pair.client.write_forever();
    pair.run(60 * MS);
    let times: Vec<u64> = pair.data().skip(12).map(|l| l.at).collect();
    let bursts = times.windows(2).filter(|w| w[0] == w[1]).count();
    assert!(
        times.len() > 40 && bursts < times.len() / 10,
        "{bursts} of {}",
        times.len()
    );
}
