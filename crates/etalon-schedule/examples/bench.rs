// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long schedulers take: a Markdown table for several numbers of racks and kinds of demand.
//!
//! `cargo run --release -p etalon-schedule --example bench [SCHEDULER ...]`, with Solstice if none is named.

use std::error::Error;
use std::time::{Duration, Instant};

use etalon_schedule::{Demand, Options, Params, scheduler, served};
use etalon_units::{Rate, Span};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

const CIRCUIT: Rate = Rate::from_gbps(80);

/// All pairs have 0.5 to 1.5 times the same, as in a shuffle; a rack's sum fills the window.
fn dense(racks: u64, fill: u64, rng: &mut ChaCha8Rng) -> impl FnMut(u64, u64) -> u64 {
    let mean = fill / (racks - 1);
    move |_, _| mean / 2 + rng.next_u64() % mean
}

/// Four rings share nine tenths of the window, all other pairs the last tenth.
fn skewed(racks: u64, fill: u64, rng: &mut ChaCha8Rng) -> impl FnMut(u64, u64) -> u64 {
    let (big, small) = (fill * 9 / 40, fill / 10 / racks);
    move |src, dst| {
        let ring = (dst + racks - src) % racks;
        let mean = if ring <= 4 { big } else { small };
        mean / 2 + rng.next_u64() % mean.max(1)
    }
}

/// Each rack sends to about four others, chosen at random.
fn sparse(racks: u64, fill: u64, rng: &mut ChaCha8Rng) -> impl FnMut(u64, u64) -> u64 {
    let mean = fill / 4;
    move |_, _| match rng.next_u64() % racks < 4 {
        true => mean / 2 + rng.next_u64() % mean,
        false => 0,
    }
}

fn matrix(racks: u64, mut entry: impl FnMut(u64, u64) -> u64) -> Result<Demand, Box<dyn Error>> {
    let mut rows = Vec::new();
    for src in 0..racks {
        let row = (0..racks).map(|dst| if src == dst { 0 } else { entry(src, dst) });
        rows.push(row.collect());
    }
    Ok(Demand::new(&rows)?)
}

/// The median time of one computation, and the days and the served share (in per mille) of the week.
fn measure(name: &str, demand: &Demand, params: &Params) -> Result<String, Box<dyn Error>> {
    let mut options = Options::with_seed(1);
    // Nothing is too small: the bench is about the computation.
    options.big = etalon_units::Bytes(0);
    let mut scheduler = scheduler(name, options)?;
    let mut times = Vec::new();
    let mut spent = Duration::ZERO;
    let week = loop {
        let start = Instant::now();
        let week = scheduler.schedule(demand, params)?;
        times.push(start.elapsed());
        spent += start.elapsed();
        if times.len() >= 100 || (times.len() >= 3 && spent > Duration::from_millis(500)) {
            break week;
        }
    };
    times.sort_unstable();
    let median = times[times.len() / 2].as_nanos() / 1000;
    let days = week.configurations().iter();
    let days = days.filter(|c| c.matching.pairs().next().is_some()).count();
    let carried = served(&week, demand, CIRCUIT).circuits.total();
    let percent = u128::from(carried) * 100 / u128::from(demand.total().max(1));
    Ok(format!(
        "{}.{:03} | {days} | {percent}",
        median / 1000,
        median % 1000
    ))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        names.push("solstice".to_string());
    }
    println!("| scheduler | demand | racks | window | median ms | days | % served |");
    println!("|---|---|--:|--:|--:|--:|--:|");
    for name in &names {
        for kind in ["dense", "skewed", "sparse"] {
            for racks in [8, 32, 64, 128, 256] {
                // Etalon'18's 2 ms, and a window that has room for a day for every other rack.
                for window in [Span::from_millis(2), Span::from_micros(racks * 250)] {
                    let night = Span::from_micros(20);
                    let params = Params::new(
                        window,
                        Span::from_micros(180),
                        night,
                        CIRCUIT,
                        Rate::from_gbps(10),
                    )?;
                    let fill = CIRCUIT.bytes_in(window);
                    let mut rng = ChaCha8Rng::seed_from_u64(racks);
                    let demand = match kind {
                        "dense" => matrix(racks, dense(racks, fill, &mut rng))?,
                        "skewed" => matrix(racks, skewed(racks, fill, &mut rng))?,
                        _ => matrix(racks, sparse(racks, fill, &mut rng))?,
                    };
                    let measured = measure(name, &demand, &params)?;
                    println!("| {name} | {kind} | {racks} | {window} | {measured} |");
                }
            }
        }
    }
    Ok(())
}
