// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the owner of a connection may ask of it, and change.
use crate::common::{Bench, Fate, MS, Pair, SECOND};
use etalon_tcp::cc::{Any, Reno};
use etalon_tcp::{CloseReason, Config, Connection, Flags, PendingTimer, Segment, SynOptions};

const RTT: u64 = 10 * MS;

fn bench() -> Bench<Reno> {
    Bench::client(Connection::client(Config::default(), Reno), RTT, |_| {})
}

fn pair() -> Pair<Reno, impl FnMut(u64, bool, &Segment) -> Fate> {
    Pair::new(
        Connection::client(Config::default(), Reno),
        Connection::server(Config::default(), Reno),
        MS,
        |_, _, _| Fate::Deliver,
    )
}

fn reset(b: &Bench<Reno>) -> Segment {
    Segment {
        flags: Flags::RST,
        ..b.ack_segment(0, &[])
    }
}

#[test]
fn why_a_connection_is_over() {
    let mut b = bench();
    assert_eq!(b.end.close_reason(), None);
    b.inject(&reset(&b), false);
    assert_eq!(b.end.close_reason(), Some(CloseReason::Reset));
    let mut b = bench();
    b.end.abort();
    b.inject(&reset(&b), false);
    assert_eq!(
        b.end.close_reason(),
        Some(CloseReason::Aborted),
        "the first reason counts"
    );
    let mut refused = Connection::client(Config::default(), Reno);
    let syn = refused.poll_transmit(0).expect("SYN");
    let mut closed = Connection::server(Config::default(), Reno);
    closed.abort();
    closed.on_segment(0, &syn);
    let answer = closed.poll_transmit(0).expect("RST");
    refused.on_segment(0, &answer);
    assert_eq!(refused.close_reason(), Some(CloseReason::Refused));
}

#[test]
fn both_ends_finish() {
    let mut pair = pair();
    pair.client.write(50_000);
    pair.client.shutdown();
    pair.server.shutdown();
    assert!(pair.run_until(SECOND, |p| p.client.is_closed() && p.server.is_closed()));
    for end in [&pair.client, &pair.server] {
        assert_eq!(end.close_reason(), Some(CloseReason::Finished));
    }
    assert_eq!(pair.client.pending_timer(), Some(PendingTimer::TimeWait));
    pair.run(120 * SECOND);
    assert_eq!(pair.client.pending_timer(), None);
}

#[test]
fn what_the_timer_is_set_for() {
    let mut client = Connection::client(Config::default(), Reno);
    client.poll_transmit(0);
    assert_eq!(client.pending_timer(), Some(PendingTimer::Retransmission));
    let mut b = bench();
    assert_eq!(b.end.pending_timer(), None);
    b.end.write(3 * 8948);
    b.sent();
    assert_eq!(b.end.pending_timer(), Some(PendingTimer::LossProbe));
    b.fire();
    assert_eq!(b.end.pending_timer(), Some(PendingTimer::Retransmission));
    let mut b = bench();
    for n in 0..4 {
        b.data(n * 8948, (n + 1) * 8948, false);
    }
    assert_eq!(b.end.pending_timer(), Some(PendingTimer::DelayedAck));
    let mut b = bench();
    b.end.set_pacing(true);
    b.end.write_forever();
    b.sent();
    b.wait(RTT);
    b.ack(10, &[]);
    assert_eq!(b.end.pending_timer(), Some(PendingTimer::Pacing));
    let mut b = bench();
    b.end.write(5 * 8948);
    b.sent();
    b.wait(RTT);
    let shut = Segment {
        window: 0,
        ..b.ack_segment(5, &[])
    };
    b.inject(&shut, false);
    b.end.write(8948);
    assert!(b.sent().is_empty());
    assert_eq!(b.end.pending_timer(), Some(PendingTimer::Persist));
    let mut b = bench();
    b.end.write_forever();
    b.sent();
    b.wait(RTT);
    b.ack(0, &[(1, 2)]);
    b.wait(MS);
    b.ack(10, &[]);
    b.wait(RTT - MS);
    b.ack(10, &[(11, 15)]);
    assert_eq!(b.end.pending_timer(), Some(PendingTimer::Reordering));
}

#[test]
fn what_is_unsent_and_how_large_segments_are() {
    let mut b = Bench::client(Connection::client(Config::default(), Reno), RTT, |reply| {
        reply.rare.set_syn(SynOptions {
            mss: 1460,
            ..reply.rare.syn()
        });
        reply.timestamps = None;
    });
    assert_eq!((b.end.mss(), b.end.unsent()), (1460, 0));
    b.end.write(20 * 1460);
    let mut sent = 0;
    while b.poll().is_some() {
        sent += 1;
    }
    assert_eq!((sent, b.end.unsent()), (10, 10 * 1460));
    b.end.write_forever();
    assert_eq!(b.end.unsent(), u64::MAX);
}

#[test]
fn a_degree_of_reordering_that_was_seen_is_kept() {
    let mut b = bench();
    b.end.write_forever();
    b.sent();
    b.wait(RTT);
    b.ack(0, &[(8, 9)]);
    b.ack(9, &[]);
    assert_eq!(b.end.reordering(), 9);
}

#[test]
fn settings_may_change_later() {
    let mut b = bench();
    b.end.write(100);
    b.sent();
    b.end.write(100);
    assert!(b.poll().is_none(), "Nagle");
    b.end.set_nagle(false);
    assert_eq!(b.poll().map(|s| s.len), Some(100));
    let mut b = bench();
    b.end.set_slow_start_after_idle(false);
    b.end.write(40 * 8948);
    let mut una = b.sent().len() as u32;
    while una < 40 {
        b.wait(RTT);
        una += b.ack(una, &[]).len() as u32;
    }
    b.wait(RTT);
    b.ack(una, &[]);
    let cwnd = b.cwnd();
    b.wait(10 * SECOND);
    b.end.write(8948);
    b.sent();
    assert_eq!(b.cwnd(), cwnd);
}

#[test]
fn a_congestion_control_may_change_unless_its_feedback_would() {
    let any = |name| Any::by_name(name, &[]).expect("a registered name");
    let client = Connection::client(Config::default(), any("reno"));
    let mut b = Bench::client(client, RTT, |_| {});
    b.end.write_forever();
    b.sent();
    assert!(b.end.set_congestion_control(any("cubic")).is_ok());
    assert_eq!(b.end.path().congestion_control().name(), "cubic");
    b.wait(RTT);
    b.ack(10, &[]);
    assert_eq!(b.cwnd(), 20, "the window went on from where it was");
    let refused = b.end.set_congestion_control(any("dctcp"));
    assert_eq!(refused.map_err(|cc| cc.name()), Err("dctcp"));
}

/// Memory for each of a thousand flows, beside what their scoreboards and buffers hold. 1,448 bytes before there were paths.
#[test]
fn a_connection_takes_few_bytes() {
    let size = size_of::<Connection<Any>>();
    assert!(size <= 1_448 + 64, "{size} bytes");
}
