// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured of each egress port, where that is asked for (`measure.ports`).

use std::collections::VecDeque;

use etalon_events::QueueId;
use etalon_scenario::{PortFacts, Scenario};
use etalon_units::{Rate, Time};

use crate::histogram::{index_of, lower_bound};
use crate::table::{Column, Table, named};

/// A queue, and the link behind it.
#[derive(Clone, Debug, Default)]
struct Port {
    rate: Rate,
    /// Packets whose transmission ended in measured time, and their bytes.
    packets: u64,
    bytes: u64,
    /// Bits of the first of these that were transmitted before.
    before: u64,
    dropped: u64,
    marked: u64,
    /// Packets in the queue, as its events tell.
    own: u32,
    /// These and those that leave without an event, the one in transmission included, and since when.
    len: u32,
    since: Time,
    longest: u32,
    /// Integral of the length over measured time, in packets x ns.
    len_time: u128,
    /// For how many nanoseconds of measured time the queue had the lengths of each bin of a histogram.
    held: Vec<u64>,
    /// Of packets that leave the queue without an event: when, and how long each is in bytes.
    scheduled: VecDeque<(Time, u32)>,
}

impl Port {
    /// The queue has so many packets, beside those that leave without an event.
    fn set_own(&mut self, now: Time, own: u32) {
        self.own = own;
        self.set_len(now);
    }

    /// Packets have come or gone.
    fn set_len(&mut self, now: Time) {
        let len = self.own + self.scheduled.len() as u32;
        let time = now.saturating_since(self.since).0;
        if time > 0 {
            let bin = index_of(self.len.into());
            if bin >= self.held.len() {
                self.held.resize(bin + 1, 0);
            }
            self.held[bin] += time;
        }
        self.len_time += u128::from(self.len) * u128::from(time);
        (self.len, self.since) = (len, now);
        self.longest = self.longest.max(len);
    }

    /// A packet is transmitted.
    fn transmitted(&mut self, now: Time, bytes: u32, measured_from: Time) {
        self.set_len(now);
        if self.packets == 0 {
            let time = now.saturating_since(measured_from).0;
            let fits = u128::from(self.rate.0) * u128::from(time) / 1_000_000_000;
            let bits = 8 * u64::from(bytes);
            self.before = bits.saturating_sub(u64::try_from(fits).unwrap_or(u64::MAX));
        }
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    /// Packets that leave without an event and have left before `now`.
    fn catch_up(&mut self, now: Time, measured_from: Time) {
        while let Some(&(until, bytes)) = self.scheduled.front() {
            if until >= now {
                break;
            }
            self.scheduled.pop_front();
            self.transmitted(until, bytes, measured_from);
        }
    }

    /// Measurement begins: the queue is as it is.
    fn begin(&mut self, now: Time) {
        self.catch_up(now, now);
        *self = Port {
            rate: self.rate,
            own: self.own,
            len: self.len,
            since: now,
            longest: self.len,
            scheduled: std::mem::take(&mut self.scheduled),
            ..Port::default()
        };
    }

    /// The length that the queue did not exceed for so many percent of the time; 0.4 % less at most, if it is 512 or more.
    fn percentile(&self, percent: u64) -> i64 {
        let total: u64 = self.held.iter().sum();
        let mut below = 0;
        for (bin, time) in self.held.iter().enumerate() {
            below += time;
            if u128::from(below) * 100 >= u128::from(percent) * u128::from(total) {
                return lower_bound(bin) as i64;
            }
        }
        0
    }

    /// Share of the time in which the link transmitted, up to packets that it had not completed.
    fn utilization(&self, measured_ns: u64) -> f64 {
        let bits = (8 * self.bytes - self.before) as f64;
        let most = self.rate.0 as f64 * measured_ns as f64 / 1e9;
        // Instants are whole nanoseconds, in which a little more than a packet may fit.
        if most > 0.0 {
            (bits / most).min(1.0)
        } else {
            0.0
        }
    }
}

/// All ports of a network.
#[derive(Debug)]
pub(crate) struct Ports {
    facts: Vec<PortFacts>,
    /// By switch and number there.
    queues: Vec<Vec<Port>>,
    measured_from: Time,
    end: Time,
}

impl Ports {
    /// The ports of a plan's network, if they are asked for.
    pub(crate) fn new(plan: &Scenario) -> Option<Box<Ports>> {
        if !plan.measure.ports {
            return None;
        }
        let facts = plan.network.kind().ports(&plan.hosts);
        let mut queues: Vec<Vec<Port>> = Vec::new();
        for &PortFacts { queue, rate, .. } in &facts {
            let (at, number) = (usize::from(queue.at), usize::from(queue.number));
            queues.resize_with(queues.len().max(at + 1), Vec::new);
            let there = queues[at].len();
            queues[at].resize_with(there.max(number + 1), Port::default);
            queues[at][number].rate = rate;
        }
        Some(Box::new(Ports {
            facts,
            queues,
            measured_from: Time::ZERO,
            end: plan.end(),
        }))
    }

