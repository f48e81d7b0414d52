// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs with libadu preloaded: what they hand to their connections is what the estimator hears, and they notice nothing.

mod adversity;
mod cost;
mod estimator;
mod installed;
mod number;
mod programs;
mod run;
mod sink;
mod totals;
