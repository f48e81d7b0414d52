//! Hosts and flows: everything outside the network.

use etalon_fabric::Host;
use etalon_measure::plan::FlowPlan;
use etalon_measure::results::Write;
use etalon_measure::{FlowFacts, Meter, Plan, PlanError};
use etalon_switch::{Departure, DropReason, Pair, Plane, Sink};
use etalon_tcp::Flags;
use etalon_units::{Rate, Serializer, Span, Time};

use crate::announce::Announce;
use crate::flows::{Flows, Starts};
use crate::jobs::Jobs;
use crate::packet::{ETHERNET_AND_IP, Packet, PacketId, Pool};
use crate::queue::{EventQueue, Source};

/// Sees packets at the network's edges. Does nothing unless overridden.
pub(crate) trait Tap {
    /// A packet enters the network.
    #[inline]
    fn entered(&mut self, now: Time, packet: &mut Packet) {
        let _ = (now, packet);
    }

    /// A packet leaves the network towards its host.
    #[inline]
    fn left(&mut self, now: Time, packet: &Packet) {
        let _ = (now, packet);
    }

    /// An application opens a flow beyond those of the plan.
    #[inline]
    fn opened(&mut self, flow: &FlowPlan) {
        let _ = flow;
    }

    /// The network drops a packet.
    #[inline]
    fn lost(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        let _ = (now, packet, reason);
    }
}

impl Tap for () {}

/// Hosts, flows and packets.
pub(crate) struct World<T, A> {
    tdf: u64,
    pub(crate) queue: EventQueue,
    pub(crate) hosts: Vec<Host<PacketId>>,
    pub(crate) pool: Pool,
    pub(crate) flows: Flows,
    starts: Starts,
    /// Flows that have not ended and were not killed.
    unfinished: usize,
    /// Applications; apart while they are at work.
    jobs: Option<Box<Jobs>>,
    pub(crate) meter: Meter,
    pub(crate) tap: T,
    pub(crate) announce: A,
}

impl<T: Tap, A: Announce> World<T, A> {
    pub(crate) fn new(
        plan: &Plan,
        meter: Meter,
        tap: T,
        announce: A,
    ) -> Result<World<T, A>, PlanError> {
        let host = plan.host();
        let hosts = u64::from(plan.racks()) * u64::from(plan.hosts());
        let new_host = |index| {
            let nic = Serializer::new(Rate(host.rate_bps));
            Host::new(
                nic,
                Span(host.delay_ns),
                Span(host.jitter_ns),
                plan.seed,
                index,
            )
        };
        let mut world = World {
            tdf: plan.tdf,
            queue: EventQueue::new(hosts as usize),
            hosts: (0..hosts).map(new_host).collect(),
            pool: Pool::default(),
            flows: Flows::new(plan)?,
            starts: Starts::new(plan),
            unfinished: plan.flows.len(),
            jobs: Some(Box::new(Jobs::new(plan)?)),
            meter,
            tap,
            announce,
        };
        // Packets that are still on their way at the end may arrive later, but not as late as that.
        if plan.end() > Time(world.queue.latest().0 / 2) {
            return Err(PlanError(
                "The experiment is too long for so many hosts.".to_owned(),
            ));
        }
        for (index, flow) in plan.flows.iter().enumerate() {
            world.announce.opened(index as u32, flow.pair());
            if let Some(stop) = flow.stop_ns {
                world.queue.push(Time(stop), Source::Stop(index as u32));
            }
        }
        for (index, job) in plan.dfsio.iter().enumerate() {
            world
                .queue
                .push(Time(job.start_ns), Source::Job(index as u32));
        }
        world.await_start();
        Ok(world)
    }

    /// Sets the event for the next flow to connect or to start. One is enough: the queue stays small.
    fn await_start(&mut self) {
        if let Some((time, flow)) = self.starts.take() {
            self.queue.push(time, Source::Start(flow));
        }
    }

    /// The warm-up is over.
    pub(crate) fn begin(&mut self, now: Time) {
        let flows = &self.flows;
        self.meter.begin(now, |flow| flows.counters(flow));
    }

    /// What is known of each flow.
    pub(crate) fn facts(&self) -> Vec<FlowFacts> {
        (0..self.flows.len())
            .map(|flow| self.flows.facts(flow))
            .collect()
    }

    /// The files that jobs write.
    pub(crate) fn writes(&self) -> Vec<Write> {
        self.jobs
            .as_ref()
            .map_or_else(Vec::new, |jobs| jobs.writes())
    }

    /// Whether every flow is over, killed ones included, and every job.
    pub(crate) fn is_done(&self) -> bool {
        self.unfinished == 0 && self.jobs.as_ref().is_some_and(|jobs| jobs.is_done())
    }

