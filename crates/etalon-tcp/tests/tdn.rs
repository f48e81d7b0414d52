// SPDX-License-Identifier: MIT OR Apache-2.0
//! What TDTCP asks of a sender beyond a state for each TDN: when that is made, whose RTT counts, which losses wait, what changes do.
use crate::common::{Bench, Fate, MS, Pair, SECOND, US};
use etalon_tcp::cc::{Ack, Any, CongestionControl, Reno, State, Window};
use etalon_tcp::{Config, Connection, Segment, TdDataAck, TdnOption, Tdtcp};
use proptest::prelude::*;

const MSS: u64 = 8948;
const RTT: u64 = 10 * MS;

/// TDTCP without options, changed as asked.
fn config(change: impl Fn(&mut Tdtcp)) -> Config {
    let mut tdtcp = Tdtcp {
        options: false,
        ..Tdtcp::default()
    };
    change(&mut tdtcp);
    Config {
        tdtcp: Some(tdtcp),
        ..Config::default()
    }
}

/// A client with two paths after the handshake, which took `RTT`, with plenty of data.
fn sender<C: CongestionControl>(config: Config, controls: [C; 2]) -> Bench<C> {
    let [first, second] = controls;
    let config = Config {
        tso_win_divisor: 100, // no chunk waits for a larger one
        ..config
    };
    let mut client = Connection::client(config, first);
    client.add_paths([second].into());
    let mut bench = Bench::client(client, RTT, |_| {});
    bench.end.write_forever();
    bench
}

fn change<C: CongestionControl + Clone>(bench: &mut Bench<C>, tdn: u8) {
    bench.end.on_tdn(bench.now, tdn);
    bench.end.check_counters();
}

#[test]
fn the_state_of_a_tdn_is_made_when_it_is_first_heard_of() {
    let mut b = sender(config(|_| {}), [Reno, Reno]);
    assert_eq!(b.end.paths().count(), 1);
    b.sent();
    b.wait(RTT);
    b.ack(10, &[]);
    assert_eq!(b.cwnd(), 20);
    change(&mut b, 1);
    assert_eq!(b.end.paths().count(), 2);
    let path = b.end.path();
    assert_eq!((path.id(), path.srtt(), path.rto_ticks()), (1, 0, 250));
    assert_eq!((path.window().cwnd, path.window().ssthresh), (10, u32::MAX));
    // A TDN that was never spoken of.
    change(&mut b, 7);
    assert_eq!(b.end.path().id(), 1);
}

/// Three segments of TDN 0 overtake the first, which is sent again. `away`: TDN 1 is in use for a moment then.
fn needless(timestamps: bool, away: bool) -> Bench<Reno> {
    let config = Config {
        timestamps,
        ..config(|_| {})
    };
    let mut b = sender(config, [Reno, Reno]);
    b.sent();
    b.wait(RTT);
    assert_eq!(b.ack(0, &[(1, 4)])[0], 0);
    assert_eq!(b.state(), State::FastRecovery);
    if away {
        change(&mut b, 1);
        b.wait(MS);
        change(&mut b, 0);
    }
    b.wait(MS);
    b
}

#[test]
fn timestamps_do_not_undo_what_was_reduced_before_another_tdn() {
    for away in [false, true] {
        let mut b = needless(true, away);
        let sent = b.now - 2 * MS - RTT - u64::from(away) * MS;
        b.echo = Some((sent / MS) as u32 + 1);
        b.ack(4, &[]);
        assert_eq!(b.end.stats().undos, u32::from(!away), "away {away}");
        assert_eq!(b.ssthresh() == u32::MAX, !away, "away {away}");
    }
}

#[test]
fn dsacks_undo_whatever_tdn_was_in_use() {
    for away in [false, true] {
        let mut b = needless(false, away);
        b.ack(4, &[]);
        assert_eq!(b.state(), State::FastRecovery);
        b.wait(RTT);
        b.ack(5, &[(0, 1)]);
        assert_eq!(b.end.stats().undos, 1, "away {away}");
    }
}

/// Ten segments on TDN 0, then ten on TDN 1, five milliseconds later, four of which are the first to arrive.
fn overtaken(relaxed: bool) -> Bench<Reno> {
    let mut b = sender(config(|tdtcp| tdtcp.relaxed = relaxed), [Reno, Reno]);
    assert_eq!(b.sent().len(), 10);
    b.wait(5 * MS);
    change(&mut b, 1);
    assert_eq!(b.sent().len(), 10);
    b.wait(2 * MS);
    b.ack(0, &[(10, 14)]);
    b.end.check_counters();
    b
}

