// SPDX-License-Identifier: MIT OR Apache-2.0
//! The networks of the tests, and their hosts.

use super::*;
use alloc::sync::Arc;

/// Two racks of two hosts, small queues, a circuit each way in turn.
pub(super) fn setup() -> Setup {
    let scenario = scenario();
    Setup {
        end: scenario.end(),
        capture: None,
        scenario,
    }
}

/// [`setup`] with a change of its scenario.
pub(super) fn changed(change: impl FnOnce(&mut Scenario)) -> Setup {
    let mut setup = setup();
    change(&mut setup.scenario);
    setup
}

fn scenario() -> Scenario {
    let day = |sources: [Option<u16>; 2]| Configuration {
        matching: Matching::new(sources.to_vec()).unwrap(),
        day: Span::from_micros(90),
        night: Span::from_micros(10),
        plane: Plane::CIRCUIT,
    };
    Scenario {
        seed: 7,
        tdf: 1,
        warmup: Span(100_000),
        duration: Span(1_000_000),
        hosts: hosts(),
        network: Kind::Rdcn(hybrid()),
        schedule: Some(Weeks {
            asked: None,
            changes: Vec::new(),
            first: Schedule::new(vec![day([None, Some(0)]), day([Some(1), None])]).unwrap(),
            control: None,
        }),
        tcp: tcp(),
        flows: vec![Flow {
            dst_rack: 1,
            cc: Arc::new("cubic".into()),
            ..Flow::default()
        }],
        programs: vec![],
        dfsio: vec![],
        generators: vec![],
        jobs: vec![],
        end_when_done: false,
        measure: Measure {
            pair: Pair { src: 0, dst: 1 },
            weeks_per_run: 3,
            flows: vec![],
            reordering: false,
            ports: false,
            links: None,
        },
    }
}

/// Two racks of two.
fn hosts() -> Hosts {
    Hosts {
        racks: 2,
        per_rack: 2,
        mtu: 9000,
        rate: Rate::from_gbps(10),
        delay: Span(2_000),
        jitter: Span(1_000),
        downlink_queue: None,
    }
}

/// A packet network beside one kind of circuits.
fn hybrid() -> Rdcn {
    let packet = PacketNetwork {
        rate: Rate::from_gbps(10),
        up_delay: Span(2_500),
        down_delay: Span(2_500),
        internal_queue: 2,
        hold_queue: 2,
    };
    let circuits = vec![CircuitNetwork {
        rate: Rate::from_gbps(80),
        delay: Span(10_000),
    }];
    let mut rdcn = Rdcn::new(Some(packet), circuits, 4);
    rdcn.voq.resize = Some(Resize {
        packets: 8,
        in_advance: Span(20_000),
    });
    rdcn.marking = Some(Marking {
        threshold: 2,
        threshold_big: 6,
    });
    rdcn.ece_in_advance = Some(Span(20_000));
    rdcn
}

/// Linux's defaults.
fn tcp() -> Tcp {
    Tcp {
        initial_rto: None,
        max_cwnd: None,
        by_distance: None,
        hz: 250,
        min_rto: Span::from_millis(200),
        initial_cwnd: 10,
        min_delayed_ack: Span::from_millis(40),
        max_delayed_ack: Span::from_millis(200),
        receive_buffer_bytes: 65_536,
        max_receive_buffer_bytes: 3 << 20,
        max_send_buffer_bytes: 4 << 20,
        sack: true,
        timestamps: true,
        ecn: false,
        pacing: false,
        tso_win_divisor: 3,
        slow_start_after_idle: true,
    }
}

/// Three stages one way, two the other.
pub(super) fn dumbbell() -> Kind {
    let stage = |gbps: Option<u64>, delay| Stage {
        rate: gbps.map(Rate::from_gbps),
        queue_packets: Some(5),
        delay: Span(delay),
    };
    Kind::Dumbbell(Dumbbell {
        stages: vec![stage(Some(20), 300), stage(Some(10), 5000), stage(None, 40)],
        return_stages: vec![stage(Some(10), 1000), stage(Some(40), 0)],
    })
}
