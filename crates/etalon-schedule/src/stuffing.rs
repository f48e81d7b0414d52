// SPDX-License-Identifier: MIT OR Apache-2.0
//! Making all rows and columns of a matrix sum to the same: only then is it a sum of perfect matchings.

use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use rand_core::Rng;

use crate::matrix::Matrix;

/// What each row and column lacks to the largest sum.
struct Gaps {
    rows: Vec<u64>,
    columns: Vec<u64>,
}

impl Gaps {
    fn of(matrix: &Matrix) -> Gaps {
        let target = matrix.largest_sum();
        let gaps = |sums: Vec<u64>| sums.into_iter().map(|sum| target - sum).collect();
        Gaps {
            rows: gaps(matrix.row_sums()),
            columns: gaps(matrix.column_sums()),
        }
    }

    /// Adds to one entry what both its row and its column lack.
    fn fill(&mut self, matrix: &mut Matrix, row: usize, column: usize) {
        let gap = self.rows[row].min(self.columns[column]);
        self.rows[row] -= gap;
        self.columns[column] -= gap;
        *matrix.get_mut(row, column) += gap;
    }
}

/// QuickStuff (Solstice section 5): first entries that are not zero, then all, row after row.
pub(crate) fn quick_stuff(matrix: &mut Matrix) {
    let mut gaps = Gaps::of(matrix);
    let side = matrix.side();
    for only_demand in [true, false] {
        for row in 0..side {
            for column in 0..side {
                if gaps.rows[row] == 0 {
                    break;
                }
                if !only_demand || matrix.get(row, column) > 0 {
                    gaps.fill(matrix, row, column);
                }
            }
        }
    }
}

/// Etalon's stuffing: first entries that are not zero in random order, then always the row that lacks most at the
/// column that lacks most (the first of equals).
pub(crate) fn random_stuff(matrix: &mut Matrix, rng: &mut ChaCha8Rng) {
    let mut gaps = Gaps::of(matrix);
    let side = matrix.side();
    let mut demand: Vec<u32> = (0..)
        .zip(matrix.cells())
        .filter(|&(_, &cell)| cell > 0)
        .map(|(index, _)| index)
        .collect();
    shuffle(&mut demand, rng);
    for cell in demand {
        gaps.fill(matrix, cell as usize / side, cell as usize % side);
    }
    loop {
        let (row, lack) = largest(&gaps.rows);
        if lack == 0 {
            return;
        }
        let (column, _) = largest(&gaps.columns);
        gaps.fill(matrix, row, column);
    }
}

fn largest(gaps: &[u64]) -> (usize, u64) {
    let first = (0, 0);
    let gaps = gaps.iter().copied().enumerate();
    gaps.fold(first, |best, gap| if gap.1 > best.1 { gap } else { best })
}

/// Fisher and Yates' shuffle.
fn shuffle(items: &mut [u32], rng: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        let pick = (u64::from(rng.next_u32()) * (last as u64 + 1)) >> 32;
        items.swap(last, pick as usize);
    }
}

/// Cuts the largest entries of each row and column to one level, so that it sums to `limit` at most.
pub(crate) fn water_fill(matrix: &mut Matrix, limit: u64) {
    let side = matrix.side();
    for row in 0..side {
        let row = matrix.row_mut(row);
        if let Some(level) = level(row.to_vec(), limit) {
            for cell in row {
                *cell = level.min(*cell);
            }
        }
    }
    for (column, sum) in matrix.column_sums().into_iter().enumerate() {
        if sum <= limit {
            continue;
        }
        let cells = (0..side).map(|row| matrix.get(row, column)).collect();
        if let Some(level) = level(cells, limit) {
            for row in 0..side {
                let cell = matrix.get_mut(row, column);
                *cell = level.min(*cell);
            }
        }
    }
}

/// The highest level to which entries can be cut so that they sum to `limit` at most; `None` if they need no cut.
fn level(mut entries: Vec<u64>, limit: u64) -> Option<u64> {
    if entries.iter().sum::<u64>() <= limit {
        return None;
    }
    entries.sort_unstable();
    let mut room = limit;
    let mut above = entries.len() as u64;
    for entry in entries {
        if entry * above > room {
            return Some(room / above);
        }
        room -= entry;
        above -= 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn water_is_cut_to_one_level() {
        assert_eq!(level([1, 9, 3, 7].into(), 12), Some(4));
        assert_eq!(level([1, 9, 3, 7].into(), 13), Some(4));
        assert_eq!(level([1, 9, 3, 7].into(), 14), Some(5));
        assert_eq!(level([1, 9, 3, 7].into(), 20), None);
        assert_eq!(level([5, 5].into(), 1), Some(0));
    }

    #[test]
    fn quick_stuff_fills_demand_first() {
        let mut matrix = Matrix::new(3, [0, 4, 0, 1, 0, 2, 0, 0, 0].into());
        quick_stuff(&mut matrix);
        // Row 1 lacks 1, which goes to its first entry; row 2 lacks all 4, where columns 0 and 2 lack 2 each.
        assert_eq!(matrix.cells(), [0, 4, 0, 2, 0, 2, 2, 0, 2]);
    }

    #[test]
    fn random_stuff_ends_with_the_largest_gaps() {
        let mut matrix = Matrix::new(3, [0, 4, 0, 0, 0, 0, 0, 0, 3].into());
        random_stuff(&mut matrix, &mut ChaCha8Rng::seed_from_u64(1));
        assert_eq!(matrix.cells(), [0, 4, 0, 4, 0, 0, 0, 0, 4]);
    }

    proptest! {
        #[test]
        fn stuffing_only_adds_and_evens_out(
            (side, cells) in (2usize..8).prop_flat_map(|side| {
                (Just(side), proptest::collection::vec(0u64..50, side * side))
            }),
            seed in any::<u64>(),
        ) {
            let matrix = Matrix::new(side, cells);
            let target = matrix.largest_sum();
            let (mut quick, mut random) = (matrix.clone(), matrix.clone());
            quick_stuff(&mut quick);
            random_stuff(&mut random, &mut ChaCha8Rng::seed_from_u64(seed));
            for stuffed in [quick, random] {
                let cells = stuffed.cells().iter().zip(matrix.cells());
                prop_assert!(cells.into_iter().all(|(after, before)| after >= before));
                prop_assert!(stuffed.row_sums().iter().all(|&sum| sum == target));
                prop_assert!(stuffed.column_sums().iter().all(|&sum| sum == target));
            }
        }

        #[test]
        fn water_filling_keeps_to_the_limit_and_what_fits(
            (side, cells) in (2usize..8).prop_flat_map(|side| {
                (Just(side), proptest::collection::vec(0u64..50, side * side))
            }),
            limit in 1u64..200,
        ) {
            let matrix = Matrix::new(side, cells);
            let mut filled = matrix.clone();
            water_fill(&mut filled, limit);
            prop_assert!(filled.largest_sum() <= limit);
            let cells = filled.cells().iter().zip(matrix.cells());
            prop_assert!(cells.into_iter().all(|(after, before)| after <= before));
            if matrix.largest_sum() <= limit {
                prop_assert_eq!(filled, matrix);
            }
        }
    }
}
