// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs of ranks that compute, and exchange messages in collectives.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use etalon_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::hosts::{HostId, Hosts};
use crate::pair::Pair;
use crate::transport::Transport;

/// Ranks on hosts, one a host, that all do the same list of work, again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Job {
    /// When all ranks begin.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// When all pairs of ranks that will exchange anything connect; none for when each first does.
    #[serde(default, rename = "connect_ns")]
    pub connect: Option<Time>,
    /// The host of each rank: rack, and number there.
    pub ranks: Vec<(u16, u16)>,
    /// How often the list of work is done.
    pub iterations: u32,
    /// The list of work, which each rank does in this order.
    #[serde(rename = "do")]
    pub work: Vec<Work>,
    /// A trace of what each rank does, instead of a list of work.
    #[serde(default)]
    pub trace: Option<JobTrace>,
    /// Ranks that compute more slowly than others.
    #[serde(default)]
    pub slow: Vec<Slow>,
    /// The circuits that the job asks for.
    #[serde(default)]
    pub circuits: Circuits,
    /// Whether each message and computation has a row in the table of steps.
    pub steps: bool,
    /// Congestion control by name.
    pub cc: Arc<String>,
    /// The congestion control's parameters.
    #[serde(default)]
    pub cc_params: Arc<BTreeMap<String, f64>>,
    /// What carries its connections.
    #[serde(default)]
    pub transport: Arc<Transport>,
    /// Class of the connections.
    #[serde(default)]
    pub class: Arc<String>,
}

/// A trace in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct JobTrace {
    /// The path of the file, in GOAL.
    pub file: String,
    /// What identifies its content.
    pub digest: String,
}

/// The circuits that a job asks for, where circuits can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Circuits {
    /// None.
    #[default]
    None,
    /// In each step those of its messages.
    Each,
    /// Those of the steps for which a change is worth its time, by a dynamic program.
    Plan,
    /// Given ones, in order of steps.
    List(Vec<StepCircuits>),
}

impl Circuits {
    fn check(&self, index: usize, hosts: &Hosts) -> Result<(), ScenarioError> {
        let Circuits::List(stages) = self else {
            return Ok(());
        };
        ensure!(
            stages.is_sorted_by(|a, b| a.step < b.step),
            "job {index}: circuits are listed in order of steps"
        );
        for &Pair { src, dst } in stages.iter().flat_map(|stage| &stage.circuits) {
            ensure!(
                src.max(dst) < hosts.racks && src != dst,
                "job {index}: there is no circuit from rack {src} to rack {dst}"
            );
        }
        Ok(())
    }
}

/// Circuits from a step of an iteration on, until others are listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepCircuits {
    /// The step, from 0 on.
    pub step: u32,
    /// The circuits, each from one rack to another.
    pub circuits: Vec<Pair>,
}

/// A rank whose computations take longer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slow {
    /// Number of the rank.
    pub rank: u32,
    /// How many times as long.
    pub times: f64,
}

/// What ranks do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Work {
    /// Each of some ranks computes.
    Compute(Compute),
    /// All ranks take part in a collective.
    Collective(Collective),
    /// One rank sends a message to another.
    Send(Send),
}

/// A computation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Compute {
    /// How long it takes.
    #[serde(rename = "span_ns")]
    pub span: Span,
    /// It takes longer, at random, by up to this.
    #[serde(default, rename = "jitter_ns")]
    pub jitter: Span,
    /// The ranks that compute; none for all.
    #[serde(default)]
    pub ranks: Option<Vec<u32>>,
}

/// A message of one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Send {
    /// The rank that sends it.
    pub from: u32,
    /// The rank that receives it.
    pub to: u32,
    /// Its length.
    pub bytes: u64,
}

/// A collective operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Collective {
    /// What all ranks have in the end.
    pub kind: CollectiveKind,
    /// The name of the algorithm.
    pub algorithm: String,
    /// Length of the vector that is reduced, gathered or broadcast; of an all-to-all, of what a rank holds for all, itself
    /// included.
    pub bytes: u64,
    /// Of an all-to-all: bytes from each rank to each, row by row, instead of equal shares.
    #[serde(default)]
    pub matrix: Vec<u64>,
    /// The rank that broadcasts, or to which is reduced.
    #[serde(default)]
    pub root: u32,
    /// Bruck's algorithm: how many ways blocks part in a phase.
    #[serde(default)]
    pub radix: Option<u32>,
    /// Chains and trees: how many pieces the vector is cut into.
    #[serde(default)]
    pub pieces: Option<u32>,
    /// Hierarchical algorithms: how many groups the ranks form.
    #[serde(default)]
    pub groups: Option<u32>,
    /// Groups of ranks, each of which does the collective for itself; one of all ranks if empty.
    #[serde(default)]
    pub among: Vec<Vec<u32>>,
}

/// What a collective is for (MPI 4.1, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CollectiveKind {
    /// Each rank has the sum of all vectors.
    AllReduce,
    /// Each rank has its share of the sum of all vectors.
    ReduceScatter,
    /// Each rank has the shares of all ranks.
    AllGather,
    /// Each rank has a block of its own from each rank.
    AllToAll,
    /// Each rank has the root's vector.
    Broadcast,
    /// The root has the sum of all vectors.
    Reduce,
}

impl CollectiveKind {
    /// All of them.
    pub const ALL: [CollectiveKind; 6] = [
        CollectiveKind::AllReduce,
        CollectiveKind::ReduceScatter,
        CollectiveKind::AllGather,
        CollectiveKind::AllToAll,
        CollectiveKind::Broadcast,
        CollectiveKind::Reduce,
    ];

