// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a resolved plan (JSON file) and prints rates, and the peak of its memory.
use std::time::Instant;
fn main() {
    let text = std::fs::read_to_string(std::env::args().nth(1).unwrap()).unwrap();
    let plan = etalon_scenario::Scenario::from_json(&text).unwrap();
    drop(text);
    let t = Instant::now();
    let r = etalon_sim::run(&plan, &etalon_sim::Control::default()).unwrap();
    let s = t.elapsed().as_secs_f64();
    println!(
        "{:?}\n{:.3} s, {:.3} M data packets/s",
        r.meta,
        s,
        r.meta.packets_delivered as f64 / s / 1e6
    );
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        println!("peak memory: {}", peak.unwrap_or_default().trim());
    }
    if std::env::args().nth(2).is_some() {
        for t in [&r.pairs, &r.flows, &r.days] {
            for (n, c) in t {
                println!("{n}: {c:?}");
            }
        }
    }
}
