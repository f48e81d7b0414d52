// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streaming measurements of what the network does.

use etalon_events::{Digest, DropReason, Event, Pair, Plane, Probe, QueueId, Weeks};
use etalon_scenario::{PlaneFacts, Scenario, Schedule};
use etalon_units::{Span, Time};

use crate::computed::Computed;
use crate::cross_connects::CrossConnects;
use crate::pairs::{PairMetrics, Pairs};
use crate::ports::Ports;
use crate::sequence::{Curve, Follower, Moves, Runs};
use crate::travel::Travels;
use crate::weeks;

/// Packets up to this length (in bytes), or half of a smaller MTU, do not count for latency: the papers look at data only.
const DATA_BYTES: u32 = 1000;

/// Mean and standard deviation of a stream of numbers (Welford).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    pub(crate) count: u64,
    pub(crate) mean: f64,
    m2: f64,
}

impl Moments {
    fn add(&mut self, x: f64) {
        self.count += 1;
        let d = x - self.mean;
        self.mean += d / self.count as f64;
        self.m2 += d * (x - self.mean);
    }

    pub(crate) fn std(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        (self.m2 / (self.count - 1) as f64).sqrt()
    }
}

/// The rate at which a link is fed while it is: from the first packet's start to the last one's.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    first: Time,
    last: Time,
    bytes: u64,
    last_bytes: u32,
    packets: u64,
}

impl Busy {
    fn packet(&mut self, now: Time, bytes: u32) {
        if self.packets == 0 {
            self.first = now;
        }
        self.bytes += u64::from(bytes);
        self.last_bytes = bytes;
        self.last = now;
        self.packets += 1;
    }

    /// Bits a second, if there were enough packets to tell.
    fn finish(&mut self) -> Option<f64> {
        let busy = std::mem::take(self);
        let span = busy.last.saturating_since(busy.first);
        let bytes = busy.bytes - u64::from(busy.last_bytes);
        (busy.packets >= 10).then(|| bytes as f64 * 8.0 / span.as_secs_f64())
    }
}

/// How fast a plane is fed with packets of the measured pair, each time that it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed {
    pub(crate) rate: Moments,
    busy: Busy,
}

impl Feed {
    /// It is no longer.
    fn finish(&mut self) {
        if let Some(rate) = self.busy.finish() {
            self.rate.add(rate);
        }
    }
}

/// Timing and rates of the measured pair's days (Table 1).
#[derive(Debug)]
pub(crate) struct DayMetrics {
    pub(crate) day: Moments,
    pub(crate) week: Moments,
    /// By plane.
    pub(crate) feeds: Vec<Feed>,
    up: Option<Time>,
    week_start: Option<Time>,
}

impl DayMetrics {
    fn new(planes: usize) -> DayMetrics {
        DayMetrics {
            day: Moments::default(),
            week: Moments::default(),
            feeds: vec![Feed::default(); planes],
            up: None,
            week_start: None,
        }
    }
}

/// Measures what the network does: the probe of a run.
#[derive(Debug)]
pub struct Metrics {
    planes: Vec<PlaneFacts>,
    pairs: Pairs,
    pub(crate) measured: Pair,
    measuring: bool,
    /// The end of the warm-up.
    measured_from: Time,
    /// Weeks computed from demand; none if they are not.
    pub(crate) computed: Option<Computed>,
    data_bytes: u32,
    /// Whether packets are seen to leave their queues.
    watched: bool,
    /// Whether a packet that departs has left the planes, on which it was watched: no queue in front of a host is behind them.
    departs: bool,
    /// Packets that passed an egress port, those of the warm-up too.
    pub(crate) hops: u64,
    /// Egress ports, if they are asked for.
    pub(crate) ports: Option<Box<Ports>>,
    /// Circuits, in plans where they are asked for.
    pub(crate) cross_connects: Option<Box<CrossConnects>>,
    /// Of a network of circuits.
    pub(crate) travels: Option<Box<Travels>>,
    /// Whether that asks for transmissions.
    follows_links: bool,
    pub(crate) days: DayMetrics,
    pub(crate) runs: Runs,
    pub(crate) voq_curve: Curve,
    voq_follower: Follower,
    pub(crate) digest: Digest,
}

impl Metrics {
    /// Metrics of a run of `plan`.
    #[must_use]
    pub fn new(plan: &Scenario) -> Metrics {
        let week = plan.first_week().week();
        let run_length = Span(week.0 * u64::from(plan.measure.weeks_per_run));
        let network = plan.network.kind();
        let planes = network.planes(&plan.hosts);
        let runs = Runs::new(run_length, plan.end());
        let voq_curve = Curve::new(&runs);
        let mut digest = Digest::default();
        weeks::mix_planned(plan, &mut digest);
        let travels = Travels::new(plan);
        Metrics {
            pairs: Pairs::new(plan.hosts.racks, &planes, plan.begin()),
            measured: plan.measure.pair,
            measuring: false,
            measured_from: plan.begin(),
            computed: plan.control().map(|_| Computed::default()),
            data_bytes: DATA_BYTES.min(u32::from(plan.hosts.mtu) / 2),
            watched: network.has_voqs(),
            departs: network.has_voqs() && plan.hosts.downlink_queue.is_none(),
            hops: 0,
            ports: Ports::new(plan),
            cross_connects: CrossConnects::new(plan),
            follows_links: travels.as_ref().is_some_and(|found| found.is_over_time()),
            travels,
            days: DayMetrics::new(planes.len()),
            planes,
            runs,
            voq_curve,
            voq_follower: Follower::default(),
            digest,
        }
    }

