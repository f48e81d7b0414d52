// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel's log says of flows: the plan's, which the kernel makes, and those of programs, which packets tell of.

use std::sync::Arc;

use etalon_events::{Counter, Event, PacketHeader, Plane};
use etalon_measure::{Counters, FlowFacts, Meter, Metrics, Sender};
use etalon_scenario::{Flow, MOST_SUBFLOWS, SERVER_PORT, Scenario, client_port};
use etalon_units::Time;

use crate::stream::Stream;

/// A slow start threshold that was never lowered: Linux's largest.
const NO_SSTHRESH: u64 = 0x7fff_ffff;
/// The class of programs' flows by TCP.
const PROGRAM: &str = "program";
/// The class of programs' flows by UDP.
const PROGRAM_UDP: &str = "program-udp";

/// How far a TCP connection has come: a flow's, or one of its subflows.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The sequence number of its first byte; none before its SYN.
    first: Option<u32>,
    /// Bytes up to the highest that left the network.
    highest: u64,
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    ports: (u16, u16),
    counters: Counters,
    cwnd: u32,
    ssthresh: Option<u32>,
    srtt_us: u64,
    /// What of this is known, by [`Counter`], since measurement began.
    known: u16,
    /// Of its subflows: the flow is as far as they are together.
    subflows: [Progress; MOST_SUBFLOWS as usize],
}

impl Count {
    /// A segment of a subflow up to sequence number `end` left the network. Returns the bytes that have, of all subflows.
    #[inline]
    fn reach(&mut self, subflow: u8, end: u32) -> u32 {
        let progress = &mut self.subflows[usize::from(subflow)];
        let end = end.wrapping_sub(progress.first.unwrap_or(0));
        let ahead = end.wrapping_sub(progress.highest as u32) as i32;
        progress.highest += u64::from(ahead.max(0) as u32);
        self.subflows.iter().map(|p| p.highest).sum::<u64>() as u32
    }
}

/// What travels of a program's flow.
#[derive(Debug)]
enum Travels {
    Stream(Stream),
    /// Bytes of datagrams that reached the receiving host. What is lost, nobody sends again.
    Datagrams(u64),
}

impl Travels {
    /// A packet with data entered the network. Returns how many were sent again so far.
    fn entered(&mut self, packet: PacketHeader) -> u64 {
        match self {
            Travels::Stream(stream) => stream.entered(packet.seq, packet.payload),
            Travels::Datagrams(_) => 0,
        }
    }

    /// A packet with data left the network. Returns how many bytes the receiver has, those of a stream in order.
    fn left(&mut self, now: Time, packet: PacketHeader) -> u64 {
        match self {
            Travels::Stream(stream) => stream.left(now, packet.seq, packet.payload),
            Travels::Datagrams(received) => {
                *received += u64::from(packet.payload);
                *received
            }
        }
    }
}

/// The flows of a run.
pub(crate) struct Flows<'a> {
    plan: &'a Scenario,
    pub(crate) meter: Meter,
    counts: Vec<Count>,
    /// The flows of programs, of jobs and of generators.
    opened: Vec<Flow>,
    /// What travels of programs'; of others the kernel tells.
    travels: Vec<Option<Travels>>,
}

