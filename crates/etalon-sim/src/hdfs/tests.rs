// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pipeline by hand: what each side writes, and when.

use super::*;
use serde_json::{Value, json};

const MB: u64 = 1_000_000;

/// Writes down what is asked of it.
#[derive(Default)]
struct Notes {
    flows: Vec<(Role, Flow)>,
    writes: Vec<(u32, u64)>,
    shut: Vec<u32>,
}

impl Notes {
    fn taken(&mut self) -> Vec<(u32, u64)> {
        std::mem::take(&mut self.writes)
    }
}

impl Network for Notes {
    fn connect(&mut self, _: Time, _: u32, role: Role, flow: Flow) -> u32 {
        self.flows.push((role, flow));
        (self.flows.len() - 1) as u32
    }

    fn write(&mut self, _: Time, stream: u32, bytes: u64) {
        self.writes.push((stream, bytes));
    }

    fn shutdown(&mut self, _: Time, flow: u32) {
        self.shut.push(flow);
    }
}

fn plan(racks: u16, hosts: u16, writers: u32, placement: Value) -> Scenario {
    let value = json!({"seed": 1, "tdf": 1, "duration_ns": 1_000_000_000, "warmup_ns": 0,
        "hosts": {"racks": racks, "per_rack": hosts, "mtu": 9000,
            "rate_bps": 40_000_000_000u64, "delay_ns": 2000, "jitter_ns": 1000},
        "network": {"rdcn": {
            "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 5000, "down_delay_ns": 5000,
                "internal_queue": 3, "hold_queue": 5},
            "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 30_000}],
            "voq": {"packets": 16}}},
        "tcp": {"hz": 250, "min_rto_ns": 200_000_000u64, "initial_cwnd": 10, "min_delayed_ack_ns": 40_000_000,
            "max_delayed_ack_ns": 200_000_000, "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
            "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3},
        "flows": [], "measure": {"pair": [0, 1], "weeks_per_run": 3},
        "dfsio": [{"start_ns": 0, "writers": writers, "file_bytes": 5 * MB, "block_bytes": 3 * MB, "packet_bytes": MB,
            "window_packets": 2, "placement": placement, "cc": "cubic", "class": "hdfs"}]});
    Scenario::from_json(&value.to_string()).unwrap()
}

fn job(plan: &Scenario) -> Job {
    Job::new(plan, 0, &plan.dfsio[0]).unwrap()
}

/// The roles of a pipeline's two hops.
const HOPS: [Role; 2] = [Role { writer: 0, hop: 0 }, Role { writer: 0, hop: 1 }];

#[test]
fn a_block_goes_down_the_pipeline_and_acknowledgements_come_back() {
    let plan = plan(4, 3, 1, json!({"rehdfs": {}}));
    let (mut job, mut net) = (job(&plan), Notes::default());
    let now = Time(0);
    job.start(now, &mut net);
    // The writer opens the first hop to a host of the next rack; that one opens the second within its rack.
    let first = &net.flows[0].1;
    assert_eq!((first.src_rack, first.src_host, first.dst_rack), (0, 0, 1));
    assert_eq!(first.bytes, Some(REQUEST + 3 * MB));
    assert_eq!(net.taken(), [(0, REQUEST)]);
    job.data_received(now, (HOPS[0], 0), REQUEST, &mut net);
    let second = &net.flows[1].1;
    assert_eq!(
        (second.src_rack, second.src_host),
        (1, net.flows[0].1.dst_host)
    );
    assert_eq!(second.dst_rack, 1);
    assert_ne!(second.dst_host, second.src_host);
    assert_eq!(net.taken(), [(2, REQUEST)]);
    // The last host answers, the answer goes back, and two packets may be under way.
    job.data_received(now, (HOPS[1], 1), REQUEST, &mut net);
    assert_eq!(net.taken(), [(3, ANSWER)]);
    job.answer_received(now, (HOPS[1], 1), ANSWER, &mut net);
    assert_eq!(net.taken(), [(1, ANSWER)]);
    job.answer_received(now, (HOPS[0], 0), ANSWER, &mut net);
    assert_eq!(net.taken(), [(0, MB), (0, MB)]);
    // A packet goes on when it is whole, and is acknowledged by the last host.
    job.data_received(now, (HOPS[0], 0), REQUEST + MB - 1, &mut net);
    assert_eq!(net.taken(), []);
    job.data_received(now, (HOPS[0], 0), REQUEST + 2 * MB, &mut net);
    assert_eq!(net.taken(), [(2, MB), (2, MB)]);
    job.data_received(now, (HOPS[1], 1), REQUEST + MB, &mut net);
    assert_eq!(net.taken(), [(3, ACKNOWLEDGEMENT)]);
    job.answer_received(now, (HOPS[1], 1), ANSWER + ACKNOWLEDGEMENT, &mut net);
    assert_eq!(net.taken(), [(1, ACKNOWLEDGEMENT)]);
    job.answer_received(now, (HOPS[0], 0), ANSWER + ACKNOWLEDGEMENT, &mut net);
    assert_eq!(net.taken(), [(0, MB)]);
    assert_eq!(job.writes().next().unwrap().written, MB);
    // The rest of the first block.
    job.data_received(now, (HOPS[0], 0), REQUEST + 3 * MB, &mut net);
    job.data_received(now, (HOPS[1], 1), REQUEST + 3 * MB, &mut net);
    job.answer_received(now, (HOPS[1], 1), ANSWER + 3 * ACKNOWLEDGEMENT, &mut net);
    net.writes.clear();
    job.answer_received(now, (HOPS[0], 0), ANSWER + 3 * ACKNOWLEDGEMENT, &mut net);
    // Both connections close, and the second block, of 2 MB, begins with new ones.
    assert_eq!(net.shut, [0, 1]);
    assert_eq!(net.flows[2].1.bytes, Some(REQUEST + 2 * MB));
    assert_eq!(net.taken(), [(4, REQUEST)]);
    assert!(!job.is_done());
    // Copies of old packets change nothing.
    job.data_received(now, (HOPS[0], 0), REQUEST + 3 * MB, &mut net);
    job.answer_received(now, (HOPS[0], 0), ANSWER + 3 * ACKNOWLEDGEMENT, &mut net);
    assert_eq!((net.flows.len(), net.taken()), (3, vec![]));
}

