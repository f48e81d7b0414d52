//! Circuit schedules: pure functions that return a [`Schedule`](etalon_switch::Schedule).
#![no_std]

extern crate alloc;

mod strobe;

pub use strobe::{mimicked_strobe, strobe};
