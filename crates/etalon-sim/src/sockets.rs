// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sockets: how applications use the hosts' stacks.

use etalon_net::Edge;
use etalon_scenario::{CrossConnect, Flow};
use etalon_units::Time;

use crate::packet::PacketId;
use crate::queue::Wake;
use crate::tap::Tap;
use crate::world::{World, downgrade_of};

/// The hosts' stacks as applications see them.
pub(crate) trait Sockets {
    /// Opens a flow of `job` and returns its number.
    fn connect(&mut self, now: Time, job: u32, flow: Flow) -> u32;

    /// Writes into a stream: number 2n from flow n's client to its server, 2n + 1 back.
    fn write(&mut self, now: Time, stream: u32, bytes: u64);

    /// The client of a flow writes no more.
    fn shutdown(&mut self, now: Time, flow: u32);

    /// Bytes written into a stream that have never been sent.
    fn unsent(&mut self, stream: u32) -> u64;

    /// A rank, by its number among those of all jobs, will have computed at `time`.
    fn wake_rank(&mut self, time: Time, rank: u32);

    /// A job will begin at `time`.
    fn start_job(&mut self, time: Time, job: u32);

    /// A job of ranks asks for circuits.
    fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>);

    /// It needs circuits no more.
    fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>);
}

/// The hosts' stacks, and their way to the network.
pub(crate) struct Stacks<'w, 'a, 's, T> {
    pub(crate) world: &'w mut World<'a, 's, T>,
    pub(crate) edge: &'w mut Edge<PacketId>,
}

impl<T: Tap> Sockets for Stacks<'_, '_, '_, T> {
    fn connect(&mut self, now: Time, job: u32, flow: Flow) -> u32 {
        let Stacks { world, edge } = self;
        world.meter.add_flow(&flow);
        world.tap.opened(&flow);
        if let Some(accounts) = edge.accounts() {
            accounts.open_flow(flow.pair());
        }
        let downgrade = downgrade_of(&flow.transport);
        let flow = world.flows.push(flow, job);
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
        self.world.flows.end(stream).connection.write(bytes);
        self.world.look_and_transmit(now, stream, self.edge);
    }

    fn shutdown(&mut self, now: Time, flow: u32) {
        self.world.flows.end(2 * flow).connection.shutdown();
        self.world.look_and_transmit(now, 2 * flow, self.edge);
    }

    fn unsent(&mut self, stream: u32) -> u64 {
        self.world.flows.end(stream).connection.unsent()
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
