//! The resolved plan: an experiment in integers, units in the names. What people write is resolved to this in Python.

mod network;

use std::fmt;

use etalon_schedule::{ControlConfig, Estimator, Pace};
use etalon_switch::{Configuration, Matching, Pair, Schedule};
use etalon_units::{Bytes, Rate, Span, Time};
use serde::Deserialize;

pub use network::{
    CircuitPlan, DumbbellPlan, HostPlan, MarkingPlan, NetworkPlan, PacketPlan, PairCapacity,
    RdcnPlan, ResizePlan, StagePlan, VoqPlan,
};

/// A whole experiment. Times of network and workload are virtual, those of [`TcpPlan`] are host time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Seed of all random streams.
    pub seed: u64,
    /// Time dilation factor: how many times faster than virtual time the clocks of end hosts run.
    pub tdf: u64,
    /// Length of the experiment.
    pub duration_ns: u64,
    /// Time at the start that is not measured.
    pub warmup_ns: u64,
    /// The network.
    pub network: NetworkPlan,
    /// The circuit schedule; none for a network without circuits.
    #[serde(default)]
    pub schedule: Option<SchedulePlan>,
    /// The hosts' TCP.
    pub tcp: TcpPlan,
    /// The workload.
    pub flows: Vec<FlowPlan>,
    /// Programs that run on hosts.
    #[serde(default)]
    pub programs: Vec<ProgramPlan>,
    /// Jobs that write files to HDFS.
    #[serde(default)]
    pub dfsio: Vec<DfsioPlan>,
    /// The run ends as soon as every flow and every job is over.
    #[serde(default)]
    pub end_when_done: bool,
    /// What is measured beyond the usual.
    pub measure: MeasurePlan,
}

/// A week of configurations.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchedulePlan {
    /// The configurations in order; where weeks are computed, those of the first.
    pub configurations: Vec<ConfigurationPlan>,
    /// How the weeks after the first are computed; none if they are all the same.
    #[serde(default)]
    pub control: Option<ControlPlan>,
}

/// Weeks that are computed from demand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlPlan {
    /// The scheduler by name.
    pub scheduler: String,
    /// Where demand is known from.
    pub estimator: EstimatorPlan,
    /// Length of a week.
    pub window_ns: u64,
    /// Shortest day.
    pub min_day_ns: u64,
    /// The time after each day in which circuits are rearranged.
    pub night_ns: u64,
    /// Demand below this is small.
    pub threshold_bytes: u64,
    /// Small demand is always left to the packet network, not only where there is big demand.
    pub only_big: bool,
    /// The time that a computation takes.
    pub compute_ns: u64,
    /// Between the starts of computations at least.
    pub interval_ns: u64,
    /// The time that announcements of hosts take to the estimator.
    pub report_ns: u64,
}

/// Where demand is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EstimatorPlan {
    /// Bytes in each VOQ.
    Voq,
    /// What applications handed to their stacks, less what left the VOQs.
    Adu,
    /// What applications handed to their stacks, less what left the network, known at once.
    Oracle,
}

/// One day and its night.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigurationPlan {
    /// For each destination rack its source, -1 for none.
    pub sources: Vec<i32>,
    /// Length of the day.
    pub day_ns: u64,
    /// Length of the night.
    pub night_ns: u64,
}

/// The hosts' TCP, in host time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as in etalon_tcp::Config
pub struct TcpPlan {
    pub hz: u32,
    pub min_rto_ns: u64,
    pub initial_cwnd: u32,
    pub min_delayed_ack_ns: u64,
    pub max_delayed_ack_ns: u64,
    pub receive_buffer_bytes: u32,
    pub max_receive_buffer_bytes: u32,
    pub sack: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub pacing: bool,
}

/// One flow.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowPlan {
    /// Rack of the sender.
    pub src_rack: u16,
    /// Host of the sender in its rack.
    pub src_host: u16,
    /// Rack of the receiver.
    pub dst_rack: u16,
    /// Host of the receiver in its rack.
    pub dst_host: u16,
    /// Congestion control by name.
    pub cc: String,
    /// The congestion control's parameters.
    #[serde(default)]
    pub cc_params: std::collections::BTreeMap<String, f64>,
    /// When its client connects, not after the start; none for when it starts.
    #[serde(default)]
    pub connect_ns: Option<u64>,
    /// When it starts: its client has all of its bytes to send from then on.
    pub start_ns: u64,
    /// When it is killed, if ever.
    #[serde(default)]
    pub stop_ns: Option<u64>,
    /// Bytes to send; none for a bulk flow without end.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Results are given by class.
    #[serde(default)]
    pub class: String,
}

