// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any pattern of loss, reordering and duplication: everything written arrives, once and in order, and the window is
//! respected. Debug builds check the scoreboard's counters against a scan whenever the endpoint falls silent.
use crate::common::{Fate, MS, Pair, SECOND, US};
use etalon_tcp::cc::{CongestionControl, Cubic, Dctcp, Reno, State};
use etalon_tcp::{Config, Connection, Ecn, Segment};
use proptest::prelude::*;

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        12 => Just(Fate::Deliver),
        3 => Just(Fate::Drop),
        2 => (1..8_000_u64).prop_map(|us| Fate::Late(us * US)),
        1 => (0..8_000_u64).prop_map(|us| Fate::Twice(us * US)),
        1 => Just(Fate::Mark),
    ];
    prop::collection::vec(fate, 1..120)
}

/// The script for the first packets of each direction, then a good link, so that the transfer ends.
fn scripted(forward: Vec<Fate>, backward: Vec<Fate>) -> impl FnMut(u64, bool, &Segment) -> Fate {
    let mut lists = [backward.into_iter(), forward.into_iter()];
    move |_, to_server, _| {
        lists[usize::from(to_server)]
            .next()
            .unwrap_or(Fate::Deliver)
    }
}

/// What holds at any time; `beyond`: segments sent beyond the window.
fn check<C: CongestionControl>(end: &Connection<C>, beyond: u64) {
    let (sums, out) = (end.sums(), end.path().pipe().outstanding);
    assert!(sums.sacked + sums.lost <= out, "{sums:?} of {out}");
    assert!(sums.retransmitted <= out, "{sums:?} of {out}");
    // Only loss probes, timeouts, window probes and what carries FIN may exceed the window, by a segment each.
    let stats = end.stats();
    let excused = u64::from(stats.tlps + stats.rtos + stats.window_probes + 1);
    assert!(
        beyond <= excused,
        "{beyond} segments beyond the window, {excused} excused"
    );
}

fn run<C: CongestionControl>(
    cc: impl Fn() -> C,
    config: Config,
    bytes: (u64, u64),
    fate: impl FnMut(u64, bool, &Segment) -> Fate,
) {
    // Long enough for the peer's last timeout, after which it would find the connection gone.
    let config = Config {
        time_wait: 10_000 * SECOND,
        ..config
    };
    let server = Config {
        initial_seq: config.initial_seq ^ 0x8000_0000,
        ..config.clone()
    };
    let mut pair = Pair::new(
        Connection::client(config, cc()),
        Connection::server(server, cc()),
        MS,
        fate,
    );
    pair.transmission = 100 * US;
    pair.client.write(bytes.0);
    pair.client.shutdown();
    pair.server.write(bytes.1);
    pair.server.shutdown();
    let done = pair.run_until(20_000 * SECOND, |p| {
        for (end, beyond) in [(&p.client, p.beyond[0]), (&p.server, p.beyond[1])] {
            check(end, beyond);
        }
        p.client.is_closed() && p.server.is_closed()
    });
    assert!(
        done,
        "stuck at {} s: {:?} {:?} / {:?} {:?}",
        pair.now / SECOND,
        pair.client.state(),
        pair.client.path().pipe(),
        pair.server.state(),
        pair.server.path().pipe()
    );
    assert_eq!(
        (pair.server.bytes_received(), pair.client.bytes_received()),
        bytes
    );
    assert_eq!(
        (pair.client.bytes_acked(), pair.server.bytes_acked()),
        bytes
    );
    for end in [&pair.client, &pair.server] {
        assert!(end.all_acked());
        assert_eq!(end.path().pipe().in_flight(), 0);
        // Without SACK recovery lasts until something beyond its end is acknowledged (RFC 6582).
        assert!(
            !end.config().sack || matches!(end.path().recovery_state(), State::Open | State::Cwr)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn everything_arrives(
        forward in fates(),
        backward in fates(),
        segments in 1..150_u64,
        reply in 0..400_000_u64,
        odd in 0..8948_u64,
        seq: u32,
        sack: bool,
        timestamps: bool,
        pacing: bool,
        algorithm in 0..3_u8,
        ecn: bool,
        autocorking: bool,
        room in prop::option::of(20_000..2_000_000_u32),
    ) {
        let config = Config {
            initial_seq: seq,
            sack,
            timestamps,
            pacing,
            ecn: if ecn { Ecn::On } else { Ecn::Off },
            autocorking,
            waits_for_room: room,
            ..Config::default()
        };
        let bytes = (segments * 8948 + odd, reply);
        let fate = scripted(forward, backward);
        match algorithm {
            0 => run(|| Reno, config, bytes, fate),
            1 => run(Cubic::default, config, bytes, fate),
            _ => run(Dctcp::default, config, bytes, fate),
        }
    }

    #[test]
    fn heavy_random_loss_is_survived(seed: u64, percent in 1..20_u64) {
        // A linear congruential generator; the high bits decide.
        let mut state = seed;
        let fate = move |_: u64, _: bool, _: &Segment| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let roll = (state >> 33) % 100;
            match roll {
                r if r < percent => Fate::Drop,
                r if r < percent + 5 => Fate::Late((state >> 40) % (6 * MS)),
                _ => Fate::Deliver,
            }
        };
        run(|| Reno, Config::default(), (100 * 8948, 0), fate);
    }
}
