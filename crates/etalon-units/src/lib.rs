// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time, rate and bytes as exact integers.
//!
//! Every quantity that the engines calculate with is an integer whose unit is in its type: [`Time`] and [`Span`]
//! in nanoseconds, [`Rate`] in bits per second, [`Bytes`] in bytes. Text such as `180us` or `10Gbps` is parsed
//! without rounding; what has no exact representation is an error.
#![no_std]

mod bytes;
mod divisor;
mod parse;
mod rate;
mod time;

pub use bytes::Bytes;
pub use divisor::Divisor;
pub use parse::ParseError;
pub use rate::{Pace, Rate, Serializer, Transmitter};
pub use time::{Span, Time};
