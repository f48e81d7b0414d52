// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue in one piece of memory that is as short as its contents allow.

use alloc::vec::Vec;

/// First in, first out. Unlike the standard library's ring it does not walk through all of its memory when it is nearly
/// empty, which keeps it in the processor's cache, and it has no end to wrap around.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    /// From `head` on, the contents.
    items: Vec<T>,
    /// Not as long as a length: two of these that change together would be written as one, whose place is found out for each item.
    head: u32,
}

/// Places at the start that are worth reclaiming, beyond those of as many as are there; a power of two.
const SLACK: usize = 16;

impl<T> Default for Fifo<T> {
    fn default() -> Fifo<T> {
        Fifo {
            items: Vec::new(),
            head: 0,
        }
    }
}

impl<T: Copy> Fifo<T> {
    /// Adds an item at the back.
    #[inline]
    pub fn push_back(&mut self, item: T) {
        self.items.push(item);
    }

    /// The same, and shows it.
    #[inline]
    pub fn push_back_mut(&mut self, item: T) -> &mut T {
        let place = self.items.len();
        self.items.push(item);
        &mut self.items[place]
    }

    /// Takes the item that was added last.
    pub fn pop_back(&mut self) -> Option<T> {
        let item = self.items.pop();
        if self.head() == self.items.len() {
            self.items.clear();
            self.head = 0;
        }
        item
    }

    /// The same in less memory, for a queue of which there are very many.
    #[inline]
    pub fn push_back_sparingly(&mut self, item: T) {
        if self.items.len() == self.items.capacity() {
            self.make_room();
        }
        self.items.push(item);
    }

    /// Makes room for an item: before the front, which moves at most as many as were taken since, or in more memory.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.head > 0 && 2 * self.head() >= self.items.len() {
            self.reclaim();
        } else {
            self.items.reserve(1);
        }
    }

    #[inline]
    fn head(&self) -> usize {
        self.head as usize
    }

    /// The item that was added first.
    #[inline]
    pub fn front(&self) -> Option<&T> {
        self.items.get(self.head())
    }

    /// Takes the item that was added first.
    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        let item = *self.items.get(self.head())?;
        self.drop_front();
        Some(item)
    }

    /// Takes the item that was added first, if there is one, and shows the next.
    #[inline]
    pub fn drop_front(&mut self) -> Option<&T> {
        self.head += 1;
        if self.head() >= self.items.len() {
            self.items.clear();
            self.head = 0;
            return None;
        }
        // Asked once in so many items, which is as soon as the first could be reclaimed.
        if self.head() & (SLACK - 1) == 0 && 2 * self.head() >= self.items.len() + SLACK {
            self.reclaim();
            return self.items.first();
        }
        self.items.get(self.head())
    }

    /// Takes the items at the front of which `goes` says so.
    #[inline]
    pub fn drop_while(&mut self, mut goes: impl FnMut(&T) -> bool) {
        let mut head = self.head();
        while self.items.get(head).is_some_and(&mut goes) {
            head += 1;
        }
        if head == self.head() {
            return;
        }
        self.head = head as u32;
        if head >= self.items.len() {
            self.items.clear();
            self.head = 0;
        } else if 2 * head >= self.items.len() + SLACK {
            self.reclaim();
        }
    }

    /// Moves the contents to the start: at most as many items as were taken since the last time.
    #[inline(never)]
    fn reclaim(&mut self) {
        self.items.drain(..self.head as usize);
        self.head = 0;
    }

    /// The item at `index` from the front.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&T> {
        self.items.get(self.head() + index)
    }

    /// The number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len() - self.head()
    }

    /// Whether there is no item.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    #[test]
    fn a_queue_that_is_pushed_to_closely_stays_short() {
        let mut fifo = Fifo::default();
        for item in 0..1000 {
            fifo.push_back_sparingly(item);
            if item >= 3 {
                assert_eq!(fifo.pop_front(), Some(item - 3));
            }
        }
        assert!(fifo.items.capacity() <= 8, "{}", fifo.items.capacity());
    }

    proptest! {
        #[test]
        fn does_what_a_deque_does_in_less_memory(pushes in prop::collection::vec(0u8..8, 1..400)) {
            let (mut fifo, mut deque) = (Fifo::default(), VecDeque::new());
            for (i, push) in pushes.into_iter().enumerate() {
                if push < 4 {
                    match push {
                        0 => fifo.push_back(i),
                        1 => fifo.push_back_sparingly(i),
                        _ => *fifo.push_back_mut(0) = i,
                    }
                    deque.push_back(i);
                } else if push == 4 {
                    prop_assert_eq!(fifo.pop_front(), deque.pop_front());
                } else if push == 5 {
                    prop_assert_eq!(fifo.pop_back(), deque.pop_back());
                } else if push == 6 {
                    let goes = |item: &usize| !item.is_multiple_of(5);
                    fifo.drop_while(goes);
                    while deque.front().is_some_and(goes) {
                        deque.pop_front();
                    }
                } else {
                    deque.pop_front();
                    prop_assert_eq!(fifo.drop_front(), deque.front());
                }
                prop_assert_eq!(fifo.front(), deque.front());
                prop_assert_eq!(fifo.get(2), deque.get(2));
                prop_assert_eq!(fifo.len(), deque.len());
                prop_assert_eq!(fifo.is_empty(), deque.is_empty());
                prop_assert!(fifo.head() < 3 * SLACK + fifo.len());
            }
        }
    }
}
