// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which circuits a job asks for, and when its ranks may send: what its ranks, its hosts and the controller tell is all it knows.
//!
//! Circuits are asked for step by step, in the order of steps: those of a step all at once. A job keeps what it needs in its next step
//! as well, and need not ask then; all else it gives back as soon as the last message of the step has been received, and what it keeps when another
//! job waits for it.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_scenario::{Ask, Asked, Circuits, Job, Pair, StepCircuits};
use etalon_units::Time;

use crate::Program;

/// What comes of something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Ask the controller for circuits.
    Ask(Vec<Pair>),
    /// Give circuits back.
    Release(Vec<Pair>),
    /// A rank may send: its circuits were asked for then, if they were, and are there.
    Go {
        /// The rank.
        rank: u32,
        /// When circuits were asked for.
        asked: Option<Time>,
    },
}

/// A circuit that the job has.
#[derive(Clone, Debug, Default)]
struct Held {
    up: bool,
    /// Messages that it has yet to carry.
    uses: u32,
    /// Another job waits for it.
    wanted: bool,
}

/// The place of a step among those of all iterations.
type Place = u64;

/// A step whose circuits are asked for.
#[derive(Clone, Debug)]
struct Goal {
    place: Place,
    /// What is asked for.
    circuits: Vec<Pair>,
    /// What the messages of the step need of it, with the number of these messages.
    needs: BTreeMap<Pair, u32>,
    /// Ranks that take part in it and have not come to it.
    missing: u32,
    /// Circuits that the job does not have.
    lacking: u32,
    /// When they were asked for.
    asked: Option<Time>,
}

/// What a job asks for.
#[derive(Debug)]
pub struct Asking {
    /// In each step those of its messages; else what is listed.
    listed: Option<Vec<StepCircuits>>,
    ask: Ask,
    ahead: bool,
    /// The rack of each rank.
    racks: Vec<u16>,
    held: BTreeMap<Pair, Held>,
    ranks_of: BTreeMap<u16, Vec<u32>>,
    /// By rank, the place of the step that it waits in.
    waiting: Vec<Option<Place>>,
    /// All steps before this one, and this one, may be done.
    granted: Option<Place>,
    /// When circuits of the step that was granted last were asked for.
    asked: Option<Time>,
    /// The next step that needs circuits, if there is one.
    goal: Option<Goal>,
    /// The circuits of the goal have been asked for, and not granted.
    pending: bool,
    unfinished: u32,
}

impl Asking {
    /// For a job of this program; none if it asks for nothing.
    #[must_use]
    pub fn new(
        job: &Job,
        asked: &Asked,
        program: &Program,
        listed: Option<Vec<StepCircuits>>,
    ) -> Option<Asking> {
        if job.circuits == Circuits::None {
            return None;
        }
        let racks: Vec<u16> = job.ranks.iter().map(|&(rack, _)| rack).collect();
        let mut ranks_of: BTreeMap<u16, Vec<u32>> = BTreeMap::new();
        for (rank, &rack) in (0..).zip(&racks) {
            ranks_of.entry(rack).or_default().push(rank);
        }
        let mut asking = Asking {
            listed,
            ask: asked.ask,
            ahead: asked.ahead,
            held: BTreeMap::new(),
            ranks_of,
            waiting: alloc::vec![None; racks.len()],
            unfinished: racks.len() as u32,
            racks,
            granted: None,
            asked: None,
            goal: None,
            pending: false,
        };
        asking.aim(program);
        Some(asking)
    }

    /// The job begins: who asks ahead does so now.
    pub fn begin(&mut self, now: Time, program: &Program, out: &mut Vec<Wish>) {
        self.go_on(now, None, program, out);
    }

    /// A rank has come to a step in which it sends or receives.
    pub fn ready(
        &mut self,
        now: Time,
        rank: u32,
        (iteration, step): (u32, u32),
        program: &Program,
        out: &mut Vec<Wish>,
    ) {
        let place = Place::from(iteration) * Place::from(program.steps()) + Place::from(step);
        self.waiting[rank as usize] = Some(place);
        if let Some(goal) = &mut self.goal {
            goal.missing -= u32::from(goal.place == place);
        }
        self.let_go(rank, program, out);
        self.go_on(now, Some(place), program, out);
    }

