// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured of rack pairs.

use etalon_events::{DropReason, Pair, Plane, Weeks};
use etalon_scenario::PlaneFacts;
use etalon_units::{Rate, Span, Time};

use crate::histogram::Histogram;
use crate::service::Service;

/// All pairs. Of most nothing is known but when planes served them: that takes some bytes, not a kilobyte, until a packet comes.
#[derive(Debug)]
pub(crate) struct Pairs {
    racks: usize,
    /// By source and then by destination, which takes fewer steps to find than [`Pair::index`]: those of which packets were heard.
    heard: Vec<Option<Box<PairMetrics>>>,
    quiet: Quiet,
    /// Since when circuits' time is measured.
    measured_from: Time,
}

/// What is known of pairs of which no packet was heard.
#[derive(Debug)]
struct Quiet {
    racks: usize,
    planes: Vec<PlaneFacts>,
    /// By [`Pair::index`] and then by plane; empty before the first gate opens or closes.
    gates: Vec<Gate>,
    /// By [`Pair::index`]: circuits that came up. As long.
    days: Vec<u32>,
    /// Since when is counted.
    counting_from: Time,
}

/// What is known of the pair is elsewhere: so a day of many quiet pairs looks at one table only.
const HEARD: Time = Time(u64::MAX - 1);

/// When a plane serves a pair that has sent nothing.
#[derive(Clone, Copy, Debug)]
struct Gate {
    /// [`Time::MAX`] if it does not; [`HEARD`] once packets of the pair are heard.
    since: Time,
    /// All of the counted time before.
    time: Span,
}

impl Gate {
    fn new(plane: &PlaneFacts, now: Time) -> Gate {
        let is_open = plane.serves_outside_of_days();
        Gate {
            since: if is_open { now } else { Time::MAX },
            time: Span::ZERO,
        }
    }

    #[inline]
    fn turn(&mut self, now: Time, open: bool) {
        if open {
            self.since = self.since.min(now);
        } else if self.since != Time::MAX {
            self.time += now.saturating_since(self.since);
            self.since = Time::MAX;
        }
    }

    /// It is as it was `before` the week that began then, but for that it is so much later; or that week did not touch it.
    fn is_as(&self, before: &Gate, began: Time, shift: Span) -> bool {
        if before.since == Time::MAX || self.since == Time::MAX {
            return before.since == self.since;
        }
        self.since == before.since + shift || (self.since == before.since && before.since < began)
    }

    /// What the week since `before` made of it, so many weeks like it do again.
    fn repeat(&mut self, before: &Gate, count: u64) {
        self.time += Span((self.time.0 - before.time.0) * count);
        if self.since != Time::MAX {
            self.since += Span((self.since.0 - before.since.0) * count);
        }
    }

    /// Counting begins anew.
    fn begin(&mut self, now: Time) {
        self.time = Span::ZERO;
        if self.since < HEARD {
            self.since = now;
        }
    }

    fn open_since(&self) -> Option<Time> {
        (self.since != Time::MAX).then_some(self.since)
    }
}

/// What is known at one time of a pair of which no packet was heard.
#[derive(Debug)]
pub(crate) struct Known {
    gates: Vec<Gate>,
    days: u32,
}

impl Quiet {
    /// What is known of the pair at this place, of which packets are heard from now on.
    #[cold]
    #[inline(never)]
    fn hear(&mut self, place: usize) -> Box<PairMetrics> {
        let from = self.counting_from;
        let planes = self.planes.len();
        let index = pair_at(place, self.racks).index(self.racks);
        let mut services = Vec::with_capacity(planes);
        let mut up = vec![Span::ZERO; planes];
        let mut up_since = None;
        for (number, facts) in self.planes.iter().enumerate() {
            let gate = self.gates.get(index * planes + number);
            let gate = gate.copied().unwrap_or_else(|| Gate::new(facts, from));
            services.push(Service::new(gate.open_since(), gate.time, from));
            if facts.in_days {
                up[number] = gate.time;
                let since = gate.open_since();
                up_since = up_since.or(since.map(|since| (Plane(number as u8), since)));
            }
        }
        let days = self.days.get(index).copied().unwrap_or_default();
        self.forget(index);
        Box::new(PairMetrics {
            days: days.into(),
            up: up.into(),
            up_since,
            ..PairMetrics::new(services.into(), from)
        })
    }

    /// The pair with this index is quiet no longer.
    fn forget(&mut self, index: usize) {
        let planes = self.planes.len();
        for gate in self.gates.iter_mut().skip(index * planes).take(planes) {
            gate.since = HEARD;
        }
    }

