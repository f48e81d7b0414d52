// SPDX-License-Identifier: MIT OR Apache-2.0
//! The flows of a run: which there are, and the endpoints of those that are open.
//!
//! Endpoints exist from when a flow connects until nothing can happen in it any more, so that memory holds the flows that are
//! open at a time and not all that a plan has.

mod carriers;
mod facts;
mod streamed;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use etalon_measure::{FlowFacts, RecoveryState, Sender};
use etalon_scenario::{
    Flow, Generator, Hosts, Mptcp, Scenario, ScenarioError, Transport, flow_label,
};
use etalon_tcp::cc::{CongestionControl, State};
use etalon_tcp::mptcp::Mptcp as Subflow;
use etalon_tcp::{Config, Connection, ConnectionState};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::carrier::Carrier;
use crate::coming::StreamedFlow;
use crate::endpoint::Endpoint;
use crate::endpoint::Follows;
use crate::groups::Group;
use crate::packet::{Envelope, Route, Size};
use crate::plugins::MakeControl;
use crate::stack::{self, Controls};
use crate::telemetry;

/// Random streams beyond those of the hosts (which are numbered from 0).
const STREAM_INITIAL_SEQ: u64 = 1 << 32;

/// No place: the flow has no endpoints.
const NOWHERE: u32 = u32::MAX;
/// Nor has it any more, if flows come and go.
const GONE: u32 = u32::MAX - 1;

/// All flows by number: those of the plan, then those that applications opened.
#[derive(Debug)]
pub(crate) struct Flows<'a> {
    plan: &'a Scenario,
    planned: u32,
    opened: Vec<Flow>,
    /// MPTCP's subflows beside the first ones, which no result shows, and which subflow each is.
    joins: BTreeMap<u32, u8>,
    /// Congestion controls in their first state, and which of them each flow has.
    controls: Vec<Controls>,
    control_of: Vec<u32>,
    control_of_job: Vec<u32>,
    /// What connections of a kind have in common: by distance, controls, Nagle's algorithm, and which subflow they are.
    configs: BTreeMap<(u8, u32, bool, Option<u8>), Arc<Config>>,
    /// A flow's place among the open ones.
    places: Vec<u32>,
    /// Endpoints of open flows: two for each slot. A server's is made when the first packet reaches it: many may wait for that at a time.
    endpoints: Vec<Option<Box<Endpoint>>>,
    /// By slot, flows that TCP does not carry.
    carriers: Vec<Option<Carrier>>,
    vacant: Vec<u32>,
    /// What is known of flows that have no endpoints any more.
    facts: Vec<Option<Box<FlowFacts>>>,
    rng: ChaCha8Rng,
    /// If flows come and go, those that are there.
    streamed: Option<Box<StreamedFlows>>,
    /// Whether any can end. Where none does, nobody asks whether packets are under way.
    can_end: bool,
}

/// Flows that come and go.
#[derive(Debug, Default)]
struct StreamedFlows {
    /// Congestion controls of each kind.
    control_of_kind: Vec<u32>,
    /// The one that has come, but not started.
    expected: Option<StreamedFlow>,
    /// By slot, those that were given up too, as long as no other is there.
    there: Vec<StreamedFlow>,
    /// Slots whose flows are over since they were asked for last, and what is known of these.
    ended: Vec<(u32, FlowFacts)>,
}

