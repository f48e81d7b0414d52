// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scripted exchanges: losses, reordering, probes, timeouts, and what undoes them. Segments are counted from 0.
use crate::common::{Bench, MS, US};
use etalon_tcp::cc::{Ack, CongestionControl, Reno, State, Window};
use etalon_tcp::{Config, Connection};

const RTT: u64 = 10 * MS;

/// A sender with plenty of data and 10 segments in flight, an RTT before their ACKs.
/// A sender that holds nothing back.
fn sender_with(config: Config) -> Bench<Reno> {
    let config = Config {
        tso_win_divisor: 100,
        ..config
    };
    let mut bench = Bench::client(Connection::client(config, Reno), RTT, |_| {});
    bench.end.write_forever();
    assert_eq!(bench.sent(), (0..10).collect::<Vec<_>>());
    bench.wait(RTT);
    bench
}

fn sender() -> Bench<Reno> {
    sender_with(Config::default())
}

#[test]
fn slow_start_sends_two_for_each_segment_acknowledged() {
    let mut b = sender();
    assert_eq!(b.ack(2, &[]), [10, 11, 12, 13]);
    assert_eq!(b.cwnd(), 12);
    assert_eq!(b.end.path().srtt(), RTT);
}

#[test]
fn limited_transmit_then_recovery_on_the_third_duplicate() {
    let mut b = sender();
    assert_eq!(b.ack(0, &[(1, 2)]), [10]);
    assert_eq!(b.state(), State::LimitedTransmit);
    assert_eq!(b.ack(0, &[(1, 3)]), [11]);
    // The third makes RACK's reordering window zero; RACK marks what was sent no later than the SACKed ones.
    assert_eq!(b.ack(0, &[(1, 4)]), [0]);
    assert_eq!(b.state(), State::FastRecovery);
    assert_eq!(b.ssthresh(), 5);
    assert_eq!(b.end.stats().retransmits, 1);
}

#[test]
fn prr_halves_the_window_over_the_round_trip() {
    let mut b = sender();
    b.ack(0, &[(1, 2)]);
    b.ack(0, &[(1, 3)]);
    assert_eq!(b.ack(0, &[(1, 4)]), [0]);
    let mut sent = Vec::new();
    for n in 5..=10 {
        b.wait(100 * US);
        sent.push(b.ack(0, &[(1, n)]).len());
    }
    assert!(sent.iter().all(|&n| n <= 1), "bursts: {sent:?}");
    // Every other delivery lets a segment out until as many are in flight as the threshold says.
    assert_eq!(sent, [0, 1, 0, 1, 0, 0]);
    assert_eq!(b.end.path().in_flight(), 5);
    b.wait(RTT - 600 * US);
    b.ack(12, &[]);
    assert_eq!(b.state(), State::Open);
    assert_eq!(b.ssthresh(), 5);
    assert!(b.cwnd() <= 6, "cwnd {}", b.cwnd());
}

#[test]
fn reordering_within_a_quarter_of_the_rtt_is_forgiven() {
    let mut b = sender();
    assert_eq!(b.ack(0, &[(1, 2)]), [10]);
    assert_eq!(b.ack(0, &[(1, 3)]), [11]);
    b.wait(2 * MS);
    b.ack(3, &[]);
    assert_eq!(b.state(), State::Open);
    let stats = b.end.stats();
    assert_eq!(
        (stats.retransmits, stats.recoveries, stats.reorderings > 0),
        (0, 0, true)
    );
}

#[test]
fn once_reordering_was_seen_even_three_duplicates_wait_for_the_reordering_timer() {
    let mut b = sender();
    b.ack(0, &[(1, 2)]);
    b.wait(MS);
    b.ack(10, &[]);
    b.wait(RTT - MS);
    // 11 to 14 overtake 10 and, RACK's window being open, nothing is resent at once.
    let sent = b.ack(10, &[(11, 15)]);
    assert!(
        !sent.contains(&10) && b.state() == State::LimitedTransmit,
        "{sent:?} {:?}",
        b.state()
    );
    // min_rtt / 4 = 2.5 ms with the margin of 2 ms are two ticks, with the wheel's one at most three.
    let armed = b.now;
    assert_eq!(b.fire(), [10]);
    assert!(
        b.now > armed + 4 * MS && b.now <= armed + 12 * MS,
        "after {} us",
        (b.now - armed) / US
    );
    assert_eq!(b.now % (4 * MS), 0);
    assert_eq!(b.state(), State::FastRecovery);
}