    /// A message of one rank to another has been received.
    pub fn received(&mut self, from: u32, to: u32, out: &mut Vec<Wish>) {
        let pair = self.pair(from, to);
        let Some(held) = self.held.get_mut(&pair) else {
            return;
        };
        held.uses = held.uses.saturating_sub(1);
        if held.uses == 0 && (held.wanted || !self.is_needed_next(pair)) {
            self.give_back(pair, out);
        }
    }

    /// The request is granted: its circuits will be up.
    pub fn granted(&mut self, now: Time, program: &Program, out: &mut Vec<Wish>) {
        self.pending = false;
        let circuits = self.goal.as_ref().map(|goal| goal.circuits.clone());
        for pair in circuits.into_iter().flatten() {
            self.held.entry(pair).or_default().wanted = false;
        }
        self.reach(program, out);
        self.go_on(now, None, program, out);
    }

    /// A circuit of the request is up.
    pub fn up(&mut self, pair: Pair, program: &Program, out: &mut Vec<Wish>) {
        let Some(held) = self.held.get_mut(&pair) else {
            return;
        };
        held.up = true;
        for place in 0..self.ranks_of.get(&pair.src).map_or(0, Vec::len) {
            let rank = self.ranks_of[&pair.src][place];
            self.let_go(rank, program, out);
        }
    }

    /// Another job waits for a port of a circuit.
    pub fn wanted(&mut self, pair: Pair, out: &mut Vec<Wish>) {
        if let Some(held) = self.held.get_mut(&pair) {
            held.wanted = true;
            if held.uses == 0 {
                self.give_back(pair, out);
            }
        }
    }

    /// A rank has done all of its iterations: after the last one, all circuits are given back.
    pub fn ended(&mut self, out: &mut Vec<Wish>) {
        self.unfinished -= 1;
        if self.unfinished == 0 {
            let all: Vec<Pair> = core::mem::take(&mut self.held).into_keys().collect();
            if !all.is_empty() {
                out.push(Wish::Release(all));
            }
        }
    }

    fn pair(&self, from: u32, to: u32) -> Pair {
        Pair {
            src: self.racks[from as usize],
            dst: self.racks[to as usize],
        }
    }

    fn give_back(&mut self, pair: Pair, out: &mut Vec<Wish>) {
        self.held.remove(&pair);
        if let Some(goal) = &mut self.goal {
            goal.lacking += u32::from(goal.circuits.binary_search(&pair).is_ok());
        }
        out.push(Wish::Release(alloc::vec![pair]));
    }

    fn is_needed_next(&self, pair: Pair) -> bool {
        let goal = self.goal.as_ref();
        goal.is_some_and(|goal| goal.circuits.binary_search(&pair).is_ok())
    }

    /// Finds the next step that needs circuits.
    fn aim(&mut self, program: &Program) {
        let steps = Place::from(program.steps());
        let end = steps * Place::from(program.iterations());
        let first = self.granted.map_or(0, |granted| granted + 1);
        // What follows an iteration is what it began with: there is no need to look further.
        self.goal = (first..end.min(first + steps)).find_map(|place| self.goal_at(place, program));
    }

