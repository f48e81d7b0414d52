// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan's TCP as the simulator's.

use std::collections::BTreeMap;
use std::sync::Arc;

use etalon_scenario::{Distance, Estimator, InFlight, RttSamples, Scenario, Transport, Update};
use etalon_tcp::cc::{self, CongestionControl};
use etalon_tcp::{Config, Ecn, Tdtcp};
use etalon_units::Time;

use crate::endpoint::Follows;
use crate::plugins::{self, MakeControl};

/// The parameter of congestion controls that is the rate of the sender's NIC in Gbit/s: where a plan does not set it, its hosts do.
const HOST_RATE: &str = "host_rate";

/// The configuration of connections between hosts that are so far apart.
pub(crate) fn config(plan: &Scenario, distance: Distance) -> Config {
    let tcp = &plan.tcp;
    let path = tcp.path(distance);
    let default = Config::default();
    let options = if tcp.timestamps { 12 } else { 0 };
    Config {
        hz: tcp.hz,
        mss: plan.hosts.mtu - 40 - options,
        initial_cwnd: path.initial_cwnd,
        max_cwnd: path.max_cwnd.unwrap_or(default.max_cwnd),
        min_rto: path.min_rto.0,
        initial_rto: path.initial_rto.map_or(default.initial_rto, |rto| rto.0),
        min_delayed_ack: tcp.min_delayed_ack.0,
        max_delayed_ack: tcp.max_delayed_ack.0,
        receive_buffer: tcp.receive_buffer_bytes,
        max_receive_buffer: tcp.max_receive_buffer_bytes,
        ecn: if tcp.ecn { Ecn::On } else { Ecn::Off },
        sack: tcp.sack,
        timestamps: tcp.timestamps,
        pacing: tcp.pacing,
        tso_win_divisor: tcp.tso_win_divisor,
        slow_start_after_idle: tcp.slow_start_after_idle,
        autocorking: true,
        time_wait: u64::MAX, // no port is used again
        waits_for_room: Some(tcp.max_send_buffer_bytes),
        send_buffer: announces(plan).then_some(tcp.max_send_buffer_bytes),
        ..default
    }
}

/// Whether hosts announce what their sockets take of what programs write.
pub(crate) fn announces(plan: &Scenario) -> bool {
    let estimator = plan.control().map(|control| control.estimator);
    matches!(estimator, Some(Estimator::Adu { .. }))
}

/// TDTCP's switches, if that carries a flow.
pub(crate) fn tdtcp(plan: &Scenario, transport: &Transport) -> Option<Tdtcp> {
    let Transport::Tdtcp(tdtcp) = transport else {
        return None;
    };
    Some(Tdtcp {
        tdns: plan.tdns() as u8,
        options: tdtcp.options,
        relaxed: tdtcp.relaxed,
        shared_pipe: tdtcp.pipe == InFlight::Shared,
        all_rtts: tdtcp.rtt == RttSamples::All,
        pace_burst: tdtcp.pace_burst,
    })
}

/// When a flow's client stops to be one of TDTCP, if ever.
pub(crate) fn downgrade_of(transport: &Transport) -> Option<Time> {
    match transport {
        Transport::Tdtcp(tdtcp) => tdtcp.downgrade_at,
        _ => None,
    }
}

/// How both ends of a flow come to know of networks.
pub(crate) fn follows(transport: &Transport) -> Follows {
    match transport {
        Transport::Tdtcp(tdtcp) if tdtcp.update == Update::Push => Follows::LooksOnce,
        Transport::Tdtcp(_) => Follows::Looks,
        _ => Follows::Nothing,
    }
}

/// The congestion controls of a connection in their first state: of its first path, and of the others, which connections share.
#[derive(Clone, Debug)]
pub(crate) struct Controls {
    pub(crate) first: cc::Any,
    pub(crate) others: Arc<[cc::Any]>,
}

impl Controls {
    /// Whether one of them asks for telemetry.
    pub(crate) fn want_telemetry(&self) -> bool {
        let mut all = self.others.iter().chain([&self.first]);
        all.any(CongestionControl::wants_telemetry)
    }

    /// Those of a flow: by name or, of TDTCP, by that of each TDN.
    pub(crate) fn new(
        (plan, users): (&Scenario, Option<&MakeControl>),
        name: &str,
        params: &BTreeMap<String, f64>,
        transport: &Transport,
    ) -> Result<Controls, String> {
        let given: Vec<(&str, f64)> = params
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .collect();
        let made = |name: &str| {
            let mut params = given.clone();
            let info = cc::list().iter().find(|info| info.name == name);
            let parameters = info.map_or(&[][..], |info| info.parameters);
            if parameters
                .iter()
                .any(|parameter| parameter.name == HOST_RATE)
            {
                // The last of a name counts: what the plan says goes before this.
                params.retain(|&given| given != (HOST_RATE, 0.0));
                let gbps = plan.hosts.rate.as_bps() as f64 / 1e9 / plan.tdf as f64;
                params.insert(0, (HOST_RATE, gbps));
            }
            plugins::control(users, name, &params)
        };
        let names: Vec<&str> = match transport {
            Transport::Tdtcp(tdtcp) if !tdtcp.cc.is_empty() => {
                tdtcp.cc.iter().map(String::as_str).collect()
            }
            Transport::Tdtcp(_) => vec![name; plan.tdns()],
            _ => vec![name],
        };
        let (first, others) = names.split_first().ok_or("no congestion control")?;
        Ok(Controls {
            first: made(first)?,
            others: others
                .iter()
                .map(|name| made(name))
                .collect::<Result<_, _>>()?,
        })
    }
}