#[test]
fn a_burst_of_losses_is_resent_as_prr_allows_in_order() {
    let mut b = sender();
    let mut resent = Vec::new();
    for n in 6..=10 {
        resent.extend(b.ack(0, &[(5, n)]));
        b.wait(10 * US);
    }
    assert_eq!(b.state(), State::FastRecovery);
    let only_lost: Vec<u32> = resent.iter().copied().filter(|&s| s < 5).collect();
    let mut sorted = only_lost.clone();
    sorted.sort_unstable();
    assert_eq!(only_lost, sorted);
    b.wait(RTT);
    let more = b.ack(only_lost.len() as u32, &[(5, 10)]);
    assert_eq!(more.first().copied(), Some(only_lost.len() as u32));
    assert_eq!(b.end.stats().rtos, 0);
}

#[test]
fn a_lost_retransmission_is_found_by_time_not_by_timeout() {
    let mut b = sender();
    b.ack(0, &[(1, 2)]);
    b.ack(0, &[(1, 3)]);
    assert_eq!(b.ack(0, &[(1, 4)]), [0]);
    b.wait(10 * US);
    let new = b.ack(0, &[(1, 10)]);
    assert!(!new.is_empty() && new.iter().all(|&s| s >= 12), "{new:?}");
    b.wait(RTT);
    // What was sent after the retransmission is SACKed, the retransmission is not: lost again.
    let last = *new.last().expect("new data");
    let sent = b.ack(0, &[(1, last + 1)]);
    assert_eq!(sent.first(), Some(&0));
    assert_eq!(b.end.stats().lost_retransmits, 1);
    assert_eq!(b.end.stats().rtos, 0);
}

#[test]
fn tail_loss_probe_after_two_round_trips() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    b.end.write(3 * 8948);
    assert_eq!(b.sent(), [0, 1, 2]);
    let start = b.now;
    assert_eq!(b.fire(), [2]);
    // 2 srtt and the margin of 2 ms = 6 ticks, wheel 1, and the tick under way.
    assert!(
        b.now > start + 24 * MS && b.now <= start + 28 * MS,
        "after {} us",
        (b.now - start) / US
    );
    assert_eq!((b.end.stats().tlps, b.end.stats().rtos), (1, 0));
    b.wait(RTT);
    // The probe's SACK shows that 0 and 1 are lost; PRR lets out as much as was delivered, then one more.
    assert_eq!(b.ack(0, &[(2, 3)]), [0]);
    assert_eq!(
        (b.state(), b.end.path().pipe().lost),
        (State::FastRecovery, 2)
    );
    b.wait(RTT);
    assert_eq!(b.ack(1, &[(2, 3)]), [1]);
}

#[test]
fn a_probe_that_repairs_the_loss_halves_the_window_once() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    b.end.write(8 * 8948);
    b.sent();
    b.wait(RTT);
    b.ack(7, &[]);
    // One segment in flight: its probe waits for the minimum timeout as well.
    let start = b.now;
    assert_eq!(b.fire(), [7]);
    assert!(b.now - start >= 200 * MS);
    b.wait(RTT);
    // More data, so that an ACK beyond the probe can arrive.
    b.end.write(8948);
    assert_eq!(b.sent(), [8]);
    let cwnd = b.cwnd();
    b.wait(RTT);
    b.ack(9, &[]);
    assert_eq!(b.cwnd(), cwnd / 2);
}

#[test]
fn a_needless_probe_costs_nothing() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    b.end.write(2 * 8948);
    b.sent();
    assert_eq!(b.fire(), [1]);
    let cwnd = b.cwnd();
    b.wait(US);
    b.ack(2, &[]);
    b.wait(RTT);
    b.ack(2, &[(1, 2)]);
    assert_eq!(b.end.stats().dsacks, 1);
    assert!(b.cwnd() >= cwnd);
    assert_eq!(b.state(), State::Open);
}

