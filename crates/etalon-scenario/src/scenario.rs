// SPDX-License-Identifier: MIT OR Apache-2.0
//! A whole experiment.

use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;

use etalon_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::{
    Asked, Change, Circuits, Class, Control, CrossConnect, Dfsio, Flow, Generator, Hosts, Job,
    Measure, Network, Notify, Place, Program, Rdcn, RotorLb, Schedule, Slices, Tcp, Transport,
    Weeks,
};

/// A whole experiment. Times of network and workload are virtual, those of [`Tcp`] are the hosts'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scenario {
    /// Seed of all random streams.
    pub seed: u64,
    /// Time dilation factor: how many times faster than virtual time the clocks of end hosts run. Positive.
    pub tdf: u64,
    /// Length of the experiment.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Time at the start that is not measured, shorter than the experiment.
    #[serde(rename = "warmup_ns")]
    pub warmup: Span,
    /// The hosts.
    pub hosts: Hosts,
    /// What lies between them.
    pub network: Network,
    /// The circuit schedule; none for a network without circuits.
    #[serde(default)]
    pub schedule: Option<Weeks>,
    /// The hosts' TCP.
    pub tcp: Tcp,
    /// The workload.
    pub flows: Vec<Flow>,
    /// Programs that run on hosts.
    #[serde(default)]
    pub programs: Vec<Program>,
    /// Jobs that write files to HDFS.
    #[serde(default)]
    pub dfsio: Vec<Dfsio>,
    /// Workloads that functions of the user's make while the run lasts.
    #[serde(default)]
    pub generators: Vec<Generator>,
    /// Jobs of ranks.
    #[serde(default)]
    pub jobs: Vec<Job>,
    /// The run ends as soon as every flow and every job is over.
    #[serde(default)]
    pub end_when_done: bool,
    /// What is measured beyond the usual.
    pub measure: Measure,
}

impl Scenario {
    /// Whether applications open flows beside those that are listed: HDFS, jobs of ranks, or workloads in Python.
    #[must_use]
    pub fn has_applications(&self) -> bool {
        !(self.dfsio.is_empty() && self.jobs.is_empty() && self.generators.is_empty())
    }

