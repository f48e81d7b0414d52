// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where a packet goes next.

use alloc::boxed::Box;
use alloc::vec::Vec;

use etalon_scenario::{Ocs, Part, Slices};

use crate::RouteError;
use crate::graph::Graph;
use crate::router::{At, Next, Rest, Router};
use crate::routing::router;

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
