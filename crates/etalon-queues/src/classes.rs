// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue with lists for classes of traffic: what goes first, what fits, and what becomes of the rest.

use alloc::vec::Vec;

use etalon_scenario::{Class, Count, Full, Limit, MOST_LISTS};

use crate::{PacketId, Pool, Queue};

/// What the lists of a queue hold; many queues are alike.
///
/// Lists are in the order in which they are served: class by class, and of a class that trims the headers before the packets
/// with payload.
#[derive(Clone, Debug)]
pub struct Lists {
    classes: Vec<Of>,
    /// By list: how many of its packets go before one of the next list has its turn, where that is the same class's; zero for all.
    turns: [u16; MOST_LISTS],
}

/// A class's lists.
#[derive(Clone, Copy, Debug)]
struct Of {
    limit: Limit,
    headers: Option<u8>,
    packets: u8,
    /// What is so short waits with headers; zero where nothing does.
    header_bytes: u32,
    /// What is no longer than this fits into an empty list of headers, or of packets.
    most_alone: [u64; 2],
    /// What is longer is marked in an empty list.
    marks_alone: u64,
}

impl Of {
    fn new(limit: Limit, headers: Option<u8>, packets: u8) -> Of {
        let (header_bytes, header_room) = match limit.full {
            Full::Trim(trim) => (trim.header_bytes.into(), trim.room_bytes),
            Full::Drop | Full::Return => (0, 0),
        };
        let (room, marks) = (
            limit.room.unwrap_or(u64::MAX),
            limit.mark_above.unwrap_or(u64::MAX),
        );
        let of_one = |packets: u64| if packets > 0 { u64::MAX } else { 0 };
        let (alone, marks_alone) = match limit.count {
            Count::Packets => (of_one(room), of_one(marks)),
            Count::Bytes => (room, marks),
        };
        Of {
            limit,
            headers,
            packets,
            header_bytes,
            most_alone: [header_room, alone],
            marks_alone,
        }
    }
}

/// What becomes of a packet that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// It joins this list.
    Fits(usize),
    /// There is no room for it, but there may be for its header.
    Trim,
    /// It goes back to its sender.
    Return,
    /// It is dropped.
    Drop,
}

impl Lists {
    /// Of these classes, by number, of which the network has checked that they have no more than [`MOST_LISTS`] lists.
    #[must_use]
    pub fn new(limits: impl IntoIterator<Item = Limit>) -> Lists {
        let (mut classes, mut turns, mut next) = (Vec::new(), [0; MOST_LISTS], 0);
        for limit in limits {
            let headers = match limit.full {
                Full::Trim(trim) => {
                    turns[usize::from(next)] = trim.headers_per_packet;
                    next += 1;
                    Some(next - 1)
                }
                Full::Drop | Full::Return => None,
            };
            classes.push(Of::new(limit, headers, next));
            next += 1;
        }
        Lists { classes, turns }
    }

    #[inline]
    fn of(&self, class: Class) -> &Of {
        &self.classes[class.index().min(self.classes.len() - 1)]
    }

    /// The list that a packet of so many bytes joins that finds an empty queue, in which it fits, and whether it is marked there.
    #[must_use]
    #[inline]
    pub fn alone(&self, class: Class, bytes: u32) -> Option<(usize, bool)> {
        let of = self.of(class);
        let (list, most) = match of.headers {
            Some(headers) if bytes <= of.header_bytes => (headers, of.most_alone[0]),
            _ => (of.packets, of.most_alone[1]),
        };
        let bytes = u64::from(bytes);
        (bytes <= most).then_some((list.into(), bytes > of.marks_alone))
    }

    /// Whether a list is one of the two of a class that trims.
    #[inline]
    fn takes_turns(&self, list: usize) -> bool {
        self.turns[list] > 0 || list > 0 && self.turns[list - 1] > 0
    }

    /// The list of a class's packets with payload, which are what is trimmed.
    #[must_use]
    pub fn packets(&self, class: Class) -> usize {
        self.of(class).packets.into()
    }

    /// What a class holds.
    #[must_use]
    pub fn limit(&self, class: Class) -> &Limit {
        &self.of(class).limit
    }
}

/// One queue. What a packet looks at that finds it empty comes first: it is less than a line of a cache.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Classes {
    waiting: u32,
    /// Bytes of what is in transmission, and its list; [`NONE`] if nothing is, or it counts here no more.
    sending_bytes: u32,
    sending: u8,
    /// Headers that went since a packet with payload of the same class waited.
    turn: u16,
    waiting_bytes: u64,
    lists: [Queue; MOST_LISTS],
    /// Bytes that wait in each list.
    bytes: [u64; MOST_LISTS],
}

/// No list.
const NONE: u8 = u8::MAX;

