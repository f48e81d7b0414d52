// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP: how much of the stream a subflow's window has room for, when a receiver offers more, and who falls back to TCP.
use crate::common::{Bench, Fate, MS, Pair, SECOND};
use etalon_tcp::cc::Cubic;
use etalon_tcp::mptcp::{DataReceiver, DataSender, Mptcp, MptcpOption, send_buffer};
use etalon_tcp::{Config, Connection, Memory, Segment};

/// A client of the first subflow after its handshake.
fn client() -> Bench<Cubic> {
    let config = Config {
        mptcp: Some(Mptcp { subflow: 0 }),
        ..Config::default()
    };
    let client = Connection::client(config, Cubic::default());
    let capable = |syn_ack: &mut Segment| syn_ack.rare.set_mptcp(Some(MptcpOption::Capable));
    Bench::client(client, 10 * MS, capable)
}

/// As seen on Linux: an ACK first lets out what is lost, and only then is asked whether there is room for more of the stream.
#[test]
fn what_is_to_be_sent_again_takes_room() {
    let mut b = client();
    b.end.write_mapped(0, 60_000);
    while b.poll().is_some() {}
    b.wait(10 * MS);
    let ack = b.ack_segment(0, &[(2, 6)]);
    b.end.on_segment(b.now, &ack);
    let path = b.end.path();
    assert!(path.pipe().lost > 1 && path.in_flight() < path.window().cwnd);
    assert_eq!(b.end.room_for_mapped(), 0);
}

/// As captures of Linux show: the first round trip is expected to bring the 62,636 bytes that a SYN-ACK offers with segments of 8,948,
/// and a round trip lasts as long as the one that was known when something was last read, even if a shorter one is known by now.
#[test]
fn a_stream_gets_room_once_a_whole_round_trip_brought_more_than_was_offered() {
    const OFFERED: u32 = 62_636;
    let (mut b, mut stream, mut place) = (client(), DataReceiver::default(), 0);
    let mut reads = |after: u64, len: u32, round_trip: u64| {
        b.now += after;
        let ack = b.ack_segment(0, &[]);
        b.end.on_segment(b.now, &ack);
        stream.take((place, len), Memory::shared(len));
        place += u64::from(len);
        b.end.tune_stream(&mut stream, 8 * round_trip / 1_000)
    };
    assert_eq!(reads(0, 1_000, 8 * MS), None);
    assert_eq!(reads(8 * MS, OFFERED - 1_000, 8 * MS), None, "as much");
    assert_eq!(reads(3 * MS, OFFERED, 2 * MS), None, "3 of 8 ms");
    let more = reads(5 * MS, 10_000, 2 * MS);
    assert!(more.is_some_and(|buffer| buffer > 2 * OFFERED), "{more:?}");
}

/// As seen on Linux: a server that gets data before the client's keys, because the ACK that ends the handshake is lost and the first
/// chunk with it, goes on without MPTCP, and so does the client once it hears an ACK without DSS.
#[test]
fn who_never_hears_the_keys_falls_back_to_plain_tcp() {
    for (lost, spoken) in [(1..=3, false), (1..=2, true), (2..=3, true)] {
        let mut segments = 0;
        let fate = |_: u64, to_server: bool, _: &Segment| {
            segments += u32::from(to_server);
            // The first is SYN, the second the ACK; the first chunk has two segments.
            let lose = to_server && segments > 1 && lost.contains(&(segments - 1));
            if lose { Fate::Drop } else { Fate::Deliver }
        };
        let config = Config {
            mptcp: Some(Mptcp { subflow: 0 }),
            ..Config::default()
        };
        let client = Connection::client(config.clone(), Cubic::default());
        let server = Connection::server(config, Cubic::default());
        let mut pair = Pair::new(client, server, 5 * MS, fate);
        pair.run_until(SECOND, |pair| pair.client.is_established());
        pair.client.write_mapped(0, 62_468);
        let (mut stream, mut all) = (DataReceiver::default(), 0);
        pair.run_until(5 * SECOND, |pair| pair.client.all_acked());
        while let Some((place, len)) = pair.server.take_mapped() {
            assert_eq!(place, all, "{lost:?}: the stream is the subflow's");
            all += u64::from(len);
            stream.take((place, len), Memory::shared(len));
        }
        assert_eq!((all, stream.received()), (62_468, 62_468), "{lost:?}");
        assert_eq!(pair.client.may_be_joined(), spoken, "{lost:?}");
        let last = pair.log.iter().rev().find(|one| !one.to_server);
        let option = last.and_then(|one| one.segment.rare.mptcp());
        assert_eq!(option.is_some(), spoken, "{lost:?}");
        assert_eq!(pair.client.data_acked().0, if spoken { 0 } else { 62_468 });
    }
}