#[test]
fn timeouts_back_off_and_start_on_ticks() {
    let mut b = sender();
    assert_eq!(b.fire(), [9 + 1], "the probe sends new data first");
    let probe = b.now;
    let rto = b.end.path().rto_ticks();
    assert_eq!(b.fire(), [0]);
    let first = b.now;
    assert_eq!(first % (4 * MS), 0);
    assert!(first - probe >= rto * 4 * MS && first - probe <= (rto + 8) * 4 * MS);
    assert_eq!((b.state(), b.cwnd()), (State::Timeout, 1));
    assert_eq!(b.fire(), [0]);
    let second = b.now - first;
    assert!(
        second >= 2 * rto * 4 * MS && second <= (2 * rto + 16) * 4 * MS,
        "{} ms",
        second / MS
    );
    assert_eq!(b.fire(), [0]);
    assert_eq!(b.end.path().rto_ticks(), rto * 8);
    assert_eq!(b.ssthresh(), 5, "the threshold falls once");
    b.wait(RTT);
    b.ack(1, &[]);
    assert!(
        b.end.path().rto_ticks() <= rto + 8,
        "a new sample ends backoff"
    );
}

fn after_timeout() -> Bench<Reno> {
    let mut b = sender();
    b.fire();
    assert_eq!(b.fire(), [0]);
    assert_eq!(b.state(), State::Timeout);
    b
}

#[test]
fn eifel_undoes_a_spurious_timeout_by_timestamp() {
    let mut b = after_timeout();
    let (before, echo) = (b.cwnd(), 11);
    b.wait(US);
    // The ACK echoes the timestamp of the original.
    b.echo = Some(echo);
    b.ack(1, &[]);
    assert_eq!(b.state(), State::Open);
    assert!(b.cwnd() >= 10 && before == 1);
    assert_eq!((b.end.stats().undos, b.ssthresh()), (1, u32::MAX));
}

#[test]
fn frto_undoes_a_spurious_timeout_without_timestamps() {
    let config = Config {
        timestamps: false,
        ..Config::default()
    };
    let mut b = sender_with(config);
    b.fire();
    assert_eq!(b.fire(), [0]);
    b.wait(US);
    // Step 2b: new data, no retransmission.
    assert_eq!(b.ack(1, &[]), [11, 12]);
    assert_eq!(b.state(), State::Timeout);
    b.wait(US);
    // Step 3b: originals are acknowledged.
    b.ack(3, &[]);
    assert_eq!(b.state(), State::Open);
    assert_eq!((b.end.stats().frto_undos, b.ssthresh()), (1, u32::MAX));
    assert_eq!(b.end.stats().retransmits, 1);
}

#[test]
fn a_real_timeout_resends_what_is_lost_in_slow_start() {
    let mut b = after_timeout();
    b.wait(RTT);
    // F-RTO tries new data, which draws duplicate ACKs: the loss was real.
    assert_eq!(b.ack(1, &[]), [11, 12]);
    b.wait(RTT);
    let sent = b.ack(1, &[(11, 12)]);
    assert_eq!(sent.first(), Some(&1));
    assert_eq!(b.state(), State::Timeout);
    b.wait(RTT);
    // 2 to 10: slow start up to the threshold.
    let mut rounds = Vec::new();
    let mut una = 2;
    while b.state() == State::Timeout {
        let sent = b.ack(una, &[(11, 13)]);
        una += sent.iter().filter(|&&n| n < 11).count() as u32;
        una = if una == 11 { 13 } else { una };
        rounds.push(sent.len());
        b.wait(RTT);
    }
    assert_eq!(rounds[..2], [4, 5], "{rounds:?}");
    assert_eq!(
        (
            b.end.stats().undos,
            b.end.stats().rtos,
            b.end.stats().recoveries
        ),
        (0, 1, 0)
    );
    assert_eq!(b.ssthresh(), 5);
}

#[test]
fn dsack_undoes_a_needless_recovery() {
    // Without timestamps, so that Eifel does not come first.
    let mut b = sender_with(Config {
        timestamps: false,
        ..Config::default()
    });
    b.ack(0, &[(1, 2)]);
    b.ack(0, &[(1, 3)]);
    assert_eq!(b.ack(0, &[(1, 4)]), [0]);
    b.wait(US);
    b.ack(4, &[]);
    assert_eq!(b.state(), State::FastRecovery);
    b.wait(RTT);
    b.ack(5, &[(0, 1)]);
    assert_eq!(b.end.stats().undos, 1);
    assert!(b.ssthresh() > 5, "ssthresh {}", b.ssthresh());
}

