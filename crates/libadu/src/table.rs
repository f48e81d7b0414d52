// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who has written how much: the table of writers, one slot for each descriptor.
//!
//! A *writer* is one process's hold of one connection through one descriptor. Its slot holds the socket's cookie, the
//! connection, the writer's name and its total. A slot is taken over when its descriptor turns out to be another socket;
//! the new writer has a new name, and so nothing is ever added to a stranger's total. Descriptors that are [`SLOTS`] apart
//! share a slot, and take it from each other: more names, the same sums.
//!
//! Nobody waits: a writer may be a signal handler that has interrupted another at any instruction. The word of a slot
//! has its total, its state and its generation, and changes by compare-and-swap only, so that a total changes only
//! if the slot is still the same writer's. The word is also the lock of a seqlock: what was read of the other fields holds
//! if the word is the same after it. Who finds a slot while it is being filled is told so ([`Entry::Busy`]), and reports
//! under a name of its own.

use core::net::{Ipv4Addr, SocketAddrV4};
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64, fence};

use crate::socket::Connection;

/// Slots of the table, a power of two.
pub const SLOTS: usize = 1 << 16;

/// Bits of the total in a slot's word: 281 TB. Beyond them the slot is taken over under a new name.
const TOTAL_BITS: u32 = 48;
const TOTAL: u64 = (1 << TOTAL_BITS) - 1;
/// Being filled. (Zero is nobody's: so the kernel leaves it in a forked child.)
const FILLING: u64 = 1 << TOTAL_BITS;
/// A writer's.
const OPEN: u64 = 2 << TOTAL_BITS;
/// A writer's that will write no more.
const CLOSED: u64 = 3 << TOTAL_BITS;
/// Of a socket that is not accounted.
const OTHER: u64 = 4 << TOTAL_BITS;
const STATE: u64 = 7 << TOTAL_BITS;
const GENERATION_ONE: u64 = 8 << TOTAL_BITS;
const GENERATION: u64 = !(TOTAL | STATE);

/// One descriptor's slot; alone on its cache line, since threads write on neighbouring descriptors.
#[derive(Default)]
#[repr(align(64))]
pub struct Slot {
    word: AtomicU64,
    cookie: AtomicU64,
    name: AtomicU64,
    /// Source and destination address.
    hosts: AtomicU64,
    /// Source and destination port.
    ports: AtomicU32,
}

/// All slots, and the next name. All zeroes is an empty table.
pub struct Table {
    next_name: AtomicU64,
    slots: [Slot; SLOTS],
}

/// A writer as its slot held it at one instant.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    slot: &'a Slot,
    generation: u64,
    pub name: u64,
    pub connection: Connection,
    pub total: u64,
    pub closed: bool,
}

/// What a slot says to a write.
pub enum Entry<'a> {
    /// Added.
    Counted(Writer<'a>),
    /// The socket is not accounted.
    NotAccounted,
    /// It has to be looked up, and the slot taken over from what it is now.
    Unknown(Takeover<'a>),
    /// Somebody else fills it just now.
    Busy,
}

/// The right to take a slot over, if nobody changes it first.
pub struct Takeover<'a> {
    slot: &'a Slot,
    word: u64,
}

impl Table {
    /// The slot of a descriptor.
    pub fn slot(&self, fd: i32) -> &Slot {
        &self.slots[fd as usize % SLOTS]
    }

    /// A name that no writer had before. 22 bits are the process's number, the rest counts from the time in microseconds at which the
    /// process took its first name: so that also a later process of the same number has others.
    pub fn name(&self, process: impl FnOnce() -> u32, micros: impl FnOnce() -> u64) -> u64 {
        if self.next_name.load(Relaxed) == 0 {
            let first = u64::from(process()) << 42 | micros() & ((1 << 41) - 1);
            // Another thread may have been first: its name serves as well.
            let _ = self.next_name.compare_exchange(0, first, Relaxed, Relaxed);
        }
        self.next_name.fetch_add(1, Relaxed)
    }

    /// The process that took the first name, if any did.
    pub fn process(&self) -> Option<u32> {
        match self.next_name.load(Relaxed) {
            0 => None,
            name => Some((name >> 42) as u32),
        }
    }
}

