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

    fn is_at(&self, word: u64) -> bool {
        word & GENERATION == self.generation && matches!(word & STATE, OPEN | CLOSED)
    }

    fn at(self, word: u64) -> Writer<'a> {
        Writer {
            total: word & TOTAL,
            closed: word & STATE == CLOSED,
            ..self
        }
    }
}