    /// Its name in plans.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CollectiveKind::AllReduce => "all-reduce",
            CollectiveKind::ReduceScatter => "reduce-scatter",
            CollectiveKind::AllGather => "all-gather",
            CollectiveKind::AllToAll => "all-to-all",
            CollectiveKind::Broadcast => "broadcast",
            CollectiveKind::Reduce => "reduce",
        }
    }
}

/// Ranks of a job.
pub const MOST_RANKS: usize = 4_096;

impl Collective {
    /// One with an algorithm as it is by default.
    #[must_use]
    pub fn new(kind: CollectiveKind, algorithm: &str, bytes: u64) -> Collective {
        Collective {
            kind,
            algorithm: String::from(algorithm),
            bytes,
            matrix: Vec::new(),
            root: 0,
            radix: None,
            pieces: None,
            groups: None,
            among: Vec::new(),
        }
    }

    /// How many ranks take part in one, in a job of so many.
    #[must_use]
    pub fn members(&self, ranks: u32) -> u32 {
        self.among.first().map_or(ranks, |group| group.len() as u32)
    }

    /// That groups are of one size, and no rank is in two.
    fn check_groups(&self, ranks: u32) -> Result<(), ScenarioError> {
        let size = self.members(ranks);
        let mut seen = alloc::vec![false; ranks as usize];
        for group in &self.among {
            ensure!(
                size >= 2 && group.len() == size as usize,
                "groups have two ranks or more, all as many"
            );
            for &rank in group {
                ensure!(rank < ranks, "there is no rank {rank}");
                ensure!(!seen[rank as usize], "rank {rank} is in two groups");
                seen[rank as usize] = true;
            }
        }
        Ok(())
    }
}

impl Job {
    /// Reads a job from JSON.
    ///
    /// # Errors
    /// [`ScenarioError`] for text that is none.
    #[cfg(feature = "json")]
    pub fn from_json(text: &str) -> Result<Job, ScenarioError> {
        serde_json::from_str(text).map_err(ScenarioError::new)
    }

    /// The host of a rank.
    #[must_use]
    pub fn host(&self, rank: u32) -> HostId {
        let (rack, number) = self.ranks[rank as usize];
        HostId::new(rack, number)
    }

    pub(crate) fn check(
        &self,
        index: usize,
        hosts: &Hosts,
        tdns: usize,
    ) -> Result<(), ScenarioError> {
        let n = self.ranks.len();
        ensure!(
            (2..=MOST_RANKS).contains(&n),
            "job {index} has 2 to {MOST_RANKS} ranks, not {n}"
        );
        for rank in 0..n as u32 {
            hosts.check_host(format_args!("job {index}: rank {rank}"), self.host(rank))?;
        }
        let mut sorted = self.ranks.clone();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            let (rack, host) = pair[0];
            ensure!(
                pair[0] != pair[1],
                "job {index} has two ranks on host r{rack}h{host}"
            );
        }
        ensure!(
            self.iterations > 0 && self.work.is_empty() == self.trace.is_some(),
            "job {index} does nothing, or both a list of work and a trace"
        );
        ensure!(
            self.trace.is_none() || self.circuits == Circuits::None,
            "job {index}: a trace asks for no circuits"
        );
        ensure!(
            self.connect.is_none_or(|connect| connect <= self.start),
            "job {index} starts before it connects"
        );
        for slow in &self.slow {
            ensure!(
                (slow.rank as usize) < n && slow.times > 0.0 && slow.times <= 1e6,
                "job {index}: rank {} cannot take {} times as long",
                slow.rank,
                slow.times
            );
        }
        for (number, work) in self.work.iter().enumerate() {
            work.check(n as u32).map_err(|why| {
                ScenarioError::new(format_args!("job {index}, do {number}: {why}"))
            })?;
        }
        self.circuits.check(index, hosts)?;
        let carried = self.transport.is_tcp();
        ensure!(
            carried,
            "job {index}: jobs are carried by TCP, TDTCP or MPTCP"
        );
        self.transport
            .check(format_args!("job {index}"), tdns, hosts.mtu)
    }
}

impl Work {
    /// Reads a list of work from JSON.
    ///
    /// # Errors
    /// [`ScenarioError`] for text that is none.
    #[cfg(feature = "json")]
    pub fn list_from_json(text: &str) -> Result<Vec<Work>, ScenarioError> {
        serde_json::from_str(text).map_err(ScenarioError::new)
    }

    fn check(&self, ranks: u32) -> Result<(), ScenarioError> {
        match self {
            Work::Compute(compute) => {
                for &rank in compute.ranks.iter().flatten() {
                    ensure!(rank < ranks, "there is no rank {rank}");
                }
            }
            Work::Send(send) => {
                let Send { from, to, bytes } = *send;
                ensure!(
                    from < ranks && to < ranks && from != to && bytes > 0,
                    "rank {from} cannot send {bytes} bytes to rank {to} of {ranks}"
                );
            }
            Work::Collective(collective) => {
                collective.check_groups(ranks)?;
                let ranks = collective.members(ranks);
                let root = collective.root;
                ensure!(root < ranks, "there is no rank {root}");
                let cells = (ranks as usize).pow(2);
                let given = collective.matrix.len();
                ensure!(
                    given == 0 || given == cells,
                    "the matrix has {given} entries; {ranks} ranks need {cells}"
                );
                ensure!(
                    given == 0 || collective.kind == CollectiveKind::AllToAll,
                    "only an all-to-all has a matrix"
                );
            }
        }
        Ok(())
    }
}