/// As seen on Linux: a program's buffers of 32,728 bytes leave one by one, so that the first mapping of each is not joined to what is
/// before it.
#[test]
fn a_program_writes_one_buffer_at_a_time() {
    let mut sender = DataSender::default();
    sender.grow(send_buffer(8948, 10));
    sender.write(100_000);
    sender.opened(u64::MAX);
    let mut given = Vec::new();
    while sender.refill() {
        while let Some(piece) = sender.give(|_| 26_772) {
            given.push(piece.len);
        }
    }
    assert_eq!(given, [26_772, 5_956, 26_772, 5_956, 26_772, 5_956, 1_816]);
    assert!(!sender.is_writing());
}

/// A message has been sent when nothing of it is unsent: neither in the send buffer, nor given to a subflow that has yet to send it.
#[test]
fn what_is_unsent_is_with_the_program_in_the_buffer_or_on_subflows() {
    let mut sender = DataSender::default();
    assert_eq!(sender.unsent(0), 0);
    sender.write(50_000);
    assert_eq!(sender.unsent(0), 50_000);
    sender.grow(40_000);
    sender.opened(10_000);
    while sender.refill() {}
    assert_eq!(sender.give(|_| 20_000).map(|piece| piece.len), Some(10_000));
    assert_eq!(sender.unsent(10_000), 50_000);
    assert_eq!(sender.unsent(4_000), 44_000);
    // Copies of what is acknowledged count as sent.
    sender.acknowledged(9_000);
    assert_eq!(sender.unsent(10_000), 41_000);
}

/// The receive window is the stream's: nothing is sent that the other end has no room for behind a hole.
#[test]
fn the_window_is_the_streams() {
    let mut sender = DataSender::default();
    sender.grow(send_buffer(8948, 10));
    sender.write(u64::MAX);
    while sender.refill() {}
    assert_eq!(sender.give(|_| 1000), None);
    sender.opened(1500);
    let piece = |piece: Option<etalon_tcp::mptcp::Piece>| piece.map(|p| (p.data_seq, p.len));
    assert_eq!(piece(sender.give(|_| 1000)), Some((0, 1000)));
    assert_eq!(piece(sender.give(|_| 1000)), Some((1000, 500)));
    assert!(!sender.has_data());
    sender.opened(2500);
    sender.acknowledged(1000);
    assert_eq!(
        sender.first_missing().map(|p| (p.data_seq, p.len)),
        Some((1000, 500))
    );
    sender.send_all_again();
    assert_eq!(piece(sender.give(|_| 300)), Some((1000, 300)));
    sender.acknowledged(1400);
    assert_eq!(piece(sender.give(|_| 300)), Some((1400, 100)));
    assert_eq!(piece(sender.give(|_| 300)), Some((1500, 300)));
}

/// As seen on Linux (`ss -Mm`): the send buffer has twice what a window takes in memory, and is filled once a third of it is free.
#[test]
fn the_send_buffer_bounds_what_is_not_acknowledged() {
    assert_eq!(send_buffer(8948, 14), 465_920);
    assert_eq!(send_buffer(1448, 72), 331_776);
    assert_eq!(send_buffer(8948, 1), 332_800);
    assert_eq!(send_buffer(8948, 1000), 6_291_456);
    let mut sender = DataSender::default();
    sender.grow(send_buffer(8948, 10));
    sender.write(u64::MAX);
    while sender.refill() {}
    sender.opened(u64::MAX);
    let mut given = 0;
    while let Some(piece) = sender.give(|_| 8948) {
        given += u64::from(piece.len);
    }
    assert_eq!(given, 11 * 32_728, "the buffer that was begun is filled");
    let third = given - 2 * 332_800 / 3;
    sender.acknowledged(third - 1);
    assert!(!sender.refill());
    sender.acknowledged(third);
    assert!(sender.refill() && sender.has_data());
}
