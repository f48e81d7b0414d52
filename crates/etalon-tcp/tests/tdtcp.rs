// SPDX-License-Identifier: MIT OR Apache-2.0
//! TDTCP between two ends: what they agree on, what is in headers, and becoming plain TCP again.
use crate::common::{Fate, Logged, MS, Pair, SECOND, US, end_of};
use etalon_tcp::cc::Any;
use etalon_tcp::{Config, Connection, Flags, Segment, TdDataAck, TdnOption, Tdtcp};
use proptest::prelude::*;

const MSS: u32 = 8948;

fn control() -> Any {
    Any::by_name("cubic", &[]).expect("a registered name")
}

/// A connection that is to have so many TDNs, 0 for plain TCP.
fn end(server: bool, tdns: u8, change: impl Fn(&mut Config)) -> Connection<Any> {
    let mut config = Config {
        tdtcp: (tdns > 0).then(|| Tdtcp {
            tdns,
            ..Tdtcp::default()
        }),
        ..Config::default()
    };
    change(&mut config);
    end_of(server, config, control)
}

fn pair_of<F: FnMut(u64, bool, &Segment) -> Fate>(
    client: Connection<Any>,
    server: Connection<Any>,
    fate: F,
) -> Pair<Any, F> {
    let mut pair = Pair::new(client, server, MS, fate);
    pair.transmission = 20 * US;
    pair
}

fn offered(segment: &Segment) -> Option<u8> {
    match segment.tdn {
        Some(TdnOption::Capable(tdns)) => Some(tdns),
        _ => None,
    }
}

fn tag_of(segment: &Segment) -> Option<TdDataAck> {
    match segment.tdn {
        Some(TdnOption::DataAck(tag)) => Some(tag),
        _ => None,
    }
}

fn deliver(_: u64, _: bool, _: &Segment) -> Fate {
    Fate::Deliver
}

/// Sends bytes both ways until all are acknowledged; `each` is called before each step.
fn exchange<F: FnMut(u64, bool, &Segment) -> Fate>(
    pair: &mut Pair<Any, F>,
    bytes: u64,
    mut each: impl FnMut(&mut Pair<Any, F>, usize),
) {
    pair.client.write(bytes);
    pair.server.write(bytes / 10);
    let done = |end: &Connection<Any>| end.is_established() && end.all_acked();
    let mut step = 0;
    while !(done(&pair.client) && done(&pair.server)) {
        each(pair, step);
        step += 1;
        assert!(pair.step(2_000 * SECOND), "stuck: {:?}", pair.client);
    }
    assert_eq!(pair.server.bytes_received(), bytes);
    assert_eq!(pair.client.bytes_received(), bytes / 10);
}

#[test]
fn an_end_that_only_receives_parks_no_more_than_the_path_of_its_handshake() {
    let mut pair = pair_of(end(false, 4, |_| ()), end(true, 4, |_| ()), deliver);
    pair.client.write(10_000_000);
    for step in 0.. {
        if !pair.step(SECOND) {
            break;
        }
        let tdn = (step / 20 % 4) as u8;
        pair.client.on_tdn(pair.now, tdn);
        pair.server.on_tdn(pair.now, tdn);
        assert_eq!(
            pair.server.path().id(),
            if pair.server.is_established() { tdn } else { 0 }
        );
    }
    assert_eq!(pair.server.bytes_received(), 10_000_000);
    assert_eq!(pair.client.paths().count(), 4);
    assert!(pair.server.paths().count() <= 2);
}

#[test]
fn two_ends_that_agree_tag_all_segments_but_the_first() {
    let mut pair = pair_of(end(false, 3, |_| ()), end(true, 3, |_| ()), deliver);
    exchange(&mut pair, 1_000_000, |pair, step| {
        if step == 30 {
            pair.client.on_tdn(pair.now, 2);
        }
        if step == 40 {
            pair.server.on_tdn(pair.now, 1);
        }
    });
    let (mut on_two, mut acks_by_one) = (0, 0);
    for logged in &pair.log {
        let Segment { flags, len, .. } = logged.segment;
        let (offer, tag) = (offered(&logged.segment), tag_of(&logged.segment));
        if flags.contains(Flags::SYN) {
            assert_eq!((offer, tag), (Some(3), None));
            continue;
        }
        let tag = tag.expect("a tag");
        assert_eq!(offer, None);
        assert_eq!(tag.data.is_some(), len > 0);
        on_two += u32::from(logged.to_server && tag.data == Some(2));
        acks_by_one += u32::from(!logged.to_server && tag.ack == Some(1));
    }
    assert!(on_two > 10 && acks_by_one > 10, "{on_two} {acks_by_one}");
    // Eight bytes of each segment are the option's.
    assert_eq!((pair.client.mss(), pair.server.mss()), (MSS - 8, MSS - 8));
    let longest = pair
        .log
        .iter()
        .map(|l| l.segment.header_len() + u32::from(l.segment.len));
    assert_eq!(longest.max(), Some(20 + 12 + MSS));
}

