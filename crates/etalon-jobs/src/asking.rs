// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which circuits a job asks for, and when its ranks may send: what its ranks, its hosts and the controller tell is all it knows.
//!
//! Circuits are asked for step by step, in the order of steps: those of a step all at once. A job keeps what it needs in its next step
//! as well, and need not ask then; all else it gives back as soon as the last message of the step has been received. What another job waits
//! for it takes into no further step: it gives that back as soon as the messages of the steps that its ranks have come to are received.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::vec::Vec;

use etalon_scenario::{
    Ask, Asked, Circuits, CrossConnect, Job, Network, Pair, Scenario, StepCircuits, deal,
};
use etalon_units::Time;

use crate::Program;
use crate::routes::{Route, Routes};

/// What comes of something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Ask the controller for circuits.
    Ask(Vec<CrossConnect>),
    /// Give circuits back.
    Release(Vec<CrossConnect>),
    /// A rank may send: its circuits were asked for then, if they were, and are there.
    Go {
        /// The rank.
        rank: u32,
        /// When circuits were asked for.
        asked: Option<Time>,
    },
}

/// What circuits can do for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Circuits of each direction that a rack may have at a time.
    pub uplinks: u8,
    /// Circuits in a row that a message may take: 1 where packets do not go on from rack to rack.
    pub hops: u16,
}