impl Default for Classes {
    fn default() -> Classes {
        Classes::new()
    }
}

impl Classes {
    /// An empty queue.
    #[must_use]
    pub const fn new() -> Classes {
        Classes {
            waiting: 0,
            sending_bytes: 0,
            sending: NONE,
            turn: 0,
            waiting_bytes: 0,
            lists: [Queue::new(); MOST_LISTS],
            bytes: [0; MOST_LISTS],
        }
    }

    /// Packets that wait, of all classes; what is in transmission does not.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> u32 {
        self.waiting
    }

    /// Bytes that wait.
    #[must_use]
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Whether nothing waits.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Packets of a list and their bytes, with what is in transmission.
    #[inline]
    fn count(&self, list: usize) -> (u32, u64) {
        let (mut packets, mut bytes) = (0, 0);
        if self.waiting > 0 {
            (packets, bytes) = (self.lists[list].len(), self.bytes[list]);
        }
        if usize::from(self.sending) == list {
            packets += 1;
            bytes += u64::from(self.sending_bytes);
        }
        (packets, bytes)
    }

    /// What becomes of a packet of so many bytes. One that is as short as a header of its class waits with those.
    #[must_use]
    #[inline]
    pub fn room(&self, lists: &Lists, class: Class, bytes: u32) -> Room {
        let Of {
            limit,
            headers,
            packets,
            ..
        } = *lists.of(class);
        if let (Some(list), Full::Trim(trim)) = (headers, limit.full) {
            if bytes <= u32::from(trim.header_bytes) {
                let list = usize::from(list);
                let fits = self.count(list).1 + u64::from(bytes) <= trim.room_bytes;
                return match (fits, trim.returns) {
                    (true, _) => Room::Fits(list),
                    (false, true) => Room::Return,
                    (false, false) => Room::Drop,
                };
            }
        }
        let list = usize::from(packets);
        let held = self.count(list);
        let with_it = match limit.count {
            Count::Packets => u64::from(held.0) + 1,
            Count::Bytes => held.1 + u64::from(bytes),
        };
        match (limit.room.is_none_or(|room| with_it <= room), limit.full) {
            (true, _) => Room::Fits(list),
            (false, Full::Drop) => Room::Drop,
            (false, Full::Trim(_)) => Room::Trim,
            (false, Full::Return) => Room::Return,
        }
    }

    /// A packet joins a list, in which it fits. Returns whether its class is to be marked with it.
    #[inline]
    pub fn push<T>(
        &mut self,
        lists: &Lists,
        (class, list): (Class, usize),
        pool: &mut Pool<T>,
        (id, bytes): (PacketId, u32),
    ) -> bool {
        self.lists[list].push(pool, id);
        self.bytes[list] += u64::from(bytes);
        self.waiting += 1;
        self.waiting_bytes += u64::from(bytes);
        self.marks(lists.limit(class), list)
    }

    /// As a push into an empty queue, and a [take](Classes::take) of the same packet at once, whose transmission [starts](Classes::send).
    #[inline]
    pub fn pass(&mut self, lists: &Lists, list: usize, bytes: u32) {
        debug_assert!(self.is_empty());
        self.send(list, bytes);
        if lists.takes_turns(list) {
            self.turn = 0;
        }
    }

    /// Whether a packet of a class is to be marked that has just joined a list.
    #[inline]
    fn marks(&self, limit: &Limit, list: usize) -> bool {
        limit.mark_above.is_some_and(|most| match limit.count {
            Count::Packets => u64::from(self.count(list).0) > most,
            Count::Bytes => self.count(list).1 > most,
        })
    }

    /// The first packet of a list.
    #[must_use]
    pub fn first(&self, list: usize) -> Option<PacketId> {
        self.lists[list].front()
    }

    /// The last packet of a list.
    #[must_use]
    pub fn last(&self, list: usize) -> Option<PacketId> {
        self.lists[list].back()
    }

    /// A packet that waits in a list has another length than before.
    pub fn resize(&mut self, list: usize, before: u32, after: u32) {
        for bytes in [&mut self.bytes[list], &mut self.waiting_bytes] {
            *bytes = *bytes + u64::from(after) - u64::from(before);
        }
    }

    /// The packet whose turn it is, and its list.
    #[must_use]
    #[inline]
    pub fn next(&self, lists: &Lists) -> Option<(usize, PacketId)> {
        if self.waiting == 0 {
            return None;
        }
        let list = (0..MOST_LISTS).find(|&list| !self.lists[list].is_empty())?;
        let most = lists.turns[list];
        let list = match most > 0 && self.turn >= most && !self.lists[list + 1].is_empty() {
            true => list + 1,
            false => list,
        };
        Some((list, self.lists[list].front()?))
    }

    /// Takes the packet whose turn it is out of its list. It counts no more, unless its transmission [starts](Classes::send).
    #[inline]
    pub fn take<T>(&mut self, lists: &Lists, list: usize, pool: &Pool<T>, bytes: u32) {
        if lists.turns[list] > 0 {
            let waits = !self.lists[list + 1].is_empty();
            self.turn = if waits { self.turn + 1 } else { 0 };
        } else if list > 0 && lists.turns[list - 1] > 0 {
            self.turn = 0;
        }
        self.lists[list].pop(pool);
        self.bytes[list] -= u64::from(bytes);
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(bytes);
    }

    /// The transmission of a packet starts that was taken out of a list. It counts there until it is [sent](Classes::sent).
    #[inline]
    pub fn send(&mut self, list: usize, bytes: u32) {
        debug_assert!(self.sending == NONE);
        (self.sending, self.sending_bytes) = (list as u8, bytes);
    }

    /// Nothing is in transmission any more.
    #[inline]
    pub fn sent(&mut self) {
        self.sending = NONE;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use etalon_scenario::Trim;
    use proptest::prelude::*;

    use super::*;

    const HEADER: u32 = 64;

    fn limit(room: u64, full: Full) -> Limit {
        Limit {
            count: Count::Packets,
            room: Some(room),
            mark_above: Some(2),
            full,
        }
    }

    fn trims(headers_per_packet: u16) -> Full {
        Full::Trim(Trim {
            header_bytes: HEADER as u16,
            room_bytes: 3 * u64::from(HEADER),
            headers_per_packet,
            coin: false,
            returns: true,
        })
    }

    /// A queue with what is in it by length.
    struct Bench {
        lists: Lists,
        queue: Classes,
        pool: Pool<u32>,
    }

    impl Bench {
        fn new(limits: impl IntoIterator<Item = Limit>) -> Bench {
            Bench {
                lists: Lists::new(limits),
                queue: Classes::new(),
                pool: Pool::new(),
            }
        }

        fn come(&mut self, class: u8, bytes: u32) -> Room {
            let room = self.queue.room(&self.lists, Class(class), bytes);
            if let Room::Fits(list) = room {
                let id = self.pool.insert(bytes);
                let place = (Class(class), list);
                self.queue
                    .push(&self.lists, place, &mut self.pool, (id, bytes));
            }
            room
        }

        /// The list and the length of what goes, whose transmission starts.
        fn start(&mut self) -> Option<(usize, u32)> {
            let (list, id) = self.queue.next(&self.lists)?;
            let bytes = *self.pool.get(id);
            self.queue.take(&self.lists, list, &self.pool, bytes);
            self.queue.send(list, bytes);
            self.pool.remove(id);
            Some((list, bytes))
        }

        /// The same of what is transmitted at once.
        fn go(&mut self) -> Option<(usize, u32)> {
            let gone = self.start();
            self.queue.sent();
            gone
        }
    }

    #[test]
    fn a_class_goes_before_the_next_and_headers_before_packets() {
        let mut bench = Bench::new([limit(8, trims(0)), limit(8, Full::Drop)]);
        for (class, bytes) in [(1, 900), (0, 1500), (0, 64), (1, 64)] {
            assert!(matches!(bench.come(class, bytes), Room::Fits(_)));
        }
        assert_eq!((bench.queue.len(), bench.queue.bytes()), (4, 2528));
        let gone: Vec<_> = core::iter::from_fn(|| bench.go()).collect();
        assert_eq!(gone, [(0, 64), (1, 1500), (2, 900), (2, 64)]);
        assert!(bench.queue.is_empty());
    }

    #[test]
    fn so_many_headers_go_before_a_packet_that_waits() {
        let mut bench = Bench::new([limit(8, trims(2))]);
        for bytes in [1500, 1501, 1, 2, 3] {
            assert!(matches!(bench.come(0, bytes), Room::Fits(_)));
        }
        let gone: Vec<u32> = core::iter::from_fn(|| bench.go().map(|gone| gone.1)).collect();
        assert_eq!(gone, [1, 2, 1500, 3, 1501]);
    }

    #[test]
    fn what_finds_no_room_is_dropped_trimmed_or_returned() {
        let mut bench = Bench::new([
            limit(1, trims(0)),
            limit(1, Full::Drop),
            limit(1, Full::Return),
        ]);
        for class in 0..3 {
            assert!(matches!(bench.come(class, 1500), Room::Fits(_)));
        }
        let others = [0, 1, 2].map(|class| bench.come(class, 1500));
        assert_eq!(others, [Room::Trim, Room::Drop, Room::Return]);
        for _ in 0..3 {
            assert_eq!(bench.come(0, HEADER), Room::Fits(0));
        }
        assert_eq!(bench.come(0, HEADER), Room::Return, "no room for a header");
    }

    #[test]
    fn what_is_in_transmission_counts_and_marks() {
        let mut bench = Bench::new([limit(3, Full::Drop)]);
        let mut ids = vec![];
        for _ in 0..2 {
            let id = bench.pool.insert(100);
            ids.push(id);
            let place = (Class(0), 0);
            let marks = bench
                .queue
                .push(&bench.lists, place, &mut bench.pool, (id, 100));
            assert!(!marks);
        }
        let (list, id) = bench.queue.next(&bench.lists).unwrap();
        assert_eq!((list, id), (0, ids[0]));
        bench.queue.take(&bench.lists, list, &bench.pool, 100);
        bench.queue.send(list, 100);
        assert_eq!(bench.queue.len(), 1);
        let third = bench.pool.insert(100);
        let place = (Class(0), 0);
        assert!(
            bench
                .queue
                .push(&bench.lists, place, &mut bench.pool, (third, 100))
        );
        assert_eq!(bench.come(0, 100), Room::Drop);
        bench.queue.sent();
        assert_eq!(bench.come(0, 100), Room::Fits(0));
    }

    proptest! {
        #[test]
        fn to_pass_an_empty_queue_is_to_join_and_to_go(
            steps in prop::collection::vec((0u8..2, 1u32..2000, 0u8..4, (0u8..2, 1u32..2000)), 1..200),
            (count, room, mark_above) in prop_oneof![
                Just((Count::Packets, Some(3), Some(2))),
                Just((Count::Packets, None, Some(0))),
                Just((Count::Bytes, Some(1500), Some(700))),
                Just((Count::Bytes, Some(1500), None)),
            ],
        ) {
            let limit = |full| Limit { count, room, mark_above, full };
            let limits = || [limit(trims(2)), limit(Full::Drop)];
            let (mut one, mut other) = (Bench::new(limits()), Bench::new(limits()));
            for (class, bytes, what, next) in steps {
                let next = |bench: &Bench| bench.queue.room(&bench.lists, Class(next.0), next.1);
                // What becomes of a next packet before anything goes.
                let held;
                if what == 0 {
                    held = next(&one);
                    prop_assert_eq!(one.start(), other.start());
                } else if one.queue.is_empty() {
                    let room = other.queue.room(&other.lists, Class(class), bytes);
                    let alone = other.lists.alone(Class(class), bytes);
                    let Some((list, passes)) = alone else {
                        prop_assert!(!matches!(room, Room::Fits(_)));
                        continue;
                    };
                    prop_assert_eq!(room, Room::Fits(list));
                    let place = (Class(class), list);
                    other.queue.pass(&other.lists, list, bytes);
                    let id = one.pool.insert(bytes);
                    let joins = one.queue.push(&one.lists, place, &mut one.pool, (id, bytes));
                    held = next(&one);
                    prop_assert_eq!(one.start(), Some((list, bytes)));
                    prop_assert_eq!(passes, joins);
                } else {
                    prop_assert_eq!(one.come(class, bytes), other.come(class, bytes));
                    held = next(&one);
                }
                prop_assert_eq!(one.queue.turn, other.queue.turn);
                prop_assert_eq!(one.queue.bytes, other.queue.bytes);
                prop_assert_eq!(one.queue.sending, other.queue.sending);
                prop_assert_eq!(one.queue.sending_bytes, other.queue.sending_bytes);
                // What is in transmission counts as if it waited.
                prop_assert_eq!((next(&one), next(&other)), (held, held));
                one.queue.sent();
                other.queue.sent();
            }
        }

        /// Against a model: what waits, sorted by class; FIFO within.
        #[test]
        fn priority_is_never_inverted_and_nothing_is_lost(
            steps in prop::collection::vec((0u8..4, 1u32..2000, any::<bool>()), 1..200),
        ) {
            let mut bench = Bench::new((0..4).map(|_| limit(5, Full::Drop)));
            let mut model: [Vec<u32>; 4] = Default::default();
            for (class, bytes, comes) in steps {
                if comes {
                    let list = &mut model[usize::from(class)];
                    let fits = list.len() < 5;
                    let expected = if fits { Room::Fits(class.into()) } else { Room::Drop };
                    prop_assert_eq!(bench.come(class, bytes), expected);
                    if fits {
                        list.push(bytes);
                    }
                } else {
                    let first = (0..4).find(|&list| !model[list].is_empty());
                    let expected = first.map(|list| (list, model[list].remove(0)));
                    prop_assert_eq!(bench.go(), expected);
                }
                let waiting = model.iter().map(Vec::len).sum::<usize>();
                prop_assert_eq!(bench.queue.len() as usize, waiting);
                let bytes = model.iter().flatten().map(|&bytes| u64::from(bytes)).sum::<u64>();
                prop_assert_eq!(bench.queue.bytes(), bytes);
            }
        }
    }
}
