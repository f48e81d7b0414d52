// SPDX-License-Identifier: MIT OR Apache-2.0
//! What wakes endpoints and applications, in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use etalon_queues::Calendar;
use etalon_scenario::Hosts;
use etalon_tcp::PathId;
use etalon_units::Time;

/// What is woken. Of what is due at one instant, what stands first here comes first, then what has the smaller number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wake {
    /// A flow connects, or starts.
    Start(u32),
    /// A flow is stopped.
    Stop(u32),
    /// An endpoint is told which network leads to its peer.
    Notified(u32, PathId),
    /// A flow's client stops to be one of TDTCP.
    Downgrade(u32),
    /// A TCP timer of an endpoint is due.
    Timer(u32),
    /// A packet of a throttled endpoint has left its host.
    Departed(u32),
    /// A job of an application starts.
    Job(u32),
    /// The NIC of a host is done with a packet that TCP does not carry.
    Nic(u32),
    /// The timer of a flow that TCP does not carry is due.
    Carrier(u32),
    /// The next pull of a host is due, or of a flow.
    Pull(u32),
    PullOfFlow(u32),
    /// A rank of a job has computed.
    Computed(u32),
}

/// Bits of a [`PathId`], and of those with a number before them.
const PATH_BITS: u32 = PathId::BITS;
const NUMBER_BITS: u32 = PATH_BITS + u32::BITS;

impl Wake {
    /// A number, in the order of wakes: `wakes_come_by_time_then_as_they_are_ordered` holds the two together.
    fn key(self) -> u64 {
        let (kind, number, path) = match self {
            Wake::Start(flow) => (0, flow, 0),
            Wake::Stop(flow) => (1, flow, 0),
            Wake::Notified(index, path) => (2, index, path),
            Wake::Downgrade(flow) => (3, flow, 0),
            Wake::Timer(index) => (4, index, 0),
            Wake::Departed(index) => (5, index, 0),
            Wake::Job(job) => (6, job, 0),
            Wake::Nic(host) => (7, host, 0),
            Wake::Carrier(flow) => (8, flow, 0),
            Wake::Pull(host) => (9, host, 0),
            Wake::PullOfFlow(flow) => (10, flow, 0),
            Wake::Computed(rank) => (11, rank, 0),
        };
        kind << NUMBER_BITS | u64::from(number) << PATH_BITS | u64::from(path)
    }

    /// What has this number.
    fn of(key: u64) -> Wake {
        let number = (key >> PATH_BITS) as u32;
        match key >> NUMBER_BITS {
            0 => Wake::Start(number),
            1 => Wake::Stop(number),
            2 => Wake::Notified(number, key as PathId),
            3 => Wake::Downgrade(number),
            4 => Wake::Timer(number),
            5 => Wake::Departed(number),
            6 => Wake::Job(number),
            7 => Wake::Nic(number),
            8 => Wake::Carrier(number),
            9 => Wake::Pull(number),
            10 => Wake::PullOfFlow(number),
            _ => Wake::Computed(number),
        }
    }
}

/// Pending wakes.
#[derive(Debug)]
pub(crate) struct WakeQueue {
    /// Each is one number, which takes less to compare: time, then [`Wake::key`].
    heap: BinaryHeap<Reverse<u128>>,
    /// NICs that are done with a packet, where TCP does not carry all: each is one of few that are pending, and there are many.
    nics: Option<Box<Calendar>>,
    /// Time of the first of all.
    next: Time,
    /// What was taken last, where NICs are waited for.
    taken: u128,
}

/// A wake at a time, in the order in which they come.
fn key_at(time: Time, wake: Wake) -> u128 {
    u128::from(time.0) << u64::BITS | u128::from(wake.key())
}

impl WakeQueue {
    /// An empty queue; with NICs to wait for if these hosts have such.
    pub(crate) fn new(nics: Option<&Hosts>) -> WakeQueue {
        let calendar = |hosts: &Hosts| {
            let longest = hosts.rate.span_of(hosts.mtu.into());
            Box::new(Calendar::new(hosts.count() as usize, longest))
        };
        WakeQueue {
            heap: BinaryHeap::new(),
            nics: nics.map(calendar),
            next: Time::MAX,
            taken: 0,
        }
    }

    /// Whether the wake of a host's NIC that was due `now` has had its turn, if there was one.
    #[inline]
    pub(crate) fn is_past_nic(&self, now: Time, host: u32) -> bool {
        self.taken >= key_at(now, Wake::Nic(host))
    }

