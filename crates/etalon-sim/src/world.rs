// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is on hosts: flows, applications, packets.

use etalon_measure::{Meter, Metrics};
use etalon_net::{Arrival, Delivery, Edge, Environment, Part, Transmission};
use etalon_scenario::{Scenario, ScenarioError};
use etalon_switch::{DropReason, Pair, Plane};
use etalon_tcp::{Flags, PathId};
use etalon_units::Time;

use crate::applications::Applications;
use crate::coming::Streamed;
use crate::endpoint::{ALONE, Follows};
use crate::flows::Flows;
use crate::groups::{self, Groups};
use crate::hosts::Hosts;
use crate::nic::send;
use crate::packet::{Envelope, PacketId, PacketPool};
use crate::parcels::is_parcel;
use crate::plugins::Plugins;
use crate::queue::{Wake, WakeQueue};
use crate::spray::Sprays;
use crate::stack;
use crate::starts::Starts;
use crate::tap::Tap;
use crate::tdns::Tdns;
use crate::telemetry::{self, Telemetry};

/// Flows, applications and packets: what is on hosts.
pub(crate) struct World<'a, 's, T> {
    pub(crate) tdf: u64,
    /// Hosts announce what their sockets take.
    pub(crate) announces: bool,
    pub(crate) queue: WakeQueue,
    pub(crate) pool: PacketPool,
    pub(crate) flows: Flows<'a>,
    pub(crate) starts: Starts,
    /// Where flows come from, if the plan does not list them.
    pub(crate) streamed: Option<&'a mut Streamed<'s>>,
    /// Flows that have not ended and were not killed.
    pub(crate) unfinished: usize,
    pub(crate) applications: Applications,
    end_when_done: bool,
    pub(crate) tdns: Tdns,
    /// What hosts do for flows that TCP does not carry, if there are any.
    pub(crate) hosts: Option<Box<Hosts>>,
    /// What MPTCP carries.
    pub(crate) groups: Groups,
    pub(crate) meter: Meter,
    /// Room for the timers of one instant (`timers.rs`).
    pub(crate) due_timers: Vec<(u64, u32, u32)>,
    /// Which classes spread their packets over all ways.
    sprays: Sprays,
    pub(crate) tap: T,
}

impl<'a, 's, T: Tap> World<'a, 's, T> {
    pub(crate) fn new(
        plan: &'a Scenario,
        (streamed, plugins): (Option<&'a mut Streamed<'s>>, Plugins),
        metrics: &Metrics,
        tap: T,
        edge: &mut Edge<PacketId>,
    ) -> Result<World<'a, 's, T>, ScenarioError> {
        groups::check(plan)?;
        let kinds = streamed.as_ref().map(|streamed| &streamed.kinds[..]);
        let kinds = kinds.unwrap_or(&plan.flows);
        let hosts = Hosts::of(plan, kinds, edge)?;
        let wants_telemetry = T::EXTRAS && telemetry::is_wanted(plan, kinds);
        let users = plugins.controls.as_ref();
        let meter = match &streamed {
            None => Meter::new(plan, metrics),
            Some(_) => Meter::of_coming_flows(plan, metrics),
        };
        let mut flows = match &streamed {
            None => Flows::new(plan, users)?,
            Some(streamed) => Flows::coming(plan, &streamed.kinds, users)?,
        };
        let groups = Groups::new(flows.groups(), plan);
        let mut world = World {
            tdf: plan.tdf,
            announces: stack::announces(plan),
            queue: WakeQueue::new(hosts.is_some().then_some(&plan.hosts)),
            pool: PacketPool::with_room(plan.flows.len()),
            flows,
            groups,
            starts: Starts::new(plan),
            streamed,
            unfinished: plan.flows.len(),
            applications: Applications::new(plan, plugins.generators)?,
            end_when_done: plan.end_when_done,
            tdns: Tdns::of_plan(plan),
            hosts,
            meter,
            due_timers: Vec::new(),
            sprays: Sprays::new(plan),
            tap,
        };
        if wants_telemetry {
            world.pool.telemetry = Some(Box::new(Telemetry::new(plan)));
        }
        world.await_ends(plan, edge);
        world.await_applications(plan);
        world.await_start();
        world.end_if_done(Time::ZERO, edge);
        Ok(world)
    }