    /// Handles an event of `source`, which the caller has taken off the queue.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time, source: Source) {
        match source {
            Source::Host(_) => {}
            Source::Start(flow) => {
                self.await_start();
                self.start(now, flow);
            }
            Source::Stop(flow) => self.stop(now, flow),
            Source::Timer(index) => {
                let tdf = self.tdf;
                let Some(end) = self.flows.end_if_open(index) else {
                    return;
                };
                if end.armed != now {
                    return;
                }
                end.armed = Time::MAX;
                let host_now = now.0 * tdf;
                if end.connection.next_timer() <= host_now {
                    end.connection.on_timer(host_now);
                    self.transmit(now, index);
                    self.flows.settle(index >> 1);
                } else if end.lacks_timer(tdf) {
                    self.arm(index);
                }
            }
            Source::Departed(index) => {
                if let Some(end) = self.flows.end_if_open(index) {
                    end.waits = false;
                    self.transmit(now, index);
                }
            }
            Source::Job(job) => self.with_jobs(|jobs, world| jobs.start(now, job, world)),
        }
    }

    /// A flow connects, unless it has; at its start its client writes.
    fn start(&mut self, now: Time, flow: u32) {
        if self.flows.is_over(flow) {
            return; // killed before it began
        }
        if !self.flows.is_open(flow) {
            self.open(flow);
        } else if self.flows.end(2 * flow).connection.is_closed() {
            return; // killed before it began, and its reset is under way
        }
        if now < Time(self.flows.plan(flow).start_ns) {
            self.transmit(now, 2 * flow);
            return;
        }
        match self.flows.plan(flow).bytes {
            None => {
                self.announce.written(now, 2 * flow, u64::MAX);
                self.flows.end(2 * flow).connection.write_forever();
                self.transmit(now, 2 * flow);
            }
            Some(bytes) => {
                self.announce.written(now, 2 * flow, bytes);
                self.announce.closed(now, 2 * flow, false);
                let connection = &mut self.flows.end(2 * flow).connection;
                connection.write(bytes);
                connection.shutdown();
                self.transmit(now, 2 * flow);
            }
        }
    }

    fn open(&mut self, flow: u32) {
        let first_byte = self.flows.open(flow);
        self.meter.set_first_byte(flow as usize, first_byte);
    }

    fn stop(&mut self, now: Time, flow: u32) {
        if self.meter.kill(flow as usize) {
            self.unfinished -= 1;
        }
        if !self.flows.is_open(flow) && !self.flows.is_over(flow) {
            self.open(flow);
        }
        if let Some(end) = self.flows.end_if_open(2 * flow) {
            end.connection.abort();
            self.announce.closed(now, 2 * flow, true);
            self.transmit(now, 2 * flow);
            self.flows.settle(flow);
        }
    }

    /// Lets applications work, which call back.
    fn with_jobs(&mut self, work: impl FnOnce(&mut Jobs, &mut World<T, A>)) {
        if let Some(mut jobs) = self.jobs.take() {
            work(&mut jobs, self);
            self.jobs = Some(jobs);
        }
    }

    /// Sends what an endpoint has to send, and arms its timer.
    #[inline]
    fn transmit(&mut self, now: Time, index: u32) {
        let host_now = now.0 * self.tdf;
        let end = self.flows.end(index);
        let mut sent = 0;
        while let Some(&(time, payload)) = end.below.front() {
            if time > now {
                break;
            }
            end.below.pop_front();
            end.connection.departed(payload);
        }
        loop {
            let packet = self.pool.vacant();
            let sends = end
                .connection
                .poll_transmit_into(host_now, &mut packet.segment);
            if !sends {
                break;
            }
            let payload = u32::from(packet.segment.len);
            let bytes = ETHERNET_AND_IP + packet.segment.header_len() + payload;
            packet.to = index ^ 1;
            packet.pair = end.pair;
            packet.bytes = bytes;
            packet.ce = false;
            let Some(id) = self.pool.take() else {
                break;
            };
            sent += 1;
            let (done, arrival) = self.hosts[end.host as usize].send(now, bytes, id);
            if payload > 0 {
                end.below.push_back((done, payload));
            }
            if let Some(time) = arrival {
                self.queue.push_host(time, end.host);
            }
        }
        if !end.waits && end.connection.is_throttled() {
            if let Some(&(time, _)) = end.below.front() {
                end.waits = true;
                self.queue.push(time.max(now), Source::Departed(index));
            }
        }
        if end.lacks_timer(self.tdf) {
            self.arm(index);
        }
        self.flows.sent(index >> 1, sent);
    }

    /// Sets the event for an endpoint's earliest timer, if it has none that comes as early.
    fn arm(&mut self, index: u32) {
        let tdf = self.tdf;
        let end = self.flows.end(index);
        let time = Time(end.connection.next_timer().div_ceil(tdf));
        if time < end.armed {
            end.armed = time;
            self.queue.push(time, Source::Timer(index));
        }
    }
}

