// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole conversations, damaged: from the controller's bytes to the plan for the host.
//!
//! As many as proptest takes; `python otcp/fuzz.py --minutes 10 agent` (ETALON_FUZZ_S) for long.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::time::Duration;

use etalon_otcp_agent::core::Core;
use etalon_otcp_agent::document::Limits;
use etalon_otcp_agent::plan::{Changes, Kernel, plan};
use etalon_otcp_agent::syn::Spacing;
use etalon_otcp_agent::{events, http};
use nix::time::{ClockId, clock_gettime};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const KERNEL: Kernel = Kernel {
    tick: Duration::from_millis(4),
    spacing: Spacing {
        linear: 4,
        longest: Duration::from_secs(120),
    },
    control: None,
};

fn limits() -> Limits {
    Limits::protocol(
        ["10.0.0.0/8", "fd00::/8"]
            .map(|text| text.parse().unwrap())
            .to_vec(),
    )
}

/// A number as a controller or a liar may say it.
fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => (0_u64..100_000).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        1 => any::<f64>().prop_map(|n| n.to_string()),
        1 => prop::sample::select(vec!["null", "\"1\"", "[]", "true", "1e3", "-0", "0x10", "99999999999999999999"]).prop_map(str::to_owned),
    ]
}

fn prefix() -> impl Strategy<Value = String> {
    prop_oneof![
        10 => (0_u8..=255).prop_map(|n| format!("10.0.{n}.0/24")),
        3 => (0_u8..=255).prop_map(|n| format!("fd00:{n:x}::/32")),
        1 => "[0-9a-f.:/]{0,20}",
    ]
}

fn route() -> impl Strategy<Value = String> {
    (prefix(), prop::array::uniform5(number())).prop_map(|(prefix, [min, init, cwnd, iw, rwnd])| {
        format!(r#"{{"prefix":"{prefix}","rto_min_us":{min},"rto_init_us":{init},"max_cwnd":{cwnd},"initial_cwnd":{iw},"initial_rwnd":{rwnd}}}"#)
    })
}

/// An event that may be good.
fn event() -> impl Strategy<Value = String> {
    let routes = (1_u64..4, 1_u64..20, prop::collection::vec(route(), 0..4)).prop_map(|(epoch, version, mut routes)| {
        routes.sort();
        format!(
            "event: routes\ndata: {{\"host\":\"h1\",\"epoch\":{epoch},\"version\":{version},\"lifetime_s\":60,\"routes\":[{}]}}\n\n",
            routes.join(",")
        )
    });
    let alive = (1_u64..4, 1_u64..20).prop_map(|(epoch, version)| {
        format!("event: alive\ndata: {{\"epoch\":{epoch},\"version\":{version}}}\n\n")
    });
    prop_oneof![4 => routes, 2 => alive, 1 => "[ -~\n]{0,60}"]
}

/// A whole answer: its events in chunks.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(event(), 0..8).prop_map(|events| {
        let chunks: String = events.iter().map(|text| format!("{:x}\r\n{text}\r\n", text.len())).collect();
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n")
            .into_bytes()
    })
}

/// Feeds bytes as they came, up to the first error, and checks what is held after each event.
fn follow(pieces: &[&[u8]], core: &mut Core) -> Result<(), TestCaseError> {
    let (mut answer, mut stream) = (http::Decoder::default(), events::Decoder::default());
    let mut now = Duration::ZERO;
    for piece in pieces {
        let mut body = Vec::new();
        if answer.push(piece, &mut body).is_err() {
            return Ok(());
        }
        let Ok(events) = stream.push(&body) else {
            return Ok(());
        };
        for event in events {
            now += Duration::from_secs(7);
            core.expire(now);
            let before = core.version();
            let _ = match event.name.as_str() {
                "routes" => core.offer(now, &event.data).map(drop),
                _ => core.alive(now, &event.data).map(drop),
            };
            prop_assert!(core.version() >= before, "never older while it lives");
            check(core)?;
        }
    }
    Ok(())
}

