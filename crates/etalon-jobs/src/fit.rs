// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a job fits: its algorithms, and the circuits that it asks for.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use etalon_scenario::{
    Circuits, Collective, CollectiveKind, CrossConnect, Job, Pair, Plane, StepCircuits, Work, deal,
};

use crate::asking::Reach;
use crate::program::{Program, pairs};
use crate::registry;
use crate::routes::Routes;

/// Steps of an iteration of a list of work among so many ranks; those of algorithms that do not fit are none.
#[must_use]
pub fn count_steps(work: &[Work], ranks: u32) -> u64 {
    let steps = |work: &Work| match work {
        Work::Collective(collective) => {
            registry::find(collective, ranks).map_or(0, |found| u64::from(found.steps()))
        }
        _ => 1,
    };
    work.iter().map(steps).sum()
}

/// How many connections the ranks of a list of work will open.
///
/// # Errors
/// The place in the list of the first algorithm that does not fit, and a sentence.
pub fn connections(work: &[Work], ranks: u32) -> Result<u64, (usize, String)> {
    for (number, one) in work.iter().enumerate() {
        if let Work::Collective(collective) = one {
            registry::find(collective, ranks).map_err(|why| (number, why.0))?;
        }
    }
    Ok(pairs(work, ranks))
}

/// How many connections a job will open, at most.
#[must_use]
pub fn pairs_of(job: &Job) -> u64 {
    let ranks = job.ranks.len() as u32;
    match job.trace {
        None => pairs(&job.work, ranks),
        Some(_) => u64::from(ranks) * u64::from(ranks - 1) / 2,
    }
}

/// The collective with an algorithm as it is by default.
///
/// # Errors
/// A sentence if there is no such collective.
pub fn collective(kind: &str, algorithm: &str, bytes: u64) -> Result<Collective, String> {
    let found = CollectiveKind::ALL.into_iter().find(|k| k.name() == kind);
    let kind = found.ok_or_else(|| {
        let names: Vec<&str> = CollectiveKind::ALL.iter().map(|k| k.name()).collect();
        format!(
            "\"{kind}\" is no collective; there are {}",
            names.join(", ")
        )
    })?;
    Ok(Collective::new(kind, algorithm, bytes))
}

/// What carries messages, beside the circuits that a job asks for.
#[derive(Clone, Debug)]
pub struct Ways {
    /// Circuits that are up at first, in order.
    pub first: Vec<Pair>,
    /// There is a packet network.
    pub packets: bool,
    /// Acknowledgements need no way back.
    pub bypass: bool,
    /// What circuits can do.
    pub reach: Reach,
}

/// Where, among a job's keys, something is wrong with its circuits, and a sentence about it.
pub type Wrong = (String, String);

/// Whether the circuits that a job asks for can be, and carry its messages: its algorithms fit.
///
/// # Errors
/// The first thing that is wrong.
pub fn circuits(job: &Job, ways: &Ways) -> Result<(), Wrong> {
    let program = Program::new(job, 0, 0).map_err(|why| (String::from("do"), why.0))?;
    if let Circuits::List(stages) = &job.circuits {
        list(stages, program.steps(), ways.reach.uplinks)?;
    }
    for step in 0..program.steps() {
        let messages = messages(job, &program, step);
        let key = || format!("do.{}", program.part(step));
        match &job.circuits {
            Circuits::Each | Circuits::Plan => {
                fitting(messages.keys().copied(), ways.reach.uplinks).map_err(|why| {
                    let at = step - program.first_step(step);
                    let but = match ways.reach.uplinks {
                        1 => String::from("the circuits of a step must be a matching"),
                        uplinks => format!("a rack has {uplinks} uplinks"),
                    };
                    (key(), format!("in its step {at} {why}, and {but}"))
                })?;
                let own: Vec<Pair> = messages.keys().copied().collect();
                carried(&messages, &own, ways).map_err(|why| (key(), why))?;
            }
            Circuits::None => carried(&messages, &ways.first, ways).map_err(|why| (key(), why))?,
            Circuits::List(stages) => {
                let asked = stages.partition_point(|stage| stage.step <= step);
                let there = match asked.checked_sub(1) {
                    Some(stage) => alloc::vec![&stages[stage].circuits],
                    // Before the first entry: those of the start, and in later iterations those of the last entry.
                    None if job.iterations > 1 => {
                        let last = stages.last().map(|stage| &stage.circuits);
                        core::iter::once(&ways.first).chain(last).collect()
                    }
                    None => alloc::vec![&ways.first],
                };
                for circuits in there {
                    let mut circuits = circuits.clone();
                    circuits.sort_unstable();
                    carried(&messages, &circuits, ways).map_err(|why| (key(), why))?;
                }
            }
        }
    }
    Ok(())
}