#[test]
fn ends_that_do_not_agree_are_plain_tcp() {
    let without_sack = |config: &mut Config| config.sack = false;
    let plain = |_: &mut Config| ();
    for (client, server) in [
        (end(false, 2, plain), end(true, 0, plain)),
        (end(false, 0, plain), end(true, 2, plain)),
        (end(false, 2, plain), end(true, 3, plain)),
        (end(false, 2, without_sack), end(true, 2, plain)),
    ] {
        let mut pair = pair_of(client, server, deliver);
        exchange(&mut pair, 1_000_000, |pair, step| {
            pair.client.on_tdn(pair.now, (step % 2) as u8);
            pair.server.on_tdn(pair.now, (step % 3) as u8);
        });
        for end in [&pair.client, &pair.server] {
            assert_eq!(
                (end.tdtcp(), end.paths().count(), end.mss()),
                (None, 1, MSS)
            );
        }
        let tags =
            |s: &Segment| tag_of(s).is_some() || s.flags.contains(Flags::ACK) && s.tdn.is_some();
        assert!(!pair.log.iter().any(|logged| tags(&logged.segment)));
    }
}

#[test]
fn without_options_each_end_decides_alone() {
    let silent = |config: &mut Config| {
        config.tdtcp = config.tdtcp.map(|t| Tdtcp {
            options: false,
            ..t
        });
    };
    let mut pair = pair_of(end(false, 2, silent), end(true, 0, silent), deliver);
    exchange(&mut pair, 1_000_000, |pair, step| {
        pair.client.on_tdn(pair.now, (step / 9 % 2) as u8);
    });
    assert!(pair.client.paths().all(|path| path.delivered() > 10));
    assert_eq!((pair.client.mss(), pair.server.paths().count()), (MSS, 1));
    let tags = |s: &Segment| s.tdn.is_some();
    assert!(!pair.log.iter().any(|logged| tags(&logged.segment)));
}

#[test]
fn sack_blocks_leave_room_for_the_tag() {
    for timestamps in [true, false] {
        let change = |config: &mut Config| {
            config.timestamps = timestamps;
            (config.mss, config.initial_cwnd) = (1448, 40);
        };
        // Every third data segment is lost, so that there are many holes.
        let mut count = 0;
        let fate = |_: u64, to_server: bool, segment: &Segment| {
            count += usize::from(to_server && segment.len > 0);
            if to_server && segment.len > 0 && count % 3 == 0 && count < 200 {
                Fate::Drop
            } else {
                Fate::Deliver
            }
        };
        let mut pair = pair_of(end(false, 2, change), end(true, 2, change), fate);
        exchange(&mut pair, 600_000, |_, _| ());
        let blocks = pair.log.iter().map(|l| l.segment.rare.blocks().len());
        assert_eq!(blocks.max(), Some(if timestamps { 2 } else { 3 }));
        let headers = pair.log.iter().map(|l| l.segment.header_len());
        assert!(headers.max() <= Some(60));
    }
}

/// The other end may go on with its options, and gets plain segments.
#[test]
fn a_connection_that_is_downgraded_stays_on_its_path() {
    let mut pair = pair_of(end(false, 2, |_| ()), end(true, 2, |_| ()), deliver);
    let mut from = 0;
    exchange(&mut pair, 3_000_000, |pair, step| {
        if step == 60 {
            pair.client.on_tdn(pair.now, 1);
        }
        if step == 80 {
            assert_eq!(pair.client.path().id(), 1);
            pair.client.downgrade();
            from = pair.log.len();
        }
        if step > 80 {
            pair.client.on_tdn(pair.now, 0);
            assert_eq!((pair.client.path().id(), pair.client.tdtcp()), (1, None));
        }
    });
    let (mine, others): (Vec<&Logged>, Vec<_>) = pair.log[from..].iter().partition(|l| l.to_server);
    assert!(mine.len() > 20 && others.len() > 20);
    assert!(mine.iter().all(|l| l.segment.tdn.is_none()));
    assert!(others.iter().all(|l| l.segment.tdn.is_some()));
}

/// What the socket has taken goes out before FIN. On the Linux engine programs that write for ever are held up by their send buffers as
/// others are; flows of plain TCP without end leave that out.
#[test]
fn a_program_without_end_waits_for_its_send_buffer() {
    for (tdns, beyond) in [(2, true), (0, false)] {
        let room = |config: &mut Config| config.waits_for_room = Some(6 << 20);
        let mut pair = pair_of(end(false, tdns, room), end(true, tdns, room), deliver);
        pair.client.write_forever();
        assert!(pair.run_until(SECOND, |pair| pair.client.bytes_acked() > 0));
        let sent = u64::MAX - pair.client.unsent();
        pair.client.shutdown();
        assert!(pair.run_until(SECOND, |pair| pair.client.all_acked()));
        let acked = pair.client.bytes_acked();
        assert_eq!(acked > sent, beyond, "{tdns} TDNs: {sent}, {acked}");
        assert!(acked - sent < 1 << 20);
    }
}