#[test]
fn a_receiver_that_reneges_is_resent_everything() {
    let mut b = sender();
    b.ack(0, &[(1, 10)]);
    b.wait(RTT);
    // 0 and 1 arrive, yet the receiver stops short of what it SACKed.
    b.ack(1, &[]);
    assert!(b.end.next_timer() <= b.now + 20 * MS);
    let sent = b.fire();
    assert_eq!(sent.first(), Some(&1));
    assert_eq!((b.end.stats().reneged, b.end.sums().sacked), (1, 0));
}

#[test]
fn without_sack_partial_acks_resend_one_hole_each() {
    let mut b = Bench::client(
        Connection::client(
            Config {
                sack: false,
                timestamps: false,
                tso_win_divisor: 100,
                ..Config::default()
            },
            Reno,
        ),
        RTT,
        |_| {},
    );
    b.end.write_forever();
    b.sent();
    b.wait(RTT);
    assert_eq!(b.ack(0, &[]), [10]);
    assert_eq!(b.ack(0, &[]), [11]);
    assert_eq!(b.ack(0, &[]), [0]);
    for _ in 0..5 {
        b.ack(0, &[]);
    }
    b.wait(RTT);
    assert_eq!(b.ack(4, &[]).first(), Some(&4));
    assert_eq!(
        (b.state(), b.end.stats().recoveries),
        (State::FastRecovery, 1)
    );
}

#[test]
fn sequence_numbers_wrap_in_the_middle_of_a_recovery() {
    let config = Config {
        initial_seq: u32::MAX - 3 * 8948,
        ..Config::default()
    };
    let mut b = sender_with(config);
    b.ack(0, &[(1, 2)]);
    b.ack(0, &[(1, 4)]);
    b.wait(US);
    let sent = b.ack(0, &[(1, 10)]);
    assert!(
        b.state() == State::FastRecovery && b.end.stats().retransmits == 1,
        "{sent:?}"
    );
    b.wait(RTT);
    b.ack(12, &[]);
    assert_eq!(b.state(), State::Open);
    assert_eq!(b.end.bytes_acked(), 12 * 8948);
}

#[test]
fn the_window_does_not_grow_when_the_application_limits() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    for round in 0..20 {
        b.end.write(8948);
        assert_eq!(b.sent(), [round]);
        b.wait(RTT);
        b.ack(round + 1, &[]);
    }
    assert_eq!(b.cwnd(), 10);
}

#[test]
fn after_an_idle_time_the_window_returns_to_the_initial_one() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    b.end.write(70 * 8948);
    let mut una = b.sent().len() as u32;
    while una < 70 {
        b.wait(RTT);
        una += b.ack(una, &[]).len() as u32;
    }
    b.wait(RTT);
    b.ack(una, &[]);
    assert_eq!((b.cwnd(), b.end.all_acked()), (80, true));
    // Four timeouts of 210 ms: 80, 40, 20, 10.
    b.wait(900 * MS);
    b.end.write(8948);
    b.sent();
    assert_eq!(b.cwnd(), 10);
    // The threshold remembers three quarters of what was.
    assert_eq!(b.ssthresh(), u32::MAX);
}

/// When a sender on a path of 40 us repeats `segments` segments that vanish, in microseconds after they were sent.
fn repeats_into_a_black_hole(segments: u64, phase: u64, margin: u64) -> [u64; 3] {
    let config = Config {
        timer_margin: margin,
        ..Config::default()
    };
    let mut b = Bench::client(Connection::client(config, Reno), 40 * US, |_| {});
    b.end.write(4 * 8948);
    b.sent();
    b.wait(40 * US);
    b.ack(4, &[]);
    b.wait(300 * MS + phase);
    b.end.write(segments * 8948);
    b.sent();
    let start = b.now;
    [(); 3].map(|()| {
        assert_eq!(b.fire().len(), 1);
        (b.now - start) / US
    })
}

