//! Streaming measurements of what the network does.

use etalon_events::{Digest, DropReason, Event, Pair, Plane, Probe};
use etalon_scenario::{Scenario, Schedule};
use etalon_units::{Span, Time};

use crate::computed::Computed;
use crate::histogram::Histogram;
use crate::sequence::{Curve, Follower, Runs};

/// Packets up to this length (in bytes), or half of a smaller MTU, do not count for latency: the papers look at data only.
const DATA_BYTES: u32 = 1000;

/// What is measured of one rack pair.
#[derive(Debug, Default)]
pub(crate) struct PairMetrics {
    pub(crate) latency: [Histogram; 2],
    pub(crate) data_packets: [u64; 2],
    pub(crate) dropped: [u64; DropReason::ALL.len()],
    pub(crate) marked: u64,
    pub(crate) first: Option<Time>,
    pub(crate) last: Time,
    /// Sum of the VOQ's length over departures of data.
    pub(crate) voq_sum: u64,
    pub(crate) days: u64,
    pub(crate) voq_at_day_start: u64,
    /// Measured time in which there was a circuit.
    pub(crate) up: Span,
    up_since: Option<Time>,
    voq: u32,
}

impl PairMetrics {
    /// The circuit goes down, or is no longer looked at.
    fn circuit_down(&mut self, now: Time, measured_from: Time) {
        if let Some(since) = self.up_since.take() {
            self.up += now.saturating_since(since.max(measured_from));
        }
    }
}

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
    first: Option<Time>,
    last: Time,
    bytes: u64,
    last_bytes: u64,
    packets: u64,
}

impl Busy {
    fn packet(&mut self, now: Time, bytes: u32) {
        self.first.get_or_insert(now);
        self.bytes += self.last_bytes;
        self.last_bytes = u64::from(bytes);
        self.last = now;
        self.packets += 1;
    }

    /// Bits a second, if there were enough packets to tell.
    fn finish(&mut self) -> Option<f64> {
        let busy = std::mem::take(self);
        let span = busy.last.saturating_since(busy.first?);
        (busy.packets >= 10).then(|| busy.bytes as f64 * 8.0 / span.as_secs_f64())
    }
}

/// Timing and rates of the measured pair's days (Table 1).
#[derive(Debug, Default)]
pub(crate) struct DayMetrics {
    pub(crate) day: Moments,
    pub(crate) week: Moments,
    pub(crate) packet_rate: Moments,
    pub(crate) circuit_rate: Moments,
    up: Option<Time>,
    week_start: Option<Time>,
    circuit: Busy,
    packet: Busy,
}

/// Measures what the network does: the probe of a run.
#[derive(Debug)]
pub struct Metrics {
    racks: usize,
    /// Their names.
    pub(crate) planes: &'static [&'static str],
    pairs: Vec<Option<Box<PairMetrics>>>,
    pub(crate) measured: Pair,
    measuring: bool,
    /// The end of the warm-up.
    measured_from: Time,
    /// Weeks computed from demand; none if they are not.
    pub(crate) computed: Option<Computed>,
    data_bytes: u32,
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
        let racks = usize::from(plan.hosts.racks);
        let runs = Runs::new(run_length, plan.end());
        let voq_curve = Curve::new(&runs);
        Metrics {
            racks,
            planes: plan.network.planes(),
            pairs: (0..racks * racks).map(|_| None).collect(),
            measured: plan.measure.pair,
            measuring: false,
            measured_from: plan.begin(),
            computed: plan.control().map(|_| Computed::default()),
            data_bytes: DATA_BYTES.min(u32::from(plan.hosts.mtu) / 2),
            days: DayMetrics::default(),
            runs,
            voq_curve,
            voq_follower: Follower::default(),
            digest: Digest::default(),
        }
    }

    /// The warm-up is over.
    pub fn begin(&mut self) {
        self.measuring = true;
        self.days = DayMetrics::default();
        if let Some(computed) = &mut self.computed {
            computed.begin();
        }
        for pair in self.pairs.iter_mut().flatten() {
            **pair = PairMetrics {
                voq: pair.voq,
                up_since: pair.up_since,
                ..PairMetrics::default()
            };
        }
    }

    /// The experiment ends at `now`.
    pub fn finish(&mut self, now: Time) {
        let len = self.pair_mut(self.measured).voq;
        self.follow_voq(now, len);
        let from = self.measured_from;
        for pair in self.pairs.iter_mut().flatten() {
            pair.circuit_down(now, from);
        }
    }

    /// A week was computed for the `demand` (bytes by source and then by destination rack) at `time`.
    pub fn computed(&mut self, time: Time, demand: &[u64], week: &Schedule) {
        if let Some(computed) = &mut self.computed {
            computed.note(time, demand, week);
        }
    }

    pub(crate) fn pair(&self, pair: Pair) -> Option<&PairMetrics> {
        self.pairs[usize::from(pair.src) * self.racks + usize::from(pair.dst)].as_deref()
    }

    #[inline]
    fn pair_mut(&mut self, pair: Pair) -> &mut PairMetrics {
        let index = usize::from(pair.src) * self.racks + usize::from(pair.dst);
        self.pairs[index].get_or_insert_default()
    }

    #[inline(always)] // with every packet, twice
    fn voq(&mut self, now: Time, pair: Pair, len: u32) {
        self.pair_mut(pair).voq = len;
        if pair == self.measured {
            self.follow_voq(now, len);
        }
    }

    #[inline(never)] // of one pair only
    fn follow_voq(&mut self, now: Time, len: u32) {
        let (runs, curve) = (&self.runs, &mut self.voq_curve);
        self.voq_follower
            .update(now, i64::from(len), runs, curve, true, false);
    }
}

