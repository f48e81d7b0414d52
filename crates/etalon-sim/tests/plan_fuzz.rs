// SPDX-License-Identifier: MIT OR Apache-2.0
//! Resolved plans that nobody would write: values at the edge, of another type, missing, too many, and text that is no JSON.
//!
//! What is refused gets a sentence; what is accepted reaches the kernel's setup and comes back the same, and runs: it ends, or stops
//! when it is asked to. Nothing panics.
//!
//! `PROPTEST_CASES=100000 cargo test -p etalon-sim --test all plan_fuzz` for longer; `PLAN_FUZZ_LAST` names a file for the
//! plan that runs, which is left there if it takes the process with it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use etalon_scenario::{Init, Scenario, Setup};
use etalon_sim::Control;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// Plans as Python gives them to the core, one for each kind of network, schedule and transport.
fn corpus() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files = fs::read_dir(folder).expect("a folder of plans");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| fs::read_to_string(path).expect("a plan"))
        .collect()
}

/// What is done to a value somewhere in a plan.
#[derive(Clone, Debug)]
enum Change {
    Put(Value),
    Remove,
    Twice,
}

fn change() -> impl Strategy<Value = Change> {
    let edges = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(7),
        json!(254),
        json!(255),
        json!(65_535),
        json!(65_536),
        json!(u32::MAX),
        json!(1u64 << 32),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e300),
        json!(5e-324),
        json!(-0.0),
        json!(""),
        json!("cubic"),
        json!("x\u{0}y"),
        json!([]),
        json!({}),
        json!([0, 1]),
        json!({"all": 1}),
    ];
    prop_oneof![
        8 => prop::sample::select(edges.to_vec()).prop_map(Change::Put),
        3 => any::<u64>().prop_map(|n| Change::Put(json!(n >> (n % 64)))),
        2 => Just(Change::Remove),
        1 => Just(Change::Twice),
    ]
}

/// Paths to all values below `value`.
fn places(value: &Value, path: &str, all: &mut Vec<String>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(table) => table
            .iter()
            .map(|(k, v)| (format!("{path}/{k}"), v))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(n, v)| (format!("{path}/{n}"), v))
            .collect(),
        _ => return,
    };
    for (path, value) in below {
        places(value, &path, all);
        all.push(path);
    }
}

fn apply(plan: &mut Value, place: Index, change: Change) {
    let mut all = Vec::new();
    places(plan, "", &mut all);
    if all.is_empty() {
        return;
    }
    let path = place.get(&all);
    let (above, last) = path.rsplit_once('/').expect("a path");
    let parent = plan.pointer_mut(above).expect("what is above it");
    match (change, parent) {
        (Change::Put(value), parent) => match parent {
            Value::Object(table) => drop(table.insert(last.to_owned(), value)),
            Value::Array(list) => list[last.parse::<usize>().expect("a number")] = value,
            _ => unreachable!("values are below tables and lists"),
        },
        (Change::Remove, Value::Object(table)) => drop(table.remove(last)),
        (Change::Remove, Value::Array(list)) => drop(list.pop()),
        (Change::Twice, Value::Array(list)) => list.extend_from_within(..),
        _ => {}
    }
}

/// What is accepted runs for so long, then is asked to stop.
const A_MOMENT: Duration = Duration::from_millis(100);
/// Set-up and a computed week are not asked whether they stop.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs what was accepted: it ends, or stops when it is asked to.
fn run(text: &str, scenario: Scenario) {
    if let Ok(path) = std::env::var("PLAN_FUZZ_LAST") {
        fs::write(path, text).expect("the last plan");
    }
    let control = Arc::new(Control::default());
    let (done, ended) = channel();
    let theirs = Arc::clone(&control);
    let runner = std::thread::spawn(move || {
        let _ = etalon_sim::run(&scenario, &theirs);
        let _ = done.send(());
    });
    if ended.recv_timeout(A_MOMENT) == Err(RecvTimeoutError::Timeout) {
        control.stop();
        let late = ended.recv_timeout(PATIENCE);
        assert_ne!(
            late,
            Err(RecvTimeoutError::Timeout),
            "does not stop: {text}"
        );
    }
    assert!(runner.join().is_ok(), "does not run: {text}");
}

/// Reads a plan; what is accepted is written as the kernel's setup, and read again.
fn follow(text: &str) -> Result<(), String> {
    let scenario = Scenario::from_json(text).map_err(|e| e.to_string())?;
    let setup = Setup {
        end: scenario.end(),
        capture: None,
        scenario,
    };
    if let (Ok(init), Ok(_)) = (
        Init::default().encode(&setup.scenario),
        setup.scenario.check(),
    ) {
        let bytes = setup.encode(&init).map_err(|e| e.to_string())?;
        if let Ok((read, rest)) = Setup::decode(&bytes) {
            assert_eq!((&read, rest), (&setup, &init[..]));
        }
    }
    run(text, setup.scenario);
    Ok(())
}

#[test]
fn the_corpus_is_accepted() {
    for text in corpus() {
        assert_eq!(follow(&text), Ok(()), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_at_the_edge(
        plan in prop::sample::select(corpus()),
        changes in prop::collection::vec((any::<Index>(), change()), 1..4),
    ) {
        let mut value: Value = serde_json::from_str(&plan).expect("JSON");
        for (place, change) in changes {
            apply(&mut value, place, change);
        }
        if let Err(sentence) = follow(&value.to_string()) {
            prop_assert!(!sentence.trim().is_empty());
        }
    }

    #[test]
    fn bytes_that_are_changed(
        plan in prop::sample::select(corpus()),
        changes in prop::collection::vec((any::<Index>(), any::<u8>()), 1..8),
        cut in prop::option::of(any::<Index>()),
    ) {
        let mut bytes = plan.into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = follow(&String::from_utf8_lossy(&bytes));
    }
}
