// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured of flows.

use etalon_events::{Pair, Plane};
use etalon_scenario::{Flow, PlaneFacts, Scenario};
use etalon_units::Time;

use crate::ended::{Ended, Seen, Who};
use crate::facts::{Counters, FlowFacts};
use crate::paths::{PathCurves, PathFollowers};
use crate::probe::Metrics;
use crate::reordering::{Days, Order};
use crate::senders::{Samples, Sender};
use crate::sequence::{Curve, Follower, Moves, Runs};
use crate::table::Table;

/// What is followed of a flow as it goes.
#[derive(Debug)]
pub(crate) struct FlowMeter {
    pub(crate) pair: Pair,
    /// Bytes to deliver; `u64::MAX` for bulk.
    bytes: u64,
    /// Sequence number of the stream's first byte.
    first_byte: u32,
    pub(crate) end: Option<Time>,
    /// Integral of cwnd over time, and where it stands.
    pub(crate) cwnd_time: u128,
    cwnd: u32,
    cwnd_since: Time,
    /// Its sender's state over time, path by path, if that was asked for.
    pub(crate) samples: Box<[Samples]>,
    /// What is followed of those of the measured pair.
    measured: Option<Box<Measured>>,
}

/// What is followed of a flow of the measured pair.
#[derive(Debug, Default)]
struct Measured {
    /// Highest byte of the stream that left the network.
    highest: u64,
    sequence: Follower,
    cwnd: Follower,
    /// Its sender's state over a run of the sequence graph.
    paths: PathFollowers,
    /// The order in which it leaves the network, if that was asked for.
    order: Option<Box<Order>>,
}

impl FlowMeter {
    fn new(flow: &Flow, measured: Pair) -> FlowMeter {
        FlowMeter {
            pair: flow.pair(),
            bytes: flow.bytes.unwrap_or(u64::MAX),
            first_byte: 0,
            end: None,
            cwnd_time: 0,
            cwnd: 0,
            cwnd_since: Time::ZERO,
            samples: Box::default(),
            measured: (flow.pair() == measured).then(Box::default),
        }
    }

    /// The order in which it leaves the network, if that was asked for and it is of the measured pair.
    pub(crate) fn order(&self) -> Option<&Order> {
        self.measured.as_deref()?.order.as_deref()
    }
}

impl Measured {
    /// A segment that ends `end` bytes (modulo 2^32) after the stream's start left the network. Returns the highest byte that did.
    #[inline]
    fn reach(&mut self, end: u32) -> u64 {
        // Unwraps the 32-bit sequence number: it is within 2^31 of the highest one seen.
        let ahead = end.wrapping_sub(self.highest as u32) as i32;
        if ahead > 0 {
            self.highest += ahead as u64;
        }
        self.highest
    }
}

/// Follows the flows of a plan, which send data from client to server.
#[derive(Debug)]
pub struct Meter {
    pub(crate) flows: Vec<FlowMeter>,
    /// Payload of flows that left the network, by flow and then by plane.
    carried: Vec<u64>,
    /// Where each flow's counters stood when measurement began; none if nothing had happened by then.
    baselines: Vec<Counters>,
    follows_senders: bool,
    follows_order: bool,
    /// Payload of packets that belong to no flow, by rack pair and then by plane.
    others: Vec<u64>,
    racks: usize,
    planes: usize,
    /// The network carries what stays in a rack.
    within_racks: bool,
    measured: Pair,
    pub(crate) sequence: Curve,
    pub(crate) cwnd: Curve,
    pub(crate) paths: PathCurves,
    /// Of all measured flows together, if the order in which they leave the network is looked at.
    pub(crate) reordering: Days,
    /// A copy of the metrics', for who sees packets need not have access to the probe at that time.
    runs: Runs,
    /// There can be runs, which are cut where days end: without, nobody asks how far streams are.
    has_runs: bool,
    /// Data packets that left the network.
    pub(crate) delivered: u64,
    /// Of RotorLB's packets.
    pub(crate) relayed: Relays,
    /// Flows come and go: those that are over.
    pub(crate) ended: Option<Box<Ended>>,
    /// When measurement begins, and whether it has.
    begins: Time,
    has_begun: bool,
}

/// What hosts relay, in the measured time, with bytes on the wire.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relays {
    /// Packets that came to hosts which relay them.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets that came from there to their destination.
    pub delivered_packets: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
}