impl Reach {
    /// Of a network, for jobs' messages.
    #[must_use]
    pub fn of(plan: &Scenario) -> Reach {
        let kind = plan.network.kind();
        let hops = match &plan.network {
            // Messages have no length that their class could depend on.
            Network::Ocs(ocs) if kind.forwards(kind.class_of(None)) => ocs.most_hops.into(),
            _ => 1,
        };
        Reach {
            uplinks: kind.uplinks(),
            hops,
        }
    }
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
    circuits: Vec<CrossConnect>,
    /// Which of them its messages need, by racks, with the number of these messages.
    needs: BTreeMap<Pair, (u32, Route)>,
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
    reach: Reach,
    held: BTreeMap<CrossConnect, Held>,
    /// What messages that have not been received need, by racks, in the order of steps.
    carried: BTreeMap<Pair, VecDeque<Route>>,
    /// The circuits of the step before the goal, in order.
    last: Vec<CrossConnect>,
    ranks_of: BTreeMap<u16, Vec<u32>>,
    /// By rank, the place of the last step that it has come to, and whether it has yet to send there.
    come: Vec<Option<Place>>,
    waits: Vec<bool>,
    /// All steps before this one, and this one, may be done.
    granted: Option<Place>,
    /// When circuits of granted steps were asked for, where they were, back to the one in which the last rank is.
    asked: BTreeMap<Place, Time>,
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
        (reach, first): (Reach, Vec<CrossConnect>),
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
            carried: BTreeMap::new(),
            reach,
            last: first,
            ranks_of,
            come: alloc::vec![None; racks.len()],
            waits: alloc::vec![false; racks.len()],
            unfinished: racks.len() as u32,
            racks,
            granted: None,
            asked: BTreeMap::new(),
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
        self.come[rank as usize] = Some(place);
        program.sends(rank, step, |_, _| self.waits[rank as usize] = true);
        if let Some(goal) = &mut self.goal {
            goal.missing -= u32::from(goal.place == place);
        }
        self.let_go(rank, program, out);
        self.go_on(now, Some(place), program, out);
    }

    /// A message of one rank to another has been received.
    pub fn received(
        &mut self,
        now: Time,
        (from, to): (u32, u32),
        program: &Program,
        out: &mut Vec<Wish>,
    ) {
        let pair = self.pair(from, to);
        let Some(routes) = self.carried.get_mut(&pair) else {
            return;
        };
        let route = routes.pop_front();
        if routes.is_empty() {
            self.carried.remove(&pair);
        }
        let mut must_ask = false;
        for &connect in route.iter().flat_map(|route| route.iter()) {
            let Some(held) = self.held.get_mut(&connect) else {
                continue;
            };
            held.uses = held.uses.saturating_sub(1);
            let is_wanted = held.wanted;
            if held.uses == 0 && (is_wanted || !self.is_needed_next(connect)) {
                self.give_back(connect, out);
                must_ask |= is_wanted;
            }
        }
        if must_ask {
            self.go_on(now, None, program, out);
        }
    }

    /// The request is granted: its circuits will be up.
    pub fn granted(&mut self, now: Time, program: &Program, out: &mut Vec<Wish>) {
        self.pending = false;
        let circuits = self.goal.as_ref().map(|goal| goal.circuits.clone());
        for connect in circuits.into_iter().flatten() {
            self.held.entry(connect).or_default().wanted = false;
        }
        self.reach(program, out);
        self.go_on(now, None, program, out);
    }

    /// A circuit of the request is up.
    pub fn up(&mut self, connect: CrossConnect, program: &Program, out: &mut Vec<Wish>) {
        let Some(held) = self.held.get_mut(&connect) else {
            return;
        };
        held.up = true;
        let pair = connect.pair;
        if self.reach.hops > 1 {
            // It may be on anybody's way.
            return self.let_all_go(program, out);
        }
        for place in 0..self.ranks_of.get(&pair.src).map_or(0, Vec::len) {
            let rank = self.ranks_of[&pair.src][place];
            self.let_go(rank, program, out);
        }
    }

    /// Another job waits for a port of a circuit.
    pub fn wanted(&mut self, connect: CrossConnect, out: &mut Vec<Wish>) {
        if let Some(held) = self.held.get_mut(&connect) {
            held.wanted = true;
            if held.uses == 0 {
                self.give_back(connect, out);
            }
        }
    }

    /// A rank has done all of its iterations: after the last one, all circuits are given back.
    pub fn ended(&mut self, out: &mut Vec<Wish>) {
        self.unfinished -= 1;
        if self.unfinished == 0 {
            let all: Vec<CrossConnect> = core::mem::take(&mut self.held).into_keys().collect();
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

    fn give_back(&mut self, connect: CrossConnect, out: &mut Vec<Wish>) {
        self.held.remove(&connect);
        if let Some(goal) = &mut self.goal {
            goal.lacking += u32::from(goal.circuits.binary_search(&connect).is_ok());
        }
        out.push(Wish::Release(alloc::vec![connect]));
    }

    fn is_needed_next(&self, connect: CrossConnect) -> bool {
        let goal = self.goal.as_ref();
        goal.is_some_and(|goal| goal.circuits.binary_search(&connect).is_ok())
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
        let wanted: Vec<Pair> = match &self.listed {
            None => several(needs.keys().copied(), self.reach.uplinks),
            Some(listed) => {
                let last = listed.partition_point(|stage| stage.step <= step);
                listed.get(last.checked_sub(1)?)?.circuits.clone()
            }
        };
        // Plans are checked: no rack has more circuits than uplinks.
        let circuits = deal(&wanted, self.reach.uplinks, &self.last).ok()?;
        let routes = Routes::new(&circuits, self.reach.hops);
        let needs: BTreeMap<Pair, (u32, Route)> = needs
            .into_iter()
            .map(|(pair, messages)| (pair, (messages, routes.between(pair))))
            .collect();
        if needs.values().all(|(_, route)| route.is_empty()) {
            return None;
        }
        let there = self.come.iter().zip(&ranks);
        let there = there.filter(|&(at, takes_part)| *at == Some(place) && *takes_part);
        let there = there.count();
        let lacks = |connect: &&CrossConnect| !self.held.contains_key(connect);
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
                None => self.come.iter().any(|at| at.is_some_and(|at| at >= place)),
            };
            if goal.lacking == 0 {
                let wanted = |one| self.held.get(one).is_some_and(|held| held.wanted);
                if !is_there || goal.circuits.iter().any(wanted) {
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
    fn give_back_others(&mut self, circuits: &[CrossConnect], out: &mut Vec<Wish>) {
        let is_idle = |(connect, held): (&CrossConnect, &Held)| {
            (held.uses == 0 && circuits.binary_search(connect).is_err()).then_some(*connect)
        };
        let idle: Vec<CrossConnect> = self.held.iter().filter_map(is_idle).collect();
        for connect in &idle {
            self.held.remove(connect);
        }
        if !idle.is_empty() {
            out.push(Wish::Release(idle));
        }
    }

    /// The circuits of the goal are the job's: ranks that may send do so.
    fn reach(&mut self, program: &Program, out: &mut Vec<Wish>) {
        let Some(goal) = self.goal.take() else { return };
        self.granted = Some(goal.place);
        if let Some(asked) = goal.asked {
            let last = self.come.iter().map(|come| come.unwrap_or(0)).min();
            self.asked = self.asked.split_off(&last.unwrap_or(0));
            self.asked.insert(goal.place, asked);
        }
        self.last = goal.circuits;
        for (pair, (messages, route)) in goal.needs {
            for connect in route.iter() {
                if let Some(held) = self.held.get_mut(connect) {
                    held.uses += messages;
                }
            }
            let routes = self.carried.entry(pair).or_default();
            routes.extend((0..messages).map(|_| route.clone()));
        }
        self.aim(program);
        self.let_all_go(program, out);
    }

    fn let_all_go(&mut self, program: &Program, out: &mut Vec<Wish>) {
        for rank in 0..program.ranks() {
            self.let_go(rank, program, out);
        }
    }

    /// If a rank waits and may send, it does so. Who only receives waits for no circuits.
    fn let_go(&mut self, rank: u32, program: &Program, out: &mut Vec<Wish>) {
        let (Some(place), true) = (self.come[rank as usize], self.waits[rank as usize]) else {
            return;
        };
        if self.goal.as_ref().is_some_and(|goal| goal.place <= place) {
            return;
        }
        let step = (place % Place::from(program.steps())) as u32;
        let mut is_up = true;
        program.sends(rank, step, |peer, _| {
            let routes = self.carried.get(&self.pair(rank, peer));
            let mut needed = routes.into_iter().flatten().flat_map(|route| route.iter());
            is_up &= needed.all(|connect| self.held.get(connect).is_none_or(|held| held.up));
        });
        if is_up {
            self.waits[rank as usize] = false;
            let asked = self.asked.get(&place).copied();
            out.push(Wish::Go { rank, asked });
        }
    }
}

/// As many circuits of each pair as uplinks have room for, at least one.
fn several(pairs: impl Iterator<Item = Pair>, uplinks: u8) -> Vec<Pair> {
    let pairs: BTreeSet<Pair> = pairs.collect();
    let mut ends: BTreeMap<(bool, u16), u8> = BTreeMap::new();
    for pair in &pairs {
        for end in [(false, pair.src), (true, pair.dst)] {
            let circuits = ends.entry(end).or_default();
            *circuits = circuits.saturating_add(1);
        }
    }
    let most = ends.into_values().max().unwrap_or(1);
    let each = usize::from((uplinks / most).max(1));
    let copies = pairs
        .into_iter()
        .flat_map(|pair| core::iter::repeat_n(pair, each));
    copies.collect()
}