/// The messages of a step between racks: a pair of ranks of each pair of racks.
fn messages(job: &Job, program: &Program, step: u32) -> BTreeMap<Pair, (u32, u32)> {
    let rack = |rank: u32| job.ranks[rank as usize].0;
    let mut found = BTreeMap::new();
    for rank in 0..program.ranks() {
        program.sends(rank, step, |peer, _| {
            let (src, dst) = (rack(rank), rack(peer));
            if src != dst {
                found.insert(Pair { src, dst }, (rank, peer));
            }
        });
    }
    found
}

/// That each entry of a list can be.
fn list(stages: &[StepCircuits], steps: u32, uplinks: u8) -> Result<(), Wrong> {
    for (number, stage) in stages.iter().enumerate() {
        let step = stage.step;
        if step >= steps {
            let why = format!(
                "there is no step {step}: an iteration has steps 0..{}",
                steps - 1
            );
            return Err((format!("circuits.{number}.step"), why));
        }
        fitting(stage.circuits.iter().copied(), uplinks).map_err(|why| {
            let key = format!("circuits.{number}.circuits");
            let but = match uplinks {
                1 => format!("not a matching: {why}"),
                _ => format!("{why}, and a rack has {uplinks} uplinks"),
            };
            (key, but)
        })?;
    }
    Ok(())
}

/// That no rack has more circuits of a direction than uplinks.
fn fitting(pairs: impl Iterator<Item = Pair>, uplinks: u8) -> Result<(), String> {
    if uplinks == 1 {
        return matching(pairs);
    }
    let pairs: Vec<Pair> = pairs.collect();
    let dealt = deal(&pairs, uplinks, &[]);
    dealt.map(|_| ()).map_err(|crowded| {
        let (rack, count) = (crowded.rack, crowded.circuits);
        match crowded.leaves {
            true => format!("rack {rack} sends over {count} circuits"),
            false => format!("rack {rack} receives over {count} circuits"),
        }
    })
}

/// That no rack has two circuits of a direction.
fn matching(pairs: impl Iterator<Item = Pair>) -> Result<(), String> {
    let (mut to, mut from) = (BTreeMap::new(), BTreeMap::new());
    for Pair { src, dst } in pairs {
        if let Some(other) = to.insert(src, dst) {
            return Err(format!("rack {src} sends to racks {other} and {dst}"));
        }
        if let Some(other) = from.insert(dst, src) {
            return Err(format!("racks {other} and {src} send to rack {dst}"));
        }
    }
    Ok(())
}

/// That every message has a way, and its acknowledgements have one back.
fn carried(
    messages: &BTreeMap<Pair, (u32, u32)>,
    circuits: &[Pair],
    ways: &Ways,
) -> Result<(), String> {
    if ways.packets {
        return Ok(());
    }
    let plane = Plane::CIRCUIT;
    let circuits = circuits.iter().map(|&pair| CrossConnect { plane, pair });
    let circuits: Vec<CrossConnect> = circuits.collect();
    let routes = Routes::new(&circuits, ways.reach.hops);
    let has = |pair: &Pair| !routes.between(*pair).is_empty();
    for (pair, (from, to)) in messages {
        let Pair { src, dst } = *pair;
        let back = pair.opposite();
        if !has(pair) {
            return Err(format!(
                "rank {from} sends to rank {to} without a circuit from rack {src} to rack {dst}, \
                 and there is no packet network"
            ));
        }
        if !ways.bypass && !has(&back) {
            return Err(format!(
                "rank {from} sends to rank {to} while there is no circuit from rack {dst} to rack {src}: \
                 acknowledgements need network.ack_bypass, or a packet network"
            ));
        }
    }
    Ok(())
}
