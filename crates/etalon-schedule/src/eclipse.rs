// SPDX-License-Identifier: MIT OR Apache-2.0
//! Eclipse: the configuration and duration that serve the most demand per time, again and again.

use alloc::vec::Vec;

use etalon_switch::Schedule;

use crate::assignment::largest_assignment;
use crate::decompose::circuits;
use crate::demand::Demand;
use crate::fit::{Day, fit};
use crate::matrix::Matrix;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};

/// Eclipse (Bojja Venkatakrishnan, Alizadeh, Viswanath, "Costly circuits, submodular schedules and approximate
/// Caratheodory theorems", SIGMETRICS 2016): greedy over a submodular objective.
///
/// Each step takes the matching and the duration of most demand served per time, nights included. The published search
/// tries the entries that are left as durations; here it tries powers of 9/8 of the minimum day up to the time left,
/// which is never more than 9/8 from the best choice, since what a matching serves does not fall with its duration. A day
/// then gets the best length for its matching, which is where one of its demands ends. Time that is left in the end is given to all days equally.
#[derive(Clone, Copy, Debug, Default)]
pub struct Eclipse;

impl Scheduler for Eclipse {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        let left = demand.times(params.circuit_rate());
        Ok(fit(days(left, params), demand.racks(), params))
    }
}

/// A duration, and a bound on what any matching serves in it: what was found when it was last tried. Demand only falls,
/// so the bound holds until the search is over.
#[derive(Clone, Copy)]
struct Candidate {
    length: u64,
    at_most: u64,
}

/// What a matching serves in a duration.
struct Choice {
    length: u64,
    served: u64,
    destination_of: Vec<u16>,
}

fn days(mut left: Matrix, params: &Params) -> Vec<Day> {
    let (min, night) = (params.min_day().as_nanos(), params.night().as_nanos());
    let mut room = params.window().as_nanos();
    let mut candidates = durations(min, room - night);
    let mut days = Vec::new();
    while room >= min + night && !left.is_zero() {
        limit(&mut candidates, room - night);
        let best = choose(&mut candidates, &left, night);
        let pairs: Vec<(u16, u16)> = (0..).zip(best.destination_of).collect();
        let demands = pairs
            .iter()
            .map(|&(src, dst)| left.get(usize::from(src), usize::from(dst)));
        let length = best_length(demands.collect(), min, room - night, night);
        let mut circuit_pairs = Vec::new();
        for (src, dst) in pairs {
            let cell = left.get_mut(usize::from(src), usize::from(dst));
            if *cell > 0 {
                *cell = cell.saturating_sub(length);
                circuit_pairs.push((src, dst));
            }
        }
        room -= length + night;
        days.push(Day {
            matching: circuits(left.side(), circuit_pairs.into_iter()),
            length,
        });
    }
    days
}

/// The length from `min` to `most` in which these demands, side by side, are served most per time.
///
/// What is served grows ever slower with the length, and changes its pace only where a demand ends: the best is there.
fn best_length(demands: Vec<u64>, min: u64, most: u64, night: u64) -> u64 {
    let served = |length: u64| -> u64 { demands.iter().map(|&d| d.min(length)).sum() };
    let mut best = (min, served(min));
    for length in demands.iter().map(|d| (*d).clamp(min, most)) {
        let candidate = (length, served(length));
        if denser(candidate.1, candidate.0, best.1, best.0, night) {
            best = candidate;
        }
    }
    best.0
}

fn durations(min: u64, most: u64) -> Vec<Candidate> {
    let steps = core::iter::successors(Some(min), |length| Some(length + length.div_ceil(8)));
    let candidates = steps.take_while(|&length| length < most);
    let candidates = candidates.chain(core::iter::once(most));
    let untried = |length| Candidate {
        length,
        at_most: u64::MAX,
    };
    candidates.map(untried).collect()
}

/// Replaces the durations beyond `most` by `most`.
fn limit(candidates: &mut Vec<Candidate>, most: u64) {
    let fitting = candidates.partition_point(|c| c.length < most);
    if let Some(&longer) = candidates.get(fitting) {
        candidates.truncate(fitting);
        candidates.push(Candidate {
            length: most,
            at_most: longer.at_most,
        });
    }
}