/// A job of tasks that each write a file to HDFS, all at once: the write test of DFSIO.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DfsioPlan {
    /// When the tasks begin.
    pub start_ns: u64,
    /// Number of tasks. Task i runs in rack i modulo the number of racks, on the hosts of each rack in turn.
    pub writers: u32,
    /// Length of each file.
    pub file_bytes: u64,
    /// Length of a block of a file, but for the last.
    pub block_bytes: u64,
    /// Length of a packet of a block, but for the last.
    pub packet_bytes: u64,
    /// Packets that a writer sends ahead of their acknowledgements.
    pub window_packets: u32,
    /// How the rack of a block's second and third replica is chosen.
    pub placement: Placement,
    /// Congestion control by name.
    pub cc: String,
    /// The congestion control's parameters.
    #[serde(default)]
    pub cc_params: std::collections::BTreeMap<String, f64>,
    /// Class of the connections.
    #[serde(default)]
    pub class: String,
}

/// How HDFS chooses the rack of the second and third replica of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Placement {
    /// Any other rack than the writer's, at random.
    Hdfs,
    /// Rack i + 1 for writers of rack i (Etalon'18, section 6.1).
    Rehdfs {
        /// After each such time the next rack is taken: i + 2, and so on. Without it, never.
        #[serde(default)]
        rotate_ns: Option<u64>,
    },
}

/// A program that runs on a host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramPlan {
    /// Rack of the host.
    pub rack: u16,
    /// The host in its rack.
    pub host: u16,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// When it starts.
    pub start_ns: u64,
}

/// What is measured beyond the usual.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasurePlan {
    /// The rack pair of sequence graph and day statistics.
    pub pair: (u16, u16),
    /// Length in weeks of one run of the sequence graph.
    pub weeks_per_run: u32,
}

/// Why a resolved plan cannot be run.
#[derive(Debug)]
pub struct PlanError(pub String);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PlanError {}

fn error<T>(text: impl Into<String>) -> Result<T, PlanError> {
    Err(PlanError(text.into()))
}

impl Plan {
    /// Reads a resolved plan from JSON and checks it.
    ///
    /// # Errors
    /// [`PlanError`] for text that is not a plan, and for a plan that contradicts itself.
    pub fn from_json(text: &str) -> Result<Plan, PlanError> {
        let plan: Plan = serde_json::from_str(text).map_err(|e| PlanError(e.to_string()))?;
        plan.check()?;
        Ok(plan)
    }

    fn check(&self) -> Result<(), PlanError> {
        if self.tdf == 0 {
            return error("tdf must be at least 1");
        }
        if self.warmup_ns >= self.duration_ns {
            return error("the warm-up must be shorter than the experiment");
        }
        if self.duration_ns.checked_mul(self.tdf).is_none() {
            return error("the experiment is too long");
        }
        if self.host().rate_bps == 0 {
            return error("the hosts' link rate must be positive");
        }
        if let NetworkPlan::Dumbbell(d) = &self.network {
            let stages = || d.stages.iter().chain(&d.return_stages);
            if d.stages.is_empty() || d.return_stages.is_empty() {
                return error("a dumbbell needs at least one stage in each direction");
            }
            if stages().any(|s| s.rate_bps == Some(0)) {
                return error("the rate of a stage must be positive");
            }
        }
        if self.control().is_some() && !matches!(self.network, NetworkPlan::Rdcn(_)) {
            return error("schedules are computed for networks with circuits only");
        }
        if self.tcp.hz == 0 || self.tcp.hz > 1_000_000 {
            return error("tcp.hz must lie between 1 and 1000000");
        }
        for (index, flow) in self.flows.iter().enumerate() {
            for (rack, host) in [
                (flow.src_rack, flow.src_host),
                (flow.dst_rack, flow.dst_host),
            ] {
                if !self.has_host(rack, host) {
                    return error(format!("flow {index}: there is no host r{rack}h{host}"));
                }
            }
            if flow.src_rack == flow.dst_rack {
                return error(format!(
                    "flow {index} does not leave rack {}",
                    flow.src_rack
                ));
            }
            if flow.bytes == Some(0) {
                return error(format!("flow {index} has nothing to send"));
            }
            if flow.connects().0 > flow.start_ns {
                return error(format!("flow {index} starts before it connects"));
            }
        }
        for (index, job) in self.dfsio.iter().enumerate() {
            if [job.file_bytes, job.block_bytes, job.packet_bytes].contains(&0)
                || job.writers == 0
                || job.window_packets == 0
            {
                return error(format!("job {index} writes nothing"));
            }
            if job.placement == (Placement::Rehdfs { rotate_ns: Some(0) }) {
                return error(format!("job {index}: the mapping of racks needs some time"));
            }
        }
        for (index, program) in self.programs.iter().enumerate() {
            let ProgramPlan { rack, host, .. } = *program;
            if !self.has_host(rack, host) {
                return error(format!("program {index}: there is no host r{rack}h{host}"));
            }
            if program.command.is_empty() {
                return error(format!("program {index} has no command"));
            }
        }
        Ok(())
    }

