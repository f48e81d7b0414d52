// SPDX-License-Identifier: MIT OR Apache-2.0
//! The expected sequence graph (NSDI'20 section 4.2): runs of a few weeks, cut where the measured pair's day ends, sampled
//! each microsecond, averaged over runs and flows. Streams: memory depends on the length of a run only.

use etalon_units::{Divisor, Span, Time};

/// Nanoseconds between samples, unless a run is so long that this gives more than `MOST_SAMPLES`.
const STEP: u64 = 1_000;
const MOST_SAMPLES: u64 = 1 << 18;
/// Further runs would not change the mean, but take memory.
const MOST_RUNS: usize = 100_000;
/// Fixed-point scale of slopes: 1/4096 of a byte a step.
const SCALE: i64 = 4096;

/// Instants at which runs start, shared by all curves; and whether a day of the measured pair is on.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    starts: Vec<Time>,
    /// Even before the pair's first day and between two of them, odd in one: a day lasts until the next of the week begins.
    phase: u64,
    /// Grows whenever something of this changes.
    changes: u64,
    length: Span,
    /// Nanoseconds between samples.
    step: u64,
    end: Time,
}

impl Runs {
    /// Runs of `length` that are complete by `end`.
    pub(crate) fn new(length: Span, end: Time) -> Runs {
        Runs {
            starts: Vec::new(),
            phase: 0,
            changes: 0,
            length,
            step: length.0.div_ceil(MOST_SAMPLES).max(STEP),
            end,
        }
    }

    /// The pair's day ends at `now`: the previous run may end and another begin.
    pub(crate) fn cut(&mut self, now: Time) {
        let next = self.starts.last().map_or(now, |start| *start + self.length);
        if now >= next && now + self.length <= self.end && self.starts.len() < MOST_RUNS {
            self.starts.push(now);
            self.changes += 1;
        }
    }

    /// A day of the pair begins, or of others: what was a day of the pair is over.
    pub(crate) fn turn(&mut self, to_day: bool) {
        if to_day != (self.phase % 2 == 1) {
            self.phase += 1;
            self.changes += 1;
        }
    }

    pub(crate) fn phase(&self) -> u64 {
        self.phase
    }

    /// Days of the pair that are over.
    pub(crate) fn days(&self) -> u64 {
        self.phase / 2
    }

    /// Takes over what `other` has more.
    #[inline]
    pub(crate) fn follow(&mut self, other: &Runs) {
        // Asked after every event of the network, and nearly never is there one.
        if self.changes < other.changes {
            self.starts
                .extend_from_slice(&other.starts[self.starts.len()..]);
            (self.phase, self.changes) = (other.phase, other.changes);
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.starts.len()
    }

    /// How many runs have reached each sample by `now`: one less where an interrupted run has not come to.
    pub(crate) fn reached(&self, now: Time) -> Vec<usize> {
        let mut counts = vec![self.starts.len(); self.samples()];
        if let Some(start) = self.starts.last() {
            let begun = (now.saturating_since(*start).0 / self.step) as usize;
            for count in counts.iter_mut().skip(begun + 1) {
                *count -= 1;
            }
        }
        while counts.last() == Some(&0) {
            counts.pop();
        }
        counts
    }

    pub(crate) fn samples(&self) -> usize {
        (self.length.0 / self.step) as usize
    }

    pub(crate) fn step(&self) -> u64 {
        self.step
    }
}

/// A sum of piecewise linear functions on the samples of a run, each added in constant time.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    step: Divisor,
    /// What constant and slope of the sum change by at each sample.
    changes: Vec<[i64; 2]>,
}

impl Curve {
    /// A curve on the samples of `runs`.
    pub(crate) fn new(runs: &Runs) -> Curve {
        Curve {
            step: Divisor::new(runs.step),
            // A function may end at the first sample behind a run, which need not end at one itself.
            changes: vec![[0; 2]; runs.samples() + 2],
        }
    }

    /// The first sample that is not before `time`, in nanoseconds from the start of a run.
    #[inline]
    fn sample_at(&self, time: u64) -> u64 {
        self.step.divide(time + self.step.value() - 1)
    }