    /// The warm-up is over.
    pub fn begin(&mut self) {
        self.measuring = true;
        self.days = DayMetrics::new(self.planes.len());
        if let Some(computed) = &mut self.computed {
            computed.begin();
        }
        if let Some(ports) = &mut self.ports {
            ports.begin(self.measured_from);
        }
        if let Some(travels) = &mut self.travels {
            travels.begin();
        }
        self.pairs.begin();
    }

    /// The network's planes, by number.
    #[must_use]
    pub fn planes(&self) -> &[PlaneFacts] {
        &self.planes
    }

    /// The experiment ends at `now`.
    pub fn finish(&mut self, now: Time) {
        let len = self.pair_mut(self.measured).voq();
        self.follow_voq(now, len);
        self.pairs.finish(now);
        if let Some(ports) = &mut self.ports {
            ports.finish(now);
        }
    }

    /// A week was computed for the `demand` (bytes by source and then by destination rack) at `time`.
    pub fn computed(&mut self, time: Time, demand: &[u64], week: &Schedule) {
        weeks::mix(time, week, &mut self.digest);
        if let Some(computed) = &mut self.computed {
            computed.note(time, demand, week);
        }
    }

    /// Packets dropped in the measured time, all pairs.
    pub(crate) fn drops(&self) -> u64 {
        self.pairs
            .heard()
            .flat_map(|pair| pair.dropped.iter())
            .sum()
    }

    pub(crate) fn pair(&self, pair: Pair) -> Option<&PairMetrics> {
        self.pairs.get(pair)
    }

    #[inline]
    fn pair_mut(&mut self, pair: Pair) -> &mut PairMetrics {
        self.pairs.get_mut(pair)
    }

    #[inline(always)] // with every packet, twice
    fn voq(&mut self, now: Time, pair: Pair, len: u32) {
        self.pair_mut(pair).set_voq(now, len);
        if pair == self.measured {
            self.follow_voq(now, len);
        }
    }

    #[inline(never)] // of one pair only
    fn follow_voq(&mut self, now: Time, len: u32) {
        let (runs, curve) = (&self.runs, &mut self.voq_curve);
        self.voq_follower
            .update(now, i64::from(len), runs, curve, Moves::InSteps);
    }
}

impl Probe for Metrics {
    #[inline(always)] // each emitter knows its event
    fn on(&mut self, time: Time, event: Event) {
        self.digest.event(time, &event);
        match event {
            Event::Enqueue {
                pair, queue, len, ..
            } => {
                if self.watched {
                    self.voq(time, pair, len);
                } else if let Some(ports) = &mut self.ports {
                    ports.enqueued(time, queue, len);
                }
            }
            Event::Dequeue {
                pair,
                queue,
                len,
                bytes,
                plane,
            } => {
                if self.watched {
                    self.dequeued(time, pair, len, bytes, plane);
                    return;
                }
                self.digest.leaves_on(plane);
                self.hops += 1;
                self.sent(time, queue, len, bytes);
            }
            Event::Scheduled {
                queue,
                bytes,
                until,
                ..
            } => self.scheduled(time, queue, bytes, until),
            Event::Departed {
                pair,
                bytes,
                latency,
                plane,
                ..
            } => self.departed(time, pair, bytes, latency, plane),
            Event::Passed { pair, bytes, plane } => self.passed(pair, bytes, plane),
            Event::Held { pair, bytes, .. } => self.left_uplink(pair, bytes),
            Event::Dropped {
                pair,
                queue,
                len,
                bytes,
                reason,
            } => self.dropped(time, pair, (queue, len), bytes, reason),
            Event::Gate { pair, plane, open } => self.pairs.turn(time, pair, plane, open),
            Event::Marked { pair, queue, .. } => self.marked(pair, queue),
            Event::Circuit { pair, plane, up } => self.circuit(time, pair, plane, up),
            Event::Day { .. } => self.runs.turn(false),
            Event::Week { .. } => self.week(time),
            _ => self.of_circuits(time, event),
        }
    }

    fn on_weeks(&mut self, pair: Pair, mut weeks: Weeks, mut tell: impl FnMut(&mut Self, Time)) {
        while weeks.count > 0 {
            let before = self.pairs.known(pair).filter(|_| pair != self.measured);
            tell(self, weeks.start);
            weeks.pass(1);
            if let Some(before) = before {
                self.pairs.repeat(pair, &before, &mut weeks);
            }
        }
    }
}

/// What is measured of each event.
impl Metrics {
    #[inline]
    fn scheduled(&mut self, time: Time, queue: QueueId, bytes: u32, until: Time) {
        if let Some(ports) = &mut self.ports {
            ports.scheduled(time, queue, bytes, until);
        }
    }

