// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads that a function of the user's makes while a run lasts: it begins flows, and hears when they are complete.

use std::collections::BTreeMap;

use etalon_jobs::{Begun, Failure, Generators};
use etalon_net::Edge;
use etalon_scenario::{Generator, ScenarioError};
use etalon_units::Time;

use crate::packet::PacketId;
use crate::queue::Wake;
use crate::stack::downgrade_of;
use crate::tap::Tap;
use crate::world::World;

/// The generators of a run.
pub(crate) struct Generated {
    made: Box<dyn Generators + Send>,
    /// By flow: its generator, and its number there.
    owners: BTreeMap<u32, (usize, u32)>,
    /// By generator: how many flows it has begun, and when it is to be woken.
    begun: Vec<(u32, Option<Time>)>,
    failure: Option<Failure>,
}

impl Generated {
    /// Those of a plan; none if it has none. `made` makes their flows.
    pub(crate) fn new(
        plan: &[Generator],
        made: Option<Box<dyn Generators + Send>>,
    ) -> Result<Option<Box<Generated>>, ScenarioError> {
        if plan.is_empty() {
            return Ok(None);
        }
        let made = made.ok_or_else(|| {
            ScenarioError("the functions of the plan's generators are not there".to_owned())
        })?;
        Ok(Some(Box::new(Generated {
            made,
            owners: BTreeMap::new(),
            begun: plan.iter().map(|one| (0, Some(one.start))).collect(),
            failure: None,
        })))
    }

    /// Whether none waits for a time.
    pub(crate) fn is_done(&self) -> bool {
        self.begun.iter().all(|(_, wake)| wake.is_none())
    }
}

impl<T: Tap> World<'_, '_, T> {
    /// What a generator failed with, if one did.
    pub(crate) fn failure(&mut self) -> Option<Failure> {
        self.applications.generated.as_deref_mut()?.failure.take()
    }

    /// A job starts, or a generator goes on: these are numbered after the jobs.
    pub(crate) fn begin_job(&mut self, now: Time, job: u32, edge: &mut Edge<PacketId>) {
        match job.checked_sub(self.applications.dfsio as u32) {
            Some(generator) if self.applications.generated.is_some() => {
                self.wake_generator(now, generator, edge);
            }
            _ => self.with_jobs(now, edge, |jobs, hosts| jobs.start(now, job, hosts)),
        }
    }

    /// A generator asked to be woken.
    fn wake_generator(&mut self, now: Time, number: u32, edge: &mut Edge<PacketId>) {
        let due = |(_, wake): &(u32, Option<Time>)| wake.is_some_and(|time| time <= now);
        let Some(generated) = &self.applications.generated else {
            return;
        };
        // Not if it has gone on since, and asked for another time.
        if generated.begun.get(number as usize).is_some_and(due) {
            self.step_generator(now, number as usize, None, edge);
        }
        self.end_if_done(now, edge);
    }

    /// A flow is complete that may be a generator's.
    pub(crate) fn generated_ended(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        let owner = |generated: &Generated| generated.owners.get(&flow).copied();
        if let Some((number, own)) = self.applications.generated.as_deref().and_then(owner) {
            self.step_generator(now, number, Some(own), edge);
            self.finish_flow(now, edge);
        }
    }

    fn step_generator(
        &mut self,
        now: Time,
        number: usize,
        ended: Option<u32>,
        edge: &mut Edge<PacketId>,
    ) {
        let Some(mut generated) = self.applications.generated.take() else {
            return;
        };
        if generated.begun[number].1.is_some_and(|time| time <= now) {
            generated.begun[number].1 = None;
        }
        match generated.made.step(now, number, ended) {
            Ok(step) => {
                for begun in step.flows {
                    let own = generated.begun[number].0;
                    generated.begun[number].0 += 1;
                    let flow = self.begin_generated(now, number, begun, edge);
                    generated.owners.insert(flow, (number, own));
                }
                let wake = step.wake.map(|time| time.max(now));
                let changed = generated.begun[number].1 != wake;
                generated.begun[number].1 = wake;
                if let (Some(time), true) = (wake, changed) {
                    let job = (self.applications.dfsio + number) as u32;
                    self.queue.push(time, Wake::Job(job));
                }
            }
            Err(failure) => {
                generated.failure.get_or_insert(failure);
                edge.end(now);
            }
        }
        self.applications.generated = Some(generated);
    }

    /// A flow of a generator begins. Returns its number.
    fn begin_generated(
        &mut self,
        now: Time,
        number: usize,
        begun: Begun,
        edge: &mut Edge<PacketId>,
    ) -> u32 {
        let flow = begun.flow(now, &self.flows.generators()[number]);
        self.meter.add_flow(&flow);
        self.tap.opened(&flow, 0);
        if let Some(accounts) = edge.accounts() {
            accounts.open_flow(flow.pair());
        }
        let downgrade = downgrade_of(&flow.transport);
        let flow = self
            .flows
            .push(flow, (self.applications.dfsio + number) as u32);
        self.unfinished += 1;
        self.queue.push(now, Wake::Start(flow));
        if let Some(time) = downgrade {
            self.queue.push(time.max(now), Wake::Downgrade(flow));
        }
        flow
    }
}
