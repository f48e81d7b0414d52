//! What a run returns: tables of columns.

use etalon_switch::{Network, Pair};
use etalon_units::Time;

use crate::plan::{NetworkPlan, Plan, PlanError};
use crate::probe::{Metrics, Moments};
use crate::world::{Tap, World};

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
    /// Expected sequence number and VOQ length of the measured pair over a run of weeks.
    pub sequence: Table,
    /// Timing and rates of the measured pair's days.
    pub days: Table,
}

const NETWORKS: [Network; 2] = [Network::Packet, Network::Circuit];

fn name(network: Network) -> &'static str {
    match network {
        Network::Packet => "packet",
        Network::Circuit => "circuit",
    }
}

pub(crate) fn collect<T: Tap>(
    plan: &Plan,
    world: &World<T>,
    metrics: &Metrics,
    end: Time,
    partial: bool,
    events: u64,
) -> Result<Results, PlanError> {
    let mut digest = metrics.digest;
    for index in 0..world.flows.len() {
        digest.mix(world.endpoints[2 * index + 1].connection.bytes_received());
        digest.mix(world.flows[index].end.map_or(u64::MAX, |t| t.0));
    }
    Ok(Results {
        meta: Meta {
            digest: format!("{:016x}", digest.value()),
            events,
            packets_delivered: world.delivered,
            simulated_ns: end.0,
            partial,
            sequence_runs: metrics.runs.count(),
            peak_in_network: world.pool.peak(),
        },
        flows: flows(plan, world, end),
        pairs: pairs(plan, world, metrics)?,
        latency: latency(plan, metrics),
        sequence: sequence(world, metrics, end),
        days: days(metrics),
    })
}

fn integers<R>(rows: &[R], f: impl Fn(&R) -> i64) -> Column {
    Column::Integers(rows.iter().map(f).collect())
}

fn flows<T: Tap>(plan: &Plan, world: &World<T>, end: Time) -> Table {
    let rows: Vec<usize> = (0..plan.flows.len()).collect();
    let path = |i: usize| world.endpoints[2 * i].connection.path();
    let counters = |i: usize| world.measured_counters(i);
    let measured = end.0.saturating_sub(plan.warmup_ns).max(1);
    vec![
        ("flow", integers(&rows, |&i| i as i64)),
        (
            "src_rack",
            integers(&rows, |&i| plan.flows[i].src_rack.into()),
        ),
        (
            "src_host",
            integers(&rows, |&i| plan.flows[i].src_host.into()),
        ),
        (
            "dst_rack",
            integers(&rows, |&i| plan.flows[i].dst_rack.into()),
        ),
        (
            "dst_host",
            integers(&rows, |&i| plan.flows[i].dst_host.into()),
        ),
        (
            "cc",
            Column::Text(rows.iter().map(|&i| plan.flows[i].cc.clone()).collect()),
        ),
        (
            "bytes",
            integers(&rows, |&i| plan.flows[i].bytes.map_or(-1, |b| b as i64)),
        ),
        (
            "start_ns",
            integers(&rows, |&i| plan.flows[i].start_ns as i64),
        ),
        (
            "end_ns",
            integers(&rows, |&i| world.flows[i].end.map_or(-1, |t| t.0 as i64)),
        ),
        (
            "bytes_delivered",
            integers(&rows, |&i| counters(i).received as i64),
        ),
        (
            "circuit_bytes",
            integers(&rows, |&i| world.flows[i].payload[1] as i64),
        ),
        (
            "packet_bytes",
            integers(&rows, |&i| world.flows[i].payload[0] as i64),
        ),
        (
            "retransmits",
            integers(&rows, |&i| counters(i).retransmits as i64),
        ),
        ("rtos", integers(&rows, |&i| counters(i).rtos as i64)),
        ("tlps", integers(&rows, |&i| counters(i).tlps as i64)),
        (
            "recoveries",
            integers(&rows, |&i| counters(i).recoveries as i64),
        ),
        ("undos", integers(&rows, |&i| counters(i).undos as i64)),
        ("cwnd", integers(&rows, |&i| path(i).window().cwnd.into())),
        (
            "ssthresh",
            integers(&rows, |&i| match path(i).window().ssthresh {
                u32::MAX => -1,
                ssthresh => ssthresh.into(),
            }),
        ),
        (
            "srtt_ns",
            integers(&rows, |&i| (path(i).srtt() / plan.tdf) as i64),
        ),
        (
            "mean_cwnd",
            Column::Floats(
                rows.iter()
                    .map(|&i| world.flows[i].cwnd_time as f64 / measured as f64)
                    .collect(),
            ),
        ),
    ]
}

