// SPDX-License-Identifier: MIT OR Apache-2.0
//! A square matrix of circuit times.

use alloc::vec::Vec;

/// A square matrix of times in nanoseconds; row = source, column = destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matrix {
    side: usize,
    cells: Vec<u64>,
}

impl Matrix {
    pub(crate) fn new(side: usize, cells: Vec<u64>) -> Matrix {
        debug_assert_eq!(cells.len(), side * side);
        Matrix { side, cells }
    }

    pub(crate) fn side(&self) -> usize {
        self.side
    }

    /// All cells, row after row.
    pub(crate) fn cells(&self) -> &[u64] {
        &self.cells
    }

    pub(crate) fn cells_mut(&mut self) -> &mut [u64] {
        &mut self.cells
    }

    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.cells[row * self.side..][..self.side]
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.cells[row * self.side..][..self.side]
    }

    pub(crate) fn get(&self, row: usize, column: usize) -> u64 {
        self.cells[row * self.side + column]
    }

    pub(crate) fn get_mut(&mut self, row: usize, column: usize) -> &mut u64 {
        &mut self.cells[row * self.side + column]
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.cells.iter().all(|&cell| cell == 0)
    }

    pub(crate) fn row_sums(&self) -> Vec<u64> {
        self.cells
            .chunks(self.side)
            .map(|row| row.iter().sum())
            .collect()
    }

    pub(crate) fn column_sums(&self) -> Vec<u64> {
        let mut sums = alloc::vec![0; self.side];
        for row in self.cells.chunks(self.side) {
            for (sum, cell) in sums.iter_mut().zip(row) {
                *sum += cell;
            }
        }
        sums
    }

    /// The largest sum of a row or a column: no schedule of circuits serves the matrix in less time.
    pub(crate) fn largest_sum(&self) -> u64 {
        let sums = self.row_sums().into_iter().chain(self.column_sums());
        sums.max().unwrap_or(0)
    }
}
