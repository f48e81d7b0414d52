// SPDX-License-Identifier: MIT OR Apache-2.0
//! What carries a flow: TCP, what knows of networks that take turns (time-division networks, TDNs), or what is not TCP.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use etalon_units::Time;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::ndp::Ndp;
use crate::rotorlb::RotorLb;

/// What carries a flow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Transport {
    /// TCP.
    #[default]
    Tcp,
    /// Time-division TCP (SIGCOMM'22).
    Tdtcp(Tdtcp),
    /// Multipath TCP (RFC 8684), a subflow for each network.
    Mptcp(Mptcp),
    /// NDP (SIGCOMM 2017).
    Ndp(Ndp),
    /// RotorLB (SIGCOMM 2017).
    RotorLb(RotorLb),
}

/// TDTCP's switches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tdtcp {
    /// Congestion controls by TDN; none: that of the flow on all of them.
    #[serde(default)]
    pub cc: Vec<String>,
    /// A hole of another TDN than that of the ACK waits for that TDN's ACKs (relaxed loss detection, section 3.4).
    pub relaxed: bool,
    /// What a TDN's window limits.
    pub pipe: InFlight,
    /// Which round-trip times count.
    pub rtt: RttSamples,
    /// How connections come to know of a change.
    pub update: Update,
    /// TD_CAPABLE and TD_DATA_ACK are on the wire; without them each end is one of TDTCP by its own choice.
    pub options: bool,
    /// The first round trip after a change is paced (section 5.2).
    pub pace_burst: bool,
    /// When the client's end becomes plain TCP, if ever.
    #[serde(default, rename = "downgrade_at_ns")]
    pub downgrade_at: Option<Time>,
}

/// What the window of a TDN limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum InFlight {
    /// What is in flight on it.
    Own,
    /// What is in flight on all TDNs.
    Shared,
}

/// Which samples of the round-trip time count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum RttSamples {
    /// Those of which data and ACK went by the same TDN.
    Matched,
    /// All.
    All,
}

/// How connections come to know of a change of networks (section 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Update {
    /// A connection looks when it sends or receives.
    Pull,
    /// The host tells its connections, one after the other.
    Push,
}

/// MPTCP's switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mptcp {
    /// Number of subflows. Subflow n belongs to TDN n, if the scheduler or ACKs look at those.
    pub subflows: u8,
    /// Which subflow gets data.
    pub scheduler: Scheduler,
    /// When ACKs are sent.
    pub acks: Acks,
    /// What is not acknowledged when the TDN changes is sent again on the next one's subflow, if the scheduler is TDM's.
    pub reinject: bool,
}

impl Mptcp {
    /// Whether each subflow needs a TDN to belong to.
    #[must_use]
    pub fn needs_tdns(&self) -> bool {
        self.scheduler == Scheduler::Tdm || self.acks == Acks::Pinned
    }
}

/// Which subflow gets data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Scheduler {
    /// That of the active TDN, as much as its window takes (tdm_schd of SIGCOMM'22).
    Tdm,
    /// Linux's own.
    Mainline,
}

/// When a subflow sends ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Acks {
    /// At any time.
    Any,
    /// While its TDN is active.
    Pinned,
}

impl Transport {
    /// How many TCP connections it has: MPTCP's subflows, or one.
    #[must_use]
    pub fn subflows(&self) -> u8 {
        match self {
            Transport::Mptcp(mptcp) => mptcp.subflows,
            _ => 1,
        }
    }

    /// Whether its connections carry data from clients to servers only, where applications open them.
    #[must_use]
    pub fn is_one_way(&self) -> bool {
        matches!(self, Transport::Mptcp(_))
    }

    /// Whether it is a kind of TCP.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        !matches!(self, Transport::Ndp(_) | Transport::RotorLb(_))
    }

    /// What is wrong with it, for a flow where hosts tell `tdns` networks apart, 0 if nobody tells them of any.
    pub(crate) fn check(
        &self,
        who: fmt::Arguments<'_>,
        tdns: usize,
        mtu: u16,
    ) -> Result<(), ScenarioError> {
        match self {
            Transport::Tcp => {}
            Transport::Ndp(ndp) => ndp.check(who, mtu)?,
            Transport::RotorLb(rotorlb) => rotorlb.check(who, mtu)?,
            Transport::Tdtcp(tdtcp) => {
                ensure!(
                    tdns > 0,
                    "{who}: TDTCP is for networks that take turns, and there is one network only"
                );
                let controls = tdtcp.cc.len();
                ensure!(
                    controls == 0 || controls == tdns,
                    "{who}: it has {controls} congestion controls for {tdns} TDNs"
                );
            }
            Transport::Mptcp(mptcp) => {
                let subflows = usize::from(mptcp.subflows);
                let tdns = tdns.max(1);
                ensure!(
                    subflows > 0 && (subflows <= tdns || !mptcp.needs_tdns()),
                    "{who}: it has {subflows} subflows for {tdns} networks"
                );
            }
        }
        Ok(())
    }
}

