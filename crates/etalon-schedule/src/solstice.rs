// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solstice as Etalon implements it: the most demand within one week.

use alloc::vec::Vec;

use etalon_switch::Schedule;
use etalon_units::Bytes;
use rand_chacha::ChaCha8Rng;

use crate::decompose::{Decomposition, Slice};
use crate::demand::Demand;
use crate::fit::{Day, fit};
use crate::matrix::Matrix;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};
use crate::stuffing::{random_stuff, water_fill};

/// Solstice with Etalon'18's objective (section 3.2): maximal demand within a window, not all demand in any time.
///
/// Demand is scaled and cut to the window, stuffed, and taken apart into perfect matchings of large entries. Circuits of
/// stuffing are part of the configurations. Demand that is spread so thinly that no perfect matching has entries of a
/// minimum day is left to the packet network: the week is idle.
#[derive(Clone, Debug)]
pub struct Solstice {
    big: Bytes,
    only_big: bool,
    rng: ChaCha8Rng,
}

impl Solstice {
    /// A scheduler that ignores demand below `big` (1 MB in Etalon'18, 8 kB for HDFS) as soon as one demand is not
    /// below, or always if `only_big`, which is right where demand is announced by applications. Stuffing draws its
    /// order from `rng`.
    #[must_use]
    pub fn new(big: Bytes, only_big: bool, rng: ChaCha8Rng) -> Solstice {
        Solstice { big, only_big, rng }
    }

    /// The circuit time wanted by each pair, fitted to the window, not yet stuffed.
    fn wanted(&self, demand: &Demand, params: &Params) -> Matrix {
        let only_big = self.only_big || demand.entries().iter().any(|&bytes| bytes >= self.big.0);
        let mut times = demand.times(params.circuit_rate());
        if only_big {
            for (time, &bytes) in times.cells_mut().iter_mut().zip(demand.entries()) {
                if bytes < self.big.0 {
                    *time = 0;
                }
            }
        }
        let window = params.window().as_nanos();
        scale_up(&mut times, window / 2);
        water_fill(&mut times, window);
        times
    }

    pub(crate) fn stuffed(&mut self, demand: &Demand, params: &Params) -> Matrix {
        let mut matrix = self.wanted(demand, params);
        random_stuff(&mut matrix, &mut self.rng);
        matrix
    }
}

impl Scheduler for Solstice {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        let slices = large_slices(self.stuffed(demand, params), params);
        let days = slices.into_iter().map(|slice| Day {
            matching: slice.matching(),
            length: slice.length,
        });
        Ok(fit(days.collect(), demand.racks(), params))
    }
}

/// Scales so that the largest row or column sum is at least `least`, if there is any demand.
fn scale_up(times: &mut Matrix, least: u64) {
    let largest = times.largest_sum();
    if largest == 0 || largest >= least {
        return;
    }
    for time in times.cells_mut().iter_mut().filter(|time| **time > 0) {
        // Sums are below the longest window, 2^40 ns: the product has more than 64 bits, the quotient has not.
        *time = (u128::from(*time) * u128::from(least)).div_ceil(u128::from(largest)) as u64;
    }
}

/// Perfect matchings over entries of at least a quarter of the window, and then half as much, down to a day that is worth
/// its night.
pub(crate) fn large_slices(matrix: Matrix, params: &Params) -> Vec<Slice> {
    let smallest = params
        .min_day()
        .as_nanos()
        .max(2 * params.night().as_nanos());
    let mut threshold = smallest;
    while threshold < params.window().as_nanos().div_ceil(4) {
        threshold *= 2;
    }
    let mut slices = Vec::new();
    if matrix.is_zero() {
        return slices;
    }
    let mut rest = Decomposition::new(matrix);
    while threshold >= smallest {
        rest.lower_threshold(threshold);
        slices.extend(core::iter::from_fn(|| rest.slice()));
        threshold /= 2;
    }
    slices
}
