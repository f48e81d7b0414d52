// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flows that MPTCP carries, found by flow and by host.

use std::ops::{Index, IndexMut};

use etalon_measure::FlowFacts;
use etalon_scenario::{Acks, Estimator, Mptcp, Scenario, ScenarioError, Transport};
use etalon_tcp::mptcp::{DataReceiver, DataSender};

use crate::endpoint::ALONE;
use crate::flows::Flows;

/// How far an end has come in ending its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    None,
    /// It has sent DATA_FIN.
    Said,
    /// Its subflows have shut down.
    Over,
}

/// A flow that MPTCP carries.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) plan: Mptcp,
    /// The flow of each subflow.
    pub(crate) flows: Vec<u32>,
    pub(crate) sender: DataSender,
    pub(crate) receiver: DataReceiver,
    /// Its bytes end.
    pub(crate) ends: bool,
    /// How far client and server have come in ending it.
    pub(crate) ending: [Ending; 2],
    /// Some of its data has left the host.
    pub(crate) departed: bool,
    /// The TDN when it last sent.
    pub(crate) tdn: usize,
    /// By subflow: how far it is at the edge of the network, and how often its sender has waited in vain for ACKs.
    pub(crate) reached: Vec<u64>,
    pub(crate) waited: Vec<u64>,
    /// By subflow: the largest window so far. What is left of mainline's turn, and whose it is.
    pub(crate) largest: Vec<u32>,
    pub(crate) turn: (u64, usize),
}

impl Group {
    /// The subflows with these flows.
    pub(crate) fn new(plan: Mptcp, flows: Vec<u32>) -> Group {
        Group {
            plan,
            sender: DataSender::default(),
            receiver: DataReceiver::default(),
            ends: false,
            ending: [Ending::None; 2],
            departed: false,
            tdn: 0,
            reached: vec![0; flows.len()],
            waited: vec![0; flows.len()],
            largest: vec![0; flows.len()],
            turn: (0, 0),
            flows,
        }
    }

    /// What is known of all subflows together; the window and the RTT are those of the first.
    pub(crate) fn facts(&self, flows: &Flows<'_>) -> FlowFacts {
        let mut facts = flows.facts(self.flows[0] as usize);
        let all = &mut facts.counters;
        for &flow in &self.flows[1..] {
            let more = flows.counters(flow as usize);
            all.retransmits += more.retransmits;
            all.rtos += more.rtos;
            all.tlps += more.tlps;
            all.recoveries += more.recoveries;
            all.undos += more.undos;
        }
        all.received = self.receiver.received();
        facts
    }

    /// The application writes into the send buffer, if there is room. As seen on Linux, it waits after its first buffer until the first segment
    /// has left the host: flows of one host that begin together take turns.
    pub(crate) fn refill(&mut self) -> bool {
        let waits = self.sender.has_written() && !self.departed;
        !waits && self.sender.refill()
    }

    /// Whether subflows send ACKs only while their TDN is there.
    pub(crate) fn pins_acks(&self) -> bool {
        self.plan.acks == Acks::Pinned
    }

    /// A subflow's bytes up to `end` (modulo 2^32) have left the network. Returns how far all subflows are together.
    pub(crate) fn reach(&mut self, subflow: usize, end: u32) -> u64 {
        let reached = &mut self.reached[subflow];
        let ahead = end.wrapping_sub(*reached as u32) as i32;
        *reached += u64::from(ahead.max(0) as u32);
        self.reached.iter().sum()
    }
}

/// All of them.
#[derive(Debug)]
pub(crate) struct Groups {
    all: Vec<Group>,
    /// By flow: its group, or `ALONE`, and which subflow it is.
    of_flow: Vec<(u32, u8)>,
    /// By host: its ends that send ACKs only while their TDN is there, by group.
    pinned: Vec<Vec<u32>>,
}

impl Groups {
    /// These groups, of a plan's flows and the subflows that come after them.
    pub(crate) fn new(all: Vec<Group>, plan: &Scenario) -> Groups {
        let mut groups = Groups {
            all: Vec::with_capacity(all.len()),
            of_flow: Vec::new(),
            pinned: vec![Vec::new(); plan.hosts.count() as usize],
        };
        for group in all {
            let server = plan.flows[group.flows[0] as usize].dst();
            groups.add(group, plan.hosts.index(server));
        }
        groups
    }

    /// One more, whose server is this host.
    pub(crate) fn add(&mut self, group: Group, server: u32) {
        let (number, last) = (self.all.len() as u32, group.flows.iter().max());
        let flows = last.map_or(0, |&flow| flow as usize + 1);
        if self.of_flow.len() < flows {
            self.of_flow.resize(flows, (ALONE, 0));
        }
        for (subflow, &flow) in (0..).zip(&group.flows) {
            self.of_flow[flow as usize] = (number, subflow);
            if group.pins_acks() {
                self.pinned[server as usize].push(2 * flow + 1);
            }
        }
        self.all.push(group);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// A flow's group, and which of its subflows the flow is.
    pub(crate) fn of(&self, flow: u32) -> Option<(u32, u8)> {
        let found = self.of_flow.get(flow as usize).copied();
        found.filter(|&(group, _)| group != ALONE)
    }

    /// The group whose first subflow a flow is.
    pub(crate) fn of_first(&self, flow: u32) -> Option<&Group> {
        let (group, subflow) = self.of(flow)?;
        (subflow == 0).then(|| &self.all[group as usize])
    }

    /// The ends of a host that send ACKs only while their TDN is there.
    pub(crate) fn pinned(&self, host: u32) -> &[u32] {
        &self.pinned[host as usize]
    }
}

impl Index<usize> for Groups {
    type Output = Group;

    fn index(&self, group: usize) -> &Group {
        &self.all[group]
    }
}

impl IndexMut<usize> for Groups {
    fn index_mut(&mut self, group: usize) -> &mut Group {
        &mut self.all[group]
    }
}

/// Refuses what the simulator does not have beside MPTCP. Jobs of ranks do have it: they open a connection for each direction.
pub(crate) fn check(plan: &Scenario) -> Result<(), ScenarioError> {
    let is_mptcp = |transport: &Transport| matches!(transport, Transport::Mptcp(_));
    let flow = plan.flows.iter().any(|flow| is_mptcp(&flow.transport));
    let job = plan.dfsio.iter().any(|job| is_mptcp(&job.transport))
        || plan.generators.iter().any(|one| is_mptcp(&one.transport));
    let estimator = plan.control().map(|control| control.estimator);
    let announces = estimator.is_some_and(|estimator| estimator != Estimator::Voq);
    let applications = !plan.dfsio.is_empty() || !plan.jobs.is_empty();
    if applications && !plan.generators.is_empty() {
        return Err(ScenarioError(
            "a workload in Python runs neither beside [[job]] nor [[dfsio]]: split the plan in two"
                .to_owned(),
        ));
    }
    let ranks = plan.jobs.iter().any(|job| is_mptcp(&job.transport));
    if job || flow && plan.has_applications() || (flow || ranks) && announces {
        return Err(ScenarioError(
            "the simulator has MPTCP neither in [[dfsio]] and generators, nor in flows beside jobs, nor where hosts announce demand"
                .to_owned(),
        ));
    }
    Ok(())
}