    /// The NIC of a host will be done: as a push of [`Wake::Nic`].
    #[inline]
    pub(crate) fn push_nic(&mut self, time: Time, host: u32) {
        match &mut self.nics {
            Some(nics) if !nics.is_at_work(host) => {
                nics.push(time, host);
                self.next = self.next.min(time);
            }
            _ => self.push(time, Wake::Nic(host)),
        }
    }

    /// Adds a wake.
    #[inline]
    pub(crate) fn push(&mut self, time: Time, wake: Wake) {
        self.next = self.next.min(time);
        self.heap.push(Reverse(key_at(time, wake)));
    }

    /// When the first is due, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// Takes the first, if it is a timer that is due at `time`. Returns its endpoint.
    pub(crate) fn take_timer_at(&mut self, time: Time) -> Option<u32> {
        let Reverse(key) = *self.heap.peek()?;
        let (at, wake) = ((key >> u64::BITS) as u64, Wake::of(key as u64));
        let (true, Wake::Timer(index)) = (at == time.0, wake) else {
            return None;
        };
        self.take();
        Some(index)
    }

    /// Takes the first.
    #[inline(never)]
    pub(crate) fn take(&mut self) -> Option<Wake> {
        if self.nics.is_some() {
            return self.take_among_nics();
        }
        let Reverse(key) = self.heap.pop()?;
        self.next = self.first_of_heap();
        Some(Wake::of(key as u64))
    }

    #[inline]
    fn first_of_heap(&self) -> Time {
        let first = self.heap.peek();
        first.map_or(Time::MAX, |first| Time((first.0 >> u64::BITS) as u64))
    }

    /// The same where NICs are waited for.
    #[inline(never)] // runs of TCP alone have none
    fn take_among_nics(&mut self) -> Option<Wake> {
        let nics = self.nics.as_mut()?;
        let nic = nics.first();
        let nic = nic.map(|host| key_at(nics.next(), Wake::Nic(host)));
        let first = self.heap.peek().map(|first| first.0);
        let key = match (nic, first) {
            (Some(nic), first) if first.is_none_or(|first| nic <= first) => {
                nics.pop();
                nic
            }
            _ => self.heap.pop()?.0,
        };
        let next_nic = nics.next();
        self.taken = key;
        self.next = self.first_of_heap().min(next_nic);
        Some(Wake::of(key as u64))
    }
}

#[cfg(test)]
mod tests {
    use etalon_units::{Rate, Span};

    use super::*;
    use proptest::prelude::*;

    const KINDS: [fn(u32) -> Wake; 12] = [
        Wake::Start,
        Wake::Stop,
        |number| Wake::Notified(number, !number as PathId),
        Wake::Downgrade,
        Wake::Timer,
        Wake::Departed,
        Wake::Job,
        Wake::Nic,
        Wake::Carrier,
        Wake::Pull,
        Wake::PullOfFlow,
        Wake::Computed,
    ];

    proptest! {
        #[test]
        fn wakes_come_by_time_then_as_they_are_ordered(
            drawn in prop::collection::vec((0u64..20, 0usize..12, prop_oneof![0u32..8, any::<u32>()]), 1..200),
        ) {
            let hosts = Hosts {
                racks: 8,
                per_rack: 1,
                mtu: 1500,
                rate: Rate::from_gbps(1000),
                delay: Span::ZERO,
                jitter: Span::ZERO,
                downlink_queue: None,
            };
            let mut queue = WakeQueue::new(Some(&hosts));
            let wakes = drawn.into_iter().map(|(time, kind, number)| (Time(time), KINDS[kind](number)));
            let mut wakes: Vec<(Time, Wake)> = wakes.collect();
            for &(time, wake) in &wakes {
                match wake {
                    Wake::Nic(host) if host < hosts.count() => queue.push_nic(time, host),
                    _ => queue.push(time, wake),
                }
            }
            wakes.sort_unstable();
            for (time, wake) in wakes {
                prop_assert_eq!(queue.next_time(), time);
                prop_assert_eq!(queue.take(), Some(wake));
            }
            prop_assert_eq!(queue.next_time(), Time::MAX);
            prop_assert_eq!(queue.take(), None);
        }
    }

    #[test]
    fn every_kind_is_drawn() {
        // The last kind has the largest number, and each has its own.
        let of = |index: usize| KINDS[index](7).key() >> NUMBER_BITS;
        assert!((0..KINDS.len()).all(|index| of(index) == index as u64));
        assert_eq!(Wake::of(u64::MAX), Wake::Computed(u32::MAX));
    }
}
