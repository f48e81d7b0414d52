// SPDX-License-Identifier: MIT OR Apache-2.0
//! When a change of circuits is worth its time: a dynamic program over the steps of an iteration, as Harvest's (arXiv 2602.09188),
//! with candidates that a hybrid network can have: the circuits of a step, or those that there are. A message whose racks have no circuit
//! goes over the packet network.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use etalon_scenario::{Job, Pair, Rdcn, StepCircuits};
use etalon_units::{Rate, Span};

use crate::Program;

/// No time is longer.
const NEVER: u64 = u64::MAX;

/// What the plan counts with.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Rate and delay of a circuit.
    circuit: (Rate, Span),
    /// Rate and delay of the packet network, if there is one.
    packet: Option<(Rate, Span)>,
    /// A request and the time in which circuits are dark.
    change: Span,
}

impl Costs {
    /// Those of a network: its first kind of circuits, and what a change takes, request included.
    #[must_use]
    pub fn of(network: &Rdcn, change: Span) -> Option<Costs> {
        let circuit = network.circuits.first()?;
        let packet = network.packet.map(|p| (p.rate, p.up_delay + p.down_delay));
        Some(Costs {
            circuit: (circuit.rate, circuit.delay),
            packet,
            change,
        })
    }

    /// How long a step takes with these circuits.
    fn step(&self, messages: &[(Pair, u64)], circuits: &[Pair]) -> u64 {
        let (rate, delay) = self.circuit;
        let mut longest = 0;
        // What each rack sends, and receives, over the packet network.
        let mut rest: BTreeMap<(bool, u16), u64> = BTreeMap::new();
        for &(pair, bytes) in messages {
            if circuits.binary_search(&pair).is_ok() {
                longest = longest.max(delay.0 + rate.span_of(bytes).0);
                continue;
            }
            if self.packet.is_none() {
                return NEVER;
            }
            for port in [(false, pair.src), (true, pair.dst)] {
                *rest.entry(port).or_default() += bytes;
            }
        }
        for bytes in rest.into_values() {
            if let Some((rate, delay)) = self.packet {
                longest = longest.max(delay.0 + rate.span_of(bytes).0);
            }
        }
        longest
    }
}

/// Steps with messages between racks: their numbers, and bytes by pair.
#[must_use]
pub fn exchanges(job: &Job, program: &Program) -> Vec<(u32, Vec<(Pair, u64)>)> {
    let rack = |rank: u32| job.ranks[rank as usize].0;
    let of_step = |step| {
        let mut messages: BTreeMap<Pair, u64> = BTreeMap::new();
        for rank in 0..program.ranks() {
            program.sends(rank, step, |peer, bytes| {
                let (src, dst) = (rack(rank), rack(peer));
                if src != dst {
                    *messages.entry(Pair { src, dst }).or_default() += bytes;
                }
            });
        }
        (step, messages.into_iter().collect())
    };
    let steps = (0..program.steps()).map(of_step);
    steps
        .filter(|(_, messages): &(u32, Vec<_>)| !messages.is_empty())
        .collect()
}

/// The circuits that a job should ask for, step by step; none if it does best with those that there are at first.
#[must_use]
pub fn plan(job: &Job, program: &Program, costs: &Costs, first: &[Pair]) -> Vec<StepCircuits> {
    let exchanges = exchanges(job, program);
    // A circuit that carries nothing of this job is not its to ask for.
    let used: BTreeSet<Pair> = (exchanges.iter())
        .flat_map(|(_, messages)| messages.iter().map(|&(pair, _)| pair))
        .collect();
    let mut first: Vec<Pair> = first.to_vec();
    first.retain(|pair| used.contains(pair));
    first.sort_unstable();
    let mut sets = alloc::vec![first];
    for (_, messages) in &exchanges {
        let set: Vec<Pair> = messages.iter().map(|&(pair, _)| pair).collect();
        if !sets.contains(&set) {
            sets.push(set);
        }
    }
    let unchanged = exchanges.iter().fold(0_u64, |sum, (_, messages)| {
        sum.saturating_add(costs.step(messages, &sets[0]))
    });
    // By set: the least time so far if it is there, and how it came to be: the set before, by step.
    let mut best = alloc::vec![NEVER; sets.len()];
    let mut from: Vec<Vec<usize>> = Vec::new();
    for (number, (_, messages)) in exchanges.iter().enumerate() {
        let least = (0..sets.len()).min_by_key(|&set| best[set]).unwrap_or(0);
        // An iteration begins with whatever the last one left: it asks.
        let changed = if number == 0 { 0 } else { best[least] };
        let changed = changed.saturating_add(costs.change.0);
        let mut came = alloc::vec![least; sets.len()];
        for (set, circuits) in sets.iter().enumerate() {
            let stays = number > 0 && best[set] <= changed;
            let before = if stays { best[set] } else { changed };
            if stays {
                came[set] = set;
            }
            best[set] = before.saturating_add(costs.step(messages, circuits));
        }
        from.push(came);
    }
    let last = (0..sets.len()).min_by_key(|&set| best[set]).unwrap_or(0);
    if exchanges.is_empty() || unchanged <= best[last] {
        return Vec::new();
    }
    let mut stages = Vec::new();
    let mut set = last;
    for (number, (step, _)) in exchanges.iter().enumerate().rev() {
        let before = from[number][set];
        if number == 0 || before != set {
            stages.push(StepCircuits {
                step: *step,
                circuits: sets[set].clone(),
            });
        }
        set = before;
    }
    stages.reverse();
    stages
}
