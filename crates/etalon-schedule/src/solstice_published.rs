// SPDX-License-Identifier: MIT OR Apache-2.0
//! Solstice as published: QuickStuff and BigSlice.

use alloc::vec::Vec;

use etalon_switch::Schedule;

use crate::decompose::Decomposition;
use crate::demand::Demand;
use crate::fit::{Day, fit};
use crate::matrix::Matrix;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};
use crate::stuffing::quick_stuff;

/// Solstice (Liu et al., "Scheduling techniques for hybrid circuit/packet networks", CoNEXT 2015, algorithm 1).
///
/// Adds configurations until the packet network can carry the rest of each row and column in the time that they take.
/// The publication knows neither a window nor a minimum day: here it stops where the window is full, a slice below the
/// minimum day lasts the minimum day, and what time is left is given to all days equally.
#[derive(Clone, Copy, Debug, Default)]
pub struct SolsticePublished;

impl Scheduler for SolsticePublished {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        let left = demand.times(params.circuit_rate());
        Ok(fit(days(left, params), demand.racks(), params))
    }
}

fn days(mut left: Matrix, params: &Params) -> Vec<Day> {
    let (window, night) = (params.window().as_nanos(), params.night().as_nanos());
    let mut days = Vec::new();
    let mut elapsed = 0;
    let (mut rows, mut columns) = (left.row_sums(), left.column_sums());
    let mut stuffed = left.clone();
    quick_stuff(&mut stuffed);
    let mut threshold = match stuffed.cells().iter().max() {
        Some(&largest) if largest > 0 => 1 << largest.ilog2(),
        _ => return days,
    };
    let mut rest = Decomposition::new(stuffed);
    rest.lower_threshold(threshold);
    loop {
        let largest = rows.iter().chain(&columns).max().copied().unwrap_or(0);
        if packets_carry(largest, elapsed, params) {
            break;
        }
        let Some(slice) = rest.slice() else {
            threshold /= 2;
            if threshold == 0 {
                break;
            }
            rest.lower_threshold(threshold);
            continue;
        };
        let room = (window - elapsed).saturating_sub(night);
        if room < params.min_day().as_nanos() {
            break;
        }
        let length = slice.length.max(params.min_day().as_nanos()).min(room);
        for (src, &dst) in slice.destination_of.iter().enumerate() {
            let cell = left.get_mut(src, usize::from(dst));
            let served = length.min(*cell);
            *cell -= served;
            rows[src] -= served;
            columns[usize::from(dst)] -= served;
        }
        elapsed += length + night;
        days.push(Day {
            matching: slice.matching(),
            length,
        });
    }
    days
}

/// Whether the packet network carries, in `elapsed`, what takes a circuit `time`.
fn packets_carry(time: u64, elapsed: u64, params: &Params) -> bool {
    u128::from(time) * u128::from(params.circuit_rate().as_bps())
        <= u128::from(elapsed) * u128::from(params.packet_rate().as_bps())
}