    /// None of packets that found no way.
    fn port(&mut self, queue: QueueId) -> Option<&mut Port> {
        let switch = self.queues.get_mut(usize::from(queue.at))?;
        switch.get_mut(usize::from(queue.number))
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Port> {
        self.queues.iter_mut().flatten()
    }

    /// A packet joins a queue, which then has `len`.
    pub(crate) fn enqueued(&mut self, now: Time, queue: QueueId, len: u32) {
        let from = self.measured_from;
        if let Some(port) = self.port(queue) {
            port.catch_up(now, from);
            port.set_own(now, len);
        }
    }

    /// A packet is transmitted, and its queue has `len`.
    pub(crate) fn dequeued(&mut self, now: Time, queue: QueueId, len: u32, bytes: u32) {
        let from = self.measured_from;
        if let Some(port) = self.port(queue) {
            port.catch_up(now, from);
            port.own = len;
            port.transmitted(now, bytes, from);
        }
    }

    /// A packet joins a queue, which it leaves `until` then.
    pub(crate) fn scheduled(&mut self, now: Time, queue: QueueId, bytes: u32, until: Time) {
        let from = self.measured_from;
        if let Some(port) = self.port(queue) {
            port.catch_up(Time(now.0 + 1), from);
            port.scheduled.push_back((until, bytes));
            port.set_len(now);
        }
    }

    /// A packet is dropped at a queue that has `len`.
    pub(crate) fn dropped(&mut self, now: Time, queue: QueueId, len: u32) {
        let from = self.measured_from;
        if let Some(port) = self.port(queue) {
            port.catch_up(Time(now.0 + 1), from);
            port.set_own(now, port.own.min(len));
            port.dropped += 1;
        }
    }

    /// A packet is marked CE.
    pub(crate) fn marked(&mut self, queue: QueueId) {
        if let Some(port) = self.port(queue) {
            port.marked += 1;
        }
    }

    /// Measurement begins.
    pub(crate) fn begin(&mut self, now: Time) {
        self.measured_from = now;
        self.all().for_each(|port| port.begin(now));
    }

    /// The experiment ends: what happens then counts if it comes early.
    pub(crate) fn finish(&mut self, now: Time) {
        let from = self.measured_from;
        let last = if now < self.end { now.0 + 1 } else { now.0 };
        self.all().for_each(|port| {
            port.catch_up(Time(last), from);
            port.set_len(now);
        });
    }

    /// One row a port.
    pub(crate) fn table(&self, end: Time) -> Table {
        let measured = end.saturating_since(self.measured_from).0;
        let rows: Vec<(&PortFacts, &Port)> = self
            .facts
            .iter()
            .map(|facts| {
                let queue = facts.queue;
                let port = &self.queues[usize::from(queue.at)][usize::from(queue.number)];
                (facts, port)
            })
            .collect();
        let text = |f: fn(&PortFacts) -> String| {
            Column::Text(rows.iter().map(|(facts, _)| f(facts)).collect())
        };
        let facts = |f: fn(&PortFacts) -> i64| {
            Column::Integers(rows.iter().map(|(facts, _)| f(facts)).collect())
        };
        let counts =
            |f: fn(&Port) -> i64| Column::Integers(rows.iter().map(|(_, port)| f(port)).collect());
        let floats = |f: &dyn Fn(&Port) -> f64| {
            Column::Floats(rows.iter().map(|(_, port)| f(port)).collect())
        };
        named([
            ("from", text(|facts| facts.from.to_string())),
            ("to", text(|facts| facts.to.to_string())),
            ("at", facts(|facts| facts.queue.at.into())),
            ("queue", facts(|facts| facts.queue.number.into())),
            ("rate_bps", facts(|facts| facts.rate.0 as i64)),
            ("packets", counts(|port| port.packets as i64)),
            ("bytes", counts(|port| port.bytes as i64)),
            ("dropped", counts(|port| port.dropped as i64)),
            ("marked", counts(|port| port.marked as i64)),
            ("longest", counts(|port| port.longest.into())),
            ("queue_p50", counts(|port| port.percentile(50))),
            ("queue_p99", counts(|port| port.percentile(99))),
            (
                "queue_mean",
                floats(&|port| port.len_time as f64 / measured.max(1) as f64),
            ),
            ("utilization", floats(&|port| port.utilization(measured))),
        ])
    }
}

#[cfg(test)]
mod tests;
