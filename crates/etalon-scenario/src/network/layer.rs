// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links of one layer of switches.

use etalon_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::{Hosts, Link};

/// The links of a layer, each direction alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Layer {
    /// Rate.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Packets that fit into the queue of a port, the one in transmission included.
    pub queue_packets: u32,
    /// A packet is marked CE if, with it, the queue is longer than this.
    #[serde(default)]
    pub mark_above_packets: Option<u32>,
}

impl Layer {
    pub(crate) fn check(&self, name: &str) -> Result<(), ScenarioError> {
        ensure!(
            self.rate > Rate(0) && self.queue_packets > 0,
            "the rate and the queue of the layer '{name}' must be positive"
        );
        Ok(())
    }

    /// One of its links.
    pub(crate) fn link(&self) -> Link {
        Link {
            rate: self.rate,
            delay: self.delay,
            queue: self.queue_packets,
            mark_above: self.mark_above_packets,
        }
    }
}

/// That so many switches can stand between these hosts.
pub(crate) fn check_size(hosts: &Hosts, switches: u64) -> Result<(), ScenarioError> {
    ensure!(
        switches + u64::from(hosts.count()) <= u64::from(u16::MAX),
        "there are numbers for 65535 switches and hosts, not for {switches} and {}",
        hosts.count()
    );
    ensure!(
        hosts.downlink_queue.is_none(),
        "the queues to hosts are those of the layer 'rack'"
    );
    Ok(())
}
