// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows, and the ports that tell them apart.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use core::ffi::c_char;

use etalon_units::Time;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::hosts::{HostId, Hosts};
use crate::layout;
use crate::transport::{Numbers, Transport};
use crate::{Class, Pair};

/// The port of the flows' servers.
pub const SERVER_PORT: u16 = 5001;

/// The port of the client of flow 0; those of the others follow.
pub const FIRST_CLIENT_PORT: u16 = 40_001;

/// Flows that have ports of their own.
pub const MOST_PORTS: usize = 20_000;

/// The port of the client's second subflow of MPTCP flow 0; those of the others follow, then those of third subflows.
pub const SUBFLOW_PORT: u16 = 20_001;

/// Flows that have ports for [subflows](MOST_SUBFLOWS) of their own.
pub const MOST_MPTCP: u16 = 6_666;

/// Subflows for which there are ports.
pub const MOST_SUBFLOWS: u8 = 4;

/// The longest name of a congestion control in bytes: Linux has room for 16, the last of which is zero.
pub const CC_NAME_MAX: usize = 15;

/// The port of a flow's client, so that flows between the same hosts stay apart; after [`MOST_PORTS`] the first comes again.
#[must_use]
pub fn client_port(flow: usize) -> u16 {
    FIRST_CLIENT_PORT + (flow % MOST_PORTS) as u16
}

/// The port of the client's end of a flow's `subflow`, if that is MPTCP's; of its own for [`MOST_SUBFLOWS`] of [`MOST_MPTCP`] flows.
#[must_use]
pub fn subflow_port(flow: usize, subflow: u8) -> u16 {
    match u16::from(subflow).checked_sub(1) {
        None => client_port(flow),
        Some(more) => {
            let flow = (flow % usize::from(MOST_MPTCP)) as u16;
            SUBFLOW_PORT
                .wrapping_add(more * MOST_MPTCP)
                .wrapping_add(flow)
        }
    }
}

/// Where a segment of a flow belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The flow's number.
    pub flow: u16,
    /// Which of MPTCP's subflows; 0 for other transports.
    pub subflow: u8,
    /// On its way to the server.
    pub to_server: bool,
}

/// What a segment with these source and destination ports belongs to.
#[must_use]
#[inline]
pub fn flow_of_ports(ports: (u16, u16)) -> Option<Stream> {
    let (client, to_server) = match ports {
        (client, SERVER_PORT) => (client, true),
        (SERVER_PORT, client) => (client, false),
        _ => return None,
    };
    let (flow, subflow) = match client.checked_sub(FIRST_CLIENT_PORT) {
        Some(flow) => (flow, 0),
        None => {
            let place = client.checked_sub(SUBFLOW_PORT)?;
            (place % MOST_MPTCP, (place / MOST_MPTCP) as u8 + 1)
        }
    };
    (subflow < MOST_SUBFLOWS).then_some(Stream {
        flow,
        subflow,
        to_server,
    })
}

/// What tells a flow, one of its subflows and a direction from others between the same hosts: what networks in which flows choose
/// among equal ways mix into their choice.
#[must_use]
#[inline]
pub const fn flow_label(flow: u32, subflow: u8, to_server: bool) -> u16 {
    let number = flow << 9 | (subflow as u32) << 1 | to_server as u32;
    (number.wrapping_mul(0x9e37_79b1) >> 16) as u16
}

/// One flow. Those of a plan share what they have in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Rack of the sender.
    pub src_rack: u16,
    /// Host of the sender in its rack.
    pub src_host: u16,
    /// Rack of the receiver.
    pub dst_rack: u16,
    /// Host of the receiver in its rack.
    pub dst_host: u16,
    /// Congestion control by name.
    pub cc: Arc<String>,
    /// The congestion control's parameters.
    #[serde(default)]
    pub cc_params: Arc<BTreeMap<String, f64>>,
    /// What carries it.
    #[serde(default)]
    pub transport: Arc<Transport>,
    /// When its client connects, not after the start; none for when it starts.
    #[serde(default, rename = "connect_ns")]
    pub connect: Option<Time>,
    /// When it starts: its client has all of its bytes to send from then on.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// When it is killed, if ever.
    #[serde(default, rename = "stop_ns")]
    pub stop: Option<Time>,
    /// Bytes to send; none for a bulk flow without end.
    #[serde(default)]
    pub bytes: Option<u64>,
    /// Results are given by class.
    #[serde(default)]
    pub class: Arc<String>,
    /// The network's class of its packets; none for that of its bytes.
    #[serde(default)]
    pub priority: Option<Class>,
}

impl Flow {
    /// Shares with `other` what is the same, which takes memory once.
    #[cfg(feature = "json")]
    pub(crate) fn share_with(&mut self, other: &Flow) {
        fn share<T: PartialEq>(mine: &mut Arc<T>, other: &Arc<T>) {
            if mine == other {
                *mine = Arc::clone(other);
            }
        }
        share(&mut self.cc, &other.cc);
        share(&mut self.cc_params, &other.cc_params);
        share(&mut self.transport, &other.transport);
        share(&mut self.class, &other.class);
    }

    /// When its client connects.
    #[must_use]
    pub fn connects(&self) -> Time {
        self.connect.unwrap_or(self.start)
    }

    /// From the rack of the sender to that of the receiver.
    #[must_use]
    pub fn pair(&self) -> Pair {
        Pair {
            src: self.src_rack,
            dst: self.dst_rack,
        }
    }

