//! From the kernel's log to results: what happened is told again to what measures it.

use std::path::Path;

use etalon_driver::WeekReader;
use etalon_events::{Counter, Event, Packet, Plane, Probe, Record, Source};
use etalon_measure::results::{Outcome, Table};
use etalon_measure::{Control, Counters, FlowFacts, Meter, Metrics, Recorder, Results, results};
use etalon_scenario::{MOST_SUBFLOWS, Scenario, Setup};
use etalon_units::{Span, Time};

use crate::capture::Packets;
use crate::log::Log;
use crate::programs::Programs;
use crate::unknown;
use crate::verify::Verifier;
use crate::watch::{Farewell, Listener};
use crate::{LinuxError, Options, ProgramResult};

/// A slow start threshold that was never lowered: Linux's largest.
const NO_SSTHRESH: u64 = 0x7fff_ffff;

/// A probe that contains the run's metrics.
pub(crate) trait Observer: Probe {
    fn metrics(&mut self) -> &mut Metrics;
    /// The events that it wrote down, if it does.
    fn into_events(self) -> Option<Table>;
}

impl Observer for Metrics {
    #[inline]
    fn metrics(&mut self) -> &mut Metrics {
        self
    }

    fn into_events(self) -> Option<Table> {
        None
    }
}

impl Observer for Recorder {
    #[inline]
    fn metrics(&mut self) -> &mut Metrics {
        &mut self.metrics
    }

    fn into_events(self) -> Option<Table> {
        Some(self.into_table())
    }
}

/// How far a TCP connection has come: a flow's, or one of its subflows.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The sequence number of its first byte; none before its SYN.
    first: Option<u32>,
    /// Bytes up to the highest that left the network.
    highest: u64,
}

/// What the kernel's counters say of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    counters: Counters,
    cwnd: u32,
    ssthresh: Option<u32>,
    srtt_us: u64,
    /// Where these come from: known, by [`Counter`], since measurement began.
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

/// Hears the log, and measures.
pub(crate) struct Replay<'a, O> {
    plan: &'a Scenario,
    planes: usize,
    control: &'a Control,
    observer: O,
    meter: Meter,
    counts: Vec<Count>,
    packets: Packets,
    programs: Programs<'a>,
    verifier: Option<Verifier>,
    weeks: WeekReader,
    end: Time,
    now: Time,
    /// Measurement has begun, and the counters of that instant are coming.
    beginning: bool,
    begun: bool,
    farewell: Option<Farewell>,
    complete: bool,
    records: u64,
    in_network: usize,
    peak_in_network: usize,
}

/// What a replay comes to.
pub(crate) struct Replayed {
    pub(crate) results: Results,
    pub(crate) events: Option<Table>,
    pub(crate) programs: Vec<ProgramResult>,
    pub(crate) verified: Option<u64>,
}

