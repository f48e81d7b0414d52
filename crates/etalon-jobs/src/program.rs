// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all ranks of a job do: the description, with its algorithms found.

use alloc::boxed::Box;
use alloc::vec::Vec;

use etalon_scenario::{Circuits, Collective, Compute, Job, ScenarioError, Work};
use etalon_units::Span;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::algorithm::{Algorithm, Unfit};
use crate::registry;
use crate::sizes::Sizes;
use crate::turn::Turn;

/// Random streams of computations: one for each job from here on.
const STREAM_JITTER: u64 = 3 << 32;

/// What the ranks of a job do in an iteration.
#[derive(Debug)]
pub struct Program {
    ranks: u32,
    iterations: u32,
    /// Ranks ask for circuits before they send.
    asks: bool,
    work: Vec<Part>,
    /// How many times as long as others each rank computes.
    times: Vec<f64>,
    rng: ChaCha8Rng,
}

/// An entry of the list of work.
#[derive(Debug)]
struct Part {
    /// Number of its first step in an iteration.
    first: u32,
    what: What,
}

#[derive(Debug)]
enum What {
    Compute(Compute),
    Exchange(Box<dyn Algorithm>, Sizes),
}

/// What a rank finds in a step.
#[derive(Debug)]
pub(crate) enum Found {
    Compute(Span),
    Messages,
    Nothing,
}

/// A message from one rank to another.
#[derive(Debug)]
struct Single(etalon_scenario::Send);

impl Algorithm for Single {
    fn steps(&self) -> u32 {
        1
    }

    fn pieces(&self) -> u32 {
        1
    }

    fn turn(&self, rank: u32, _step: u32, turn: &mut Turn<'_>) {
        let piece = core::iter::once(0);
        if rank == self.0.from {
            turn.send(self.0.to, piece);
        } else if rank == self.0.to {
            turn.receive(self.0.from, piece);
        }
    }
}

impl Program {
    /// That of job `number` of an experiment with this seed.
    ///
    /// # Errors
    /// [`ScenarioError`] if an algorithm does not exist or does not fit.
    pub fn new(job: &Job, number: usize, seed: u64) -> Result<Program, ScenarioError> {
        let ranks = job.ranks.len() as u32;
        let mut times = alloc::vec![1.0; ranks as usize];
        for slow in &job.slow {
            times[slow.rank as usize] = slow.times;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(STREAM_JITTER + number as u64);
        let mut program = Program {
            ranks,
            iterations: job.iterations,
            asks: job.circuits != Circuits::None,
            work: Vec::new(),
            times,
            rng,
        };
        for (index, work) in job.work.iter().enumerate() {
            let what = What::of(work, ranks).map_err(|why| {
                ScenarioError::new(format_args!("job {number}, do {index}: {}", why.0))
            })?;
            let first = program.steps();
            program.work.push(Part { first, what });
        }
        Ok(program)
    }

    /// How many ranks there are.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How many iterations there are.
    #[must_use]
    pub fn iterations(&self) -> u32 {
        self.iterations
    }

    /// How many times as long as others a rank computes.
    #[must_use]
    pub fn times(&self, rank: u32) -> f64 {
        self.times[rank as usize]
    }

    /// Whether ranks ask for circuits before they send.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// Steps of an iteration.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.work.last().map_or(0, |part| {
            part.first
                + match &part.what {
                    What::Compute(_) => 1,
                    What::Exchange(algorithm, _) => algorithm.steps(),
                }
        })
    }

    /// The place in the list of work of what a step belongs to.
    #[must_use]
    pub fn part(&self, step: u32) -> usize {
        self.work.partition_point(|part| part.first <= step) - 1
    }

    /// The first step of what a step belongs to.
    #[must_use]
    pub fn first_step(&self, step: u32) -> u32 {
        self.work[self.part(step)].first
    }

    /// Hears of the messages that a rank sends in a step of an iteration: to whom, and how many bytes.
    pub fn sends(&self, rank: u32, step: u32, mut each: impl FnMut(u32, u64)) {
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        let found = self.find(0, rank, step, &mut sends, &mut receives);
        if matches!(found, Found::Messages) {
            sends.iter().for_each(|&(peer, bytes)| each(peer, bytes));
        }
    }

    /// What a rank does in a step: its messages are put into `sends` and `receives`.
    pub(crate) fn find(
        &self,
        iteration: u32,
        rank: u32,
        step: u32,
        sends: &mut Vec<(u32, u64)>,
        receives: &mut Vec<(u32, u64)>,
    ) -> Found {
        let Part { first, what } = &self.work[self.part(step)];
        match what {
            What::Compute(compute) => {
                let takes_part = |ranks: &Vec<u32>| ranks.contains(&rank);
                if !compute.ranks.as_ref().is_none_or(takes_part) {
                    return Found::Nothing;
                }
                Found::Compute(self.span(compute, (iteration, rank, step)))
            }
            What::Exchange(algorithm, sizes) => {
                let mut turn = Turn::new(sizes, false);
                algorithm.turn(rank, step - first, &mut turn);
                let short = |m: crate::turn::Message| (m.peer, m.bytes);
                sends.extend(turn.sends.drain(..).map(short));
                receives.extend(turn.receives.drain(..).map(short));
                if sends.is_empty() && receives.is_empty() {
                    return Found::Nothing;
                }
                Found::Messages
            }
        }
    }

    /// How long a rank computes.
    fn span(&self, compute: &Compute, (iteration, rank, step): (u32, u32, u32)) -> Span {
        let times = self.times[rank as usize];
        let mut ns = compute.span.0;
        if compute.jitter.0 > 0 {
            let mut rng = self.rng.clone();
            let place = u128::from(iteration) * u128::from(self.steps()) + u128::from(step);
            rng.set_word_pos(2 * (place * u128::from(self.ranks) + u128::from(rank)));
            let random = u128::from(rng.next_u64());
            ns += ((random * u128::from(compute.jitter.0)) >> 64) as u64;
        }
        if times == 1.0 {
            return Span(ns);
        }
        Span((ns as f64 * times + 0.5) as u64)
    }
}

