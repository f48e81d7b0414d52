// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking perfect matchings off a matrix, one after the other.

use alloc::vec::Vec;

use etalon_switch::Matching;

use crate::hopcroft_karp::{Bipartite, Pairing, extend_to_maximum};
use crate::matrix::Matrix;

/// A perfect matching that was taken off a matrix, and for how long it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    /// The destination of each source; a source that is its own destination has no circuit.
    pub(crate) destination_of: Vec<u16>,
    /// The smallest matched entry, in nanoseconds.
    pub(crate) length: u64,
}

impl Slice {
    /// The circuits of this slice.
    pub(crate) fn matching(&self) -> Matching {
        let pairs = self.destination_of.iter().enumerate();
        circuits(
            self.destination_of.len(),
            pairs.map(|(src, &dst)| (src as u16, dst)),
        )
    }
}

/// The matching of these (source, destination) pairs; pairs of a rack with itself are left out.
pub(crate) fn circuits(racks: usize, pairs: impl Iterator<Item = (u16, u16)>) -> Matching {
    let mut source_of = alloc::vec![None; racks];
    for (src, dst) in pairs.filter(|(src, dst)| src != dst) {
        source_of[usize::from(dst)] = Some(src);
    }
    Matching::new(source_of).expect("each source has one destination")
}

/// Perfect matchings over the entries of a matrix that are not below a threshold ("BigSlice", Solstice section 5).
///
/// With threshold 1 on a matrix of equal row and column sums it is the Birkhoff-von Neumann decomposition: there is a
/// perfect matching as long as the matrix is not zero, and each slice makes an entry zero.
pub(crate) struct Decomposition {
    rest: Matrix,
    threshold: u64,
    large: Bipartite,
    pairing: Pairing,
}

impl Decomposition {
    pub(crate) fn new(matrix: Matrix) -> Decomposition {
        let side = matrix.side() as u16;
        Decomposition {
            rest: matrix,
            threshold: u64::MAX,
            large: Bipartite::new(side),
            pairing: Pairing::empty(side),
        }
    }

    /// Lets entries of `threshold` and more be matched, and no others. It can only fall.
    pub(crate) fn lower_threshold(&mut self, threshold: u64) {
        debug_assert!(threshold > 0 && threshold <= self.threshold);
        for row in 0..self.large.side() {
            for (column, &cell) in self.rest.row(usize::from(row)).iter().enumerate() {
                if cell >= threshold && cell < self.threshold {
                    self.large.insert(row, column as u16);
                }
            }
        }
        self.threshold = threshold;
    }

    /// Takes the next perfect matching off, for its smallest entry; `None` if entries this large have none.
    pub(crate) fn slice(&mut self) -> Option<Slice> {
        extend_to_maximum(&self.large, &mut self.pairing);
        if !self.pairing.is_perfect() {
            return None;
        }
        let pairs: Vec<(u16, u16)> = self.pairing.pairs().collect();
        let matched = pairs.iter().map(|&(row, column)| self.entry(row, column));
        let length = matched.min()?;
        for &(row, column) in &pairs {
            let cell = self.rest.get_mut(usize::from(row), usize::from(column));
            *cell -= length;
            if *cell < self.threshold {
                self.large.remove(row, column);
                self.pairing.separate(row);
            }
        }
        Some(Slice {
            destination_of: pairs.into_iter().map(|(_, column)| column).collect(),
            length,
        })
    }

    fn entry(&self, row: u16, column: u16) -> u64 {
        self.rest.get(usize::from(row), usize::from(column))
    }
}

/// All slices of the Birkhoff-von Neumann decomposition of a matrix of equal row and column sums.
///
/// Birkhoff (1946); von Neumann (1953); at most n^2 - 2n + 2 slices.
pub(crate) fn birkhoff_von_neumann(matrix: Matrix) -> Vec<Slice> {
    let mut decomposition = Decomposition::new(matrix);
    decomposition.lower_threshold(1);
    core::iter::from_fn(|| decomposition.slice()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(side: usize, cells: &[u64]) -> Matrix {
        Matrix::new(side, cells.to_vec())
    }

    #[test]
    fn a_sum_of_two_permutations_comes_apart() {
        let slices = birkhoff_von_neumann(matrix(3, &[0, 5, 2, 2, 0, 5, 5, 2, 0]));
        let mut found: Vec<_> = slices
            .iter()
            .map(|s| (s.length, &s.destination_of[..]))
            .collect();
        found.sort_unstable();
        assert_eq!(found, [(2, &[2, 0, 1][..]), (5, &[1, 2, 0][..])]);
    }

    #[test]
    fn small_entries_wait_for_a_lower_threshold() {
        let mut rest = Decomposition::new(matrix(2, &[3, 5, 5, 3]));
        rest.lower_threshold(4);
        assert_eq!(rest.slice().map(|s| s.length), Some(5));
        assert_eq!(rest.slice(), None);
        rest.lower_threshold(2);
        assert_eq!(rest.slice().map(|s| s.destination_of), Some([0, 1].into()));
        assert!(rest.rest.is_zero());
    }

    #[test]
    fn a_rack_that_is_matched_with_itself_has_no_circuit() {
        let slice = Slice {
            destination_of: [0, 2, 1].into(),
            length: 1,
        };
        let matching = slice.matching();
        assert_eq!(matching.source_of(0), None);
        assert_eq!(matching.source_of(1), Some(2));
        assert_eq!(matching.source_of(2), Some(1));
    }
}
