// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP: how much of the stream a subflow's window has room for, and when a receiver offers more.
mod common;

use common::{Bench, MS};
use etalon_tcp::cc::Cubic;
use etalon_tcp::mptcp::{DataReceiver, Mptcp, MptcpOption};
use etalon_tcp::{Config, Connection, Segment};

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
        stream.take((place, len));
        place += u64::from(len);
        b.end.tune_stream(&mut stream, 8 * round_trip / 1_000)
    };
    assert_eq!(reads(0, 1_000, 8 * MS), None);
    assert_eq!(reads(8 * MS, OFFERED - 1_000, 8 * MS), None, "as much");
    assert_eq!(reads(3 * MS, OFFERED, 2 * MS), None, "3 of 8 ms");
    let more = reads(5 * MS, 10_000, 2 * MS);
    assert!(more.is_some_and(|buffer| buffer > 2 * OFFERED), "{more:?}");
}
