// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets inside a network, and the queues that they stand in.
//!
//! All packets live in one pool and never move; queues are linked lists through it. So a queue takes twelve bytes even
//! where there are N^2 of them, moving a packet is two writes, and nothing is allocated once the pool has grown.

use alloc::vec::Vec;

/// A packet's place in the pool.
pub type PacketId = u32;

/// No packet.
const NONE: PacketId = PacketId::MAX;

#[derive(Debug)]
struct Slot<T> {
    entry: T,
    /// The next packet of the same queue, or the next free slot.
    next: PacketId,
}

/// All packets inside a network: what it knows of each.
#[derive(Debug)]
pub struct Pool<T> {
    slots: Vec<Slot<T>>,
    free: PacketId,
}

impl<T: Copy> Default for Pool<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Pool<T> {
    /// A pool without packets.
    #[must_use]
    pub const fn new() -> Pool<T> {
        Pool {
            slots: Vec::new(),
            free: NONE,
        }
    }

    /// Number of packets in the pool, which are counted for that.
    #[must_use]
    pub fn used(&self) -> usize {
        let free = |&id: &PacketId| self.slots.get(id as usize).map(|slot| slot.next);
        let unused = core::iter::successors(Some(self.free), free).skip(1);
        self.slots.len() - unused.count()
    }

    /// Gives a packet a place.
    #[inline]
    pub fn insert(&mut self, entry: T) -> PacketId {
        let id = self.free;
        match self.slots.get_mut(id as usize) {
            Some(slot) => {
                self.free = slot.next;
                slot.entry = entry;
                id
            }
            None => {
                // Not by a call, for which each entry would be put into memory first.
                self.slots.push(Slot { entry, next: NONE });
                self.slots.len() as PacketId - 1
            }
        }
    }

    /// A packet's place may be used again.
    #[inline]
    pub fn remove(&mut self, id: PacketId) -> T {
        let slot = &mut self.slots[id as usize];
        slot.next = self.free;
        self.free = id;
        slot.entry
    }

    /// What is known of a packet.
    #[must_use]
    #[inline]
    pub fn get(&self, id: PacketId) -> &T {
        &self.slots[id as usize].entry
    }

    /// The same, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut T {
        &mut self.slots[id as usize].entry
    }
}

impl<T> Pool<T> {
    /// All places, also those of no packet.
    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().map(|slot| &mut slot.entry)
    }
}

/// A first-in first-out queue of packets of the pool.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    head: PacketId,
    tail: PacketId,
    len: u32,
}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

impl Queue {
    /// A queue without packets.
    #[must_use]
    pub const fn new() -> Queue {
        Queue {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    /// How many packets there are.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest packet.
    #[must_use]
    #[inline]
    pub const fn front(&self) -> Option<PacketId> {
        if self.len == 0 { None } else { Some(self.head) }
    }

    /// The newest packet.
    #[must_use]
    #[inline]
    pub const fn back(&self) -> Option<PacketId> {
        if self.len == 0 { None } else { Some(self.tail) }
    }

    /// Adds a packet. Whatever the packet has as its next one: the last of a queue needs none.
    #[inline]
    pub fn push<T>(&mut self, pool: &mut Pool<T>, id: PacketId) {
        if self.len == 0 {
            self.head = id;
        } else {
            pool.slots[self.tail as usize].next = id;
        }
        self.tail = id;
        self.len += 1;
    }

    /// Takes the oldest packet.
    #[inline]
    pub fn pop<T>(&mut self, pool: &Pool<T>) -> Option<PacketId> {
        self.take(pool).map(|(id, _)| id)
    }

    /// As [`Queue::pop`], with what is known of the packet.
    #[inline]
    pub fn take<'a, T>(&mut self, pool: &'a Pool<T>) -> Option<(PacketId, &'a T)> {
        let id = self.front()?;
        let slot = &pool.slots[id as usize];
        self.head = slot.next;
        self.len -= 1;
        Some((id, &slot.entry))
    }

    /// Keeps the `keep` oldest packets and returns the rest.
    pub fn split_off<T>(&mut self, pool: &Pool<T>, keep: u32) -> Queue {
        if keep >= self.len {
            return Queue::new();
        }
        if keep == 0 {
            return core::mem::take(self);
        }
        let mut last = self.head;
        for _ in 1..keep {
            last = pool.slots[last as usize].next;
        }
        let rest = Queue {
            head: pool.slots[last as usize].next,
            tail: self.tail,
            len: self.len - keep,
        };
        self.tail = last;
        self.len = keep;
        rest
    }
}

/// The packets on a link, in order: as a [`Queue`] of which nobody asks how long it is.
#[derive(Debug)]
pub struct Line {
    /// [`NONE`] if there is no packet.
    first: PacketId,
    last: PacketId,
}

impl Default for Line {
    fn default() -> Self {
        Self::new()
    }
}

impl Line {
    /// A line without packets.
    #[must_use]
    pub const fn new() -> Line {
        Line {
            first: NONE,
            last: NONE,
        }
    }

    /// Adds a packet. Returns whether there was none before.
    #[inline]
    pub fn push<T>(&mut self, pool: &mut Pool<T>, id: PacketId) -> bool {
        let was_empty = self.first == NONE;
        if was_empty {
            self.first = id;
        } else {
            pool.slots[self.last as usize].next = id;
        }
        self.last = id;
        was_empty
    }

    /// Whether there is no packet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// The first packet, which there must be, and what is known of the one behind it.
    #[inline]
    pub fn pop<'a, T>(&mut self, pool: &'a Pool<T>) -> (PacketId, Option<&'a T>) {
        let id = self.first;
        if id == self.last {
            self.first = NONE;
            return (id, None);
        }
        self.first = pool.slots[id as usize].next;
        (id, Some(&pool.slots[self.first as usize].entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(queue: &mut Queue, pool: &mut Pool<u32>) -> Vec<u32> {
        let mut handles = Vec::new();
        while let Some(id) = queue.pop(pool) {
            handles.push(pool.remove(id));
        }
        handles
    }

    #[test]
    fn splitting_keeps_the_oldest() {
        for keep in 0..7 {
            let mut pool = Pool::new();
            let mut queue = Queue::new();
            for n in 0..5 {
                let id = pool.insert(n);
                queue.push(&mut pool, id);
            }
            let mut rest = queue.split_off(&pool, keep);
            let id = pool.insert(9);
            queue.push(&mut pool, id);
            let kept = keep.min(5);
            let expected: Vec<u32> = (0..kept).chain([9]).collect();
            assert_eq!(drain(&mut queue, &mut pool), expected);
            assert_eq!(drain(&mut rest, &mut pool), (kept..5).collect::<Vec<_>>());
            assert_eq!(pool.used(), 0);
        }
    }

    #[test]
    fn slots_are_used_again() {
        let mut pool = Pool::new();
        let first = pool.insert(1);
        let second = pool.insert(2);
        pool.remove(first);
        assert_eq!(pool.insert(3), first);
        assert_eq!(*pool.get(second), 2);
        assert_eq!(pool.slots.len(), 2);
    }
}