    /// A plane serves a pair from now on, or no longer; from `now`, which may be long past ([`Switch::let_idle_pairs_sleep`]), and
    /// before counting began. False if packets of the pair are heard, which is for others to note.
    ///
    /// [`Switch::let_idle_pairs_sleep`]: etalon_switch::Switch::let_idle_pairs_sleep
    #[inline]
    fn turn(&mut self, now: Time, pair: Pair, plane: Plane, open: bool) -> bool {
        let index = pair.index(self.racks);
        let Some(gate) = self
            .gates
            .get_mut(index * self.planes.len() + plane.index())
        else {
            return false;
        };
        if gate.since == HEARD {
            return false;
        }
        gate.turn(now.max(self.counting_from), open);
        if open && plane != Plane::PACKET && now >= self.counting_from {
            self.days[index] += 1;
        }
        true
    }

    fn known(&self, pair: Pair) -> Option<Known> {
        let (index, planes) = (pair.index(self.racks), self.planes.len());
        let gates = self.gates.get(index * planes..(index + 1) * planes)?;
        gates.iter().all(|gate| gate.since != HEARD).then(|| Known {
            gates: gates.to_vec(),
            days: self.days[index],
        })
    }

    /// As [`Pairs::repeat`]. Where a week leaves all as it found it, but for that it is a week later, the next one adds as much.
    fn repeat(&mut self, pair: Pair, before: &Known, weeks: &mut Weeks) {
        let began = Time(weeks.start.0 - weeks.length.0);
        let (count, shift) = if began >= self.counting_from {
            (weeks.count, weeks.length)
        } else {
            // What ends before counting begins leaves only whether gates are open then; the week in which it begins is told.
            let rest = self.counting_from.saturating_since(weeks.start).0;
            (rest.saturating_sub(1) / weeks.length.0, Span::ZERO)
        };
        let count = count.min(weeks.count);
        let (index, planes) = (pair.index(self.racks), self.planes.len());
        let gates = &mut self.gates[index * planes..][..planes];
        let mut both = before.gates.iter().zip(&*gates);
        if both.all(|(before, gate)| gate.is_as(before, began, shift)) {
            for (before, gate) in before.gates.iter().zip(gates) {
                gate.repeat(before, count);
            }
            self.days[index] += (self.days[index] - before.days) * count as u32;
            weeks.pass(count);
        }
    }

    /// From now on gates are noted.
    #[cold]
    #[inline(never)]
    fn follow(&mut self) {
        let pairs = self.racks * self.racks;
        let gate = |plane| Gate::new(plane, self.counting_from);
        let gates: Vec<Gate> = self.planes.iter().map(gate).collect();
        self.gates = gates.repeat(pairs);
        self.days = vec![0; pairs];
    }

    /// Counting begins anew.
    fn begin(&mut self, now: Time) {
        self.counting_from = now;
        for gate in &mut self.gates {
            gate.begin(now);
        }
        self.days.fill(0);
    }
}

impl Pairs {
    /// Of so many racks; measurement begins at `measured_from`.
    pub(crate) fn new(racks: u16, planes: &[PlaneFacts], measured_from: Time) -> Pairs {
        let racks = usize::from(racks);
        Pairs {
            racks,
            heard: vec![None; racks * racks],
            quiet: Quiet {
                racks,
                planes: planes.to_vec(),
                gates: Vec::new(),
                days: Vec::new(),
                counting_from: Time::ZERO,
            },
            measured_from,
        }
    }

    #[inline]
    fn place(&self, pair: Pair) -> usize {
        usize::from(pair.src) * self.racks + usize::from(pair.dst)
    }

    /// What is known of a pair of which packets were heard.
    pub(crate) fn get(&self, pair: Pair) -> Option<&PairMetrics> {
        self.heard[self.place(pair)].as_deref()
    }

    /// What is known of all pairs of which packets were heard.
    pub(crate) fn heard(&self) -> impl Iterator<Item = &PairMetrics> {
        self.heard.iter().flatten().map(|heard| &**heard)
    }

    /// What is known of a pair of which packets are heard from now on.
    #[inline(always)] // with every packet, three times
    pub(crate) fn get_mut(&mut self, pair: Pair) -> &mut PairMetrics {
        let place = self.place(pair);
        let Pairs { heard, quiet, .. } = self;
        heard[place].get_or_insert_with(|| quiet.hear(place))
    }

