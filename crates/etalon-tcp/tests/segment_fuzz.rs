// SPDX-License-Identifier: MIT OR Apache-2.0
//! Segments that no peer would send, in any state: a liar on the path repeats what was sent with other numbers, flags and options,
//! or makes up a segment near the window.
//!
//! Nothing panics, all counters are what a walk over the scoreboard finds, and no more is acknowledged than was written.
//!
//! `PROPTEST_CASES=100000 cargo test -p etalon-tcp --test all segment_fuzz` for longer.
use crate::common::{Fate, MS, Pair, SECOND, US, end_of, mutated};
use etalon_tcp::cc::Any;
use etalon_tcp::{Config, Connection, Flags, Segment, SynOptions};
use proptest::prelude::*;

/// What is read off the bytes; zeros when there are none left.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.next(), self.next(), self.next(), self.next()])
    }

    /// A sequence number near `near`, or anywhere.
    fn number(&mut self, near: u32) -> u32 {
        match self.next() % 8 {
            0 => near,
            1 => near.wrapping_add(1),
            2 => near.wrapping_sub(1),
            3 => near.wrapping_add(u32::from(self.next()) * 251),
            4 => near.wrapping_sub(u32::from(self.next()) * 251),
            5 => near ^ 0x8000_0000,
            6 => near.wrapping_add(0x7fff_ffff),
            _ => self.word(),
        }
    }

    /// `true` segment with some of its fields told otherwise.
    fn lie(&mut self, mut segment: Segment) -> Segment {
        let what = u16::from_le_bytes([self.next(), self.next()]);
        let told = |bit: u16| what >> bit & 1 == 1;
        if told(0) {
            segment.seq = self.number(segment.seq);
        }
        if told(1) {
            segment.ack = self.number(segment.ack);
        }
        if told(2) {
            segment.window = [0, 1, u16::MAX][usize::from(self.next() % 3)];
        }
        if told(3) {
            segment.len = [0, 1, 1447, 1448, 8948, u16::MAX][usize::from(self.next() % 6)];
        }
        if told(4) {
            segment.flags = self.flags();
        }
        if told(5) {
            segment.timestamps = match self.next() % 3 {
                0 => None,
                _ => Some((self.word(), self.word())),
            };
        }
        if told(6) {
            segment.rare.set_syn(SynOptions {
                mss: u16::from_le_bytes([self.next(), self.next()]),
                window_scale: Some(self.next()),
                sack_permitted: self.next() < 128,
            });
        }
        if told(7) {
            segment.rare.clear_blocks();
            for _ in 0..self.next() % 5 {
                let (start, end) = (self.number(segment.ack), self.number(segment.ack));
                segment.rare.push(start, end);
            }
        }
        segment
    }

    fn flags(&mut self) -> Flags {
        let all = [
            Flags::FIN,
            Flags::SYN,
            Flags::RST,
            Flags::PSH,
            Flags::ACK,
            Flags::ECE,
            Flags::CWR,
        ];
        let which = self.next();
        let chosen = all
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| which >> bit & 1 == 1);
        chosen.fold(Flags::default(), |sum, (_, flag)| sum | flag)
    }
}

fn end(server: bool, bytes: &mut Bytes<'_>) -> Connection<Any> {
    let switches = bytes.next();
    let name = ["cubic", "reno", "dctcp", "bic"][usize::from(switches >> 6)];
    let control =
        || Any::by_name(name, &[]).unwrap_or_else(|_| Any::by_name("reno", &[]).expect("reno"));
    let config = Config {
        sack: switches & 1 == 0,
        timestamps: switches & 2 == 0,
        initial_seq: if switches & 4 == 0 {
            1
        } else {
            u32::MAX - 3000
        },
        ..Config::default()
    };
    end_of(server, config, control)
}

fn holds(end: &Connection<Any>, written: u64) {
    end.check_counters();
    assert!(
        end.bytes_acked() <= written,
        "{} of {written}",
        end.bytes_acked()
    );
}

/// Both ends send, something is lost now and then, and a liar has a say after each step.
fn conversation(bytes: &[u8]) {
    let mut script = Bytes(bytes);
    let (client, server) = (end(false, &mut script), end(true, &mut script));
    let written = [
        u64::from(script.next()) * 5_000 + 1,
        u64::from(script.next()) * 300,
    ];
    let mut fates = Bytes(&bytes[bytes.len() / 2..]);
    let fate = |_: u64, _: bool, _: &Segment| match fates.next() % 16 {
        13 => Fate::Drop,
        14 => Fate::Late(700 * US),
        15 => Fate::Twice(300 * US),
        _ => Fate::Deliver,
    };
    let mut pair = Pair::new(client, server, MS, fate);
    pair.transmission = 20 * US;
    pair.client.write(written[0]);
    pair.server.write(written[1]);
    if script.next() % 2 == 0 {
        pair.client.shutdown();
        pair.server.shutdown();
    }
    for _ in 0..400 {
        let going = pair.step(100 * SECOND);
        if let (true, Some(logged)) = (script.next().is_multiple_of(3), pair.log.last().cloned()) {
            let mut segment = script.lie(logged.segment);
            let to_server = logged.to_server ^ (script.next() % 8 == 0);
            let now = pair.now;
            let to = if to_server {
                &mut pair.server
            } else {
                &mut pair.client
            };
            segment.ce = script.next() % 16 == 0;
            to.on_segment(now, &segment);
        }
        holds(&pair.client, written[0]);
        holds(&pair.server, written[1]);
        if !going && script.0.is_empty() {
            break;
        }
    }
}

/// Where lies begin; mutated below.
const CORPUS: [&[u8]; 6] = [
    b"",
    // SYN, RST and FIN again and again.
    &[
        0, 0, 40, 40, 0, 0, 16, 0, 2, 0, 0, 16, 0, 4, 0, 0, 16, 0, 1, 0, 0, 16, 0, 18, 0,
    ],
    // ACKs of what was never sent, half the space away.
    &[
        0, 0, 90, 9, 1, 0, 2, 0, 5, 0, 0, 2, 0, 6, 0, 0, 2, 0, 3, 255, 0, 0,
    ],
    // SACK blocks that overlap, are empty, or end before they begin.
    &[
        0, 0, 200, 0, 1, 0, 128, 0, 4, 3, 9, 3, 4, 0, 0, 3, 200, 4, 7, 5, 6, 0, 128, 0, 2, 1, 2, 2,
        1,
    ],
    // Without SACK and timestamps, numbers that wrap.
    &[7, 7, 255, 255, 0, 0, 1, 0, 3, 9, 0, 0, 3, 0, 4, 9, 3, 9],
    // A window of zero, then everything told otherwise.
    &[
        64, 128, 120, 60, 1, 0, 4, 0, 0, 0, 255, 255, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
        14, 15,
    ],
];

#[test]
fn the_corpus_is_harmless() {
    for bytes in CORPUS {
        conversation(bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_told(bytes in mutated(&CORPUS)) {
        conversation(&bytes);
    }
}
