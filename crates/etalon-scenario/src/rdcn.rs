// SPDX-License-Identifier: MIT OR Apache-2.0
//! A reconfigurable network: what its switch is built from.

use alloc::vec::Vec;
use core::iter;

use etalon_units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::{
    Bottlenecks, CircuitFailure, Hosts, NetworkKind, Notify, Pair, Part, PlaneFacts, ScenarioError,
    Schedule,
};

/// The names of the planes of a reconfigurable network, by number: the packet network, and kinds of circuits.
pub(crate) const PLANES: [&str; 16] = [
    "packet",
    "circuit",
    "circuit2",
    "circuit3",
    "circuit4",
    "circuit5",
    "circuit6",
    "circuit7",
    "circuit8",
    "circuit9",
    "circuit10",
    "circuit11",
    "circuit12",
    "circuit13",
    "circuit14",
    "circuit15",
];

/// The most kinds of circuits of a network: the number of a plane has four bits in a record of what leaves.
pub const MOST_CIRCUITS: usize = PLANES.len() - 1;

/// A reconfigurable network, except its schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rdcn {
    /// The packet network, if there is one: plane 0.
    pub packet: Option<PacketNetwork>,
    /// In which nights the packet network is dark.
    #[serde(default)]
    pub night: Night,
    /// The kinds of circuits, at least one: planes from 1 on. ToR switches have a port for each.
    pub circuits: Vec<CircuitNetwork>,
    /// The VOQs of every rack pair.
    pub voq: VoqConfig,
    /// Marks CE above a threshold (DCTCP), if set.
    #[serde(default)]
    pub marking: Option<Marking>,
    /// Marks ECE on every packet from D to S while a circuit S -> D is up or starts within this time (reTCP, NSDI'20
    /// section 5.3), if set.
    #[serde(default, rename = "ece_in_advance_ns")]
    pub ece_in_advance: Option<Span>,
    /// Packets without payload go around the switch and take this long, if set.
    #[serde(default, rename = "ack_bypass_ns")]
    pub ack_bypass: Option<Span>,
    /// Hosts are told which network leads to which rack, if set.
    #[serde(default)]
    pub notify: Option<Notify>,
    /// Hosts start no transmission in nights.
    #[serde(default)]
    pub hold: bool,
    /// What fails, for a time. The number of an uplink is that of its plane: 0 is the packet network's.
    #[serde(default)]
    pub failures: Vec<CircuitFailure>,
    /// How long ToR switches take to learn that something has failed or returned. The packet network serves pairs of which they know that
    /// no circuit can join them.
    #[serde(default, rename = "reroute_ns")]
    pub reroute: Span,
}

impl Rdcn {
    /// These networks, with VOQs of so many packets, and nothing else: VOQs keep their size, nothing is marked or announced.
    #[must_use]
    pub const fn new(
        packet: Option<PacketNetwork>,
        circuits: Vec<CircuitNetwork>,
        voq_packets: u32,
    ) -> Rdcn {
        Rdcn {
            packet,
            night: Night::Own,
            circuits,
            voq: VoqConfig {
                packets: voq_packets,
                resize: None,
                pairs: Vec::new(),
            },
            marking: None,
            ece_in_advance: None,
            ack_bypass: None,
            notify: None,
            hold: false,
            failures: Vec::new(),
            reroute: Span::ZERO,
        }
    }

    /// What is wrong with its failures, among so many racks, and with which.
    pub(crate) fn wrong_failure(&self, racks: u16) -> Option<(usize, &'static str)> {
        let has_plane = |plane: u8| match plane {
            0 => self.packet.is_some(),
            plane => usize::from(plane) <= self.circuits.len(),
        };
        let failures = self.failures.iter().enumerate();
        let mut wrong = failures.filter_map(|(index, failure)| {
            let exists = match failure.part {
                Part::Link(rack, plane)
                | Part::Sender(rack, plane)
                | Part::Receiver(rack, plane) => rack < racks && has_plane(plane),
                Part::Rack(rack) => rack < racks,
                Part::Switch(plane) => has_plane(plane),
            };
            let of_packet_network = matches!(
                failure.part,
                Part::Link(_, 0) | Part::Sender(_, 0) | Part::Receiver(_, 0) | Part::Switch(0)
            );
            let why = if !exists {
                "there is no such part"
            } else if failure.from >= failure.to.unwrap_or(Time::MAX) {
                "it must begin before it ends"
            } else if of_packet_network && failure.locks_after.is_some() {
                "the packet network has no circuits that could lock late"
            } else {
                return None;
            };
            Some((index, why))
        });
        wrong.next()
    }
}