#[test]
fn a_write_without_end_may_follow_another() {
    let room = |config: &mut Config| config.waits_for_room = Some(6 << 20);
    let mut pair = pair_of(end(false, 2, room), end(true, 2, room), deliver);
    pair.client.write(5_000_000);
    pair.client.write_forever();
    assert!(pair.run_until(SECOND, |pair| pair.client.bytes_acked() > 5_000_000));
    assert!(pair.client.unsent() > u64::MAX / 2);
}

/// The chunks of its last write are buffers until they are acknowledged, and are not counted off the next one's.
#[test]
fn a_program_that_writes_again_finds_the_buffers_of_its_last_write() {
    let room = |config: &mut Config| config.waits_for_room = Some(6 << 20);
    let mut pair = pair_of(end(false, 0, room), end(true, 0, room), deliver);
    for writes in 1..=3 {
        pair.client.write(1_000_000);
        assert!(pair.run_until(SECOND, |pair| pair.client.unsent() == 0));
        assert!(!pair.client.all_acked(), "write {writes}");
    }
    assert!(pair.run_until(SECOND, |pair| pair.client.all_acked()));
    assert_eq!(pair.server.bytes_received(), 3_000_000);
}

#[test]
fn a_shared_pipe_is_bounded_by_one_window() {
    for shared in [false, true] {
        let change = |config: &mut Config| {
            config.tdtcp = config.tdtcp.map(|t| Tdtcp {
                shared_pipe: shared,
                ..t
            });
        };
        let mut pair = pair_of(end(false, 2, change), end(true, 2, change), deliver);
        let mut both_full = false;
        exchange(&mut pair, 9_000_000, |pair, step| {
            pair.client.on_tdn(pair.now, (step / 7 % 2) as u8);
            let in_flight: u32 = pair.client.paths().map(|path| path.in_flight()).sum();
            let most = pair.client.paths().map(|path| path.window().cwnd).max();
            both_full |= Some(in_flight) > most;
        });
        assert_eq!(both_full, !shared);
    }
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        10 => Just(Fate::Deliver),
        2 => Just(Fate::Drop),
        1 => (1..8_000_u64).prop_map(|us| Fate::Late(us * US)),
        1 => (0..8_000_u64).prop_map(|us| Fate::Twice(us * US)),
    ];
    prop::collection::vec(fate, 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is told, lost and reordered, with whatever switches, and whenever an end becomes plain TCP: all arrives.
    #[test]
    fn everything_arrives(
        fates in fates(),
        segments in 1..120_u64,
        told in prop::collection::vec(prop_oneof![3 => Just(None), 1 => any::<u8>().prop_map(|id| Some(id % 4))], 0..400),
        switches: [bool; 5],
        downgrade in 0..300_usize,
        tdns in 1..4_u8,
    ) {
        let [options, relaxed, shared_pipe, all_rtts, pace_burst] = switches;
        let change = |config: &mut Config| {
            config.tdtcp = Some(Tdtcp { tdns, options, relaxed, shared_pipe, all_rtts, pace_burst });
        };
        let mut fates = fates.into_iter();
        let fate = |_: u64, _: bool, segment: &Segment| match segment.flags.contains(Flags::SYN) {
            true => Fate::Deliver,
            false => fates.next().unwrap_or(Fate::Deliver),
        };
        let mut pair = pair_of(end(false, tdns, change), end(true, tdns, change), fate);
        exchange(&mut pair, segments * u64::from(MSS), |pair, step| {
            if let Some(Some(id)) = told.get(step) {
                let now = pair.now;
                let end = if step % 3 == 0 { &mut pair.server } else { &mut pair.client };
                end.on_tdn(now, *id);
            }
            if step == downgrade {
                pair.client.downgrade();
            }
        });
    }

    /// What a peer writes into options is not to be trusted.
    #[test]
    fn no_option_makes_it_panic(offers in prop::collection::vec(any::<Option<u8>>(), 2), tags in prop::collection::vec(any::<Option<(Option<u8>, Option<u8>)>>(), 1..60)) {
        let mut pair = pair_of(end(false, 2, |_| ()), end(true, 2, |_| ()), deliver);
        let mut client = end(false, 2, |_| ());
        let syn = client.poll_transmit(0).expect("SYN");
        pair.server.on_segment(0, &Segment { tdn: offers[0].map(TdnOption::Capable), ..syn });
        let reply = pair.server.poll_transmit(0).expect("SYN-ACK");
        client.on_segment(MS, &Segment { tdn: offers[1].map(TdnOption::Capable), ..reply });
        client.write_forever();
        let mut now = MS;
        for tag in tags {
            now += MS;
            while let Some(segment) = client.poll_transmit(now) {
                client.departed(u64::from(segment.len));
                let tdn = tag.map(|(data, ack)| TdnOption::DataAck(TdDataAck { data, ack }));
                pair.server.on_segment(now, &Segment { tdn, ..segment });
            }
            client.on_tdn(now, (now / MS % 2) as u8);
            while let Some(segment) = pair.server.poll_transmit(now) {
                let tdn = tag.map(|(data, ack)| TdnOption::DataAck(TdDataAck { data, ack }));
                client.on_segment(now, &Segment { tdn, ..segment });
            }
        }
        prop_assert!(client.bytes_acked() > 0);
    }
}
