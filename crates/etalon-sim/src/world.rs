//! Hosts and flows: everything outside the network.

use etalon_fabric::Host;
use etalon_switch::{Departure, DropReason, Pair, Sink};
use etalon_tcp::{Connection, Flags};
use etalon_units::{Rate, Serializer, Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::endpoint::{Baseline, Endpoint, Flow};
use crate::packet::{ETHERNET_AND_IP, Packet, PacketId, Pool};
use crate::plan::{Plan, PlanError};
use crate::queue::{EventQueue, Source};
use crate::sequence::{Curve, Runs};

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
    pub(crate) flows: Vec<Flow>,
    pub(crate) tap: T,
    measured: Pair,
    pub(crate) sequence: Curve,
    /// A copy of the probe's, for the sink has no access to the probe.
    pub(crate) runs: Runs,
    pub(crate) delivered: u64,
    pub(crate) measured_flows: usize,
}

impl<T: Tap> World<T> {
    pub(crate) fn new(plan: &Plan, runs: Runs, tap: T) -> Result<World<T>, PlanError> {
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
            flows: Vec::new(),
            tap,
            measured: plan.measured_pair(),
            sequence: Curve::new(&runs),
            runs,
            delivered: 0,
            measured_flows: 0,
        };
        // Packets that are still on their way at the end may arrive later, but not as late as that.
        if plan.end() > Time(world.queue.latest().0 / 2) {
            return Err(PlanError(
                "The experiment is too long for so many hosts.".to_owned(),
            ));
        }
        for (index, flow) in plan.flows.iter().enumerate() {
            let pair = Pair {
                src: flow.src_rack,
                dst: flow.dst_rack,
            };
            let back = Pair {
                src: pair.dst,
                dst: pair.src,
            };
            world.measured_flows += usize::from(pair == world.measured);
            let place =
                |rack: u16, host: u16| u32::from(rack) * u32::from(plan.hosts()) + u32::from(host);
            let congestion_control = || {
                flow.congestion_control()
                    .map_err(|e| PlanError(e.to_string()))
            };
            let initial_seq = rng.next_u32();
            let client = Connection::client(plan.tcp_config(initial_seq), congestion_control()?);
            let server = Connection::server(plan.tcp_config(rng.next_u32()), congestion_control()?);
            for (connection, host, pair) in [
                (client, place(flow.src_rack, flow.src_host), pair),
                (server, place(flow.dst_rack, flow.dst_host), back),
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
            world.flows.push(Flow {
                bytes: flow.bytes.unwrap_or(u64::MAX),
                first_byte: initial_seq.wrapping_add(1),
                ..Flow::default()
            });
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
        self.delivered = 0;
        for (index, flow) in self.flows.iter_mut().enumerate() {
            flow.baseline = counters(&self.endpoints, index);
            flow.payload = [0; 2];
            flow.cwnd_time = 0;
            flow.cwnd_since = now;
        }
    }

    /// The counters of flow `index` since measurement began.
    pub(crate) fn measured_counters(&self, index: usize) -> Baseline {
        let (now, then) = (counters(&self.endpoints, index), self.flows[index].baseline);
        Baseline {
            received: now.received - then.received,
            retransmits: now.retransmits - then.retransmits,
            rtos: now.rtos - then.rtos,
            tlps: now.tlps - then.tlps,
            recoveries: now.recoveries - then.recoveries,
            undos: now.undos - then.undos,
        }
    }

    /// The experiment ends at `now`: brings what is followed over time up to date.
    pub(crate) fn finish(&mut self, now: Time) {
        for (index, flow) in self.flows.iter_mut().enumerate() {
            flow.cwnd_time += u128::from(flow.cwnd) * u128::from((now - flow.cwnd_since).0);
            flow.cwnd_since = now;
            if self.endpoints[2 * index].pair == self.measured {
                let value = flow.highest as i64;
                let curve = &mut self.sequence;
                flow.sequence
                    .update(now, value, &self.runs, curve, false, true);
            }
        }
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
        match self.flows[flow as usize].bytes {
            u64::MAX => connection.write_forever(),
            bytes => {
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
        let flow = &mut self.flows[(index >> 1) as usize];
        let payload = packet.segment.len;
        if payload > 0 {
            flow.payload[departure.network as usize] += u64::from(payload);
            self.delivered += 1;
            if departure.pair == self.measured && index & 1 == 1 {
                let end = packet.segment.seq.wrapping_add(payload.into());
                let (value, curve) = (flow.reach(end) as i64, &mut self.sequence);
                flow.sequence
                    .update(now, value, &self.runs, curve, false, true);
            }
        }
        let connection = &mut self.endpoints[index as usize].connection;
        connection.on_segment(now.0 * self.tdf, &packet.segment, packet.ce);
        if index & 1 == 0 {
            flow.follow_cwnd(now, connection.path().window().cwnd);
        } else if flow.end.is_none() && connection.bytes_received() >= flow.bytes {
            flow.end = Some(now);
        }
        self.pool.free(departure.handle);
        self.transmit(now, index);
    }

    fn discard(&mut self, now: Time, handle: PacketId, _pair: Pair, reason: DropReason) {
        self.tap.lost(now, self.pool.get_mut(handle), reason);
        self.pool.free(handle);
    }
}

fn counters(endpoints: &[Endpoint], flow: usize) -> Baseline {
    let stats = endpoints[2 * flow].connection.stats();
    Baseline {
        received: endpoints[2 * flow + 1].connection.bytes_received(),
        retransmits: stats.retransmits,
        rtos: stats.rtos,
        tlps: stats.tlps,
        recoveries: stats.recoveries,
        undos: stats.undos,
    }
}
