// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traffic matrix scheduling: a week in proportion to demand.

use etalon_switch::Schedule;

use crate::bvn::longest;
use crate::decompose::birkhoff_von_neumann;
use crate::demand::Demand;
use crate::fit::fit;
use crate::matrix::Matrix;
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};
use crate::stuffing::quick_stuff;

/// TMS (Porter et al., "Integrating microsecond circuit switching into the data center" (Mordia), SIGCOMM 2013): demand
/// is scaled to a doubly stochastic matrix by Sinkhorn's iteration and decomposed after Birkhoff and von Neumann; the
/// weight of a matching is its share of the week.
///
/// The matchings of largest weight that have room in the week are kept and share its time in proportion.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficMatrixScheduling;

/// What rows and columns sum to after scaling. Products of two entries stay within 64 bits.
const WHOLE: u64 = 1 << 31;

/// Sinkhorn's iteration ends when no column is further from [`WHOLE`] than this, or after [`ROUNDS`].
const CLOSE: u64 = WHOLE / 1000;
const ROUNDS: u32 = 100;

impl Scheduler for TrafficMatrixScheduling {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        let Some(mut matrix) = start(demand) else {
            return Ok(fit([].into(), demand.racks(), params));
        };
        sinkhorn(&mut matrix);
        quick_stuff(&mut matrix);
        let mut days = longest(birkhoff_von_neumann(matrix), params);
        let weights: u64 = days.iter().map(|day| day.length).sum();
        let nights = params.night().as_nanos() * days.len() as u64;
        let time = params.window().as_nanos() - nights;
        for day in &mut days {
            let share = u128::from(day.length) * u128::from(time) / u128::from(weights);
            day.length = share as u64;
        }
        Ok(fit(days, demand.racks(), params))
    }
}

/// Demand in proportion to its largest entry; `None` without demand. Sinkhorn's iteration needs a matrix that can be
/// scaled, so pairs without demand count for the smallest number there is.
fn start(demand: &Demand) -> Option<Matrix> {
    let largest = demand.entries().iter().copied().max().filter(|&l| l > 0)?;
    let side = usize::from(demand.racks());
    let cells = demand.entries().iter().enumerate().map(|(index, &bytes)| {
        let scaled = u128::from(bytes) * u128::from(WHOLE) / u128::from(largest);
        let diagonal = index % (side + 1) == 0;
        (scaled as u64).max(u64::from(!diagonal))
    });
    Some(Matrix::new(side, cells.collect()))
}

/// Scales rows and columns in turn until both sum to [`WHOLE`], nearly (Sinkhorn, 1964). Entries that are not zero stay so.
fn sinkhorn(matrix: &mut Matrix) {
    let side = matrix.side();
    for _ in 0..ROUNDS {
        for (row, sum) in matrix.row_sums().into_iter().enumerate() {
            for cell in matrix.row_mut(row) {
                *cell = scaled(*cell, sum);
            }
        }
        let sums = matrix.column_sums();
        if sums.iter().all(|sum| sum.abs_diff(WHOLE) <= CLOSE) {
            return;
        }
        for row in 0..side {
            for (cell, &sum) in matrix.row_mut(row).iter_mut().zip(&sums) {
                *cell = scaled(*cell, sum);
            }
        }
    }
}

fn scaled(cell: u64, sum: u64) -> u64 {
    if cell == 0 {
        return 0;
    }
    (cell * WHOLE / sum).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scaling_makes_rows_and_columns_nearly_whole() {
        let demand: Demand = "0 9 1 4\n2 0 7 1\n1 1 0 800\n5 3 2 0".parse().unwrap();
        let mut matrix = start(&demand).unwrap();
        sinkhorn(&mut matrix);
        let sums = matrix.row_sums().into_iter().chain(matrix.column_sums());
        for sum in sums {
            assert!(sum.abs_diff(WHOLE) <= 2 * CLOSE, "{sum}");
        }
        // Sinkhorn keeps cross ratios: d01 d23 / (d03 d21).
        let of = |row, column| u128::from(matrix.get(row, column));
        let ratio = of(0, 1) * of(2, 3) / (of(0, 3) * of(2, 1));
        assert!(ratio.abs_diff(9 * 800 / 4) <= 18, "{ratio}");
    }
}
