//! Traces: an experiment runs again, and what happens in a part of it is written down. A trace costs memory, a run does not.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use etalon_switch::{DropReason, Network, Pair, Probe};
use etalon_units::{Span, Time};

use crate::engine::{Observer, run_tapped};
use crate::packet::Packet;
use crate::pcapng::{Frame, Interface, PcapNg};
use crate::probe::Metrics;
use crate::results::{Column, Table};
use crate::world::Tap;
use crate::{Control, Plan, PlanError, Results};

/// What to trace.
#[derive(Clone, Debug)]
pub struct TraceRequest {
    /// Where the trace starts.
    pub start: Time,
    /// Where it ends, and the run with it.
    pub end: Time,
    /// A packet capture to write: one interface for each rack and direction, one for drops.
    pub pcapng: Option<PathBuf>,
}

/// Why there is no trace.
#[derive(Debug)]
pub enum TraceError {
    /// The plan cannot be run.
    Plan(PlanError),
    /// The capture could not be written.
    Io(io::Error),
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TraceError::Plan(e) => e.fmt(f),
            TraceError::Io(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}

/// Runs `plan` up to the trace's end; returns its results up to there, and the events of the traced part.
///
/// # Errors
/// [`TraceError`] for a bad plan and for a capture that cannot be written.
pub fn trace(
    plan: &Plan,
    control: &Control,
    request: &TraceRequest,
) -> Result<(Results, Table), TraceError> {
    let mut plan = plan.clone();
    plan.duration_ns = plan.duration_ns.min(request.end.0).max(1);
    plan.warmup_ns = plan.warmup_ns.min(plan.duration_ns - 1);
    let window = Window {
        start: request.start,
        end: request.end,
    };
    let capture = match &request.pcapng {
        None => None,
        Some(path) => {
            let file = BufWriter::new(File::create(path).map_err(TraceError::Io)?);
            Some(PcapNg::new(file, &interfaces(plan.racks())).map_err(TraceError::Io)?)
        }
    };
    let tap = Capture {
        window,
        racks: usize::from(plan.racks()),
        flows: plan.flows.iter().map(Ends::of).collect(),
        ids: vec![0; plan.flows.len() * 2],
        capture,
        error: None,
    };
    let (results, (tap, recorder)) = run_tapped(&plan, control, tap, |metrics| Recorder {
        metrics,
        window,
        events: Vec::new(),
    })
    .map_err(TraceError::Plan)?;
    tap.finish().map_err(TraceError::Io)?;
    Ok((results, recorder.table()))
}

#[derive(Clone, Copy, Debug)]
struct Window {
    start: Time,
    end: Time,
}

impl Window {
    #[inline]
    fn has(self, now: Time) -> bool {
        self.start <= now && now < self.end
    }
}

/// Rack and host of both ends of a flow.
#[derive(Clone, Copy, Debug)]
struct Ends([(u16, u16); 2]);

impl Ends {
    fn of(flow: &crate::plan::FlowPlan) -> Ends {
        Ends([
            (flow.src_rack, flow.src_host),
            (flow.dst_rack, flow.dst_host),
        ])
    }
}

fn interfaces(racks: u16) -> Vec<Interface> {
    let one = |name: String, description: String| Interface { name, description };
    let mut all: Vec<Interface> = (0..racks)
        .map(|r| {
            one(
                format!("tor{r}-in"),
                format!("packets from the hosts of rack {r} to its ToR switch"),
            )
        })
        .collect();
    all.extend((0..racks).map(|r| {
        one(
            format!("tor{r}-out"),
            format!("packets from the network to the hosts of rack {r}"),
        )
    }));
    all.push(one(
        "drops".into(),
        "packets that the network dropped".into(),
    ));
    all
}

/// Writes packets into a capture.
struct Capture {
    window: Window,
    racks: usize,
    flows: Vec<Ends>,
    /// Next IP identification of each endpoint.
    ids: Vec<u16>,
    capture: Option<PcapNg<BufWriter<File>>>,
    error: Option<io::Error>,
}

impl Capture {
    fn write(&mut self, now: Time, interface: usize, packet: &Packet, comment: Option<&str>) {
        if !self.window.has(now) || self.error.is_some() {
            return;
        }
        let Some(capture) = &mut self.capture else {
            return;
        };
        let flow = (packet.to >> 1) as usize;
        let to_server = (packet.to & 1) as usize;
        let ends = self.flows[flow].0;
        // Clients use ports from 40001 on, servers 5001: flows between the same hosts stay apart.
        let ports = [40_001 + (flow % 20_000) as u16, 5001];
        let (src, dst) = (ends[1 - to_server], ends[to_server]);
        let frame = Frame {
            src_rack: src.0,
            src_host: src.1,
            dst_rack: dst.0,
            dst_host: dst.1,
            src_port: ports[1 - to_server],
            dst_port: ports[to_server],
            ip_id: packet.ip_id,
            ce: packet.ce,
            segment: packet.segment,
        };
        if let Err(e) = capture.packet(interface, now.0, &frame, comment) {
            self.error = Some(e);
        }
    }