impl<'a, O: Observer> Replay<'a, O> {
    pub(crate) fn new(
        plan: &'a Scenario,
        control: &'a Control,
        options: &Options,
        setup: &Setup,
        mut observer: O,
    ) -> Result<Replay<'a, O>, LinuxError> {
        let meter = Meter::new(plan, observer.metrics());
        let verifier = match options.verify {
            false => None,
            true => Some(Verifier::new(setup).map_err(LinuxError::plan)?),
        };
        let traced = options.trace.as_ref();
        let capture: Option<(&Path, _)> =
            traced.and_then(|t| t.pcapng.as_deref().map(|path| (path, t.window())));
        Ok(Replay {
            plan,
            planes: observer.metrics().planes().len(),
            control,
            observer,
            meter,
            counts: vec![Count::default(); plan.flows.len()],
            packets: Packets::new(capture, plan.hosts.racks)?,
            programs: Programs::new(
                options.programs.len() + plan.programs.len(),
                options.output.clone(),
                control,
            ),
            verifier,
            weeks: WeekReader::new(plan.hosts.racks),
            end: setup.end,
            now: Time::ZERO,
            beginning: false,
            begun: false,
            farewell: None,
            complete: false,
            records: 0,
            in_network: 0,
            peak_in_network: 0,
        })
    }

    /// Tells one record. The error says what cannot be true.
    #[inline]
    fn tell(&mut self, record: &Record, data: &[u8]) -> Result<(), String> {
        let event = Event::of(record).map_err(|e| e.to_string())?;
        self.records += 1;
        // What sockets and programs say comes from threads, perhaps a little late: it does not move the clock.
        let mut now = record.time.min(self.end);
        if event.source() != Source::Host {
            if now < self.now {
                return Err(format!("time goes back to {} ns", now.0));
            }
            self.now = now;
        } else if matches!(event, Event::Cwnd { .. }) {
            now = now.max(self.now);
        }
        if self.beginning && !matches!(event, Event::Counter { .. }) {
            self.begin();
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.check(now, event)?;
        }
        self.check(record, event)?;
        self.observer.on(now, event);
        match event {
            // Here runs of the sequence graph begin, and days.
            Event::Circuit { .. } | Event::Day { .. } => {
                self.meter.follow_runs(self.observer.metrics());
            }
            Event::Entered { packet } => self.entered(now, packet)?,
            Event::Left { packet, plane } => {
                self.in_network = self.in_network.saturating_sub(1);
                self.packets.left(now, packet);
                self.left(now, packet, plane)?;
            }
            Event::Lost { packet, reason } => {
                self.in_network = self.in_network.saturating_sub(1);
                self.packets.lost(now, packet, reason);
            }
            Event::Notified { pair, host, .. } => self.packets.notified(now, pair.src, host),
            Event::Bytes { .. } => self.packets.bytes(data)?,
            Event::Cwnd {
                flow,
                cwnd,
                ssthresh,
                srtt_us,
            } => {
                let flow = self.flow(flow)?;
                self.meter.follow_cwnd(now, flow, cwnd);
                let count = &mut self.counts[flow];
                count.cwnd = cwnd;
                count.ssthresh = threshold(ssthresh.into());
                count.srtt_us = srtt_us.into();
            }
            Event::Done { flow, bytes } => {
                let flow = self.flow(flow)?;
                self.meter.received(now, flow, bytes);
            }
            Event::Counter { which, flow, value } => self.count(which, flow, value)?,
            Event::Begin => {
                self.observer.metrics().begin();
                self.beginning = true;
            }
            Event::End { complete } => {
                self.complete = complete;
                self.farewell = Some(Farewell::Complete);
            }
            Event::Exited { program, status } => self.programs.exited(now, program, status)?,
            Event::Output {
                program, stream, ..
            } => self.programs.output(program, stream, data)?,
            Event::Demanded { .. }
            | Event::PlannedDay { .. }
            | Event::PlannedCircuit { .. }
            | Event::Computed { .. } => self.computed(now, event)?,
            Event::Failure { .. } => {
                let why = String::from_utf8_lossy(data).into_owned();
                self.farewell = Some(Farewell::Failure(why));
            }
            _ => {}
        }
        Ok(())
    }

    /// A piece of a week that was computed from demand.
    #[cold]
    #[inline(never)] // it would make the frame of what every record passes larger
    fn computed(&mut self, now: Time, event: Event) -> Result<(), String> {
        let Some(computed) = self.weeks.hear(event)? else {
            return Ok(());
        };
        let metrics = self.observer.metrics();
        metrics.computed(computed.time, computed.demand.entries(), &computed.week);
        match &mut self.verifier {
            Some(verifier) => verifier.adopt(now, computed.week),
            None => Ok(()),
        }
    }

    #[inline]
    fn entered(&mut self, now: Time, packet: Packet) -> Result<(), String> {
        self.in_network += 1;
        self.peak_in_network = self.peak_in_network.max(self.in_network);
        self.packets.entered(now, packet);
        let Some(flow) = self.to_server(packet)? else {
            return Ok(());
        };
        let subflow = &mut self.counts[flow].subflows[usize::from(packet.subflow)];
        if subflow.first.is_none() {
            // The client's SYN, which takes one sequence number.
            subflow.first = Some(packet.seq.wrapping_add(1));
        }
        Ok(())
    }

    #[inline]
    fn left(&mut self, now: Time, packet: Packet, plane: Plane) -> Result<(), String> {
        let payload = u32::from(packet.payload);
        // What stays in its rack, no plane has carried.
        if payload == 0 || packet.src.rack() == packet.dst.rack() {
            return Ok(());
        }
        match self.to_server(packet)? {
            Some(flow) => {
                let end = packet.seq.wrapping_add(payload);
                let reached = self.counts[flow].reach(packet.subflow, end);
                self.meter.data_left(now, flow, payload, reached, plane);
                if self.meter.follows_order() {
                    let subflow = usize::from(packet.subflow);
                    let first = self.counts[flow].subflows[subflow].first.unwrap_or(0);
                    let offset = packet.seq.wrapping_sub(first);
                    self.meter
                        .data_left_in_order(flow, subflow, offset, payload);
                }
            }
            None => self.meter.other_left(packet.pair(), payload, plane),
        }
        Ok(())
    }

    /// The flow to whose server a packet is on its way.
    #[inline]
    fn to_server(&self, packet: Packet) -> Result<Option<usize>, String> {
        let (Some(flow), true) = (packet.flow, packet.to_server) else {
            return Ok(None);
        };
        match packet.subflow {
            subflow if subflow >= MOST_SUBFLOWS => Err(format!("there is no subflow {subflow}")),
            _ => self.flow(flow.into()).map(Some),
        }
    }

    fn count(&mut self, which: Counter, flow: u32, value: u64) -> Result<(), String> {
        let flow = self.flow(flow)?;
        let count = &mut self.counts[flow];
        if !self.beginning {
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

    /// The flows' counters of the instant at which measurement begins are complete.
    #[cold]
    fn begin(&mut self) {
        self.beginning = false;
        self.begun = true;
        let counts = &self.counts;
        self.meter.begin(self.now, |flow| counts[flow].counters);
    }

    /// An event is of racks and planes that there are. Where it is of none, they are zero in its record.
    #[inline]
    fn check(&self, record: &Record, event: Event) -> Result<(), String> {
        let racks = self.plan.hosts.racks;
        if record.src >= racks || record.dst >= racks {
            return Err(format!(
                "there is no rack pair {} to {}",
                record.src, record.dst
            ));
        }
        match event.plane() {
            Some(Plane(plane)) if usize::from(plane) >= self.planes => {
                Err(format!("there is no plane {plane}"))
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn flow(&self, flow: u32) -> Result<usize, String> {
        let flow = flow as usize;
        if flow < self.counts.len() {
            Ok(flow)
        } else {
            Err(format!("there is no flow {flow}"))
        }
    }

    /// Whether anything was told.
    pub(crate) fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// The end: results of what was told. `whole` says that the kernel came to the end it was to come to.
    pub(crate) fn finish(mut self, whole: bool) -> Result<Replayed, LinuxError> {
        let end = self.now;
        if !self.begun {
            // Nothing of the warm-up is a result.
            self.observer.metrics().begin();
            self.begin();
        }
        self.observer.metrics().finish(end);
        self.meter.finish(end);
        let tdf = self.plan.tdf;
        let facts: Vec<FlowFacts> = self
            .counts
            .iter()
            .map(|count| FlowFacts {
                counters: count.counters,
                cwnd: count.cwnd,
                ssthresh: count.ssthresh,
                srtt_ns: count.srtt_us * 1000 / tdf,
            })
            .collect();
        let mut results = results::collect(&Outcome {
            plan: self.plan,
            metrics: self.observer.metrics(),
            meter: &self.meter,
            flows: &facts,
            opened: &[],
            writes: &[],
            end,
            partial: !whole,
            events: self.records,
            peak_in_network: self.peak_in_network,
        });
        let known = |flow: usize, which: Counter| self.counts[flow].known & 1 << which as u16 != 0;
        unknown::mark(&mut results.flows, known);
        self.packets.finish()?;
        Ok(Replayed {
            results,
            events: self.observer.into_events(),
            programs: self.programs.into_results(),
            verified: self.verifier.map(|v| v.packets()),
        })
    }
}

fn threshold(value: u64) -> Option<u32> {
    u32::try_from(value).ok().filter(|_| value < NO_SSTHRESH)
}

impl<O: Observer> Listener for Replay<'_, O> {
    fn take(&mut self, log: &mut Log) -> Result<(), String> {
        while let Some((record, data)) = log.entry() {
            if self.farewell.is_some() {
                break;
            }
            if let Err(why) = self.tell(&record, data) {
                return Err(format!(
                    "The kernel's log cannot be true: {why} (record {} of kind {}, at {}).",
                    self.records,
                    record.kind,
                    Span(self.now.0)
                ));
            }
        }
        Ok(())
    }

    fn report(&self) -> bool {
        self.control.report(self.now.0, self.plan.end().0)
    }

    fn farewell(&self) -> Option<Farewell> {
        self.farewell.clone()
    }

    fn reached(&self) -> String {
        match self.records {
            0 => "nothing of the experiment yet".to_owned(),
            _ => format!("{} of {}", Span(self.now.0), Span(self.plan.end().0)),
        }
    }
}
