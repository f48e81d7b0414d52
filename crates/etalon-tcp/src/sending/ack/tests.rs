// SPDX-License-Identifier: MIT OR Apache-2.0
//! Acknowledgements for a sender alone: there is no receiver, nor a connection. The ACKs are written by hand.

use super::*;
use crate::sending::alone::{Alone, MS, MSS};
use proptest::prelude::*;

#[test]
fn in_slow_start_each_segment_lets_two_out_and_shows_the_round_trip() {
    let mut alone = Alone::with_data("reno");
    assert_eq!(alone.send_segments(), (0..10).collect::<Vec<_>>());
    alone.ack(2 * MS, 2, &[], Flags(0));
    assert_eq!(alone.snd.bytes_acked, 2_000);
    assert_eq!(alone.snd.paths.active.rtt.srtt(), 2_000);
    assert_eq!(alone.cwnd(), 12);
    assert_eq!(alone.send_segments(), [10, 11, 12, 13]);
    assert_eq!(alone.snd.timer.purpose, Purpose::LossProbe);
}

#[test]
fn an_old_acknowledgement_changes_nothing() {
    let mut alone = Alone::with_data("reno");
    alone.send();
    alone.ack(2 * MS, 4, &[], Flags(0));
    let before = format!("{:?}", (&alone.snd.board, &alone.snd.paths));
    alone.ack(0, 3, &[], Flags(0));
    assert_eq!(alone.snd.una, 5_000);
    assert_eq!(
        before,
        format!("{:?}", (&alone.snd.board, &alone.snd.paths))
    );
}

#[test]
fn a_hole_that_three_segments_show_is_repaired_once() {
    let mut alone = Alone::with_data("reno");
    alone.send();
    alone.ack(2 * MS, 0, &[(1, 2)], Flags(0));
    assert_eq!(alone.state(), State::LimitedTransmit);
    alone.ack(0, 0, &[(1, 3)], Flags(0));
    alone.ack(0, 0, &[(1, 4)], Flags(0));
    assert_eq!(alone.state(), State::FastRecovery);
    assert_eq!(alone.snd.paths.active.window.ssthresh, 5);
    let sent = alone.send();
    assert!(!sent[0].new && sent[0].start == 1_000, "{sent:?}");
    assert_eq!(sent.iter().filter(|sent| !sent.new).count(), 1);
    alone.ack(2 * MS, 10, &[], Flags(0));
    // The window is the threshold, and grows by one for the seven that this delivers.
    assert_eq!((alone.state(), alone.cwnd()), (State::Open, 6));
}

#[test]
fn an_echo_of_congestion_reduces_the_window_once_a_round_trip() {
    let mut alone = Alone::with_data("reno");
    alone.snd.ecn = true;
    alone.send();
    alone.ack(2 * MS, 1, &[], Flags::ECE);
    assert_eq!(alone.state(), State::Cwr);
    alone.ack(0, 2, &[], Flags::ECE);
    assert_eq!(alone.snd.stats.cwrs, 1);
    assert_eq!(alone.snd.paths.active.window.ssthresh, 5);
    assert!(alone.snd.cwr_queued, "the next segment says so");
}

#[test]
fn a_timeout_is_spurious_if_the_originals_arrive() {
    let mut alone = Alone::with_data("reno");
    alone.send();
    alone.clock.advance(3_000 * MS);
    alone.snd.on_rto(&alone.clock, &alone.config);
    assert_eq!(alone.state(), State::Timeout);
    assert_eq!(alone.send_segments(), [0]);
    // F-RTO (RFC 5682): the first ACK lets new data out, and the second, of originals, shows that nothing was lost.
    alone.ack(MS, 2, &[], Flags(0));
    assert_eq!(alone.snd.stats.frto_undos, 1);
    assert_eq!(alone.state(), State::Open);
    assert_eq!(alone.snd.timeouts, 0);
}

#[test]
fn when_all_is_acknowledged_the_timer_is_off() {
    let mut alone = Alone::new("reno");
    alone.write(2_000);
    assert_eq!(alone.send_segments(), [0, 1]);
    assert!(!alone.snd.is_idle());
    alone.ack(2 * MS, 2, &[], Flags(0));
    assert!(alone.snd.is_idle());
    assert_eq!(alone.snd.bytes_acked, 2_000);
}

#[test]
fn a_reduction_that_ece_asked_for_is_not_undone() {
    for (flags, undos) in [(Flags(0), 1), (Flags::ECE, 0)] {
        let mut alone = Alone::with_data("cubic");
        alone.snd.ecn = true;
        alone.send();
        let before = alone.cwnd();
        alone.ack(MS, 0, &[(1, 4)], flags);
        assert_eq!(alone.state(), State::FastRecovery);
        assert_eq!(alone.send_segments()[0], 0, "it is sent again");
        alone.ack(MS, 10, &[(0, 1)], Flags(0)); // in vain, says a DSACK
        assert_eq!(alone.snd.stats.undos, undos);
        assert_eq!(alone.cwnd() >= before, undos == 1);
    }
}

proptest! {
    /// Whatever is acknowledged, in whatever order, all counters are those of the records, SND.UNA never goes back, and no byte is
    /// acknowledged twice.
    #[test]
    fn counters_are_those_of_the_records(
        control in prop::sample::select(vec!["reno", "cubic", "dctcp"]),
        steps in prop::collection::vec((0..60_u32, 0..8_u32, 1..8_u32, 0..6_u64, 0..4_u8), 1..80),
    ) {
        let mut alone = Alone::with_data(control);
        alone.snd.ecn = control == "dctcp";
        for (ack, gap, len, after, kind) in steps {
            alone.send();
            let out = (alone.snd.nxt - 1_000) / MSS;
            let una = alone.snd.una;
            let ack = ((una - 1_000) / MSS + ack / 4).min(out);
            let block = ((ack + gap).min(out), (ack + gap + len).min(out));
            let blocks = [block];
            let blocks = if block.0 < block.1 && kind > 0 { &blocks[..] } else { &[] };
            if kind == 3 && after == 0 {
                alone.clock.advance(alone.clock.now + 2_000 * MS);
                alone.snd.on_rto(&alone.clock, &alone.config);
            }
            let flags = if after == 5 { Flags::ECE } else { Flags(0) };
            alone.ack(after * MS, ack, blocks, flags);
            prop_assert!(!before(alone.snd.una, una));
            prop_assert_eq!(alone.snd.bytes_acked, u64::from(alone.snd.una - 1_000));
            prop_assert!(alone.cwnd() >= 1);
        }
    }
}
