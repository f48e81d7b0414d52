// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maximum matchings of bipartite graphs: Hopcroft and Karp, SIAM Journal on Computing 2(4), 1973.
//!
//! Neighbours are bit sets, so that a search looks at 64 edges at a time, and a matching found before is the start of
//! the next search: a schedule is a sequence of matchings that differ in a few edges.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// A bipartite graph of as many rows (left) as columns (right).
#[derive(Clone, Debug)]
pub struct Bipartite {
    side: usize,
    words: usize,
    neighbours: Vec<u64>,
}

impl Bipartite {
    /// A graph of `side` rows and `side` columns without edges.
    #[must_use]
    pub fn new(side: u16) -> Bipartite {
        let side = usize::from(side);
        let words = side.div_ceil(64);
        Bipartite {
            side,
            words,
            neighbours: alloc::vec![0; side * words],
        }
    }

    /// Adds the edge from `row` to `column`.
    ///
    /// # Panics
    /// If the graph does not have this row and column.
    pub fn insert(&mut self, row: u16, column: u16) {
        let (word, bit) = self.locate(row, column);
        self.neighbours[word] |= bit;
    }

    /// Removes the edge from `row` to `column`, if there is one.
    ///
    /// # Panics
    /// If the graph does not have this row and column.
    pub fn remove(&mut self, row: u16, column: u16) {
        let (word, bit) = self.locate(row, column);
        self.neighbours[word] &= !bit;
    }

    /// Whether there is an edge from `row` to `column`.
    ///
    /// # Panics
    /// If the graph does not have this row and column.
    #[must_use]
    pub fn contains(&self, row: u16, column: u16) -> bool {
        let (word, bit) = self.locate(row, column);
        self.neighbours[word] & bit != 0
    }

    /// Number of rows, and of columns.
    #[must_use]
    pub fn side(&self) -> u16 {
        self.side as u16
    }

    fn locate(&self, row: u16, column: u16) -> (usize, u64) {
        let column = usize::from(column);
        assert!(column < self.side, "there is no column {column}");
        (
            usize::from(row) * self.words + column / 64,
            1 << (column % 64),
        )
    }

    fn row(&self, row: u16) -> &[u64] {
        &self.neighbours[usize::from(row) * self.words..][..self.words]
    }
}

/// Which row is matched with which column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pairing {
    column_of: Vec<Option<u16>>,
    row_of: Vec<Option<u16>>,
}

impl Pairing {
    /// Nothing matched, for `side` rows and columns.
    #[must_use]
    pub fn empty(side: u16) -> Pairing {
        Pairing {
            column_of: alloc::vec![None; usize::from(side)],
            row_of: alloc::vec![None; usize::from(side)],
        }
    }

    /// The column that `row` is matched with.
    #[must_use]
    pub fn column_of(&self, row: u16) -> Option<u16> {
        self.column_of.get(usize::from(row)).copied().flatten()
    }

    /// Number of matched rows.
    #[must_use]
    pub fn size(&self) -> usize {
        self.column_of.iter().flatten().count()
    }

    /// Whether all rows, and so all columns, are matched.
    #[must_use]
    pub fn is_perfect(&self) -> bool {
        self.column_of.iter().all(Option::is_some)
    }

    /// The matched (row, column) pairs, by row.
    pub fn pairs(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        let rows = self.column_of.iter().enumerate();
        rows.filter_map(|(row, column)| column.map(|column| (row as u16, column)))
    }

    /// Takes `row` and its column apart.
    pub fn separate(&mut self, row: u16) {
        if let Some(column) = self.column_of[usize::from(row)].take() {
            self.row_of[usize::from(column)] = None;
        }
    }

    fn join(&mut self, row: u16, column: u16) {
        self.column_of[usize::from(row)] = Some(column);
        self.row_of[usize::from(column)] = Some(row);
    }
}

/// Extends `pairing`, a matching of `graph`, to a maximum matching.
///
/// The same graph and pairing give the same matching. Rows and columns once matched stay matched, perhaps otherwise.
///
/// # Panics
/// If the pairing is of another size than the graph.
pub fn extend_to_maximum(graph: &Bipartite, pairing: &mut Pairing) {
    assert_eq!(graph.side, pairing.column_of.len(), "sizes differ");
    let mut search = Search::new(graph);
    while search.layer(graph, pairing) {
        for row in 0..graph.side() {
            if pairing.column_of(row).is_none() {
                search.augment(graph, pairing, row);
            }
        }
    }
}

/// Memory of one call, used again in each phase.
struct Search {
    queue: VecDeque<u16>,
    /// Breadth-first distance of each row from the free rows, in rows.
    row_layer: Vec<u32>,
    /// Distance of the row from which each column was found.
    column_layer: Vec<u32>,
    /// Columns that this phase's layering has found and no augmenting path has used or given up.
    open: Vec<u64>,
    unseen: Vec<u64>,
    path: Vec<(u16, u16)>,
}

const NO_LAYER: u32 = u32::MAX;

impl Search {
    fn new(graph: &Bipartite) -> Search {
        Search {
            queue: VecDeque::with_capacity(graph.side),
            row_layer: alloc::vec![NO_LAYER; graph.side],
            column_layer: alloc::vec![NO_LAYER; graph.side],
            open: alloc::vec![0; graph.words],
            unseen: alloc::vec![0; graph.words],
            path: Vec::new(),
        }
    }

