// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes of hosts: what TCP takes for the way to a peer is, on Linux, a metric of the route that leads there.

use etalon_scenario::{Distance, InitRoute, Pair, Scenario, Tcp, TcpPath};
use etalon_units::Span;

/// Linux's initial congestion window in segments (RFC 6928).
const INITIAL_CWND: u32 = 10;
/// Linux's smallest retransmission timeout.
const MIN_RTO: Span = Span::from_millis(200);
/// Linux's retransmission timeout before the first sample of the RTT (RFC 6298).
const INITIAL_RTO: Span = Span::from_millis(1000);
/// Linux's longest retransmission timeout.
const LONGEST_RTO: Span = Span::from_millis(120_000);
const MILLISECOND: u64 = 1_000_000;
/// How often Linux sends a SYN and a SYN-ACK again, and the most that it can be told.
const RETRIES: [(&str, u32); 2] = [
    ("net.ipv4.tcp_syn_retries", 6),
    ("net.ipv4.tcp_synack_retries", 5),
];
const MOST_RETRIES: u32 = 127;

const DISTANCES: [Distance; 3] = [Distance::Rack, Distance::Pod, Distance::Core];

/// What routes cannot say, in words.
pub(crate) fn check(tcp: &Tcp) -> Result<(), String> {
    for path in DISTANCES.map(|distance| tcp.path(distance)) {
        if path.min_rto == Span::ZERO || !path.min_rto.0.is_multiple_of(MILLISECOND) {
            return Err(format!(
                "Linux counts tcp.min_rto in milliseconds: {} is none or no whole number of them.",
                path.min_rto
            ));
        }
        let initial = path.initial_rto.unwrap_or(INITIAL_RTO);
        for (key, rto) in [("min_rto", path.min_rto), ("initial_rto", initial)] {
            if rto > LONGEST_RTO {
                return Err(format!(
                    "Linux has no retransmission timeout above 120s: tcp.{key} is {rto}."
                ));
            }
        }
    }
    Ok(())
}

/// The routes of hosts of `rack`: one to all, and one to each rack that lies nearer, if it has other parameters.
pub(crate) fn of_rack(plan: &Scenario, rack: u16) -> Vec<InitRoute> {
    let furthest = plan.tcp.path(Distance::Core);
    let nearer = (0..plan.hosts.racks).filter_map(|dst| {
        let distance = plan
            .network
            .kind()
            .distance(&plan.hosts, Pair { src: rack, dst });
        let path = plan.tcp.path(distance);
        let [high, low] = dst.to_be_bytes();
        (path != furthest).then(|| route([10, high, low, 0], 24, &path))
    });
    [route([10, 0, 0, 0], 8, &furthest)]
        .into_iter()
        .chain(nearer)
        .collect()
}

fn route(net: [u8; 4], prefix_bits: u32, path: &TcpPath) -> InitRoute {
    let milliseconds = |span: Span| span.0.div_ceil(MILLISECOND) as u32;
    InitRoute {
        net,
        prefix_bits,
        initcwnd: path.initial_cwnd * u32::from(path.initial_cwnd != INITIAL_CWND),
        max_cwnd: path.max_cwnd.unwrap_or(0),
        rto_min_ms: milliseconds(path.min_rto) * u32::from(path.min_rto != MIN_RTO),
        rto_init_ms: path.initial_rto.map_or(0, milliseconds),
    }
}

