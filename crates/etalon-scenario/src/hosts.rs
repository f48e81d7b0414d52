// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts below TCP.

use etalon_units::{Rate, Span};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};

/// A host: its rack, and its number there. One number, for packets are copied often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostId(u32);

impl HostId {
    /// Host `number` of `rack`.
    #[must_use]
    #[inline]
    pub const fn new(rack: u16, number: u16) -> HostId {
        HostId((rack as u32) << 16 | number as u32)
    }

    /// Its rack.
    #[must_use]
    #[inline]
    pub const fn rack(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Its number in the rack, from 0.
    #[must_use]
    #[inline]
    pub const fn number(self) -> u16 {
        self.0 as u16
    }
}

/// All hosts below TCP: they are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hosts {
    /// Number of racks, each with one ToR switch.
    pub racks: u16,
    /// Hosts in each rack.
    pub per_rack: u16,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Rate of each NIC, and of each downlink.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Delay between NIC and network.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// Random extra delay, uniform from zero up to this, without reordering.
    #[serde(rename = "jitter_ns")]
    pub jitter: Span,
    /// Packets that fit into the queue of each downlink, the one in transmission included; none for no such links: packets
    /// reach their hosts as they leave the network.
    #[serde(default, rename = "downlink_packets")]
    pub downlink_queue: Option<u32>,
}

/// What every host takes (RFC 791).
const LEAST_MTU: u16 = 576;

impl Hosts {
    /// Number of hosts in all racks.
    #[must_use]
    pub fn count(&self) -> u32 {
        u32::from(self.racks) * u32::from(self.per_rack)
    }

    /// The number of a host among all, rack by rack.
    #[must_use]
    #[inline]
    pub fn index(&self, host: HostId) -> u32 {
        u32::from(host.rack()) * u32::from(self.per_rack) + u32::from(host.number())
    }

    /// The host of this number.
    #[must_use]
    #[inline]
    pub fn host(&self, index: u32) -> HostId {
        let per_rack = u32::from(self.per_rack);
        HostId::new((index / per_rack) as u16, (index % per_rack) as u16)
    }

    /// Whether there is such a host.
    #[must_use]
    pub fn has(&self, host: HostId) -> bool {
        host.rack() < self.racks && host.number() < self.per_rack
    }

    pub(crate) fn check(&self) -> Result<(), ScenarioError> {
        ensure!(self.count() > 0, "there must be at least one host");
        ensure!(self.rate > Rate(0), "the hosts' link rate must be positive");
        ensure!(
            self.mtu >= LEAST_MTU,
            "the hosts' MTU must be at least {LEAST_MTU} bytes, not {}",
            self.mtu
        );
        let most = Span(u32::MAX.into());
        ensure!(
            self.jitter <= most,
            "the hosts' jitter must be at most {most}, not {}",
            self.jitter
        );
        Ok(())
    }

    /// That there is such a host, for `who`.
    pub(crate) fn check_host(
        &self,
        who: core::fmt::Arguments<'_>,
        host: HostId,
    ) -> Result<(), ScenarioError> {
        let (rack, number) = (host.rack(), host.number());
        ensure!(self.has(host), "{who}: there is no host r{rack}h{number}");
        Ok(())
    }
}