    /// The warm-up is over.
    pub(crate) fn begin(&mut self, now: Time) {
        self.close_ended(now);
        let (flows, groups) = (&self.flows, &self.groups);
        if self.streamed.is_some() {
            return self.meter.begin(now, |slot| flows.counters_at(slot));
        }
        self.meter.begin(now, |flow| {
            let group = groups.of_first(flow as u32);
            group.map_or_else(|| flows.counters(flow), |group| group.facts(flows).counters)
        });
    }

    /// The experiment may be one that ends when every flow is over, killed ones included, and every job.
    pub(crate) fn end_if_done(&self, now: Time, edge: &mut Edge<PacketId>) {
        let is_done = || self.unfinished == 0 && self.applications.are_done();
        if self.end_when_done && is_done() {
            edge.end(now);
        }
    }

    /// One of the plan's flows has ended, or is killed.
    pub(crate) fn finish_flow(&mut self, now: Time, edge: &mut Edge<PacketId>) {
        self.unfinished -= 1;
        self.end_if_done(now, edge);
    }

    /// Does what is due.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time, wake: Wake, edge: &mut Edge<PacketId>) {
        match wake {
            Wake::Start(flow) => {
                self.start(now, flow, edge);
                self.await_start();
            }
            Wake::Stop(flow) => self.stop(now, flow, edge),
            Wake::Timer(index) if self.queue.next_time() == now => {
                self.timers(now, index, edge);
            }
            Wake::Timer(index) => self.timer(now, index, edge),
            Wake::Departed(index) => {
                if let Some(end) = self.flows.end_if_open(index) {
                    end.waits = false;
                    match end.group {
                        ALONE => self.look_and_transmit(now, index, edge),
                        _ => self.subflow_departed(now, index, edge),
                    }
                }
            }
            Wake::Notified(index, tdn) => self.tell(now, index, tdn),
            Wake::Downgrade(flow) => {
                if let Some(client) = self.flows.end_if_open(2 * flow) {
                    client.connection.downgrade();
                    client.follows = Follows::Nothing;
                }
            }
            Wake::Nic(_) | Wake::Carrier(_) | Wake::Pull(_) | Wake::PullOfFlow(_) => {
                self.wake_carried(now, wake, edge);
            }
            Wake::Job(job) => self.begin_job(now, job, edge),
            Wake::Computed(rank) => {
                self.with_jobs(now, edge, |jobs, hosts| jobs.computed(now, rank, hosts));
            }
        }
    }

    /// A TCP timer of an endpoint is due.
    #[inline]
    pub(crate) fn timer(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let tdf = self.tdf;
        let Some(end) = self.flows.end_if_open(index) else {
            return;
        };
        let host_now = now.0 * tdf;
        if !end.is_armed_at(host_now) {
            return;
        }
        end.disarm();
        if end.connection.next_timer() <= host_now {
            if end.follows.looks() {
                self.tdns.look(host_now, index, end);
            }
            end.connection.on_timer(host_now);
            if end.follows == Follows::AsSubflow {
                self.subflow_timer(now, index, edge);
                self.flows.close_if_over(index >> 1);
                return;
            }
            if index & 1 == 0 {
                let cwnd = end.connection.path().window().cwnd;
                let row = self.flows.row(index >> 1);
                self.meter.follow_cwnd(now, row, cwnd);
            }
            self.transmit(now, index, edge);
            if self.meter.follows_senders() {
                self.follow_sender(now, index);
            }
            self.flows.close_if_over(index >> 1);
        } else if end.lacks_timer() {
            self.arm(index);
        }
    }

    /// A flow connects, unless it has; at its start its client writes.
    fn start(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        if self.is_carried(flow) {
            return self.start_carried(now, flow, edge);
        }
        if self.flows.is_over(flow) {
            return; // killed before it began
        }
        if !self.flows.is_open(flow) {
            self.open(flow, now);
        } else if self.flows.end(2 * flow).connection.is_closed() {
            return; // killed before it began, and its reset is under way
        }
        let planned = self.flows.plan(flow);
        if now < planned.start {
            self.look_and_transmit(now, 2 * flow, edge);
            return;
        }
        let bytes = planned.bytes;
        if let Some(accounts) = edge.accounts() {
            accounts.wanted(now, 2 * flow, bytes.unwrap_or(u64::MAX));
        }
        let client = self.flows.end(2 * flow);
        if client.group != ALONE {
            let group = client.group;
            self.write_stream(now, group, bytes, edge);
            self.transmit(now, 2 * flow, edge);
            return;
        }
        let connection = &mut client.connection;
        match bytes {
            None => connection.write_forever(),
            Some(bytes) => {
                connection.write(bytes);
                connection.shutdown();
            }
        }
        self.look_and_transmit(now, 2 * flow, edge);
    }

    pub(crate) fn open(&mut self, flow: u32, now: Time) {
        self.close_ended(now);
        let first_byte = self.flows.open(flow);
        if let Some(telemetry) = &mut self.pool.telemetry {
            telemetry.forget(self.flows.place(2 * flow) >> 1);
        }
        let client = self.flows.end(2 * flow);
        if client.follows == Follows::InControl {
            self.tdns.tell(client.way.host, 2 * flow);
        }
        if self.streamed.is_some() {
            let row = (self.flows.place(2 * flow) >> 1) as usize;
            self.meter.open(row, self.flows.plan(flow));
        } else if self.groups.is_empty() || !self.join_group(flow) {
            self.meter.set_first_byte(flow as usize, first_byte);
        }
    }

    fn stop(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        if self.is_carried(flow) {
            return self.stop_carried(now, flow, edge);
        }
        if self.is_gone(now, flow, edge) {
            return;
        }
        if self.meter.kill(self.flows.row(flow)) {
            self.finish_flow(now, edge);
        }
        if !self.flows.is_open(flow) && !self.flows.is_over(flow) {
            self.open(flow, now);
        }
        if let Some(end) = self.flows.end_if_open(2 * flow) {
            end.connection.abort();
            if let Some(accounts) = edge.accounts() {
                accounts.killed(now, 2 * flow);
            }
            let group = end.group;
            self.transmit(now, 2 * flow, edge);
            self.flows.close_if_over(flow);
            if group != ALONE {
                self.abort_others(now, group, edge);
            }
        }
    }

    /// Sends what an endpoint has to send, and arms its timer.
    #[inline(never)]
    pub(crate) fn transmit(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        self.transmit_as::<T>(now, index, edge);
    }

    /// The same, where what looks on is `A` instead.
    #[inline(always)] // of `transmit`
    pub(crate) fn transmit_as<A: Tap>(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let place = self.flows.place(index);
        let end = self.flows.at(place, index);
        let at = (now, index);
        let (tdf, pool, queue) = (self.tdf, &mut self.pool, &mut self.queue);
        send::<A>(end, at, tdf, pool, queue, edge);
        if !T::PLAIN && self.announces {
            self.announce(now, index, edge);
        }
    }

    /// A packet that `plane` carried is at its host.
    #[inline(never)]
    fn receive(&mut self, now: Time, handle: PacketId, plane: Plane, edge: &mut Edge<PacketId>) {
        let mut packet = self.pool.get_mut(handle);
        self.tap.left(now, packet);
        let Envelope {
            to: index,
            place,
            route,
            ..
        } = packet.envelope;
        let row = match T::PLAIN {
            true => (index >> 1) as usize,
            false => self.flows.row_at(place, index),
        };
        let (seq, payload) = (packet.segment.seq, u32::from(packet.segment.len));
        let has_groups = !T::PLAIN && !self.groups.is_empty();
        let of_subflow = has_groups && self.meter_subflow(now, handle, plane);
        if payload > 0 && !of_subflow && self.meter.is_carried(route.pair()) {
            self.count_data(now, (index, row), route.pair(), (seq, payload), plane);
        }
        packet = self.pool.get_mut(handle);
        let mut end = self.flows.at(place, index);
        let looks = !T::PLAIN && end.follows.looks();
        if looks {
            self.tdns.look(now.0 * self.tdf, index, end);
        }
        let opens = looks && !end.connection.is_established();
        end.connection.on_segment(now.0 * self.tdf, &packet.segment);
        if opens {
            // The handshake was on TDN 0, its last ACK and the first data are not.
            self.tdns.look(now.0 * self.tdf, index, end);
        }
        let connection = &mut end.connection;
        if let (true, Some(telemetry)) = (T::EXTRAS, &mut self.pool.telemetry) {
            let hops = telemetry.receive(handle, place);
            if !hops.is_empty() {
                connection.on_telemetry(now.0 * self.tdf, hops);
            }
        }
        let received = connection.bytes_received();
        self.pool.free(handle);
        if !T::PLAIN && end.follows == Follows::AsSubflow {
            return self.after_segment(now, index, edge);
        }
        if index & 1 == 0 {
            let cwnd = connection.path().window().cwnd;
            self.meter.follow_cwnd(now, row, cwnd);
        } else if self.meter.received(now, row, received) {
            self.received_all(now, index >> 1, edge);
            end = self.flows.at(place, index);
        }
        let at = (now, index);
        let (tdf, pool, queue) = (self.tdf, &mut self.pool, &mut self.queue);
        send::<T>(end, at, tdf, pool, queue, edge);
        if !T::PLAIN {
            self.after_packet(now, index, (received, payload > 0), edge);
        }
        if self.flows.left_network(place) {
            self.flows.close_if_over(index >> 1);
        }
    }

    /// Data for an endpoint have left the network: they are counted for its flow, whose row this is.
    #[inline(always)] // its only call
    fn count_data(
        &mut self,
        now: Time,
        (index, row): (u32, usize),
        pair: Pair,
        (seq, payload): (u32, u32),
        plane: Plane,
    ) {
        if index & 1 == 0 {
            return self.meter.other_left(pair, payload, plane);
        }
        let end = seq.wrapping_add(payload);
        self.meter.data_left(now, row, payload, end, plane);
        if !T::PLAIN && self.meter.follows_order() {
            let offset = seq.wrapping_sub(self.flows.first_byte(index ^ 1));
            self.meter.data_left_in_order(row, 0, offset, payload);
        }
    }

    /// A host tells one of its endpoints. That sends on the new network when it next has something to do.
    fn tell(&mut self, now: Time, index: u32, tdn: PathId) {
        if let Some(end) = self.flows.end_if_open(index) {
            match end.follows {
                Follows::IsTold => end.connection.on_tdn(now.0 * self.tdf, tdn),
                Follows::InControl => end.connection.tell_control(now.0 * self.tdf, tdn),
                _ => {}
            }
        }
    }

    /// Sets the event for an endpoint's earliest timer, if it has none that comes as early.
    fn arm(&mut self, index: u32) {
        let end = self.flows.end(index);
        if let Some(time) = end.arm(self.tdf) {
            self.queue.push(time, Wake::Timer(index));
        }
    }
}

