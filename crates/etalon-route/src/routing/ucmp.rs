// SPDX-License-Identifier: MIT OR Apache-2.0
//! Uniform-cost multipath (UCMP, SIGCOMM 2024): a way costs the time that it takes, and for each hop a share of the time that its flow
//! takes to transmit. Short flows take ways of many hops, long ones wait for ways of few.

use etalon_scenario::Ucmp as Settings;

use super::expanded::Expanded;
use crate::RouteError;
use crate::graph::Graph;
use crate::router::{At, Next, Router};

/// Bits of a label that say how much its flow has sent: the highest.
const BUCKET_BITS: u32 = 3;
/// Bytes of a flow of the first bucket; those of the next are four times as long.
const FIRST_BUCKET: u64 = 16 << 10;

#[derive(Debug)]
pub(super) struct Ucmp {
    ways: Expanded,
    hops: usize,
    slice_ns: u64,
    /// What a hop costs a flow of each bucket in ns.
    hop_ns: [u64; 1 << BUCKET_BITS],
}

impl Ucmp {
    pub(super) fn new(graph: &Graph, settings: Settings) -> Result<Ucmp, RouteError> {
        let hops = usize::from(settings.hops);
        let cost = |bucket: usize| {
            let bytes = FIRST_BUCKET << (2 * bucket);
            let time = graph.rate.span_of(bytes).0;
            time.saturating_mul(settings.alpha_milli.into()) / 1000
        };
        Ok(Ucmp {
            ways: Expanded::new(graph, hops, settings.hops_per_slice)?,
            hops,
            slice_ns: graph.slice_ns,
            hop_ns: core::array::from_fn(cost),
        })
    }

    /// The number of hops for which a way costs least.
    fn cheapest(&self, bucket: usize, slice: usize, here: usize, to: usize) -> Option<usize> {
        let costs = (1..=self.hops).filter_map(|hops| {
            let after = u64::from(self.ways.after(hops, slice, here, to)?);
            Some((
                after * self.slice_ns + hops as u64 * self.hop_ns[bucket],
                hops,
            ))
        });
        costs.min().map(|(_, hops)| hops)
    }
}

/// A label that also says how many bytes a flow has sent, or will send, so that UCMP knows what its hops cost.
#[must_use]
pub fn ucmp_label(label: u16, bytes: u64) -> u16 {
    let bucket = (0..(1 << BUCKET_BITS) - 1).find(|bucket| bytes <= FIRST_BUCKET << (2 * bucket));
    let bucket = bucket.unwrap_or((1 << BUCKET_BITS) - 1) as u16;
    (label & (u16::MAX >> BUCKET_BITS)) | bucket << (u16::BITS - BUCKET_BITS)
}

impl Router for Ucmp {
    fn next(&self, at: &At) -> Next {
        let (here, to) = (usize::from(at.here), usize::from(at.destination));
        let bucket = usize::from(at.label >> (u16::BITS - BUCKET_BITS));
        let label = at.label & (u16::MAX >> BUCKET_BITS);
        // What it set out for, less what it has gone.
        let entered = at.entered as usize;
        let Some(chosen) = self.cheapest(bucket, entered, at.source.into(), to) else {
            return Next::Nowhere;
        };
        let left = chosen.saturating_sub(at.hops.into()).max(1);
        match self.ways.next(left, at.slice as usize, here, to, label) {
            Next::Nowhere => self
                .ways
                .next(self.hops, at.slice as usize, here, to, label),
            next => next,
        }
    }

    fn stranded(&self) -> Option<(usize, usize, usize)> {
        self.ways.stranded()
    }

    fn bytes(&self) -> usize {
        self.ways.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::ucmp_label;

    #[test]
    fn a_label_tells_how_long_a_flow_is() {
        let bucket = |bytes| ucmp_label(0x1fff, bytes) >> 13;
        let buckets = [
            1,
            16 << 10,
            (16 << 10) + 1,
            1 << 20,
            (1 << 20) + 1,
            u64::MAX,
        ]
        .map(bucket);
        assert_eq!(buckets, [0, 0, 1, 3, 4, 7]);
        assert_eq!(ucmp_label(0xffff, 1), 0x1fff);
    }
}
