// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections of TDTCP whose every circumstance is read off bytes: what ends agree on, what is lost, late and doubled, which
//! options a liar puts into segments, which TDNs hosts hear of (unknown ones, the same again, none any more), downgrades at any time.
//!
//! Nothing panics, all counters are what a walk over the scoreboard finds, and once the network is good again, nobody waits longer
//! than for a probe and a timeout, whatever hosts go on to hear.
//!
//! `PROPTEST_CASES=100000 cargo test -p etalon-tcp --test all tdn_fuzz` for longer.
use crate::common::{Fate, MS, Pair, SECOND, US, end_of, mutated};
use etalon_tcp::cc::Any;
use etalon_tcp::{Config, Connection, Segment, TdDataAck, TdnOption, Tdtcp};
use proptest::prelude::*;

const DELAY: u64 = MS;
const TICK: u64 = 4 * MS;
/// A segment on the link, one that was held up, a delayed ACK at its longest, ticks.
const SLACK: u64 = 2 * DELAY + 8 * MS + 200 * MS + 3 * TICK;

/// What is read off the bytes; zeros when there are none left: then all goes well.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn fate(&mut self) -> Fate {
        let byte = self.next();
        let by = u64::from(self.next_if(byte % 16 >= 12)) * 31 * US;
        match byte % 16 {
            8..=11 => Fate::Drop,
            12 | 13 => Fate::Late(by),
            14 => Fate::Twice(by),
            15 => Fate::Mark,
            _ => Fate::Deliver,
        }
    }

    fn next_if(&mut self, wanted: bool) -> u8 {
        if wanted { self.next() } else { 0 }
    }

    fn option(&mut self) -> Option<TdnOption> {
        let kind = self.next();
        match kind % 4 {
            0 => None,
            1 => Some(TdnOption::Capable(self.next())),
            _ => Some(TdnOption::DataAck(TdDataAck {
                data: (kind & 8 > 0).then(|| self.next()),
                ack: (kind & 16 > 0).then(|| self.next()),
            })),
        }
    }
}

fn end(server: bool, bytes: &mut Bytes<'_>) -> Connection<Any> {
    let (tdns, switches) = (bytes.next() % 5, bytes.next());
    let control = || {
        let name = ["cubic", "reno", "dctcp", "scalable"][usize::from(switches >> 6)];
        Any::by_name(name, &[]).expect("a registered name")
    };
    let config = Config {
        tdtcp: (tdns > 0).then_some(Tdtcp {
            tdns,
            options: switches & 1 == 0,
            relaxed: switches & 2 == 0,
            shared_pipe: switches & 4 > 0,
            all_rtts: switches & 8 > 0,
            pace_burst: switches & 16 > 0,
        }),
        ..Config::default()
    };
    end_of(server, config, control)
}

/// Hosts hear of a TDN, or one end becomes plain TCP.
fn happens(pair: &mut Pair<Any, impl FnMut(u64, bool, &Segment) -> Fate>, what: u8, tdn: u8) {
    let now = pair.now;
    match what % 16 {
        8..=11 => pair.client.on_tdn(now, tdn % 5),
        12 | 13 => pair.server.on_tdn(now, tdn % 5),
        14 => pair.client.on_tdn(now, tdn),
        15 if tdn.is_multiple_of(8) => pair.client.downgrade(),
        15 if tdn % 8 == 1 => pair.server.downgrade(),
        _ => {}
    }
    pair.client.check_counters();
    pair.server.check_counters();
}

/// An end, and when it was last acknowledged something: timeouts double from there on.
#[derive(Clone, Copy, Default)]
struct Patience {
    acked: u64,
    timeouts: u64,
}

impl Patience {
    /// Its longest timeout, in nanoseconds: it may have been set on a path whose RTT was not known, for one second, doubled since, and
    /// stays when the path changes. Before it, as long passes until the loss probe.
    fn longest(&mut self, end: &Connection<Any>) -> u64 {
        if end.bytes_acked() > self.acked {
            *self = Patience {
                acked: end.bytes_acked(),
                timeouts: end.stats().rtos.into(),
            };
        }
        let doubled = (u64::from(end.stats().rtos) - self.timeouts).min(7);
        let known = end.paths().map(|path| path.rto_ticks()).max();
        (known.unwrap_or(0) * TICK).max(SECOND << doubled)
    }
}

