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

/// How packets of one class find their way.
pub(crate) trait Router: Debug + Send + Sync {
    /// What becomes of a packet that is not at its destination.
    fn next(&self, at: &At) -> Next;

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
    #[inline]
    pub fn next(&self, at: &At) -> Next {
        if at.here == at.destination {
            return Next::Deliver;
        }
        match self.classes.get(at.class.index()) {
            Some(router) => router.next(at),
            None => Next::Nowhere,
        }
    }

    /// Bytes of all tables.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.classes.iter().map(|router| router.bytes()).sum()
    }
}