impl Slot {
    /// Adds `bytes` for the socket `cookie`.
    pub fn add(&self, cookie: u64, bytes: u64) -> Entry<'_> {
        loop {
            let word = self.word.load(Acquire);
            if word & STATE == FILLING {
                return Entry::Busy;
            }
            let takeover = Takeover { slot: self, word };
            if self.cookie.load(Relaxed) != cookie {
                return Entry::Unknown(takeover);
            }
            match word & STATE {
                OPEN if (word & TOTAL) + bytes <= TOTAL => {
                    let writer = self.writer(word + bytes);
                    fence(Acquire);
                    if self.swap(word, word + bytes) {
                        return Entry::Counted(writer);
                    }
                }
                OTHER => {
                    fence(Acquire);
                    if self.word.load(Relaxed) == word {
                        return Entry::NotAccounted;
                    }
                }
                _ => return Entry::Unknown(takeover),
            }
        }
    }

    /// The slot's writer will write no more. None if it is nobody's, or was closed before.
    pub fn close(&self) -> Option<Writer<'_>> {
        loop {
            let word = self.word.load(Acquire);
            if word & STATE != OPEN {
                return None;
            }
            let closed = word & !STATE | CLOSED;
            let writer = self.writer(closed);
            fence(Acquire);
            if self.swap(word, closed) {
                return Some(writer);
            }
        }
    }

    /// Whether the slot is a writer's that may write more.
    pub fn is_open(&self) -> bool {
        self.word.load(Relaxed) & STATE == OPEN
    }

    /// Leaves the slot as one that is being filled.
    #[cfg(test)]
    pub fn fill(&self) {
        self.word.store(FILLING, Release);
    }

    fn swap(&self, from: u64, to: u64) -> bool {
        self.word
            .compare_exchange(from, to, AcqRel, Relaxed)
            .is_ok()
    }

    /// The fields together with `word`; they belong together if the word is still the same after it.
    fn writer(&self, word: u64) -> Writer<'_> {
        let hosts = self.hosts.load(Relaxed);
        let ports = self.ports.load(Relaxed);
        let end = |host: u32, port: u16| SocketAddrV4::new(Ipv4Addr::from(host), port);
        Writer {
            slot: self,
            generation: word & GENERATION,
            name: self.name.load(Relaxed),
            connection: Connection {
                src: end((hosts >> 32) as u32, (ports >> 16) as u16),
                dst: end(hosts as u32, ports as u16),
            },
            total: word & TOTAL,
            closed: word & STATE == CLOSED,
        }
    }
}

impl<'a> Takeover<'a> {
    /// Gives the slot to a writer `name` with its first `bytes` on `connection`; without one, notes that the socket is not
    /// accounted. Returns the new writer and the one that had the slot and was not closed, which is the past now. None if
    /// somebody else was faster.
    pub fn take(
        self,
        cookie: u64,
        connection: Option<Connection>,
        name: u64,
        bytes: u64,
    ) -> Option<(Writer<'a>, Option<Writer<'a>>)> {
        let slot = self.slot;
        let past = (self.word & STATE == OPEN).then(|| slot.writer(self.word & !STATE | CLOSED));
        fence(Acquire);
        let generation = (self.word & GENERATION).wrapping_add(GENERATION_ONE);
        if !slot.swap(self.word, generation | FILLING) {
            return None;
        }
        // Whoever sees one of the fields below sees FILLING too.
        fence(Release);
        slot.cookie.store(cookie, Relaxed);
        slot.name.store(name, Relaxed);
        if let Some(Connection { src, dst }) = connection {
            let hosts = u64::from(src.ip().to_bits()) << 32 | u64::from(dst.ip().to_bits());
            slot.hosts.store(hosts, Relaxed);
            let ports = u32::from(src.port()) << 16 | u32::from(dst.port());
            slot.ports.store(ports, Relaxed);
        }
        let state = if connection.is_some() { OPEN } else { OTHER };
        let word = generation | state | bytes & TOTAL;
        let writer = slot.writer(word);
        slot.word.store(word, Release);
        Some((writer, past))
    }
}

impl<'a> Writer<'a> {
    /// Takes back `bytes` that were added before. None if the slot has been taken over: the writer is past.
    pub fn take_back(self, bytes: u64) -> Option<Writer<'a>> {
        let mut word = self.slot.word.load(Acquire);
        while self.is_at(word) {
            let less = word - bytes.min(word & TOTAL);
            match self.slot.word.compare_exchange(word, less, AcqRel, Acquire) {
                Ok(_) => return Some(self.at(less)),
                Err(now) => word = now,
            }
        }
        None
    }

    /// The writer as it is now, if that differs from what it was.
    pub fn changed(self) -> Option<Writer<'a>> {
        let word = self.slot.word.load(Acquire);
        let now = self.at(word);
        (self.is_at(word) && (now.total, now.closed) != (self.total, self.closed)).then_some(now)
    }

    /// Whether `word` is this writer's. Generations come round; names do not.
    fn is_at(&self, word: u64) -> bool {
        let same = word & GENERATION == self.generation
            && matches!(word & STATE, OPEN | CLOSED)
            && self.slot.name.load(Relaxed) == self.name;
        fence(Acquire);
        same
    }

    fn at(self, word: u64) -> Writer<'a> {
        Writer {
            total: word & TOTAL,
            closed: word & STATE == CLOSED,
            ..self
        }
    }
}

