// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is decided outside of the kernel, whose virtual time stands still meanwhile: what ranks of jobs and generators do next, and the
//! weeks of a user's function.

mod making;

use std::collections::BTreeMap;
use std::io::{PipeWriter, Write as _};

use etalon_driver::{Order, encode_orders, encode_week};
use etalon_events::Event;
use etalon_jobs::{Generators, JobRows, RankSockets, Ranks, trace_of};
use etalon_scenario::{CrossConnect, Flow, MOST_PORTS, Scenario};
use etalon_schedule::{Controller, Demand, Granted, Params, Scheduler};
use etalon_units::Time;

use crate::LinuxError;
use crate::ports::check_ports;
use making::Making;

/// What a user lends to a run: code that its plan only names.
#[derive(Default)]
pub struct Lent {
    /// What computes weeks, if the plan's scheduler [is a user's](etalon_schedule::is_of_user).
    pub scheduler: Option<Box<dyn Scheduler + Send>>,
    /// What makes the flows of the plan's generators.
    pub generators: Option<Box<dyn Generators + Send>>,
}

/// Who decides.
pub(crate) struct Desk<'a> {
    jobs: Vec<Ranks>,
    making: Making<'a>,
    scheduler: Option<Box<dyn Scheduler + Send>>,
    params: Option<Params>,
    sockets: Sockets,
    answers: Option<PipeWriter>,
}

/// Whose a flow is.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// A job, and the number of its connection.
    Job(u32, u32),
    /// A generator, and the number of its flow.
    Generator(usize, u32),
}

/// Who wants to be woken.
#[derive(Clone, Copy, Debug)]
enum Sleeper {
    Job(u32),
    /// By its number among those of all jobs.
    Rank(u32),
    Generator(usize),
}

fn opened(order: &Order) -> Option<&Flow> {
    match order {
        Order::Open(flow) => Some(flow),
        _ => None,
    }
}

/// The hosts' sockets as they were last heard of, and what they are told.
#[derive(Debug)]
struct Sockets {
    /// Number of the first flow that is opened from outside.
    first: u32,
    owners: Vec<Owner>,
    /// Bytes written into each stream, those sent, and those read at its other end.
    streams: Vec<(u64, u64, u64)>,
    orders: Vec<Order>,
    /// By time, then in the order in which they asked.
    sleepers: BTreeMap<(Time, u64), Sleeper>,
    asked: u64,
}

impl Sockets {
    fn stream(&mut self, stream: u32) -> &mut (u64, u64, u64) {
        &mut self.streams[(stream - 2 * self.first) as usize]
    }

    /// What the kernel says of a stream, which has had so many bytes.
    fn told(&mut self, stream: u32, bytes: u64) -> Result<&mut (u64, u64, u64), String> {
        let place = stream
            .checked_sub(2 * self.first)
            .map(|place| place as usize);
        let known = place.and_then(|place| self.streams.get_mut(place));
        match known {
            Some(known) if bytes <= known.0 => Ok(known),
            _ => Err(format!(
                "The kernel tells of {bytes} bytes of stream {stream}, which has fewer."
            )),
        }
    }

    fn connect(&mut self, owner: Owner, flow: Flow) -> u32 {
        let number = self.first + self.owners.len() as u32;
        self.owners.push(owner);
        self.streams.extend([(0, 0, 0); 2]);
        self.orders.push(Order::Open(flow));
        number
    }

    /// Whether there are ports for the flows just opened, in words if not.
    fn check_ports(&self) -> Result<(), String> {
        let opened = self.orders.iter().filter_map(opened);
        let first = self.first as usize + self.owners.len() - opened.clone().count();
        if first + opened.clone().count() > MOST_PORTS {
            return Err(format!(
                "Jobs and generators open more flows than there are ports for: {MOST_PORTS}."
            ));
        }
        (first..)
            .zip(opened)
            .try_for_each(|(number, flow)| check_ports(number, &flow.transport))
    }