    /// Layers the graph from the free rows down to the nearest free columns; false if none can be reached.
    fn layer(&mut self, graph: &Bipartite, pairing: &Pairing) -> bool {
        self.queue.clear();
        self.open.fill(0);
        self.unseen.fill(u64::MAX);
        self.row_layer.fill(NO_LAYER);
        for (row, column) in pairing.column_of.iter().enumerate() {
            if column.is_none() {
                self.row_layer[row] = 0;
                self.queue.push_back(row as u16);
            }
        }
        let mut last = NO_LAYER;
        while let Some(row) = self.queue.pop_front() {
            let layer = self.row_layer[usize::from(row)];
            if layer > last {
                break;
            }
            for (word, &neighbours) in graph.row(row).iter().enumerate() {
                let mut found = neighbours & self.unseen[word];
                self.unseen[word] &= !found;
                self.open[word] |= found;
                while found != 0 {
                    let column = word * 64 + found.trailing_zeros() as usize;
                    found &= found - 1;
                    self.column_layer[column] = layer;
                    match pairing.row_of[column] {
                        None => last = layer,
                        Some(next) => {
                            self.row_layer[usize::from(next)] = layer + 1;
                            self.queue.push_back(next);
                        }
                    }
                }
            }
        }
        last != NO_LAYER
    }

    /// Follows the layers from the free row `start` to a free column and swaps the edges on the way, if there is one.
    fn augment(&mut self, graph: &Bipartite, pairing: &mut Pairing, start: u16) {
        self.path.clear();
        let mut row = start;
        loop {
            let Some(column) = self.next_column(graph, row) else {
                // A dead end: back to the row from which it was reached.
                let Some((before, _)) = self.path.pop() else {
                    return;
                };
                row = before;
                continue;
            };
            self.path.push((row, column));
            match pairing.row_of[usize::from(column)] {
                Some(next) => row = next,
                None => break,
            }
        }
        for &(row, column) in &self.path {
            pairing.join(row, column);
        }
    }

    /// An open column in the layer below `row`; it is open no more.
    fn next_column(&mut self, graph: &Bipartite, row: u16) -> Option<u16> {
        let layer = self.row_layer[usize::from(row)];
        for (word, &neighbours) in graph.row(row).iter().enumerate() {
            let mut candidates = neighbours & self.open[word];
            while candidates != 0 {
                let bit = candidates & candidates.wrapping_neg();
                candidates ^= bit;
                let column = word * 64 + bit.trailing_zeros() as usize;
                if self.column_layer[column] == layer {
                    self.open[word] ^= bit;
                    return Some(column as u16);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn graph(side: u16, edges: &[bool]) -> Bipartite {
        let mut graph = Bipartite::new(side);
        for row in 0..side {
            for column in 0..side {
                if edges[usize::from(row * side + column)] {
                    graph.insert(row, column);
                }
            }
        }
        graph
    }

    /// The size of a maximum matching, by trying all.
    fn brute_force(graph: &Bipartite, row: u16, used: u32) -> usize {
        if row == graph.side() {
            return 0;
        }
        let free = (0..graph.side())
            .filter(|&column| graph.contains(row, column) && used & (1 << column) == 0);
        let with = free
            .map(|column| 1 + brute_force(graph, row + 1, used | 1 << column))
            .max();
        with.unwrap_or(0).max(brute_force(graph, row + 1, used))
    }

    fn assert_valid(graph: &Bipartite, pairing: &Pairing) {
        let mut used = alloc::vec![false; usize::from(graph.side())];
        for (row, column) in pairing.pairs() {
            assert!(graph.contains(row, column));
            assert!(!core::mem::replace(&mut used[usize::from(column)], true));
            assert_eq!(pairing.row_of[usize::from(column)], Some(row));
        }
    }

    proptest! {
        #[test]
        fn as_large_as_brute_force_finds(
            (side, edges) in (1u16..8).prop_flat_map(|side| {
                (Just(side), proptest::collection::vec(any::<bool>(), usize::from(side * side)))
            }),
            gone in 0u16..8,
        ) {
            let mut graph = graph(side, &edges);
            let mut pairing = Pairing::empty(side);
            extend_to_maximum(&graph, &mut pairing);
            assert_valid(&graph, &pairing);
            prop_assert_eq!(pairing.size(), brute_force(&graph, 0, 0));

            // From a matching that has lost an edge.
            let row = gone % side;
            if let Some(column) = pairing.column_of(row) {
                graph.remove(row, column);
                pairing.separate(row);
            }
            extend_to_maximum(&graph, &mut pairing);
            assert_valid(&graph, &pairing);
            prop_assert_eq!(pairing.size(), brute_force(&graph, 0, 0));
        }

        #[test]
        fn a_hidden_permutation_is_found(side in 60u16..140, shift in 1u16..60, extra in 0u16..140) {
            let mut graph = Bipartite::new(side);
            for row in 0..side {
                graph.insert(row, (row + shift) % side);
                graph.insert(row, extra % side);
                graph.insert(row, (row * 7 + extra) % side);
            }
            let mut pairing = Pairing::empty(side);
            extend_to_maximum(&graph, &mut pairing);
            assert_valid(&graph, &pairing);
            prop_assert!(pairing.is_perfect());
        }
    }

    #[test]
    fn a_chain_needs_one_long_path() {
        // Row i knows columns i and i + 1; matched with i + 1 all along, the last row must push all others back.
        let side = 130;
        let mut graph = Bipartite::new(side);
        let mut pairing = Pairing::empty(side);
        for row in 0..side {
            graph.insert(row, row);
            if row + 1 < side {
                graph.insert(row, row + 1);
                pairing.join(row, row + 1);
            }
        }
        extend_to_maximum(&graph, &mut pairing);
        assert!(pairing.is_perfect());
        assert_eq!(pairing.column_of(0), Some(0));
    }
}
