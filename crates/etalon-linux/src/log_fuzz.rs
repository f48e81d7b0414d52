// SPDX-License-Identifier: MIT OR Apache-2.0
//! Logs that no kernel would write: records changed, doubled, swapped, left out and made up, cut anywhere.
//!
//! Nothing panics: a log that cannot be true is an error, and what was measured up to there can still be had.
//! `PROPTEST_CASES=100000 cargo test -p etalon-linux log_fuzz` for longer.

#[path = "../tests/common/mod.rs"]
#[allow(dead_code)]
mod common;

use etalon_events::{Counter, Event, HostId, Pair, RECORD_BYTES};
use etalon_measure::{Control, Metrics};
use etalon_scenario::{Job, Program, Setup};
use etalon_units::{Span, Time};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::desk::Desk;
use crate::log::Log;
use crate::replay::Replay;
use crate::watch::Listener;
use crate::{Lent, Options};
use common::{Written, plan};

/// What kernels say, in an order that is right.
fn whole() -> Vec<u8> {
    let log = Written::default()
        .say(0, Event::Week { week: 0 })
        .say(0, Event::Day { day: 0 })
        .say(10, Event::Started { flow: 0 })
        .packet(400_000, 500_000, 1);
    let log = computed(opened(log).say(700_000, Event::Night { day: 0 }));
    let log = spoken(log).packet(3_990_000, 4_000_000, 8949);
    ended(log).0
}

/// A program's connection, which nothing closes.
fn opened(log: Written) -> Written {
    let opened = Event::Opened {
        flow: 1,
        src: HostId::new(0, 0),
        dst: HostId::new(1, 0),
        src_port: 40_000,
        dst_port: 5001,
        seq: 7,
        udp: false,
    };
    log.say(600_000, opened)
}

/// The warm-up is over, and a week is computed.
fn computed(log: Written) -> Written {
    let pair = Pair { src: 0, dst: 1 };
    let day = Event::PlannedDay {
        day: Span(180_000),
        night: Span(20_000),
    };
    let time = Time(1_050_000);
    log.say(1_000_000, Event::Begin)
        .say(1_000_000, counter(Counter::Received, 8948))
        .say(1_000_000, counter(Counter::Retransmits, 2))
        .say(1_100_000, Event::Demanded { pair, bytes: 9000 })
        .say(1_100_000, day)
        .say(1_100_000, Event::PlannedCircuit { pair })
        .say(1_100_000, Event::Computed { time })
}

/// A program writes and reads.
fn spoken(log: Written) -> Written {
    let output = Event::Output {
        program: 0,
        stream: 1,
        len: 5,
    };
    log.say(1_200_000, output)
        .data(b"hello")
        .say(1_300_000, Event::Waiting { program: 0 })
}

fn ended(log: Written) -> Written {
    let (program, status) = (0, 256);
    let (flow, bytes) = (0, 1_000_000);
    let stream = 2 * plan().flows.len() as u32; // of the job's only flow
    log.say(5_000_000, Event::Done { flow, bytes })
        .say(6_000_000, Event::Exited { program, status })
        .say(8_000_000, Event::Woken)
        .say(8_100_000, Event::Sent { stream, bytes: 100 })
        .say(
            8_200_000,
            Event::Read {
                end: stream | 1,
                bytes: 100,
            },
        )
        .say(
            10_000_000,
            Event::Polled {
                host: HostId::new(1, 0),
                late: Span(1_000),
                waited: Span(2_000_000),
            },
        )
        .say(10_000_000, counter(Counter::Received, 1_000_000))
        .say(10_000_000, counter(Counter::Srtt, 80))
        .say(10_000_000, Event::End { complete: true })
}

fn counter(which: Counter, value: u64) -> Event {
    Event::Counter {
        which,
        flow: 0,
        value,
    }
}

