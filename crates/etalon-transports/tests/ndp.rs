// SPDX-License-Identifier: MIT OR Apache-2.0
//! NDP on a small network: a flow alone against the closed form, incast against the line rate.

mod common;

use common::{BYTE, Model, Pacer};
use etalon_transports::ndp::{Config, Pulls};

/// As Opera's authors ran it.
fn opera() -> Config {
    Config {
        padded: true,
        spacing: 1_148_800,
        pulls: Pulls::Each,
        timeout: None,
        ..Config::default()
    }
}

/// When a flow alone is acknowledged, in picoseconds: `hops` links between switches of 500 ns, all of 10 Gb/s.
fn closed_form(bytes: u64, hops: u64) -> u64 {
    let packet = BYTE * if bytes < 1436 { bytes + 64 } else { 1500 };
    let packets = bytes.div_ceil(1436);
    (packets - 1) * packet + (hops + 2) * (packet + BYTE * 64) + 2 * hops * 500_000
}

#[test]
fn a_flow_alone_takes_what_the_closed_form_says() {
    for bytes in [180, 5971, 27_563, 620_119] {
        for hops in 0..5 {
            let config = Config {
                payload: 1436.min(bytes as u16),
                ..opera()
            };
            let config = if bytes < 1436 { config } else { opera() };
            let mut model = Model::new(&[bytes], hops, 69_000, config, Pacer::Flow);
            model.run();
            assert_eq!(model.flows[0].acked, Some(closed_form(bytes, hops as u64)));
        }
    }
}

/// Values of logs that Opera's authors published, in microseconds.
#[test]
fn the_closed_form_says_what_the_logs_say() {
    let logs = [
        (180, 4, 5.478),
        (180, 2, 2.986),
        (5971, 4, 16.307),
        (5971, 2, 11.805),
        (5971, 1, 9.554),
        (5971, 3, 14.056),
        (27_563, 4, 34.307),
        (27_563, 1, 27.554),
        (620_119, 4, 528.707),
        (620_119, 3, 526.456),
    ];
    for (bytes, hops, log) in logs {
        let here = closed_form(bytes, hops) as f64 / 1e6;
        assert!(
            (here - log).abs() < 0.001,
            "{bytes} bytes, {hops} hops: {here}"
        );
    }
}

/// How long so many senders of `bytes` take, in shares of what the receiver's link takes for their packets; and packets trimmed.
fn incast(senders: usize, bytes: u64, room: u64, config: Config, pacer: Pacer) -> (f64, u32) {
    let mut model = Model::new(&vec![bytes; senders], 2, room, config, pacer);
    let end = model.run();
    let packets = bytes.div_ceil(1436);
    let wire = match config.padded {
        true => packets * 1500,
        false => bytes + packets * 64,
    };
    (
        end as f64 / (senders as u64 * wire * BYTE) as f64,
        model.trimmed,
    )
}

#[test]
fn incast_fills_the_receivers_link() {
    for senders in [2, 10, 100] {
        let (time, trimmed) = incast(senders, 450_000, 12_000, Config::default(), Pacer::Host);
        assert!((1.0..1.03).contains(&time), "{senders}: {time}");
        // Little beyond what first windows overflow.
        assert!(trimmed < 31 * senders as u32, "{senders}: {trimmed}");
    }
}

#[test]
fn one_pacer_a_flow_trims_more_than_one_a_host() {
    let of = |pacer| incast(20, 450_000, 12_000, opera(), pacer).1;
    let (host, flow) = (of(Pacer::Host), of(Pacer::Flow));
    assert!(flow > 3 * host, "{flow} against {host}");
}

/// So many that headers find no room either, and return to their senders.
#[test]
fn returned_headers_are_sent_again() {
    let mut model = Model::new(&[40_000; 200], 0, 12_000, Config::default(), Pacer::Host);
    let end = model.run();
    assert!(model.returned > 100);
    let alone = 200 * (40_000 + 28 * 64) * BYTE;
    assert!((end as f64) < 1.1 * alone as f64, "{end} against {alone}");
}
