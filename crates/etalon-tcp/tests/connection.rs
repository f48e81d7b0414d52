// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scripted exchanges: handshake, closing, ECN, the receiver's ACKs, windows, queue limits.
use crate::common::{Bench, Fate, MS, PEER, Pair, SECOND, US};
use etalon_tcp::cc::Reno;
use etalon_tcp::{Config, Connection, ConnectionState, Ecn, Flags, Segment};

pub const RTT: u64 = 10 * MS;
pub const MSS: u32 = 8948;

/// A buffer that neither limits nor grows.
fn roomy() -> Config {
    Config {
        receive_buffer: 64 << 20,
        ..Config::default()
    }
}

fn receiver() -> Bench<Reno> {
    Bench::client(Connection::client(roomy(), Reno), RTT, |_| {})
}

/// A receiver whose window does not grow.
fn settled() -> Bench<Reno> {
    let config = Config {
        max_receive_buffer: 0,
        ..Config::default()
    };
    Bench::client(Connection::client(config, Reno), RTT, |_| {})
}

pub fn ecn() -> Config {
    Config {
        ecn: Ecn::On,
        ..Config::default()
    }
}

#[test]
fn the_syn_offers_what_is_configured() {
    let mut config = ecn();
    config.initial_seq = 77;
    let mut client = Connection::client(config, Reno);
    let syn = client.poll_transmit(0).expect("SYN");
    let options = syn.rare.syn();
    // Whole segments; a scale for all of 6 MiB.
    assert_eq!(
        (syn.seq, options.mss, options.sack_permitted, syn.window),
        (77, 8960, true, 7 * 8960)
    );
    assert_eq!(syn.flags, Flags::SYN | Flags::ECE | Flags::CWR);
    // The largest buffer, 3 MiB, needs a shift of 6.
    assert_eq!(options.window_scale, Some(7));
    assert!(syn.timestamps.is_some());
    let mut server = Connection::server(ecn(), Reno);
    assert_eq!(server.poll_transmit(0), None);
    server.on_segment(0, &syn);
    let reply = server.poll_transmit(0).expect("SYN-ACK");
    assert_eq!(reply.flags, Flags::SYN | Flags::ACK | Flags::ECE);
    assert_eq!(
        (reply.ack, reply.timestamps.map(|t| t.1)),
        (78, syn.timestamps.map(|t| t.0))
    );
    client.on_segment(0, &reply);
    let ack = client.poll_transmit(0).expect("ACK");
    assert!(client.is_established() && !server.is_established());
    server.on_segment(0, &ack);
    assert!(server.is_established());
}

#[test]
fn options_that_the_peer_lacks_are_not_used() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |reply| {
        let mut options = reply.rare.syn();
        (options.mss, options.sack_permitted) = (1460, false);
        reply.rare.set_syn(options);
        reply.timestamps = None;
    });
    b.end.write(10_000);
    let segment = b.poll().expect("data");
    assert_eq!(
        (segment.len, segment.timestamps, segment.flags),
        (1460, None, Flags::ACK)
    );
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second_then_two() {
    let mut client = Connection::client(Config::default(), Reno);
    assert!(client.poll_transmit(0).is_some());
    let mut at = 0;
    for seconds in [1, 2, 4] {
        assert_eq!(client.poll_transmit(at), None);
        let due = client.next_timer();
        assert!(
            due - at >= seconds * SECOND && due - at < seconds * SECOND * 9 / 8,
            "{}",
            due - at
        );
        at = due;
        client.on_timer(at);
        assert!(
            client
                .poll_transmit(at)
                .is_some_and(|s| s.flags == Flags::SYN)
        );
    }
    let stats = client.stats();
    assert_eq!((stats.retransmits, stats.rtos), (3, 3));
}

#[test]
fn lost_handshake_segments_do_not_matter() {
    for lost in 0..4 {
        let mut n = 0;
        let mut pair = Pair::new(
            Connection::client(Config::default(), Reno),
            Connection::server(Config::default(), Reno),
            MS,
            |_, _, _: &Segment| {
                n += 1;
                if n == lost + 1 {
                    Fate::Drop
                } else {
                    Fate::Deliver
                }
            },
        );
        pair.client.write(100_000);
        assert!(
            pair.run_until(10 * SECOND, |p| p.server.bytes_received() == 100_000),
            "segment {lost} lost"
        );
    }
}