    fn sleep(&mut self, time: Time, sleeper: Sleeper) {
        self.asked += 1;
        self.sleepers.insert((time, self.asked), sleeper);
    }

    fn put(&mut self, stream: u32, bytes: u64) {
        self.stream(stream).0 += bytes;
        self.orders.push(Order::Write { stream, bytes });
    }
}

impl RankSockets for Sockets {
    fn open(&mut self, _: Time, job: u32, connection: u32, flow: Flow) -> u32 {
        self.connect(Owner::Job(job, connection), flow)
    }

    fn write(&mut self, _: Time, stream: u32, bytes: u64) {
        self.put(stream, bytes);
    }

    fn unsent(&mut self, stream: u32) -> u64 {
        let &mut (written, sent, _) = self.stream(stream);
        written - sent
    }

    fn wake(&mut self, time: Time, rank: u32) {
        self.sleep(time, Sleeper::Rank(rank));
    }

    fn ask(&mut self, _: Time, job: u32, circuits: Vec<CrossConnect>) {
        self.orders.push(Order::Ask { job, circuits });
    }

    fn release(&mut self, _: Time, job: u32, circuits: Vec<CrossConnect>) {
        self.orders.push(Order::Release { job, circuits });
    }

    fn start(&mut self, time: Time, job: u32) {
        self.sleep(time, Sleeper::Job(job));
    }
}

