//! What happens next: one pending event per link, and that of the schedule.

use alloc::vec::Vec;

use etalon_units::Time;

/// Kinds of events. Of the events of one instant, a smaller kind comes first, then a smaller port.
///
/// The schedule comes first, so that days and nights are half-open: what is decided at the instant at which a day ends
/// is decided without its circuit. Packets leave before packets move up, so that a place that is freed at an instant
/// can be taken at that instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A transition of the schedule.
    Schedule,
    /// A packet reaches its destination's ToR over a circuit.
    CircuitArrival,
    /// A packet reaches its destination's ToR over the packet network.
    DownlinkArrival,
    /// The circuit that ends at a port can take another packet.
    CircuitFree,
    /// The downlink of a rack can take another packet.
    DownlinkFree,
    /// The uplink of a rack can take another packet.
    UplinkFree,
    /// A packet reaches the packet switch.
    UplinkArrival,
}

/// What has events. Of one that has two kinds, the first is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Schedule,
    Circuit,
    Downlink,
    Uplink,
}

/// An event that is due: `port` is that of its link, among those of one kind; 0 for the schedule. In the packet network it is the
/// number of the rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) time: Time,
    pub(crate) kind: Kind,
    pub(crate) port: u16,
}

/// A tournament tree over all (source, port), each of which has at most one pending event. Unlike a heap it needs no search to
/// reschedule a source, and holds no stale entries.
///
/// An event is a number, its time above its kind above its port, so that numbers have the order of events, and the number of the first says
/// what it is.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The events of node i's children, 4i to 4i + 3; node 1 is the root, what has no children is a leaf.
    children: Vec<[u64; 4]>,
    /// The event of the root, and its time.
    first: u64,
    next: Time,
    /// Leaf = (4 + source) << shift | port.
    shift: u32,
    /// What has no event has one at this time.
    never: Time,
}

/// Bits of a kind.
const KIND: u32 = 3;

/// By number. There is no eighth.
const KINDS: [Kind; 1 << KIND] = [
    Kind::Schedule,
    Kind::CircuitArrival,
    Kind::DownlinkArrival,
    Kind::CircuitFree,
    Kind::DownlinkFree,
    Kind::UplinkFree,
    Kind::UplinkArrival,
    Kind::UplinkArrival,
];

impl EventQueue {
    /// For so many ports of a source.
    pub(crate) fn new(ports: usize) -> EventQueue {
        let bits = ports.next_power_of_two().trailing_zeros();
        let shift = bits.next_multiple_of(2); // a level of the tree takes two
        let never = Time(u64::MAX >> (KIND + shift));
        EventQueue {
            children: alloc::vec![[u64::MAX; 4]; 2 << shift],
            first: u64::MAX,
            next: never,
            shift,
            never,
        }
    }

    /// Nothing happens at this time or later.
    pub(crate) const fn never(&self) -> Time {
        self.never
    }

    /// Sets the first event of a source's port, at [`Time::MAX`] for none.
    #[inline]
    pub(crate) fn set(&mut self, source: Source, port: u16, time: Time, kind: Kind) {
        let time = time.min(self.never);
        let mut first = (time.0 << KIND | kind as u64) << self.shift | u64::from(port);
        let mut node = (4 + source as usize) << self.shift | usize::from(port);
        let children = self.children.as_mut_slice();
        while node > 1 {
            let siblings = &mut children[node / 4];
            if siblings[node % 4] == first {
                return;
            }
            siblings[node % 4] = first;
            let [a, b, c, d] = *siblings;
            first = a.min(b).min(c.min(d));
            node /= 4;
        }
        self.first = first;
        self.next = Time(first >> KIND >> self.shift);
    }

    /// The time of the first event, [`EventQueue::never`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// The first event if it is due at or before `now`. It stays until its source sets another.
    #[inline]
    pub(crate) fn first(&self, now: Time) -> Option<Due> {
        if self.next > now {
            return None;
        }
        let kind = KINDS[(self.first >> self.shift) as usize % KINDS.len()];
        Some(Due {
            time: self.next,
            kind,
            port: (self.first & ((1 << self.shift) - 1)) as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EVENTS: [(Source, Kind); 7] = [
        (Source::Schedule, Kind::Schedule),
        (Source::Circuit, Kind::CircuitArrival),
        (Source::Downlink, Kind::DownlinkArrival),
        (Source::Circuit, Kind::CircuitFree),
        (Source::Downlink, Kind::DownlinkFree),
        (Source::Uplink, Kind::UplinkFree),
        (Source::Uplink, Kind::UplinkArrival),
    ];

    proptest! {
        /// A source has one event, and events come by time, then kind, then port.
        #[test]
        fn events_come_as_from_a_sorted_list(
            ports in 1u16..70,
            // Few instants: many ties.
            events in prop::collection::vec((0usize..7, any::<u16>(), 0u64..9), 1..200),
        ) {
            let mut event_queue = EventQueue::new(usize::from(ports));
            let mut expected: Vec<(Time, Kind, u16, Source)> = Vec::new();
            for (kind, port, time) in events {
                let ((source, kind), port) = (EVENTS[kind], port % ports);
                let time = if time == 8 { Time::MAX } else { Time(time) };
                expected.retain(|other| (other.3, other.2) != (source, port));
                if time != Time::MAX {
                    expected.push((time, kind, port, source));
                }
                event_queue.set(source, port, time, kind);
                let first = expected.iter().map(|event| event.0).min();
                prop_assert_eq!(event_queue.next_time(), first.unwrap_or(event_queue.never()));
            }
            expected.sort_by_key(|&(time, kind, port, _)| (time, kind, port));
            for (time, kind, port, source) in expected {
                prop_assert_eq!(event_queue.first(Time(8)), Some(Due { time, kind, port }));
                event_queue.set(source, port, Time::MAX, kind);
            }
            prop_assert_eq!(event_queue.next_time(), event_queue.never());
            prop_assert_eq!(event_queue.first(Time(8)), None);
        }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut event_queue = EventQueue::new(2);
        event_queue.set(Source::Uplink, 1, Time(10), Kind::UplinkFree);
        assert_eq!(event_queue.first(Time(9)), None);
        assert!(event_queue.first(Time(10)).is_some());
    }

    #[test]
    fn what_is_later_than_time_goes_is_never() {
        let mut event_queue = EventQueue::new(65_535);
        let never = event_queue.never();
        assert!(never > Time(9 * 3_600_000_000_000), "nine hours"); // with as many ports as there can be
        for time in [never, Time(never.0 + 1), Time(1 << 60), Time::MAX] {
            event_queue.set(Source::Schedule, 0, time, Kind::Schedule);
            assert_eq!(event_queue.next_time(), never);
        }
        event_queue.set(
            Source::Uplink,
            65_534,
            Time(never.0 - 1),
            Kind::UplinkArrival,
        );
        let due = event_queue.first(Time(never.0 - 1));
        assert_eq!(
            due.map(|due| (due.port, due.kind)),
            Some((65_534, Kind::UplinkArrival))
        );
    }
}
