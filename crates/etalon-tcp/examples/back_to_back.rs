// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cost of TCP alone: two endpoints joined by two queues, no loss; prints nanoseconds for each data segment, which covers
//! its sending, its reception, and the making and taking of its share of the ACKs.
//!
//! `cargo run --release -p etalon-tcp --example back_to_back`

use etalon_tcp::cc::Reno;
use etalon_tcp::{Config, Connection, Segment};
use std::collections::VecDeque;
use std::time::Instant;

const DELAY: u64 = 30_000;
const TRANSMISSION: u64 = 7_200;
const SEGMENTS: u64 = 5_000_000;

/// Runs one bulk flow whose window is at most `window` segments.
fn run(window: u32) -> f64 {
    let config = Config {
        initial_cwnd: window,
        ..Config::default()
    };
    let server_config = Config {
        receive_buffer: window * u32::from(config.mss),
        initial_receive_window: window * u32::from(config.mss),
        ..Config::default()
    };
    let mut client = Connection::client(config, Reno);
    let mut server = Connection::server(server_config, Reno);
    let mut forward: VecDeque<(u64, Segment)> = VecDeque::new();
    let mut backward: VecDeque<(u64, Segment)> = VecDeque::new();
    client.write_forever();
    let (mut now, mut free) = (0, 0);
    let mut started = Instant::now();
    let mut skipped = 0;
    while client.stats().data_segments_sent < SEGMENTS + skipped {
        while let Some(segment) = client.poll_transmit(now) {
            free = now.max(free) + if segment.len > 0 { TRANSMISSION } else { 0 };
            client.departed(u64::from(segment.len));
            forward.push_back((free + DELAY, segment));
        }
        while let Some(segment) = server.poll_transmit(now) {
            backward.push_back((now + DELAY, segment));
        }
        let to_server = forward.front().map_or(u64::MAX, |f| f.0);
        let to_client = backward.front().map_or(u64::MAX, |b| b.0);
        let timer = client.next_timer().min(server.next_timer());
        now = to_server.min(to_client).min(timer);
        if to_server == now {
            if let Some((_, segment)) = forward.pop_front() {
                server.on_segment(now, &segment);
            }
        } else if to_client == now {
            if let Some((_, segment)) = backward.pop_front() {
                client.on_segment(now, &segment);
            }
        } else {
            client.on_timer(now);
            server.on_timer(now);
        }
        if skipped == 0 && client.stats().data_segments_sent >= 10_000 {
            skipped = client.stats().data_segments_sent;
            started = Instant::now();
        }
    }
    started.elapsed().as_nanos() as f64 / SEGMENTS as f64
}

fn main() {
    for window in [4, 16, 100, 1000] {
        println!("window {window:4}: {:6.1} ns a data segment", run(window));
    }
}