impl<T: Tap> Environment<PacketId> for World<'_, '_, T> {
    #[inline]
    fn enter(&mut self, now: Time, handle: PacketId) -> Arrival<PacketId> {
        if !T::PLAIN && is_parcel(handle) {
            return self.entering_carried(handle);
        }
        let packet = self.pool.get_mut(handle);
        if T::EXTRAS {
            self.sprays.label(packet);
        }
        self.tap.entered(now, packet);
        packet.entering(handle)
    }

    const STAMPS: bool = T::EXTRAS;

    #[inline]
    fn stamped(&mut self, now: Time, handle: PacketId, from: Transmission) {
        if let (false, Some(telemetry)) = (is_parcel(handle), &mut self.pool.telemetry) {
            telemetry.stamp(now, handle, &from);
        }
    }

    #[inline(always)] // marks are told by the packet itself: they need not be handed on
    fn deliver(&mut self, delivery: Delivery<PacketId>, edge: &mut Edge<PacketId>) {
        let handle = delivery.handle;
        if (!T::PLAIN && is_parcel(handle)) || delivery.trimmed {
            let Delivery {
                time,
                plane,
                trimmed,
                ..
            } = delivery;
            return self.deliver_otherwise(time, handle, (plane, trimmed), edge);
        }
        if delivery.ce {
            self.pool.get_mut(handle).segment.ce = true;
        }
        if delivery.ece {
            self.pool.get_mut(handle).segment.flags |= Flags::ECE;
        }
        self.receive(delivery.time, handle, delivery.plane, edge);
    }

