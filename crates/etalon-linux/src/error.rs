// SPDX-License-Identifier: MIT OR Apache-2.0
//! Why a run on Linux gave no complete result, in sentences.

use std::fmt;

use crate::Run;

/// What kind of trouble it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Linux cannot do what the plan asks for.
    Plan,
    /// The kernel could not be started: its file, or what this machine allows.
    Boot,
    /// The kernel started, and did not come to the experiment's end.
    Kernel,
    /// What the kernel wrote cannot be true: a defect of Etalon.
    Log,
}

/// Why a run on Linux gave no complete result.
#[derive(Debug)]
pub struct LinuxError {
    /// What kind of trouble it was.
    pub cause: Cause,
    /// What happened, where, and what to do about it: sentences.
    pub message: String,
    /// The last 64 KiB of the kernel's console, empty if it did not start.
    pub console: String,
    /// What was measured up to then, marked as partial; none if nothing was.
    pub partial: Option<Box<Run>>,
}

impl LinuxError {
    pub(crate) fn new(cause: Cause, message: impl Into<String>) -> LinuxError {
        LinuxError {
            cause,
            message: message.into(),
            console: String::new(),
            partial: None,
        }
    }

    pub(crate) fn plan(message: impl Into<String>) -> LinuxError {
        LinuxError::new(Cause::Plan, message)
    }

    pub(crate) fn boot(message: impl Into<String>) -> LinuxError {
        LinuxError::new(Cause::Boot, message)
    }
}

impl fmt::Display for LinuxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LinuxError {}