impl<'a> Flows<'a> {
    /// Those of `plan`, and no others yet.
    pub(crate) fn new(plan: &'a Scenario, metrics: &Metrics) -> Flows<'a> {
        let count = |flow| Count {
            ports: (client_port(flow), SERVER_PORT),
            ..Count::default()
        };
        Flows {
            plan,
            meter: Meter::new(plan, metrics),
            counts: (0..plan.flows.len()).map(count).collect(),
            opened: Vec::new(),
            travels: Vec::new(),
        }
    }

    #[inline]
    fn number(&self, flow: u32) -> Result<usize, String> {
        let flow = flow as usize;
        if flow < self.counts.len() {
            Ok(flow)
        } else {
            Err(format!("there is no flow {flow}"))
        }
    }

    /// The place of a program's flow among these; none of the plan's.
    #[inline]
    fn opened(&self, flow: usize) -> Option<usize> {
        flow.checked_sub(self.plan.flows.len())
    }

    /// What travels of a program's flow; none of others.
    #[inline]
    fn travels(&mut self, flow: usize) -> Option<&mut Travels> {
        let at = self.opened(flow)?;
        self.travels[at].as_mut()
    }

    /// A job or a generator opens a flow.
    pub(crate) fn open_from_outside(&mut self, flow: Flow) {
        self.meter.add_flow(&flow);
        let count = Count {
            ports: (client_port(self.counts.len()), SERVER_PORT),
            ..Count::default()
        };
        self.counts.push(count);
        self.opened.push(flow);
        self.travels.push(None);
    }

    /// An end of such a flow has read so many bytes in all.
    pub(crate) fn read(&mut self, now: Time, end: u32, bytes: u64) {
        let flow = (end / 2) as usize;
        if end & 1 == 1 && flow < self.counts.len() {
            self.meter.received(now, flow, bytes);
        }
    }

    /// The flow to whose server a packet is on its way.
    #[inline]
    fn to_server(&self, packet: PacketHeader) -> Result<Option<usize>, String> {
        let (Some(flow), true) = (packet.flow, packet.to_server) else {
            return Ok(None);
        };
        match packet.subflow {
            subflow if subflow >= MOST_SUBFLOWS => Err(format!("there is no subflow {subflow}")),
            _ => self.number(flow).map(Some),
        }
    }

    #[inline]
    pub(crate) fn entered(&mut self, packet: PacketHeader) -> Result<(), String> {
        let Some(flow) = self.to_server(packet)? else {
            return Ok(());
        };
        let subflow = &mut self.counts[flow].subflows[usize::from(packet.subflow)];
        if subflow.first.is_none() {
            // The client's SYN, which takes one sequence number.
            subflow.first = Some(packet.seq.wrapping_add(1));
        }
        if packet.payload > 0 {
            if let Some(travels) = self.travels(flow) {
                let again = travels.entered(packet);
                self.counts[flow].counters.retransmits = again;
            }
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn left(
        &mut self,
        now: Time,
        packet: PacketHeader,
        plane: Plane,
    ) -> Result<(), String> {
        let payload = u32::from(packet.payload);
        if payload == 0 {
            return Ok(());
        }
        let is_carried = self.meter.is_carried(packet.pair());
        match self.to_server(packet)? {
            Some(flow) => {
                if let Some(travels) = self.travels(flow) {
                    let received = travels.left(now, packet);
                    self.counts[flow].counters.received = received;
                    self.meter.received(now, flow, received);
                }
                if is_carried {
                    self.carried(now, flow, packet, plane);
                }
            }
            None if is_carried => self.meter.other_left(packet.pair(), payload, plane),
            None => {}
        }
        Ok(())
    }

    /// A plane has carried data of a flow.
    #[inline]
    fn carried(&mut self, now: Time, flow: usize, packet: PacketHeader, plane: Plane) {
        let payload = u32::from(packet.payload);
        let count = &mut self.counts[flow];
        let reached = count.reach(packet.subflow, packet.seq.wrapping_add(payload));
        self.meter.data_left(now, flow, payload, reached, plane);
        if self.meter.follows_order() {
            let subflow = usize::from(packet.subflow);
            let first = count.subflows[subflow].first.unwrap_or(0);
            let offset = packet.seq.wrapping_sub(first);
            self.meter
                .data_left_in_order(flow, subflow, offset, payload);
        }
    }

    /// What hosts say of a flow. `starts` says that counters are those of the instant at which measurement begins.
    pub(crate) fn hear(&mut self, now: Time, event: Event, starts: bool) -> Result<(), String> {
        match event {
            Event::Cwnd {
                flow,
                cwnd,
                ssthresh,
                srtt_us,
            } => {
                let flow = self.number(flow)?;
                self.meter.follow_cwnd(now, flow, cwnd);
                let count = &mut self.counts[flow];
                count.cwnd = cwnd;
                count.ssthresh = threshold(ssthresh.into());
                count.srtt_us = srtt_us.into();
            }
            Event::Sender { .. } => self.follow(now, event)?,
            Event::Done { flow, bytes } => {
                let flow = self.number(flow)?;
                self.meter.received(now, flow, bytes);
            }
            Event::Counter { which, flow, value } => self.count(which, flow, value, starts)?,
            Event::Opened { .. } => self.open(now, event)?,
            Event::Closed { flow, seq, reset } => self.close(now, flow, seq, reset)?,
            _ => {}
        }
        Ok(())
    }

    /// A sender's state has changed.
    fn follow(&mut self, now: Time, event: Event) -> Result<(), String> {
        let Event::Sender {
            flow,
            cwnd,
            ssthresh,
            srtt_us,
            pipe,
            state,
            path,
        } = event
        else {
            return Ok(());
        };
        let sender = Sender {
            path,
            state,
            cwnd,
            ssthresh: threshold(ssthresh.into()),
            srtt_ns: u64::from(srtt_us) * 1000 / self.plan.tdf,
            pipe: pipe.into(),
        };
        let flow = self.number(flow)?;
        self.meter.follow_sender(now, flow, sender);
        // Packets tell of a window only when it lets the next one go. MPTCP's subflows have one each.
        if self
            .plan
            .flows
            .get(flow)
            .is_some_and(|flow| flow.transport.subflows() == 1)
        {
            self.meter.follow_cwnd(now, flow, cwnd);
        }
        Ok(())
    }

    fn count(&mut self, which: Counter, flow: u32, value: u64, starts: bool) -> Result<(), String> {
        let flow = self.number(flow)?;
        let count = &mut self.counts[flow];
        if !starts {
            count.known |= 1 << which as u16;
        }
        let narrow = u32::try_from(value).unwrap_or(u32::MAX);
        match which {
            Counter::Received => count.counters.received = value,
            Counter::Retransmits => count.counters.retransmits = value,
            Counter::Rtos => count.counters.rtos = value,
            Counter::Tlps => count.counters.tlps = value,
            Counter::Recoveries => count.counters.recoveries = value,
            Counter::Undos => count.counters.undos = value,
            Counter::Cwnd => count.cwnd = narrow,
            Counter::Ssthresh => count.ssthresh = threshold(value),
            Counter::Srtt => count.srtt_us = value,
        }
        Ok(())
    }

    /// A program's host begins to send.
    fn open(&mut self, now: Time, event: Event) -> Result<(), String> {
        let Event::Opened {
            flow,
            src,
            dst,
            src_port,
            dst_port,
            seq,
            udp,
        } = event
        else {
            return Ok(());
        };
        if flow as usize != self.counts.len() {
            return Err(format!("flow {flow} is not the next one"));
        }
        if let Some(host) = [src, dst].iter().find(|&&host| !self.plan.hosts.has(host)) {
            let (rack, number) = (host.rack(), host.number());
            return Err(format!("there is no host r{rack}h{number}"));
        }
        let opened = Flow {
            src_rack: src.rack(),
            src_host: src.number(),
            dst_rack: dst.rack(),
            dst_host: dst.number(),
            start: now,
            class: Arc::new(if udp { PROGRAM_UDP } else { PROGRAM }.to_owned()),
            ..Flow::default()
        };
        self.meter.add_connection(&opened);
        self.opened.push(opened);
        self.travels.push(Some(match udp {
            false => Travels::Stream(Stream::new(now, seq)),
            true => Travels::Datagrams(0),
        }));
        let mut count = Count {
            ports: (src_port, dst_port),
            // Packets tell these, and nobody the others.
            known: 1 << Counter::Received as u16 | 1 << Counter::Retransmits as u16,
            ..Count::default()
        };
        count.subflows[0].first = Some(seq);
        self.counts.push(count);
        Ok(())
    }

    /// A program's host has sent all that it will, or its connection is no more.
    fn close(&mut self, now: Time, flow: u32, seq: u32, reset: bool) -> Result<(), String> {
        let flow = self.number(flow)?;
        let Some(at) = self.opened(flow) else {
            return Err(format!("flow {flow} is the plan's"));
        };
        if reset {
            if self.meter.kill(flow) {
                self.opened[at].stop = Some(now);
            }
            return Ok(());
        }
        let Some(Travels::Stream(stream)) = &self.travels[at] else {
            return Err(format!("flow {flow} has datagrams, which nothing closes"));
        };
        let (length, complete) = stream.end(seq);
        self.opened[at].bytes = Some(length);
        self.meter.set_length(flow, length, complete);
        Ok(())
    }

    /// Measurement begins: counters of that instant are complete.
    pub(crate) fn begin(&mut self, now: Time) {
        let counts = &self.counts;
        self.meter.begin(now, |flow| counts[flow].counters);
    }

    /// What is known of each flow.
    pub(crate) fn facts(&self) -> Vec<FlowFacts> {
        let facts = |count: &Count| FlowFacts {
            ports: count.ports,
            counters: count.counters,
            cwnd: count.cwnd,
            ssthresh: count.ssthresh,
            srtt_ns: count.srtt_us.saturating_mul(1000) / self.plan.tdf,
        };
        self.counts.iter().map(facts).collect()
    }

    /// The flows that are none of the plan's.
    pub(crate) fn of_programs(&self) -> &[Flow] {
        &self.opened
    }

    /// Whether a counter of a flow is known.
    pub(crate) fn knows(&self, flow: usize, which: Counter) -> bool {
        self.counts[flow].known & 1 << which as u16 != 0
    }
}

fn threshold(value: u64) -> Option<u32> {
    u32::try_from(value).ok().filter(|_| value < NO_SSTHRESH)
}