#[test]
fn losses_of_another_tdn_wait_for_its_acks() {
    let b = overtaken(false);
    assert_eq!((b.end.stats().lost, b.end.stats().recoveries), (10, 1));
    let mut b = overtaken(true);
    assert_eq!(b.end.stats().lost, 0);
    // They come: no harm was done.
    b.wait(3 * MS);
    b.ack(14, &[]);
    assert_eq!(
        (b.end.stats().retransmits, b.end.stats().recoveries),
        (0, 0)
    );
    // They do not: lost by the reordering timer, and TDN 0 pays.
    let mut b = overtaken(true);
    b.fire();
    assert!(b.now <= 3 * RTT, "{} us", b.now / US);
    let states: Vec<_> = b
        .end
        .paths()
        .map(|path| (path.id(), path.recovery_state(), path.pipe().lost))
        .collect();
    assert_eq!(
        states,
        [(1, State::LimitedTransmit, 0), (0, State::FastRecovery, 10)]
    );
    b.end.check_counters();
}

/// No ACKs pace the reduction of a TDN that is not in use: its window is the threshold at once, also when it comes back.
#[test]
fn a_tdn_that_is_not_in_use_reduces_its_window_at_once() {
    let mut b = overtaken(true);
    b.fire();
    change(&mut b, 0);
    assert_eq!(
        (b.state(), b.cwnd(), b.ssthresh()),
        (State::FastRecovery, 5, 5)
    );
}

#[test]
fn losses_of_the_same_tdn_do_not_wait() {
    for relaxed in [false, true] {
        let mut b = sender(config(|tdtcp| tdtcp.relaxed = relaxed), [Reno, Reno]);
        b.sent();
        b.wait(5 * MS);
        change(&mut b, 1);
        b.sent();
        b.wait(2 * MS);
        // 10 and 11 are lost, of the same TDN as what arrives.
        b.ack(10, &[]);
        b.ack(10, &[(12, 16)]);
        assert_eq!(b.end.stats().lost, 2, "relaxed {relaxed}");
    }
}

/// Data on TDN 1, its ACK on the TDN that is said; with options. Returns TDN 1's smoothed RTT.
fn sampled(ack: Option<u8>, all: bool) -> u64 {
    let config = config(|tdtcp| (tdtcp.options, tdtcp.all_rtts) = (true, all));
    let mut client = Connection::client(config, Reno);
    client.add_paths([Reno].into());
    let mut b = Bench::client(client, RTT, |syn| syn.tdn = Some(TdnOption::Capable(2)));
    b.end.write_forever();
    b.end.on_tdn(b.now, 1);
    let mut last = Segment::default();
    while let Some(segment) = b.poll() {
        assert!(matches!(segment.tdn, Some(TdnOption::DataAck(t)) if t.data == Some(1)));
        last = segment;
    }
    b.wait(3 * MS);
    let segment = Segment {
        ack: last.seq.wrapping_add(u32::from(last.len)),
        tdn: Some(TdnOption::DataAck(TdDataAck { data: None, ack })),
        ..b.ack_segment(0, &[])
    };
    b.inject(&segment, false);
    b.end.path().srtt()
}

#[test]
fn an_rtt_counts_if_data_and_ack_went_by_the_same_tdn() {
    assert_eq!(sampled(Some(1), false), 3 * MS);
    assert_eq!(sampled(Some(0), false), 0);
    assert_eq!(sampled(Some(0), true), 3 * MS);
}

/// So on the Linux engine; the receiver may hear of a TDN before the sender does.
#[test]
fn an_echo_shows_no_rtt_where_the_ack_names_another_tdn() {
    for (ack, is_sample) in [(0, true), (1, false)] {
        let mut b = sender(config(|_| {}), [Reno, Reno]);
        b.sent();
        b.wait(RTT);
        assert_eq!(b.ack(0, &[(1, 4)])[0], 0);
        assert_eq!(b.end.path().srtt(), RTT);
        b.wait(2 * RTT);
        let tdns = TdDataAck {
            data: None,
            ack: Some(ack),
        };
        let segment = Segment {
            tdn: Some(TdnOption::DataAck(tdns)),
            ..b.ack_segment(4, &[])
        };
        b.inject(&segment, false);
        assert_eq!(b.end.path().srtt() != RTT, is_sample, "by TDN {ack}");
    }
}