    /// Reads a scenario from JSON and checks it.
    ///
    /// # Errors
    /// [`ScenarioError`] for text that is no scenario, and for one that contradicts itself.
    #[cfg(feature = "json")]
    pub fn from_json(text: &str) -> Result<Scenario, ScenarioError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let mut scenario: Scenario =
            serde_path_to_error::deserialize(&mut json).map_err(ScenarioError::new)?;
        json.end().map_err(ScenarioError::new)?;
        for index in 1..scenario.flows.len() {
            let (before, rest) = scenario.flows.split_at_mut(index);
            rest[0].share_with(&before[index - 1]);
        }
        scenario.check()?;
        Ok(scenario)
    }

    /// Whether it can be run: what reads a scenario asks once, before anything is made of it.
    ///
    /// # Errors
    /// [`ScenarioError`] for the first contradiction.
    pub fn check(&self) -> Result<(), ScenarioError> {
        ensure!(self.tdf > 0, "tdf must be at least 1");
        ensure!(
            self.warmup < self.duration,
            "the warm-up must be shorter than the experiment"
        );
        ensure!(
            self.duration.0.checked_mul(self.tdf).is_some(),
            "the experiment is too long"
        );
        self.hosts.check()?;
        self.network.kind().check(&self.hosts)?;
        self.check_schedule()?;
        self.nights()?;
        self.tcp.check()?;
        let tdns = match (self.tdns(), self.notify()) {
            (1, None) => 0, // nothing takes turns, and nobody says so
            (tdns, _) => tdns,
        };
        for (index, flow) in self.flows.iter().enumerate() {
            flow.check(index, &self.hosts, tdns)?;
            self.check_priority(index, flow)?;
            self.check_rotorlb(index, flow)?;
        }
        self.check_rotors()?;
        for (index, job) in self.dfsio.iter().enumerate() {
            job.check(index, tdns, self.hosts.mtu)?;
        }
        for (index, generator) in self.generators.iter().enumerate() {
            generator.check(index, tdns, self.hosts.mtu)?;
        }
        for (index, job) in self.jobs.iter().enumerate() {
            job.check(index, &self.hosts, tdns)?;
            ensure!(
                job.circuits == Circuits::None || self.asked().is_some(),
                "job {index} asks for circuits, but the schedule follows weeks"
            );
        }
        for (index, program) in self.programs.iter().enumerate() {
            program.check(index, &self.hosts)?;
        }
        self.measure.check(self)
    }

    fn check_schedule(&self) -> Result<(), ScenarioError> {
        if let Some(notify) = self.notify() {
            notify.check(self.schedule.as_ref())?;
        }
        let Some(weeks) = &self.schedule else {
            return Ok(());
        };
        let (network, racks) = (self.network.kind(), self.hosts.racks);
        ensure!(
            network.follows_weeks(),
            "schedules are for networks with circuits only"
        );
        for week in weeks.given() {
            let schedule = week.racks();
            ensure!(
                schedule == racks,
                "the schedule is for {schedule} racks, the network has {racks}"
            );
            network.check_week(&self.hosts, week)?;
        }
        ensure!(
            weeks.control.is_none() || weeks.changes.is_empty(),
            "weeks that are computed cannot be changed"
        );
        ensure!(
            weeks.asked.is_none()
                || weeks.control.is_none()
                    && weeks.changes.is_empty()
                    && weeks.first.configurations().len() == 1,
            "circuits that jobs ask for follow no weeks"
        );
        ensure!(
            weeks.changes.is_sorted_by_key(|change| change.at),
            "changes of the schedule must be in order of time"
        );
        Ok(())
    }

    fn check_priority(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let classes = self.network.kind().classes();
        let Some(class) = flow.priority else {
            return Ok(());
        };
        ensure!(
            classes > 0,
            "flow {index}: only networks of circuits have classes"
        );
        ensure!(
            class.index() < classes,
            "flow {index}: there is no class {}, but {classes} from 0 on",
            class.0
        );
        Ok(())
    }

    fn check_rotorlb(&self, index: usize, flow: &Flow) -> Result<(), ScenarioError> {
        let class = match &self.network {
            Network::Ocs(ocs) => ocs.rotorlb().map(|found| found.0),
            _ => None,
        };
        let is_of_it = class.is_some_and(|class| self.class_of(flow) == class);
        if self.rotorlb_of(flow).is_none() {
            ensure!(
                !is_of_it,
                "flow {index}: RotorLB carries its class, and its transport is another: only those of RotorLB and NDP may be of it"
            );
            return Ok(());
        }
        ensure!(
            is_of_it,
            "flow {index}: RotorLB needs a network of circuits in which it carries the flow's class"
        );
        ensure!(
            flow.src_rack != flow.dst_rack,
            "flow {index}: RotorLB carries flows over circuits, and there is none within rack {}",
            flow.src_rack
        );
        Ok(())
    }

    /// That circuits change, if a flow waits for that.
    fn check_rotors(&self) -> Result<(), ScenarioError> {
        let waits = |flow: &Flow| self.rotorlb_of(flow).is_some();
        if let (Network::Ocs(ocs), Some(index)) = (&self.network, self.flows.iter().position(waits))
        {
            ensure!(
                !Slices::of(&ocs.uplinks)?.are_static(),
                "flow {index}: RotorLB sends when circuits change, and they never do"
            );
        }
        Ok(())
    }

    /// What flows have in common that jobs of ranks and generators open.
    pub fn kinds(&self) -> impl Iterator<Item = Flow> + '_ {
        let of = |cc: &_, transport: &_| Flow {
            cc: Arc::clone(cc),
            transport: Arc::clone(transport),
            ..Flow::default()
        };
        let jobs = self.jobs.iter().map(move |job| of(&job.cc, &job.transport));
        let generators = self.generators.iter();
        jobs.chain(generators.map(move |one| of(&one.cc, &one.transport)))
    }

    /// The network's class of a flow's packets: the first, where there are none.
    #[must_use]
    pub fn class_of(&self, flow: &Flow) -> Class {
        flow.priority
            .unwrap_or_else(|| match (&*flow.transport, self.rotorlb()) {
                (Transport::RotorLb(_), Some(class)) => class,
                _ => self.network.kind().class_of(flow.bytes),
            })
    }

    /// The class that RotorLB carries, if there is one.
    fn rotorlb(&self) -> Option<Class> {
        match &self.network {
            Network::Ocs(ocs) => ocs.rotorlb().map(|found| found.0),
            _ => None,
        }
    }

    /// RotorLB's packets, if it carries a flow: one that says so, or one of NDP that is of the class which RotorLB carries.
    #[must_use]
    pub fn rotorlb_of(&self, flow: &Flow) -> Option<RotorLb> {
        match &*flow.transport {
            Transport::RotorLb(rotorlb) => Some(*rotorlb),
            Transport::Ndp(ndp) => {
                let class = self.rotorlb()?;
                (self.class_of(flow) == class).then(|| ndp.into())
            }
            _ => None,
        }
    }

    /// The rate of the links to hosts: of their ports if the network has such, else of their NICs.
    #[must_use]
    pub fn rate_to_hosts(&self) -> Rate {
        let ports = self.network.kind().ports(&self.hosts);
        let mut to_hosts = ports
            .iter()
            .filter(|port| matches!(port.to, Place::Host(_)));
        to_hosts.next().map_or(self.hosts.rate, |port| port.rate)
    }

    /// How many networks lead from rack to rack, in turn: TDNs are numbered from 0, the packet network, to below this.
    #[must_use]
    pub fn tdns(&self) -> usize {
        self.network.kind().tdns(&self.hosts)
    }

    /// How many paths the sender of a flow has: TDTCP's TDNs, MPTCP's subflows, or one.
    #[must_use]
    pub fn paths(&self, flow: usize) -> usize {
        match &*self.flows[flow].transport {
            Transport::Tdtcp(_) => self.tdns(),
            other => other.subflows().into(),
        }
    }

    /// The start of measurement.
    #[must_use]
    pub fn begin(&self) -> Time {
        Time(self.warmup.0)
    }

    /// The end of the experiment.
    #[must_use]
    pub fn end(&self) -> Time {
        Time(self.duration.0)
    }

    /// How weeks are computed from demand, if they are.
    #[must_use]
    pub fn control(&self) -> Option<&Control> {
        self.schedule.as_ref()?.control.as_ref()
    }

    /// How circuits change that jobs ask for, if they do.
    #[must_use]
    pub fn asked(&self) -> Option<&Asked> {
        let asked = || self.schedule.as_ref()?.asked.as_ref();
        self.network.kind().asked().or_else(asked)
    }

    /// How weeks are computed from demand, and for which network, if they are.
    #[must_use]
    pub fn computed(&self) -> Option<(&Control, &Rdcn)> {
        self.control().zip(self.network.kind().controlled())
    }

    /// How hosts hear which network leads to a rack, if they do.
    #[must_use]
    pub fn notify(&self) -> Option<&Notify> {
        self.network.kind().notify()
    }

    /// Weeks that follow the first, if they are given.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        self.schedule.as_ref().map_or(&[], |weeks| &weeks.changes)
    }

    /// The week that repeats, or the first of those that are computed: one idle day a millisecond without circuits.
    #[must_use]
    pub fn first_week(&self) -> Cow<'_, Schedule> {
        match &self.schedule {
            Some(weeks) => Cow::Borrowed(&weeks.first),
            None => Cow::Owned(Schedule::idle(self.hosts.racks)),
        }
    }

    /// The circuits of the first day.
    pub fn first_circuits(&self) -> impl Iterator<Item = CrossConnect> + '_ {
        let weeks = self.schedule.iter();
        let first = weeks.filter_map(|weeks| weeks.first.configurations().first());
        let of_week = first.flat_map(|day| {
            let connect = |pair| CrossConnect {
                plane: day.plane,
                pair,
            };
            day.matching.pairs().map(connect)
        });
        of_week.chain(self.network.kind().first_circuits())
    }
}

/// The JSON schema of a [`Scenario`].
#[cfg(feature = "schema")]
#[must_use]
pub fn schema() -> alloc::string::String {
    use alloc::string::ToString;
    schemars::schema_for!(Scenario).as_value().to_string()
}