/// Both ends send, `bytes` say what goes wrong; what is left of them is heard of by hosts when nothing goes wrong any more.
fn conversation(bytes: &[u8]) {
    let mut script = Bytes(bytes);
    let (client, server) = (end(false, &mut script), end(true, &mut script));
    let (steps, written) = (usize::from(script.next()) * 2, u64::from(script.next()));
    let heard = Bytes(&bytes[bytes.len() / 2..]);
    let mut fates = Bytes(&bytes[bytes.len() / 3..]);
    let mut pair = Pair::new(client, server, DELAY, |_, _, _| fates.fate());
    pair.transmission = 20 * US;
    pair.client.write(1 + written * 5_000);
    pair.server.write(1 + written * 300);
    for _ in 0..steps {
        if !pair.step(2_000 * SECOND) {
            break;
        }
        happens(
            &mut pair,
            script.next(),
            script.0.first().copied().unwrap_or(0),
        );
        // A liar's segment, which repeats one that was sent.
        if let (1, Some(logged)) = (script.next() % 8, pair.log.last().cloned()) {
            let (now, tdn) = (pair.now, script.option());
            let segment = Segment {
                tdn,
                ..logged.segment
            };
            let to = if logged.to_server {
                &mut pair.server
            } else {
                &mut pair.client
            };
            to.on_segment(now, &segment);
        }
    }
    goes_well(&mut pair, heard);
}

/// From now on the script of fates ends sooner or later; nobody may then wait longer than for a probe and a timeout.
fn goes_well(pair: &mut Pair<Any, impl FnMut(u64, bool, &Segment) -> Fate>, mut heard: Bytes<'_>) {
    let done = |end: &Connection<Any>| end.is_established() && end.all_acked();
    let so_far = |end: &Connection<Any>| end.bytes_received() + end.bytes_acked();
    let progress = |pair: &Pair<Any, _>| so_far(&pair.client) + so_far(&pair.server);
    let (mut last, mut since, mut allowed, mut lost) = (0, pair.now, u64::MAX, 0);
    let mut patience = [Patience::default(); 2];
    while !(done(&pair.client) && done(&pair.server)) {
        assert!(pair.step(4_000 * SECOND), "stuck: {:?}", pair.client);
        happens(pair, heard.next() & !7 | 8, heard.next());
        let lately = pair.log.iter().rev().take_while(|l| l.at >= since);
        lost = lost.max(
            lately
                .filter(|l| l.fate != Fate::Deliver)
                .map(|l| l.at)
                .max()
                .unwrap_or(0),
        );
        if progress(pair) > last || lost >= since {
            (last, since) = (progress(pair), pair.now);
            let [client, server] = &mut patience;
            let longest = client
                .longest(&pair.client)
                .max(server.longest(&pair.server));
            allowed = 2 * longest + SLACK;
        }
        let waited = pair.now - since;
        let over = done(&pair.client) && done(&pair.server);
        assert!(
            over || waited <= allowed,
            "{} ms of {} ms",
            waited / MS,
            allowed / MS
        );
    }
}

/// What once was, or could be, trouble; mutated below.
const CORPUS: [&[u8]; 8] = [
    b"",
    // Both ends have four TDNs; the first is left for good.
    &[4, 0, 4, 0, 200, 90, 14, 3, 14, 3, 14, 3, 8, 1, 8, 1, 10, 2],
    // One end is plain TCP.
    &[2, 0, 0, 0, 120, 60, 8, 1, 12, 1, 8, 0, 12, 0],
    // Numbers of TDNs that differ; every third segment is lost.
    &[
        2, 0, 3, 0, 250, 200, 8, 1, 8, 0, 10, 8, 1, 8, 0, 10, 8, 1, 8, 0, 10,
    ],
    // A downgrade among losses.
    &[
        3, 0, 3, 0, 250, 250, 8, 1, 10, 9, 8, 9, 10, 11, 15, 8, 10, 9, 8, 9, 15, 9,
    ],
    // TDNs that there are not, and lies in options.
    &[
        2, 0, 2, 0, 180, 99, 14, 250, 1, 30, 255, 254, 14, 2, 1, 1, 0, 1, 26, 9, 9,
    ],
    // No options, a shared pipe, all RTTs, paced, strict.
    &[
        4, 31, 4, 31, 255, 255, 8, 1, 8, 2, 8, 3, 8, 0, 9, 11, 10, 9, 8, 1, 8, 2,
    ],
    // Nothing but losses, then notifications without end.
    &[
        2, 0, 2, 0, 60, 250, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 9, 1, 9, 0, 9, 1, 9, 0, 9, 1,
        9, 0,
    ],
];

#[test]
fn the_corpus_is_harmless() {
    for bytes in CORPUS {
        conversation(bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens(bytes in mutated(&CORPUS)) {
        conversation(&bytes);
    }
}