    /// Number of racks.
    #[must_use]
    pub fn racks(&self) -> u16 {
        match &self.network {
            NetworkPlan::Rdcn(n) => n.racks,
            NetworkPlan::Dumbbell(_) => 2,
        }
    }

    /// Number of hosts in each rack.
    #[must_use]
    pub fn hosts(&self) -> u16 {
        match &self.network {
            NetworkPlan::Rdcn(n) => n.hosts,
            NetworkPlan::Dumbbell(d) => d.hosts,
        }
    }

    fn has_host(&self, rack: u16, host: u16) -> bool {
        rack < self.racks() && host < self.hosts()
    }

    /// Number of a host among all, rack by rack.
    #[must_use]
    pub fn host_index(&self, rack: u16, host: u16) -> u32 {
        u32::from(rack) * u32::from(self.hosts()) + u32::from(host)
    }

    /// The hosts.
    #[must_use]
    pub fn host(&self) -> &HostPlan {
        match &self.network {
            NetworkPlan::Rdcn(n) => &n.host,
            NetworkPlan::Dumbbell(d) => &d.host,
        }
    }

    /// Largest IP packet in bytes.
    #[must_use]
    pub fn mtu(&self) -> u16 {
        match &self.network {
            NetworkPlan::Rdcn(n) => n.mtu,
            NetworkPlan::Dumbbell(d) => d.mtu,
        }
    }

    /// The rack pair of sequence graph and day statistics.
    #[must_use]
    pub fn measured_pair(&self) -> Pair {
        let (src, dst) = self.measure.pair;
        Pair { src, dst }
    }

    /// The end of the experiment.
    #[must_use]
    pub fn end(&self) -> Time {
        Time(self.duration_ns)
    }

    /// How weeks are computed from demand, if they are.
    #[must_use]
    pub fn control(&self) -> Option<&ControlPlan> {
        self.schedule.as_ref()?.control.as_ref()
    }

    /// How weeks are computed from demand, if they are, as the core takes it.
    #[must_use]
    pub fn control_config(&self) -> Option<ControlConfig> {
        let (control, NetworkPlan::Rdcn(network)) = (self.control()?, &self.network) else {
            return None;
        };
        Some(ControlConfig {
            scheduler: control.scheduler.clone(),
            estimator: match control.estimator {
                EstimatorPlan::Voq => Estimator::Voq,
                EstimatorPlan::Adu => Estimator::Adu {
                    report: Span(control.report_ns),
                },
                EstimatorPlan::Oracle => Estimator::Oracle,
            },
            window: Span(control.window_ns),
            min_day: Span(control.min_day_ns),
            night: Span(control.night_ns),
            circuit: Rate(network.circuit.rate_bps),
            packet: Rate(network.packet.rate_bps),
            threshold: Bytes(control.threshold_bytes),
            only_big: control.only_big,
            pace: Pace {
                compute: Span(control.compute_ns),
                interval: Span(control.interval_ns),
            },
        })
    }

    /// The circuit schedule, of the first week if weeks are computed: one idle day a millisecond if the plan has none.
    ///
    /// # Errors
    /// [`PlanError`] if a configuration is not a matching.
    pub fn schedule(&self) -> Result<Schedule, PlanError> {
        let Some(plan) = &self.schedule else {
            let idle = Configuration {
                matching: Matching::idle(self.racks()),
                day: Span::from_millis(1),
                night: Span::ZERO,
            };
            return Schedule::new(vec![idle]).map_err(|e| PlanError(e.to_string()));
        };
        let mut configurations = Vec::new();
        for (index, c) in plan.configurations.iter().enumerate() {
            let sources = c.sources.iter().map(|&s| u16::try_from(s).ok()).collect();
            configurations.push(Configuration {
                matching: Matching::new(sources)
                    .map_err(|e| PlanError(format!("configuration {index}: {e}")))?,
                day: Span(c.day_ns),
                night: Span(c.night_ns),
            });
        }
        Schedule::new(configurations).map_err(|e| PlanError(e.to_string()))
    }
}

impl FlowPlan {
    /// When its client connects.
    #[must_use]
    pub fn connects(&self) -> Time {
        Time(self.connect_ns.unwrap_or(self.start_ns))
    }

    /// From the rack of the sender to that of the receiver.
    #[must_use]
    pub fn pair(&self) -> Pair {
        Pair {
            src: self.src_rack,
            dst: self.dst_rack,
        }
    }
}