    /// The first sample after `time`.
    #[inline]
    fn sample_after(&self, time: u64) -> u64 {
        self.step.divide(time) + 1
    }

    /// Adds, on the samples in [first, last), the line that has `value` at `from`, in nanoseconds from the start of the run, and rises
    /// by `slope` (scaled) a step.
    #[inline(always)] // with every data packet, in one place
    fn add(&mut self, first: u64, last: u64, from: u64, value: i64, slope: i64) {
        let rise = slope * from as i64;
        let rise = match u64::try_from(rise) {
            Ok(rise) => self.step.divide(rise) as i64,
            Err(_) => rise / self.step.value() as i64,
        };
        self.add_to(first, last, value * SCALE - rise, slope);
    }

    /// Adds `value` on the samples in [first, last).
    #[inline(always)] // with every packet of the measured pair, in one place
    fn hold(&mut self, first: u64, last: u64, value: i64) {
        self.add_to(first, last, value * SCALE, 0);
    }

    #[inline(always)] // likewise
    fn add_to(&mut self, first: u64, last: u64, at_zero: i64, slope: i64) {
        let [begin, end] = [first as usize, last as usize];
        self.changes[begin][0] += at_zero;
        self.changes[end][0] -= at_zero;
        self.changes[begin][1] += slope;
        self.changes[end][1] -= slope;
    }

    /// The sums at each sample divided by the number of functions there; as long as `counts`.
    pub(crate) fn mean(&self, counts: &[usize]) -> Vec<f64> {
        let (mut constant, mut slope) = (0i64, 0i64);
        let mean = |(i, &count): (usize, &usize)| {
            constant += self.changes[i][0];
            slope += self.changes[i][1];
            // Nearly always 64 bits hold the sum, and take fewer steps; either way what comes out is the nearest number.
            let rise = slope.checked_mul(i as i64);
            let sum = match rise.and_then(|rise| rise.checked_add(constant)) {
                Some(sum) => sum as f64,
                None => (i128::from(constant) + i128::from(slope) * i as i128) as f64,
            };
            sum / (SCALE as f64 * count.max(1) as f64)
        };
        counts.iter().enumerate().map(mean).collect()
    }
}

/// How much of a `change` over the time `whole` is in `some` of it. 64 bits nearly always hold the product, and divide faster.
#[inline(always)] // with every data packet, in one place
fn part(change: i64, some: i64, whole: Span) -> i64 {
    let whole = whole.0.max(1);
    match change.checked_mul(some).map(u64::try_from) {
        Some(Ok(product)) => (product / whole) as i64,
        _ => part_at_length(change, some, whole),
    }
}

/// What is negative or takes more.
#[cold]
#[inline(never)]
fn part_at_length(change: i64, some: i64, whole: u64) -> i64 {
    (i128::from(change) * i128::from(some) / i128::from(whole)) as i64
}

/// How a quantity moves between two values that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moves {
    /// It keeps the first until it has the second: what changes at the instant of a sample has the new value there.
    InSteps,
    /// On a straight line. Each run starts at zero.
    Evenly,
}

/// One quantity that is followed over time: a flow's sequence number or a queue's length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Follower {
    last_time: Time,
    last_value: i64,
    /// Index of the first run that has not ended for this quantity.
    run: usize,
    /// When that run starts and ends, once it has begun; before, what the one before had.
    start: Time,
    end: Time,
    /// The value at its start.
    base: i64,
    /// Its first sample that is not drawn.
    sample: u64,
}

impl Follower {
    /// The value that it has.
    pub(crate) fn last(&self) -> i64 {
        self.last_value
    }