    fn rack(&self, packet: &Packet, sender: bool) -> usize {
        let end = (packet.to & 1) as usize ^ usize::from(sender);
        usize::from(self.flows[(packet.to >> 1) as usize].0[end].0)
    }

    fn finish(self) -> io::Result<()> {
        if let Some(e) = self.error {
            return Err(e);
        }
        match self.capture {
            Some(capture) => capture.finish()?.flush(),
            None => Ok(()),
        }
    }
}

impl Tap for Capture {
    fn entered(&mut self, now: Time, packet: &mut Packet) {
        let counter = &mut self.ids[(packet.to ^ 1) as usize];
        *counter = counter.wrapping_add(1);
        packet.ip_id = *counter;
        let interface = self.rack(packet, true);
        self.write(now, interface, packet, None);
    }

    fn left(&mut self, now: Time, packet: &Packet) {
        let interface = self.racks + self.rack(packet, false);
        self.write(now, interface, packet, None);
    }

    fn lost(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.write(now, 2 * self.racks, packet, Some(words(reason)));
    }
}

fn words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::VoqFull => "the VOQ was full",
        DropReason::Shrunk => "the VOQ shrank",
        DropReason::HoldFull => "the hold was full",
    }
}

#[derive(Clone, Copy, Debug)]
struct Event {
    time: Time,
    kind: &'static str,
    pair: Option<Pair>,
    value: u64,
    bytes: u32,
    network: Option<Network>,
}

/// Writes probe events down.
struct Recorder {
    metrics: Metrics,
    window: Window,
    events: Vec<Event>,
}

impl Recorder {
    fn record(
        &mut self,
        time: Time,
        kind: &'static str,
        pair: Option<Pair>,
        value: u64,
        bytes: u32,
        network: Option<Network>,
    ) {
        if self.window.has(time) {
            self.events.push(Event {
                time,
                kind,
                pair,
                value,
                bytes,
                network,
            });
        }
    }

    fn table(self) -> Table {
        let rack = |f: fn(Pair) -> u16| {
            Column::Integers(
                self.events
                    .iter()
                    .map(|e| e.pair.map_or(-1, |p| f(p).into()))
                    .collect(),
            )
        };
        let network = |e: &Event| match e.network {
            Some(Network::Packet) => "packet",
            Some(Network::Circuit) => "circuit",
            None => "",
        };
        vec![
            (
                "t_ns",
                Column::Integers(self.events.iter().map(|e| e.time.0 as i64).collect()),
            ),
            (
                "kind",
                Column::Text(self.events.iter().map(|e| e.kind.to_owned()).collect()),
            ),
            ("src", rack(|p| p.src)),
            ("dst", rack(|p| p.dst)),
            (
                "value",
                Column::Integers(self.events.iter().map(|e| e.value as i64).collect()),
            ),
            (
                "bytes",
                Column::Integers(self.events.iter().map(|e| e.bytes.into()).collect()),
            ),
            (
                "network",
                Column::Text(self.events.iter().map(|e| network(e).to_owned()).collect()),
            ),
        ]
    }
}

impl Observer for Recorder {
    fn metrics(&mut self) -> &mut Metrics {
        &mut self.metrics
    }
}

impl Probe for Recorder {
    fn enqueue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32) {
        self.metrics.enqueue(now, pair, len, bytes);
        self.record(now, "enqueue", Some(pair), len.into(), bytes, None);
    }

    fn dequeue(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, network: Network) {
        self.metrics.dequeue(now, pair, len, bytes, network);
        self.record(now, "dequeue", Some(pair), len.into(), bytes, Some(network));
    }

    fn dropped(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, reason: DropReason) {
        self.metrics.dropped(now, pair, len, bytes, reason);
        self.record(now, "drop", Some(pair), len.into(), bytes, None);
    }

    fn marked(&mut self, now: Time, pair: Pair, len: u32) {
        self.metrics.marked(now, pair, len);
        self.record(now, "mark", Some(pair), len.into(), 0, None);
    }

    fn resized(&mut self, now: Time, pair: Pair, capacity: u32) {
        self.metrics.resized(now, pair, capacity);
        self.record(now, "resize", Some(pair), capacity.into(), 0, None);
    }

    fn week(&mut self, now: Time, week: u64) {
        self.metrics.week(now, week);
        self.record(now, "week", None, week, 0, None);
    }

    fn held(&mut self, now: Time, pair: Pair, bytes: u32) {
        self.metrics.held(now, pair, bytes);
        self.record(now, "hold", Some(pair), 0, bytes, None);
    }

    fn day(&mut self, now: Time, day: u32) {
        self.metrics.day(now, day);
        self.record(now, "day", None, day.into(), 0, None);
    }

    fn night(&mut self, now: Time, day: u32) {
        self.metrics.night(now, day);
        self.record(now, "night", None, day.into(), 0, None);
    }

    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        self.metrics.circuit(now, pair, up);
        let kind = if up { "circuit_up" } else { "circuit_down" };
        self.record(now, kind, Some(pair), 0, 0, Some(Network::Circuit));
    }

    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, network: Network) {
        self.metrics.departed(now, pair, bytes, latency, network);
        self.record(now, "depart", Some(pair), latency.0, bytes, Some(network));
    }
}