/// Messages of a step: from which rank to which, and how many bytes.
type Messages = Vec<(u32, u32, u64)>;

/// The messages of each step of a collective: from which rank to which, and how many bytes.
///
/// # Errors
/// [`Unfit`] if the algorithm does not exist or does not fit.
pub fn steps(collective: &Collective, ranks: u32) -> Result<Vec<Messages>, Unfit> {
    let algorithm = registry::find(collective, ranks)?;
    let sizes = Sizes::of(collective, ranks, algorithm.pieces());
    let step = |step| {
        let mut messages = Vec::new();
        for rank in 0..ranks {
            let mut turn = Turn::new(&sizes, false);
            algorithm.turn(rank, step, &mut turn);
            messages.extend(turn.sends.iter().map(|m| (rank, m.peer, m.bytes)));
        }
        messages
    };
    Ok((0..algorithm.steps()).map(step).collect())
}

/// How many pairs of ranks exchange anything in a list of work whose algorithms fit.
#[must_use]
pub fn pairs(work: &[Work], ranks: u32) -> u64 {
    let n = ranks as usize;
    let mut found = alloc::vec![false; n * n];
    for what in work.iter().filter_map(|work| What::of(work, ranks).ok()) {
        let What::Exchange(algorithm, sizes) = what else {
            continue;
        };
        for (rank, step) in (0..ranks).flat_map(|r| (0..algorithm.steps()).map(move |s| (r, s))) {
            let mut turn = Turn::new(&sizes, false);
            algorithm.turn(rank, step, &mut turn);
            for message in turn.sends {
                let (low, high) = (rank.min(message.peer), rank.max(message.peer));
                found[low as usize * n + high as usize] = true;
            }
        }
    }
    found.iter().filter(|&&found| found).count() as u64
}

impl What {
    fn of(work: &Work, ranks: u32) -> Result<What, Unfit> {
        Ok(match work {
            Work::Compute(compute) => What::Compute(compute.clone()),
            Work::Send(send) => {
                let (bytes, pieces) = (send.bytes, 1);
                What::Exchange(Box::new(Single(*send)), Sizes::Even { bytes, pieces })
            }
            Work::Collective(collective) => {
                let algorithm = registry::find(collective, ranks)?;
                let sizes = Sizes::of(collective, ranks, algorithm.pieces());
                What::Exchange(algorithm, sizes)
            }
        })
    }
}