#[test]
fn both_sides_close_with_fin() {
    let mut pair = Pair::new(
        Connection::client(Config::default(), Reno),
        Connection::server(Config::default(), Reno),
        MS,
        |_, _, _: &Segment| Fate::Deliver,
    );
    pair.client.write(50_000);
    pair.client.shutdown();
    assert!(pair.run_until(SECOND, |p| p.server.state() == ConnectionState::CloseWait));
    assert_eq!(pair.server.bytes_received(), 50_000);
    pair.server.write(20_000);
    pair.server.shutdown();
    assert!(pair.run_until(SECOND, |p| p.client.is_closed() && p.server.is_closed()));
    assert_eq!(pair.client.state(), ConnectionState::TimeWait);
    assert_eq!(pair.client.bytes_received(), 20_000);
    assert!(pair.client.all_acked() && pair.server.all_acked());
    pair.run(120 * SECOND);
    assert_eq!(pair.client.state(), ConnectionState::Closed);
    assert_eq!(
        (pair.client.next_timer(), pair.server.next_timer()),
        (u64::MAX, u64::MAX)
    );
}

#[test]
fn a_program_that_closes_after_its_peer_does_so_with_the_acknowledgement() {
    let follows = Config {
        auto_close: true,
        ..Config::default()
    };
    let mut pair = Pair::new(
        Connection::client(Config::default(), Reno),
        Connection::server(follows, Reno),
        MS,
        |_, _, _: &Segment| Fate::Deliver,
    );
    pair.client.write(50_000);
    pair.client.shutdown();
    assert!(pair.run_until(SECOND, |p| p.server.state() == ConnectionState::Closed));
    // Handshake, data and FIN, and the ACK of the server's FIN: each takes a round trip or half of one, and nothing waits for a timer.
    assert!(pair.now < 10 * MS, "{}", pair.now);
    assert_eq!(pair.client.state(), ConnectionState::TimeWait);
    let mut from_server = pair.log.iter().filter(|l| !l.to_server);
    let last = from_server.next_back().expect("some").segment.clone();
    assert!(last.flags.contains(Flags::FIN) && last.len == 0);
    assert_eq!(pair.client.stats().rtos + pair.server.stats().rtos, 0);
}

#[test]
fn both_close_at_once() {
    let mut pair = Pair::new(
        Connection::client(Config::default(), Reno),
        Connection::server(Config::default(), Reno),
        MS,
        |_, _, _: &Segment| Fate::Deliver,
    );
    assert!(pair.run_until(SECOND, |p| p.client.is_established()
        && p.server.is_established()));
    pair.client.shutdown();
    pair.server.shutdown();
    assert!(pair.run_until(SECOND, |p| p.client.is_closed() && p.server.is_closed()));
}

#[test]
fn reset_ends_both_sides() {
    let stamped = std::cell::Cell::new(None);
    let mut pair = Pair::new(
        Connection::client(Config::default(), Reno),
        Connection::server(Config::default(), Reno),
        MS,
        |_, _, segment: &Segment| {
            if segment.flags.contains(Flags::RST) {
                let first = stamped.get().unwrap_or(segment.timestamps.is_some());
                stamped.set(Some(first));
            }
            Fate::Deliver
        },
    );
    pair.client.write_forever();
    pair.run(10 * MS);
    pair.server.abort();
    assert!(pair.run_until(SECOND, |p| p.client.is_closed() && p.server.is_closed()));
    pair.run(2 * SECOND);
    assert_eq!(pair.client.next_timer(), u64::MAX);
    assert_eq!(stamped.get(), Some(true), "RFC 7323, 3.2: a timestamp");
}

#[test]
fn a_closed_endpoint_answers_with_reset() {
    let mut b = receiver();
    let reset = Segment {
        flags: Flags::RST,
        ..b.ack_segment(0, &[])
    };
    b.inject(&reset, false);
    assert_eq!(b.end.state(), ConnectionState::Closed);
    let late = Segment {
        len: 100,
        ..b.ack_segment(0, &[])
    };
    let sent = b.inject(&late, false);
    assert_eq!(
        (sent.len(), sent[0].flags, sent[0].seq),
        (1, Flags::RST, late.ack)
    );
    assert!(b.inject(&reset, false).is_empty());
}