    /// A plane serves a pair from now on, or no longer; if the plane is one of circuits, one comes up or goes down.
    #[inline]
    pub(crate) fn turn(&mut self, now: Time, pair: Pair, plane: Plane, open: bool) {
        if self.quiet.gates.is_empty() {
            self.follow();
        }
        if !self.quiet.turn(now, pair, plane, open) {
            self.turn_heard(now, pair, plane, open);
        }
    }

    /// The first gate opens or closes.
    #[cold]
    #[inline(never)]
    fn follow(&mut self) {
        self.quiet.follow();
        for place in 0..self.heard.len() {
            if self.heard[place].is_some() {
                let pair = pair_at(place, self.racks);
                self.quiet.forget(pair.index(self.racks));
            }
        }
    }

    #[inline(never)]
    fn turn_heard(&mut self, now: Time, pair: Pair, plane: Plane, open: bool) {
        let place = self.place(pair);
        let Some(heard) = &mut self.heard[place] else {
            return;
        };
        let facts = &self.quiet.planes[plane.index()];
        heard.turn(now, plane, open, facts.rate(pair));
        if facts.in_days {
            heard.circuit(now, plane, open, self.measured_from);
        }
    }

    /// Measurement begins.
    pub(crate) fn begin(&mut self) {
        let from = self.measured_from;
        for (place, heard) in self.heard.iter_mut().enumerate() {
            if let Some(heard) = heard {
                heard.begin(from, pair_at(place, self.racks), &self.quiet.planes);
            }
        }
        self.quiet.begin(from);
    }

    /// What is known of a pair of which no packets are heard.
    pub(crate) fn known(&self, pair: Pair) -> Option<Known> {
        self.quiet.known(pair)
    }

    /// A pair of which all this was known has lived through a week, and `weeks` that are like it follow: those are passed that need not
    /// be told.
    pub(crate) fn repeat(&mut self, pair: Pair, before: &Known, weeks: &mut Weeks) {
        self.quiet.repeat(pair, before, weeks);
    }

    /// The experiment ends at `now`.
    pub(crate) fn finish(&mut self, now: Time) {
        for heard in self.heard.iter_mut().flatten() {
            heard.finish(now, self.measured_from);
        }
    }
}

/// The pair at a place of [`Pairs::heard`].
fn pair_at(place: usize, racks: usize) -> Pair {
    Pair {
        src: (place / racks) as u16,
        dst: (place % racks) as u16,
    }
}

/// What is measured of one rack pair. What each packet changes comes first: with hundreds of racks each line of a cache that a packet
/// touches comes from afar.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(crate) struct PairMetrics {
    /// Since when the VOQ has this length.
    voq_since: Time,
    /// Integral of the VOQ's length over measured time, in packets x ns.
    pub(crate) voq_time: u64,
    /// Sum of the VOQ's length over departures of data.
    pub(crate) voq_sum: u64,
    pub(crate) last: Time,
    /// By plane.
    pub(crate) services: Box<[Service]>,
    voq: u32,
    /// Of data packets, by plane.
    pub(crate) latency: Histogram,
    pub(crate) dropped: [u64; DropReason::ALL.len()],
    pub(crate) marked: u64,
    pub(crate) trimmed: u64,
    pub(crate) returned: u64,
    pub(crate) first: Option<Time>,
    pub(crate) days: u64,
    pub(crate) voq_at_day_start: u64,
    /// By plane: measured time in which there was a circuit.
    pub(crate) up: Box<[Span]>,
    up_since: Option<(Plane, Time)>,
}

impl PairMetrics {
    /// Of a pair with these services of planes, counted from `now`.
    fn new(services: Box<[Service]>, now: Time) -> PairMetrics {
        PairMetrics {
            latency: Histogram::new(services.len()),
            dropped: [0; DropReason::ALL.len()],
            marked: 0,
            trimmed: 0,
            returned: 0,
            first: None,
            last: Time::ZERO,
            voq_sum: 0,
            days: 0,
            voq_at_day_start: 0,
            up: vec![Span::ZERO; services.len()].into(),
            up_since: None,
            services,
            voq: 0,
            voq_since: now,
            voq_time: 0,
        }
    }

    /// Packets in the VOQ now.
    pub(crate) fn voq(&self) -> u32 {
        self.voq
    }

    /// The VOQ has `len` packets from now on.
    #[inline]
    pub(crate) fn set_voq(&mut self, now: Time, len: u32) {
        self.voq_time += u64::from(self.voq) * now.saturating_since(self.voq_since).0;
        (self.voq, self.voq_since) = (len, now);
    }

    #[inline(always)] // with every data packet delivered
    pub(crate) fn data_departed(&mut self, now: Time, latency: Span, plane: Plane) {
        if !self.latency.record(plane.index(), latency.0) {
            self.rare_latency(now, latency, plane);
        }
        self.last = now;
        self.voq_sum += u64::from(self.voq);
    }

