// SPDX-License-Identifier: MIT OR Apache-2.0
//! From the kernel's log to results: what happened is told again to what measures it.

use std::io::PipeWriter;
use std::path::Path;

use etalon_driver::WeekReader;
use etalon_events::{Event, Plane, Record, Source};
use etalon_measure::results::{Outcome, Table};
use etalon_measure::{Control, Live, Observer, Results, results};
use etalon_scenario::{Scenario, Setup};
use etalon_units::{Span, Time};

use crate::capture::Packets;
use crate::desk::Desk;
use crate::flows::Flows;
use crate::log::Log;
use crate::programs::Programs;
use crate::unknown;
use crate::verify::Verifier;
use crate::watch::{Farewell, Listener};
use crate::{LinuxError, Options, Polled, ProgramResult};

/// Hears the log, and measures.
pub(crate) struct Replay<'a, O> {
    plan: &'a Scenario,
    planes: usize,
    tdns: usize,
    control: &'a Control,
    observer: O,
    flows: Flows<'a>,
    packets: Packets,
    programs: Programs<'a>,
    verifier: Option<Verifier>,
    weeks: WeekReader,
    desk: Desk<'a>,
    end: Time,
    now: Time,
    /// Measurement has begun, and the counters of that instant are coming.
    beginning: bool,
    begun: bool,
    farewell: Option<Farewell>,
    complete: bool,
    waits: bool,
    records: u64,
    in_network: usize,
    peak_in_network: usize,
    polled: Vec<Polled>,
}

/// What a replay comes to.
pub(crate) struct Replayed {
    pub(crate) results: Results,
    pub(crate) events: Option<Table>,
    pub(crate) programs: Vec<ProgramResult>,
    pub(crate) polled: Vec<Polled>,
    pub(crate) verified: Option<u64>,
}

impl<'a, O: Observer> Replay<'a, O> {
    pub(crate) fn new(
        plan: &'a Scenario,
        control: &'a Control,
        (options, desk): (&Options, Desk<'a>),
        setup: &Setup,
        mut observer: O,
    ) -> Result<Replay<'a, O>, LinuxError> {
        let flows = Flows::new(plan, observer.metrics());
        let verifier = match options.verify {
            false => None,
            true if plan.asked().is_some() => {
                let why = "Circuits that jobs ask for are not verified.";
                return Err(LinuxError::plan(why));
            }
            true => Some(Verifier::new(setup).map_err(LinuxError::plan)?),
        };
        let traced = options.trace.as_ref();
        let capture: Option<(&Path, _)> =
            traced.and_then(|t| t.pcapng.as_deref().map(|path| (path, t.window())));
        Ok(Replay {
            plan,
            planes: observer.metrics().planes().len(),
            tdns: plan.tdns(),
            control,
            observer,
            flows,
            packets: Packets::new(capture, plan.hosts.racks)?,
            programs: Programs::new(
                options.programs.len() + plan.programs.len(),
                options.output.clone(),
                control,
            ),
            verifier,
            weeks: WeekReader::new(plan.hosts.racks),
            desk,
            end: setup.end,
            now: Time::ZERO,
            beginning: false,
            begun: false,
            farewell: None,
            complete: false,
            waits: false,
            records: 0,
            in_network: 0,
            peak_in_network: 0,
            polled: Vec::new(),
        })
    }

    /// Answers go to `answers`.
    pub(crate) fn answer_to(&mut self, answers: PipeWriter) {
        self.desk.answer_to(answers);
    }

    /// Tells one record. The error says what cannot be true.
    #[inline]
    fn tell(&mut self, record: &Record, data: &[u8]) -> Result<(), String> {
        // What it says stays where it is put: a copy so soon would wait until each of its parts has been stored.
        let told = Event::of(record);
        let event = told.as_ref().map_err(ToString::to_string)?;
        self.records += 1;
        self.waits = false;
        // What sockets and programs say comes from threads, perhaps a little late: it does not move the clock.
        let mut now = record.time.min(self.end);
        if event.source() != Source::Host {
            if now < self.now {
                return Err(format!("time goes back to {} ns", now.0));
            }
            self.now = now;
        } else if !matches!(event, Event::Exited { .. } | Event::Done { .. }) {
            now = now.max(self.now);
        }
        if self.beginning && !matches!(event, Event::Counter { .. }) {
            self.begin();
        }
        if let Some(verifier) = &mut self.verifier {
            verifier.check(now, event)?;
        }
        self.check(record, event)?;
        self.observer.on(now, *event);
        match event.source() {
            Source::Host => self.hear(now, event, data),
            _ => self.happens(now, event, data),
        }
    }

    /// The network does something, or the experiment comes to a new stage.
    #[inline]
    fn happens(&mut self, now: Time, event: &Event, data: &[u8]) -> Result<(), String> {
        match *event {
            // Here runs of the sequence graph begin, and days.
            Event::Circuit { .. } | Event::Day { .. } => {
                self.flows.meter.follow_runs(self.observer.metrics());
            }
            Event::Entered { packet } => {
                self.in_network += 1;
                self.peak_in_network = self.peak_in_network.max(self.in_network);
                self.packets.entered(now, packet);
                self.flows.entered(packet)?;
            }
            Event::Left { packet, plane } => {
                self.in_network = self.in_network.saturating_sub(1);
                self.packets.left(now, packet);
                self.flows.left(now, packet, plane)?;
            }
            Event::Lost { packet, reason } => {
                self.in_network = self.in_network.saturating_sub(1);
                self.packets.lost(now, packet, reason);
            }
            Event::Notified { pair, host, .. } => self.packets.notified(now, pair.src, host),
            Event::Bytes { .. } => self.packets.bytes(data)?,
            Event::Begin => {
                self.observer.metrics().begin();
                self.beginning = true;
            }
            Event::End { complete } => {
                self.complete = complete;
                self.farewell = Some(Farewell::Complete);
            }
            Event::Demanded { .. }
            | Event::PlannedDay { .. }
            | Event::PlannedCircuit { .. }
            | Event::Computed { .. } => self.computed(now, *event)?,
            _ => {}
        }
        Ok(())
    }

