//! The event queue: a total order of (time, source).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etalon_units::Time;

/// Who is to be woken. The order of the variants orders simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The head of a host's pipe reaches the fabric.
    Host(u32),
    /// A flow starts.
    Start(u32),
    /// A flow is stopped.
    Stop(u32),
    /// A TCP timer of an endpoint is due.
    Timer(u32),
    /// A packet of a throttled endpoint has left its host.
    Departed(u32),
}

impl Source {
    /// Kind and index in one number, in the order of events.
    #[inline]
    fn code(self) -> u64 {
        let (kind, index) = match self {
            Source::Host(i) => (0, i),
            Source::Start(i) => (1, i),
            Source::Stop(i) => (2, i),
            Source::Timer(i) => (3, i),
            Source::Departed(i) => (4, i),
        };
        kind << 32 | u64::from(index)
    }

    #[inline]
    fn of(code: u64) -> Source {
        let index = code as u32;
        match code >> 32 {
            0 => Source::Host(index),
            1 => Source::Start(index),
            2 => Source::Stop(index),
            3 => Source::Timer(index),
            _ => Source::Departed(index),
        }
    }
}

/// An event: ordered by time, then by source.
type Event = Reverse<(Time, u64)>;

/// Pending events. A host has one at most, and most events are hosts'; of the others there are few.
#[derive(Debug)]
pub(crate) struct EventQueue {
    hosts: Tournament,
    others: BinaryHeap<Event>,
    /// Time of the first of `others`.
    next_other: Time,
}

impl EventQueue {
    /// A queue for so many hosts.
    pub(crate) fn new(hosts: usize) -> EventQueue {
        EventQueue {
            hosts: Tournament::new(hosts),
            others: BinaryHeap::new(),
            next_other: Time::MAX,
        }
    }

    /// Sets the time of a host's event, [`Time::MAX`] for no event, else not beyond [`EventQueue::latest`].
    #[inline]
    pub(crate) fn set_host(&mut self, host: u32, time: Time) {
        self.hosts.set(host, time);
    }

    /// Adds an event of another source than a host.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: Source) {
        self.next_other = self.next_other.min(time);
        self.others.push(Reverse((time, source.code())));
    }

    /// The earliest event's time; later than all events if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.hosts.first().0.min(self.next_other)
    }

    /// The earliest event's source. A host's event stays until its time is set again; others are taken off.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Source> {
        let (time, host) = self.hosts.first();
        if time <= self.next_other {
            return Some(Source::Host(host));
        }
        self.take_other()
    }

    #[inline(never)]
    fn take_other(&mut self) -> Option<Source> {
        let Reverse((_, code)) = self.others.pop()?;
        self.next_other = self.others.peek().map_or(Time::MAX, |event| event.0.0);
        Some(Source::of(code))
    }

    /// The last instant at which hosts can have events.
    pub(crate) fn latest(&self) -> Time {
        Time((u64::MAX >> self.hosts.shift) - 1)
    }
}

/// The hosts' events as a tournament tree: the root is the earliest, then the one of the host with the smallest number.
/// Unlike a heap it needs no search to move an event.
#[derive(Debug)]
struct Tournament {
    /// Time and, in the lowest bits, host. Node 1 is the root, 2i and 2i + 1 are the children of i, the upper half are the
    /// leaves.
    nodes: Vec<u64>,
    /// Bits of the host.
    shift: u32,
}

impl Tournament {
    fn new(hosts: usize) -> Tournament {
        let leaves = hosts.next_power_of_two();
        Tournament {
            nodes: vec![u64::MAX; 2 * leaves],
            shift: leaves.trailing_zeros(),
        }
    }

    #[inline]
    fn set(&mut self, host: u32, time: Time) {
        let mut winner = time.0 << self.shift | u64::from(host);
        let mut node = self.nodes.len() / 2 + host as usize;
        self.nodes[node] = winner;
        // The mask tells the compiler that the indices are good.
        let mask = self.nodes.len() - 1;
        while node > 1 {
            winner = winner.min(self.nodes[(node ^ 1) & mask]);
            node /= 2;
            self.nodes[node & mask] = winner;
        }
    }

    #[inline]
    fn first(&self) -> (Time, u32) {
        let first = self.nodes[1];
        let host = first & ((1 << self.shift) - 1);
        (Time(first >> self.shift), host as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_by_time_then_kind_then_number(
            hosts in 1usize..70,
            events in prop::collection::vec((0u64..20, 0u32..5, any::<u32>()), 1..200),
        ) {
            let mut queue = EventQueue::new(hosts);
            let mut expected = Vec::new();
            for (time, kind, index) in events {
                let source = match kind {
                    0 => Source::Host(index % hosts as u32),
                    1 => Source::Start(index),
                    2 => Source::Stop(index),
                    3 => Source::Timer(index),
                    _ => Source::Departed(index),
                };
                if let Source::Host(host) = source {
                    queue.set_host(host, Time(time));
                    expected.retain(|&(_, code)| code != source.code());
                } else {
                    queue.push(Time(time), source);
                }
                expected.push((Time(time), source.code()));
            }
            expected.sort_unstable();
            for (time, code) in expected {
                prop_assert_eq!(queue.next_time(), time);
                let source = queue.take();
                prop_assert_eq!(source, Some(Source::of(code)));
                if let Some(Source::Host(host)) = source {
                    queue.set_host(host, Time::MAX);
                }
            }
            prop_assert!(queue.next_time() > queue.latest());
        }
    }
}