/// An empty table, for tests.
#[cfg(test)]
pub fn empty() -> Box<Table> {
    let layout = std::alloc::Layout::new::<Table>();
    // SAFETY: the memory is a box's, and zeroes are an empty table.
    unsafe { Box::from_raw(std::alloc::alloc_zeroed(layout).cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    /// The connection of a cookie: every part of it says which.
    fn connection(cookie: u64) -> Connection {
        let end = |part: u64| {
            let number = cookie as u32 * 10 + part as u32;
            SocketAddrV4::new(Ipv4Addr::from(number), number as u16)
        };
        Connection {
            src: end(1),
            dst: end(2),
        }
    }

    /// Adds, and takes the slot over if it must: as the library does.
    fn add(
        slot: &Slot,
        cookie: u64,
        bytes: u64,
        name: u64,
    ) -> (Option<Writer<'_>>, Option<Writer<'_>>) {
        loop {
            match slot.add(cookie, bytes) {
                Entry::Counted(writer) => return (Some(writer), None),
                Entry::Busy => return (None, None),
                Entry::NotAccounted => panic!("all are accounted"),
                Entry::Unknown(takeover) => {
                    if let Some((writer, past)) =
                        takeover.take(cookie, Some(connection(cookie)), name, bytes)
                    {
                        return (Some(writer), past);
                    }
                }
            }
        }
    }

    #[test]
    fn a_total_grows_and_falls() {
        let slot = Slot::default();
        assert!(!slot.is_open() && slot.close().is_none());
        let (writer, past) = add(&slot, 7, 100, 1);
        assert!(past.is_none());
        let first = writer.expect("nobody else is there");
        let second = add(&slot, 7, 50, 2).0.expect("nobody else is there");
        assert_eq!(
            (second.name, second.total, second.connection),
            (1, 150, connection(7))
        );
        assert_eq!(first.changed().map(|writer| writer.total), Some(150));
        assert!(second.changed().is_none());
        assert_eq!(first.take_back(30).map(|writer| writer.total), Some(120));
        let closed = slot.close().expect("open");
        assert_eq!(
            (closed.total, closed.closed, slot.is_open()),
            (120, true, false)
        );
        let late = second.take_back(20).expect("still the same writer");
        assert_eq!((late.total, late.closed), (100, true));
    }

    #[test]
    fn another_socket_takes_the_slot_over() {
        let slot = Slot::default();
        let first = add(&slot, 7, 100, 1).0.expect("nobody else is there");
        let (second, past) = add(&slot, 8, 5, 2);
        let past = past.expect("the first was open");
        assert_eq!(
            (past.name, past.total, past.closed, past.connection),
            (1, 100, true, connection(7))
        );
        assert_eq!(
            second.map(|writer| (writer.name, writer.total)),
            Some((2, 5))
        );
        assert!(first.take_back(100).is_none() && first.changed().is_none());
        assert_eq!(
            slot.close().map(|writer| writer.total),
            Some(5),
            "nothing was taken from the second"
        );
        let (third, past) = add(&slot, 8, 1, 3);
        assert!(past.is_none(), "it was closed before");
        assert_eq!(
            third.map(|writer| (writer.name, writer.total)),
            Some((3, 1)),
            "the same socket after a close"
        );
    }

    #[test]
    fn a_late_correction_finds_another_name_when_generations_have_come_round() {
        let slot = Slot::default();
        let first = add(&slot, 1, 100, 1).0.expect("nobody else is there");
        let generations = u64::MAX / GENERATION_ONE + 1;
        for at in 1..=generations {
            add(&slot, 1 + at % 2, 100, 1 + at);
        }
        assert!(first.take_back(50).is_none());
        assert_eq!(slot.close().map(|writer| writer.total), Some(100));
    }

    #[test]
    fn nobody_waits_for_a_slot_that_is_being_filled() {
        let slot = Slot::default();
        slot.fill();
        assert!(matches!(slot.add(7, 1), Entry::Busy));
        assert!(!slot.is_open() && slot.close().is_none());
    }

    #[test]
    fn a_socket_that_is_not_accounted_is_remembered() {
        let slot = Slot::default();
        let Entry::Unknown(takeover) = slot.add(9, 10) else {
            panic!("a new socket")
        };
        assert!(takeover.take(9, None, 0, 10).is_some());
        assert!(matches!(slot.add(9, 10), Entry::NotAccounted));
        assert!(!slot.is_open() && slot.close().is_none());
        let (_, past) = add(&slot, 7, 1, 1);
        assert!(past.is_none(), "it was no writer");
    }

    #[test]
    fn a_total_beyond_its_bits_goes_on_under_another_name() {
        let slot = Slot::default();
        add(&slot, 7, TOTAL - 10, 1);
        let (writer, past) = add(&slot, 7, 11, 2);
        assert_eq!(
            past.map(|writer| (writer.name, writer.total)),
            Some((1, TOTAL - 10))
        );
        assert_eq!(
            writer.map(|writer| (writer.name, writer.total)),
            Some((2, 11))
        );
    }

    #[test]
    fn names_are_of_the_process_and_its_time() {
        let table = empty();
        assert_eq!(table.process(), None);
        let names = [0, 1].map(|_| table.name(|| 4_194_303, || u64::MAX));
        assert_eq!(
            names,
            [
                (4_194_303 << 42) + (1 << 41) - 1,
                (4_194_303 << 42) + (1 << 41)
            ]
        );
        assert_eq!(table.process(), Some(4_194_303));
        assert!(std::ptr::eq(table.slot(5), table.slot(5 + SLOTS as i32)));
    }

    type Sums = BTreeMap<u64, i64>;

    /// What one thread does to a slot. By connection: what it added and did not take back, and what ended in its sight.
    fn disturb(slot: &Slot, name: &AtomicU64, thread: u64) -> (Sums, Sums) {
        let mut random = thread + 1;
        let mut next = |below: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % below
        };
        let whole = |writer: &Writer<'_>| {
            let cookie = u64::from(writer.connection.src.port() / 10);
            assert_eq!(writer.connection, connection(cookie));
            cookie
        };
        let (mut added, mut ended) = (Sums::new(), Sums::new());
        for _ in 0..100_000 {
            let (cookie, bytes) = (1 + next(20) / 19, 2 + next(1000));
            let (writer, past) = add(slot, cookie, bytes, name.fetch_add(1, Relaxed));
            *added.entry(cookie).or_insert(0) += bytes as i64;
            if let Some(past) = past {
                *ended.entry(whole(&past)).or_insert(0) += past.total as i64;
            }
            let Some(writer) = writer else {
                *ended.entry(cookie).or_insert(0) += bytes as i64;
                continue;
            };
            assert_eq!(whole(&writer), cookie);
            let back = (next(3) == 0).then(|| writer.take_back(bytes / 2));
            if let Some(now) = back.flatten() {
                *added.entry(cookie).or_insert(0) -= (bytes / 2) as i64;
                if now.closed {
                    *ended.entry(cookie).or_insert(0) -= (bytes / 2) as i64;
                }
            }
            let close = next(50) == 0;
            if let Some(closed) = close.then(|| slot.close()).flatten() {
                *ended.entry(whole(&closed)).or_insert(0) += closed.total as i64;
            }
        }
        (added, ended)
    }

    /// Threads write, correct, close and take over one slot at once. Whatever the order: of each connection, what its writers
    /// had in the end is what was added and not taken back, and no writer is seen with parts of another.
    #[test]
    fn nothing_is_lost_between_threads() {
        let slot = Slot::default();
        let name = AtomicU64::new(1);
        let sums = Mutex::new((Sums::new(), Sums::new()));
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (slot, name, sums) = (&slot, &name, &sums);
                scope.spawn(move || {
                    let (added, ended) = disturb(slot, name, thread);
                    let mut sums = sums.lock().expect("no thread failed");
                    for (cookie, sum) in added {
                        *sums.0.entry(cookie).or_insert(0) += sum;
                    }
                    for (cookie, sum) in ended {
                        *sums.1.entry(cookie).or_insert(0) += sum;
                    }
                });
            }
        });
        let (added, mut ended) = sums.into_inner().expect("no thread failed");
        if let Some(last) = slot.close() {
            *ended
                .entry(u64::from(last.connection.src.port() / 10))
                .or_insert(0) += last.total as i64;
        }
        assert_eq!(ended, added);
    }
}