#[test]
fn without_options_an_rtt_counts_if_the_tdn_has_not_changed_since() {
    for (back, expected) in [(false, 3 * MS), (true, 0)] {
        let mut b = sender(config(|_| {}), [Reno, Reno]);
        change(&mut b, 1);
        assert_eq!(b.sent().len(), 10);
        b.wait(3 * MS);
        if back {
            change(&mut b, 0);
            change(&mut b, 1);
        }
        b.ack(10, &[]);
        assert_eq!(b.end.path().srtt(), expected);
    }
}

/// TDN 0 takes 10 ms, TDN 1 two.
fn both_known(config: Config) -> Bench<Reno> {
    let mut b = sender(config, [Reno, Reno]);
    change(&mut b, 1);
    b.sent();
    b.wait(2 * MS);
    b.ack(10, &[]);
    assert_eq!(b.end.path().srtt(), 2 * MS);
    b.wait(2 * MS);
    b.ack(30, &[]);
    b
}

#[test]
fn timers_take_half_of_the_slowest_rtt() {
    // What is left of the window after the last burst goes out, and nothing comes back.
    let plain = Config::default();
    let mut b = both_known(config(|_| {}));
    b.end.shutdown();
    b.sent();
    let start = b.now;
    b.fire();
    // Two round trips of (2 + 10) / 2 ms, a margin of 2 ms: 14 ms on ticks of 4, and one.
    let probe = b.now - start;
    assert!((16 * MS..=20 * MS).contains(&probe), "{} us", probe / US);
    let sent = b.now;
    b.fire();
    // 6 ms and the smallest variance, 200 ms.
    let timeout = b.now - sent;
    let least = 6 * MS + plain.min_rto;
    assert!(
        timeout >= least - 4 * MS && timeout <= least + 12 * MS,
        "{} us",
        timeout / US
    );
    assert_eq!(b.end.stats().rtos, 1);
    // It doubles, whichever TDN is in use.
    let first = b.now;
    change(&mut b, 0);
    b.fire();
    assert!(
        b.now - first >= 2 * plain.min_rto,
        "{} us",
        (b.now - first) / US
    );
}

#[test]
fn a_downgrade_in_recovery_keeps_the_path_and_all_that_is_in_flight() {
    let mut b = overtaken(false);
    let (sum, before) = (b.end.paths().map(|p| p.in_flight()).sum::<u32>(), b.cwnd());
    b.end.downgrade();
    b.end.check_counters();
    assert_eq!(b.end.paths().count(), 1);
    assert_eq!((b.end.path().id(), b.cwnd()), (1, before));
    assert_eq!(
        (b.end.path().in_flight(), b.end.path().pipe().lost),
        (sum, 10)
    );
    b.end.on_tdn(b.now, 0);
    assert_eq!(b.end.path().id(), 1);
    // It goes on as plain TCP.
    let mut una = 0;
    for _ in 0..6 {
        b.wait(MS);
        una += b.ack(una, &[(10, 14)]).len() as u32;
        b.end.check_counters();
    }
}

/// What a TDN that does not come back had in flight is repaired over the other, at the latest by a timeout.
#[test]
fn a_tdn_that_never_comes_back_holds_nothing_up() {
    for lost_on_it in [1, 5, 10] {
        let mut b = sender(config(|_| {}), [Reno, Reno]);
        assert_eq!(b.sent().len(), 10);
        b.wait(5 * MS);
        change(&mut b, 1);
        let (left, first) = (b.now, 10 - lost_on_it);
        let mut missing: Vec<u32> = (first..10).collect();
        let mut next = 10;
        // Segments of TDN 1 arrive, the last ones of TDN 0 never do.
        let mut under_way = b.sent();
        while !missing.is_empty() {
            let passed = (b.now - left) / MS;
            assert!(passed < 1_000, "{missing:?} after {passed} ms");
            if under_way.is_empty() {
                under_way = b.fire();
                continue;
            }
            b.now = (b.now + 2 * MS).min(b.end.next_timer());
            missing.retain(|segment| !under_way.contains(segment));
            next = under_way.iter().fold(next, |next, last| next.max(last + 1));
            under_way = match missing.first() {
                Some(&hole) => b.ack(hole, &[(10, next)]),
                None => b.ack(next, &[]),
            };
            b.end.check_counters();
        }
        assert_eq!((b.end.path().id(), b.end.stats().rtos), (1, 0));
        assert!(b.end.stats().retransmits >= u64::from(lost_on_it));
    }
}