/// Measured on a Linux 6.18 host at HZ 250 (which has the margin of 2 ms) over a pair of virtual links: a lone segment was
/// repeated after 204.7 to 207.6 ms, again 208 ms later, and again 411 to 436 ms later; the last of three after 4.1 to 8.0 ms
/// (once 10.1), then 208 ms later.
#[test]
fn probes_and_timeouts_come_when_linux_sends_them() {
    for phase in (0..40).map(|n| n * 977 * US) {
        let [probe, first, second] = repeats_into_a_black_hole(1, phase, 2 * MS);
        assert!((204_000..=208_000).contains(&probe), "{probe}");
        assert_eq!(first - probe, 208_000);
        assert!(
            (408_000..=440_000).contains(&(second - first)),
            "{}",
            second - first
        );
        let [probe, first, _] = repeats_into_a_black_hole(3, phase, 2 * MS);
        assert!((4_000..=8_000).contains(&probe), "{probe}");
        assert_eq!(first - probe, 208_000);
        // The margin of two ticks of older kernels.
        let [probe, _, _] = repeats_into_a_black_hole(3, phase, 8 * MS);
        assert!((12_000..=16_000).contains(&probe), "{probe}");
    }
}

/// Watched on Linux 6.1: of the segments resent after a timeout those that were dropped again were resent a round trip
/// later, not after the next timeout. That this is a recovery of its own is RFC 5681's, section 4.3.
#[test]
fn a_retransmission_lost_after_a_timeout_is_found_by_time() {
    let mut b = after_timeout();
    b.wait(RTT);
    assert_eq!(b.ack(1, &[]), [11, 12]);
    b.wait(RTT);
    // The loss was real: 1 and 2 are resent, and 1 is lost again.
    assert_eq!(b.ack(1, &[(11, 13)])[..2], [1, 2]);
    assert_eq!(b.state(), State::Timeout);
    let timeouts = b.end.stats().rtos;
    b.wait(RTT);
    let sent = b.ack(1, &[(2, 3), (11, 13)]);
    assert_eq!(sent.first(), Some(&1));
    assert_eq!(b.state(), State::FastRecovery);
    assert_eq!(b.end.stats().lost_retransmits, 1);
    assert_eq!(b.end.stats().rtos, timeouts);
}

/// Watched on Linux 6.1: a burst and its loss probe were lost but for the first segment, whose acknowledgement was delayed.
/// The timeout came 219 ms after the second segment was sent, not after what the probe's timer did in vain.
#[test]
fn the_timeout_counts_from_the_front_when_no_second_probe_may_go_out() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), 4 * MS, |_| {});
    b.end.write(4 * 8948);
    b.sent();
    b.wait(4 * MS);
    b.ack(4, &[]);
    b.wait(500 * MS);
    b.end.write(6 * 8948);
    let start = b.now;
    assert_eq!(b.sent(), [4, 5, 6, 7, 8, 9]);
    assert_eq!(b.fire(), [9]);
    // The delayed acknowledgement of the first. The probe is out, so the timer it sets sends nothing.
    b.wait(start + 40 * MS - b.now);
    assert_eq!(b.ack(5, &[]), []);
    assert_eq!(b.fire(), []);
    assert_eq!(b.fire(), [5]);
    let waited = (b.now - start) / MS;
    assert!((204..=224).contains(&waited), "after {waited} ms");
    assert_eq!((b.end.stats().tlps, b.end.stats().rtos), (1, 1));
}

/// Counts the timeouts that it hears of.
#[derive(Clone, Debug, Default)]
struct Timeouts(u32);

impl CongestionControl for Timeouts {
    fn increase(&mut self, _window: &mut Window, _ack: &Ack) {}

    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        (window.cwnd / 2).max(2)
    }

    fn on_state(&mut self, _window: &mut Window, state: State, _now: u64) {
        self.0 += u32::from(state == State::Timeout);
    }
}

#[test]
fn the_congestion_control_hears_of_every_timeout() {
    let client = Connection::client(Config::default(), Timeouts::default());
    let mut b = Bench::client(client, RTT, |_| {});
    b.end.write(10 * 8948);
    b.sent();
    b.fire(); // the probe
    for timeouts in 1..=3 {
        assert_eq!(b.fire(), [0]);
        assert_eq!(b.end.path().congestion_control().0, timeouts);
    }
}