#[test]
fn a_reset_off_the_expected_byte_is_only_answered() {
    let mut b = receiver();
    let reset = Segment {
        seq: PEER + 100,
        flags: Flags::RST,
        ..b.ack_segment(0, &[])
    };
    assert_eq!(b.inject(&reset, false).len(), 1);
    assert!(b.end.is_established());
    b.inject(&Segment { seq: PEER, ..reset }, false);
    assert!(b.end.is_closed());
}

#[test]
fn every_segment_is_acknowledged_while_the_window_grows() {
    let mut b = receiver();
    let acks = |n| {
        b.wait(100 * US);
        b.data(n * MSS, (n + 1) * MSS, false).len()
    };
    assert_eq!((0..40).map(acks).sum::<usize>(), 40);
}

#[test]
fn quick_acks_at_first_then_every_second_segment() {
    let mut b = settled();
    let acks: Vec<usize> = (0..20)
        .map(|n| {
            b.wait(100 * US);
            b.data(n * MSS, (n + 1) * MSS, false).len()
        })
        .collect();
    // The first window of 64 KB holds 3.6 pairs of segments: three quick ACKs.
    assert_eq!(acks[..3], [1, 1, 1]);
    assert_eq!(acks[3..11], [0, 1, 0, 1, 0, 1, 0, 1]);
}

#[test]
fn a_lone_segment_is_acknowledged_by_the_timer_on_a_tick() {
    let mut b = settled();
    for n in 0..5 {
        b.data(n * MSS, (n + 1) * MSS, false);
    }
    b.wait(MS);
    assert!(b.data(5 * MSS, 6 * MSS, false).is_empty());
    let start = b.now;
    b.fire();
    assert!(
        b.now - start >= 40 * MS && b.now - start <= 48 * MS,
        "{} ms",
        (b.now - start) / MS
    );
    assert_eq!((b.now % (4 * MS), b.end.stats().delayed_acks), (0, 1));
}

#[test]
fn a_small_segment_read_at_once_is_acknowledged_at_once() {
    let mut b = receiver();
    for n in 0..8 {
        b.data(n * MSS, (n + 1) * MSS, false);
    }
    assert_eq!(b.data(8 * MSS, 8 * MSS + 700, false).len(), 1);
}

#[test]
fn holes_and_their_filling_are_acknowledged_at_once_most_recent_block_first() {
    let mut b = receiver();
    for n in 0..10 {
        b.data(n * MSS, (n + 1) * MSS, false);
    }
    let at = |n: u32| PEER + n * MSS;
    let acks = b.data(11 * MSS, 12 * MSS, false);
    assert_eq!(acks[0].rare.blocks(), [(at(11), at(12))]);
    let acks = b.data(13 * MSS, 14 * MSS, false);
    assert_eq!(acks[0].rare.blocks(), [(at(13), at(14)), (at(11), at(12))]);
    b.data(15 * MSS, 16 * MSS, false);
    let acks = b.data(17 * MSS, 18 * MSS, false);
    assert_eq!(
        acks[0].rare.blocks(),
        [(at(17), at(18)), (at(15), at(16)), (at(13), at(14))]
    );
    let acks = b.data(12 * MSS, 13 * MSS, false);
    assert_eq!(acks[0].rare.blocks()[0], (at(11), at(14)));
    let acks = b.data(10 * MSS, 11 * MSS, false);
    assert_eq!((acks.len(), acks[0].ack), (1, at(14)));
    b.data(14 * MSS, 15 * MSS, false);
    let acks = b.data(16 * MSS, 17 * MSS, false);
    assert_eq!(
        (acks[0].ack, acks[0].rare.blocks().is_empty()),
        (at(18), true)
    );
    assert_eq!(b.end.bytes_received(), u64::from(18 * MSS));
}

/// In captures of the Linux engine (CUBIC over days of 100 us, MTU 1500): what comes next to a hole, or fills it, is acknowledged before it is read.
/// Until then it takes memory like what waits beyond the hole, so the window is smaller.
#[test]
fn what_comes_beside_a_hole_is_read_after_its_acknowledgement() {
    const MSS: u32 = 1448;
    let config = Config {
        mss: 1448,
        ..Config::default()
    };
    let mut b = Bench::client(Connection::client(config, Reno), RTT, |_| {});
    let mut window = |n: u32| {
        let acks = b.data(n * MSS, (n + 1) * MSS, false);
        acks.first().map(|ack| ack.window)
    };
    assert_eq!((0..11).filter_map(&mut window).last(), Some(501));
    assert_eq!(
        [18, 11, 19, 20].map(&mut window),
        [501, 495, 498, 498].map(Some)
    );
    (21..30).chain(12..17).for_each(|n| _ = window(n));
    assert_eq!(window(17), Some(436));
    assert_eq!((30..33).find_map(&mut window), Some(501), "it was read");
}