    /// A socket or a program says something.
    fn hear(&mut self, now: Time, event: &Event, data: &[u8]) -> Result<(), String> {
        match *event {
            Event::Exited { program, status } => self.programs.exited(now, program, status),
            Event::Output {
                program, stream, ..
            } => self.programs.output(program, stream, data),
            Event::Waiting { .. } => {
                self.waits = true;
                Ok(())
            }
            Event::Polled { host, late, waited } => {
                self.polled.push(Polled { host, late, waited });
                Ok(())
            }
            Event::Failure { .. } => {
                let why = String::from_utf8_lossy(data).into_owned();
                self.farewell = Some(Farewell::Failure(why));
                Ok(())
            }
            Event::Woken
            | Event::Read { .. }
            | Event::Sent { .. }
            | Event::Granted { .. }
            | Event::Connected { .. }
            | Event::Planning { .. } => {
                self.decide(now, event);
                Ok(())
            }
            _ => self.flows.hear(now, *event, self.beginning),
        }
    }

    /// The kernel asks what to do next, and stands still until it has the answer.
    #[cold]
    #[inline(never)] // it would make the frame of what every record passes larger
    fn decide(&mut self, now: Time, event: &Event) {
        if let Event::Read { end, bytes } = *event {
            self.flows.read(now, end, bytes);
        }
        let answered = match *event {
            Event::Planning { time } => match self.weeks.demand() {
                Ok(demand) => self.desk.plan_week(time, &demand),
                Err(why) => Err(why.to_owned()),
            },
            _ => self.desk.answer(now, event).map(|opened| {
                for flow in opened {
                    self.flows.open_from_outside(flow);
                }
            }),
        };
        if let Err(why) = answered {
            self.farewell = Some(Farewell::Failure(why));
        }
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

    /// The flows' counters of the instant at which measurement begins are complete.
    #[cold]
    fn begin(&mut self) {
        self.beginning = false;
        self.begun = true;
        self.flows.begin(self.now);
    }

    /// Whether what is no plane of an event is a TDN, the uplink of a circuit that is asked for, or the one that a packet leaves by.
    fn is_numbered(&self, event: &Event) -> bool {
        let uplinks = self.plan.network.kind().uplinks();
        let is_uplink = |plane: Plane| (1..=uplinks).contains(&plane.0);
        match *event {
            Event::Dequeue { plane, .. }
            | Event::Joined { plane, .. }
            | Event::Changing { plane, .. }
            | Event::Connected { plane, .. }
            | Event::Awaited { plane, .. }
            | Event::Kept { plane, .. } => is_uplink(plane),
            Event::Notified { plane, .. } => usize::from(plane.0) < self.tdns,
            _ => false,
        }
    }

    /// An event is of racks and planes that there are. Where it is of none, they are zero in its record.
    #[inline]
    fn check(&self, record: &Record, event: &Event) -> Result<(), String> {
        let racks = self.plan.hosts.racks;
        if record.src >= racks || record.dst >= racks {
            return Err(format!(
                "there is no rack pair {} to {}",
                record.src, record.dst
            ));
        }
        match event.plane() {
            Some(Plane(plane)) if usize::from(plane) >= self.planes && !self.is_numbered(event) => {
                Err(format!("there is no plane {plane}"))
            }
            _ => Ok(()),
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
        self.flows.meter.finish(end);
        let jobs = self.desk.rows();
        let mut results = results::collect(&Outcome {
            plan: self.plan,
            metrics: self.observer.metrics(),
            meter: &self.flows.meter,
            flows: &self.flows.facts(),
            opened: self.flows.of_programs(),
            writes: &[],
            jobs: &jobs,
            end,
            partial: !whole,
            events: self.records,
            peak_in_network: self.peak_in_network,
        });
        unknown::mark(&mut results.flows, |flow, which| {
            self.flows.knows(flow, which)
        });
        self.packets.finish()?;
        Ok(Replayed {
            results,
            events: self.observer.into_events(),
            programs: self.programs.into_results(),
            polled: self.polled,
            verified: self.verifier.map(|v| v.packets()),
        })
    }
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
        if self.control.asked() {
            let (flows, metrics) = (&self.flows, self.observer.metrics());
            let live = Live::of(self.plan, self.now, metrics, &flows.meter, &flows.facts());
            self.control.tell(live);
        }
        Ok(())
    }

    fn report(&self) -> bool {
        self.control.report(self.now.0, self.plan.end().0)
    }

    fn farewell(&self) -> Option<Farewell> {
        self.farewell.clone()
    }

    fn begun(&self) -> bool {
        self.records > 0
    }

    fn waits(&self) -> bool {
        self.waits
    }

    fn reached(&self) -> String {
        match self.records {
            0 => "nothing of the experiment yet".to_owned(),
            _ => format!("{} of {}", Span(self.now.0), Span(self.plan.end().0)),
        }
    }
}
