// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a scheduler has to keep to.

use core::fmt;

use etalon_units::{Rate, Span};

/// The week to fill and the network to fill it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    window: Span,
    min_day: Span,
    night: Span,
    circuit_rate: Rate,
    packet_rate: Rate,
}

/// Longest week: 2^40 ns, 18 minutes. Keeps all sums of times within 64 bits.
const LONGEST_WINDOW: Span = Span(1 << 40);

impl Params {
    /// A week of exactly `window`, whose days last `min_day` or longer and are each followed by a `night`; a circuit
    /// carries `circuit_rate`, and `packet_rate` is what the packet network carries from (and to) one rack, zero where
    /// there is none.
    ///
    /// # Errors
    /// [`ParamsError`] if the window has no room for one day and night or is longer than 2^40 ns, if the minimum day
    /// has no length, or if circuits carry nothing.
    pub fn new(
        window: Span,
        min_day: Span,
        night: Span,
        circuit_rate: Rate,
        packet_rate: Rate,
    ) -> Result<Params, ParamsError> {
        if min_day == Span::ZERO {
            return Err(ParamsError::NoDay);
        }
        if circuit_rate.as_bps() == 0 {
            return Err(ParamsError::NoRate);
        }
        if window > LONGEST_WINDOW {
            return Err(ParamsError::WindowTooLong { window });
        }
        if night > window || min_day > window.saturating_sub(night) {
            return Err(ParamsError::WindowTooShort {
                window,
                min_day,
                night,
            });
        }
        Ok(Params {
            window,
            min_day,
            night,
            circuit_rate,
            packet_rate,
        })
    }

    /// Length of the week.
    #[must_use]
    pub fn window(&self) -> Span {
        self.window
    }

    /// Shortest day.
    #[must_use]
    pub fn min_day(&self) -> Span {
        self.min_day
    }

    /// The time after each day in which circuits are rearranged.
    #[must_use]
    pub fn night(&self) -> Span {
        self.night
    }

    /// What one circuit carries.
    #[must_use]
    pub fn circuit_rate(&self) -> Rate {
        self.circuit_rate
    }

    /// What the packet network carries from, and to, one rack.
    #[must_use]
    pub fn packet_rate(&self) -> Rate {
        self.packet_rate
    }

    /// The most days that a week has room for; at least one.
    #[must_use]
    pub fn most_days(&self) -> u64 {
        self.window.as_nanos() / (self.min_day + self.night).as_nanos()
    }
}

/// Why no week can be built with these parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// The minimum day has no length.
    NoDay,
    /// Circuits of no rate.
    NoRate,
    /// The window is longer than 2^40 ns.
    WindowTooLong {
        /// The window.
        window: Span,
    },
    /// The window is shorter than one minimum day and its night.
    WindowTooShort {
        /// The window.
        window: Span,
        /// The minimum day.
        min_day: Span,
        /// The night.
        night: Span,
    },
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamsError::NoDay => f.write_str("the minimum day has no length"),
            ParamsError::NoRate => f.write_str("the rate of a circuit is zero"),
            ParamsError::WindowTooLong { window } => {
                write!(
                    f,
                    "a window of {window} is too long: the most is {LONGEST_WINDOW}"
                )
            }
            ParamsError::WindowTooShort {
                window,
                min_day,
                night,
            } => write!(
                f,
                "a window of {window} is shorter than one day of {min_day} and its night of {night}"
            ),
        }
    }
}

impl core::error::Error for ParamsError {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    fn params(window: u64, day: u64, night: u64, gbps: u64) -> Result<Params, ParamsError> {
        Params::new(
            Span::from_micros(window),
            Span::from_micros(day),
            Span::from_micros(night),
            Rate::from_gbps(gbps),
            Rate::from_gbps(10),
        )
    }

    #[test]
    fn a_week_has_room_for_a_day_and_a_night() {
        assert_eq!(params(200, 180, 20, 80).unwrap().most_days(), 1);
        assert_eq!(params(2000, 180, 20, 80).unwrap().most_days(), 10);
        assert_eq!(
            params(199, 180, 20, 80).unwrap_err().to_string(),
            "a window of 199us is shorter than one day of 180us and its night of 20us"
        );
        assert_eq!(params(200, 0, 20, 80), Err(ParamsError::NoDay));
        assert_eq!(params(200, 180, 20, 0), Err(ParamsError::NoRate));
        assert!(matches!(
            params(2_000_000_000, 180, 20, 80),
            Err(ParamsError::WindowTooLong { .. })
        ));
    }
}