#[test]
fn the_last_packet_of_the_last_block_ends_the_file() {
    // One host a rack: no third replica. The file's two blocks are of 3 and 2 packets.
    let plan = plan(3, 1, 1, json!({"rehdfs": {}}));
    let (mut job, mut net) = (job(&plan), Notes::default());
    job.start(Time(0), &mut net);
    for (flow, packets) in [(0, 3), (1, 2)] {
        let now = Time(1_000 * (u64::from(flow) + 1));
        job.data_received(now, (HOPS[0], flow), REQUEST, &mut net);
        job.answer_received(now, (HOPS[0], flow), ANSWER, &mut net);
        job.data_received(now, (HOPS[0], flow), REQUEST + packets * MB, &mut net);
        let all = ANSWER + packets * ACKNOWLEDGEMENT;
        job.answer_received(now, (HOPS[0], flow), all, &mut net);
    }
    assert!(job.is_done());
    let write = job.writes().next().unwrap();
    assert_eq!(
        (write.end, write.written, write.bytes),
        (Some(Time(2_000)), 5 * MB, 5 * MB)
    );
    assert_eq!(net.flows.len(), 2);
}

#[test]
fn writers_are_spread_and_replicas_lie_where_the_placement_says() {
    let racks = |placement: Value, now: u64| -> Vec<(u16, u16)> {
        let plan = plan(8, 4, 64, placement);
        let (mut job, mut net) = (job(&plan), Notes::default());
        job.start(Time(now), &mut net);
        assert_eq!(net.flows.len(), 64);
        net.flows
            .iter()
            .map(|(_, f)| (f.src_rack, f.dst_rack))
            .collect()
    };
    let next = |by: u16| move |&(src, dst): &(u16, u16)| dst == (src + by) % 8;
    assert!(racks(json!({"rehdfs": {}}), 0).iter().all(next(1)));
    let rotating = json!({"rehdfs": {"rotate_ns": 1_000_000_000u64}});
    for (now, by) in [
        (0, 1),
        (999_999_999, 1),
        (1_000_000_000, 2),
        (6_500_000_000, 7),
        (7_000_000_000, 1),
    ] {
        assert!(
            racks(rotating.clone(), now).iter().all(next(by)),
            "at {now}"
        );
    }
    let random = racks(json!("hdfs"), 0);
    assert!(random.iter().all(|(src, dst)| src != dst));
    let mut pairs: Vec<_> = random.clone();
    pairs.sort_unstable();
    pairs.dedup();
    // 64 draws of 56 pairs, 8 of each source rack.
    assert!(pairs.len() > 30, "{pairs:?}");
    assert!((0..8).all(|rack| random.iter().filter(|(src, _)| *src == rack).count() == 8));
}
