// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run returns: its tables.

use etalon_events::{DropReason, Pair};
use etalon_scenario::{Flow, PlaneFacts, Scenario};
use etalon_units::{Span, Time};

use crate::computed::Computed;
use crate::facts::{Counters, FlowFacts};
use crate::jobs::{self, JobRows};
use crate::meter::{FlowMeter, Meter};
use crate::nsdi20::{Days, Span20};
use crate::pairs::PairMetrics;
use crate::paths::QUANTITIES;
use crate::probe::{Metrics, Moments};
use crate::reordering;
use crate::senders::Sender;
use crate::table::{by_plane, integers, named};

pub use crate::table::{Column, Table};

/// What the planes that there are are called.
fn names(planes: &[PlaneFacts]) -> Vec<&'static str> {
    let there = planes.iter().filter(|plane| plane.exists());
    there.map(|plane| plane.name).collect()
}

/// Facts about the run as a whole.
#[derive(Clone, Debug)]
pub struct Meta {
    /// Digest of weeks and of what happened to packets: equal for equal runs.
    pub digest: String,
    /// Events that the main loop handled.
    pub events: u64,
    /// Data packets that left the network in the measured time.
    pub packets_delivered: u64,
    /// Packets that passed an egress port of a switch or a host, in all of the run; 0 for networks that are not made of ports.
    pub hops: u64,
    /// Virtual time that was simulated.
    pub simulated_ns: u64,
    /// The run was stopped before its end.
    pub partial: bool,
    /// Runs that the sequence graph is averaged over.
    pub sequence_runs: usize,
    /// Largest number of packets that were in flight together.
    pub peak_in_network: usize,
    /// Names of the network's planes, in order.
    pub planes: Vec<&'static str>,
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
    /// State of chosen senders: one row a change.
    pub tcp: Table,
    /// How many days of the measured pair's flows had how much reordering; empty if that was not asked for.
    pub reordering: Table,
    /// One row an egress port; empty if that was not asked for.
    pub ports: Table,
    /// One row for each class and number of hops in a network of circuits; empty of others.
    pub hops: Table,
    /// What links of a network of circuits carried over time; empty if that was not asked for.
    pub links: Table,
    /// One row a file that a job wrote to HDFS.
    pub writes: Table,
    /// One row a circuit that was asked for, or that was there at the start; empty if circuits are not asked for.
    pub cross_connects: Table,
    /// One row an iteration of a job of ranks.
    pub iterations: Table,
    /// One row a message or computation of a job of ranks.
    pub steps: Table,
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
    /// What jobs of ranks did.
    pub jobs: &'a JobRows,
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
    if let Some(ended) = &meter.ended {
        digest.mix(ended.digest.value());
    }
    let travels = metrics.travels.as_deref();
    Results {
        meta: Meta {
            digest: format!("{:016x}", digest.value()),
            events: outcome.events,
            packets_delivered: meter.delivered,
            hops: metrics.hops,
            simulated_ns: end.0,
            partial: outcome.partial,
            sequence_runs: metrics.runs.count(),
            peak_in_network: outcome.peak_in_network,
            planes: names(metrics.planes()),
            computed: metrics.computed.clone(),
        },
        flows: flows(outcome),
        pairs: pairs(plan, meter, metrics, end),
        latency: latency(plan, metrics),
        sequence: sequence(meter, metrics, end),
        days: days(metrics),
        tcp: tcp(meter),
        reordering: reordering::table(
            meter.flows.iter().filter_map(FlowMeter::order),
            plan.measure.reordering.then_some(&meter.reordering),
            metrics.runs.days(),
        ),
        ports: metrics
            .ports
            .as_ref()
            .map_or_else(Table::new, |ports| ports.table(end)),
        hops: travels.map_or_else(Table::new, |found| found.hops(&meter.relayed)),
        links: travels.map_or_else(Table::new, |found| found.links(end)),
        writes: writes(outcome.writes),
        cross_connects: metrics
            .cross_connects
            .as_ref()
            .map_or_else(Table::new, |found| found.table()),
        iterations: jobs::iterations(&outcome.jobs.iterations),
        steps: jobs::steps(&outcome.jobs.steps),
    }
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
            counters: facts.counters.since(&outcome.meter.baseline(index)),
        })
        .collect();
    let all = |f: fn(&FlowRow<'_>) -> i64| integers(&rows, f);
    let measured = outcome.end.0.saturating_sub(outcome.plan.warmup.0).max(1);
    let mean_cwnd = |r: &FlowRow<'_>| r.meter.cwnd_time as f64 / measured as f64;
    let carried = |plane: usize| integers(&rows, |r| outcome.meter.carried(r.index, plane) as i64);
    let mut table = who(&rows);
    table.extend(by_plane(outcome.metrics.planes(), "bytes", carried));
    table.extend(named([
        ("retransmits", all(|r| r.counters.retransmits as i64)),
        ("rtos", all(|r| r.counters.rtos as i64)),
        ("tlps", all(|r| r.counters.tlps as i64)),
        ("recoveries", all(|r| r.counters.recoveries as i64)),
        ("undos", all(|r| r.counters.undos as i64)),
        (
            "spurious",
            all(|r| r.meter.order().map_or(-1, |o| o.spurious as i64)),
        ),
        ("cwnd", all(|r| r.facts.cwnd.into())),
        ("ssthresh", all(|r| r.facts.ssthresh.map_or(-1, i64::from))),
        ("srtt_ns", all(|r| r.facts.srtt_ns as i64)),
        (
            "mean_cwnd",
            Column::Floats(rows.iter().map(mean_cwnd).collect()),
        ),
    ]));
    table
}

