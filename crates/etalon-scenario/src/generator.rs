// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads that a function of the user's makes while the run lasts.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use etalon_units::Time;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::transport::Transport;

/// A workload whose flows nobody knows ahead: what they have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Generator {
    /// When it begins.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// Congestion control by name.
    pub cc: Arc<String>,
    /// The congestion control's parameters.
    #[serde(default)]
    pub cc_params: Arc<BTreeMap<String, f64>>,
    /// What carries its flows.
    #[serde(default)]
    pub transport: Arc<Transport>,
    /// Class of its flows, unless they have one of their own.
    #[serde(default)]
    pub class: Arc<String>,
}

impl Generator {
    pub(crate) fn check(&self, index: usize, tdns: usize, mtu: u16) -> Result<(), ScenarioError> {
        ensure!(
            self.transport.is_tcp(),
            "generator {index}: TCP carries what generators send"
        );
        self.transport
            .check(format_args!("generator {index}"), tdns, mtu)
    }
}
