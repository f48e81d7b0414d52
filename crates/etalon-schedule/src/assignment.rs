// SPDX-License-Identifier: MIT OR Apache-2.0
//! The matching of largest weight of a complete bipartite graph: the Hungarian method with shortest augmenting paths.
//!
//! Kuhn (1955), Munkres (1957); rows one by one with potentials as in Jonker and Volgenant (Computing 38, 1987).

use alloc::vec::Vec;

/// The column of each row of the square `weights` (row after row) such that the sum of their weights is the largest.
///
/// The same weights give the same assignment. Time grows with the third power of `side`.
///
/// # Panics
/// If `weights` is not square, or a weight is 2^61 or more.
#[must_use]
pub fn largest_assignment(side: u16, weights: &[u64]) -> Vec<u16> {
    let side = usize::from(side);
    assert_eq!(weights.len(), side * side, "the weights are not square");
    let largest = weights.iter().copied().max().unwrap_or(0);
    assert!(largest < 1 << 61, "a weight is too large");
    let costs: Vec<i64> = weights.iter().map(|w| (largest - w) as i64).collect();
    let mut search = Search {
        side,
        costs: &costs,
        row_potential: alloc::vec![0; side],
        column_potential: alloc::vec![0; side],
        row_of: alloc::vec![None; side],
        column_of: alloc::vec![None; side],
        distance: alloc::vec![0; side],
        before: alloc::vec![0; side],
        open: Vec::with_capacity(side),
        done: Vec::with_capacity(side),
    };
    for row in 0..side {
        search.assign(row);
    }
    let columns = search.column_of.into_iter().flatten();
    columns.map(|column| column as u16).collect()
}

/// Potentials are such that no cost is below the sum of its row's and column's, and assigned pairs' costs equal it.
struct Search<'a> {
    side: usize,
    costs: &'a [i64],
    row_potential: Vec<i64>,
    column_potential: Vec<i64>,
    row_of: Vec<Option<usize>>,
    column_of: Vec<Option<usize>>,
    /// Of each column from the row to assign, in reduced costs.
    distance: Vec<i64>,
    /// The row from which each column is nearest.
    before: Vec<usize>,
    /// Columns whose distance is not final, and those whose distance is.
    open: Vec<usize>,
    done: Vec<usize>,
}

impl Search<'_> {
    fn assign(&mut self, start: usize) {
        self.open.clear();
        self.open.extend(0..self.side);
        self.done.clear();
        self.distance.fill(i64::MAX);
        let (mut row, mut base) = (start, 0);
        let (end, total) = loop {
            let (index, distance) = self.nearest(row, base);
            let column = self.open.swap_remove(index);
            match self.row_of[column] {
                None => break (column, distance),
                Some(next) => {
                    self.done.push(column);
                    (row, base) = (next, distance);
                }
            }
        };
        self.row_potential[start] += total;
        for &column in &self.done {
            let slack = total - self.distance[column];
            self.column_potential[column] -= slack;
            if let Some(row) = self.row_of[column] {
                self.row_potential[row] += slack;
            }
        }
        let mut next = Some(end);
        while let Some(column) = next {
            let row = self.before[column];
            self.row_of[column] = Some(row);
            next = self.column_of[row].replace(column);
        }
    }

    /// Updates the distances of open columns with paths through `row`, which is `base` away; the nearest, as its index
    /// among the open ones and its distance. A column without a row is preferred to others equally near.
    fn nearest(&mut self, row: usize, base: i64) -> (usize, i64) {
        let costs = &self.costs[row * self.side..][..self.side];
        let offset = base - self.row_potential[row];
        let (mut best, mut least) = (0, i64::MAX);
        for (index, &column) in self.open.iter().enumerate() {
            let distance = offset + costs[column] - self.column_potential[column];
            if distance < self.distance[column] {
                self.distance[column] = distance;
                self.before[column] = row;
            }
            let known = self.distance[column];
            if known < least || (known == least && self.row_of[column].is_none()) {
                (best, least) = (index, known);
            }
        }
        (best, least)
    }
}

#[cfg(test)]
mod tests {
    use pathfinding::kuhn_munkres::kuhn_munkres;
    use pathfinding::matrix::Matrix;
    use proptest::prelude::*;

    use super::*;

    fn weight(side: usize, weights: &[u64], columns: &[u16]) -> u64 {
        let mut used = alloc::vec![false; side];
        let pairs = columns.iter().enumerate();
        pairs.fold(0, |sum, (row, &column)| {
            let column = usize::from(column);
            assert!(!core::mem::replace(&mut used[column], true));
            sum + weights[row * side + column]
        })
    }

    #[test]
    fn greed_is_not_enough() {
        // The largest entry, 9, would leave 1: 8 + 7 is more.
        assert_eq!(largest_assignment(2, &[9, 8, 7, 1]), [1, 0]);
        assert_eq!(largest_assignment(1, &[0]), [0]);
    }

    proptest! {
        #[test]
        fn as_heavy_as_another_implementation_finds(
            (side, weights) in (1usize..24).prop_flat_map(|side| {
                let entry = prop_oneof![Just(0u64), 0u64..20, 0u64..1 << 55];
                (Just(side), proptest::collection::vec(entry, side * side))
            }),
        ) {
            let ours = largest_assignment(side as u16, &weights);
            let signed = weights.iter().map(|&w| w as i64).collect();
            let (theirs, _) = kuhn_munkres(&Matrix::from_vec(side, side, signed).unwrap());
            prop_assert_eq!(weight(side, &weights, &ours), theirs as u64);
        }
    }
}
