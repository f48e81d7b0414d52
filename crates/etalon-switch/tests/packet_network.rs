//! The packet path: times, round robin, internal queues, the hold.

mod common;

use common::*;
use etalon_switch::*;
use etalon_units::{Rate, Span};

const PACKET: Network = Network::Packet;

fn idle() -> Schedule {
    week(&[&[]])
}

#[test]
fn a_lone_packet_takes_two_serialisations_and_two_delays() {
    let mut bench = Bench::new(config(), idle());
    bench.send(1_000, 7, pair(0, 1), 9014, false);
    // 7211.2 ns on each link, 5 us after each; the second transmitter is idle, so it does not inherit the 0.2 ns.
    bench.run(1_000 + 24_421);
    assert_eq!(bench.deliveries(), []);
    bench.run(1_000 + 24_422);
    assert_eq!(bench.deliveries(), [(25_422, (7, PACKET))]);
    let latency = bench.pick(|out| match out {
        Out::Deliver { latency, .. } => Some(latency),
        _ => None,
    });
    assert_eq!(latency, [(25_422, 24_422)]);
    assert_eq!(bench.switch.queued(), 0);
}
