//! What a run returns: tables of columns.

use etalon_events::{Pair, Plane};
use etalon_scenario::{Flow, Scenario};
use etalon_units::Time;

use crate::computed::Computed;
use crate::meter::{Counters, FlowFacts, FlowMeter, Meter};
use crate::probe::{Metrics, Moments, PairMetrics};

/// A column of a table.
#[derive(Clone, Debug)]
pub enum Column {
    /// Integers.
    Integers(Vec<i64>),
    /// Floating-point numbers.
    Floats(Vec<f64>),
    /// Text.
    Text(Vec<String>),
}

/// Named columns of equal length.
pub type Table = Vec<(&'static str, Column)>;

/// Facts about the run as a whole.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Digest of all probe events: equal for equal runs.
    pub digest: String,
    /// Events that the main loop handled.
    pub events: u64,
    /// Data packets that left the network in the measured time.
    pub packets_delivered: u64,
    /// Virtual time that was simulated.
    pub simulated_ns: u64,
    /// The run was stopped before its end.
    pub partial: bool,
    /// Runs that the sequence graph is averaged over.
    pub sequence_runs: usize,
    /// Largest number of packets that were in flight together.
    pub peak_in_network: usize,
    /// Schedules that were computed from demand; none if they were not.
    pub computed: Option<Computed>,
}

/// Everything that a run measures.
#[derive(Clone, Debug)]
pub struct Results {
    /// The run as a whole.
    pub meta: Meta,
    /// One row a flow.
    pub flows: Table,
    /// One row a rack pair that carried data.
    pub pairs: Table,
    /// Latency histograms: one row a nonempty bin.
    pub latency: Table,
    /// Expected sequence number, VOQ length and congestion window of the measured pair's flows over a run of weeks.
    pub sequence: Table,
    /// Timing and rates of the measured pair's days.
    pub days: Table,
    /// One row a file that a job wrote to HDFS.
    pub writes: Table,
}

/// A file that a task of a job writes to HDFS.
#[derive(Clone, Copy, Debug)]
pub struct Write {
    /// Number of the job.
    pub job: u32,
    /// Number of the task in its job.
    pub writer: u32,
    /// Rack of the task.
    pub rack: u16,
    /// Host of the task in its rack.
    pub host: u16,
    /// Length of the file.
    pub bytes: u64,
    /// Bytes that were acknowledged by all replicas.
    pub written: u64,
    /// When the task began.
    pub start: Time,
    /// When the whole file was acknowledged.
    pub end: Option<Time>,
}

/// What an engine hands over at the end of a run.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// What was run.
    pub plan: &'a Scenario,
    /// What the network did, [finished](Metrics::finish).
    pub metrics: &'a Metrics,
    /// What was seen of flows, [finished](Meter::finish).
    pub meter: &'a Meter,
    /// What the engine knows of each flow, in the plan's order, and of those opened since.
    pub flows: &'a [FlowFacts],
    /// Flows that were opened in the course of the run.
    pub opened: &'a [Flow],
    /// Files that jobs wrote.
    pub writes: &'a [Write],
    /// Virtual time of the end.
    pub end: Time,
    /// The run was stopped before the plan's end.
    pub partial: bool,
    /// Events that the engine handled.
    pub events: u64,
    /// Largest number of packets that were in flight together.
    pub peak_in_network: usize,
}

/// Makes the tables of a run.
///
/// # Panics
/// If there are not as many [`FlowFacts`] as flows in the plan.
pub fn collect(outcome: &Outcome<'_>) -> Results {
    let Outcome {
        plan,
        metrics,
        meter,
        end,
        ..
    } = *outcome;
    let flow_count = plan.flows.len() + outcome.opened.len();
    assert_eq!(outcome.flows.len(), flow_count, "facts of each flow");
    let mut digest = metrics.digest;
    for (facts, flow) in outcome.flows.iter().zip(&meter.flows) {
        digest.mix(facts.counters.received);
        digest.mix(flow.end.map_or(u64::MAX, |t| t.0));
    }
    Results {
        meta: Meta {
            digest: format!("{:016x}", digest.value()),
            events: outcome.events,
            packets_delivered: meter.delivered,
            simulated_ns: end.0,
            partial: outcome.partial,
            sequence_runs: metrics.runs.count(),
            peak_in_network: outcome.peak_in_network,
            computed: metrics.computed.clone(),
        },
        flows: flows(outcome),
        pairs: pairs(plan, meter, metrics, end),
        latency: latency(plan, metrics),
        sequence: sequence(meter, metrics, end),
        days: days(metrics),
        writes: writes(outcome.writes),
    }
}

fn integers<R>(rows: &[R], f: impl Fn(&R) -> i64) -> Column {
    Column::Integers(rows.iter().map(f).collect())
}

/// A flow of the flows' table.
struct FlowRow<'a> {
    index: usize,
    plan: &'a Flow,
    facts: &'a FlowFacts,
    meter: &'a FlowMeter,
    /// Since measurement began.
    counters: Counters,
}