    /// The sender.
    #[must_use]
    pub fn src(&self) -> HostId {
        HostId::new(self.src_rack, self.src_host)
    }

    /// The receiver.
    #[must_use]
    pub fn dst(&self) -> HostId {
        HostId::new(self.dst_rack, self.dst_host)
    }

    pub(crate) fn check(
        &self,
        index: usize,
        hosts: &Hosts,
        tdns: usize,
    ) -> Result<(), ScenarioError> {
        let who = format_args!("flow {index}");
        hosts.check_host(who, self.src())?;
        hosts.check_host(who, self.dst())?;
        ensure!(
            self.src() != self.dst(),
            "flow {index}: host r{}h{} would send to itself",
            self.src_rack,
            self.src_host
        );
        ensure!(self.bytes != Some(0), "flow {index} has nothing to send");
        ensure!(
            self.connects() <= self.start,
            "flow {index} starts before it connects"
        );
        self.transport.check(who, tdns, hosts.mtu)
    }
}

/// A flow as the kernel's C code makes it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CFlow {
    /// The sending host's number.
    pub src: u32,
    /// The receiving host's number.
    pub dst: u32,
    /// When its client connects, in virtual ns, as all of these; not after the start.
    pub connect: u64,
    /// When it starts.
    pub start: u64,
    /// When it is killed; 2^64 - 1 for never.
    pub stop: u64,
    /// Bytes to send; 2^64 - 1 for no end.
    pub bytes: u64,
    /// The kernel's name of its congestion control.
    pub cc: [c_char; 16],
    /// Whether its sender's state is followed.
    pub followed: u32,
    /// What carries it: 0 for TCP, else `TRANSPORT_TDTCP` or `TRANSPORT_MPTCP`.
    pub transport: u32,
    /// The value of the socket option `TCP_TDTCP`: the number of TDNs and TDTCP's switches; 0 for other transports.
    pub tdtcp: u32,
    /// MPTCP's subflows; 0 for other transports.
    pub subflows: u32,
    /// MPTCP's switches: `MPTCP_TDM`, `MPTCP_PINNED`.
    pub mptcp: u32,
    /// When the client's end stops to be one of TDTCP; 2^64 - 1 for never.
    pub downgrade: u64,
    /// The value of the socket option `TCP_TDTCP_CC`: a congestion control for each TDN; empty if all have that of the flow.
    pub tdn_cc: [c_char; 64],
}

layout!(CFlow {
    src,
    dst,
    connect,
    start,
    stop,
    bytes,
    cc,
    followed,
    transport,
    tdtcp,
    subflows,
    mptcp,
    downgrade,
    tdn_cc,
});

impl Flow {
    /// The flow as C makes it, in a network of `tdns` TDNs, its sender followed or not; names of congestion controls for which there is no room are cut.
    #[must_use]
    pub fn to_c(&self, hosts: &Hosts, tdns: usize, followed: bool) -> CFlow {
        let (downgrade, controls) = match &*self.transport {
            Transport::Tdtcp(tdtcp) => (tdtcp.downgrade_at, &tdtcp.cc[..]),
            _ => (None, &[][..]),
        };
        let Numbers {
            transport,
            tdtcp,
            subflows,
            mptcp,
        } = self.transport.numbers(tdns);
        CFlow {
            src: hosts.index(self.src()),
            dst: hosts.index(self.dst()),
            connect: self.connects().0,
            start: self.start.0,
            stop: self.stop.map_or(u64::MAX, |time| time.0),
            bytes: self.bytes.unwrap_or(u64::MAX),
            cc: c_text(self.cc.bytes()),
            followed: followed.into(),
            transport,
            tdtcp,
            subflows,
            mptcp,
            downgrade: downgrade.map_or(u64::MAX, |time| time.0),
            tdn_cc: c_text(controls.join(",").bytes()),
        }
    }
}

/// The first N - 1 bytes of a text, and zeros.
fn c_text<const N: usize>(text: impl Iterator<Item = u8>) -> [c_char; N] {
    let mut c = [0; N];
    for (to, from) in c[..N - 1].iter_mut().zip(text) {
        *to = from as c_char;
    }
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_name_a_flow_and_a_direction() {
        for (flow, subflow) in [(0, 0), (7, 1), (6_665, 3)] {
            let stream = flow_of_ports((subflow_port(flow, subflow), SERVER_PORT));
            let stream = stream.expect("a subflow's port");
            assert_eq!((usize::from(stream.flow), stream.subflow), (flow, subflow));
        }
        assert_eq!((client_port(0), client_port(19_999)), (40_001, 60_000));
        let stream = |flow, subflow, to_server| {
            Some(Stream {
                flow,
                subflow,
                to_server,
            })
        };
        assert_eq!(flow_of_ports((40_008, 5001)), stream(7, 0, true));
        assert_eq!(flow_of_ports((5001, 40_001)), stream(0, 0, false));
        assert_eq!(flow_of_ports((20_001, 5001)), stream(0, 1, true));
        assert_eq!(flow_of_ports((5001, 26_670)), stream(3, 2, false));
        assert_eq!(flow_of_ports((39_998, 5001)), stream(6665, 3, true));
        assert_eq!(flow_of_ports((39_999, 5001)), None);
        assert_eq!(flow_of_ports((20_000, 5001)), None);
        assert_eq!(flow_of_ports((40_001, 5002)), None);
    }
}
