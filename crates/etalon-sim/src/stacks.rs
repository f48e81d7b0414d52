// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hosts' stacks, for applications: jobs act on the world through them.

use std::sync::Arc;

use etalon_net::Edge;
use etalon_scenario::{CrossConnect, Flow, Transport};
use etalon_schedule::Answer;
use etalon_units::Time;

use crate::endpoint::ALONE;
use crate::jobs::Jobs;
use crate::packet::PacketId;
use crate::queue::Wake;
use crate::sockets::Sockets;
use crate::stack::downgrade_of;
use crate::tap::Tap;
use crate::world::World;

/// The hosts' stacks, and their way to the network.
pub(crate) struct Stacks<'w, 'a, 's, T> {
    pub(crate) world: &'w mut World<'a, 's, T>,
    pub(crate) edge: &'w mut Edge<PacketId>,
}

impl<T: Tap> Sockets for Stacks<'_, '_, '_, T> {
    fn connect(&mut self, now: Time, job: u32, flow: Flow) -> u32 {
        let Stacks { world, edge } = self;
        world.meter.add_flow(&flow);
        world.tap.opened(&flow, 0);
        if let Some(accounts) = edge.accounts() {
            accounts.open_flow(flow.pair());
        }
        let downgrade = downgrade_of(&flow.transport);
        let transport = Arc::clone(&flow.transport);
        let flow = world.flows.push(flow, job);
        if let Transport::Mptcp(mptcp) = *transport {
            world.add_group(flow, mptcp);
        }
        world.open(flow, now);
        if let Some(time) = downgrade {
            world.queue.push(time.max(now), Wake::Downgrade(flow));
        }
        world.transmit(now, 2 * flow, edge);
        flow
    }

    fn write(&mut self, now: Time, stream: u32, bytes: u64) {
        if let Some(accounts) = self.edge.accounts() {
            accounts.wanted(now, stream, bytes);
        }
        let end = self.world.flows.end(stream);
        match end.group {
            ALONE => end.connection.write(bytes),
            group => self.world.write_message(now, group, bytes, self.edge),
        }
        self.world.look_and_transmit(now, stream, self.edge);
    }

    fn shutdown(&mut self, now: Time, flow: u32) {
        self.world.flows.end(2 * flow).connection.shutdown();
        self.world.look_and_transmit(now, 2 * flow, self.edge);
    }

    fn unsent(&mut self, stream: u32) -> u64 {
        let end = self.world.flows.end(stream);
        match end.group {
            ALONE => end.connection.unsent(),
            group => self.world.unsent_of_stream(group),
        }
    }

    fn wake_rank(&mut self, time: Time, rank: u32) {
        self.world.queue.push(time, Wake::Computed(rank));
    }

    fn start_job(&mut self, time: Time, job: u32) {
        self.world.queue.push(time, Wake::Job(job));
    }
    fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        self.edge.ask(now, job, circuits);
    }

    fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        self.edge.release(now, job, circuits);
    }
}

impl<'a, 's, T: Tap> World<'a, 's, T> {
    /// Lets applications work, which call back.
    pub(crate) fn with_jobs(
        &mut self,
        now: Time,
        edge: &mut Edge<PacketId>,
        work: impl FnOnce(&mut Jobs, &mut Stacks<'_, 'a, 's, T>),
    ) {
        if let Some(mut jobs) = self.applications.jobs.take() {
            work(&mut jobs, &mut Stacks { world: self, edge });
            self.applications.jobs = Some(jobs);
            self.end_if_done(now, edge);
        }
    }

    /// Jobs hear what the controller of circuits has done.
    pub(crate) fn answered(&mut self, now: Time, answers: Vec<Answer>, edge: &mut Edge<PacketId>) {
        for answer in answers {
            self.with_jobs(now, edge, |jobs, hosts| jobs.answered(now, answer, hosts));
        }
    }
}
