// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of ranks: their state machines on the hosts' sockets and clocks.
//!
//! Between two ranks there is one connection, however many messages; of MPTCP there is one for each direction. A message has no header: both
//! ends know how long each is.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use etalon_scenario::{Circuits, Flow, Job, Pair, Scenario, ScenarioError, StepCircuits};
use etalon_schedule::Granted;
use etalon_units::Time;

use crate::goal::{GoalRank, Trace};
use crate::rows::{Iteration, Step};
use crate::{Asking, Costs, Do, Happened, Program, Rank, RankSockets, Reach, Wish};

/// A job of ranks.
#[derive(Debug)]
pub struct Ranks {
    number: u32,
    /// Its number for sockets, and that of its first rank among all jobs'.
    owner: u32,
    first: u32,
    plan: Job,
    program: Program,
    /// What ranks do, if that is a trace.
    trace: Option<Arc<Trace>>,
    ranks: Vec<Member>,
    /// The connections of pairs of ranks, the lower one first, or the sender if connections carry data one way.
    pairs: BTreeMap<(u32, u32), u32>,
    connections: Vec<Connection>,
    /// The circuits that it asks for, if it does.
    asking: Option<Asking>,
    wishes: Vec<Wish>,
    /// What ranks have yet to hear of at this instant.
    news: VecDeque<(u32, Happened)>,
    todo: Vec<Do>,
    unfinished: u32,
    /// What is noted of iterations.
    pub iterations: Vec<Iteration>,
    /// What is noted of messages and computations that are over.
    pub steps: Vec<Step>,
}

/// A rank, and what is noted of it.
#[derive(Debug)]
struct Member {
    machine: Machine,
    /// When it began its iteration, and how long it has computed since.
    begun: Time,
    computed: u64,
    /// When it began to compute.
    computes: Time,
    /// What it computes: the step, from when on, and until when.
    running: Vec<(u32, Time, Time)>,
    /// When circuits were asked for of the step that it is in, and when they were there.
    asked: Option<Time>,
    granted: Option<Time>,
    /// When it was ready for that step.
    ready: Time,
}

/// What tells a rank what to do.
#[derive(Debug)]
enum Machine {
    /// The list of work of all ranks.
    List(Rank),
    /// A trace.
    Trace(GoalRank),
}

impl Machine {
    fn iteration(&self) -> u32 {
        match self {
            Machine::List(rank) => rank.iteration(),
            Machine::Trace(rank) => rank.iteration(),
        }
    }
}

/// A connection between two ranks.
#[derive(Debug)]
struct Connection {
    ranks: (u32, u32),
    /// The flow, and whether its client is the higher rank.
    flow: Option<(u32, bool)>,
    /// To the higher rank, and to the lower one.
    ways: [Direction; 2],
}

/// One direction of a connection. Bytes are counted from its beginning.
#[derive(Debug, Default)]
struct Direction {
    written: u64,
    /// Ends of messages that have not been sent.
    sending: VecDeque<u64>,
    /// Ends of those that the receiver waits for.
    awaited: VecDeque<u64>,
    /// What the receiver has asked for, and what has come.
    asked: u64,
    received: u64,
    /// Messages that the receiver has not read, and their channels.
    messages: VecDeque<(Step, u32)>,
}

