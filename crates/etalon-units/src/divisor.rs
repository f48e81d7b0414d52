// SPDX-License-Identifier: MIT OR Apache-2.0
//! Division by a number that stays the same.

/// Divides by a number known beforehand: a multiplication is several times faster than a division.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    value: u64,
    /// 2^64 / `value`, rounded up.
    inverse: u64,
    /// The largest dividend for which the error of `inverse` does not show.
    limit: u64,
}

impl Divisor {
    /// Divides by `value`.
    ///
    /// # Panics
    /// If that is zero.
    #[must_use]
    pub const fn new(value: u64) -> Divisor {
        match value {
            // 2^64 does not fit.
            1 => Divisor {
                value,
                inverse: 0,
                limit: 0,
            },
            _ => Divisor {
                value,
                inverse: u64::MAX / value + 1,
                limit: u64::MAX / value,
            },
        }
    }

    /// The number that it divides by.
    #[must_use]
    #[inline]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// `n` divided by it, rounded down.
    #[must_use]
    #[inline]
    pub fn divide(&self, n: u64) -> u64 {
        if n <= self.limit {
            ((u128::from(n) * u128::from(self.inverse)) >> 64) as u64
        } else {
            self.divide_any(n)
        }
    }

    /// As [`Divisor::divide`], whatever the number.
    #[cold]
    #[inline(never)]
    fn divide_any(&self, n: u64) -> u64 {
        n / self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_divides_exactly() {
        for value in [1, 2, 3, 5, 10, 1 << 20, 9_999_999_967, u64::MAX - 1] {
            let divisor = Divisor::new(value);
            for n in [0, 1, 7, 71_999, value - 1, value, value + 1, divisor.limit] {
                for n in [
                    n,
                    n.saturating_mul(value),
                    n.saturating_mul(value) - u64::from(n > 0),
                ] {
                    assert_eq!(divisor.divide(n), n / value, "{n} / {value}");
                }
            }
        }
    }
}