/// Hears a log that comes in pieces of `piece` bytes, and takes what was measured; an error is a sentence.
fn follow(bytes: &[u8], piece: usize) -> Result<(), String> {
    let mut scenario = plan();
    scenario.programs = vec![Program {
        rack: 0,
        host: 0,
        command: vec!["true".to_owned()],
        start: Time(0),
        ..Program::default()
    }];
    let job = r#"{"start_ns": 0, "ranks": [[0, 0], [1, 0]], "iterations": 2, "steps": true, "cc": "cubic",
        "do": [{"send": {"from": 0, "to": 1, "bytes": 100}}, {"send": {"from": 1, "to": 0, "bytes": 9}}]}"#;
    scenario.jobs = vec![Job::from_json(job).map_err(|e| e.0)?];
    let setup = Setup {
        end: scenario.end(),
        capture: None,
        scenario: scenario.clone(),
    };
    let (options, control) = (Options::default(), Control::default());
    let metrics = Metrics::new(&scenario);
    let desk = Desk::new(&scenario, Lent::default()).map_err(|e| e.message)?;
    let mut replay = Replay::new(&scenario, &control, (&options, desk), &setup, metrics)
        .map_err(|e| e.message)?;
    let mut log = Log::default();
    let mut heard = Ok(());
    for part in bytes.chunks(piece.max(1)) {
        log.read(&mut &part[..]).map_err(|e| e.to_string())?;
        heard = replay.take(&mut log);
        if heard.is_err() {
            break;
        }
    }
    let whole = replay.farewell().is_some();
    replay.finish(whole).map_err(|e| e.message)?;
    heard
}

#[test]
fn the_whole_log_is_true() {
    assert_eq!(follow(&whole(), 1 << 20), Ok(()));
    assert_eq!(follow(&whole(), 13), Ok(()));
}

/// What is done to a log.
#[derive(Clone, Debug)]
enum Change {
    Byte(Index, u8),
    Double(Index),
    Swap(Index, Index),
    Remove(Index),
    Insert(Index, [u8; RECORD_BYTES]),
    Cut(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let record = (1u8..40, any::<[u8; RECORD_BYTES]>(), any::<bool>()).prop_map(
        |(kind, mut bytes, near)| {
            bytes[8] = kind;
            if near {
                // An early time, racks that there are, small numbers.
                bytes[3..8].fill(0);
                bytes[10..14].fill(0);
                bytes[10] = bytes[9] % 3;
                for at in [17, 18, 19, 21, 22, 23] {
                    bytes[at] = 0;
                }
            }
            bytes
        },
    );
    prop_oneof![
        6 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        2 => any::<Index>().prop_map(Change::Double),
        2 => (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Swap(a, b)),
        2 => any::<Index>().prop_map(Change::Remove),
        5 => (any::<Index>(), record).prop_map(|(at, record)| Change::Insert(at, record)),
        1 => any::<Index>().prop_map(Change::Cut),
    ]
}

fn apply(bytes: &mut Vec<u8>, change: Change) {
    let records = bytes.len() / RECORD_BYTES;
    if records == 0 {
        return;
    }
    let place = |at: Index| at.index(records) * RECORD_BYTES;
    let range = |at: Index| place(at)..place(at) + RECORD_BYTES;
    match change {
        Change::Byte(at, byte) => {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        Change::Double(at) => {
            let again = bytes[range(at)].to_vec();
            bytes.splice(place(at)..place(at), again);
        }
        Change::Swap(a, b) => {
            (0..RECORD_BYTES).for_each(|i| bytes.swap(place(a) + i, place(b) + i));
        }
        Change::Remove(at) => drop(bytes.drain(range(at))),
        Change::Insert(at, record) => drop(bytes.splice(place(at)..place(at), record)),
        Change::Cut(at) => {
            let at = at.index(bytes.len());
            bytes.truncate(at);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_kernel_says(
        changes in prop::collection::vec(change(), 0..8),
        piece in 1usize..300,
    ) {
        let mut bytes = whole();
        for change in changes {
            apply(&mut bytes, change);
        }
        if let Err(sentence) = follow(&bytes, piece) {
            prop_assert!(!sentence.trim().is_empty());
        }
    }
}
