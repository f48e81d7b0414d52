// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whole transfers over a scripted link.
use crate::common::{Fate, MS, Pair, SECOND};
use etalon_tcp::cc::Reno;
use etalon_tcp::{Config, Connection, Segment};

fn config() -> Config {
    Config::default()
}

fn transfer(
    bytes: u64,
    client: Config,
    server: Config,
    fate: impl FnMut(u64, bool, &Segment) -> Fate,
) -> (u64, etalon_tcp::Stats) {
    let mut pair = Pair::new(
        Connection::client(client, Reno),
        Connection::server(server, Reno),
        MS,
        fate,
    );
    pair.client.write(bytes);
    pair.client.shutdown();
    pair.server.shutdown();
    assert!(
        pair.run_until(600 * SECOND, |p| p.client.all_acked()
            && p.client.is_closed()
            && p.server.is_closed()),
        "not finished: client {:?} server {:?} received {} stats {:?}",
        pair.client.state(),
        pair.server.state(),
        pair.server.bytes_received(),
        pair.client.stats()
    );
    assert_eq!(pair.server.bytes_received(), bytes);
    assert_eq!(pair.client.bytes_acked(), bytes);
    (pair.now, pair.client.stats())
}

#[test]
fn without_loss_nothing_is_retransmitted() {
    let (_, stats) = transfer(100_000_000, config(), config(), |_, _, _| Fate::Deliver);
    assert_eq!((stats.retransmits, stats.rtos, stats.recoveries), (0, 0, 0));
}

#[test]
fn one_loss_in_fifty_is_repaired() {
    let mut n = 0;
    let (_, stats) = transfer(50_000_000, config(), config(), |_, to_server, s| {
        n += u32::from(to_server && s.len > 0);
        if to_server && s.len > 0 && n % 50 == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    assert!(stats.recoveries > 10);
    assert_eq!(stats.undos, 0);
}

#[test]
fn the_same_without_sack_and_timestamps() {
    let mut n = 0;
    let plain = Config {
        sack: false,
        timestamps: false,
        ..config()
    };
    let (_, stats) = transfer(20_000_000, plain.clone(), plain, |_, to_server, s| {
        n += u32::from(to_server && s.len > 0);
        if to_server && s.len > 0 && n % 50 == 0 {
            Fate::Drop
        } else {
            Fate::Deliver
        }
    });
    assert!(stats.recoveries > 5);
}