    /// The quantity has `value` now.
    #[inline(always)] // who calls knows which it is
    pub(crate) fn update(
        &mut self,
        now: Time,
        value: i64,
        runs: &Runs,
        curve: &mut Curve,
        moves: Moves,
    ) {
        let (t0, v0) = (self.last_time, self.last_value);
        (self.last_time, self.last_value) = (now, value);
        // Nearly all that happens does so within a run.
        if now >= self.end {
            if self.run < runs.starts.len() {
                self.draw((t0, v0), now, value, runs, curve, moves);
            }
            return;
        }
        let (first, to) = (self.sample, (now - self.start).0);
        if moves == Moves::InSteps {
            self.sample = curve.sample_at(to);
            if first < self.sample {
                curve.hold(first, self.sample, v0);
            }
        } else {
            self.sample = curve.sample_after(to);
            if first < self.sample {
                let slope = part(value - v0, SCALE * runs.step as i64, now - t0);
                let from = (t0 - self.start).0;
                curve.add(first, self.sample, from, v0 - self.base, slope);
            }
        }
    }

    /// Adds what happened since `(t0, v0)` to the curve.
    #[cold]
    #[inline(never)]
    fn draw(
        &mut self,
        (t0, v0): (Time, i64),
        now: Time,
        value: i64,
        runs: &Runs,
        curve: &mut Curve,
        moves: Moves,
    ) {
        let in_steps = moves == Moves::InSteps;
        let change = if in_steps { 0 } else { value - v0 };
        let part_of = |some: i64| part(change, some, now - t0);
        let line = |t: Time| v0 + part_of((t - t0).0 as i64);
        while let Some(&start) = runs.starts.get(self.run) {
            if start >= now {
                return;
            }
            if self.end <= start {
                (self.start, self.end) = (start, start + runs.length);
                self.base = if in_steps { 0 } else { line(start.max(t0)) };
            }
            let (from, to) = (t0.max(start), now.min(self.end));
            let (from_start, to_start) = ((from - start).0, (to - start).0);
            if in_steps {
                let (first, last) = (curve.sample_at(from_start), curve.sample_at(to_start));
                if first < last {
                    curve.hold(first, last, v0);
                }
                self.sample = last;
            } else {
                let (first, last) = (curve.sample_after(from_start), curve.sample_after(to_start));
                if first < last {
                    let slope = part_of(SCALE * runs.step as i64);
                    curve.add(first, last, from_start, line(from) - self.base, slope);
                }
                self.sample = last;
            }
            if now < self.end {
                return;
            }
            self.run += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Sample by sample and run by run.
        #[test]
        fn a_curve_is_what_samples_show(
            changes in prop::collection::vec((1u64..9_000, 0i64..6_000), 1..80),
            cuts in prop::collection::vec(0u64..60_000, 0..8),
            length in 2_000u64..20_000,
            in_steps in any::<bool>(),
        ) {
            let mut runs = Runs::new(Span(length), Time(1 << 40));
            let mut curve = Curve::new(&runs);
            let mut follower = Follower::default();
            let moves = if in_steps { Moves::InSteps } else { Moves::Evenly };
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut seen = vec![(0, 0)];
            let (mut now, mut value) = (0, 0);
            for (later, change) in changes {
                (now, value) = (now + later, if in_steps { change } else { value + change });
                // A run is cut when it is that late, not later.
                while cuts.first().is_some_and(|&cut| cut <= now) {
                    runs.cut(Time(cuts.remove(0)));
                }
                follower.update(Time(now), value, &runs, &mut curve, moves);
                seen.push((now, value));
            }
            let at = |time: u64| {
                let after = seen.partition_point(|&(t, _)| if in_steps { t <= time } else { t < time });
                let after = after.max(1); // at time 0
                let ((t0, v0), after) = (seen[after - 1], seen[after]);
                let part = (time - t0) as f64 / (after.0 - t0) as f64;
                v0 as f64 + if in_steps { 0.0 } else { (after.1 - v0) as f64 * part }
            };
            let ones = vec![1; runs.samples()];
            for (sample, sum) in curve.mean(&ones).into_iter().enumerate().skip(usize::from(!in_steps)) {
                let mut expected = 0.0;
                for start in &runs.starts {
                    let time = start.0 + sample as u64 * runs.step;
                    if time < now || time == now && !in_steps {
                        let base = if in_steps { 0.0 } else { at(start.0).trunc() };
                        expected += at(time) - base;
                    }
                }
                // Steps are exact; on a line, a run begins at a whole number, and slopes are whole parts of `SCALE` a step.
                let of_run = 1.0 + runs.samples() as f64 / SCALE as f64;
                let wrong = if in_steps { 0.0 } else { runs.starts.len() as f64 * of_run };
                prop_assert!((sum - expected).abs() <= wrong, "{sample}: {sum} for {expected}");
            }
        }
    }

    #[test]
    fn a_straight_line_comes_out_straight_in_every_run() {
        let mut runs = Runs::new(Span::from_micros(100), Time(1_000_000));
        let mut curve = Curve::new(&runs);
        let mut follower = Follower::default();
        let mut cuts = 0;
        for t in (0..1_000_000).step_by(700) {
            if t >= cuts * 50_000 {
                runs.cut(Time(cuts * 50_000));
                cuts += 1;
            }
            follower.update(Time(t), t as i64 * 2, &runs, &mut curve, Moves::Evenly);
        }
        follower.update(Time(1_000_000), 2_000_000, &runs, &mut curve, Moves::Evenly);
        assert_eq!(runs.count(), 10);
        let counts = runs.reached(Time(1_000_000));
        assert_eq!(counts, [10; 100]);
        for (i, value) in curve.mean(&counts).into_iter().enumerate().skip(1) {
            assert!((value - 2_000.0 * i as f64).abs() < 2.0, "{i}: {value}");
        }
    }

    #[test]
    fn an_interrupted_run_counts_as_far_as_it_came() {
        let mut runs = Runs::new(Span::from_micros(4), Time(100_000));
        let mut curve = Curve::new(&runs);
        let mut follower = Follower::default();
        for cut in [0, 4_000] {
            runs.cut(Time(cut));
        }
        follower.update(Time(6_500), 6_500, &runs, &mut curve, Moves::Evenly);
        assert_eq!(runs.reached(Time(6_500)), [2, 2, 2, 1]);
        let mean = curve.mean(&runs.reached(Time(6_500)));
        assert!(
            mean.iter()
                .zip([0.0, 1000.0, 2000.0, 3000.0])
                .all(|(m, e)| (m - e).abs() < 1.0),
            "{mean:?}"
        );
        assert_eq!(runs.reached(Time(4_000)).len(), 4);
        assert!(
            Runs::new(Span::from_micros(4), Time(9))
                .reached(Time(9))
                .is_empty()
        );
    }

    #[test]
    fn long_runs_have_a_bounded_number_of_samples() {
        let runs = Runs::new(Span::from_secs(30), Time::MAX);
        assert!(runs.samples() as u64 <= MOST_SAMPLES);
        assert!(runs.step() > STEP);
    }

    #[test]
    fn a_step_function_is_sampled_not_interpolated() {
        let mut runs = Runs::new(Span::from_micros(10), Time(20_000));
        let mut curve = Curve::new(&runs);
        let mut follower = Follower::default();
        runs.cut(Time(0));
        follower.update(Time(4_500), 3, &runs, &mut curve, Moves::InSteps);
        follower.update(Time(20_000), 0, &runs, &mut curve, Moves::InSteps);
        assert_eq!(
            curve.mean(&runs.reached(Time(20_000))),
            [0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 3.0]
        );
    }

    #[test]
    fn a_step_at_a_samples_instant_is_there_and_so_is_what_a_run_begins_with() {
        let mut runs = Runs::new(Span::from_micros(4), Time(50_000));
        let mut curve = Curve::new(&runs);
        let mut follower = Follower::default();
        follower.update(Time(7_000), 5, &runs, &mut curve, Moves::InSteps);
        runs.cut(Time(10_000));
        follower.update(Time(12_000), 3, &runs, &mut curve, Moves::InSteps);
        follower.update(Time(20_000), 0, &runs, &mut curve, Moves::InSteps);
        assert_eq!(
            curve.mean(&runs.reached(Time(20_000))),
            [5.0, 5.0, 3.0, 3.0]
        );
    }
}