/// Who sends what to whom, and when.
fn who(rows: &[FlowRow<'_>]) -> Table {
    let all = |f: fn(&FlowRow<'_>) -> i64| integers(rows, f);
    named([
        ("flow", all(|r| r.index as i64)),
        ("src_rack", all(|r| r.plan.src_rack.into())),
        ("src_host", all(|r| r.plan.src_host.into())),
        ("dst_rack", all(|r| r.plan.dst_rack.into())),
        ("dst_host", all(|r| r.plan.dst_host.into())),
        ("src_port", all(|r| r.facts.ports.0.into())),
        ("dst_port", all(|r| r.facts.ports.1.into())),
        (
            "cc",
            Column::Text(rows.iter().map(|r| r.plan.cc.to_string()).collect()),
        ),
        (
            "class",
            Column::Text(rows.iter().map(|r| r.plan.class.to_string()).collect()),
        ),
        ("bytes", all(|r| r.plan.bytes.map_or(-1, |b| b as i64))),
        ("start_ns", all(|r| r.plan.start.0 as i64)),
        ("stop_ns", all(|r| r.plan.stop.map_or(-1, |t| t.0 as i64))),
        ("end_ns", all(|r| r.meter.end.map_or(-1, |t| t.0 as i64))),
        ("bytes_delivered", all(|r| r.counters.received as i64)),
        (
            "bytes_warmup",
            all(|r| {
                r.facts
                    .counters
                    .received
                    .saturating_sub(r.counters.received) as i64
            }),
        ),
    ])
}

fn all_pairs(plan: &Scenario) -> impl Iterator<Item = Pair> {
    let racks = plan.hosts.racks;
    (0..racks).flat_map(move |src| (0..racks).map(move |dst| Pair { src, dst }))
}

/// A pair of the pairs' table.
struct PairRow<'a> {
    pair: Pair,
    metrics: &'a PairMetrics,
    /// By plane.
    payload: &'a [u64],
    /// How NSDI'20 would have looked at it.
    nsdi20: Span20,
    /// Measurement began when packets were under way.
    warmed_up: bool,
}

impl PairRow<'_> {
    /// What the pair could have sent over a plane, in bytes. Within a rack nothing is between hosts.
    fn capacity(&self, plane: usize, facts: &PlaneFacts) -> u64 {
        if self.pair.src == self.pair.dst && !facts.is_within_racks() {
            return 0;
        }
        let unwatched = if self.warmed_up {
            facts.behind(self.pair)
        } else {
            Span::ZERO
        };
        self.metrics.services[plane].capacity(facts.rate(self.pair), unwatched)
    }

    /// Payload carried by a plane, as a share of what the pair could have sent over it.
    fn utilization(&self, plane: usize, facts: &PlaneFacts) -> f64 {
        share(self.payload[plane], self.capacity(plane, facts) as f64)
    }

    /// The same by the definition of NSDI'20.
    fn utilization_nsdi20(&self, plane: usize, facts: &PlaneFacts) -> f64 {
        let rate = facts.rate(self.pair).0 as f64;
        let seconds = self.nsdi20.of_plane(plane, facts);
        share(self.payload[plane], seconds * rate / 8.0)
    }
}