impl Probe for Metrics {
    #[inline(always)] // each emitter knows its event
    fn on(&mut self, time: Time, event: Event) {
        self.digest.event(time, &event);
        match event {
            Event::Enqueue { pair, len, .. } => self.voq(time, pair, len),
            Event::Dequeue {
                pair,
                len,
                bytes,
                plane,
                ..
            } => self.dequeued(time, pair, len, bytes, plane),
            Event::Departed {
                pair,
                bytes,
                latency,
                plane,
                ..
            } if bytes > self.data_bytes => self.data_departed(time, pair, latency, plane),
            Event::Dropped {
                pair, len, reason, ..
            } => self.dropped(time, pair, len, reason),
            Event::Marked { pair, .. } => self.marked(pair),
            Event::Circuit { pair, up, .. } => self.circuit(time, pair, up),
            Event::Week { .. } => self.week(time),
            _ => {}
        }
    }
}

/// What is measured of each event.
impl Metrics {
    #[inline]
    fn dequeued(&mut self, now: Time, pair: Pair, len: u32, bytes: u32, plane: Plane) {
        self.voq(now, pair, len);
        if pair == self.measured {
            match plane {
                Plane::CIRCUIT => self.days.circuit.packet(now, bytes),
                _ => self.days.packet.packet(now, bytes),
            }
        }
    }

    #[inline(always)] // with every packet delivered
    fn data_departed(&mut self, now: Time, pair: Pair, latency: Span, plane: Plane) {
        let p = self.pair_mut(pair);
        p.latency[plane.index()].record(latency.0);
        p.data_packets[plane.index()] += 1;
        p.first.get_or_insert(now);
        p.last = now;
        p.voq_sum += u64::from(p.voq);
    }

    #[cold]
    fn marked(&mut self, pair: Pair) {
        self.pair_mut(pair).marked += 1;
    }

    fn dropped(&mut self, now: Time, pair: Pair, len: u32, reason: DropReason) {
        self.voq(now, pair, len);
        self.pair_mut(pair).dropped[reason as usize] += 1;
    }

    fn week(&mut self, now: Time) {
        let days = &mut self.days;
        if let Some(start) = days.week_start.replace(now) {
            days.week.add((now - start).0 as f64);
        }
    }

    fn circuit(&mut self, now: Time, pair: Pair, up: bool) {
        let from = self.measured_from;
        let p = self.pair_mut(pair);
        if up {
            p.days += 1;
            p.voq_at_day_start += u64::from(p.voq);
            p.up_since = Some(now);
        } else {
            p.circuit_down(now, from);
        }
        if pair != self.measured {
            return;
        }
        let days = &mut self.days;
        if up {
            days.up = Some(now);
            if let Some(rate) = days.packet.finish() {
                days.packet_rate.add(rate);
            }
        } else {
            if let Some(start) = days.up.take() {
                days.day.add((now - start).0 as f64);
            }
            if let Some(rate) = days.circuit.finish() {
                days.circuit_rate.add(rate);
            }
            if self.measuring {
                self.runs.cut(now);
            }
        }
    }
}