/// A candidate that serves the most per time. Tries those of the highest bound first, and none whose bound is not above the
/// best.
fn choose(candidates: &mut [Candidate], left: &Matrix, night: u64) -> Choice {
    let mut best = Choice {
        length: 0,
        served: 0,
        destination_of: Vec::new(),
    };
    let mut untried: Vec<usize> = (0..candidates.len()).collect();
    loop {
        let mut next: Option<usize> = None;
        for (position, &index) in untried.iter().enumerate() {
            let better = next.is_none_or(|next| {
                let (one, other) = (&candidates[index], &candidates[untried[next]]);
                denser(one.at_most, one.length, other.at_most, other.length, night)
            });
            if better {
                next = Some(position);
            }
        }
        let Some(position) = next else { return best };
        let candidate = &mut candidates[untried.remove(position)];
        if best.served > 0
            && !denser(
                candidate.at_most,
                candidate.length,
                best.served,
                best.length,
                night,
            )
        {
            return best;
        }
        let choice = heaviest(left, candidate.length);
        candidate.at_most = choice.served;
        if best.served == 0
            || denser(
                choice.served,
                choice.length,
                best.served,
                best.length,
                night,
            )
        {
            best = choice;
        }
    }
}

/// Whether `served` in `length` is more per time than `other` in `other_length`, a night included in both; of equals the
/// longer is better. Without nights short days are as good as long ones, and the week must not be filled with the
/// shortest: this way each day ends a demand, so there are at most as many days as demands.
fn denser(served: u64, length: u64, other: u64, other_length: u64, night: u64) -> bool {
    let ours = u128::from(served) * u128::from(other_length + night);
    let theirs = u128::from(other) * u128::from(length + night);
    (ours, length) > (theirs, other_length)
}

fn heaviest(left: &Matrix, length: u64) -> Choice {
    let weights: Vec<u64> = left.cells().iter().map(|&t| t.min(length)).collect();
    let destination_of = largest_assignment(left.side() as u16, &weights);
    let pairs = destination_of.iter().enumerate();
    let served = pairs.map(|(src, &dst)| weights[src * left.side() + usize::from(dst)]);
    Choice {
        length,
        served: served.sum(),
        destination_of,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_untried_duration_is_better(
            (side, cells) in (2usize..6).prop_flat_map(|side| {
                (Just(side), proptest::collection::vec(0u64..2000, side * side))
            }),
            night in 0u64..300,
            room in 1000u64..2000,
        ) {
            let mut left = Matrix::new(side, cells);
            let mut candidates = durations(180, 2000);
            for round in 0..4 {
                limit(&mut candidates, room - 200 * round);
                let best = choose(&mut candidates, &left, night);
                if best.served == 0 {
                    break; // nothing is left: all durations are the same
                }
                for candidate in &candidates {
                    let served = heaviest(&left, candidate.length).served;
                    prop_assert!(served <= candidate.at_most);
                    prop_assert!(!denser(served, candidate.length, best.served, best.length, night));
                }
                for (src, dst) in best.destination_of.iter().enumerate() {
                    let cell = left.get_mut(src, usize::from(*dst));
                    *cell = cell.saturating_sub(best.length);
                }
            }
        }
    }

    #[test]
    fn durations_grow_by_an_eighth() {
        let lengths = |min, most| -> Vec<u64> {
            let all = durations(min, most);
            all.iter().map(|c| c.length).collect()
        };
        assert_eq!(lengths(80, 120), [80, 90, 102, 115, 120]);
        assert_eq!(lengths(80, 80), [80]);
    }

    #[test]
    fn a_day_ends_with_one_of_its_demands() {
        // 900 / 320 is more than 1500 / 920.
        assert_eq!(best_length([900, 300, 300].into(), 180, 1980, 20), 300);
        // A long night is worth waiting: 1500 / 1900 is more than 900 / 1300.
        assert_eq!(best_length([900, 300, 300].into(), 180, 1980, 1000), 900);
        assert_eq!(best_length([900, 300, 300].into(), 180, 700, 1000), 700);
        assert_eq!(best_length([9, 3].into(), 180, 700, 20), 180);
        // Without nights every length up to 300 is as good.
        assert_eq!(best_length([900, 300, 300].into(), 180, 1980, 0), 300);
    }

    #[test]
    fn a_shorter_window_keeps_the_bound_of_the_next_longer_duration() {
        let mut candidates: Vec<_> = [(80, 8), (90, 9), (100, 10)]
            .map(|(length, at_most)| Candidate { length, at_most })
            .into();
        limit(&mut candidates, 85);
        let left: Vec<_> = candidates.iter().map(|c| (c.length, c.at_most)).collect();
        assert_eq!(left, [(80, 8), (85, 9)]);
    }
}