impl Meter {
    /// A meter for the flows of `plan`, beside `metrics`.
    #[must_use]
    pub fn new(plan: &Scenario, metrics: &Metrics) -> Meter {
        let racks = usize::from(plan.hosts.racks);
        let planes = metrics.planes().len();
        let measured = plan.measure.pair;
        let flow = |flow: &Flow| {
            let mut meter = FlowMeter::new(flow, measured);
            if let Some(measured) = &mut meter.measured {
                measured.order = plan.measure.reordering.then(Box::default);
            }
            meter
        };
        let mut flows: Vec<FlowMeter> = plan.flows.iter().map(flow).collect();
        let chosen = &plan.measure.flows;
        let paths = |flow: u32| plan.paths(flow as usize);
        let all = chosen.iter().map(|&flow| paths(flow)).sum();
        let mut curves = PathCurves::default();
        for &flow in chosen {
            let meter = &mut flows[flow as usize];
            meter.samples = vec![Samples::new(all); paths(flow)].into();
            if let Some(measured) = &mut meter.measured {
                measured.paths = curves.add_flow(paths(flow), &metrics.runs);
            }
        }
        Meter {
            carried: vec![0; flows.len() * planes],
            flows,
            baselines: Vec::new(),
            follows_senders: !chosen.is_empty(),
            follows_order: plan.measure.reordering,
            others: vec![0; racks * racks * planes],
            racks,
            planes,
            within_racks: metrics.planes().iter().any(PlaneFacts::is_within_racks),
            measured,
            sequence: Curve::new(&metrics.runs),
            cwnd: Curve::new(&metrics.runs),
            paths: curves,
            reordering: Days::default(),
            runs: metrics.runs.clone(),
            has_runs: plan.network.kind().has_voqs(),
            delivered: 0,
            relayed: Relays::default(),
            ended: None,
            begins: plan.begin(),
            has_begun: false,
        }
    }

    /// A meter for flows that come and go, beside `metrics`. None of them is part of the sequence graph.
    #[must_use]
    pub fn of_coming_flows(plan: &Scenario, metrics: &Metrics) -> Meter {
        Meter {
            ended: Some(Box::new(Ended::new(metrics.planes()))),
            ..Meter::new(plan, metrics)
        }
    }

    /// Follows a flow that has come, in a row that is new or [free](Meter::close) again.
    pub fn open(&mut self, row: usize, flow: &Flow) {
        let meter = FlowMeter {
            measured: None,
            ..FlowMeter::new(flow, self.measured)
        };
        if row == self.flows.len() {
            self.flows.push(meter);
            self.carried.resize(self.flows.len() * self.planes, 0);
        } else {
            self.flows[row] = meter;
            self.carried[row * self.planes..][..self.planes].fill(0);
        }
        if let Some(baseline) = self.baselines.get_mut(row) {
            *baseline = Counters::default();
        }
    }

    /// The flow in `row` is over. What was seen of it goes into a [row of its own](Meter::take_ended).
    pub fn close(&mut self, row: usize, who: Who<'_>, facts: &FlowFacts) {
        let baseline = match self.has_begun {
            true => self.baseline(row),
            false => facts.counters,
        };
        let flow = &self.flows[row];
        let pair = usize::from(flow.pair.src) * self.racks + usize::from(flow.pair.dst);
        let carried = &mut self.carried[row * self.planes..][..self.planes];
        if !self.has_begun {
            carried.fill(0);
        }
        let sums = &mut self.others[pair * self.planes..][..self.planes];
        for (sum, bytes) in sums.iter_mut().zip(&*carried) {
            *sum += bytes;
        }
        let seen = Seen {
            end: flow.end,
            counters: facts.counters.since(&baseline),
            carried,
            cwnd_time: if self.has_begun { flow.cwnd_time } else { 0 },
            cwnd: flow.cwnd,
            cwnd_since: flow.cwnd_since.max(self.begins),
        };
        if let Some(ended) = &mut self.ended {
            ended.add(who, facts, &seen);
        }
        carried.fill(0);
        self.flows[row].cwnd = 0;
    }

    /// Whether the server of the flow in `row` has received all.
    #[must_use]
    pub fn has_ended(&self, row: usize) -> bool {
        self.flows[row].end.is_some()
    }

