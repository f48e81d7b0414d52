// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue that takes no more than it has places for, and its link.

use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Rate, Serializer, Time};

/// Places that there are before more are needed.
const FIRST_PLACES: u32 = 16;

/// A drop-tail queue in front of a link. First in, first out: when a packet will have left is known when it comes, so that nothing has to
/// be done when it leaves.
#[derive(Debug)]
pub struct DropTail {
    link: Serializer,
    capacity: u32,
    /// A place for each packet that was queued at a time: when the one that took it last has left it. They are taken in turns.
    places: Vec<Time>,
    /// The place that was taken longest ago.
    oldest: usize,
}

impl DropTail {
    /// A queue for `capacity` packets, waiting or in transmission.
    pub fn new(link: Serializer, capacity: u32) -> DropTail {
        DropTail {
            link,
            capacity,
            places: vec![Time::ZERO; capacity.min(FIRST_PLACES) as usize],
            oldest: 0,
        }
    }

    /// Packets that it has places for.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The rate of its link.
    pub fn rate(&self) -> Rate {
        self.link.rate()
    }

    /// A packet of `bytes` comes. Returns when its last bit leaves; none if all places are taken.
    #[inline]
    pub fn take(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let leaves = self.take_place(now, bytes);
        leaves.or_else(|| self.take_another(now, bytes))
    }

    /// As [`DropTail::take`], unless [another place](DropTail::take_another) would have to be made.
    #[inline(always)] // with every packet, in every queue
    pub fn take_place(&mut self, now: Time, bytes: u32) -> Option<Time> {
        let place = self.places.get_mut(self.oldest);
        let place = place.filter(|left| **left <= now)?;
        let leaves = self.link.transmit(now, bytes);
        *place = leaves;
        self.oldest += 1;
        if self.oldest == self.places.len() {
            self.oldest = 0;
        }
        Some(leaves)
    }

    /// As [`DropTail::take`], when every place has been taken.
    #[cold]
    #[inline(never)]
    pub fn take_another(&mut self, now: Time, bytes: u32) -> Option<Time> {
        self.grow().then(|| {
            let leaves = self.link.transmit(now, bytes);
            self.places[0] = leaves;
            self.oldest = 1;
            leaves
        })
    }

    /// All places are taken: there may be more, which come first.
    fn grow(&mut self) -> bool {
        let more = (self.places.len() as u32).min(self.capacity - self.places.len() as u32);
        self.places.rotate_left(self.oldest);
        self.places
            .splice(..0, core::iter::repeat_n(Time::ZERO, more as usize));
        self.oldest = 0;
        more > 0
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_queue_takes_what_it_has_places_for(
            capacity in 0u32..70,
            packets in prop::collection::vec((0u64..3000, 1u32..2000), 1..400),
        ) {
            let link = || Serializer::new(Rate(8_000_000_000));
            let (mut queue, mut other) = (DropTail::new(link(), capacity), link());
            let (mut now, mut inside) = (Time::ZERO, VecDeque::new());
            for (pause, bytes) in packets {
                now.0 += pause.saturating_sub(2000);
                while inside.front().is_some_and(|&left| left <= now) {
                    inside.pop_front();
                }
                let fits = inside.len() < capacity as usize;
                let leaves = fits.then(|| other.transmit(now, bytes));
                inside.extend(leaves);
                prop_assert_eq!(queue.take(now, bytes), leaves);
                prop_assert!(queue.places.len() <= capacity as usize);
            }
        }
    }
}
