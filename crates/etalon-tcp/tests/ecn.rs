// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scripted exchanges with marks: ECN at both ends, and DCTCP's.
use crate::common::{Bench, PEER};
use crate::connection::{MSS, RTT, ecn};
use etalon_tcp::cc::{CongestionControl, Dctcp, Reno, State, Window};
use etalon_tcp::{Config, Connection, Flags, Segment};

#[test]
fn ece_halves_the_window_once_a_round_trip() {
    let mut b = Bench::client(Connection::client(ecn(), Reno), RTT, |reply| {
        reply.flags |= Flags::ECE;
    });
    b.end.write_forever();
    let mut first = Vec::new();
    while let Some(segment) = b.poll() {
        assert!(segment.ect);
        first.push(segment);
    }
    assert_eq!(first.len(), 10);
    b.wait(RTT);
    let mut cwr = 0;
    for n in 1..=10 {
        let ack = b.ack_segment(n, &[]);
        let sent = b.inject(
            &Segment {
                flags: Flags::ACK | Flags::ECE,
                ..ack
            },
            false,
        );
        cwr += sent.iter().filter(|s| s.flags.contains(Flags::CWR)).count();
        assert_eq!(b.state(), State::Cwr);
    }
    assert_eq!((cwr, b.ssthresh(), b.end.stats().cwrs), (1, 5, 1));
    assert!(b.cwnd() <= 6);
    b.wait(RTT);
    b.ack(14, &[]);
    assert_eq!(b.state(), State::Open);
    assert_eq!(b.end.stats().retransmits, 0);
}

#[test]
fn the_receiver_echoes_ce_until_cwr() {
    let mut b = Bench::client(Connection::client(ecn(), Reno), RTT, |reply| {
        reply.flags |= Flags::ECE;
    });
    let mut at = 0;
    let mut next = |b: &mut Bench<Reno>, ce: bool, cwr: bool| {
        let flags = if cwr {
            Flags::ACK | Flags::CWR
        } else {
            Flags::ACK
        };
        let segment = Segment {
            seq: PEER + at,
            len: MSS as u16,
            ect: true,
            flags,
            ..b.ack_segment(0, &[])
        };
        at += MSS;
        b.inject(&segment, ce)
    };
    for _ in 0..6 {
        assert!(
            next(&mut b, false, false)
                .iter()
                .all(|a| !a.flags.contains(Flags::ECE))
        );
    }
    assert!(next(&mut b, true, false)[0].flags.contains(Flags::ECE));
    for _ in 0..4 {
        assert!(
            next(&mut b, false, false)
                .iter()
                .all(|a| a.flags.contains(Flags::ECE))
        );
    }
    let acks = next(&mut b, false, true);
    assert!(acks.len() == 1 && !acks[0].flags.contains(Flags::ECE));
}

#[test]
fn dctcp_acknowledges_a_change_of_ce_at_once_with_the_state_before() {
    let end = Connection::client(Config::default(), Dctcp::default());
    let mut b = Bench::client(end, RTT, |reply| reply.flags |= Flags::ECE);
    for n in 0..5 {
        b.data(n * MSS, (n + 1) * MSS, false);
    }
    // Delayed; then the mark: first the ACK for what came before it, without ECE.
    assert!(b.data(5 * MSS, 6 * MSS, false).is_empty());
    let acks = b.data(6 * MSS, 7 * MSS, true);
    let seen: Vec<_> = acks
        .iter()
        .map(|a| (a.ack - PEER, a.flags.contains(Flags::ECE)))
        .collect();
    assert_eq!(seen, [(6 * MSS, false), (7 * MSS, true)]);
    // The next is delayed again.
    assert!(b.data(7 * MSS, 8 * MSS, true).is_empty());
    let acks = b.data(8 * MSS, 9 * MSS, false);
    let seen: Vec<_> = acks
        .iter()
        .map(|a| (a.ack - PEER, a.flags.contains(Flags::ECE)))
        .collect();
    assert_eq!(seen, [(8 * MSS, true), (9 * MSS, false)]);
    assert!(b.data(9 * MSS, 10 * MSS, false).is_empty());
}

/// Records the ECE flags that reach it.
#[derive(Debug, Default)]
struct Listener {
    ece: u32,
}

impl CongestionControl for Listener {
    fn on_ack(&mut self, _: &mut Window, ack: &etalon_tcp::cc::Ack) {
        self.ece += u32::from(ack.ece);
    }
    fn increase(&mut self, _: &mut Window, _: &etalon_tcp::cc::Ack) {}
    fn ssthresh(&mut self, window: &Window, _: u64) -> u32 {
        window.cwnd / 2
    }
    fn reads_ece_without_ecn(&self) -> bool {
        true
    }
}

#[test]
fn ece_reaches_a_congestion_control_that_reads_it_without_ecn() {
    let mut b = Bench::client(
        Connection::client(Config::default(), Listener::default()),
        RTT,
        |_| {},
    );
    b.end.write_forever();
    assert!(b.poll().is_some_and(|s| !s.ect));
    b.sent();
    b.wait(RTT);
    let ack = b.ack_segment(2, &[]);
    let sent = b.inject(
        &Segment {
            flags: Flags::ACK | Flags::ECE,
            ..ack
        },
        false,
    );
    assert!(!sent.is_empty() && sent.iter().all(|s| !s.flags.contains(Flags::CWR)));
    assert_eq!(
        (b.end.path().congestion_control().ece, b.state(), b.cwnd()),
        (1, State::Open, 10)
    );
}