#[test]
fn duplicates_are_reported_as_dsack() {
    let mut b = receiver();
    for n in 0..4 {
        b.data(n * MSS, (n + 1) * MSS, false);
    }
    let acks = b.data(MSS, 2 * MSS, false);
    assert_eq!(acks[0].rare.blocks(), [(PEER + MSS, PEER + 2 * MSS)]);
    b.data(5 * MSS, 6 * MSS, false);
    let acks = b.data(5 * MSS, 6 * MSS, false);
    let block = (PEER + 5 * MSS, PEER + 6 * MSS);
    assert_eq!(acks[0].rare.blocks(), [block, block]);
    assert_eq!(b.end.stats().dsacks_sent, 2);
    assert!(
        b.data(4 * MSS, 5 * MSS, false)[0].rare.blocks().is_empty(),
        "a DSACK is sent once"
    );
}

#[test]
fn an_old_timestamp_is_refused() {
    let mut b = receiver();
    b.now += 100 * MS;
    b.data(0, MSS, false);
    let old = Segment {
        seq: PEER + MSS,
        len: 100,
        timestamps: Some((3, 1)),
        ..b.ack_segment(0, &[])
    };
    assert_eq!(b.inject(&old, false).len(), 1);
    assert_eq!(
        (b.end.stats().paws_drops, b.end.bytes_received()),
        (1, u64::from(MSS))
    );
}

#[test]
fn a_closed_window_is_probed_with_backoff_and_reopens() {
    let slow = Config {
        auto_read: false,
        receive_buffer: 4 * MSS,
        initial_receive_window: 4 * MSS,
        ..Config::default()
    };
    let mut pair = Pair::new(
        Connection::client(Config::default(), Reno),
        Connection::server(slow, Reno),
        MS,
        |_, _, _: &Segment| Fate::Deliver,
    );
    pair.client.write(u64::from(10 * MSS));
    pair.run(5 * SECOND);
    // Half of what is free is offered each time, until that is less than a segment.
    let received = pair.server.bytes_received();
    assert!((u64::from(6 * MSS)..u64::from(7 * MSS)).contains(&received));
    // 200 ms doubling: probes at about 0.2, 0.6, 1.4, 3.0 s.
    let probes = pair.client.stats().window_probes;
    assert!((3..=5).contains(&probes), "{probes} probes");
    assert_eq!(pair.client.stats().rtos, 0);
    let mut read = 0;
    while read < u64::from(10 * MSS) {
        read += pair.server.read(u64::from(2 * MSS));
        let until = pair.now + 100 * MS;
        pair.run(until);
    }
    assert!(pair.client.all_acked());
}

#[test]
fn what_is_queued_below_tcp_is_bounded() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    b.end.write_forever();
    let mut out = 0;
    while let Some(segment) = b.end.poll_transmit(b.now) {
        out += u32::from(segment.len > 0);
    }
    // A millisecond at twice 10 segments each 10 ms is two segments: so are chunks, of which there are two.
    assert_eq!((out, b.end.is_throttled()), (4, true));
    b.end.departed(2 * u64::from(MSS));
    let next = std::iter::from_fn(|| b.end.poll_transmit(b.now));
    let pushes: Vec<bool> = next.map(|s| s.flags.contains(Flags::PSH)).collect();
    assert_eq!((pushes, b.end.is_throttled()), (vec![false, true], true));
}

#[test]
fn nagle_holds_a_second_small_segment() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {});
    b.end.write(100);
    assert_eq!(b.sent(), [0]);
    b.end.write(100);
    assert_eq!(b.sent(), []);
    b.wait(RTT);
    let mut ack = b.ack_segment(0, &[]);
    ack.ack += 100;
    assert_eq!(b.inject(&ack, false)[0].len, 100);
}

#[test]
fn calls_before_the_deadline_are_harmless() {
    let mut b = receiver();
    b.end.write_forever();
    let sent = b.sent().len();
    let due = b.end.next_timer();
    for now in (b.now..due).step_by(MS as usize) {
        b.end.on_timer(now);
        assert!(b.end.poll_transmit(now).is_none());
    }
    assert_eq!((sent, b.end.next_timer()), (10, due));
}