impl<'a> Flows<'a> {
    /// The flows of `plan`, none of them open.
    pub(crate) fn new(
        plan: &'a Scenario,
        users: Option<&MakeControl>,
    ) -> Result<Flows<'a>, ScenarioError> {
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_INITIAL_SEQ);
        let can_end = |flow: &Flow| {
            // One that connects early may fail before it starts.
            let is_bulk = flow.bytes.is_none() && flow.stop.is_none();
            !is_bulk || flow.connects() < flow.start
        };
        let mut flows = Flows {
            can_end: !plan.dfsio.is_empty()
                || !plan.generators.is_empty()
                || plan.flows.iter().any(can_end),
            plan,
            planned: plan.flows.len() as u32,
            opened: Vec::new(),
            joins: BTreeMap::new(),
            controls: Vec::new(),
            control_of: Vec::new(),
            control_of_job: Vec::new(),
            configs: BTreeMap::new(),
            places: Vec::new(),
            endpoints: Vec::new(),
            carriers: Vec::new(),
            vacant: Vec::new(),
            facts: Vec::new(),
            rng,
            streamed: None,
        };
        for control in flows.controls_of(&plan.flows, users)? {
            flows.add(control);
        }
        for (index, job) in plan.dfsio.iter().enumerate() {
            let who = format_args!("job {index}");
            let control =
                flows.add_controls(who, (&job.cc, &job.cc_params), &job.transport, users)?;
            flows.control_of_job.push(control);
        }
        for (index, one) in plan.generators.iter().enumerate() {
            let who = format_args!("generator {index}");
            let control =
                flows.add_controls(who, (&one.cc, &one.cc_params), &one.transport, users)?;
            flows.control_of_job.push(control);
        }
        for (index, job) in plan.jobs.iter().enumerate() {
            let who = format_args!("job {index}");
            let control =
                flows.add_controls(who, (&job.cc, &job.cc_params), &job.transport, users)?;
            flows.control_of_job.push(control);
        }
        Ok(flows)
    }

    /// Flows that come and go, of these `kinds`.
    pub(crate) fn coming(
        plan: &'a Scenario,
        kinds: &[Flow],
        users: Option<&MakeControl>,
    ) -> Result<Flows<'a>, ScenarioError> {
        let mut flows = Flows::new(plan, users)?;
        flows.can_end = true;
        flows.planned = u32::MAX; // as if all had been listed
        flows.streamed = Some(Box::new(StreamedFlows {
            control_of_kind: flows.controls_of(kinds, users)?,
            ..StreamedFlows::default()
        }));
        Ok(flows)
    }

    /// The numbers of the congestion controls of some flows.
    fn controls_of(
        &mut self,
        flows: &[Flow],
        users: Option<&MakeControl>,
    ) -> Result<Vec<u32>, ScenarioError> {
        let mut numbers: Vec<u32> = Vec::with_capacity(flows.len());
        for (index, flow) in flows.iter().enumerate() {
            let same = index.checked_sub(1).filter(|&before| {
                let before = &flows[before];
                before.cc == flow.cc
                    && before.cc_params == flow.cc_params
                    && before.transport == flow.transport
            });
            numbers.push(match same {
                Some(before) => numbers[before],
                None => {
                    let who = format_args!("flow {index}");
                    self.add_controls(who, (&flow.cc, &flow.cc_params), &flow.transport, users)?
                }
            });
        }
        Ok(numbers)
    }

    /// The number of the congestion controls that `who` has.
    fn add_controls(
        &mut self,
        who: fmt::Arguments<'_>,
        (name, params): (&str, &BTreeMap<String, f64>),
        transport: &Transport,
        users: Option<&MakeControl>,
    ) -> Result<u32, ScenarioError> {
        let controls = Controls::new((self.plan, users), name, params, transport);
        self.controls
            .push(controls.map_err(|e| ScenarioError(format!("{who}: {e}")))?);
        Ok((self.controls.len() - 1) as u32)
    }

    fn add(&mut self, control: u32) -> u32 {
        self.control_of.push(control);
        self.places.push(NOWHERE);
        self.facts.push(None);
        (self.places.len() - 1) as u32
    }

    /// The plan's generators.
    pub(crate) fn generators(&self) -> &'a [Generator] {
        &self.plan.generators
    }

    /// One more flow, that of a job of the plan or, numbered after these, of a generator. Returns its number.
    pub(crate) fn push(&mut self, flow: Flow, job: u32) -> u32 {
        self.opened.push(flow);
        self.add(self.control_of_job[job as usize])
    }

    /// What a flow was asked to be.
    pub(crate) fn plan(&self, flow: u32) -> &Flow {
        if let Some(streamed) = &self.streamed {
            return &streamed.there[self.places[flow as usize] as usize].flow;
        }
        let (flow, planned) = (flow as usize, self.plan.flows.len());
        if flow < planned {
            &self.plan.flows[flow]
        } else {
            &self.opened[flow - planned]
        }
    }

    /// Flows beyond those of the plan that are not subflows: all that is left.
    pub(crate) fn into_opened(mut self) -> Vec<Flow> {
        let mut number = self.planned;
        let joins = &self.joins;
        self.opened.retain(|_| {
            number += 1;
            !joins.contains_key(&(number - 1))
        });
        self.opened
    }

    /// What MPTCP carries of the plan's flows. Makes a flow of each further subflow, before any job opens flows.
    pub(crate) fn groups(&mut self) -> Vec<Group> {
        let mut groups = Vec::new();
        for flow in 0..self.plan.flows.len() as u32 {
            let Transport::Mptcp(mptcp) = *self.plan(flow).transport else {
                continue;
            };
            groups.push(self.group(flow, mptcp));
        }
        groups
    }

    /// What MPTCP carries of a flow. Makes a flow of each further subflow.
    pub(crate) fn group(&mut self, flow: u32, mptcp: Mptcp) -> Group {
        let (plan, control) = (self.plan(flow).clone(), self.control_of[flow as usize]);
        let mut flows = vec![flow];
        for subflow in 1..mptcp.subflows {
            self.opened.push(plan.clone());
            let number = self.add(control);
            self.joins.insert(number, subflow);
            flows.push(number);
        }
        Group::new(mptcp, flows)
    }

    /// MPTCP's subflows beside the first ones, in order.
    pub(crate) fn joins(&self) -> impl Iterator<Item = u32> + '_ {
        self.joins.keys().copied()
    }

    /// Whether a flow is one of these.
    pub(crate) fn joins_another(&self, flow: u32) -> bool {
        self.joins.contains_key(&flow)
    }

    /// Which of MPTCP's subflows a flow is, if it is one.
    fn subflow(&self, flow: u32) -> Option<u8> {
        let Transport::Mptcp(_) = *self.plan(flow).transport else {
            return None;
        };
        Some(self.joins.get(&flow).copied().unwrap_or(0))
    }

    /// Number of the plan's flows.
    pub(crate) fn planned(&self) -> u32 {
        self.planned
    }

    /// Makes the client of a flow that never had endpoints. Returns the sequence number of its first byte.
    pub(crate) fn open(&mut self, flow: u32) -> u32 {
        let slot = self.new_slot();
        self.places[flow as usize] = slot;
        let client = self.endpoint(2 * flow, 2 * slot);
        let first_byte = client.connection.initial_seq().wrapping_add(1);
        self.endpoints[2 * slot as usize] = Some(client);
        first_byte
    }

    /// An endpoint as it begins, at its place.
    #[cold]
    fn endpoint(&mut self, index: u32, place: u32) -> Box<Endpoint> {
        let (flow, is_server) = (index >> 1, index & 1 == 1);
        self.rng.set_word_pos(index.into());
        let initial = self.rng.next_u32();
        // HDFS turns Nagle's algorithm off at both ends (dfs.data.transfer.client.tcpnodelay, .server.tcpnodelay).
        let has_jobs = !self.plan.dfsio.is_empty() || !self.plan.jobs.is_empty();
        let nagle = flow < self.planned() || !has_jobs;
        let subflow = self.subflow(flow);
        let config = self.config(flow, nagle, subflow);
        let controls = &self.controls[self.control(flow) as usize];
        let wanted = self.plan(flow);
        let mut first = controls.first.clone();
        first.belongs_to(flow);
        let (connection, src, dst) = if is_server {
            (
                Connection::server(config, first),
                wanted.dst(),
                wanted.src(),
            )
        } else {
            (
                Connection::client(config, first),
                wanted.src(),
                wanted.dst(),
            )
        };
        let class = self.plan.class_of(wanted);
        let label = flow_label(flow, subflow.unwrap_or(0), !is_server);
        let label = match self.plan.network.kind().looks_at_length(class) {
            true => etalon_route::ucmp_label(label, wanted.bytes.unwrap_or(u64::MAX)),
            false => label,
        };
        let host = self.plan.hosts.index(src);
        let mut end = Endpoint::new(
            connection.starting_at(initial),
            host,
            Envelope {
                to: index ^ 1,
                place: place ^ 1,
                route: Route { src, dst },
                label,
                ip_id: 0,
                size: Size::of(class),
            },
        );
        end.follows = stack::follows(&wanted.transport);
        let is_plain = end.follows == Follows::Nothing && !is_server;
        if is_plain && controls.first.wants_tdns() {
            end.follows = Follows::InControl;
        }
        if !controls.others.is_empty() {
            end.connection.add_paths(controls.others.clone());
        }
        Box::new(end)
    }

    /// A slot for the flow that begins; it is that of the one which has come.
    fn new_slot(&mut self) -> u32 {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.endpoints.extend([None, None]);
            (self.endpoints.len() / 2 - 1) as u32
        });
        if let Some(streamed) = &mut self.streamed {
            match (
                streamed.expected.take(),
                streamed.there.get_mut(slot as usize),
            ) {
                (Some(flow), Some(place)) => *place = flow,
                (flow, _) => streamed.there.extend(flow),
            }
        }
        slot
    }

    /// Which of the congestion controls a flow has, that is open if flows come and go.
    fn control(&self, flow: u32) -> u32 {
        match &self.streamed {
            Some(streamed) => {
                let slot = self.places[flow as usize] as usize;
                streamed.control_of_kind[streamed.there[slot].kind as usize]
            }
            None => self.control_of[flow as usize],
        }
    }

    /// The configuration of a flow's connection, which it has in common with others of its kind.
    fn config(&mut self, flow: u32, nagle: bool, subflow: Option<u8>) -> Arc<Config> {
        let (plan, pair) = (self.plan, self.plan(flow).pair());
        let distance = plan.network.kind().distance(&plan.hosts, pair);
        let control = self.control(flow);
        let kind = (distance as u8, control, nagle, subflow);
        if let Some(config) = self.configs.get(&kind) {
            return config.clone();
        }
        let mut common = stack::config(plan, distance);
        if self.controls[control as usize].want_telemetry() {
            common.mss -= telemetry::reserved(plan);
        }
        let config = Arc::new(Config {
            nagle,
            tdtcp: stack::tdtcp(plan, &self.plan(flow).transport),
            mptcp: subflow.map(|subflow| Subflow { subflow }),
            auto_close: subflow.is_none(),
            ..common
        });
        self.configs.insert(kind, config.clone());
        config
    }

    /// Whether the flow has endpoints now.
    pub(crate) fn is_open(&self, flow: u32) -> bool {
        self.places[flow as usize] < GONE
    }

    /// Whether the flow had endpoints before.
    pub(crate) fn is_over(&self, flow: u32) -> bool {
        match self.streamed {
            Some(_) => self.places[flow as usize] == GONE,
            None => self.facts[flow as usize].is_some(),
        }
    }

    /// Where an endpoint of a flow is that is open; its peer is at this place with the lowest bit flipped.
    #[inline]
    pub(crate) fn place(&self, index: u32) -> u32 {
        2 * self.places[(index >> 1) as usize] + (index & 1)
    }

    /// Where the meter has a flow.
    pub(crate) fn row(&self, flow: u32) -> usize {
        match &self.streamed {
            Some(_) => self.places[flow as usize] as usize,
            None => flow as usize,
        }
    }

    /// The same for the flow of an endpoint, for who knows its place.
    #[inline]
    pub(crate) fn row_at(&self, place: u32, index: u32) -> usize {
        let number = if self.streamed.is_some() {
            place
        } else {
            index
        };
        (number >> 1) as usize
    }

    /// The endpoint at a place, which is this one.
    #[inline(always)] // with every packet
    pub(crate) fn at(&mut self, place: u32, index: u32) -> &mut Endpoint {
        if self.endpoints[place as usize].is_none() {
            return self.make(place, index);
        }
        self.endpoints[place as usize]
            .as_mut()
            .expect("asked above")
    }

    /// The endpoint that is to be at a place.
    #[cold]
    #[inline(never)]
    fn make(&mut self, place: u32, index: u32) -> &mut Endpoint {
        let end = self.endpoint(index, place);
        self.endpoints[place as usize].insert(end)
    }

    /// An endpoint of a flow that is open.
    #[inline]
    pub(crate) fn end(&mut self, index: u32) -> &mut Endpoint {
        self.at(self.place(index), index)
    }

    /// An endpoint, if its flow is open.
    #[inline(always)] // with every timer
    pub(crate) fn end_if_open(&mut self, index: u32) -> Option<&mut Endpoint> {
        self.is_open(index >> 1).then(|| self.end(index))
    }

    /// The state of an endpoint's sender, on the path that it sends on.
    pub(crate) fn sender(&mut self, index: u32) -> Sender {
        let tdf = self.plan.tdf;
        let path = self.end(index).connection.path();
        let window = path.window();
        Sender {
            path: path.id(),
            state: match path.recovery_state() {
                State::Open => RecoveryState::Open,
                State::LimitedTransmit => RecoveryState::Disorder,
                State::Cwr => RecoveryState::Cwr,
                State::FastRecovery => RecoveryState::Recovery,
                State::Timeout => RecoveryState::Loss,
            },
            cwnd: window.cwnd,
            ssthresh: (window.ssthresh != u32::MAX).then_some(window.ssthresh),
            srtt_ns: path.srtt() / tdf,
            pipe: path.in_flight(),
        }
    }

    /// Sequence number of the first byte of a stream, that is of what an endpoint of an open flow sends.
    pub(crate) fn first_byte(&mut self, stream: u32) -> u32 {
        let connection = &self.end(stream).connection;
        connection.initial_seq().wrapping_add(1)
    }

    /// A packet to the endpoint at a place is no longer under way. Returns whether it was the last of the flow.
    #[inline]
    pub(crate) fn left_network(&mut self, place: u32) -> bool {
        if !self.can_end {
            return false;
        }
        if let Some(sender) = &mut self.endpoints[(place ^ 1) as usize] {
            let others = sender.way.under_way - 1;
            sender.way.under_way = others;
            if others > 0 {
                return false;
            }
        }
        under_way(&self.endpoints[place as usize]) == 0
    }

    /// Gives up the endpoints of an open flow if nothing can happen in it any more: its client is done, no packet is under
    /// way and no timer runs.
    pub(crate) fn close_if_over(&mut self, flow: u32) {
        let slot = self.places[flow as usize];
        if slot >= GONE {
            return;
        }
        let first = 2 * slot as usize;
        let ends = &self.endpoints[first..first + 2];
        if ends.iter().any(|end| under_way(end) > 0) {
            return;
        }
        let is_done = |client: &Endpoint| {
            use ConnectionState::{Closed, FinWait2, TimeWait};
            matches!(client.connection.state(), Closed | FinWait2 | TimeWait)
        };
        let waits = |end: &Endpoint| end.connection.next_timer() != u64::MAX;
        if ends[0].as_deref().is_some_and(is_done) && !ends.iter().flatten().any(|end| waits(end)) {
            let facts = self.facts_at(first);
            self.endpoints[first..first + 2].fill_with(|| None);
            self.leave_slot(flow, facts);
        }
    }

    /// An open flow is over.
    fn leave_slot(&mut self, flow: u32, facts: FlowFacts) {
        let slot = self.places[flow as usize];
        if let Some(streamed) = &mut self.streamed {
            streamed.ended.push((slot, facts));
            self.places[flow as usize] = GONE;
            return;
        }
        self.facts[flow as usize] = Some(Box::new(facts));
        self.places[flow as usize] = NOWHERE;
        self.vacant.push(slot);
    }

    /// The hosts.
    pub(crate) fn hosts(&self) -> &'a Hosts {
        &self.plan.hosts
    }

    /// Number of all flows.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }
}

/// The packets of an endpoint that are under way; of one that nothing has reached, none.
fn under_way(end: &Option<Box<Endpoint>>) -> u32 {
    end.as_ref().map_or(0, |end| end.way.under_way)
}
