// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lines for people: what happened, with the level in front where systemd's journal reads it.

use std::fmt;
use std::io::Write;
use std::sync::OnceLock;

/// How much a line matters, as in syslog(3).
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// Something does not work.
    Error = 3,
    /// Something is not as it should be.
    Warning = 4,
    /// Something happened.
    Info = 6,
}

/// Writes one line to standard error.
pub fn line(level: Level, text: fmt::Arguments<'_>) {
    static JOURNAL: OnceLock<bool> = OnceLock::new();
    let journal = *JOURNAL.get_or_init(|| std::env::var_os("JOURNAL_STREAM").is_some());
    let mut error = std::io::stderr().lock();
    // Nobody is left to be told.
    let _ = if journal {
        writeln!(error, "<{}>{text}", level as u8)
    } else {
        writeln!(error, "etalon-otcp-agent: {text}")
    };
}

/// Something happened.
#[macro_export]
macro_rules! info {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Info, format_args!($($text)*)) };
}

/// Something is not as it should be.
#[macro_export]
macro_rules! warning {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Warning, format_args!($($text)*)) };
}

/// Something does not work.
#[macro_export]
macro_rules! error {
    ($($text:tt)*) => { $crate::log::line($crate::log::Level::Error, format_args!($($text)*)) };
}
