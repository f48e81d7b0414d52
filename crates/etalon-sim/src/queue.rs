//! The event queue: a total order of (time, source).

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use etalon_units::Time;

/// Who is to be woken. The order of the variants orders simultaneous events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

/// An event, ordered such that the heap's greatest is the earliest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    time: Time,
    source: Source,
}

impl Event {
    #[inline]
    fn key(&self) -> (u64, u8, u32) {
        let (kind, index) = match self.source {
            Source::Host(i) => (0, i),
            Source::Start(i) => (1, i),
            Source::Stop(i) => (2, i),
            Source::Timer(i) => (3, i),
            Source::Departed(i) => (4, i),
        };
        (self.time.0, kind, index)
    }
}

impl PartialOrd for Event {
    #[inline]
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    #[inline]
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        other.key().cmp(&self.key())
    }
}

/// Pending events. Each source has few of them: a host one, a timer one or two.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Event>,
}

impl EventQueue {
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: Source) {
        self.heap.push(Event { time, source });
    }

    /// The earliest event's time, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |event| event.time)
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<(Time, Source)> {
        self.heap.peek().map(|event| (event.time, event.source))
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }

    /// Moves the earliest event, which must be there, to a later `time`: cheaper than a pop and a push.
    #[inline]
    pub(crate) fn postpone_first(&mut self, time: Time) {
        if let Some(mut first) = self.heap.peek_mut() {
            first.time = time;
            drop::<PeekMut<'_, Event>>(first);
        }
    }
}
