//! What wakes endpoints and applications, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etalon_tcp::PathId;
use etalon_units::Time;

/// What is woken. Of what is due at one instant, what stands first here comes first, then the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    /// A flow connects, or starts.
    Start(u32),
    /// A flow is stopped.
    Stop(u32),
    /// An endpoint is told which network leads to its peer.
    Told(u32, PathId),
    /// A flow's client stops to be one of TDTCP.
    Downgrade(u32),
    /// A TCP timer of an endpoint is due.
    Timer(u32),
    /// A packet of a throttled endpoint has left its host.
    Departed(u32),
    /// A job of an application starts.
    Job(u32),
}

/// Pending wakes.
#[derive(Debug)]
pub(crate) struct Queue {
    heap: BinaryHeap<Reverse<(Time, Wake)>>,
    /// Time of the first.
    next: Time,
}

impl Queue {
    /// An empty queue.
    pub(crate) fn new() -> Queue {
        Queue {
            heap: BinaryHeap::new(),
            next: Time::MAX,
        }
    }

    /// Adds a wake.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, wake: Wake) {
        self.next = self.next.min(time);
        self.heap.push(Reverse((time, wake)));
    }

    /// When the first is due, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// Takes the first.
    #[inline(never)]
    pub(crate) fn take(&mut self) -> Option<Wake> {
        let Reverse((_, wake)) = self.heap.pop()?;
        self.next = self.heap.peek().map_or(Time::MAX, |first| first.0.0);
        Some(wake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn wakes_come_by_time_then_kind_then_number(
            wakes in prop::collection::vec((0u64..20, 0usize..5, any::<u32>()), 1..200),
        ) {
            let kinds = [Wake::Start, Wake::Stop, Wake::Timer, Wake::Departed, Wake::Job];
            let mut queue = Queue::new();
            let mut expected: Vec<_> = wakes.iter().map(|&(time, kind, number)| (time, kind, number)).collect();
            for (time, kind, number) in wakes {
                queue.push(Time(time), kinds[kind](number));
            }
            expected.sort_unstable();
            for (time, kind, number) in expected {
                prop_assert_eq!(queue.next_time(), Time(time));
                prop_assert_eq!(queue.take(), Some(kinds[kind](number)));
            }
            prop_assert_eq!(queue.next_time(), Time::MAX);
            prop_assert_eq!(queue.take(), None);
        }
    }
}
