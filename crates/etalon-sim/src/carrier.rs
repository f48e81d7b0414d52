// SPDX-License-Identifier: MIT OR Apache-2.0
//! A flow that TCP does not carry: its two ends.

use std::sync::Arc;

use etalon_measure::{Counters, FlowFacts};
use etalon_net::Class;
use etalon_scenario::{Completes, Ndp, Pacer, Pulls, Scenario};
use etalon_transports::ndp::{self, Puller, Receiver, Sender};

use crate::packet::Route;
use crate::rotors::BulkFlow;
use crate::spray::Spray;

/// What flows of NDP have in common.
#[derive(Debug)]
pub(crate) struct NdpKind {
    pub(crate) config: ndp::Config,
    pub(crate) pacer: Pacer,
    pub(crate) completes: Completes,
    pub(crate) paths: Option<u16>,
}

impl NdpKind {
    pub(crate) fn new(ndp: &Ndp, plan: &Scenario) -> NdpKind {
        let rate = plan.rate_to_hosts().0;
        let payload = ndp.payload(plan.hosts.mtu);
        let apart = ndp.pull_bytes.unwrap_or(payload.saturating_add(ndp.header));
        let bits = u128::from(apart) * 8;
        NdpKind {
            config: ndp::Config {
                window: ndp.window,
                payload,
                header: ndp.header,
                padded: ndp.padded,
                spacing: (bits * 1_000_000_000_000 / u128::from(rate)) as u64,
                pulls: match ndp.pulls {
                    Pulls::Needed => ndp::Pulls::Needed,
                    Pulls::Each => ndp::Pulls::Each,
                },
                timeout: ndp.timeout.map(|timeout| timeout.0),
                resends_last: ndp.resends_last,
            },
            pacer: ndp.pacer,
            completes: ndp.completes,
            paths: ndp.paths,
        }
    }
}

/// One end of such a flow, and its way to the other.
#[derive(Debug)]
pub(crate) struct CarrierRoute {
    /// Index of its host.
    pub(crate) host: u32,
    pub(crate) route: Route,
    pub(crate) spray: Spray,
}

/// A flow, by what carries it.
#[derive(Debug)]
pub(crate) enum Carrier {
    Ndp(Box<NdpFlow>),
    Bulk(Box<BulkFlow>),
}

impl Carrier {
    /// Whether nothing can happen in it any more.
    pub(crate) fn is_over(&self) -> bool {
        match self {
            Carrier::Ndp(flow) => flow.is_over(),
            Carrier::Bulk(flow) => flow.is_over(),
        }
    }

    /// What is known of it, as of a flow of TCP.
    pub(crate) fn facts(&self) -> FlowFacts {
        match self {
            Carrier::Ndp(flow) => flow.facts(),
            Carrier::Bulk(flow) => flow.facts(),
        }
    }

    /// It, if NDP carries it.
    pub(crate) fn ndp(&mut self) -> Option<&mut NdpFlow> {
        match self {
            Carrier::Ndp(flow) => Some(flow),
            Carrier::Bulk(_) => None,
        }
    }

    /// It, if RotorLB carries it.
    pub(crate) fn bulk(&mut self) -> Option<&mut BulkFlow> {
        match self {
            Carrier::Bulk(flow) => Some(flow),
            Carrier::Ndp(_) => None,
        }
    }
}

/// A flow of NDP.
#[derive(Debug)]
pub(crate) struct NdpFlow {
    pub(crate) kind: Arc<NdpKind>,
    /// That of its kind, but for the payload of a short flow.
    pub(crate) config: ndp::Config,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// That of the flow, unless its host paces pulls.
    pub(crate) puller: Option<Puller<u32>>,
    /// From the sender to the receiver, and back.
    pub(crate) ways: [CarrierRoute; 2],
    pub(crate) class: Class,
    /// Packets of either end that are under way.
    pub(crate) under_way: u32,
    /// When the sender's timer is set, and the flow's own puller's.
    pub(crate) armed: u64,
    pub(crate) pull_armed: u64,
    /// Its sender has stopped.
    pub(crate) is_killed: bool,
}

impl NdpFlow {
    /// Whether nothing can happen in it any more.
    pub(crate) fn is_over(&self) -> bool {
        self.under_way == 0 && (self.is_killed || self.sender.is_done())
    }

    /// What is known of it, as of a flow of TCP.
    pub(crate) fn facts(&self) -> FlowFacts {
        FlowFacts {
            counters: Counters {
                received: self.receiver.bytes(),
                retransmits: self.sender.resends(),
                rtos: self.sender.timeouts(),
                ..Counters::default()
            },
            cwnd: self.kind.config.window,
            ..FlowFacts::default()
        }
    }
}