#[test]
fn the_first_round_trip_after_a_change_may_be_paced() {
    for paced in [false, true] {
        let config = config(|tdtcp| tdtcp.pace_burst = paced);
        let mut client = Connection::client(config, Reno);
        client.add_paths([Reno].into());
        let mut b = Bench::client(client, RTT, |_| {});
        change(&mut b, 1);
        b.end.write(10 * MSS);
        assert_eq!(b.sent().len(), 10);
        b.wait(2 * MS);
        b.ack(10, &[]);
        change(&mut b, 0);
        b.wait(MS);
        b.end.write(100 * MSS);
        let (start, before) = (b.now, b.cwnd());
        change(&mut b, 1);
        assert_eq!((b.end.path().srtt(), b.cwnd(), before), (2 * MS, 20, 10));
        let mut sent = b.sent().len();
        assert_eq!(sent, if paced { 1 } else { 20 });
        let mut times = 0;
        while sent < 20 {
            b.now = b.end.next_timer();
            b.end.on_timer(b.now);
            sent += b.sent().len();
            times += 1;
        }
        // Twice as fast as a window in a round trip, as always in slow start.
        assert!(b.now - start <= 2 * MS, "{} us", (b.now - start) / US);
        assert!(!paced || times >= 10, "{times} times");
        // What comes after the first round trip is not paced.
        b.now = start + 3 * MS;
        assert!(b.ack(30, &[]).len() > 15);
    }
}

#[test]
fn the_pacing_rate_counts_what_is_outstanding_on_all_tdns() {
    let config = config(|tdtcp| tdtcp.pace_burst = true);
    let mut client = Connection::client(config, Reno);
    client.add_paths([Reno].into());
    let mut b = Bench::client(client, RTT, |_| {});
    let mut acked = 0;
    // TDN 0 learns its RTT, TDN 1 its own, and TDN 0 has a window of 40 in flight when TDN 1 comes back.
    for (tdn, segments, rtt) in [(0, 10, RTT), (1, 10, 2 * MS), (0, 20, RTT)] {
        change(&mut b, tdn);
        b.wait(RTT);
        b.end.write(segments * MSS);
        assert_eq!(b.sent().len() as u64, segments);
        b.wait(rtt);
        acked += segments as u32;
        b.ack(acked, &[]);
    }
    b.end.write(70 * MSS);
    assert_eq!(b.sent().len(), 40);
    change(&mut b, 1);
    assert_eq!((b.cwnd(), b.end.path().srtt()), (20, 2 * MS));
    assert_eq!(b.sent().len(), 1);
    // Twice the rate, as always in slow start, of 40 segments and that which has just left.
    let gap = 2 * MS / (2 * 41);
    assert!((b.end.next_timer() - b.now).abs_diff(gap) < US);
}

#[test]
fn notices_do_not_hold_up_what_is_paced() {
    for told in [None, Some(0), Some(9)] {
        let config = Config {
            pacing: true,
            ..config(|_| {})
        };
        let mut client = Connection::client(config, Reno);
        client.add_paths([Reno].into());
        let mut b = Bench::client(client, RTT, |_| {});
        b.end.write(30 * MSS);
        // Ten go at once, unpaced.
        let mut next = b.sent().len() as u32;
        b.wait(RTT);
        next += b.ack(next, &[]).len() as u32;
        while next < 30 {
            let due = b.end.next_timer();
            assert!(due < b.now + RTT, "{told:?}: nothing is due");
            b.now = due;
            if let Some(tdn) = told {
                b.end.on_tdn(b.now, tdn);
            }
            b.end.on_timer(b.now);
            next += b.sent().len() as u32;
        }
    }
}

/// Notes how long it is told that it was idle.
#[derive(Clone, Debug, Default)]
struct Restarts(Vec<u64>);

impl CongestionControl for Restarts {
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        window.increase(ack, |_, _| u32::MAX);
    }

    fn ssthresh(&mut self, window: &Window, _: u64) -> u32 {
        window.cwnd / 2
    }

    fn on_restart(&mut self, _: &mut Window, _: u64, idle: u64) {
        self.0.push(idle);
    }
}

#[test]
fn time_away_is_not_of_a_congestion_controls_clock() {
    let mut b = sender(config(|_| {}), [Restarts::default(), Restarts::default()]);
    b.sent();
    let before = b.end.path().congestion_control().0.len();
    b.wait(MS);
    change(&mut b, 1);
    b.sent();
    b.wait(4 * MS);
    change(&mut b, 0);
    let told = |b: &Bench<Restarts>| b.end.path().congestion_control().0[before..].to_vec();
    assert_eq!(told(&b), [4 * MS], "while segments were in flight, too");
    b.wait(MS);
    b.ack(20, &[]);
    // Its last segment went out 6 ms ago, of which it was away for four.
    assert_eq!(told(&b), [4 * MS, 2 * MS]);
}