    /// Number of rows of flows that are over.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.ended.as_ref().map_or(0, |ended| ended.len())
    }

    /// The rows of flows that are over, in the order in which these ended.
    pub fn take_ended(&mut self) -> Table {
        self.ended
            .as_mut()
            .map_or_else(Table::new, |ended| ended.take())
    }

    /// Follows one more flow, which begins now. Flows are numbered in the order of these calls, after the plan's.
    pub fn add_flow(&mut self, flow: &Flow) {
        self.flows.push(FlowMeter::new(flow, self.measured));
        self.carried.resize(self.flows.len() * self.planes, 0);
    }

    /// Follows one more flow, like [`add_flow`](Meter::add_flow), that was opened without a plan: its length is not known
    /// yet, and it is no part of the sequence graph, which is a mean over flows that last.
    pub fn add_connection(&mut self, flow: &Flow) {
        self.add_flow(flow);
        if let Some(last) = self.flows.last_mut() {
            last.measured = None;
        }
    }

    /// Rows of these flows, in order, are left out of results: parts of others.
    pub fn leave_out(&mut self, flows: impl Iterator<Item = u32>) {
        let flows: Vec<usize> = flows.map(|flow| flow as usize).collect();
        if flows.is_empty() {
            return;
        }
        let mut at = (0, 0, 0);
        let is_kept = |at: &mut usize, each: usize| {
            *at += 1;
            flows.binary_search(&((*at - 1) / each)).is_err()
        };
        let planes = self.planes;
        self.flows.retain(|_| is_kept(&mut at.0, 1));
        self.carried.retain(|_| is_kept(&mut at.1, planes));
        self.baselines.retain(|_| is_kept(&mut at.2, 1));
    }

    /// The stream of `flow` turns out to have `bytes`, the last of which its server has received at `complete`, if it has.
    pub fn set_length(&mut self, flow: usize, bytes: u64, complete: Option<Time>) {
        let flow = &mut self.flows[flow];
        flow.bytes = bytes;
        flow.end = complete;
    }

    /// The stream of `flow` starts with sequence number `seq`: one above that of the client's SYN. To be called before the
    /// flow's first data leaves the network.
    pub fn set_first_byte(&mut self, flow: usize, seq: u32) {
        self.flows[flow].first_byte = seq;
    }

    /// Whether packets of this pair are carried by a plane: not what a ToR switch returns to its own rack.
    #[must_use]
    #[inline]
    pub fn is_carried(&self, pair: Pair) -> bool {
        pair.src != pair.dst || self.within_racks
    }

    /// Data of `flow` left the network towards its server: `payload` bytes up to sequence number `end_seq` (excluded),
    /// carried by `plane`.
    #[inline(always)] // with every data packet, in one place
    pub fn data_left(&mut self, now: Time, flow: usize, payload: u32, end_seq: u32, plane: Plane) {
        self.carried[flow * self.planes + plane.index()] += u64::from(payload);
        self.delivered += 1;
        if !self.has_runs {
            return;
        }
        let flow = &mut self.flows[flow];
        if let Some(measured) = &mut flow.measured {
            let value = measured.reach(end_seq.wrapping_sub(flow.first_byte)) as i64;
            let curve = &mut self.sequence;
            measured
                .sequence
                .update(now, value, &self.runs, curve, Moves::Evenly);
        }
    }

    /// Whether the [order](Meter::data_left_in_order) in which data leaves the network is to be followed.
    #[must_use]
    #[inline]
    pub fn follows_order(&self) -> bool {
        self.follows_order
    }

    /// Data of `flow` left the network towards its server: `payload` bytes, of which the first is number `offset` (modulo
    /// 2^32) of the stream of its `subflow`. Of flows that are not of the measured pair it is forgotten.
    pub fn data_left_in_order(&mut self, flow: usize, subflow: usize, offset: u32, payload: u32) {
        let measured = self.flows[flow].measured.as_mut();
        if let Some(order) = measured.and_then(|measured| measured.order.as_mut()) {
            let phase = self.runs.phase();
            order.left(subflow, offset, payload, phase, &mut self.reordering);
        }
    }

    /// A packet with `payload` bytes that belongs to no flow of the plan left the network.
    #[inline]
    pub fn other_left(&mut self, pair: Pair, payload: u32, plane: Plane) {
        let index = usize::from(pair.src) * self.racks + usize::from(pair.dst);
        self.others[index * self.planes + plane.index()] += u64::from(payload);
        self.delivered += 1;
    }

    /// A packet of so many bytes on the wire is at a host that relays it.
    pub fn relayed(&mut self, bytes: u32) {
        self.relayed.packets += 1;
        self.relayed.bytes += u64::from(bytes);
    }

    /// A packet that was relayed is at its destination.
    pub fn relay_delivered(&mut self, bytes: u32) {
        self.relayed.delivered_packets += 1;
        self.relayed.delivered_bytes += u64::from(bytes);
    }

    /// The server of `flow` has received `total` bytes since the flow started. When these are all, it has ended; returns
    /// whether it did so now.
    #[inline]
    pub fn received(&mut self, now: Time, flow: usize, total: u64) -> bool {
        let flow = &mut self.flows[flow];
        let ends = total >= flow.bytes && flow.end.is_none();
        if ends {
            flow.end = Some(now);
        }
        ends
    }

    /// `flow` is killed: unless it has ended, it never will. Returns whether it had not.
    pub fn kill(&mut self, flow: usize) -> bool {
        let flow = &mut self.flows[flow];
        flow.bytes = u64::MAX;
        flow.end.is_none()
    }

    /// The congestion window of `flow` is `cwnd` segments from now on.
    #[inline]
    pub fn follow_cwnd(&mut self, now: Time, flow: usize, cwnd: u32) {
        if cwnd != self.flows[flow].cwnd {
            self.change_cwnd(now, flow, cwnd);
        }
    }

    #[inline(never)] // hardly once in a round trip
    fn change_cwnd(&mut self, now: Time, flow: usize, cwnd: u32) {
        let flow = &mut self.flows[flow];
        flow.cwnd_time += u128::from(flow.cwnd) * u128::from((now - flow.cwnd_since).0);
        (flow.cwnd, flow.cwnd_since) = (cwnd, now);
        if let Some(measured) = &mut flow.measured {
            let (curve, value) = (&mut self.cwnd, i64::from(cwnd));
            measured
                .cwnd
                .update(now, value, &self.runs, curve, Moves::InSteps);
        }
    }

    /// Whether there are flows whose senders are to be [followed](Meter::follow_sender).
    #[must_use]
    #[inline]
    pub fn follows_senders(&self) -> bool {
        self.follows_senders
    }

    /// The sender of `flow` is in state `sender` from `now` on. Of flows that nobody asked for it is forgotten.
    pub fn follow_sender(&mut self, now: Time, flow: usize, sender: Sender) {
        let flow = &mut self.flows[flow];
        if let Some(samples) = flow.samples.get_mut(usize::from(sender.path)) {
            samples.add(now, sender);
            if let Some(measured) = &mut flow.measured {
                let followers = &mut measured.paths;
                self.paths.follow(now, followers, &sender, &self.runs);
            }
        }
    }

    /// Takes over the runs of the sequence graph that `metrics` has begun. To be called after network events, before the
    /// next packet leaves at a later instant.
    #[inline]
    pub fn follow_runs(&mut self, metrics: &Metrics) {
        self.runs.follow(&metrics.runs);
    }

    /// The warm-up is over; `counters` tells where those of each flow stand.
    pub fn begin(&mut self, now: Time, counters: impl Fn(usize) -> Counters) {
        self.has_begun = true;
        self.delivered = 0;
        self.relayed = Relays::default();
        self.others.fill(0);
        self.carried.fill(0);
        let mut nothing = true;
        let seen = (0..self.flows.len()).map(counters);
        self.baselines = seen
            .inspect(|counters| nothing &= *counters == Counters::default())
            .collect();
        if nothing {
            self.baselines = Vec::new();
        }
        for flow in &mut self.flows {
            flow.cwnd_time = 0;
            flow.cwnd_since = now;
            let measured = flow.measured.as_mut();
            if let Some(order) = measured.and_then(|measured| measured.order.as_mut()) {
                order.begin();
            }
        }
    }

    /// The experiment ends at `now`: brings what is followed over time up to date.
    pub fn finish(&mut self, now: Time) {
        for flow in &mut self.flows {
            flow.cwnd_time += u128::from(flow.cwnd) * u128::from((now - flow.cwnd_since).0);
            flow.cwnd_since = now;
            let Some(measured) = &mut flow.measured else {
                continue;
            };
            let (value, curve) = (measured.highest as i64, &mut self.sequence);
            measured
                .sequence
                .update(now, value, &self.runs, curve, Moves::Evenly);
            let (value, curve) = (flow.cwnd.into(), &mut self.cwnd);
            measured
                .cwnd
                .update(now, value, &self.runs, curve, Moves::InSteps);
            self.paths.finish(now, &mut measured.paths, &self.runs);
            if let Some(order) = &mut measured.order {
                order.days.turn(self.runs.phase());
            }
        }
        self.reordering.turn(self.runs.phase());
    }

    /// Flows whose sequence numbers are followed.
    pub(crate) fn measured_flows(&self) -> usize {
        self.flows
            .iter()
            .filter(|flow| flow.measured.is_some())
            .count()
    }

    /// Payload of a flow that left the network over a plane.
    pub(crate) fn carried(&self, flow: usize, plane: usize) -> u64 {
        self.carried[flow * self.planes + plane]
    }

    /// Where the counters of a flow stood when measurement began; zero if it was opened since.
    pub(crate) fn baseline(&self, flow: usize) -> Counters {
        self.baselines.get(flow).copied().unwrap_or_default()
    }

    /// Payload that left the network, by rack pair (source first) and then by plane, whoever sent it.
    pub(crate) fn payload(&self) -> Vec<u64> {
        let mut sums = self.others.clone();
        let carried = self.carried.chunks(self.planes.max(1));
        for (flow, carried) in self.flows.iter().zip(carried) {
            let pair = usize::from(flow.pair.src) * self.racks + usize::from(flow.pair.dst);
            let sums = &mut sums[pair * self.planes..][..self.planes];
            for (sum, bytes) in sums.iter_mut().zip(carried) {
                *sum += bytes;
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests;