fn all_pairs(plan: &Plan) -> impl Iterator<Item = Pair> {
    let racks = plan.racks();
    (0..racks).flat_map(move |src| (0..racks).map(move |dst| Pair { src, dst }))
}

fn pairs<T: Tap>(plan: &Plan, world: &World<T>, metrics: &Metrics) -> Result<Table, PlanError> {
    let schedule = plan.schedule()?;
    let (packet_rate, circuit_rate) = match &plan.network {
        NetworkPlan::Rdcn(n) => (n.packet.rate_bps, n.circuit.rate_bps),
        NetworkPlan::Dumbbell(d) => {
            let slowest = d.stages.iter().filter_map(|s| s.rate_bps).min();
            (slowest.unwrap_or(d.host.rate_bps), 0)
        }
    };
    struct Row {
        pair: Pair,
        payload: [u64; 2],
        day_share: f64,
        span_s: f64,
    }
    let mut rows = Vec::new();
    for pair in all_pairs(plan) {
        let Some(m) = metrics.pair(pair) else {
            continue;
        };
        let mut payload = [0, 0];
        for (index, flow) in world.flows.iter().enumerate() {
            if world.endpoints[2 * index].pair == pair {
                payload[0] += flow.payload[0];
                payload[1] += flow.payload[1];
            }
        }
        if payload != [0, 0] {
            rows.push(Row {
                pair,
                payload,
                day_share: schedule.day_time(pair).0 as f64 / schedule.week().0 as f64,
                span_s: m
                    .first
                    .map_or(0.0, |first| m.last.saturating_since(first).as_secs_f64()),
            });
        }
    }
    let metric = |f: &dyn Fn(&crate::probe::PairMetrics) -> i64| {
        integers(&rows, |r: &Row| metrics.pair(r.pair).map_or(0, f))
    };
    let utilization = |network: Network, rate: u64| {
        let share = |r: &Row| match network {
            Network::Circuit => r.day_share,
            Network::Packet => 1.0 - r.day_share,
        };
        let capacity = |r: &Row| r.span_s * share(r) * rate as f64 / 8.0;
        let one = |r: &Row| match capacity(r) {
            c if c > 0.0 => r.payload[network as usize] as f64 / c,
            _ => 0.0,
        };
        Column::Floats(rows.iter().map(one).collect())
    };
    let ratio = |f: &dyn Fn(&crate::probe::PairMetrics) -> (u64, u64)| {
        let one = |r: &Row| {
            match (&plan.network, metrics.pair(r.pair).map_or((0, 0), f)) {
                (NetworkPlan::Rdcn(_), (sum, count)) => sum as f64 / count.max(1) as f64,
                // A dumbbell's queues are not followed.
                (NetworkPlan::Dumbbell(_), _) => f64::NAN,
            }
        };
        Column::Floats(rows.iter().map(one).collect())
    };
    Ok(vec![
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
            utilization(Network::Circuit, circuit_rate),
        ),
        (
            "packet_utilization",
            utilization(Network::Packet, packet_rate),
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
    ])
}

fn latency(plan: &Plan, metrics: &Metrics) -> Table {
    let mut rows = Vec::new();
    for pair in all_pairs(plan) {
        let Some(m) = metrics.pair(pair) else {
            continue;
        };
        for network in NETWORKS {
            for bin in m.latency[network as usize].bins() {
                rows.push((pair, name(network), bin));
            }
        }
    }
    vec![
        ("src", integers(&rows, |r| r.0.src.into())),
        ("dst", integers(&rows, |r| r.0.dst.into())),
        (
            "network",
            Column::Text(rows.iter().map(|r| r.1.to_owned()).collect()),
        ),
        ("lower_ns", integers(&rows, |r| r.2.0 as i64)),
        ("upper_ns", integers(&rows, |r| r.2.1 as i64)),
        ("count", integers(&rows, |r| r.2.2 as i64)),
    ]
}

fn sequence<T: Tap>(world: &World<T>, metrics: &Metrics, end: Time) -> Table {
    let voq = metrics.runs.reached(end);
    let flows: Vec<usize> = voq.iter().map(|runs| runs * world.measured_flows).collect();
    let step = metrics.runs.step() as i64;
    vec![
        (
            "t_ns",
            Column::Integers((0..voq.len() as i64).map(|i| i * step).collect()),
        ),
        ("bytes", Column::Floats(world.sequence.mean(&flows))),
        ("voq_packets", Column::Floats(metrics.voq_curve.mean(&voq))),
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
