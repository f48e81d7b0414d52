//! The plan's TCP as the simulator's.

use std::collections::BTreeMap;

use etalon_scenario::{Flow, Scenario, ScenarioError};
use etalon_tcp::{Config, Ecn, cc};

/// The configuration of a connection.
pub(crate) fn config(plan: &Scenario, initial_seq: u32) -> Config {
    let tcp = &plan.tcp;
    let options = if tcp.timestamps { 12 } else { 0 };
    Config {
        hz: tcp.hz,
        mss: plan.hosts.mtu - 40 - options,
        initial_cwnd: tcp.initial_cwnd,
        min_rto: tcp.min_rto.0,
        min_delayed_ack: tcp.min_delayed_ack.0,
        max_delayed_ack: tcp.max_delayed_ack.0,
        receive_buffer: tcp.receive_buffer_bytes,
        max_receive_buffer: tcp.max_receive_buffer_bytes,
        ecn: if tcp.ecn { Ecn::On } else { Ecn::Off },
        sack: tcp.sack,
        timestamps: tcp.timestamps,
        pacing: tcp.pacing,
        initial_seq,
        ..Config::default()
    }
}

/// The congestion control of `flow`, number `index` of the plan.
pub(crate) fn congestion_control(index: usize, flow: &Flow) -> Result<cc::Any, ScenarioError> {
    by_name(&flow.cc, &flow.cc_params).map_err(|e| ScenarioError(format!("flow {index}: {e}")))
}

/// The congestion control of this name, with these parameters.
pub(crate) fn by_name(
    name: &str,
    params: &BTreeMap<String, f64>,
) -> Result<cc::Any, impl std::fmt::Display + use<>> {
    let params: Vec<(&str, f64)> = params
        .iter()
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    cc::Any::by_name(name, &params)
}
