//! Packets inside the switch, and the queues that they stand in.
//!
//! All packets live in one pool and never move; queues are linked lists through it. So a queue takes twelve bytes even
//! where there are N^2 of them, moving a packet is two writes, and nothing is allocated once the pool has grown.

use alloc::vec::Vec;

use etalon_units::Time;

use crate::Packet;
use crate::event_queue::Pending;

/// A packet's place in the pool.
pub(crate) type PacketId = u32;

/// No packet.
const NONE: PacketId = PacketId::MAX;

/// What the switch knows of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<H> {
    pub(crate) packet: Packet<H>,
    /// When it entered the switch.
    pub(crate) entered: Time,
    /// That it reaches the far end of the link that it is on.
    pub(crate) arrives: Pending,
    /// Marked CE by the switch.
    pub(crate) ce: bool,
}

#[derive(Debug)]
struct Slot<H> {
    entry: Entry<H>,
    /// The next packet of the same queue, or the next free slot.
    next: PacketId,
}

/// All packets inside the switch.
#[derive(Debug)]
pub(crate) struct Pool<H> {
    slots: Vec<Slot<H>>,
    free: PacketId,
}

impl<H: Copy> Pool<H> {
    pub(crate) const fn new() -> Pool<H> {
        Pool {
            slots: Vec::new(),
            free: NONE,
        }
    }

    /// Number of packets in the pool, which are counted for that.
    pub(crate) fn used(&self) -> usize {
        let free = |&id: &PacketId| self.slots.get(id as usize).map(|slot| slot.next);
        let unused = core::iter::successors(Some(self.free), free).skip(1);
        self.slots.len() - unused.count()
    }

    pub(crate) fn insert(&mut self, entry: Entry<H>) -> PacketId {
        let id = self.free;
        match self.slots.get_mut(id as usize) {
            Some(slot) => {
                self.free = slot.next;
                slot.entry = entry;
                id
            }
            None => self.grow(entry),
        }
    }

    /// Puts a packet into a new slot, as none is free.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, entry: Entry<H>) -> PacketId {
        let id = self.slots.len() as PacketId;
        self.slots.push(Slot { entry, next: NONE });
        id
    }

    pub(crate) fn remove(&mut self, id: PacketId) -> Entry<H> {
        let slot = &mut self.slots[id as usize];
        slot.next = self.free;
        self.free = id;
        slot.entry
    }

    #[inline]
    pub(crate) fn get(&self, id: PacketId) -> &Entry<H> {
        &self.slots[id as usize].entry
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, id: PacketId) -> &mut Entry<H> {
        &mut self.slots[id as usize].entry
    }
}

/// A first-in first-out queue of packets of the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    head: PacketId,
    tail: PacketId,
    len: u32,
}

impl Queue {
    pub(crate) const fn new() -> Queue {
        Queue {
            head: NONE,
            tail: NONE,
            len: 0,
        }
    }

    #[inline]
    pub(crate) const fn len(&self) -> u32 {
        self.len
    }

    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The oldest packet.
    #[inline]
    pub(crate) const fn front(&self) -> Option<PacketId> {
        if self.len == 0 { None } else { Some(self.head) }
    }

    /// Whatever the packet has as its next one: the last of a queue needs none.
    #[inline]
    pub(crate) fn push<H>(&mut self, pool: &mut Pool<H>, id: PacketId) {
        if self.len == 0 {
            self.head = id;
        } else {
            pool.slots[self.tail as usize].next = id;
        }
        self.tail = id;
        self.len += 1;
    }

    #[inline]
    pub(crate) fn pop<H>(&mut self, pool: &Pool<H>) -> Option<PacketId> {
        self.take(pool).map(|(id, _)| id)
    }

    /// As [`Queue::pop`], with what is known of the packet.
    #[inline]
    pub(crate) fn take<'a, H>(&mut self, pool: &'a Pool<H>) -> Option<(PacketId, &'a Entry<H>)> {
        let id = self.front()?;
        let slot = &pool.slots[id as usize];
        self.head = slot.next;
        self.len -= 1;
        Some((id, &slot.entry))
    }

    /// Keeps the `keep` oldest packets and returns the rest.
    pub(crate) fn split_off<H>(&mut self, pool: &Pool<H>, keep: u32) -> Queue {
        if keep >= self.len {
            return Queue::new();
        }
        if keep == 0 {
            return core::mem::replace(self, Queue::new());
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
pub(crate) struct Line {
    /// [`NONE`] if there is no packet.
    first: PacketId,
    last: PacketId,
}

impl Line {
    pub(crate) const fn new() -> Line {
        Line {
            first: NONE,
            last: NONE,
        }
    }

    /// Whether it had no packet before.
    #[inline]
    pub(crate) fn push<H>(&mut self, pool: &mut Pool<H>, id: PacketId) -> bool {
        let was_empty = self.first == NONE;
        if was_empty {
            self.first = id;
        } else {
            pool.slots[self.last as usize].next = id;
        }
        self.last = id;
        was_empty
    }

    /// The first packet, which there must be, and what is known of the one behind it.
    #[inline]
    pub(crate) fn pop<'a, H>(&mut self, pool: &'a Pool<H>) -> (PacketId, Option<&'a Entry<H>>) {
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
    use crate::HostId;

    fn packet(handle: u32) -> Entry<u32> {
        Entry {
            packet: Packet {
                handle,
                src: HostId::default(),
                dst: HostId::default(),
                bytes: 1,
            },
            entered: Time::ZERO,
            arrives: Pending::NONE,
            ce: false,
        }
    }

    fn drain(queue: &mut Queue, pool: &mut Pool<u32>) -> Vec<u32> {
        let mut handles = Vec::new();
        while let Some(id) = queue.pop(pool) {
            handles.push(pool.remove(id).packet.handle);
        }
        handles
    }

    #[test]
    fn splitting_keeps_the_oldest() {
        for keep in 0..7 {
            let mut pool = Pool::new();
            let mut queue = Queue::new();
            for n in 0..5 {
                let id = pool.insert(packet(n));
                queue.push(&mut pool, id);
            }
            let mut rest = queue.split_off(&pool, keep);
            let id = pool.insert(packet(9));
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
        let first = pool.insert(packet(1));
        let second = pool.insert(packet(2));
        pool.remove(first);
        assert_eq!(pool.insert(packet(3)), first);
        assert_eq!(pool.get(second).packet.handle, 2);
        assert_eq!(pool.slots.len(), 2);
    }
}
