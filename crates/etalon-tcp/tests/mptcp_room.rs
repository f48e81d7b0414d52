// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP: how much of the stream a subflow's window has room for.
mod common;

use common::{Bench, MS};
use etalon_tcp::cc::Cubic;
use etalon_tcp::mptcp::{Mptcp, MptcpOption};
use etalon_tcp::{Config, Connection, Segment};

/// As seen on Linux: an ACK first lets out what is lost, and only then is asked whether there is room for more of the stream.
#[test]
fn what_is_to_be_sent_again_takes_room() {
    let config = Config {
        mptcp: Some(Mptcp { subflow: 0 }),
        ..Config::default()
    };
    let client = Connection::client(config, Cubic::default());
    let capable = |syn_ack: &mut Segment| syn_ack.rare.set_mptcp(Some(MptcpOption::Capable));
    let mut b = Bench::client(client, 10 * MS, capable);
    b.end.write_mapped(0, 60_000);
    while b.poll().is_some() {}
    b.wait(10 * MS);
    let ack = b.ack_segment(0, &[(2, 6)]);
    b.end.on_segment(b.now, &ack);
    let path = b.end.path();
    assert!(path.pipe().lost > 1 && path.in_flight() < path.window().cwnd);
    assert_eq!(b.end.room_for_mapped(), 0);
}
