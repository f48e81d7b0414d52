// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random exchanges whose every segment is known: a digest of all that both ends sent, and when. It moves only where TCP's
//! behaviour does; a commit that moves it says which behaviour, and why.
//!
//! To print the digests: `cargo test -p etalon-tcp --test golden -- --nocapture`.
mod common;

use common::digest::{EMPTY, Random, mix, mix_segment};
use common::{Fate, MS, Pair, SECOND, US};
use etalon_tcp::cc::Any;
use etalon_tcp::{Config, Connection, Ecn, Segment};

/// One exchange: a transfer over a link that loses, delays, repeats and marks.
fn exchange(name: &str, seed: u64, options: bool) -> u64 {
    let mut random = Random(seed);
    let config = Config {
        sack: options || random.below(2) == 0,
        timestamps: options || random.below(2) == 0,
        ecn: if random.below(3) == 0 {
            Ecn::On
        } else {
            Ecn::Off
        },
        min_rto: [200, 10][random.below(2) as usize] * MS,
        initial_seq: random.below(1 << 32) as u32,
        ..Config::default()
    };
    let cc = || Any::by_name(name, &[]).expect("a registered name");
    let (bytes, reply) = (random.below(3_000_000), random.below(200_000));
    let [lost, late, twice, marked] = [6, 6, 3, 10].map(|most| random.below(most));
    let fate = move |_: u64, _: bool, _: &Segment| match random.below(100) {
        roll if roll < lost => Fate::Drop,
        roll if roll < lost + late => Fate::Late(random.below(5_000) * US),
        roll if roll < lost + late + twice => Fate::Twice(random.below(5_000) * US),
        roll if roll < lost + late + twice + marked => Fate::Mark,
        _ => Fate::Deliver,
    };
    let client = Connection::client(config.clone(), cc());
    let mut pair = Pair::new(client, Connection::server(config, cc()), MS, fate);
    pair.transmission = 50 * US;
    pair.client.write(bytes);
    pair.client.shutdown();
    pair.server.write(reply);
    pair.server.shutdown();
    assert!(pair.run_until(2_000 * SECOND, |p| {
        p.client.all_acked() && p.server.all_acked() && p.client.is_closed()
    }));
    let log = pair.log.iter();
    log.fold(EMPTY, |d, l| mix_segment(d, l.at, l.to_server, &l.segment))
}

#[test]
fn every_segment_of_random_exchanges_is_as_before() {
    let golden = [
        ("reno", 0x742f_d552_7b8e_dbb8, 0x32cc_0e3c_9f1f_fc19),
        ("cubic", 0xc50f_7546_d17e_1a6f, 0x11b9_cf4e_d1e9_be91),
        ("dctcp", 0xcaa1_0536_cf49_cb8c, 0x4831_216b_1b15_bae8),
        ("scalable", 0xb6d9_019d_b72f_85c2, 0x63c5_9f01_c74a_7c13),
    ];
    let found = golden.map(|(name, ..)| {
        let digest = |options| (0..60).fold(0, |d, seed| mix(d, exchange(name, seed, options)));
        (name, digest(true), digest(false))
    });
    for (name, full, plain) in found {
        println!("(\"{name}\", {full:#018x}, {plain:#018x}),");
    }
    assert_eq!(found, golden);
}
