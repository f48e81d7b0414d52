// SPDX-License-Identifier: MIT OR Apache-2.0
//! Applications: who is woken by which flow.

use etalon_jobs::{JobRows, RankSockets, Ranks, trace_of};
use etalon_measure::results::Write;
use etalon_scenario::{CrossConnect, Flow, Scenario, ScenarioError};
use etalon_schedule::Answer;
use etalon_units::Time;

use crate::hdfs::{Job, Network, Role};
use crate::sockets::Sockets;

/// The jobs of a plan: those that write files, then those of ranks.
pub(crate) struct Jobs {
    writers: Vec<Job>,
    ranks: Vec<Ranks>,
    /// Number of the first flow that jobs opened.
    first: u32,
    /// For each of them, whose it is.
    owners: Vec<Owner>,
}

/// Whose a flow is.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// A job that writes files, and what the flow is there.
    Writers(u32, Role),
    /// A job of ranks, and the number of its connection.
    Ranks(u32, u32),
}

impl Jobs {
    pub(crate) fn new(plan: &Scenario) -> Result<Jobs, ScenarioError> {
        let writers = plan.dfsio.iter().enumerate();
        let mut jobs = Jobs {
            writers: writers
                .map(|(index, job)| Job::new(plan, index as u32, job))
                .collect::<Result<_, _>>()?,
            ranks: Vec::new(),
            first: plan.flows.len() as u32,
            owners: Vec::new(),
        };
        let mut first = 0;
        for (number, job) in plan.jobs.iter().enumerate() {
            let owner = (plan.dfsio.len() + number) as u32;
            let trace = trace_of(job)?;
            jobs.ranks
                .push(Ranks::new(plan, number, (owner, first), trace)?);
            first += job.ranks.len() as u32;
        }
        Ok(jobs)
    }

    /// A job begins, or connects.
    pub(crate) fn start(&mut self, now: Time, job: u32, sockets: &mut impl Sockets) {
        let (first, owners) = (self.first, &mut self.owners);
        let mut sockets = Owned {
            first,
            owners,
            sockets,
        };
        match (job as usize).checked_sub(self.writers.len()) {
            None => self.writers[job as usize].start(now, &mut sockets),
            Some(ranks) => self.ranks[ranks].start(now, &mut sockets),
        }
    }

    /// A rank, by its number among those of all jobs, has computed.
    pub(crate) fn computed(&mut self, now: Time, rank: u32, sockets: &mut impl Sockets) {
        let (first, owners) = (self.first, &mut self.owners);
        let mut sockets = Owned {
            first,
            owners,
            sockets,
        };
        let job = self.ranks.partition_point(|job| job.first_rank() <= rank) - 1;
        self.ranks[job].computed(now, rank, &mut sockets);
    }

    /// The controller of circuits has done something for a job.
    pub(crate) fn answered(&mut self, now: Time, answer: Answer, sockets: &mut impl Sockets) {
        let (first, owners) = (self.first, &mut self.owners);
        let mut sockets = Owned {
            first,
            owners,
            sockets,
        };
        self.ranks[answer.job as usize].answered(now, answer.what, &mut sockets);
    }

    /// A packet has reached the endpoint `index` of a job's flow, which has received `total` bytes in all; `is_data` of a packet
    /// that has a payload.
    pub(crate) fn received(
        &mut self,
        now: Time,
        (index, total, is_data): (u32, u64, bool),
        sockets: &mut impl Sockets,
    ) {
        let flow = index >> 1;
        let owner = self.owners[(flow - self.first) as usize];
        let (first, owners) = (self.first, &mut self.owners);
        let mut sockets = Owned {
            first,
            owners,
            sockets,
        };
        match owner {
            Owner::Ranks(job, connection) => {
                let job = &mut self.ranks[job as usize - self.writers.len()];
                job.packet(now, (connection, index, total), &mut sockets);
            }
            Owner::Writers(..) if !is_data => {}
            Owner::Writers(job, role) => {
                let job = &mut self.writers[job as usize];
                if index & 1 == 1 {
                    job.data_received(now, (role, flow), total, &mut sockets);
                } else {
                    job.answer_received(now, (role, flow), total, &mut sockets);
                }
            }
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.writers.iter().all(Job::is_done) && self.ranks.iter().all(Ranks::is_done)
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        self.writers.iter().flat_map(Job::writes).collect()
    }

    /// The iterations of all jobs, and their steps.
    pub(crate) fn take_rows(&mut self) -> JobRows {
        let mut rows = JobRows::default();
        for job in &mut self.ranks {
            rows.iterations.append(&mut job.iterations);
            rows.steps.append(&mut job.steps);
            rows.steps.extend(job.rest());
        }
        rows
    }
}

/// Sockets that remember who opened which flow.
pub(crate) struct Owned<'a, S> {
    /// Number of the first flow of jobs.
    first: u32,
    owners: &'a mut Vec<Owner>,
    sockets: &'a mut S,
}

impl<S> Owned<'_, S> {
    /// Remembers whose a flow is, and returns its number. Between it and the one before are subflows of that, if MPTCP carries it.
    fn own(&mut self, flow: u32, owner: Owner) -> u32 {
        self.owners.resize((flow - self.first) as usize + 1, owner);
        flow
    }
}

impl<S: Sockets> Network for Owned<'_, S> {
    fn connect(&mut self, now: Time, job: u32, role: Role, flow: Flow) -> u32 {
        let flow = self.sockets.connect(now, job, flow);
        self.own(flow, Owner::Writers(job, role))
    }

    fn write(&mut self, now: Time, stream: u32, bytes: u64) {
        self.sockets.write(now, stream, bytes);
    }

    fn shutdown(&mut self, now: Time, flow: u32) {
        self.sockets.shutdown(now, flow);
    }
}

impl<S: Sockets> RankSockets for Owned<'_, S> {
    fn open(&mut self, now: Time, job: u32, connection: u32, flow: Flow) -> u32 {
        let flow = self.sockets.connect(now, job, flow);
        self.own(flow, Owner::Ranks(job, connection))
    }

    fn write(&mut self, now: Time, stream: u32, bytes: u64) {
        self.sockets.write(now, stream, bytes);
    }

    fn unsent(&mut self, stream: u32) -> u64 {
        self.sockets.unsent(stream)
    }

    fn wake(&mut self, time: Time, rank: u32) {
        self.sockets.wake_rank(time, rank);
    }

    fn start(&mut self, time: Time, job: u32) {
        self.sockets.start_job(time, job);
    }
    fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        self.sockets.ask(now, job, circuits);
    }

    fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        self.sockets.release(now, job, circuits);
    }
}