    #[inline(always)] // with every packet, in two places
    fn dequeued(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, plane: Plane) {
        let p = self.pair_mut(pair);
        p.set_voq(now, len);
        p.services[plane.index()].dequeued(now, bytes);
        if pair == self.measured {
            self.follow_voq(now, len);
            self.days.feeds[plane.index()].busy.packet(now, bytes);
        }
    }

    #[inline(always)] // with every packet delivered
    fn departed(&mut self, now: Time, pair: Pair, bytes: u32, latency: Span, plane: Plane) {
        // Of a pair that sends small packets only there is a row, too.
        let p = self.pairs.get_mut(pair);
        if self.departs {
            p.services[plane.index()].left(bytes);
        }
        if bytes > self.data_bytes {
            p.data_departed(now, latency, plane);
        }
    }

    /// A packet leaves the queue of a port.
    #[inline(always)] // with every packet
    fn sent(&mut self, now: Time, queue: QueueId, len: u32, bytes: u32) {
        if let Some(ports) = &mut self.ports {
            ports.dequeued(now, queue, len, bytes);
        }
        if let (true, Some(travels)) = (self.follows_links, &mut self.travels) {
            travels.dequeued(now, queue, bytes);
        }
    }

    /// What happens in networks of circuits alone, or where circuits are asked for.
    #[inline(always)] // each emitter knows its event
    fn of_circuits(&mut self, now: Time, event: Event) {
        match event {
            Event::Travelled {
                class, hops, bytes, ..
            } => {
                if let Some(travels) = &mut self.travels {
                    travels.arrived(now, class, hops, bytes);
                }
            }
            Event::Came { class, bytes, .. } => {
                if let Some(travels) = &mut self.travels {
                    travels.sent(now, class, bytes);
                }
            }
            Event::Trimmed { pair, .. } => self.pair_mut(pair).trimmed += 1,
            Event::Returned { pair, .. } => self.pair_mut(pair).returned += 1,
            Event::Changing { .. }
            | Event::Joined { .. }
            | Event::Awaited { .. }
            | Event::Kept { .. } => self.asked_for(now, event),
            _ => {}
        }
    }

    /// A packet is out of the queue in front of its host, and counted from now on.
    fn passed(&mut self, pair: Pair, bytes: u32, plane: Plane) {
        if self.watched {
            self.pair_mut(pair).services[plane.index()].left(bytes);
        }
    }

    #[cold]
    fn marked(&mut self, pair: Pair, queue: QueueId) {
        if let Some(ports) = &mut self.ports {
            ports.marked(queue);
        }
        self.pair_mut(pair).marked += 1;
    }

    /// A packet was sent in vain on the plane that holds packets.
    #[cold]
    fn left_uplink(&mut self, pair: Pair, bytes: u32) {
        self.pair_mut(pair).services[Plane::PACKET.index()].left(bytes);
    }

    #[inline(never)] // seldom, and in the way where it is not heard
    fn dropped(
        &mut self,
        now: Time,
        pair: Pair,
        (queue, len): (QueueId, u32),
        bytes: u32,
        reason: DropReason,
    ) {
        if reason == DropReason::HoldFull {
            self.left_uplink(pair, bytes);
        }
        if self.watched && reason != DropReason::DownlinkFull {
            self.voq(now, pair, len);
        }
        // A queue in front of a host is no port, though it may have the number of one.
        if reason != DropReason::DownlinkFull {
            if let Some(ports) = &mut self.ports {
                ports.dropped(now, queue, len);
            }
        }
        self.pair_mut(pair).dropped[reason as usize] += 1;
    }

    fn week(&mut self, now: Time) {
        let days = &mut self.days;
        if let Some(start) = days.week_start.replace(now) {
            days.week.add((now - start).0 as f64);
        }
    }

    #[inline]
    fn asked_for(&mut self, now: Time, event: Event) {
        if let Some(found) = &mut self.cross_connects {
            found.on(now, event);
        }
    }

    #[inline(always)] // two calls: it comes up, or goes down
    fn circuit(&mut self, now: Time, pair: Pair, plane: Plane, up: bool) {
        self.pairs.turn(now, pair, plane, up);
        self.asked_for(now, Event::Circuit { pair, plane, up });
        if pair == self.measured {
            self.measured_circuit(now, plane, up);
        }
    }

    #[inline(never)] // of one pair only
    fn measured_circuit(&mut self, now: Time, plane: Plane, up: bool) {
        // While the pair has its circuit the other planes do not serve it.
        let days = &mut self.days;
        for (index, feed) in days.feeds.iter_mut().enumerate() {
            if up != (index == plane.index()) {
                feed.finish();
            }
        }
        if up {
            days.up = Some(now);
            if self.measuring {
                self.runs.turn(true);
            }
        } else {
            if let Some(start) = days.up.take() {
                days.day.add((now - start).0 as f64);
            }
            if self.measuring {
                self.runs.cut(now);
            }
        }
    }
}

#[cfg(test)]
mod tests;
