//! Hosts and flows: everything outside the network.

use etalon_fabric::Host;
use etalon_measure::{Counters, FlowFacts, Meter, Plan, PlanError};
use etalon_switch::{Departure, DropReason, Pair, Sink};
use etalon_tcp::{Connection, Flags};
use etalon_units::{Rate, Serializer, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::endpoint::Endpoint;
use crate::packet::{ETHERNET_AND_IP, Packet, PacketId, Pool};
use crate::queue::{EventQueue, Source};
use crate::stack;

/// Random streams beyond those of the hosts (which are numbered from 0).
const STREAM_INITIAL_SEQ: u64 = 1 << 32;

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

    /// The network drops a packet.
    #[inline]
    fn lost(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        let _ = (now, packet, reason);
    }
}

impl Tap for () {}

/// Hosts, flows and packets.
pub(crate) struct World<T> {
    tdf: u64,
    pub(crate) queue: EventQueue,
    pub(crate) hosts: Vec<Host<PacketId>>,
    pub(crate) pool: Pool,
    pub(crate) endpoints: Vec<Endpoint>,
    /// What each flow has to send; none for bulk.
    bytes: Vec<Option<u64>>,
    pub(crate) meter: Meter,
    pub(crate) tap: T,
}

impl<T: Tap> World<T> {
    pub(crate) fn new(plan: &Plan, meter: Meter, tap: T) -> Result<World<T>, PlanError> {
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
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_INITIAL_SEQ);
        let mut world = World {
            tdf: plan.tdf,
            queue: EventQueue::new(hosts as usize),
            hosts: (0..hosts).map(new_host).collect(),
            pool: Pool::default(),
            endpoints: Vec::new(),
            bytes: plan.flows.iter().map(|flow| flow.bytes).collect(),
            meter,
            tap,
        };
        // Packets that are still on their way at the end may arrive later, but not as late as that.
        if plan.end() > Time(world.queue.latest().0 / 2) {
            return Err(PlanError(
                "The experiment is too long for so many hosts.".to_owned(),
            ));
        }
        for (index, flow) in plan.flows.iter().enumerate() {
            let pair = flow.pair();
            let back = Pair {
                src: pair.dst,
                dst: pair.src,
            };
            let congestion_control = stack::congestion_control(index, flow)?;
            let initial_seq = rng.next_u32();
            let client =
                Connection::client(stack::config(plan, initial_seq), congestion_control.clone());
            let server =
                Connection::server(stack::config(plan, rng.next_u32()), congestion_control);
            for (connection, host, pair) in [
                (client, plan.host_index(flow.src_rack, flow.src_host), pair),
                (server, plan.host_index(flow.dst_rack, flow.dst_host), back),
            ] {
                world.endpoints.push(Endpoint {
                    connection,
                    host,
                    pair,
                    armed: Time::MAX,
                    below: Default::default(),
                    waits: false,
                });
            }
            world
                .meter
                .set_first_byte(index, initial_seq.wrapping_add(1));
            world
                .queue
                .push(Time(flow.start_ns), Source::Start(index as u32));
            if let Some(stop) = flow.stop_ns {
                world.queue.push(Time(stop), Source::Stop(index as u32));
            }
        }
        Ok(world)
    }

    /// The warm-up is over.
    pub(crate) fn begin(&mut self, now: Time) {
        self.meter
            .begin(now, |flow| counters(&self.endpoints, flow));
    }

    /// What is known of each flow.
    pub(crate) fn facts(&self) -> Vec<FlowFacts> {
        (0..self.bytes.len())
            .map(|flow| {
                let path = self.endpoints[2 * flow].connection.path();
                let window = path.window();
                FlowFacts {
                    counters: counters(&self.endpoints, flow),
                    cwnd: window.cwnd,
                    ssthresh: (window.ssthresh != u32::MAX).then_some(window.ssthresh),
                    srtt_ns: path.srtt() / self.tdf,
                }
            })
            .collect()
    }

    /// Handles an event of `source`, which the caller has taken off the queue.
    #[inline]
    pub(crate) fn wake(&mut self, now: Time, source: Source) {
        match source {
            Source::Host(_) => {}
            Source::Start(flow) => self.start(now, flow),
            Source::Stop(flow) => {
                self.endpoints[2 * flow as usize].connection.abort();
                self.transmit(now, 2 * flow);
            }
            Source::Timer(index) => {
                let end = &mut self.endpoints[index as usize];
                if end.armed != now {
                    return;
                }
                end.armed = Time::MAX;
                let host_now = now.0 * self.tdf;
                if end.connection.next_timer() <= host_now {
                    end.connection.on_timer(host_now);
                    self.transmit(now, index);
                } else if end.lacks_timer(self.tdf) {
                    self.arm(index);
                }
            }
            Source::Departed(index) => {
                self.endpoints[index as usize].waits = false;
                self.transmit(now, index);
            }
        }
    }

    fn start(&mut self, now: Time, flow: u32) {
        let connection = &mut self.endpoints[2 * flow as usize].connection;
        match self.bytes[flow as usize] {
            None => connection.write_forever(),
            Some(bytes) => {
                connection.write(bytes);
                connection.shutdown();
            }
        }
        self.transmit(now, 2 * flow);
    }

    /// Sends what an endpoint has to send, and arms its timer.
    #[inline]
    fn transmit(&mut self, now: Time, index: u32) {
        let host_now = now.0 * self.tdf;
        let end = &mut self.endpoints[index as usize];
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
    }

    /// Sets the event for an endpoint's earliest timer, if it has none that comes as early.
    fn arm(&mut self, index: u32) {
        let end = &mut self.endpoints[index as usize];
        let time = Time(end.connection.next_timer().div_ceil(self.tdf));
        if time < end.armed {
            end.armed = time;
            self.queue.push(time, Source::Timer(index));
        }
    }
}

impl<T: Tap> Sink<PacketId> for World<T> {
    #[inline]
    fn deliver(&mut self, departure: Departure<PacketId>) {
        let now = departure.time;
        let packet = self.pool.get_mut(departure.handle);
        packet.ce |= departure.ce;
        if departure.ece {
            packet.segment.flags |= Flags::ECE;
        }
        self.tap.left(now, packet);
        let index = packet.to;
        let flow = (index >> 1) as usize;
        let payload = u32::from(packet.segment.len);
        if payload > 0 {
            // Only clients send data.
            let end = packet.segment.seq.wrapping_add(payload);
            self.meter
                .data_left(now, flow, payload, end, departure.network);
        }
        let connection = &mut self.endpoints[index as usize].connection;
        connection.on_segment(now.0 * self.tdf, &packet.segment, packet.ce);
        if index & 1 == 0 {
            let cwnd = connection.path().window().cwnd;
            self.meter.follow_cwnd(now, flow, cwnd);
        } else {
            self.meter.received(now, flow, connection.bytes_received());
        }
        self.pool.free(departure.handle);
        self.transmit(now, index);
    }

    fn discard(&mut self, now: Time, handle: PacketId, _pair: Pair, reason: DropReason) {
        self.tap.lost(now, self.pool.get_mut(handle), reason);
        self.pool.free(handle);
    }
}

fn counters(endpoints: &[Endpoint], flow: usize) -> Counters {
    let stats = endpoints[2 * flow].connection.stats();
    Counters {
        received: endpoints[2 * flow + 1].connection.bytes_received(),
        retransmits: stats.retransmits,
        rtos: stats.rtos,
        tlps: stats.tlps,
        recoveries: stats.recoveries,
        undos: stats.undos,
    }
}
