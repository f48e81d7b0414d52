// SPDX-License-Identifier: MIT OR Apache-2.0
//! What several tests share.

use etalon_units::{Rate, Span};

use crate::params::Params;

/// Etalon'18's network: days of 180 us, nights of 20 us, circuits of 80 and packets of 10 Gb/s.
pub(crate) fn params(window_us: u64) -> Params {
    Params::new(
        Span::from_micros(window_us),
        Span::from_micros(180),
        Span::from_micros(20),
        Rate::from_gbps(80),
        Rate::from_gbps(10),
    )
    .unwrap()
}
