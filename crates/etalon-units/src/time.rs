// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instants and durations, in nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Mul, Sub};
use core::str::FromStr;

use crate::parse::{ParseError, parse_scaled, write_scaled};

/// The longest time that text may give, in nanoseconds: 9.8 hours. Sums and products of times within it do not overflow.
#[cfg(feature = "serde")]
const LONGEST: u64 = 1 << 45;

/// Reads a time; one of a text (JSON) is not longer than [`LONGEST`].
#[cfg(feature = "serde")]
fn within_reason<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    use serde::Deserialize;
    use serde::de::Error;

    let text = from.is_human_readable();
    let time = u64::deserialize(from)?;
    if text && time > LONGEST {
        return Err(Error::custom(format_args!(
            "{time} ns is longer than any time may be, which is {LONGEST} ns"
        )));
    }
    Ok(time)
}

/// An instant: nanoseconds since the start of the experiment.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Time(#[cfg_attr(feature = "serde", serde(deserialize_with = "within_reason"))] pub u64);

/// A length of time, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Span(#[cfg_attr(feature = "serde", serde(deserialize_with = "within_reason"))] pub u64);

impl Time {
    /// The start of the experiment.
    pub const ZERO: Time = Time(0);
    /// Later than any instant that an experiment reaches.
    pub const MAX: Time = Time(u64::MAX);

    /// Nanoseconds since the start of the experiment.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// `self + span`, [`Time::MAX`] if that is later.
    #[must_use]
    #[inline]
    pub const fn saturating_add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }

    /// The time from `earlier` to `self`, zero if `earlier` is in fact later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// `n` nanoseconds.
    #[must_use]
    pub const fn from_nanos(n: u64) -> Span {
        Span(n)
    }

    /// `n` microseconds.
    #[must_use]
    pub const fn from_micros(n: u64) -> Span {
        Span(n * 1_000)
    }

    /// `n` milliseconds.
    #[must_use]
    pub const fn from_millis(n: u64) -> Span {
        Span(n * 1_000_000)
    }

    /// `n` seconds.
    #[must_use]
    pub const fn from_secs(n: u64) -> Span {
        Span(n * 1_000_000_000)
    }

    /// The length in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The length in seconds, for statistics.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// `self - other`, zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, s: Span) -> Time {
        Time(self.0 + s.0)
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, s: Span) {
        self.0 += s.0;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, s: Span) -> Time {
        Time(self.0 - s.0)
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    fn sub(self, t: Time) -> Span {
        Span(self.0 - t.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, s: Span) -> Span {
        Span(self.0 + s.0)
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, s: Span) {
        self.0 += s.0;
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, s: Span) -> Span {
        Span(self.0 - s.0)
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, n: u64) -> Span {
        Span(self.0 * n)
    }
}

const UNITS: &[(&str, u64)] = &[
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("µs", 1_000),
    ("min", 60_000_000_000),
];

impl FromStr for Span {
    type Err = ParseError;

    /// Parses `180us`, `1.44 s`, `200 ns`. The unit is obligatory; fractions of a nanosecond are refused.
    fn from_str(text: &str) -> Result<Span, ParseError> {
        parse_scaled(text, UNITS).map(Span)
    }
}

impl fmt::Display for Span {
    /// The largest unit in which the value is written without a long fraction: `180us`, `1.44s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &UNITS[..4])
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Span(self.0).fmt(f)
    }
}
