// SPDX-License-Identifier: MIT OR Apache-2.0
//! Digests of segments, and the random numbers of the exchanges that they are taken of.

use etalon_tcp::Segment;
use etalon_tcp::mptcp::MptcpOption;

/// A linear congruential generator; its high bits are good enough here.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Of nothing.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a.
pub fn mix(digest: u64, word: u64) -> u64 {
    word.to_le_bytes().iter().fold(digest, |d, &byte| {
        (d ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// What a segment says, and when it left.
pub fn mix_segment(digest: u64, at: u64, to_server: bool, s: &Segment) -> u64 {
    let (stamp, echo) = s.timestamps.unwrap_or_default();
    let words = [
        at,
        u64::from(to_server),
        u64::from(s.seq) << 32 | u64::from(s.ack),
        u64::from(s.window) << 32 | u64::from(s.len) << 16 | u64::from(s.flags.0),
        u64::from(stamp) << 32 | u64::from(echo),
    ];
    let digest = words.into_iter().fold(digest, mix);
    let blocks = s.rare.blocks().iter();
    let digest = blocks.fold(digest, |d, &(start, end)| {
        mix(d, u64::from(start) << 32 | u64::from(end))
    });
    match s.rare.mptcp() {
        None => digest,
        Some(MptcpOption::Capable) => mix(digest, 1),
        Some(MptcpOption::Join(id)) => mix(mix(digest, 2), id.into()),
        Some(MptcpOption::Dss(dss)) => {
            let digest = mix(mix(digest, 3), dss.data_ack);
            dss.mapping.iter().fold(digest, |d, m| {
                let place = u64::from(m.subflow_seq) << 32 | u64::from(m.len);
                mix(mix(d, m.data_seq), place)
            })
        }
    }
}
