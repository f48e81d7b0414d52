// SPDX-License-Identifier: MIT OR Apache-2.0
//! Networks of circuits that stay, and NDP on them, as Opera's authors had them.

use serde_json::{Value, json};

use super::tcp;

/// Racks, and switches without hosts behind them, with the links between these.
pub struct Graph {
    pub racks: u16,
    pub per_rack: u16,
    pub relays: u16,
    pub links: Vec<(u16, u16)>,
}

/// The 3:1 Clos network of Opera's authors, k = 12: twelve pods of six racks and three switches, eighteen core switches.
pub fn clos() -> Graph {
    let mut links = Vec::new();
    for pod in 0..12 {
        for upper in 0..3 {
            let here = 72 + 3 * pod + upper;
            links.extend((0..6).map(|rack| (6 * pod + rack, here)));
            links.extend((0..6).map(|core| (here, 108 + 6 * upper + core)));
        }
    }
    Graph {
        racks: 72,
        per_rack: 9,
        relays: 54,
        links,
    }
}

/// NDP as Opera's authors ran it.
pub fn opera() -> Value {
    json!({"ndp": {"window": 30, "payload_bytes": 1436, "header_bytes": 64, "padded": true, "pacer": "flow",
        "pull_bytes": 1436, "pulls": "each", "resends_last": false, "completes": "acked"}})
}

/// A run that ends with its flows, over links of 10 Gb/s, 500 ns long between switches. Queues have room for 46 packets and for as many
/// bytes of headers. A link is a circuit that stays, over the first uplink that both of its ends have free.
pub fn plan_of(graph: &Graph, flows: Vec<Value>) -> Value {
    let nodes = usize::from(graph.racks + graph.relays);
    let mut peers: Vec<Vec<Option<u16>>> = Vec::new();
    for &(a, b) in &graph.links {
        let [one, other] = [a, b].map(usize::from);
        let is_free = |peer: &Vec<Option<u16>>| peer[one].is_none() && peer[other].is_none();
        let uplink = peers.iter().position(is_free).unwrap_or_else(|| {
            peers.push(vec![None; nodes]);
            peers.len() - 1
        });
        (peers[uplink][one], peers[uplink][other]) = (Some(b), Some(a));
    }
    let uplink = |peers: &Vec<Option<u16>>| {
        let sources: Vec<i32> = peers
            .iter()
            .map(|peer| peer.map_or(-1, i32::from))
            .collect();
        json!({"rate_bps": 10_000_000_000u64, "delay_ns": 500,
            "rotation": [{"sources": sources, "day_ns": 1_000_000, "night_ns": 0}]})
    };
    let uplinks: Vec<Value> = peers.iter().map(uplink).collect();
    let queue = json!({"count": "bytes", "room": 69_000, "full": {"trim": {"header_bytes": 64, "room_bytes": 69_000,
        "headers_per_packet": 10, "coin": true, "returns": true}}});
    json!({"seed": 1, "tdf": 1, "duration_ns": 1_000_000_000, "warmup_ns": 0, "end_when_done": true,
        "hosts": {"racks": graph.racks, "per_rack": graph.per_rack, "mtu": 1500,
            "rate_bps": 10_000_000_000u64, "delay_ns": 0, "jitter_ns": 0},
        "network": {"ocs": {"access": {"rate_bps": 10_000_000_000u64, "delay_ns": 0}, "relays": graph.relays,
            "uplinks": uplinks, "classes": [{"name": "low", "queue": queue,
                "routing": {"ksp": {"paths": 18, "equal": true, "spray": true}}}]}},
        "tcp": tcp(), "flows": flows, "measure": {"pair": [0, 1], "weeks_per_run": 3}})
}