/// A share of a capacity in bytes; nothing of nothing is nothing.
fn share(payload: u64, capacity: f64) -> f64 {
    if capacity > 0.0 {
        payload as f64 / capacity
    } else {
        0.0
    }
}

/// The pairs that carried data or lost packets.
fn pair_rows<'a>(
    plan: &Scenario,
    payload: &'a [u64],
    metrics: &'a Metrics,
    end: Time,
) -> Vec<PairRow<'a>> {
    let planes = metrics.planes().len();
    let by_pair = payload.chunks(planes);
    let days = Days::new(plan, planes);
    let row = |(pair, payload): (Pair, &'a [u64])| {
        let metrics = metrics.pair(pair)?;
        if payload.iter().chain(&metrics.dropped).all(|&n| n == 0) {
            return None;
        }
        Some(PairRow {
            pair,
            metrics,
            payload,
            nsdi20: Span20::new(plan, days.as_ref(), metrics, pair, end),
            warmed_up: plan.begin() > Time::ZERO,
        })
    };
    all_pairs(plan).zip(by_pair).filter_map(row).collect()
}

fn pairs(plan: &Scenario, meter: &Meter, metrics: &Metrics, end: Time) -> Table {
    let payload = meter.payload();
    let rows = pair_rows(plan, &payload, metrics, end);
    let planes = metrics.planes();
    let metric = |f: fn(&PairMetrics) -> i64| integers(&rows, |r| f(r.metrics));
    let dropped =
        |reason: DropReason| integers(&rows, |r| r.metrics.dropped[reason as usize] as i64);
    let floats = |f: &dyn Fn(&PairRow<'_>) -> f64| Column::Floats(rows.iter().map(f).collect());
    let has_voqs = plan.network.kind().has_voqs();
    let mean = |f: &dyn Fn(&PairMetrics) -> (u64, u64)| {
        floats(&|r| match f(r.metrics) {
            (sum, count) if has_voqs && count > 0 => sum as f64 / count as f64,
            _ => f64::NAN, // of nothing, or of other queues
        })
    };
    let measured = end.saturating_since(plan.begin()).0;
    let carried = |plane| integers(&rows, |r| r.payload[plane] as i64);
    let packets = |plane: usize| integers(&rows, |r| r.metrics.latency.total(plane) as i64);
    let capacity = |plane: usize| integers(&rows, |r| r.capacity(plane, &planes[plane]) as i64);
    let utilization = |plane: usize| floats(&|r| r.utilization(plane, &planes[plane]));
    let nsdi20 = |plane: usize| floats(&|r| r.utilization_nsdi20(plane, &planes[plane]));
    let data_packets =
        |m: &PairMetrics| (0..planes.len()).map(|plane| m.latency.total(plane)).sum();
    let mut table = named([
        ("src", integers(&rows, |r| r.pair.src.into())),
        ("dst", integers(&rows, |r| r.pair.dst.into())),
    ]);
    table.extend(by_plane(planes, "payload_bytes", carried));
    table.extend(by_plane(planes, "packets", packets));
    table.extend(by_plane(planes, "capacity_bytes", capacity));
    table.extend(by_plane(planes, "utilization", utilization));
    table.extend(by_plane(planes, "utilization_nsdi20", nsdi20));
    table.extend(named([
        ("dropped_voq", dropped(DropReason::Full)),
        ("dropped_shrink", dropped(DropReason::Shrunk)),
        ("dropped_hold", dropped(DropReason::HoldFull)),
        ("dropped_downlink", dropped(DropReason::DownlinkFull)),
        ("dropped_link", dropped(DropReason::LinkDown)),
        ("dropped_dark", dropped(DropReason::Dark)),
        ("dropped_loop", dropped(DropReason::Loop)),
        ("marked", metric(|m| m.marked as i64)),
        ("trimmed", metric(|m| m.trimmed as i64)),
        ("returned", metric(|m| m.returned as i64)),
        ("voq_mean", mean(&|m| (m.voq_time, measured))),
        (
            "voq_mean_per_departure",
            mean(&|m| (m.voq_sum, data_packets(m))),
        ),
        ("voq_at_day_start", mean(&|m| (m.voq_at_day_start, m.days))),
    ]));
    table
}

fn latency(plan: &Scenario, metrics: &Metrics) -> Table {
    // Column by column: a hundred racks fill millions of bins.
    let mut columns: [Vec<i64>; 5] = Default::default();
    let mut rows = Vec::new();
    for pair in all_pairs(plan) {
        let Some(m) = metrics.pair(pair) else {
            continue;
        };
        for plane in 0..metrics.planes().len() {
            for (lower, upper, count) in m.latency.bins(plane) {
                let row = [
                    pair.src.into(),
                    pair.dst.into(),
                    lower as i64,
                    upper as i64,
                    count as i64,
                ];
                for (column, value) in columns.iter_mut().zip(row) {
                    column.push(value);
                }
                rows.push(plane as u8);
            }
        }
    }
    let names = metrics.planes().iter().map(|plane| plane.name).collect();
    let [src, dst, lower, upper, count] = columns.map(Column::Integers);
    named([
        ("src", src),
        ("dst", dst),
        ("network", Column::Names { names, rows }),
        ("lower_ns", lower),
        ("upper_ns", upper),
        ("count", count),
    ])
}

fn sequence(meter: &Meter, metrics: &Metrics, end: Time) -> Table {
    let voq = metrics.runs.reached(end);
    let measured = meter.measured_flows();
    let flows: Vec<usize> = voq.iter().map(|runs| runs * measured).collect();
    let step = metrics.runs.step() as i64;
    let mut table = named([
        (
            "t_ns",
            Column::Integers((0..voq.len() as i64).map(|i| i * step).collect()),
        ),
        ("bytes", Column::Floats(meter.sequence.mean(&flows))),
        ("voq_packets", Column::Floats(metrics.voq_curve.mean(&voq))),
        ("cwnd_packets", Column::Floats(meter.cwnd.mean(&flows))),
    ]);
    for (plane, means) in metrics.planes().iter().zip(meter.paths.means(&voq)) {
        for ((what, _), mean) in QUANTITIES.iter().zip(means) {
            table.push((
                format!("{}_{what}", plane.name).into(),
                Column::Floats(mean),
            ));
        }
    }
    table
}

fn tcp(meter: &Meter) -> Table {
    let mut rows = Vec::new();
    for (flow, meter) in meter.flows.iter().enumerate() {
        let samples = meter.samples.iter().flat_map(|samples| samples.rows());
        rows.extend(samples.map(|&(time, sender)| (time, flow, sender)));
    }
    rows.sort_by_key(|&(time, flow, sender)| (time, flow, sender.path));
    let all = |f: fn(&Sender) -> i64| integers(&rows, |r| f(&r.2));
    named([
        ("t_ns", integers(&rows, |r| r.0.0 as i64)),
        ("flow", integers(&rows, |r| r.1 as i64)),
        ("path", all(|s| s.path.into())),
        ("cwnd", all(|s| s.cwnd.into())),
        ("ssthresh", all(|s| s.ssthresh.map_or(-1, i64::from))),
        ("srtt_ns", all(|s| s.srtt_ns as i64)),
        ("pipe", all(|s| s.pipe.into())),
        (
            "state",
            Column::Text(rows.iter().map(|r| r.2.state.name().to_owned()).collect()),
        ),
    ])
}

fn writes(rows: &[Write]) -> Table {
    named([
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
    ])
}

fn days(metrics: &Metrics) -> Table {
    let d = &metrics.days;
    let mut rows: Vec<(String, Moments)> =
        vec![("day_ns".into(), d.day), ("week_ns".into(), d.week)];
    for (plane, feed) in metrics.planes().iter().zip(&d.feeds) {
        rows.push((format!("{}_rate_bps", plane.name), feed.rate));
    }
    named([
        (
            "quantity",
            Column::Text(rows.iter().map(|r| r.0.clone()).collect()),
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
    ])
}

#[cfg(test)]
mod tests;
