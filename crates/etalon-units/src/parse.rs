// SPDX-License-Identifier: MIT OR Apache-2.0
//! A number and a unit, without floating point.

use core::fmt;

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// No number stands at the start.
    NoNumber,
    /// A number, but no unit.
    NoUnit,
    /// The unit is not one of this quantity.
    UnknownUnit,
    /// A minus sign.
    Negative,
    /// Finer than the quantity's smallest unit.
    TooFine,
    /// Does not fit into 64 bits.
    TooLarge,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::NoNumber => "does not start with a number",
            ParseError::NoUnit => "has no unit",
            ParseError::UnknownUnit => "has an unknown unit",
            ParseError::Negative => "is negative",
            ParseError::TooFine => "is finer than the smallest unit",
            ParseError::TooLarge => "is too large",
        })
    }
}

impl core::error::Error for ParseError {}

pub(crate) fn parse_scaled(text: &str, units: &[(&str, u64)]) -> Result<u64, ParseError> {
    let text = text.trim();
    if text.starts_with('-') {
        return Err(ParseError::Negative);
    }
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if !whole.bytes().any(|b| b.is_ascii_digit()) || fraction.contains('.') {
        return Err(ParseError::NoNumber);
    }
    if unit.is_empty() {
        return Err(ParseError::NoUnit);
    }
    let scale = units
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or(ParseError::UnknownUnit)?
        .1;
    let mut value: u128 = 0;
    let mut divisor: u128 = 1;
    for digit in whole.bytes().filter(u8::is_ascii_digit) {
        value = value * 10 + u128::from(digit - b'0');
        if value > u128::from(u64::MAX) {
            return Err(ParseError::TooLarge);
        }
    }
    for digit in fraction
        .trim_end_matches(['0', '_'])
        .bytes()
        .filter(u8::is_ascii_digit)
    {
        value = value * 10 + u128::from(digit - b'0');
        divisor *= 10;
        if divisor > 1_000_000_000_000_000 {
            return Err(ParseError::TooFine);
        }
    }
    let scaled = value
        .checked_mul(u128::from(scale))
        .ok_or(ParseError::TooLarge)?;
    if !scaled.is_multiple_of(divisor) {
        return Err(ParseError::TooFine);
    }
    let value = scaled / divisor;
    u64::try_from(value).map_err(|_| ParseError::TooLarge)
}

/// Writes `value` in the first of `units` (largest first) that needs at most three decimals.
pub(crate) fn write_scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&str, u64)],
) -> fmt::Result {
    let last = units[units.len() - 1];
    let (name, scale) = units
        .iter()
        .copied()
        .find(|(_, scale)| value >= *scale && value.is_multiple_of((*scale / 1000).max(1)))
        .unwrap_or(last);
    let mut rest = value % scale;
    write!(f, "{}", value / scale)?;
    if rest > 0 {
        f.write_str(".")?;
        let mut place = scale / 10;
        while rest > 0 {
            write!(f, "{}", rest / place)?;
            rest %= place;
            place /= 10;
        }
    }
    f.write_str(name)
}