fn control(index: u8) -> Any {
    let name = ["reno", "cubic", "dctcp", "scalable"][usize::from(index) % 4];
    Any::by_name(name, &[]).expect("a registered name")
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        10 => Just(Fate::Deliver),
        2 => Just(Fate::Drop),
        1 => (1..8_000_u64).prop_map(|us| Fate::Late(us * US)),
        1 => (0..8_000_u64).prop_map(|us| Fate::Twice(us * US)),
        1 => Just(Fate::Mark),
    ];
    prop::collection::vec(fate, 1..150)
}

/// What happens to segments in the order in which they enter the link; then it is a good one.
fn script(fates: Vec<Fate>) -> impl FnMut(u64, bool, &Segment) -> Fate {
    let mut fates = fates.into_iter();
    move |_, _, _| fates.next().unwrap_or(Fate::Deliver)
}

fn end(server: bool, config: &Config, tdns: u8, cc: u8) -> Connection<Any> {
    let mut end = if server {
        Connection::server(config.clone(), control(cc))
    } else {
        Connection::client(config.clone(), control(cc))
    };
    let other = |tdn| cc.wrapping_add(if cc % 4 == 2 { 0 } else { tdn * 3 });
    end.add_paths((1..tdns).map(|tdn| control(other(tdn))).collect());
    end
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every counter of every path and every sum is what a walk over the scoreboard finds, after each thing that happens.
    #[test]
    fn counters_are_what_the_scoreboard_says_after_every_event(
        fates in fates(),
        notices in prop::collection::vec(prop::option::weighted(0.3, 0..5_u8), 1..400),
        segments in 1..150_u64,
        tdns in 2..5_u8,
        cc: u8,
        options: bool,
        relaxed: bool,
        shared_pipe: bool,
        all_rtts: bool,
        pace_burst: bool,
        downgrade in prop::option::weighted(0.2, 0..200_usize),
    ) {
        let config = config(|t| *t = Tdtcp { tdns, options, relaxed, shared_pipe, all_rtts, pace_burst });
        let mut pair = Pair::new(end(false, &config, tdns, cc), end(true, &config, tdns, cc), MS, script(fates));
        pair.transmission = 20 * US;
        pair.client.write(segments * MSS);
        pair.server.write(segments * 1_000);
        let done = |end: &Connection<Any>| end.is_established() && end.all_acked();
        let mut step = 0;
        while !(done(&pair.client) && done(&pair.server)) {
            if let Some(Some(tdn)) = notices.get(step) {
                pair.client.on_tdn(pair.now, *tdn);
                pair.client.check_counters();
                pair.server.on_tdn(pair.now, *tdn);
                pair.server.check_counters();
            }
            if downgrade == Some(step) {
                pair.client.downgrade();
            }
            prop_assert!(pair.step(2_000 * SECOND), "stuck: {:?}", pair.client);
            pair.client.check_counters();
            pair.server.check_counters();
            step += 1;
        }
        prop_assert_eq!(pair.server.bytes_received(), segments * MSS);
        prop_assert_eq!(pair.client.bytes_received(), segments * 1_000);
        for path in pair.client.paths().chain(pair.server.paths()) {
            prop_assert_eq!((path.in_flight(), path.pipe().outstanding, path.pipe().lost), (0, 0, 0));
        }
    }

    /// One TDN, whatever is said of it and of others, options off: not a segment differs from plain TCP's.
    #[test]
    fn with_one_tdn_it_is_plain_tcp(
        fates in fates(),
        notices in prop::collection::vec(prop::option::of(any::<u8>()), 1..300),
        segments in 1..150_u64,
        cc: u8,
        pace_burst: bool,
    ) {
        let run = |config: &Config, notices: &[Option<u8>]| -> Vec<_> {
            let ends = (end(false, config, 1, cc), end(true, config, 1, cc));
            let mut pair = Pair::new(ends.0, ends.1, MS, script(fates.clone()));
            pair.transmission = 20 * US;
            pair.client.write(segments * MSS);
            let mut notices = notices.iter();
            while !(pair.client.is_established() && pair.client.all_acked()) {
                if let Some(Some(tdn)) = notices.next() {
                    pair.client.on_tdn(pair.now, *tdn);
                    pair.server.on_tdn(pair.now, *tdn);
                }
                assert!(pair.step(2_000 * SECOND), "stuck: {:?}", pair.client);
            }
            pair.log.iter().map(|l| (l.at, l.to_server, l.segment.clone())).collect()
        };
        let tdtcp = config(|t| (t.tdns, t.pace_burst) = (1, pace_burst));
        prop_assert_eq!(run(&Config::default(), &[]), run(&tdtcp, &notices));
    }
}
