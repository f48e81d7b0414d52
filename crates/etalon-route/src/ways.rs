// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a packet goes next.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;

use etalon_scenario::{Class, Ocs, Part, Slices};

use crate::RouteError;
use crate::graph::Graph;
use crate::routing::router;

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

/// The tables of all classes, made before a run, and anew when ToR switches learn that something failed or returned.
#[derive(Debug)]
pub struct Ways {
    classes: Vec<Box<dyn Router>>,
}

impl Ways {
    /// Of a network with `racks` racks in which `failed` has failed. Ties are broken by `seed`.
    ///
    /// # Errors
    /// [`RouteError`] if nothing has failed and there are racks without a way between them, if a table contradicts the circuits, or is
    /// too large.
    pub fn new(
        ocs: &Ocs,
        racks: u16,
        slices: &Slices,
        seed: u64,
        failed: &[Part],
    ) -> Result<Ways, RouteError> {
        let graph = Graph::new(ocs, racks, slices, failed);
        let mut classes = Vec::with_capacity(ocs.classes.len());
        for (class, of) in ocs.classes.iter().enumerate() {
            let made = router(&of.routing, &graph, seed)?;
            if let (true, Some((slice, from, to))) = (failed.is_empty(), made.stranded()) {
                return Err(RouteError::NoWay {
                    class,
                    slice,
                    from,
                    to,
                });
            }
            classes.push(made);
        }
        Ok(Ways { classes })
    }

    /// What becomes of a packet.
    #[must_use]
    pub fn next(&self, at: &At) -> Next {
        self.way(at).0
    }

    /// What becomes of a packet, and what is certain of its way from there.
    #[must_use]
    #[inline]
    pub fn way(&self, at: &At) -> (Next, Rest) {
        if at.here == at.destination {
            return (Next::Deliver, Rest::NONE);
        }
        match self.classes.get(at.class.index()) {
            Some(router) => router.way(at),
            None => (Next::Nowhere, Rest::NONE),
        }
    }

    /// Bytes of all tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.classes.iter().map(|router| router.bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const END: u8 = Rest::END;

    fn taken(uplinks: &[u8]) -> Vec<u8> {
        let mut rest = Rest::of(uplinks);
        core::iter::from_fn(|| rest.take()).take(10).collect()
    }

    #[test]
    fn the_rest_is_the_first_eight_uplinks_in_order_up_to_an_end() {
        let nine = [3, 0, 254, 1, 1, 2, 7, 5, 6];
        for length in [0, 1, 8] {
            assert_eq!(taken(&nine[..length]), &nine[..length]);
        }
        assert_eq!(taken(&nine), &nine[..8], "a ninth is looked up again");
        assert_eq!(taken(&[4, 0, END, 2]), [4, 0]);
        assert!(taken(&[END, 2]).is_empty());
        assert_eq!(Rest::of(&[]), Rest::NONE);
        assert_eq!(Rest::of(&[END; 9]), Rest::NONE);
        let mut none = Rest::NONE;
        assert_eq!((none.take(), none), (None, Rest::NONE));
    }
}
