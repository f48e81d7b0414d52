// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections with several paths. Debug builds compare every path's pipe and the sums with the scoreboard whenever the endpoint
//! falls silent.
use crate::common::{Fate, MS, Pair, SECOND, US};
use etalon_tcp::cc::{Any, Reno, State};
use etalon_tcp::{Config, Connection, Flags, Segment, SynOptions};
use proptest::prelude::*;

const MSS: u64 = 8948;

fn control(index: u8) -> Any {
    let name = ["reno", "cubic", "scalable"][usize::from(index) % 3];
    Any::by_name(name, &[]).expect("a registered name")
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

/// What happens to data segments in the order in which they enter the link; all else arrives.
fn script(fates: Vec<Fate>) -> impl FnMut(u64, bool, &Segment) -> Fate {
    let mut fates = fates.into_iter();
    move |_, to_server, segment| match to_server && segment.len > 0 {
        true => fates.next().unwrap_or(Fate::Deliver),
        false => Fate::Deliver,
    }
}

/// A client with `paths` paths, a server, and a link that does what the script says.
fn pair(paths: u8, cc: u8, fates: Vec<Fate>) -> Pair<Any, impl FnMut(u64, bool, &Segment) -> Fate> {
    let mut client = Connection::client(Config::default(), control(cc));
    client.add_paths((1..paths).map(|_| control(cc)).collect());
    let server = Connection::server(Config::default(), control(cc));
    let mut pair = Pair::new(client, server, MS, script(fates));
    pair.transmission = 20 * US;
    pair
}

/// Transfers `segments`; before each step the next of `notices`, if there is one, says which path is active now.
fn transfer<F: FnMut(u64, bool, &Segment) -> Fate>(
    pair: &mut Pair<Any, F>,
    segments: u64,
    notices: &[Option<u8>],
) {
    pair.client.write(segments * MSS);
    let mut notices = notices.iter();
    while !(pair.client.is_established() && pair.client.all_acked()) {
        if let Some(Some(id)) = notices.next() {
            pair.client.on_tdn(pair.now, *id);
        }
        assert!(pair.step(2_000 * SECOND), "stuck: {:?}", pair.client);
    }
    assert_eq!(pair.server.bytes_received(), segments * MSS);
}

fn notices(ids: impl Strategy<Value = u8>) -> impl Strategy<Value = Vec<Option<u8>>> {
    prop::collection::vec(
        prop_oneof![3 => Just(None), 1 => ids.prop_map(Some)],
        0..600,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// One path, whatever is said of others: not a segment differs from plain TCP's.
    #[test]
    fn notices_of_the_only_path_and_of_unknown_ones_change_nothing(
        fates in fates(),
        segments in 1..120_u64,
        cc: u8,
        notices in notices(any::<u8>()),
    ) {
        let mut plain = pair(1, cc, fates.clone());
        let mut told = pair(1, cc, fates);
        transfer(&mut plain, segments, &[]);
        transfer(&mut told, segments, &notices);
        let log = |pair: &Pair<Any, _>| -> Vec<_> {
            pair.log.iter().map(|l| (l.at, l.to_server, l.segment.clone())).collect()
        };
        prop_assert_eq!(log(&plain), log(&told));
    }

    /// Any switching between two alike: everything arrives, each path's window is kept, and both paths end with nothing in flight.
    #[test]
    fn everything_arrives_however_paths_change(
        fates in fates(),
        segments in 1..120_u64,
        cc: u8,
        notices in notices(0..2_u8),
    ) {
        let mut pair = pair(2, cc, fates);
        transfer(&mut pair, segments, &notices);
        let stats = pair.client.stats();
        prop_assert!(pair.beyond[0] <= u64::from(stats.tlps + stats.rtos), "{:?} {stats:?}", pair.beyond);
        for path in pair.client.paths() {
            prop_assert_eq!((path.in_flight(), path.pipe().outstanding, path.pipe().lost), (0, 0, 0));
        }
        let delivered: u64 = pair.client.paths().map(|path| path.delivered()).sum();
        // A DSACK is a delivery too, and the last of a window may be small.
        prop_assert!(
            (segments..=stats.data_segments_sent + 1).contains(&delivered),
            "{delivered} of {segments}, {stats:?}"
        );
    }

    /// A network that loses nothing: nothing is sent twice and no window is reduced, as with plain TCP.
    #[test]
    fn switching_alone_costs_nothing(segments in 1..400_u64, cc: u8, notices in notices(0..2_u8)) {
        let mut pair = pair(2, cc, Vec::new());
        transfer(&mut pair, segments, &notices);
        let stats = pair.client.stats();
        prop_assert_eq!((stats.retransmits, stats.recoveries, stats.rtos, stats.reorderings), (0, 0, 0, 0));
        prop_assert!(pair.client.paths().all(|path| path.window().cwnd >= 10));
    }

    /// Path 0 of a connection that changes paths between bursts does what plain TCP does that sends path 0's bursts only, to the
    /// segment and the nanosecond, losses and timeouts included. The first and the last segment of a burst are not lost: the
    /// last ends what the burst left undecided (the other path's ACKs would), the first ends rounds, which are told by SND.UNA
    /// (as the other path's progress does).
    #[test]
    fn a_path_is_plain_tcp_that_was_idle_meanwhile(
        bursts in prop::collection::vec((any::<bool>(), 1..60_u64, prop::collection::vec(prop::bool::weighted(0.1), 0..60)), 1..12),
        cc: u8,
        decays: bool,
    ) {
        let config = || Config { slow_start_after_idle: decays, ..Config::default() };
        let mut plain = Sender::new(Connection::client(config(), control(cc)));
        let mut both = Connection::client(config(), control(cc));
        both.add_paths([control(cc)].into());
        let mut both = Sender::new(both);
        for (index, (on_first, segments, drops)) in bursts.iter().enumerate() {
            let start = (index as u64 + 1) * 1_000 * SECOND;
            both.end.on_tdn(start, u8::from(!on_first));
            let seen = both.burst(start, *segments, drops);
            if *on_first {
                prop_assert_eq!(plain.burst(start, *segments, drops), seen);
                prop_assert_eq!(plain.summary(), both.summary());
            }
        }
    }
}

/// A sender whose peer acknowledges every segment as it arrives.
struct Sender {
    end: Connection<Any>,
    /// What the peer has in order and beyond, and the timestamp that it echoes.
    next: u32,
    held: Vec<(u32, u32)>,
    echo: u32,
}

impl Sender {
    fn new(mut end: Connection<Any>) -> Sender {
        let syn = end.poll_transmit(0).expect("SYN");
        let reply = Segment {
            seq: 99,
            ack: syn.seq.wrapping_add(1),
            window: 65_535,
            flags: Flags::SYN | Flags::ACK,
            rare: SynOptions {
                mss: syn.rare.syn().mss,
                window_scale: Some(10),
                sack_permitted: true,
            }
            .into(),
            timestamps: syn.timestamps.map(|t| (1, t.0)),
            ..Segment::default()
        };
        end.on_segment(2 * MS, &reply);
        let mut sender = Sender {
            end,
            next: reply.ack,
            held: Vec::new(),
            echo: 0,
        };
        assert!(sender.end.poll_transmit(2 * MS).is_some());
        let update = sender.ack(2 * MS);
        sender.end.on_segment(2 * MS, &update);
        sender
    }

    fn ack(&self, now: u64) -> Segment {
        let mut ack = Segment {
            seq: 100,
            ack: self.next,
            window: 65_535,
            flags: Flags::ACK,
            timestamps: Some(((now / MS) as u32 + 1, self.echo.max(1))),
            ..Segment::default()
        };
        for &(start, end) in self.held.iter().take(3) {
            ack.rare.push(start, end);
        }
        ack
    }

    fn take(&mut self, segment: &Segment) {
        let end = segment.seq.wrapping_add(u32::from(segment.len));
        if segment.seq == self.next {
            self.echo = segment.timestamps.expect("on").0;
            self.next = end;
            while let Some(place) = self.held.iter().position(|h| h.0 == self.next) {
                self.next = self.held.remove(place).1;
            }
        } else if segment.seq > self.next
            && !self
                .held
                .iter()
                .any(|h| h.0 <= segment.seq && segment.seq < h.1)
        {
            // Most recent first; neighbours are joined.
            let mut block = (segment.seq, end);
            self.held.retain(|h| {
                let joins = h.1 == block.0 || h.0 == block.1;
                if joins {
                    block = (h.0.min(block.0), h.1.max(block.1));
                }
                !joins
            });
            self.held.insert(0, block);
        }
    }

    /// Sends `segments` from `start` on; those whose turn is in `drops` are lost. Returns when each was sent, from the start, and
    /// which it was, in the burst.
    fn burst(&mut self, start: u64, segments: u64, drops: &[bool]) -> Vec<(u64, u32)> {
        let (mut now, first) = (start, self.next);
        let mut sent: Vec<(u64, u32)> = Vec::new();
        let mut arrivals = std::collections::VecDeque::new();
        self.end.write(segments * MSS);
        let mut last = false;
        loop {
            while let Some(segment) = self.end.poll_transmit(now) {
                self.end.departed(u64::from(segment.len));
                if segment.len == 0 {
                    continue;
                }
                let spared = last || sent.is_empty();
                if spared || !drops.get(sent.len()).copied().unwrap_or(false) {
                    arrivals.push_back((now + 2 * MS, segment.clone()));
                }
                sent.push((now - start, segment.seq - first));
            }
            if self.end.all_acked() {
                if last {
                    return sent;
                }
                last = true;
                self.end.write(MSS);
                continue;
            }
            let arrival = arrivals.front().map_or(u64::MAX, |a| a.0);
            now = arrival.min(self.end.next_timer());
            assert!(now < start + 900 * SECOND, "stuck");
            if arrival == now {
                if let Some((_, segment)) = arrivals.pop_front() {
                    self.take(&segment);
                }
                let ack = self.ack(now);
                self.end.on_segment(now, &ack);
            } else {
                self.end.on_timer(now);
            }
        }
    }

    fn summary(&self) -> (u32, u32, u64, u64, u64, State) {
        let path = self.end.path();
        let window = path.window();
        (
            window.cwnd,
            window.ssthresh,
            path.srtt(),
            path.rttvar(),
            path.min_rtt(),
            path.recovery_state(),
        )
    }
}

/// Path 0 has sent segments 0 to 9, and path 1 is in use.
fn on_a_second_path(tso_win_divisor: u32) -> crate::common::Bench<Reno> {
    let config = Config {
        tso_win_divisor,
        ..Config::default()
    };
    let mut client = Connection::client(config, Reno);
    client.add_paths([Reno].into());
    let mut b = crate::common::Bench::client(client, 10 * MS, |_| {});
    b.end.write_forever();
    assert_eq!(b.sent().len(), 10);
    b.wait(5 * MS);
    b.end.on_tdn(b.now, 1);
    b
}

/// `tso_win_divisor = 100` changes on Linux what a path sends of which no round trip was measured: less than a third of the window waits there.
#[test]
fn the_end_of_a_window_waits_while_the_round_trip_is_unknown() {
    let mut b = on_a_second_path(3);
    assert_eq!(b.end.path().srtt(), 0);
    assert_eq!(b.sent(), (10..17).collect::<Vec<_>>());
    b.wait(2 * MS);
    let ack = b.ack(1, &[]);
    assert_eq!(
        ack,
        (17..20).collect::<Vec<_>>(),
        "not for longer than a millisecond"
    );
}

/// Path 0 sends segments 0 to 9, and path 1, which is then in use, 10 to 19.
fn two_windows() -> crate::common::Bench<Reno> {
    let mut b = on_a_second_path(100); // no chunk waits for a larger one
    let second: Vec<u32> = (10..20).collect();
    assert_eq!(b.sent(), second, "a window of its own");
    b.wait(5 * MS);
    b
}

/// State, threshold and lost segments of a path.
fn state(b: &crate::common::Bench<Reno>, id: u8) -> (State, u32, u32) {
    let path = b.end.paths().find(|path| path.id() == id).expect("known");
    let (ssthresh, lost) = (path.window().ssthresh, path.pipe().lost);
    (path.recovery_state(), ssthresh, lost)
}

/// An ACK after which one segment is sent, which this returns; what else might go out waits.
fn answer(b: &mut crate::common::Bench<Reno>, segments: u32, sacks: &[(u32, u32)]) -> Option<u32> {
    let mss = u32::from(b.end.config().mss);
    let first = b.end.initial_seq().wrapping_add(1);
    let ack = b.ack_segment(segments, sacks);
    b.end.on_segment(b.now, &ack);
    b.poll()
        .map(|segment| segment.seq.wrapping_sub(first) / mss)
}

#[test]
fn timestamps_undo_no_reduction_that_began_while_its_path_was_parked() {
    let mut b = two_windows();
    // 0 and 5 are lost on path 0; path 1 sends 0 again.
    assert_eq!(answer(&mut b, 0, &[(1, 5), (6, 14)]), Some(0));
    assert_eq!(state(&b, 0), (State::FastRecovery, 5, 2));
    b.wait(5 * MS);
    // Back on path 0, which has sent nothing again itself: that the hole is filled does not say that nothing was lost.
    b.end.on_tdn(b.now, 0);
    assert_eq!(answer(&mut b, 5, &[(6, 14)]), Some(5));
    assert_eq!(b.end.stats().undos, 0);
    assert_eq!(state(&b, 0), (State::FastRecovery, 5, 1));
}

#[test]
fn an_undone_reduction_takes_back_the_losses_of_its_own_path_only() {
    let mut b = two_windows();
    // 0 and 5 are lost on path 0, 12 on path 1.
    assert_eq!(answer(&mut b, 0, &[(1, 5), (6, 12), (13, 20)]), Some(0));
    assert_eq!((state(&b, 0).2, state(&b, 1).2), (2, 1));
    // By its timestamp this answers what was sent before.
    b.wait(5 * MS);
    b.echo = Some(1);
    answer(&mut b, 5, &[(6, 12), (13, 20)]);
    assert_eq!(b.end.stats().undos, 1);
    assert_eq!((state(&b, 0).2, state(&b, 1).2), (1, 0));
}

#[test]
fn a_loss_is_charged_to_the_path_that_sent_and_repaired_on_the_other() {
    let mut b = two_windows();
    // 0 is lost on path 0, which reduces its window; path 1 sends it again.
    for n in 2..=3 {
        b.ack(0, &[(1, n)]);
    }
    b.ack(0, &[(1, 4)]);
    assert_eq!(state(&b, 0), (State::FastRecovery, 5, 1));
    assert_eq!(state(&b, 1), (State::LimitedTransmit, u32::MAX, 0));
    assert_eq!(b.end.stats().recoveries, 1);
    // Room on path 1: the retransmission is in its pipe, the loss still path 0's.
    b.wait(5 * MS);
    let sent = b.ack(0, &[(1, 12)]);
    assert_eq!(sent.first(), Some(&0));
    assert_eq!(state(&b, 0).2, 1);
    b.wait(10 * MS);
    b.ack(20, &[]);
    assert_eq!(state(&b, 0), (State::Open, 5, 0));
    assert_eq!(state(&b, 1).0, State::Open);
}