    fn discard(
        &mut self,
        now: Time,
        handle: PacketId,
        reason: DropReason,
        _edge: &mut Edge<PacketId>,
    ) {
        if is_parcel(handle) {
            return self.discard_carried(handle);
        }
        let packet = self.pool.get_mut(handle);
        let (flow, place) = (packet.envelope.to >> 1, packet.envelope.place);
        self.tap.lost(now, packet, reason);
        self.pool.free(handle);
        if self.flows.left_network(place) {
            self.flows.close_if_over(flow);
        }
    }

    fn given_back(
        &mut self,
        now: Time,
        handle: PacketId,
        why: DropReason,
        edge: &mut Edge<PacketId>,
    ) {
        match is_parcel(handle) {
            true => self.take_back_carried(now, handle, edge),
            false => self.discard(now, handle, why, edge),
        }
    }

    fn part(&mut self, handle: PacketId) -> Option<Part> {
        if is_parcel(handle) {
            return None;
        }
        let packet = self.pool.get_mut(handle);
        let (stream, segment) = (packet.envelope.to ^ 1, &packet.segment);
        let (seq, payload) = (segment.seq, segment.len);
        let fin = segment.flags.contains(Flags::FIN);
        (payload > 0 || fin).then(|| Part {
            stream,
            offset: seq.wrapping_sub(self.flows.first_byte(stream)),
            payload,
            fin,
        })
    }

    fn notified(&mut self, now: Time, host: u32, rack: u16, tdn: Plane, edge: &mut Edge<PacketId>) {
        self.tap.notified(now, edge.hosts().host(host), rack, tdn.0);
        self.tdns.set(host, rack, tdn);
        let (flows, each) = (&mut self.flows, self.tdns.each);
        let Some(listeners) = self.tdns.listeners(host) else {
            return;
        };
        listeners.retain(|&index| flows.is_open(index >> 1));
        let mut time = now;
        for &index in &*listeners {
            if flows.end(index).way.envelope.route.dst.rack() == rack {
                self.queue.push(time, Wake::Notified(index, tdn.0));
                time += each;
            }
        }
        if !self.groups.is_empty() {
            self.release_acks(now, host, edge);
        }
    }

    fn slice(&mut self, now: Time, _slice: u64, edge: &mut Edge<PacketId>) {
        if self.hosts.is_some() {
            self.begin_slice(now, edge);
        }
    }

    fn nic_free(&mut self, _host: u32, _handle: PacketId) {}
}
