// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long pieces are.

use alloc::vec::Vec;

use etalon_scenario::{Collective, CollectiveKind};

/// Lengths of the pieces that a collective's data is cut into.
#[derive(Clone, Debug)]
pub enum Sizes {
    /// A vector in pieces, the first of which are a byte longer if it does not divide: as MPI programs split it.
    Even {
        /// Length of the vector.
        bytes: u64,
        /// How many pieces.
        pieces: u32,
    },
    /// Blocks from each rank to each, in equal shares: block `src * ranks + dst`.
    Blocks {
        /// What a rank has for all.
        bytes: u64,
        /// How many ranks.
        ranks: u32,
    },
    /// Blocks from each rank to each, by the same numbers.
    Matrix(Vec<u64>),
}

impl Sizes {
    /// Those of a collective in a job of so many `ranks`, whose algorithm cuts vectors into `pieces`.
    #[must_use]
    pub fn of(collective: &Collective, ranks: u32, pieces: u32) -> Sizes {
        let bytes = collective.bytes;
        if collective.kind != CollectiveKind::AllToAll {
            return Sizes::Even { bytes, pieces };
        }
        let ranks = collective.members(ranks);
        if collective.matrix.is_empty() {
            Sizes::Blocks { bytes, ranks }
        } else {
            Sizes::Matrix(collective.matrix.clone())
        }
    }

    /// Length of a piece in bytes.
    #[must_use]
    pub fn piece(&self, piece: u32) -> u64 {
        match self {
            Sizes::Even { bytes, pieces } => share(*bytes, *pieces, piece),
            Sizes::Blocks { bytes, ranks } => share(*bytes, *ranks, piece % ranks),
            Sizes::Matrix(blocks) => blocks[piece as usize],
        }
    }
}

fn share(bytes: u64, of: u32, piece: u32) -> u64 {
    let of = u64::from(of);
    bytes / of + u64::from(u64::from(piece) < bytes % of)
}