impl<'a> Desk<'a> {
    /// Who decides in `plan`; the answers go to `answers`, once there is a kernel.
    pub(crate) fn new(plan: &'a Scenario, lent: Lent) -> Result<Desk<'a>, LinuxError> {
        let mut sockets = Sockets {
            first: plan.flows.len() as u32,
            owners: Vec::new(),
            streams: Vec::new(),
            orders: Vec::new(),
            sleepers: BTreeMap::new(),
            asked: 0,
        };
        let (mut jobs, mut first) = (Vec::new(), 0);
        for (number, job) in (0..).zip(&plan.jobs) {
            let trace = trace_of(job).map_err(|e| LinuxError::plan(e.0))?;
            let ranks = Ranks::new(plan, number as usize, (number, first), trace);
            jobs.push(ranks.map_err(|e| LinuxError::plan(e.0))?);
            first += job.ranks.len() as u32;
            sockets.start(job.connect.unwrap_or(job.start), number);
        }
        let making = Making::new(plan, lent.generators).map_err(LinuxError::plan)?;
        for (number, generator) in plan.generators.iter().enumerate() {
            sockets.sleep(generator.start, Sleeper::Generator(number));
        }
        let params = match plan.computed() {
            None => None,
            Some((control, network)) => {
                let params = Controller::params(control, network);
                Some(params.map_err(|e| LinuxError::plan(e.to_string()))?)
            }
        };
        Ok(Desk {
            jobs,
            making,
            scheduler: lent.scheduler,
            params,
            sockets,
            answers: None,
        })
    }

    pub(crate) fn answer_to(&mut self, answers: PipeWriter) {
        self.answers = Some(answers);
    }

    /// Answers a question. Returns the flows that are opened, or a sentence about why there is no answer.
    pub(crate) fn answer(&mut self, now: Time, question: &Event) -> Result<Vec<Flow>, String> {
        self.hear(now, question)?;
        if let Some((&(time, _), _)) = self.sockets.sleepers.first_key_value() {
            self.sockets.orders.push(Order::Wake(time));
        }
        let is_over = self.jobs.iter().all(Ranks::is_done) && self.making.is_done();
        self.sockets.orders.push(Order::Over(is_over));
        self.sockets.check_ports()?;
        let orders = std::mem::take(&mut self.sockets.orders);
        self.send(&encode_orders(&orders));
        Ok(orders.iter().filter_map(opened).cloned().collect())
    }

    /// Answers with a week.
    pub(crate) fn plan_week(&mut self, looked_at: Time, demand: &Demand) -> Result<(), String> {
        let (Some(scheduler), Some(params)) = (&mut self.scheduler, &self.params) else {
            return Err("The plan's scheduler is not there.".to_owned());
        };
        scheduler.look_at(looked_at);
        let week = scheduler.schedule(demand, params);
        let week = week.map_err(|error| format!("No week can be computed: {error}."))?;
        self.send(&encode_week(&week));
        Ok(())
    }

    /// A kernel that reads no answer has ended, which is told elsewhere.
    fn send(&mut self, answer: &[u8]) {
        if let Some(answers) = &mut self.answers {
            let length = (answer.len() as u32).to_le_bytes();
            let _ = answers.write_all(&[&length, answer].concat());
        }
    }

    fn hear(&mut self, now: Time, question: &Event) -> Result<(), String> {
        match *question {
            Event::Woken => self.wake(now),
            Event::Sent { stream, bytes } => {
                let known = self.sockets.told(stream, bytes)?;
                known.1 = known.1.max(bytes);
                let read = self.sockets.stream(stream ^ 1).2;
                self.progress(now, stream, read)
            }
            Event::Read { end, bytes } => {
                let stream = self.sockets.told(end ^ 1, bytes)?;
                // What was read was sent, though its sender looks at that with the next ACK only.
                (stream.1, stream.2) = (stream.1.max(bytes), bytes);
                self.progress(now, end, bytes)
            }
            Event::Granted { job, changed, dark } => {
                self.granted(now, job, Granted::Request { changed, dark })
            }
            Event::Connected {
                pair,
                plane,
                job,
                wanted,
            } => {
                let connect = CrossConnect { plane, pair };
                let what = if wanted { Granted::Wanted } else { Granted::Up };
                self.granted(now, job, what(connect))
            }
            _ => Err("The kernel asks what nobody knows.".to_owned()),
        }
    }

    fn granted(&mut self, now: Time, job: u32, what: Granted) -> Result<(), String> {
        let Some(ranks) = self.jobs.get_mut(job as usize) else {
            return Err(format!("The kernel tells of job {job}, which is none."));
        };
        ranks.answered(now, what, &mut self.sockets);
        Ok(())
    }

    fn wake(&mut self, now: Time) -> Result<(), String> {
        while let Some(entry) = self.sockets.sleepers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            match entry.remove() {
                Sleeper::Job(job) => self.jobs[job as usize].start(now, &mut self.sockets),
                Sleeper::Rank(rank) => {
                    let job = self.jobs.partition_point(|job| job.first_rank() <= rank) - 1;
                    self.jobs[job].computed(now, rank, &mut self.sockets);
                }
                Sleeper::Generator(number) => {
                    self.making.wake(now, number, &mut self.sockets)?;
                }
            }
        }
        Ok(())
    }

    /// An end of a flow has sent something, or has read `bytes` in all.
    fn progress(&mut self, now: Time, end: u32, bytes: u64) -> Result<(), String> {
        let place = (end / 2 - self.sockets.first) as usize;
        match self.sockets.owners.get(place) {
            Some(&Owner::Job(job, connection)) => {
                let job = &mut self.jobs[job as usize];
                job.packet(now, (connection, end, bytes), &mut self.sockets);
                Ok(())
            }
            Some(&Owner::Generator(number, own)) if end & 1 == 1 => {
                self.making
                    .read(now, (number, own), bytes, &mut self.sockets)
            }
            Some(Owner::Generator(..)) => Ok(()),
            None => Err(format!(
                "The kernel tells of flow {}, which is none.",
                end / 2
            )),
        }
    }

    /// What jobs did.
    pub(crate) fn rows(&mut self) -> JobRows {
        let mut rows = JobRows::default();
        for job in &mut self.jobs {
            rows.iterations.append(&mut job.iterations);
            rows.steps.append(&mut job.steps);
            rows.steps.extend(job.rest());
        }
        rows
    }
}
