// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs on hosts.

use alloc::string::String;
use alloc::vec::Vec;

use etalon_units::Time;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::hosts::{HostId, Hosts};

/// A program that runs on a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Program {
    /// Rack of the host.
    pub rack: u16,
    /// The host in its rack.
    pub host: u16,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Its environment beside what all have: `NAME=VALUE`.
    #[serde(default)]
    pub env: Vec<String>,
    /// When it starts.
    #[serde(rename = "start_ns")]
    pub start: Time,
}

impl Program {
    /// The host that it runs on.
    #[must_use]
    pub fn on(&self) -> HostId {
        HostId::new(self.rack, self.host)
    }

    pub(crate) fn check(&self, index: usize, hosts: &Hosts) -> Result<(), ScenarioError> {
        hosts.check_host(format_args!("program {index}"), self.on())?;
        ensure!(!self.command.is_empty(), "program {index} has no command");
        for (what, texts) in [("words", &self.command), ("variables", &self.env)] {
            ensure!(
                texts.len() <= usize::from(u16::MAX),
                "program {index} has {} {what}, more than {}",
                texts.len(),
                u16::MAX
            );
        }
        Ok(())
    }
}
