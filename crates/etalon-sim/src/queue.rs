//! The event queue: a total order of (time, source).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etalon_units::Time;

/// Who is to be woken. The order of the variants orders simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The head of a host's pipe reaches the fabric.
    Host(u32),
    /// A flow connects, or starts.
    Start(u32),
    /// A flow is stopped.
    Stop(u32),
    /// A TCP timer of an endpoint is due.
    Timer(u32),
    /// A packet of a throttled endpoint has left its host.
    Departed(u32),
    /// A job of an application starts.
    Job(u32),
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
            Source::Job(i) => (5, i),
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
            4 => Source::Departed(index),
            _ => Source::Job(index),
        }
    }
}

/// An event: ordered by time, then by source.
type Event = Reverse<(Time, u64)>;

/// Pending events. A host has one at most, and most events are hosts'. They stand apart because few are pending at once: the
/// heap that all events need is small, and its elements are single numbers.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// Time and, in the lowest bits, host.
    hosts: BinaryHeap<Reverse<u64>>,
    /// Bits of the host.
    shift: u32,
    others: BinaryHeap<Event>,
    /// Time of the first of `others`.
    next_other: Time,
}

impl EventQueue {
    /// A queue for so many hosts.
    pub(crate) fn new(hosts: usize) -> EventQueue {
        EventQueue {
            hosts: BinaryHeap::new(),
            shift: hosts.next_power_of_two().trailing_zeros(),
            others: BinaryHeap::new(),
            next_other: Time::MAX,
        }
    }

    #[inline]
    fn key(&self, time: Time, host: u32) -> Reverse<u64> {
        Reverse(time.0 << self.shift | u64::from(host))
    }

    /// Adds the event of a host that has none, at a time not beyond [`EventQueue::latest`].
    #[inline]
    pub(crate) fn push_host(&mut self, time: Time, host: u32) {
        self.hosts.push(self.key(time, host));
    }

    /// Adds an event of another source than a host.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: Source) {
        self.next_other = self.next_other.min(time);
        self.others.push(Reverse((time, source.code())));
    }

    /// The earliest event's time, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        let host = self.hosts.peek();
        let time = host.map_or(Time::MAX, |key| Time(key.0 >> self.shift));
        time.min(self.next_other)
    }

    /// The earliest event's source. The event of a host stays until [`EventQueue::move_host`]; others are taken off.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<Source> {
        if let Some(&Reverse(key)) = self.hosts.peek() {
            if Time(key >> self.shift) <= self.next_other {
                return Some(Source::Host((key & ((1 << self.shift) - 1)) as u32));
            }
        }
        self.take_other()
    }

    #[inline(never)]
    fn take_other(&mut self) -> Option<Source> {
        let Reverse((_, code)) = self.others.pop()?;
        self.next_other = self.others.peek().map_or(Time::MAX, |event| event.0.0);
        Some(Source::of(code))
    }

    /// Moves the event of `host`, which must be the first of all, to its next time; takes it off if there is none. Moving
    /// is cheaper than a pop and a push.
    #[inline]
    pub(crate) fn move_host(&mut self, host: u32, next: Option<Time>) {
        match next {
            Some(time) => {
                let key = self.key(time, host);
                if let Some(mut first) = self.hosts.peek_mut() {
                    *first = key;
                }
            }
            None => {
                self.hosts.pop();
            }
        }
    }

    /// The last instant at which hosts can have events.
    pub(crate) fn latest(&self) -> Time {
        Time(u64::MAX >> self.shift)
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
            events in prop::collection::vec((0u64..20, 0u32..6, any::<u32>()), 1..200),
        ) {
            let mut queue = EventQueue::new(hosts);
            let mut expected = Vec::new();
            for (time, kind, index) in events {
                let source = match kind {
                    0 => Source::Host(index % hosts as u32),
                    1 => Source::Start(index),
                    2 => Source::Stop(index),
                    3 => Source::Timer(index),
                    4 => Source::Departed(index),
                    _ => Source::Job(index),
                };
                if let Source::Host(host) = source {
                    if expected.iter().any(|&(_, code)| code == source.code()) {
                        continue;
                    }
                    queue.push_host(Time(time), host);
                } else {
                    queue.push(Time(time), source);
                }
                expected.push((Time(time), source.code()));
            }
            expected.sort_unstable();
            while let Some(&(time, code)) = expected.first() {
                prop_assert_eq!(queue.next_time(), time);
                prop_assert_eq!(queue.first(), Some(Source::of(code)));
                expected.remove(0);
                if let Source::Host(host) = Source::of(code) {
                    // A second event after the first, for every other host.
                    let next = (host % 2 == 0 && time.0 < 20).then_some(Time(time.0 + 20));
                    queue.move_host(host, next);
                    expected.extend(next.map(|time| (time, code)));
                    expected.sort_unstable();
                }
            }
            prop_assert_eq!(queue.next_time(), Time::MAX);
            prop_assert_eq!(queue.first(), None);
        }
    }
}
