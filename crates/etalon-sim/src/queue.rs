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

/// Pending events. Each source has few of them: a host one, a timer one or two.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Event>,
}

impl EventQueue {
    #[inline]
    pub(crate) fn push(&mut self, time: Time, source: Source) {
        self.heap.push(Reverse((time, source.code())));
    }

    /// The earliest event's time, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.heap.peek().map_or(Time::MAX, |event| event.0.0)
    }

    #[inline]
    pub(crate) fn peek(&self) -> Option<(Time, Source)> {
        self.heap
            .peek()
            .map(|event| (event.0.0, Source::of(event.0.1)))
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.heap.pop();
    }

    /// Moves the earliest event, which must be there, to a later `time`: cheaper than a pop and a push.
    #[inline]
    pub(crate) fn postpone_first(&mut self, time: Time) {
        if let Some(mut first) = self.heap.peek_mut() {
            first.0.0 = time;
        }
    }
}