fn flows(outcome: &Outcome<'_>) -> Table {
    let plans = outcome.plan.flows.iter().chain(outcome.opened);
    let rows: Vec<FlowRow<'_>> = plans
        .zip(&outcome.meter.flows)
        .zip(outcome.flows)
        .enumerate()
        .map(|(index, ((plan, meter), facts))| FlowRow {
            index,
            plan,
            facts,
            meter,
            counters: facts.counters.since(&meter.baseline),
        })
        .collect();
    let all = |f: fn(&FlowRow<'_>) -> i64| integers(&rows, f);
    let measured = outcome.end.0.saturating_sub(outcome.plan.warmup.0).max(1);
    let mean_cwnd = |r: &FlowRow<'_>| r.meter.cwnd_time as f64 / measured as f64;
    vec![
        ("flow", all(|r| r.index as i64)),
        ("src_rack", all(|r| r.plan.src_rack.into())),
        ("src_host", all(|r| r.plan.src_host.into())),
        ("dst_rack", all(|r| r.plan.dst_rack.into())),
        ("dst_host", all(|r| r.plan.dst_host.into())),
        (
            "cc",
            Column::Text(rows.iter().map(|r| r.plan.cc.clone()).collect()),
        ),
        (
            "class",
            Column::Text(rows.iter().map(|r| r.plan.class.clone()).collect()),
        ),
        ("bytes", all(|r| r.plan.bytes.map_or(-1, |b| b as i64))),
        ("start_ns", all(|r| r.plan.start.0 as i64)),
        ("stop_ns", all(|r| r.plan.stop.map_or(-1, |t| t.0 as i64))),
        ("end_ns", all(|r| r.meter.end.map_or(-1, |t| t.0 as i64))),
        ("bytes_delivered", all(|r| r.counters.received as i64)),
        ("circuit_bytes", all(|r| r.meter.payload[1] as i64)),
        ("packet_bytes", all(|r| r.meter.payload[0] as i64)),
        ("retransmits", all(|r| r.counters.retransmits as i64)),
        ("rtos", all(|r| r.counters.rtos as i64)),
        ("tlps", all(|r| r.counters.tlps as i64)),
        ("recoveries", all(|r| r.counters.recoveries as i64)),
        ("undos", all(|r| r.counters.undos as i64)),
        ("cwnd", all(|r| r.facts.cwnd.into())),
        ("ssthresh", all(|r| r.facts.ssthresh.map_or(-1, i64::from))),
        ("srtt_ns", all(|r| r.facts.srtt_ns as i64)),
        (
            "mean_cwnd",
            Column::Floats(rows.iter().map(mean_cwnd).collect()),
        ),
    ]
}

fn all_pairs(plan: &Scenario) -> impl Iterator<Item = Pair> {
    let racks = plan.hosts.racks;
    (0..racks).flat_map(move |src| (0..racks).map(move |dst| Pair { src, dst }))
}

fn pairs(plan: &Scenario, meter: &Meter, metrics: &Metrics, end: Time) -> Table {
    let schedule = plan.first_week();
    let (packet_rate, circuit_rate) = match &plan.network {
        etalon_scenario::Network::Rdcn(n) => (n.packet.rate.0, n.circuit.rate.0),
        etalon_scenario::Network::Dumbbell(d) => {
            let slowest = d.stages.iter().filter_map(|s| s.rate).min();
            (slowest.unwrap_or(plan.hosts.rate).0, 0)
        }
    };
    struct Row {
        pair: Pair,
        payload: [u64; 2],
        day_share: f64,
        span_s: f64,
    }
    let mut rows = Vec::new();
    for (pair, payload) in all_pairs(plan).zip(meter.payload()) {
        let Some(m) = metrics.pair(pair) else {
            continue;
        };
        if payload == [0, 0] {
            continue;
        }
        let (day_share, span_s) = if plan.control().is_some() {
            // Weeks differ: what counts is when there were circuits, in all of the measured time.
            let measured = end.saturating_since(plan.begin()).as_secs_f64();
            (m.up.as_secs_f64() / measured, measured)
        } else {
            let share = schedule.day_time(pair).0 as f64 / schedule.week().0 as f64;
            let first = m.first.unwrap_or(m.last);
            (share, m.last.saturating_since(first).as_secs_f64())
        };
        rows.push(Row {
            pair,
            payload,
            day_share,
            span_s,
        });
    }
    let metric = |f: &dyn Fn(&PairMetrics) -> i64| {
        integers(&rows, |r: &Row| metrics.pair(r.pair).map_or(0, f))
    };
    let utilization = |plane: Plane, rate: u64| {
        let share = |r: &Row| match plane {
            Plane::CIRCUIT => r.day_share,
            _ => 1.0 - r.day_share,
        };
        let capacity = |r: &Row| r.span_s * share(r) * rate as f64 / 8.0;
        let one = |r: &Row| match capacity(r) {
            c if c > 0.0 => r.payload[plane.index()] as f64 / c,
            _ => 0.0,
        };
        Column::Floats(rows.iter().map(one).collect())
    };
    let ratio = |f: &dyn Fn(&PairMetrics) -> (u64, u64)| {
        let one = |r: &Row| {
            match (&plan.network, metrics.pair(r.pair).map_or((0, 0), f)) {
                (etalon_scenario::Network::Rdcn(_), (sum, count)) => {
                    sum as f64 / count.max(1) as f64
                }
                // A dumbbell's queues are not followed.
                (etalon_scenario::Network::Dumbbell(_), _) => f64::NAN,
            }
        };
        Column::Floats(rows.iter().map(one).collect())
    };
    vec![
        ("src", integers(&rows, |r| r.pair.src.into())),
        ("dst", integers(&rows, |r| r.pair.dst.into())),
        (
            "circuit_payload_bytes",
            integers(&rows, |r| r.payload[1] as i64),
        ),
        (
            "packet_payload_bytes",
            integers(&rows, |r| r.payload[0] as i64),
        ),
        ("circuit_packets", metric(&|m| m.data_packets[1] as i64)),
        ("packet_packets", metric(&|m| m.data_packets[0] as i64)),
        ("first_ns", metric(&|m| m.first.map_or(-1, |t| t.0 as i64))),
        ("last_ns", metric(&|m| m.last.0 as i64)),
        (
            "day_share",
            Column::Floats(rows.iter().map(|r| r.day_share).collect()),
        ),
        (
            "circuit_utilization",
            utilization(Plane::CIRCUIT, circuit_rate),
        ),
        (
            "packet_utilization",
            utilization(Plane::PACKET, packet_rate),
        ),
        ("dropped_voq", metric(&|m| m.dropped[0] as i64)),
        ("dropped_shrink", metric(&|m| m.dropped[1] as i64)),
        ("dropped_hold", metric(&|m| m.dropped[2] as i64)),
        ("marked", metric(&|m| m.marked as i64)),
        (
            "voq_mean",
            ratio(&|m| (m.voq_sum, m.data_packets[0] + m.data_packets[1])),
        ),
        ("voq_at_day_start", ratio(&|m| (m.voq_at_day_start, m.days))),
    ]
}

fn latency(plan: &Scenario, metrics: &Metrics) -> Table {
    let mut rows = Vec::new();
    for pair in all_pairs(plan) {
        let Some(m) = metrics.pair(pair) else {
            continue;
        };
        for (plane, name) in plan.network.planes().iter().enumerate() {
            for bin in m.latency[plane].bins() {
                rows.push((pair, name, bin));
            }
        }
    }
    vec![
        ("src", integers(&rows, |r| r.0.src.into())),
        ("dst", integers(&rows, |r| r.0.dst.into())),
        (
            "network",
            Column::Text(rows.iter().map(|r| (*r.1).to_owned()).collect()),
        ),
        ("lower_ns", integers(&rows, |r| r.2.0 as i64)),
        ("upper_ns", integers(&rows, |r| r.2.1 as i64)),
        ("count", integers(&rows, |r| r.2.2 as i64)),
    ]
}

fn sequence(meter: &Meter, metrics: &Metrics, end: Time) -> Table {
    let voq = metrics.runs.reached(end);
    let flows: Vec<usize> = voq
        .iter()
        .map(|runs| runs * meter.measured_flows())
        .collect();
    let step = metrics.runs.step() as i64;
    vec![
        (
            "t_ns",
            Column::Integers((0..voq.len() as i64).map(|i| i * step).collect()),
        ),
        ("bytes", Column::Floats(meter.sequence.mean(&flows))),
        ("voq_packets", Column::Floats(metrics.voq_curve.mean(&voq))),
        ("cwnd_packets", Column::Floats(meter.cwnd.mean(&flows))),
    ]
}

fn writes(rows: &[Write]) -> Table {
    vec![
        ("job", integers(rows, |w| w.job.into())),
        ("writer", integers(rows, |w| w.writer.into())),
        ("rack", integers(rows, |w| w.rack.into())),
        ("host", integers(rows, |w| w.host.into())),
        ("bytes", integers(rows, |w| w.bytes as i64)),
        ("bytes_written", integers(rows, |w| w.written as i64)),
        ("start_ns", integers(rows, |w| w.start.0 as i64)),
        (
            "end_ns",
            integers(rows, |w| w.end.map_or(-1, |t| t.0 as i64)),
        ),
    ]
}

fn days(metrics: &Metrics) -> Table {
    let d = &metrics.days;
    let rows: [(&str, Moments); 4] = [
        ("day_ns", d.day),
        ("week_ns", d.week),
        ("packet_rate_bps", d.packet_rate),
        ("circuit_rate_bps", d.circuit_rate),
    ];
    vec![
        (
            "quantity",
            Column::Text(rows.iter().map(|r| r.0.to_owned()).collect()),
        ),
        (
            "mean",
            Column::Floats(rows.iter().map(|r| r.1.mean).collect()),
        ),
        (
            "std",
            Column::Floats(rows.iter().map(|r| r.1.std()).collect()),
        ),
        ("count", integers(&rows, |r| r.1.count as i64)),
    ]
}
