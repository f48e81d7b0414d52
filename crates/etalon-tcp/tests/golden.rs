// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random exchanges whose every segment is known: a digest of all that both ends sent, and when. It moves only where TCP's
//! behaviour does; a commit that moves it says which behaviour, and why.
//!
//! To print the digests: `cargo test -p etalon-tcp --test all golden -- --nocapture`.
use crate::common::digest::{EMPTY, Random, mix, mix_segment};
use crate::common::{Fate, MS, Pair, SECOND, US};
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
        ("reno", 0x22e9_aabf_82d0_0278, 0xc61f_7d46_95a3_0a4a),
        ("cubic", 0x4a35_2c41_4456_2f91, 0xf56d_0887_d8f4_8d25),
        ("dctcp", 0xe214_ce62_34d2_075c, 0x2b3d_06a1_04d0_0fec),
        ("scalable", 0xe1d6_5062_4a33_03b6, 0x3dc6_4db7_a8ea_4655),
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
