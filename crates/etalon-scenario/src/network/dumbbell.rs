// SPDX-License-Identifier: MIT OR Apache-2.0
//! A plain chain of queues between two groups of hosts.

use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::network::NetworkKind;
use crate::rdcn::PLANES;
use crate::{Bottlenecks, Hosts, Place, PlaneFacts, PortFacts, QueueId};

/// Queues between two racks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dumbbell {
    /// From rack 0 to rack 1.
    pub stages: Vec<Stage>,
    /// From rack 1 to rack 0.
    pub return_stages: Vec<Stage>,
}

/// Bytes of a frame before the IP packet.
const ETHERNET_HEADER: u64 = 14;

/// A drop-tail queue with its link, and a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Rate of the link; none for a pure delay.
    #[serde(rename = "rate_bps")]
    pub rate: Option<Rate>,
    /// Packets that fit, the one in transmission included; none for no bound.
    pub queue_packets: Option<u32>,
    /// Delay behind the link.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
}

impl NetworkKind for Dumbbell {
    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        ensure!(
            hosts.racks == 2,
            "a dumbbell has 2 racks, not {}",
            hosts.racks
        );
        ensure!(
            !self.stages.is_empty() && !self.return_stages.is_empty(),
            "a dumbbell needs at least one stage in each direction"
        );
        let mut stages = self.stages.iter().chain(&self.return_stages);
        ensure!(
            stages.all(|stage| stage.rate != Some(Rate(0))),
            "the rate of a stage must be positive"
        );
        Ok(())
    }

    fn telemetry_hops(&self, _hosts: &Hosts) -> u32 {
        let queues = |stages: &[Stage]| stages.iter().filter(|stage| stage.rate.is_some()).count();
        queues(&self.stages).max(queues(&self.return_stages)) as u32
    }

    fn planes(&self, hosts: &Hosts) -> Vec<PlaneFacts> {
        let all_hosts = Rate(hosts.rate.0.saturating_mul(hosts.per_rack.into()));
        let rate = |stages: &[Stage]| slowest(stages).map_or(all_hosts, |(_, rate)| rate);
        let way = |stages: &[Stage]| (rate(stages), behind(stages, hosts));
        vec![PlaneFacts {
            name: PLANES[0],
            bottlenecks: Bottlenecks::Directions([way(&self.stages), way(&self.return_stages)]),
            in_days: false,
        }]
    }

    /// Stages that have a rate: all are in one switch, those back behind those forth.
    fn ports(&self, _: &Hosts) -> Vec<PortFacts> {
        let ways = [(&self.stages, false), (&self.return_stages, true)];
        let mut ports = Vec::new();
        for (way, back) in ways {
            let first = if back { self.stages.len() } else { 0 };
            // Before the first stage and behind the last are the racks.
            let place = |stage: usize| match stage {
                0 => Place::Tor(back.into()),
                stage if stage == way.len() => Place::Tor((!back).into()),
                stage => Place::Stage {
                    back,
                    number: stage as u16,
                },
            };
            ports.extend(way.iter().enumerate().filter_map(|(index, stage)| {
                Some(PortFacts {
                    queue: QueueId {
                        at: 0,
                        number: (first + index) as u16,
                    },
                    from: place(index),
                    to: place(index + 1),
                    rate: stage.rate?,
                })
            }));
        }
        ports
    }
}

/// The slowest stage, of these that have a rate.
fn slowest(stages: &[Stage]) -> Option<(usize, Rate)> {
    let rates = stages.iter().enumerate();
    let limited = rates.filter_map(|(index, stage)| Some((index, stage.rate?)));
    limited.min_by_key(|&(_, rate)| rate)
}

/// How long a packet may be under way from the start of its transmission on the slowest link on: the delays behind it, and a largest
/// packet's transmission on each link.
fn behind(stages: &[Stage], hosts: &Hosts) -> Span {
    let bits = (u64::from(hosts.mtu) + ETHERNET_HEADER) * 8;
    let first = slowest(stages).map_or(0, |(index, _)| index);
    let time = |stage: &Stage| {
        let rate = stage.rate.map_or(u64::MAX, |rate| rate.0);
        stage.delay + Span((bits * 1_000_000_000).div_ceil(rate))
    };
    let rest = stages[first..].iter();
    rest.fold(Span::ZERO, |sum, stage| sum + time(stage))
}
