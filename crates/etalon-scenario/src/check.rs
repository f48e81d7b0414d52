// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a scenario makes sense: sentences that say what is wrong with it.

use alloc::string::String;
use core::fmt::{self, Write};

/// Why a scenario cannot be run: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(pub String);

impl ScenarioError {
    /// The sentence that `why` displays as.
    pub fn new(why: impl fmt::Display) -> ScenarioError {
        // Not `to_string()` or `format!`: their code in the standard library unwinds, as a kernel does not.
        let mut sentence = String::new();
        // Writing to a string does not fail.
        let _ = write!(sentence, "{why}");
        ScenarioError(sentence)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for ScenarioError {}

/// Returns the sentence as an error unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $($sentence:tt)+) => {
        if !$holds {
            return Err($crate::ScenarioError::new(core::format_args!($($sentence)+)));
        }
    };
}
pub(crate) use ensure;
