// SPDX-License-Identifier: MIT OR Apache-2.0
//! How packets of one class find their way: what each routing implements, and what their tables have in common.

use core::fmt::Debug;

use etalon_scenario::Class;

use crate::RouteError;
use crate::graph::Graph;

/// Bytes of a table at most.
pub(crate) const MOST_BYTES: usize = 1 << 30;

/// Where a packet is, and what a ToR switch knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The slice in which it came to its first ToR switch.
    pub entered: u32,
    /// The slice it is now.
    pub slice: u32,
    /// The rack that it comes from.
    pub source: u16,
    /// The rack, or relay, that it is at.
    pub here: u16,
    /// The rack that it goes to.
    pub destination: u16,
    /// Hops that it has taken.
    pub hops: u8,
    /// Its class.
    pub class: Class,
    /// What tells its flow, or it, from others: among several ways it takes that of this number, counted round and round.
    pub label: u16,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It is there.
    Deliver,
    /// It leaves over this uplink, whatever that leads to when its turn comes. The uplink behind the last is the packet network's.
    Now(u8),
    /// It waits for a circuit to this rack.
    Await(u16),
    /// There is no way.
    Nowhere,
}

/// Uplinks of a packet's next hops, as far as they are certain. They hold until ways are chosen anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest(u64);

impl Rest {
    /// None is certain.
    pub const NONE: Rest = Rest(u64::MAX);
    /// What stands behind the last.
    pub(crate) const END: u8 = u8::MAX;

    /// Of these uplinks the first eight, up to [`Rest::END`].
    #[inline]
    pub(crate) fn of(uplinks: &[u8]) -> Rest {
        let first = uplinks.iter().take(8).rev();
        Rest(first.fold(u64::MAX, |rest, &uplink| rest << 8 | u64::from(uplink)))
    }

    /// Takes the first. With the first `None` it is used up, whatever it would say afterwards.
    #[inline]
    pub fn take(&mut self) -> Option<u8> {
        let first = self.0 as u8;
        self.0 = self.0 >> 8 | 0xff << 56;
        (first != Rest::END).then_some(first)
    }
}

/// How packets of one class find their way.
pub(crate) trait Router: Debug + Send + Sync {
    /// What becomes of a packet that is not at its destination.
    fn next(&self, at: &At) -> Next;

    /// The same, and what is certain of its way from there.
    fn way(&self, at: &At) -> (Next, Rest) {
        (self.next(at), Rest::NONE)
    }

    /// The first (slice, here, destination) without a way.
    fn stranded(&self) -> Option<(usize, usize, usize)>;

    /// Bytes of its tables.
    fn bytes(&self) -> usize;
}

/// That a table of so many entries of so many bytes fits.
pub(crate) fn fits(entries: usize, each: usize) -> Result<(), RouteError> {
    match entries.checked_mul(each) {
        Some(bytes) if bytes <= MOST_BYTES => Ok(()),
        bytes => Err(RouteError::TooLarge {
            bytes: bytes.unwrap_or(usize::MAX),
            most: MOST_BYTES,
        }),
    }
}

/// The first pair of racks that never has a circuit, as (slice, here, destination).
pub(crate) fn unmet(graph: &Graph, met: &[bool]) -> Option<(usize, usize, usize)> {
    (0..graph.racks * graph.racks)
        .map(|pair| (pair / graph.racks, pair % graph.racks))
        .find(|&(here, to)| here != to && !met[here * graph.racks + to])
        .map(|(here, to)| (0, here, to))
}