/// How often SYNs and SYN-ACKs are sent again, as sysctls, where a connection that starts with a shorter timeout would give up
/// earlier: so often that it takes as long. The simulator's never give up.
pub(crate) fn handshake_retries(tcp: &Tcp) -> impl Iterator<Item = (&'static str, u32)> {
    let paths = DISTANCES.map(|distance| tcp.path(distance).initial_rto);
    let shortest = paths.into_iter().flatten().min().unwrap_or(INITIAL_RTO);
    // Each doubles the timeout.
    let more = INITIAL_RTO
        .0
        .div_ceil(shortest.0.max(1))
        .next_power_of_two()
        .trailing_zeros();
    RETRIES
        .into_iter()
        .filter(move |_| more > 0)
        .map(move |(key, retries)| (key, (retries + more).min(MOST_RETRIES)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Two pods of two racks, with these parameters in `tcp`.
    fn tree(changes: &Value) -> Scenario {
        let layer = json!({"rate_bps": 1_000_000_000u64, "delay_ns": 100_000, "queue_packets": 60, "mark_above_packets": null});
        let mut value = json!({
            "seed": 1, "tdf": 1, "duration_ns": 10_000_000, "warmup_ns": 0,
            "hosts": {"racks": 4, "per_rack": 2, "mtu": 1500, "rate_bps": 1_000_000_000u64, "delay_ns": 0, "jitter_ns": 0},
            "network": {"tree": {"pods": 2, "aggregation_switches": 1, "core_switches": 1,
                "rack": layer, "pod": layer, "core": layer, "delay_in_queue": false}},
            "tcp": {"hz": 250, "min_rto_ns": 200_000_000, "initial_cwnd": 10, "min_delayed_ack_ns": 40_000_000,
                "max_delayed_ack_ns": 200_000_000, "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
                "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3},
            "flows": [], "measure": {"pair": [1, 0], "weeks_per_run": 3},
        });
        for (key, changed) in changes.as_object().expect("keys") {
            value["tcp"][key] = changed.clone();
        }
        Scenario::from_json(&value.to_string()).expect("a good plan")
    }

    fn by_distance() -> Value {
        let path = |ms: u64, cwnd| json!({"min_rto_ns": ms * 1_000_000, "initial_rto_ns": ms * 3_700_000, "initial_cwnd": cwnd, "max_cwnd": 40 * cwnd});
        json!({"by_distance": [path(1, 1), path(2, 2), path(6, 5)]})
    }

    #[test]
    fn linux_own_parameters_are_left_to_it() {
        let own = InitRoute {
            net: [10, 0, 0, 0],
            prefix_bits: 8,
            ..InitRoute::default()
        };
        let plan = tree(&json!({}));
        assert_eq!(of_rack(&plan, 3), [own]);
        assert_eq!(handshake_retries(&plan.tcp).count(), 0);
        let given = tree(&json!({"initial_rto_ns": 30_000_000, "max_cwnd": 9, "initial_cwnd": 3}));
        let all = InitRoute {
            initcwnd: 3,
            max_cwnd: 9,
            rto_init_ms: 30,
            ..own
        };
        assert_eq!(of_rack(&given, 0), [all]);
    }

    #[test]
    fn nearer_racks_have_routes_of_their_own() {
        let routes = of_rack(&tree(&by_distance()), 2);
        let said = |route: &InitRoute| {
            let InitRoute {
                net,
                prefix_bits,
                initcwnd,
                max_cwnd,
                rto_min_ms,
                rto_init_ms,
            } = *route;
            (
                net,
                [prefix_bits, initcwnd, max_cwnd, rto_min_ms, rto_init_ms],
            )
        };
        assert_eq!(
            routes.iter().map(said).collect::<Vec<_>>(),
            [
                ([10, 0, 0, 0], [8, 5, 200, 6, 23]), // 22.2 ms, rounded up
                ([10, 0, 2, 0], [24, 1, 40, 1, 4]),
                ([10, 0, 3, 0], [24, 2, 80, 2, 8]),
            ]
        );
    }

    #[test]
    fn handshakes_last_as_long_as_before() {
        let retries = |changes: &Value| handshake_retries(&tree(changes).tcp).collect::<Vec<_>>();
        // 3.7 ms x (1 + 2 + ... + 2^15) = 242 s; Linux's own: 127 s.
        assert_eq!(
            retries(&by_distance()),
            [
                ("net.ipv4.tcp_syn_retries", 15),
                ("net.ipv4.tcp_synack_retries", 14)
            ]
        );
        assert_eq!(retries(&json!({"initial_rto_ns": 2_000_000_000u64})), []);
    }

    #[test]
    fn what_routes_cannot_say_is_refused() {
        let refused = |changes: &Value| check(&tree(changes).tcp).expect_err("refused");
        let fraction = refused(&json!({"min_rto_ns": 1_500_000}));
        assert!(
            fraction.contains("1.5ms is none or no whole number"),
            "{fraction}"
        );
        let long = refused(&json!({"initial_rto_ns": 121_000_000_000u64}));
        assert!(long.contains("tcp.initial_rto is 121s"), "{long}");
        assert_eq!(check(&tree(&by_distance()).tcp), Ok(()));
    }
}
