// SPDX-License-Identifier: MIT OR Apache-2.0
//! Words of a line of text.

use alloc::format;
use alloc::string::String;
use core::ops::RangeInclusive;

/// The words of a line, up to a comment.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Words<'a> {
        Words { rest: line }
    }

    /// The next word, if there is one.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<&'a [u8]> {
        let begin = self.rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let rest = &self.rest[begin..];
        if rest.starts_with(b"//") || rest[0] == b'#' {
            self.rest = &[];
            return None;
        }
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
        self.rest = rest;
        Some(word)
    }

    /// That a certain word follows.
    pub(crate) fn expect(&mut self, word: &[u8]) -> Result<(), String> {
        match self.next() {
            Some(found) if found == word => Ok(()),
            found => Err(format!(
                "{} must follow here, not {}",
                shown(word),
                shown(found.unwrap_or(b""))
            )),
        }
    }

    /// That no word follows.
    pub(crate) fn end(&mut self) -> Result<(), String> {
        match self.next() {
            None => Ok(()),
            Some(found) => Err(format!("the line ends here, without {}", shown(found))),
        }
    }

    /// A whole number.
    pub(crate) fn number(&mut self, what: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
        let word = self.next().unwrap_or(b"");
        match decimal(word) {
            Some(number) if range.contains(&number) => Ok(number),
            _ => Err(format!(
                "a whole number from {} to {} follows {}, not {}",
                range.start(),
                range.end(),
                shown(what.as_bytes()),
                shown(word)
            )),
        }
    }

    /// A size like 10b.
    pub(crate) fn bytes(&mut self, most: u64) -> Result<u64, String> {
        let word = self.next().unwrap_or(b"");
        let number = word.strip_suffix(b"b").and_then(decimal);
        number.filter(|&bytes| bytes <= most).ok_or_else(|| {
            format!(
                "{} is no size: one is like 80b, at most {most}b",
                shown(word)
            )
        })
    }
}

/// A whole number, if these are its digits.
#[inline]
pub(crate) fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        if !digit.is_ascii_digit() {
            return None;
        }
        number.checked_mul(10)?.checked_add((digit - b'0').into())
    })
}

/// A word as a message shows it.
pub(crate) fn shown(word: &[u8]) -> String {
    let short = &word[..word.len().min(40)];
    format!("\"{}\"", String::from_utf8_lossy(short).escape_debug())
}