impl<T: Tap, A: Announce> World<T, A> {
    /// A packet between hosts of one rack comes to the rack's switch, which passes it on at once: racks have no queue of
    /// their own in this model, and their hosts' links are as fast down as up.
    pub(crate) fn deliver_within_rack(&mut self, now: Time, id: PacketId) {
        self.receive(now, id, None);
    }

    /// A packet reaches its host, carried by `plane` unless it stayed in its rack.
    #[inline(always)] // called for every packet from one place
    fn receive(&mut self, now: Time, id: PacketId, plane: Option<Plane>) {
        let packet = self.pool.get_mut(id);
        let index = packet.to;
        let flow = (index >> 1) as usize;
        let to_client = index & 1 == 0;
        let payload = u32::from(packet.segment.len);
        if let (Some(plane), true) = (plane, payload > 0) {
            if to_client {
                self.meter.other_left(packet.pair, payload, plane);
            } else {
                let end = packet.segment.seq.wrapping_add(payload);
                self.meter.data_left(now, flow, payload, end, plane);
            }
        }
        let connection = &mut self.flows.end(index).connection;
        connection.on_segment(now.0 * self.tdf, &packet.segment, packet.ce);
        let received = connection.bytes_received();
        if to_client {
            let cwnd = connection.path().window().cwnd;
            self.meter.follow_cwnd(now, flow, cwnd);
        } else if self.meter.received(now, flow, received) && flow < self.flows.planned() as usize {
            self.unfinished -= 1;
        }
        self.pool.free(id);
        let was_last = self.flows.landed(flow as u32);
        self.transmit(now, index);
        if payload > 0 && flow >= self.flows.planned() as usize {
            self.with_jobs(|jobs, world| jobs.received(now, index, received, world));
        }
        if was_last {
            self.flows.settle(flow as u32);
        }
    }
}

impl<T: Tap, A: Announce> Sink<PacketId> for World<T, A> {
    #[inline]
    fn deliver(&mut self, departure: Departure<PacketId>) {
        let packet = self.pool.get_mut(departure.handle);
        packet.ce |= departure.ce;
        if departure.ece {
            packet.segment.flags |= Flags::ECE;
        }
        self.tap.left(departure.time, packet);
        if A::COUNTS && packet.segment.len > 0 {
            let (stream, seq, len) = (packet.to ^ 1, packet.segment.seq, packet.segment.len);
            let offset = seq.wrapping_sub(self.flows.first_byte(stream));
            self.announce
                .delivered(departure.time, stream, offset, len.into());
        }
        self.receive(departure.time, departure.handle, Some(departure.plane));
    }

    fn discard(&mut self, now: Time, handle: PacketId, _pair: Pair, reason: DropReason) {
        let packet = self.pool.get_mut(handle);
        let flow = packet.to >> 1;
        self.tap.lost(now, packet, reason);
        self.pool.free(handle);
        if self.flows.landed(flow) {
            self.flows.settle(flow);
        }
    }

    #[inline]
    fn dequeued(&mut self, now: Time, handle: PacketId) {
        if A::COUNTS {
            let packet = self.pool.get_mut(handle);
            let payload = u32::from(packet.segment.len);
            if payload > 0 {
                let (stream, seq) = (packet.to ^ 1, packet.segment.seq);
                let first = self.flows.first_byte(stream);
                let offset = seq.wrapping_sub(first);
                self.announce.carried(now, stream, offset, payload);
            }
        }
    }
}

/// The hosts' stacks as applications see them.
pub(crate) trait Sockets {
    /// Opens a flow of `job` and returns its number.
    fn connect(&mut self, now: Time, job: u32, flow: FlowPlan) -> u32;

    /// Writes into a stream: number 2n from flow n's client to its server, 2n + 1 back.
    fn write(&mut self, now: Time, stream: u32, bytes: u64);

    /// The client of a flow writes no more.
    fn shutdown(&mut self, now: Time, flow: u32);
}

impl<T: Tap, A: Announce> Sockets for World<T, A> {
    fn connect(&mut self, now: Time, job: u32, flow: FlowPlan) -> u32 {
        let pair = flow.pair();
        self.meter.add_flow(&flow);
        self.tap.opened(&flow);
        let flow = self.flows.push(flow, job);
        self.announce.opened(flow, pair);
        self.open(flow);
        self.transmit(now, 2 * flow);
        flow
    }

    fn write(&mut self, now: Time, stream: u32, bytes: u64) {
        self.announce.written(now, stream, bytes);
        self.flows.end(stream).connection.write(bytes);
        self.transmit(now, stream);
    }

    fn shutdown(&mut self, now: Time, flow: u32) {
        self.announce.closed(now, 2 * flow, false);
        self.flows.end(2 * flow).connection.shutdown();
        self.transmit(now, 2 * flow);
    }
}
