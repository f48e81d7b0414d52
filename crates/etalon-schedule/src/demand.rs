// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much each rack has to send to each other rack.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use etalon_switch::Pair;
use etalon_units::Rate;

use crate::matrix::Matrix;

/// A demand matrix: the bytes that each rack (row) has for each rack (column).
///
/// Square, of at least two racks, with an empty diagonal: traffic inside a rack never reaches the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    racks: u16,
    bytes: Vec<u64>,
}

/// The sum of a matrix stays below this, so that no sum of its entries overflows 64 bits.
const TOTAL_LIMIT: u64 = 1 << 62;

/// No entry counts for more circuit time than this (5 hours), many times the longest week.
const TIME_LIMIT: u64 = 1 << 44;

impl Demand {
    /// The demand with these rows, one a source rack, in bytes.
    ///
    /// # Errors
    /// [`DemandError`] for fewer than two racks, a row of another length, a diagonal that is not zero, or a sum of
    /// 2^62 bytes and more.
    pub fn new(rows: &[Vec<u64>]) -> Result<Demand, DemandError> {
        let racks = u16::try_from(rows.len()).map_err(|_| DemandError::TooManyRacks)?;
        if racks < 2 {
            return Err(DemandError::TooFewRacks { racks });
        }
        let mut bytes = Vec::with_capacity(rows.len() * rows.len());
        let mut total = 0u64;
        for (rack, row) in rows.iter().enumerate() {
            if row.len() != rows.len() {
                return Err(DemandError::NotSquare {
                    row: rack,
                    entries: row.len(),
                    rows: rows.len(),
                });
            }
            if row[rack] != 0 {
                return Err(DemandError::Diagonal { rack });
            }
            for entry in row {
                total = total.saturating_add(*entry);
            }
            bytes.extend_from_slice(row);
        }
        if total >= TOTAL_LIMIT {
            return Err(DemandError::TooLarge);
        }
        Ok(Demand { racks, bytes })
    }

    /// No demand among `racks` racks.
    ///
    /// # Errors
    /// [`DemandError::TooFewRacks`] for fewer than two.
    pub fn none(racks: u16) -> Result<Demand, DemandError> {
        if racks < 2 {
            return Err(DemandError::TooFewRacks { racks });
        }
        let side = usize::from(racks);
        Ok(Demand {
            racks,
            bytes: alloc::vec![0; side * side],
        })
    }

    /// The demand of each pair of `racks` racks in bytes; `bytes` is not asked about a rack and itself.
    ///
    /// # Errors
    /// [`DemandError`] for fewer than two racks, or a sum of 2^62 bytes and more.
    pub fn gather(racks: u16, mut bytes: impl FnMut(Pair) -> u64) -> Result<Demand, DemandError> {
        let mut demand = Demand::none(racks)?;
        let mut total = 0u64;
        for src in 0..racks {
            for dst in (0..racks).filter(|&dst| dst != src) {
                let entry = bytes(Pair { src, dst });
                total = total.saturating_add(entry);
                demand.bytes[cell_of(racks, src, dst)] = entry;
            }
        }
        if total >= TOTAL_LIMIT {
            return Err(DemandError::TooLarge);
        }
        Ok(demand)
    }

    /// Number of racks.
    #[must_use]
    pub fn racks(&self) -> u16 {
        self.racks
    }

    /// Bytes from `pair.src` to `pair.dst`.
    ///
    /// # Panics
    /// If one of them is not a rack.
    #[must_use]
    pub fn bytes(&self, pair: Pair) -> u64 {
        assert!(pair.dst < self.racks, "there is no rack {}", pair.dst);
        self.row(pair.src)[usize::from(pair.dst)]
    }

    /// What `src` has for each rack, in bytes.
    ///
    /// # Panics
    /// If `src` is not a rack.
    #[must_use]
    pub fn row(&self, src: u16) -> &[u64] {
        let side = usize::from(self.racks);
        &self.bytes[usize::from(src) * side..][..side]
    }

    /// All entries, row after row, in bytes.
    #[must_use]
    pub fn entries(&self) -> &[u64] {
        &self.bytes
    }

    /// The sum of all entries, in bytes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.bytes.iter().sum()
    }

    /// The same matrix with each entry replaced by one that is not larger.
    pub(crate) fn lowered(&self, lower: impl Fn(Pair, u64) -> u64) -> Demand {
        let mut lowered = self.clone();
        for src in 0..self.racks {
            for dst in 0..self.racks {
                let cell = &mut lowered.bytes[cell_of(self.racks, src, dst)];
                *cell = lower(Pair { src, dst }, *cell).min(*cell);
            }
        }
        lowered
    }

    /// The time that each entry takes on a circuit of `rate`, in nanoseconds, rounded up so that no demand vanishes.
    pub(crate) fn times(&self, rate: Rate) -> Matrix {
        // A byte takes ns / per nanoseconds. In lowest terms nearly all products fit into 64 bits, whose division is
        // many times faster than one of 128 bits.
        let divisor = greatest_common_divisor(8_000_000_000, rate.as_bps());
        let (ns, per) = (8_000_000_000 / divisor, rate.as_bps() / divisor);
        let time = |bytes: u64| match bytes.checked_mul(ns) {
            Some(parts) => parts.div_ceil(per).min(TIME_LIMIT),
            None => {
                let parts = u128::from(bytes) * u128::from(ns);
                parts.div_ceil(u128::from(per)).min(u128::from(TIME_LIMIT)) as u64
            }
        };
        let side = usize::from(self.racks);
        Matrix::new(side, self.bytes.iter().map(|&b| time(b)).collect())
    }
}

