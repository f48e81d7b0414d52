// SPDX-License-Identifier: MIT OR Apache-2.0
//! NDP flow by flow against the logs that Opera's authors published (NSDI 2020; opera-sim): web search
//! traffic of 10 % on their 3:1 Clos network and their u = 7 expander.
//!
//! Their files are no part of this repository. With them in a folder, unpacked:
//! `ETALON_OPERA_DATA=FOLDER cargo test --release -p etalon-sim --test all opera_logs -- --ignored --nocapture`. `ETALON_OPERA_MS=100`
//! takes the flows of the first 100 ms, of which those of the first half are compared: what comes later has an emptier network.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::graphs::{Graph, clos, opera, plan_of};
use crate::common::{integers, run};
use serde_json::{Value, json};

/// Means and 99th percentiles may be so far from the logs', of sizes with so many flows: fewer decide nothing.
const MEAN: (f64, usize) = (0.05, 100);
const P99: (f64, usize) = (0.15, 1000);

/// A flow: source and destination host, bytes, start in nanoseconds.
type Flow = (u32, u32, u64, u64);

/// What tells a flow in the log, together with its start, which has six digits in milliseconds there.
type Key = (u32, u32, u64);

fn read(folder: &Path, name: &str) -> String {
    let path = folder.join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn flows(folder: &Path, network: &str, until: u64) -> Vec<Flow> {
    let text = read(folder, &format!("flows_websearch_{network}_10.txt"));
    let flow = |line: &str| {
        let mut words = line
            .split_whitespace()
            .map(|word| word.parse::<u64>().expect("a number"));
        let mut next = || words.next().expect("four numbers");
        (next() as u32, next() as u32, next(), next())
    };
    let all = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(flow);
    all.take_while(|flow| flow.3 < until).collect()
}

/// Start and completion time in milliseconds, by flow.
fn logged(folder: &Path, network: &str) -> BTreeMap<Key, Vec<(f64, f64)>> {
    let mut found: BTreeMap<Key, Vec<(f64, f64)>> = BTreeMap::new();
    for line in read(folder, &format!("fct_websearch_{network}_10.txt")).lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["FCT", src, dst, bytes, took, start] = words[..] else {
            continue;
        };
        let number = |word: &str| word.parse::<f64>().expect("a number");
        let key = (number(src) as u32, number(dst) as u32, number(bytes) as u64);
        found
            .entry(key)
            .or_default()
            .push((number(start), number(took)));
    }
    found
}

/// The mean, and the value of rank 0.99 n.
fn mean_and_p99(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (0.99 * sorted.len() as f64).round() as usize;
    let mean = sorted.iter().sum::<f64>() / sorted.len() as f64;
    (mean, sorted[rank.min(sorted.len() - 1)])
}

/// Prints completion times by size, here and in the log, and adds what is too far apart.
fn print_sizes(
    network: &str,
    by_size: &BTreeMap<u64, (Vec<f64>, Vec<f64>)>,
    wrong: &mut Vec<String>,
) {
    println!(
        "{network}: FCT in ms, here and in the log\n    bytes  flows      mean               p99"
    );
    for (bytes, (here, there)) in by_size {
        let ((mean, p99), (log_mean, log_p99)) = (mean_and_p99(here), mean_and_p99(there));
        let [off, off_p99] = [mean / log_mean - 1.0, p99 / log_p99 - 1.0];
        println!(
            "{bytes:9} {:6} {mean:9.4} {log_mean:9.4} {:+5.1} % {p99:9.4} {log_p99:9.4} {:+5.1} %",
            here.len(),
            100.0 * off,
            100.0 * off_p99,
        );
        let is_wrong =
            |off: f64, (most, flows): (f64, usize)| here.len() >= flows && off.abs() > most;
        if is_wrong(off, MEAN) || is_wrong(off_p99, P99) {
            wrong.push(format!(
                "{network}, {bytes} bytes: mean {off:+.3}, p99 {off_p99:+.3}"
            ));
        }
    }
}

/// Runs a network's flows, prints what came of them beside the log, and returns what is too far from it.
fn compare(folder: &Path, network: &str, graph: &Graph, paths: Option<u16>) -> Vec<String> {
    let wanted = std::env::var("ETALON_OPERA_MS").ok();
    let until = wanted.map_or(u64::MAX, |ms| {
        ms.parse::<u64>().expect("milliseconds") * 1_000_000
    });
    let flows = flows(folder, network, until);
    let mut transport = opera();
    transport["ndp"]["paths"] = json!(paths);
    let per_rack = u32::from(graph.per_rack);
    let planned: Vec<Value> = flows
        .iter()
        .map(|&(src, dst, bytes, start)| {
            json!({"src_rack": src / per_rack, "src_host": src % per_rack, "dst_rack": dst / per_rack,
                "dst_host": dst % per_rack, "cc": "cubic", "start_ns": start, "bytes": bytes, "transport": transport})
        })
        .collect();
    let mut plan = plan_of(graph, planned);
    plan["duration_ns"] = json!(3_000_000_000u64);
    let results = run(&plan);
    let ends = integers(&results.flows, "end_ns");
    let log = logged(folder, network);
    let mut compared = 0;
    let mut by_size: BTreeMap<u64, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for (&(src, dst, bytes, start), &end) in flows.iter().zip(ends) {
        let at = start as f64 / 1e6;
        if until < u64::MAX && start > until / 2 {
            continue;
        }
        compared += 1;
        let near = |&&(time, _): &&(f64, f64)| (time - at).abs() < 2e-5 * at.max(1.0);
        let same = log
            .get(&(src, dst, bytes))
            .and_then(|all| all.iter().find(near));
        if let (Some(&(_, took)), true) = (same, end >= 0) {
            let both = by_size.entry(bytes).or_default();
            both.0.push((end as u64 - start) as f64 / 1e6);
            both.1.push(took);
        }
    }
    let mut wrong = Vec::new();
    let found: usize = by_size.values().map(|both| both.0.len()).sum();
    if found < compared * 9 / 10 {
        wrong.push(format!(
            "{network}: of {compared} flows only {found} are in the log and here"
        ));
    }
    print_sizes(network, &by_size, &mut wrong);
    wrong
}

#[test]
#[ignore = "needs the authors' logs, and minutes"]
fn flows_take_as_long_as_in_the_logs_of_operas_authors() {
    let folder = std::env::var_os("ETALON_OPERA_DATA");
    let folder = folder.expect("ETALON_OPERA_DATA names a folder with the authors' files");
    let folder = Path::new(&folder);
    let mut wrong = compare(folder, "clos3to1", &clos(), Some(18));
    let mut links = Vec::new();
    let text = read(folder, "expander_130_u7.txt");
    for (a, line) in (0..).zip(text.lines().filter(|line| !line.starts_with('#'))) {
        let others = line
            .split_whitespace()
            .map(|word| word.parse::<u16>().expect("a node"));
        links.extend(others.filter(|&b| a < b).map(|b| (a, b)));
    }
    let expander = Graph {
        racks: 130,
        per_rack: 5,
        relays: 0,
        links,
    };
    wrong.extend(compare(folder, "expander_u7", &expander, None));
    assert!(wrong.is_empty(), "{wrong:#?}");
}