/// What is in force is within all bounds, and so is what would be done.
fn check(core: &Core) -> Result<(), TestCaseError> {
    let Some(document) = core.document() else {
        return Ok(());
    };
    let plan = plan(&document.routes, &[], &BTreeSet::new(), KERNEL);
    prop_assert_eq!(plan.len(), document.routes.len());
    for (prefix, target) in &plan {
        prop_assert!(prefix.length() > 0 && limits().allowed.iter().any(|a| a.covers(prefix)));
        let (entry, wanted) = (target.entry, document.routes[prefix]);
        prop_assert!((2..=750).contains(&entry.rto_init_ticks));
        prop_assert!(
            (1..=65535).contains(&entry.initial_cwnd) && entry.initial_cwnd <= entry.max_cwnd
        );
        prop_assert!(entry.max_cwnd <= 65535 && (10..=65535).contains(&wanted.initial_rwnd));
        prop_assert!((1000..=1_000_000).contains(&wanted.rto_min_us));
        prop_assert!(
            entry
                .syn_count
                .iter()
                .all(|count| (1..=127).contains(count))
        );
    }
    let entries = Changes::new(&plan, &Default::default(), Some(&Default::default())).set;
    prop_assert_eq!(entries.len(), plan.len());
    Ok(())
}

/// What happens to bytes on the way: places and lengths are taken modulo what there is.
#[derive(Clone, Debug)]
enum Damage {
    Set(u16, u8),
    Insert(u16, Vec<u8>),
    Cut(u16, u8),
    Repeat(u16, u8),
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        4 => (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        1 => (any::<u16>(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
        1 => (any::<u16>(), any::<u8>()).prop_map(|(at, length)| Damage::Cut(at, length)),
        1 => (any::<u16>(), any::<u8>()).prop_map(|(at, length)| Damage::Repeat(at, length)),
    ]
}

impl Damage {
    fn hit(self, bytes: &mut Vec<u8>) {
        let (Self::Set(at, _) | Self::Insert(at, _) | Self::Cut(at, _) | Self::Repeat(at, _)) =
            self;
        let at = usize::from(at) % bytes.len().max(1);
        let part = |length: u8| at..(at + usize::from(length)).min(bytes.len());
        match self {
            Self::Set(_, byte) => bytes.iter_mut().skip(at).take(1).for_each(|b| *b = byte),
            Self::Insert(_, new) => drop(bytes.splice(at..at, new)),
            Self::Cut(_, length) => drop(bytes.drain(part(length))),
            Self::Repeat(_, length) => bytes.extend_from_within(part(length)),
        }
    }
}

/// What this process has had of a processor: a busy machine makes a test last longer, not test less.
fn used() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)
        .expect("every Linux has this clock")
        .into()
}

/// Whole conversations with damage, in pieces; until the time that is asked for is over.
#[test]
fn conversations_however_damaged() {
    let seconds = std::env::var("ETALON_FUZZ_S").map_or(0.0, |text| text.parse().unwrap());
    let end = used() + Duration::from_secs_f64(seconds);
    let input = (
        conversation(),
        prop::collection::vec(damage(), 0..5),
        prop::collection::vec(any::<u16>(), 0..4),
    );
    let (count, taken) = (Cell::new(0_u64), Cell::new(0_u64));
    let settings = Config {
        failure_persistence: None,
        ..Config::default()
    };
    loop {
        let tested = TestRunner::new(settings.clone()).run(&input, |(mut bytes, damages, cuts)| {
            damages.into_iter().for_each(|each| each.hit(&mut bytes));
            let mut places: Vec<_> = cuts
                .iter()
                .map(|cut| usize::from(*cut) % (bytes.len() + 1))
                .chain([0, bytes.len()])
                .collect();
            places.sort_unstable();
            let pieces: Vec<_> = places.windows(2).map(|p| &bytes[p[0]..p[1]]).collect();
            let mut core = Core::new("h1".into(), limits());
            count.set(count.get() + 1);
            follow(&pieces, &mut core)?;
            taken.set(taken.get() + u64::from(core.document().is_some()));
            Ok(())
        });
        if let Err(failure) = tested {
            panic!("{failure}");
        }
        if used() >= end {
            break;
        }
    }
    println!(
        "agent: {} conversations, {} of which left a document",
        count.get(),
        taken.get()
    );
    assert!(taken.get() > 0, "all refused: nothing was tested");
}

proptest! {
    /// Most of what is not damaged comes through, so that the test above means something.
    #[test]
    fn a_good_conversation_is_understood(version in 1_u64..1000) {
        let event = format!(
            "event: routes\ndata: {{\"host\":\"h1\",\"epoch\":1,\"version\":{version},\"lifetime_s\":60,\"routes\":[]}}\n\n"
        );
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{event}\r\n", event.len());
        let mut core = Core::new("h1".into(), limits());
        follow(&[text.as_bytes()], &mut core)?;
        prop_assert_eq!(core.version().map(|v| v.version), Some(version));
    }
}