    /// One that has no bin yet, as the first.
    #[cold]
    fn rare_latency(&mut self, now: Time, latency: Span, plane: Plane) {
        self.first.get_or_insert(now);
        self.latency.record_elsewhere(plane.index(), latency.0);
    }

    /// A plane serves the pair from now on, or no longer.
    fn turn(&mut self, now: Time, plane: Plane, open: bool, rate: Rate) {
        let service = &mut self.services[plane.index()];
        if open {
            service.open(now);
        } else {
            service.close(now, rate);
        }
    }

    /// A circuit comes up or goes down.
    fn circuit(&mut self, now: Time, plane: Plane, up: bool, measured_from: Time) {
        if up {
            self.days += 1;
            self.voq_at_day_start += u64::from(self.voq);
            self.up_since = Some((plane, now));
        } else {
            self.circuit_down(now, measured_from);
        }
    }

    /// Measurement begins: what was is kept as far as it goes on.
    fn begin(&mut self, now: Time, pair: Pair, planes: &[PlaneFacts]) {
        let mut services = std::mem::take(&mut self.services);
        for (service, plane) in services.iter_mut().zip(planes) {
            service.begin(now, plane.rate(pair));
        }
        *self = PairMetrics {
            voq: self.voq,
            up_since: self.up_since,
            ..PairMetrics::new(services, now)
        };
    }

    /// The experiment ends.
    fn finish(&mut self, now: Time, measured_from: Time) {
        self.circuit_down(now, measured_from);
        self.set_voq(now, self.voq);
        for service in &mut self.services {
            service.finish(now);
        }
    }

    /// The circuit goes down, or is no longer looked at.
    fn circuit_down(&mut self, now: Time, measured_from: Time) {
        if let Some((plane, since)) = self.up_since.take() {
            self.up[plane.index()] += now.saturating_since(since.max(measured_from));
        }
    }
}

#[cfg(test)]
mod tests {
    use etalon_scenario::Bottlenecks;
    use proptest::prelude::*;

    use super::*;

    const PAIR: Pair = Pair { src: 1, dst: 0 };
    const RATE: Rate = Rate(8_000_000_000);

    fn pairs(measured_from: Time) -> Pairs {
        let plane = |name, in_days| PlaneFacts {
            name,
            bottlenecks: Bottlenecks::Directions([(RATE, Span::ZERO); 2]),
            in_days,
        };
        let planes = [plane("packet", false), plane("circuit", true)];
        Pairs::new(2, &planes, measured_from)
    }

    /// What is shown of the pair at the end.
    fn shown(pairs: &mut Pairs, end: Time) -> (u64, Vec<Span>, Vec<u64>) {
        pairs.finish(end);
        let m = pairs.get_mut(PAIR);
        let capacity = |service: &Service| service.capacity(RATE, Span::ZERO);
        let capacities = m.services.iter().map(capacity).collect();
        (m.days, m.up.to_vec(), capacities)
    }

    proptest! {
        /// When the first packet comes makes no difference to when planes served the pair.
        #[test]
        fn a_pair_that_was_quiet_lacks_nothing(
            turns in prop::collection::vec((1u64..1000, any::<bool>()), 1..60),
            begin in 0usize..60,
            first in 0usize..60,
        ) {
            let times = turns.iter().scan(0, |now, turn| { *now += turn.0; Some(*now) });
            let times: Vec<u64> = times.collect();
            let begin = begin.min(turns.len() - 1);
            let first = first.min(turns.len() - 1);
            let mut always = pairs(Time(times[begin]));
            let mut later = pairs(Time(times[begin]));
            always.get_mut(PAIR);
            let (mut gate, mut circuit) = (true, false);
            for (at, &(_, of_circuit)) in turns.iter().enumerate() {
                let (plane, open) = if of_circuit {
                    circuit = !circuit;
                    (Plane(1), circuit)
                } else {
                    gate = !gate;
                    (Plane::PACKET, gate)
                };
                for pairs in [&mut always, &mut later] {
                    if at == begin {
                        pairs.begin();
                    }
                    pairs.turn(Time(times[at]), PAIR, plane, open);
                    if at == first {
                        pairs.get_mut(PAIR).services[1].dequeued(Time(times[at]), 500);
                    }
                }
            }
            let end = Time(times[turns.len() - 1] + 7);
            prop_assert_eq!(shown(&mut always, end), shown(&mut later, end));
        }
    }
}