/// The packet network: an uplink and a downlink per rack around one switch with small internal queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PacketNetwork {
    /// Rate of each uplink and of each downlink.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Propagation delay of an uplink (ToR to packet switch).
    #[serde(rename = "up_delay_ns")]
    pub up_delay: Span,
    /// Propagation delay of a downlink (packet switch to ToR).
    #[serde(rename = "down_delay_ns")]
    pub down_delay: Span,
    /// Capacity in packets of the internal queue of each (input, output).
    pub internal_queue: u32,
    /// Capacity in packets of the hold at each VOQ, for packets that found their internal queue full. Stands for PFC.
    pub hold_queue: u32,
}

/// When the packet network does not serve a pair, beside the pair's days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Night {
    /// In the nights before the pair's own days.
    #[default]
    Own,
    /// In all nights.
    All,
}

/// A circuit network: a crossbar without queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CircuitNetwork {
    /// Rate of a circuit.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Propagation delay of a circuit, ToR to ToR.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
}

/// Capacities of the VOQs, in packets. A packet in transmission does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoqConfig {
    /// Capacity of a VOQ (the small one, where VOQs are resized).
    pub packets: u32,
    /// Dynamic resizing: resize(s, b, tau) of NSDI'20 section 5.2, s being `packets`.
    #[serde(default)]
    pub resize: Option<Resize>,
    /// Pairs with a capacity of their own instead of `packets`.
    #[serde(default)]
    pub pairs: Vec<PairVoq>,
}

/// The VOQ of one rack pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairVoq {
    /// The pair.
    pub pair: Pair,
    /// Its capacity in packets.
    pub packets: u32,
}

/// Dynamic VOQ resizing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Resize {
    /// The big capacity b, in packets.
    pub packets: u32,
    /// How long before the start of the pair's day the VOQ grows (tau).
    #[serde(rename = "in_advance_ns")]
    pub in_advance: Span,
}

/// ECN marking: a packet is marked CE if, with it, the VOQ is longer than the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Marking {
    /// Threshold in packets while the VOQ has its ordinary capacity.
    pub threshold: u32,
    /// Threshold in packets while the VOQ has its big capacity.
    pub threshold_big: u32,
}

impl NetworkKind for Rdcn {
    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        Rdcn::check(self, hosts.racks).map_err(ScenarioError::new)
    }

    /// The VOQ, and a downlink if hosts have such.
    fn telemetry_hops(&self, hosts: &Hosts) -> u32 {
        1 + u32::from(hosts.downlink_queue.is_some())
    }

    fn planes(&self, _hosts: &Hosts) -> Vec<PlaneFacts> {
        let plane = |name, rate, in_days| PlaneFacts {
            name,
            bottlenecks: Bottlenecks::Directions([(rate, Span::ZERO); 2]),
            in_days,
        };
        let packet = match self.packet {
            Some(packet) => plane(PLANES[0], packet.rate, false),
            None => plane("", Rate(0), false),
        };
        let circuits = self.circuits.iter().zip(&PLANES[1..]);
        let circuits = circuits.map(|(circuit, name)| plane(name, circuit.rate, true));
        iter::once(packet).chain(circuits).collect()
    }

    fn has_voqs(&self) -> bool {
        true
    }

    fn uplinks(&self) -> u8 {
        1
    }

    fn follows_weeks(&self) -> bool {
        true
    }

    fn check_week(&self, hosts: &Hosts, week: &Schedule) -> Result<(), ScenarioError> {
        Rdcn::check_week(self, hosts.racks, week).map_err(ScenarioError::new)
    }

    fn notify(&self) -> Option<&Notify> {
        self.notify.as_ref()
    }

    fn controlled(&self) -> Option<&Rdcn> {
        Some(self)
    }

    fn has_ack_bypass(&self) -> bool {
        self.ack_bypass.is_some()
    }
}
