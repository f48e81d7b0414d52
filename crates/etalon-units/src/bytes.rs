// SPDX-License-Identifier: MIT OR Apache-2.0
//! Amounts of data.

use core::fmt;
use core::str::FromStr;

use crate::parse::{ParseError, parse_scaled, write_scaled};

/// An amount of data in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bytes(pub u64);

const UNITS: &[(&str, u64)] = &[
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
    ("KB", 1_000),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("kiB", 1 << 10),
];

impl FromStr for Bytes {
    type Err = ParseError;

    /// Parses `25GB`, `64 KiB`, `9000B`. Decimal prefixes are powers of 1000, binary ones of 1024.
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        parse_scaled(text, UNITS).map(Bytes)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &UNITS[..5])
    }
}
