// SPDX-License-Identifier: MIT OR Apache-2.0
//! Link rates, and the exact time that packets take at a rate.

use core::fmt;
use core::str::FromStr;

use crate::parse::{ParseError, parse_scaled, write_scaled};
use crate::{Divisor, Span, Time};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rate(pub u64);

impl Rate {
    /// `n` gigabits per second.
    #[must_use]
    pub const fn from_gbps(n: u64) -> Rate {
        Rate(n * 1_000_000_000)
    }

    /// The rate in bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// The time that `bytes` take at this rate, rounded down to a nanosecond.
    #[must_use]
    pub const fn span_of(self, bytes: u64) -> Span {
        Span((bytes as u128 * 8_000_000_000 / self.0 as u128) as u64)
    }

    /// The bytes that this rate carries in `span`, rounded down.
    #[must_use]
    pub const fn bytes_in(self, span: Span) -> u64 {
        (self.0 as u128 * span.0 as u128 / 8_000_000_000) as u64
    }
}

/// What bytes take at a rate, exactly.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Rate,
    /// A byte takes `ns / per` nanoseconds, in lowest terms.
    ns: u64,
    per: Divisor,
}

impl Pace {
    /// That of a rate.
    ///
    /// # Panics
    /// If the rate is zero.
    #[must_use]
    pub fn new(rate: Rate) -> Pace {
        assert!(rate.0 > 0, "a link's rate must be positive");
        let divisor = greatest_common_divisor(8_000_000_000, rate.0);
        Pace {
            rate,
            ns: 8_000_000_000 / divisor,
            per: Divisor::new(rate.0 / divisor),
        }
    }

    /// The rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }
}

/// What a link is busy with: one of many that have their [`Pace`] in common.
///
/// Nanoseconds do not divide most packets' transmission times (9014 bytes at 80 Gb/s take 901.4 ns), so the remainder
/// is carried to the next packet of the same busy period: over any busy period the rate is exact to one nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub struct Transmitter {
    free_at: Time,
    /// What the last packet took beyond whole nanoseconds, in parts of the pace.
    remainder: u64,
}

impl Transmitter {
    /// When the transmitter is done with all that it was given.
    #[must_use]
    #[inline]
    pub const fn free_at(&self) -> Time {
        self.free_at
    }

    /// Transmits nothing more before `time`.
    pub fn rest_until(&mut self, time: Time) {
        if time > self.free_at {
            (self.free_at, self.remainder) = (time, 0);
        }
    }

    /// Transmits `bytes` after all earlier packets and not before `now`; returns when the last bit leaves.
    #[inline(always)] // with every packet on every link
    pub fn transmit(&mut self, pace: &Pace, now: Time, bytes: u32) -> Time {
        if now > self.free_at {
            self.free_at = now;
            self.remainder = 0;
        }
        let parts = u64::from(bytes) * pace.ns + self.remainder;
        let whole = pace.per.divide(parts);
        self.remainder = parts - whole * pace.per.value();
        self.free_at.0 += whole;
        self.free_at
    }
}

/// The transmitter of a link with its own pace: says when each packet's last bit leaves, and never drifts.
#[derive(Clone, Debug)]
pub struct Serializer {
    pace: Pace,
    transmitter: Transmitter,
}

impl Serializer {
    /// An idle transmitter of the given rate.
    ///
    /// # Panics
    /// If the rate is zero.
    #[must_use]
    pub fn new(rate: Rate) -> Serializer {
        Serializer {
            pace: Pace::new(rate),
            transmitter: Transmitter::default(),
        }
    }

    /// When the transmitter is done with all that it was given.
    #[must_use]
    #[inline]
    pub const fn free_at(&self) -> Time {
        self.transmitter.free_at()
    }

    /// Transmits nothing more before `time`.
    pub fn rest_until(&mut self, time: Time) {
        self.transmitter.rest_until(time);
    }

    /// The rate of the link.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.pace.rate()
    }

    /// Transmits `bytes` after all earlier packets and not before `now`; returns when the last bit leaves.
    #[inline(always)] // with every packet on every link
    pub fn transmit(&mut self, now: Time, bytes: u32) -> Time {
        self.transmitter.transmit(&self.pace, now, bytes)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

const UNITS: &[(&str, u64)] = &[
    ("Tbps", 1_000_000_000_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
    ("Gb/s", 1_000_000_000),
    ("Mb/s", 1_000_000),
    ("kb/s", 1_000),
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
];

impl FromStr for Rate {
    type Err = ParseError;

    /// Parses `10Gbps`, `2.5 Gb/s`, `500Mbps`. The unit is obligatory; a rate of zero is refused by whoever needs a link.
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        parse_scaled(text, UNITS).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &UNITS[..5])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_transmitter_does_not_drift() {
        let mut link = Serializer::new(Rate::from_gbps(80));
        let mut last = Time::ZERO;
        for _ in 0..10 {
            last = link.transmit(Time::ZERO, 9014);
        }
        assert_eq!(last, Time(9014)); // ten packets of 901.4 ns
        assert_eq!(link.transmit(Time(20_000), 9014), Time(20_901));
    }

    #[test]
    fn odd_rates_do_not_drift_either() {
        let rate = Rate(9_999_999_967); // prime: nothing cancels
        let mut link = Serializer::new(rate);
        let mut last = Time::ZERO;
        for _ in 0..1000 {
            last = link.transmit(Time::ZERO, 1500);
        }
        assert_eq!(last.saturating_since(Time::ZERO), rate.span_of(1_500_000));
    }

    #[test]
    fn packets_of_nine_thousand_bytes_take_the_known_times() {
        assert_eq!(Rate::from_gbps(10).span_of(9014), Span(7211));
        assert_eq!(Rate::from_gbps(80).bytes_in(Span(180_000)), 1_800_000);
    }
}