impl Ranks {
    /// Job `number` of an experiment, which is job `owner` for sockets; its ranks are numbered from `first`. Its trace, if the plan
    /// names one, was read.
    ///
    /// # Errors
    /// [`ScenarioError`] if an algorithm does not fit, or the trace does not.
    pub fn new(
        plan: &Scenario,
        number: usize,
        (owner, first): (u32, u32),
        trace: Option<Arc<Trace>>,
    ) -> Result<Ranks, ScenarioError> {
        let job = &plan.jobs[number];
        let program = Program::new(job, number, plan.seed)?;
        let found = trace.as_ref().map(|trace| trace.ranks());
        if found != job.trace.as_ref().map(|_| program.ranks()) {
            return Err(ScenarioError::new(format_args!(
                "job {number}: its trace is not there, or has another number of ranks"
            )));
        }
        let machine = |rank: u32| match &trace {
            None => Machine::List(Rank::new(rank)),
            Some(trace) => {
                let graph = &trace.ranks[rank as usize];
                let times = program.times(rank);
                Machine::Trace(GoalRank::new(graph, job.iterations, times))
            }
        };
        let member = |rank| Member {
            machine: machine(rank),
            begun: job.start,
            computed: 0,
            computes: job.start,
            running: Vec::new(),
            asked: None,
            granted: None,
            ready: job.start,
        };
        let asking = plan.asked().and_then(|asked| {
            let listed = listed(plan, job, &program);
            let first = plan.first_circuits().collect();
            Asking::new(job, asked, &program, listed, (Reach::of(plan), first))
        });
        Ok(Ranks {
            number: number as u32,
            owner,
            first,
            ranks: (0..program.ranks()).map(member).collect(),
            unfinished: program.ranks(),
            plan: job.clone(),
            program,
            trace,
            pairs: BTreeMap::new(),
            connections: Vec::new(),
            asking,
            wishes: Vec::new(),
            news: VecDeque::new(),
            todo: Vec::new(),
            iterations: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// The number of its first rank among those of all jobs.
    #[must_use]
    pub fn first_rank(&self) -> u32 {
        self.first
    }

    /// Whether every rank has done all of its iterations.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// The job begins, or its ranks connect before it does.
    pub fn start(&mut self, now: Time, sockets: &mut impl RankSockets) {
        if now < self.plan.start {
            sockets.start(self.plan.start, self.owner);
            return self.connect_all(now, sockets);
        }
        if let Some(asking) = &mut self.asking {
            asking.begin(now, &self.program, &mut self.wishes);
            self.fulfil(now, sockets);
        }
        for rank in 0..self.program.ranks() {
            self.news.push_back((rank, Happened::Begin));
        }
        self.go_on(now, sockets);
    }

    /// Connects all pairs that will exchange anything.
    fn connect_all(&mut self, now: Time, sockets: &mut impl RankSockets) {
        if let Some(trace) = self.trace.clone() {
            for (low, high) in trace.pairs() {
                self.stream(now, low, high, sockets);
            }
        }
        for rank in 0..self.program.ranks() {
            let mut peers = Vec::new();
            for step in 0..self.program.steps() {
                self.program.sends(rank, step, |peer, _| peers.push(peer));
            }
            for peer in peers {
                self.stream(now, rank, peer, sockets);
            }
        }
    }

    /// A rank has computed.
    pub fn computed(&mut self, now: Time, rank: u32, sockets: &mut impl RankSockets) {
        let rank = rank - self.first;
        let member = &mut self.ranks[rank as usize];
        let is_over = |&(_, _, end): &(u32, Time, Time)| end <= now;
        let iteration = member.machine.iteration();
        while let Some(at) = member.running.iter().position(is_over) {
            let (step, began, _) = member.running.remove(at);
            if member.running.is_empty() {
                member.computed += now.0 - member.computes.0;
            }
            if self.plan.steps {
                self.steps.push(Step {
                    job: self.number,
                    iteration,
                    step,
                    rank,
                    peer: None,
                    bytes: 0,
                    ready: began,
                    asked: None,
                    granted: None,
                    sent: None,
                    received: Some(now),
                });
            }
            self.news.push_back((rank, Happened::Computed { step }));
        }
        self.go_on(now, sockets);
    }

    /// A packet has reached an end of one of its connections, which has received `total` bytes.
    pub fn packet(
        &mut self,
        now: Time,
        (connection, index, total): (u32, u32, u64),
        sockets: &mut impl RankSockets,
    ) {
        let one = &mut self.connections[connection as usize];
        let Some((_, swapped)) = one.flow else { return };
        // To the server leads the first way, unless the client is the higher rank.
        let way = usize::from((index & 1 == 0) != swapped);
        one.ways[way].received = total;
        let is_awaited =
            |way: &Direction| way.awaited.front().is_some_and(|&end| end <= way.received);
        if !one.ways[1 - way].sending.is_empty() {
            self.look_at_sent(now, connection, 1 - way, sockets);
        }
        if is_awaited(&self.connections[connection as usize].ways[way]) {
            self.look_at_sent(now, connection, way, sockets);
            self.look_at_received(now, connection, way, sockets);
        }
        if !self.news.is_empty() {
            self.go_on(now, sockets);
        }
    }

    /// Tells a sender of messages that have been sent.
    fn look_at_sent(
        &mut self,
        now: Time,
        connection: u32,
        way: usize,
        sockets: &mut impl RankSockets,
    ) {
        let one = &mut self.connections[connection as usize];
        let Some((flow, swapped)) = one.flow else {
            return;
        };
        let sender = if way == 0 { one.ranks.0 } else { one.ranks.1 };
        let stream = 2 * flow + u32::from((way == 1) != swapped);
        let way = &mut one.ways[way];
        if way.sending.is_empty() {
            return;
        }
        let sent = way.written - sockets.unsent(stream);
        while way.sending.front().is_some_and(|&end| end <= sent) {
            // Those that are being sent are the last of those that have not been read.
            let at = way.messages.len() - way.sending.len();
            let message = &mut way.messages[at].0;
            message.sent = Some(now);
            let step = message.step;
            way.sending.pop_front();
            self.news.push_back((sender, Happened::Sent { step }));
        }
    }

    /// Tells a receiver of messages that are there.
    fn look_at_received(
        &mut self,
        now: Time,
        connection: u32,
        way: usize,
        sockets: &mut impl RankSockets,
    ) {
        let one = &mut self.connections[connection as usize];
        let (mut sender, mut receiver) = one.ranks;
        if way == 1 {
            (sender, receiver) = (receiver, sender);
        }
        let way = &mut one.ways[way];
        while way.awaited.front().is_some_and(|&end| end <= way.received) {
            way.awaited.pop_front();
            if let Some(asking) = &mut self.asking {
                let ranks = (sender, receiver);
                asking.received(now, ranks, &self.program, &mut self.wishes);
            }
            let Some((mut message, channel)) = way.messages.pop_front() else {
                continue;
            };
            let happened = match self.trace {
                None => Happened::Received,
                Some(_) => Happened::Arrived { channel },
            };
            self.news.push_back((receiver, happened));
            message.received = Some(now);
            if self.plan.steps {
                self.steps.push(message);
            }
        }
        self.fulfil(now, sockets);
    }

    /// What the controller of circuits has done for the job.
    pub fn answered(&mut self, now: Time, what: Granted, sockets: &mut impl RankSockets) {
        let Some(asking) = &mut self.asking else {
            return;
        };
        match what {
            Granted::Request { changed, dark } => {
                if let (Some(row), true) = (self.iterations.last_mut(), changed > 0) {
                    row.changes += 1;
                    row.dark += dark.0;
                }
                asking.granted(now, &self.program, &mut self.wishes);
            }
            Granted::Up(connect) => asking.up(connect, &self.program, &mut self.wishes),
            Granted::Wanted(connect) => asking.wanted(connect, &mut self.wishes),
        }
        self.fulfil(now, sockets);
        self.go_on(now, sockets);
    }

    /// Does what came of a change of circuits, or of what needs one.
    fn fulfil(&mut self, now: Time, sockets: &mut impl RankSockets) {
        for wish in self.wishes.drain(..) {
            match wish {
                Wish::Ask(circuits) => sockets.ask(now, self.number, circuits),
                Wish::Release(circuits) => sockets.release(now, self.number, circuits),
                Wish::Go { rank, asked } => {
                    let member = &mut self.ranks[rank as usize];
                    (member.asked, member.granted) = (asked, asked.map(|_| now));
                    self.news.push_back((rank, Happened::Granted));
                }
            }
        }
    }

    /// Ranks hear what has happened, and act, until nothing more happens at this instant.
    fn go_on(&mut self, now: Time, sockets: &mut impl RankSockets) {
        while let Some((rank, happened)) = self.news.pop_front() {
            let member = &mut self.ranks[rank as usize];
            let mut todo = core::mem::take(&mut self.todo);
            match (&mut member.machine, &self.trace) {
                (Machine::List(one), _) => one.on(happened, &self.program, &mut todo),
                (Machine::Trace(one), Some(trace)) => {
                    one.on(happened, &trace.ranks[rank as usize], &mut todo);
                }
                (Machine::Trace(_), None) => {}
            }
            for what in todo.drain(..) {
                self.act(now, rank, what, sockets);
            }
            self.todo = todo;
        }
    }

    fn act(&mut self, now: Time, rank: u32, what: Do, sockets: &mut impl RankSockets) {
        match what {
            Do::Begin { iteration } => self.begin(now, rank, iteration),
            Do::End { iteration } => {
                self.end(now, rank, iteration);
                self.fulfil(now, sockets);
            }
            Do::Ask => self.ask(now, rank, sockets),
            Do::Compute { span, step } => {
                let member = &mut self.ranks[rank as usize];
                if member.running.is_empty() {
                    member.computes = now;
                }
                let end = Time(now.0.saturating_add(span.0));
                member.running.push((step, now, end));
                sockets.wake(end, self.first + rank);
            }
            Do::Receive { from, bytes } => {
                let (connection, way) = self.way(from, rank);
                let one = &mut self.connections[connection as usize].ways[way];
                one.asked += bytes;
                one.awaited.push_back(one.asked);
                if one.asked <= one.received {
                    self.look_at_sent(now, connection, way, sockets);
                    self.look_at_received(now, connection, way, sockets);
                }
            }
            Do::Send {
                to,
                bytes,
                step,
                channel,
            } => self.send(now, rank, (to, bytes, step, channel), sockets),
        }
    }

    fn send(
        &mut self,
        now: Time,
        rank: u32,
        (to, bytes, step, channel): (u32, u64, u32, u32),
        sockets: &mut impl RankSockets,
    ) {
        let stream = self.stream(now, rank, to, sockets);
        let (connection, way) = self.way(rank, to);
        let member = &self.ranks[rank as usize];
        let message = Step {
            job: self.number,
            iteration: member.machine.iteration(),
            step,
            rank,
            peer: Some(to),
            bytes,
            ready: if self.asking.is_some() {
                member.ready
            } else {
                now
            },
            asked: member.asked,
            granted: member.granted,
            sent: None,
            received: None,
        };
        let one = &mut self.connections[connection as usize].ways[way];
        one.written += bytes;
        one.sending.push_back(one.written);
        one.messages.push_back((message, channel));
        if self.trace.is_some() {
            // A receive of a trace takes what has come: which one that is depends on tags.
            one.asked += bytes;
            one.awaited.push_back(one.asked);
        }
        sockets.write(now, stream, bytes);
        self.look_at_sent(now, connection, way, sockets);
    }

    /// A rank waits until its circuits are there.
    fn ask(&mut self, now: Time, rank: u32, sockets: &mut impl RankSockets) {
        let member = &mut self.ranks[rank as usize];
        member.ready = now;
        let Machine::List(machine) = &member.machine else {
            return;
        };
        let place = (machine.iteration(), machine.step());
        if let Some(asking) = &mut self.asking {
            asking.ready(now, rank, place, &self.program, &mut self.wishes);
            self.fulfil(now, sockets);
        } else {
            self.news.push_back((rank, Happened::Granted));
        }
    }

    fn begin(&mut self, now: Time, rank: u32, iteration: u32) {
        let member = &mut self.ranks[rank as usize];
        (member.begun, member.computed) = (now, 0);
        if iteration as usize == self.iterations.len() {
            self.iterations.push(Iteration {
                job: self.number,
                iteration,
                start: now,
                end: None,
                ended: 0,
                computed: 0,
                slowest: 0,
                taken: 0,
                changes: 0,
                dark: 0,
            });
        }
    }

    /// A rank has ended an iteration.
    fn end(&mut self, now: Time, rank: u32, iteration: u32) {
        let member = &self.ranks[rank as usize];
        let row = &mut self.iterations[iteration as usize];
        row.ended += 1;
        row.computed += member.computed;
        row.slowest = row.slowest.max(member.computed);
        row.taken += now.0 - member.begun.0;
        if row.ended == self.program.ranks() {
            row.end = Some(now);
        }
        if iteration + 1 == self.program.iterations() {
            self.unfinished -= 1;
            if let Some(asking) = &mut self.asking {
                asking.ended(&mut self.wishes);
            }
        }
    }

    /// The connection from one rank to another, and which of its ways that is.
    fn way(&mut self, from: u32, to: u32) -> (u32, usize) {
        let one_way = self.plan.transport.is_one_way();
        let swaps = from > to && !one_way;
        let ranks = if swaps { (to, from) } else { (from, to) };
        let next = self.connections.len() as u32;
        let connection = *self.pairs.entry(ranks).or_insert(next);
        if connection == next {
            self.connections.push(Connection {
                ranks,
                flow: None,
                ways: Default::default(),
            });
        }
        (connection, usize::from(swaps))
    }

    /// The stream from one rank to another, over a connection that is opened if there is none.
    fn stream(&mut self, now: Time, from: u32, to: u32, sockets: &mut impl RankSockets) -> u32 {
        let (connection, way) = self.way(from, to);
        let one = &mut self.connections[connection as usize];
        let (flow, swapped) = match one.flow {
            Some(open) => open,
            None => {
                let (src, dst) = (self.plan.host(from), self.plan.host(to));
                let flow = Flow {
                    src_rack: src.rack(),
                    src_host: src.number(),
                    dst_rack: dst.rack(),
                    dst_host: dst.number(),
                    cc: self.plan.cc.clone(),
                    cc_params: self.plan.cc_params.clone(),
                    transport: self.plan.transport.clone(),
                    start: now,
                    class: self.plan.class.clone(),
                    ..Flow::default()
                };
                let flow = sockets.open(now, self.owner, connection, flow);
                *one.flow.insert((flow, way == 1))
            }
        };
        2 * flow + u32::from((way == 1) != swapped)
    }

    /// What has not been read, or not ended.
    pub fn rest(&self) -> impl Iterator<Item = Step> + '_ {
        let ways = self.connections.iter().flat_map(|one| &one.ways);
        let is_kept = self.plan.steps;
        ways.flat_map(|way| way.messages.iter().map(|message| message.0))
            .filter(move |_| is_kept)
    }
}

/// The circuits that a job lists, or that its plan comes to.
fn listed(plan: &Scenario, job: &Job, program: &Program) -> Option<Vec<StepCircuits>> {
    match &job.circuits {
        Circuits::None | Circuits::Each => None,
        Circuits::List(stages) => Some(stages.clone()),
        Circuits::Plan => {
            let asked = plan.asked()?;
            let change = asked.request + asked.reconfiguration;
            let costs = Costs::of(plan.network.kind().controlled()?, change)?;
            let first: Vec<Pair> = plan.first_circuits().map(|one| one.pair).collect();
            Some(crate::plan(job, program, &costs, &first))
        }
    }
}
