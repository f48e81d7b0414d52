// SPDX-License-Identifier: MIT OR Apache-2.0
//! When flows of a plan begin.

use etalon_net::Edge;
use etalon_scenario::Scenario;
use etalon_units::Time;

use crate::packet::PacketId;
use crate::queue::Wake;
use crate::stack::downgrade_of;
use crate::tap::Tap;
use crate::world::World;

/// The numbers of the plan's flows in the order in which they connect and start: twice where these are two instants.
#[derive(Debug)]
pub(crate) struct Starts {
    order: Vec<(Time, u32)>,
    next: usize,
}

impl Starts {
    pub(crate) fn new(plan: &Scenario) -> Starts {
        let mut order: Vec<(Time, u32)> = Vec::with_capacity(plan.flows.len());
        for (index, flow) in plan.flows.iter().enumerate() {
            let (connects, starts) = (flow.connects(), flow.start);
            if connects < starts {
                order.push((connects, index as u32));
            }
            order.push((starts, index as u32));
        }
        order.sort_unstable();
        Starts { order, next: 0 }
    }

    /// The next flow to connect or to start, and when.
    pub(crate) fn take(&mut self) -> Option<(Time, u32)> {
        let first = self.order.get(self.next).copied();
        self.next += 1;
        first
    }
}

impl<T: Tap> World<'_, '_, T> {
    /// Opens the accounts of the plan's flows, and sets the events for those that are killed or downgraded.
    pub(crate) fn await_ends(&mut self, plan: &Scenario, edge: &mut Edge<PacketId>) {
        for (index, flow) in plan.flows.iter().enumerate() {
            if let Some(accounts) = edge.accounts() {
                accounts.open_flow(flow.pair());
            }
            if let Some(stop) = flow.stop {
                self.queue.push(stop, Wake::Stop(index as u32));
            }
            if let Some(time) = downgrade_of(&flow.transport) {
                self.queue.push(time, Wake::Downgrade(index as u32));
            }
        }
    }

    /// Sets the events for applications to begin, or to connect.
    pub(crate) fn await_applications(&mut self, plan: &Scenario) {
        let starts = plan.dfsio.iter().map(|job| job.start);
        let starts = starts.chain(plan.generators.iter().map(|one| one.start));
        let connects = plan.jobs.iter().map(|job| job.connect.unwrap_or(job.start));
        for (job, start) in starts.chain(connects).enumerate() {
            self.queue.push(start, Wake::Job(job as u32));
        }
    }

    /// Sets the event for the next flow to connect or to start. One is enough: the queue stays small.
    pub(crate) fn await_start(&mut self) {
        if let Some((time, flow)) = self.starts.take() {
            self.queue.push(time, Wake::Start(flow));
        } else if self.streamed.is_some() {
            self.await_coming();
        }
    }
}