fn cell_of(racks: u16, src: u16, dst: u16) -> usize {
    usize::from(src) * usize::from(racks) + usize::from(dst)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

impl FromStr for Demand {
    type Err = DemandError;

    /// Parses one line a source rack: whole numbers of bytes, separated by spaces, tabs or commas. Empty lines are
    /// skipped, and so is what follows a `#`.
    fn from_str(text: &str) -> Result<Demand, DemandError> {
        let mut rows = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let content = line.split('#').next().unwrap_or_default();
            let row = content
                .split(|c: char| c == ',' || c.is_whitespace())
                .filter(|word| !word.is_empty())
                .map(|word| {
                    word.parse().map_err(|_| DemandError::NotBytes {
                        line: index + 1,
                        text: word.to_string(),
                    })
                })
                .collect::<Result<Vec<u64>, _>>()?;
            if !row.is_empty() {
                rows.push(row);
            }
        }
        Demand::new(&rows)
    }
}

impl fmt::Display for Demand {
    /// The form that [`Demand::from_str`] reads.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for src in 0..self.racks {
            for (dst, bytes) in self.row(src).iter().enumerate() {
                let space = if dst == 0 { "" } else { " " };
                write!(f, "{space}{bytes}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Why something is not a demand matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DemandError {
    /// Fewer than two racks.
    TooFewRacks {
        /// The number of racks.
        racks: u16,
    },
    /// More racks than rack numbers.
    TooManyRacks,
    /// A row is not as long as the matrix is high.
    NotSquare {
        /// The row, from 0.
        row: usize,
        /// Its number of entries.
        entries: usize,
        /// The number of rows.
        rows: usize,
    },
    /// A rack has demand for itself.
    Diagonal {
        /// The rack.
        rack: usize,
    },
    /// The sum of all entries does not stay below 2^62 bytes.
    TooLarge,
    /// A word that is not a whole number of bytes.
    NotBytes {
        /// The line, from 1.
        line: usize,
        /// The word.
        text: String,
    },
}

impl fmt::Display for DemandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DemandError::TooFewRacks { racks } => {
                write!(
                    f,
                    "a demand matrix needs two racks or more, this has {racks}"
                )
            }
            DemandError::TooManyRacks => {
                f.write_str("a demand matrix has at most 65535 racks, this has more")
            }
            DemandError::NotSquare { row, entries, rows } => write!(
                f,
                "the demand matrix is not square: row {row} has {entries} entries, but there are {rows} rows"
            ),
            DemandError::Diagonal { rack } => write!(
                f,
                "rack {rack} has demand for itself: the diagonal of a demand matrix is zero"
            ),
            DemandError::TooLarge => f.write_str(
                "the entries of a demand matrix sum to less than 2^62 bytes, these do not",
            ),
            DemandError::NotBytes { line, text } if text.starts_with('-') => write!(
                f,
                "line {line} of the demand matrix: '{text}' is negative, demand is not"
            ),
            DemandError::NotBytes { line, text } => write!(
                f,
                "line {line} of the demand matrix: '{text}' is not a whole number of bytes"
            ),
        }
    }
}

impl core::error::Error for DemandError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        let demand: Demand = "0 5, 7 # rack 0\n\n1 0 2\n3\t4 0\n".parse().unwrap();
        assert_eq!(demand.bytes(Pair { src: 0, dst: 2 }), 7);
        assert_eq!(demand.total(), 22);
        assert_eq!(demand.to_string().parse(), Ok(demand));
    }

    #[test]
    fn errors_are_sentences() {
        let error = |text: &str| text.parse::<Demand>().unwrap_err().to_string();
        assert_eq!(
            error("0 1\n1 0 0"),
            "the demand matrix is not square: row 1 has 3 entries, but there are 2 rows"
        );
        assert_eq!(
            error("0 1\n1 5"),
            "rack 1 has demand for itself: the diagonal of a demand matrix is zero"
        );
        assert_eq!(
            error("# two\n0 -1\n1 0"),
            "line 2 of the demand matrix: '-1' is negative, demand is not"
        );
        assert_eq!(
            error("0 x\n1 0"),
            "line 1 of the demand matrix: 'x' is not a whole number of bytes"
        );
        assert_eq!(
            error("0"),
            "a demand matrix needs two racks or more, this has 1"
        );
        assert!(error("0 9223372036854775807\n0 0").contains("2^62"));
    }

    #[test]
    fn times_are_rounded_up_and_bounded() {
        let demand: Demand = "0 1 1800000\n0 0 4000000000000000000\n0 0 0"
            .parse()
            .unwrap();
        let times = demand.times(Rate::from_gbps(80));
        assert_eq!(times.row(0), [0, 1, 180_000]);
        assert_eq!(times.row(1), [0, 0, TIME_LIMIT]);
    }
}
