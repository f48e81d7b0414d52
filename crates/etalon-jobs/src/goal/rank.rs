// SPDX-License-Identifier: MIT OR Apache-2.0
//! A rank of a trace: a state machine that goes through its graph.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use etalon_units::Span;

use super::{Do, Graph, Kind};
use crate::rank::Happened;

/// A rank of a trace. Messages of one sender and tag meet receives in order, as in MPI (MPI 4.1, section 3.5); one that comes
/// before its receive waits in memory.
#[derive(Clone, Debug)]
pub(crate) struct GoalRank {
    iteration: u32,
    iterations: u32,
    times: f64,
    /// What each operation has yet to wait for.
    waits: Vec<u32>,
    /// Operations that are not over.
    left: usize,
    /// Operations that may start.
    ready: VecDeque<u32>,
    /// By processor: computations that wait for it, the one that runs first.
    cpus: BTreeMap<u16, VecDeque<u32>>,
    channels: Vec<Channel>,
}

/// Messages of one sender and tag.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// Messages that no receive has taken.
    arrived: u32,
    /// Receives that wait for one.
    posted: VecDeque<u32>,
}

impl GoalRank {
    /// A rank that has not begun, and computes `times` as long as the trace says.
    pub(crate) fn new(graph: &Graph, iterations: u32, times: f64) -> GoalRank {
        GoalRank {
            iteration: 0,
            iterations,
            times,
            waits: Vec::new(),
            left: 0,
            ready: VecDeque::new(),
            cpus: BTreeMap::new(),
            channels: alloc::vec![Channel::default(); graph.channels as usize],
        }
    }

    pub(crate) fn iteration(&self) -> u32 {
        self.iteration
    }

    /// Something happened. Adds what is to be done, in order, to `todo`.
    pub(crate) fn on(&mut self, happened: Happened, graph: &Graph, todo: &mut Vec<Do>) {
        match happened {
            Happened::Begin => self.begin(graph, todo),
            Happened::Computed { step } => {
                let waiting = self.cpus.entry(graph.ops[step as usize].cpu).or_default();
                waiting.pop_front();
                let next = waiting.front().copied();
                self.end(step, graph);
                if let Some(next) = next {
                    self.compute(next, graph, todo);
                }
            }
            Happened::Sent { step } => self.end(step, graph),
            Happened::Arrived { channel } => {
                let channel = &mut self.channels[channel as usize];
                match channel.posted.pop_front() {
                    Some(receive) => self.end(receive, graph),
                    None => channel.arrived += 1,
                }
            }
            Happened::Received | Happened::Granted => {}
        }
        self.go_on(graph, todo);
    }

    fn begin(&mut self, graph: &Graph, todo: &mut Vec<Do>) {
        todo.push(Do::Begin {
            iteration: self.iteration,
        });
        self.waits.clone_from(&graph.waits);
        self.left = graph.ops.len();
        let is_free = |&(_, &waits): &(u32, &u32)| waits == 0;
        let free = (0..).zip(&self.waits).filter(is_free);
        self.ready.extend(free.map(|(op, _)| op));
    }

    /// Starts all that may, until there is something to wait for.
    fn go_on(&mut self, graph: &Graph, todo: &mut Vec<Do>) {
        loop {
            while let Some(op) = self.ready.pop_front() {
                self.start(op, graph, todo);
            }
            if self.left > 0 || self.iteration == self.iterations {
                return;
            }
            let iteration = self.iteration;
            todo.push(Do::End { iteration });
            self.iteration += 1;
            if self.iteration == self.iterations {
                return;
            }
            self.begin(graph, todo);
        }
    }

    fn start(&mut self, step: u32, graph: &Graph, todo: &mut Vec<Do>) {
        let op = &graph.ops[step as usize];
        match op.kind {
            Kind::Calc => {
                let waiting = self.cpus.entry(op.cpu).or_default();
                waiting.push_back(step);
                if waiting.len() == 1 {
                    self.compute(step, graph, todo);
                }
            }
            Kind::Send => {
                todo.push(Do::Send {
                    to: op.peer,
                    bytes: op.amount,
                    step,
                    channel: op.channel,
                });
                self.free(step, true, graph);
            }
            Kind::Recv => {
                self.free(step, true, graph);
                let channel = &mut self.channels[op.channel as usize];
                if channel.arrived > 0 {
                    channel.arrived -= 1;
                    self.end(step, graph);
                } else {
                    channel.posted.push_back(step);
                }
            }
        }
    }

    fn compute(&mut self, step: u32, graph: &Graph, todo: &mut Vec<Do>) {
        let ns = graph.ops[step as usize].amount;
        let ns = if self.times == 1.0 {
            ns
        } else {
            (ns as f64 * self.times + 0.5) as u64
        };
        let span = Span(ns);
        todo.push(Do::Compute { span, step });
        self.free(step, true, graph);
    }

    fn end(&mut self, step: u32, graph: &Graph) {
        self.left -= 1;
        self.free(step, false, graph);
    }

    /// What waited for the start of an operation, or for its end, waits for one less.
    fn free(&mut self, step: u32, of_start: bool, graph: &Graph) {
        for after in graph.followers(step, of_start) {
            let waits = &mut self.waits[after as usize];
            *waits -= 1;
            if *waits == 0 {
                self.ready.push_back(after);
            }
        }
    }

    /// The first of the operations that are not over, in a rank where nothing can happen.
    pub(crate) fn stuck(&self) -> Option<u32> {
        let posted = self.channels.iter().flat_map(|channel| &channel.posted);
        let waiting = (0..).zip(&self.waits).filter(|(_, waits)| **waits > 0);
        let waiting = waiting.map(|(op, _)| op);
        (self.left > 0)
            .then(|| posted.copied().chain(waiting).min())
            .flatten()
    }
}