    /// What a step needs, if it needs circuits.
    fn goal_at(&self, place: Place, program: &Program) -> Option<Goal> {
        let step = (place % Place::from(program.steps())) as u32;
        let mut needs: BTreeMap<Pair, u32> = BTreeMap::new();
        let mut ranks = alloc::vec![false; self.racks.len()];
        for rank in 0..program.ranks() {
            program.sends(rank, step, |peer, _| {
                *needs.entry(self.pair(rank, peer)).or_default() += 1;
                ranks[rank as usize] = true;
                ranks[peer as usize] = true;
            });
        }
        needs.retain(|pair, _| pair.src != pair.dst);
        let circuits: Vec<Pair> = match &self.listed {
            None => needs.keys().copied().collect(),
            Some(listed) => {
                let last = listed.partition_point(|stage| stage.step <= step);
                let mut circuits = listed.get(last.checked_sub(1)?)?.circuits.clone();
                circuits.sort_unstable();
                needs.retain(|pair, _| circuits.binary_search(pair).is_ok());
                circuits
            }
        };
        if needs.is_empty() {
            return None;
        }
        let there = self.waiting.iter().zip(&ranks);
        let there = there.filter(|&(at, takes_part)| *at == Some(place) && *takes_part);
        let there = there.count();
        let lacks = |pair: &&Pair| !self.held.contains_key(pair);
        let takes_part = ranks.iter().filter(|takes_part| **takes_part).count();
        Some(Goal {
            place,
            lacking: circuits.iter().filter(lacks).count() as u32,
            circuits,
            needs,
            missing: (takes_part - there) as u32,
            asked: None,
        })
    }

    /// Goes on with steps whose circuits the job has, and asks for those of the next. `come`: a rank has come to this
    /// place.
    fn go_on(
        &mut self,
        now: Time,
        mut come: Option<Place>,
        program: &Program,
        out: &mut Vec<Wish>,
    ) {
        while let (Some(goal), false) = (&mut self.goal, self.pending) {
            let place = goal.place;
            // Who waits for an earlier goal was looked at then.
            let is_there = match come.take() {
                Some(come) => come >= place,
                None => self
                    .waiting
                    .iter()
                    .any(|at| at.is_some_and(|at| at >= place)),
            };
            if goal.lacking == 0 {
                if !is_there {
                    return;
                }
                self.reach(program, out);
                continue;
            }
            let is_time = match self.ask {
                Ask::First => is_there,
                Ask::All => goal.missing == 0,
            };
            if !is_time && !self.ahead {
                return;
            }
            goal.asked = Some(now);
            self.pending = true;
            let circuits = goal.circuits.clone();
            self.give_back_others(&circuits, out);
            out.push(Wish::Ask(circuits));
        }
    }

    /// Circuits that were kept for nothing.
    fn give_back_others(&mut self, circuits: &[Pair], out: &mut Vec<Wish>) {
        let is_idle = |(pair, held): (&Pair, &Held)| {
            (held.uses == 0 && circuits.binary_search(pair).is_err()).then_some(*pair)
        };
        let idle: Vec<Pair> = self.held.iter().filter_map(is_idle).collect();
        for pair in &idle {
            self.held.remove(pair);
        }
        if !idle.is_empty() {
            out.push(Wish::Release(idle));
        }
    }

    /// The circuits of the goal are the job's: ranks that may send do so.
    fn reach(&mut self, program: &Program, out: &mut Vec<Wish>) {
        let Some(goal) = self.goal.take() else { return };
        (self.granted, self.asked) = (Some(goal.place), goal.asked);
        for (pair, messages) in goal.needs {
            if let Some(held) = self.held.get_mut(&pair) {
                held.uses += messages;
            }
        }
        self.aim(program);
        for rank in 0..program.ranks() {
            self.let_go(rank, program, out);
        }
    }

    /// If a rank waits and may send, it does so.
    fn let_go(&mut self, rank: u32, program: &Program, out: &mut Vec<Wish>) {
        let Some(place) = self.waiting[rank as usize] else {
            return;
        };
        if self.goal.as_ref().is_some_and(|goal| goal.place <= place) {
            return;
        }
        let step = (place % Place::from(program.steps())) as u32;
        let mut is_up = true;
        program.sends(rank, step, |peer, _| {
            let held = self.held.get(&self.pair(rank, peer));
            is_up &= held.is_none_or(|held| held.up);
        });
        if is_up {
            self.waiting[rank as usize] = None;
            let asked = self.asked.filter(|_| self.granted == Some(place));
            out.push(Wish::Go { rank, asked });
        }
    }
}
