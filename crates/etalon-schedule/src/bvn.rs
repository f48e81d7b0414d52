// SPDX-License-Identifier: MIT OR Apache-2.0
//! Birkhoff-von Neumann decomposition: the textbook baseline that knows no cost of nights.

use alloc::vec::Vec;

use etalon_switch::Schedule;

use crate::decompose::{Slice, birkhoff_von_neumann};
use crate::demand::Demand;
use crate::fit::{Day, fit};
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};
use crate::stuffing::{quick_stuff, water_fill};

/// Birkhoff-von Neumann scheduling (Chang, Chen, Huang, INFOCOM 2000): demand is cut to the window, stuffed with
/// QuickStuff, and decomposed into perfect matchings of whatever entries are left.
///
/// There are up to n^2 - 2n + 2 of them; the longest that have room in the week are kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct BirkhoffVonNeumann;

impl Scheduler for BirkhoffVonNeumann {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        let mut matrix = demand.times(params.circuit_rate());
        water_fill(&mut matrix, params.window().as_nanos());
        quick_stuff(&mut matrix);
        let days = longest(birkhoff_von_neumann(matrix), params);
        Ok(fit(days, demand.racks(), params))
    }
}

/// As many of the longest slices as the week has room for, the longest first.
pub(crate) fn longest(mut slices: Vec<Slice>, params: &Params) -> Vec<Day> {
    slices.sort_by_key(|slice| core::cmp::Reverse(slice.length));
    slices.truncate(usize::try_from(params.most_days()).unwrap_or(usize::MAX));
    let days = slices.iter().map(|slice| Day {
        matching: slice.matching(),
        length: slice.length,
    });
    days.collect()
}
