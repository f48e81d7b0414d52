// SPDX-License-Identifier: MIT OR Apache-2.0
//! The expected course of senders' paths (TDTCP's TDNs, MPTCP's subflows) over a run of the sequence graph.

use etalon_units::Time;

use crate::senders::Sender;
use crate::sequence::{Curve, Follower, Moves, Runs};

/// A column's name, and what it has of a sender.
type Quantity = (&'static str, fn(&Sender) -> i64);

/// What is followed of a path, by what its column is called after the network's name. A path that is not in use keeps its values.
pub(crate) const QUANTITIES: [Quantity; 3] = [
    ("cwnd_packets", |sender| sender.cwnd.into()),
    ("pipe_packets", |sender| sender.pipe.into()),
    ("srtt_ns", |sender| sender.srtt_ns as i64),
];

/// Paths of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathFollowers(Box<[[Follower; QUANTITIES.len()]]>);

/// Paths of all followed flows of the measured pair that have several; none if there are no such flows.
#[derive(Debug, Default)]
pub(crate) struct PathCurves {
    curves: Vec<[Curve; QUANTITIES.len()]>,
    /// Flows that have each of them.
    flows: Vec<usize>,
}

impl PathCurves {
    /// Follows one more flow, if it has several paths.
    pub(crate) fn add_flow(&mut self, paths: usize, runs: &Runs) -> PathFollowers {
        if paths < 2 {
            return PathFollowers::default();
        }
        while self.curves.len() < paths {
            self.curves.push(QUANTITIES.map(|_| Curve::new(runs)));
            self.flows.push(0);
        }
        for flows in &mut self.flows[..paths] {
            *flows += 1;
        }
        PathFollowers((0..paths).map(|_| Default::default()).collect())
    }

    /// A flow's sender is in state `sender` from `now` on.
    pub(crate) fn follow(
        &mut self,
        now: Time,
        followers: &mut PathFollowers,
        sender: &Sender,
        runs: &Runs,
    ) {
        let path = usize::from(sender.path);
        if let (Some(followers), Some(curves)) =
            (followers.0.get_mut(path), self.curves.get_mut(path))
        {
            for ((follower, curve), (_, value)) in followers.iter_mut().zip(curves).zip(QUANTITIES)
            {
                follower.update(now, value(sender), runs, curve, Moves::InSteps);
            }
        }
    }

    /// The experiment ends at `now`.
    pub(crate) fn finish(&mut self, now: Time, followers: &mut PathFollowers, runs: &Runs) {
        for (followers, curves) in followers.0.iter_mut().zip(&mut self.curves) {
            for (follower, curve) in followers.iter_mut().zip(curves) {
                follower.update(now, follower.last(), runs, curve, Moves::InSteps);
            }
        }
    }

    /// By path and quantity, a flow's mean, where so many runs have reached each sample.
    pub(crate) fn means(&self, runs: &[usize]) -> Vec<[Vec<f64>; QUANTITIES.len()]> {
        let of_path = |(curves, flows): (&[Curve; QUANTITIES.len()], &usize)| {
            let counts: Vec<usize> = runs.iter().map(|runs| runs * flows).collect();
            core::array::from_fn(|quantity| curves[quantity].mean(&counts))
        };
        self.curves.iter().zip(&self.flows).map(of_path).collect()
    }
}

#[cfg(test)]
mod tests {
    use etalon_units::Span;

    use super::*;

    #[test]
    fn a_path_that_is_not_in_use_keeps_its_window() {
        let mut runs = Runs::new(Span(10_000), Time(20_000));
        let mut curves = PathCurves::default();
        assert_eq!(curves.add_flow(1, &runs).0.len(), 0);
        let mut flow = curves.add_flow(2, &runs);
        let mut silent = curves.add_flow(3, &runs);
        runs.cut(Time(0));
        for (now, path, cwnd) in [(0, 0, 4), (2000, 1, 30), (6000, 0, 8)] {
            let sender = Sender {
                path,
                cwnd,
                ..Sender::default()
            };
            curves.follow(Time(now), &mut flow, &sender, &runs);
        }
        for followers in [&mut flow, &mut silent] {
            curves.finish(Time(20_000), followers, &runs);
        }
        let cwnd = |path: usize| curves.means(&[1; 10])[path][0].clone();
        // Two flows have the first two paths, one of them with no window.
        assert_eq!(cwnd(0)[1..], [2.0, 2.0, 2.0, 2.0, 2.0, 4.0, 4.0, 4.0, 4.0]);
        assert_eq!(
            cwnd(1)[1..],
            [0.0, 15.0, 15.0, 15.0, 15.0, 15.0, 15.0, 15.0, 15.0]
        );
        assert_eq!(cwnd(2), [0.0; 10]);
    }
}