/// [`Tdtcp`] and [`Mptcp`] as C takes them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) transport: u32,
    /// The value of Linux's socket option `TCP_TDTCP`: docs/tdtcp-kernel.md.
    pub(crate) tdtcp: u32,
    pub(crate) subflows: u32,
    pub(crate) mptcp: u32,
}

impl Transport {
    /// Its numbers in a network of `tdns` TDNs.
    pub(crate) fn numbers(&self, tdns: usize) -> Numbers {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        match self {
            // What is not TCP never comes to Linux.
            Transport::Tcp | Transport::Ndp(_) | Transport::RotorLb(_) => Numbers::default(),
            Transport::Tdtcp(t) => Numbers {
                transport: TRANSPORT_TDTCP,
                tdtcp: tdns as u32
                    | flag(!t.relaxed, option::STRICT)
                    | flag(t.pipe == InFlight::Shared, option::SHARED_PIPE)
                    | flag(t.rtt == RttSamples::All, option::ALL_RTTS)
                    | flag(t.update == Update::Push, option::PUSH)
                    | flag(!t.options, option::NO_OPTIONS)
                    | flag(t.pace_burst, option::PACE_BURST),
                ..Numbers::default()
            },
            Transport::Mptcp(m) => Numbers {
                transport: TRANSPORT_MPTCP,
                subflows: m.subflows.into(),
                mptcp: flag(m.scheduler == Scheduler::Tdm, MPTCP_TDM)
                    | flag(m.acks == Acks::Pinned, MPTCP_PINNED)
                    | flag(m.reinject && m.scheduler == Scheduler::Tdm, MPTCP_REINJECT),
                ..Numbers::default()
            },
        }
    }
}

/// The flags of Linux's socket option `TCP_TDTCP`, by their names there without `TCP_TDTCP_` (docs/tdtcp-kernel.md). Its lowest
/// byte is the number of TDNs.
mod option {
    pub(super) const STRICT: u32 = 0x100;
    pub(super) const SHARED_PIPE: u32 = 0x200;
    pub(super) const ALL_RTTS: u32 = 0x400;
    pub(super) const PUSH: u32 = 0x800;
    pub(super) const NO_OPTIONS: u32 = 0x1000;
    pub(super) const PACE_BURST: u32 = 0x2000;
}

/// A flow is TDTCP's.
pub const TRANSPORT_TDTCP: u32 = 1;
/// A flow is MPTCP's.
pub const TRANSPORT_MPTCP: u32 = 2;
/// MPTCP gives data to the subflow of the active TDN.
pub const MPTCP_TDM: u32 = 1;
/// MPTCP's subflows send ACKs while their TDN is active.
pub const MPTCP_PINNED: u32 = 2;
/// MPTCP sends again on the next subflow what is not acknowledged when the TDN changes.
pub const MPTCP_REINJECT: u32 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const TDTCP: Tdtcp = Tdtcp {
        cc: Vec::new(),
        relaxed: true,
        pipe: InFlight::Own,
        rtt: RttSamples::Matched,
        update: Update::Pull,
        options: true,
        pace_burst: false,
        downgrade_at: None,
    };

    #[test]
    fn switches_are_flags_of_the_socket_option() {
        let value = |tdtcp: Tdtcp| Transport::Tdtcp(tdtcp).numbers(2).tdtcp;
        assert_eq!(value(TDTCP), 2);
        let all = Tdtcp {
            relaxed: false,
            pipe: InFlight::Shared,
            rtt: RttSamples::All,
            update: Update::Push,
            options: false,
            pace_burst: true,
            ..TDTCP
        };
        assert_eq!(value(all), 0x3f02);
        let mptcp = Transport::Mptcp(Mptcp {
            subflows: 2,
            scheduler: Scheduler::Mainline,
            acks: Acks::Pinned,
            reinject: true,
        });
        let numbers = mptcp.numbers(2);
        assert_eq!((numbers.transport, numbers.subflows), (TRANSPORT_MPTCP, 2));
        assert_eq!((numbers.mptcp, numbers.tdtcp), (MPTCP_PINNED, 0));
        assert_eq!(Transport::Tcp.numbers(2).tdtcp, 0);
    }
}
