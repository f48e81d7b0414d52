//! The network of a resolved plan.

use etalon_switch::{CircuitNetwork, Config, Marking, PacketNetwork, Pair, Resize, VoqConfig};
use etalon_units::{Rate, Span};
use serde::Deserialize;

/// The network between hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum NetworkPlan {
    /// A reconfigurable network: packet network and circuit network.
    Rdcn(RdcnPlan),
    /// Two groups of hosts and a chain of queues between them.
    Dumbbell(DumbbellPlan),
}

/// A reconfigurable network.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RdcnPlan {
    /// Number of racks.
    pub racks: u16,
    /// Hosts in each rack.
    pub hosts: u16,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// The packet network.
    pub packet: PacketPlan,
    /// The circuit network.
    pub circuit: CircuitPlan,
    /// Virtual output queues.
    pub voq: VoqPlan,
    /// CE marking.
    #[serde(default)]
    pub marking: Option<MarkingPlan>,
    /// ECE marking (reTCP) this long before a circuit.
    #[serde(default)]
    pub ece_in_advance_ns: Option<u64>,
    /// Packets without payload go around the switch and take this long.
    #[serde(default)]
    pub ack_bypass_ns: Option<u64>,
    /// Hosts.
    pub host: HostPlan,
}

/// The packet network's links and queues.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as in etalon_switch::PacketNetwork
pub struct PacketPlan {
    pub rate_bps: u64,
    pub up_delay_ns: u64,
    pub down_delay_ns: u64,
    pub internal_queue: u32,
    pub hold_queue: u32,
}

/// The circuit network's links.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as in etalon_switch::CircuitNetwork
pub struct CircuitPlan {
    pub rate_bps: u64,
    pub delay_ns: u64,
}

/// Capacities of VOQs in packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as in etalon_switch::VoqConfig
pub struct VoqPlan {
    pub packets: u32,
    #[serde(default)]
    pub resize: Option<ResizePlan>,
    #[serde(default)]
    pub pairs: Vec<PairCapacity>,
}

/// Dynamic resizing.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as in etalon_switch::Resize
pub struct ResizePlan {
    pub packets: u32,
    pub in_advance_ns: u64,
}

/// A rack pair's own VOQ capacity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct PairCapacity {
    pub src: u16,
    pub dst: u16,
    pub packets: u32,
}

/// CE thresholds in packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)] // named as in etalon_switch::Marking
pub struct MarkingPlan {
    pub threshold: u32,
    pub threshold_big: u32,
}

/// Hosts below TCP.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostPlan {
    /// Rate of the NIC.
    pub rate_bps: u64,
    /// Delay between NIC and network.
    pub delay_ns: u64,
    /// Random extra delay, uniform from zero up to this, without reordering.
    pub jitter_ns: u64,
}

/// Two groups of hosts (racks 0 and 1) and what lies between.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DumbbellPlan {
    /// Hosts at each end.
    pub hosts: u16,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Hosts.
    pub host: HostPlan,
    /// From rack 0 to rack 1.
    pub stages: Vec<StagePlan>,
    /// From rack 1 to rack 0.
    pub return_stages: Vec<StagePlan>,
}

/// A drop-tail queue with its link, and a delay.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StagePlan {
    /// Rate of the link; none for a pure delay.
    pub rate_bps: Option<u64>,
    /// Packets that fit, the one in transmission included; none for no bound.
    pub queue_packets: Option<u32>,
    /// Delay behind the link.
    pub delay_ns: u64,
}

impl RdcnPlan {
    /// The switch of this network.
    #[must_use]
    pub fn switch_config(&self) -> Config {
        Config {
            racks: self.racks,
            packet: PacketNetwork {
                rate: Rate(self.packet.rate_bps),
                up_delay: Span(self.packet.up_delay_ns),
                down_delay: Span(self.packet.down_delay_ns),
                internal_queue: self.packet.internal_queue,
                hold_queue: self.packet.hold_queue,
            },
            circuit: CircuitNetwork {
                rate: Rate(self.circuit.rate_bps),
                delay: Span(self.circuit.delay_ns),
            },
            voq: VoqConfig {
                packets: self.voq.packets,
                resize: self.voq.resize.as_ref().map(|r| Resize {
                    packets: r.packets,
                    in_advance: Span(r.in_advance_ns),
                }),
                pairs: self
                    .voq
                    .pairs
                    .iter()
                    .map(|p| {
                        (
                            Pair {
                                src: p.src,
                                dst: p.dst,
                            },
                            p.packets,
                        )
                    })
                    .collect(),
            },
            marking: self.marking.as_ref().map(|m| Marking {
                threshold: m.threshold,
                threshold_big: m.threshold_big,
            }),
            ece_in_advance: self.ece_in_advance_ns.map(Span),
        }
    }
}
