// SPDX-License-Identifier: MIT OR Apache-2.0
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

/// A pending event: its time above its kind above its port, so that they have the order of events, and the first says what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pending(u64);

impl Pending {
    /// No event.
    pub(crate) const NONE: Pending = Pending(u64::MAX);
}

/// All of an event but its time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Label(u64);

/// Where the pending event of a source's port is.
#[derive(Debug)]
pub(crate) struct Place {
    /// Its leaf below the quarters; 0 if it is a quarter itself.
    leaf: u32,
    source: u8,
    /// The quarter of its source's ports that it is in.
    quarter: u8,
}

/// A tournament tree over all (source, port), each of which has at most one pending event. Unlike a heap it needs no search to
/// reschedule a source, and holds no stale entries.
#[derive(Debug)]
pub(crate) struct EventQueue {
    first: Pending,
    /// When that is.
    next: Time,
    /// The first events of sources.
    root: Four,
    /// Of each source the first events of the quarters of its ports: all that there is with up to four ports.
    quarters: [Four; 4],
    /// With more ports, the events of node i's children, 4i to 4i + 3; what has no children is a leaf. The children of 1 and of 4 to 7 are
    /// those above.
    below: Vec<Four>,
    /// Bits of a port: a leaf is (4 + source) << shift | port.
    shift: u32,
    /// These bits.
    ports: u64,
    /// Bits below an event's time.
    below_time: u32,
    /// What has no event has one at this time.
    never: Time,
}

/// The events of four that are looked at together.
type Four = [Pending; 4];

/// Bits of a kind.
const KIND: u32 = 3;

impl Kind {
    /// By number. There is no eighth.
    #[inline(always)] // who asks then does what is to be done for it
    const fn numbered(number: u64) -> Kind {
        match number % (1 << KIND) {
            0 => Kind::Schedule,
            1 => Kind::CircuitArrival,
            2 => Kind::DownlinkArrival,
            3 => Kind::CircuitFree,
            4 => Kind::DownlinkFree,
            5 => Kind::UplinkFree,
            _ => Kind::UplinkArrival,
        }
    }
}

impl EventQueue {
    /// For so many ports of a source.
    pub(crate) fn new(ports: usize) -> EventQueue {
        let bits = ports.next_power_of_two().trailing_zeros();
        let shift = bits.next_multiple_of(2).max(2); // a level of the tree takes two
        let below_time = KIND + shift;
        let never = Time(u64::MAX >> below_time);
        let four = [Pending::NONE; 4];
        EventQueue {
            first: Pending::NONE,
            next: never,
            root: four,
            quarters: [four; 4],
            below: alloc::vec![four; if shift == 2 { 0 } else { 2 << shift }],
            shift,
            ports: (1 << shift) - 1,
            below_time,
            never,
        }
    }

    /// The place of a source's port.
    pub(crate) fn place(&self, source: Source, port: u16) -> Place {
        let leaf = (4 + source as u32) << self.shift | u32::from(port);
        Place {
            leaf: if self.shift > 2 { leaf } else { 0 },
            source: source as u8,
            quarter: (leaf >> (self.shift - 2)) as u8 % 4,
        }
    }

    /// The label of events of a kind at a port.
    pub(crate) fn label(&self, kind: Kind, port: u16) -> Label {
        Label((kind as u64) << self.shift | u64::from(port))
    }

    /// An event at `time`, or none if that is never.
    #[inline]
    pub(crate) fn at(&self, time: Time, label: Label) -> Pending {
        if time < self.never {
            Pending(time.0 << self.below_time | label.0)
        } else {
            Pending::NONE
        }
    }

    /// When an event is due; [`EventQueue::never`] for none.
    #[inline]
    pub(crate) fn time_of(&self, event: Pending) -> Time {
        Time(event.0 >> self.below_time)
    }

    /// Nothing happens at this time or later.
    pub(crate) const fn never(&self) -> Time {
        self.never
    }

    /// Sets the first event of a source's port.
    #[inline]
    pub(crate) fn set(&mut self, place: &Place, mut event: Pending) {
        if place.leaf != 0 {
            match self.set_below(place.leaf as usize, event) {
                Some(first) => event = first,
                None => return,
            }
        }
        let source = usize::from(place.source % 4);
        let quarters = &mut self.quarters[source];
        quarters[usize::from(place.quarter % 4)] = event;
        self.root[source] = first_of(quarters);
        self.first = first_of(&self.root);
        self.next = self.time_of(self.first);
    }

    /// Sets the event of a leaf below the quarters. Returns the first event of its quarter, if that may have changed.
    #[inline(never)]
    fn set_below(&mut self, leaf: usize, event: Pending) -> Option<Pending> {
        let (mut node, mut event) = (leaf, event);
        while node >= 64 {
            let siblings = &mut self.below[node / 4];
            if siblings[node % 4] == event {
                return None;
            }
            siblings[node % 4] = event;
            event = first_of(siblings);
            node /= 4;
        }
        Some(event)
    }

    /// The time of the first event, [`EventQueue::never`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// The first event if it is due at or before `now`. It stays until its source sets another.
    #[inline]
    pub(crate) fn first(&self, now: Time) -> Option<Due> {
        debug_assert!(now < self.never, "time does not come to {now:?}");
        if self.next > now {
            return None;
        }
        let kind = Kind::numbered(self.first.0 >> self.shift);
        Some(Due {
            time: self.next,
            kind,
            port: (self.first.0 & self.ports) as u16,
        })
    }
}

#[inline]
fn first_of(&[a, b, c, d]: &Four) -> Pending {
    a.min(b).min(c.min(d))
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

    fn set(event_queue: &mut EventQueue, source: Source, port: u16, time: Time, kind: Kind) {
        let event = event_queue.at(time, event_queue.label(kind, port));
        event_queue.set(&event_queue.place(source, port), event);
    }

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
                set(&mut event_queue, source, port, time, kind);
                let first = expected.iter().map(|event| event.0).min();
                prop_assert_eq!(event_queue.next_time(), first.unwrap_or(event_queue.never()));
            }
            expected.sort_by_key(|&(time, kind, port, _)| (time, kind, port));
            for (time, kind, port, source) in expected {
                prop_assert_eq!(event_queue.first(Time(8)), Some(Due { time, kind, port }));
                set(&mut event_queue, source, port, Time::MAX, kind);
            }
            prop_assert_eq!(event_queue.next_time(), event_queue.never());
            prop_assert_eq!(event_queue.first(Time(8)), None);
        }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut event_queue = EventQueue::new(2);
        set(
            &mut event_queue,
            Source::Uplink,
            1,
            Time(10),
            Kind::UplinkFree,
        );
        assert_eq!(event_queue.first(Time(9)), None);
        assert!(event_queue.first(Time(10)).is_some());
    }

    #[test]
    fn what_is_later_than_time_goes_is_never() {
        let mut event_queue = EventQueue::new(65_535);
        let never = event_queue.never();
        assert!(never > Time(9 * 3_600_000_000_000), "nine hours"); // with as many ports as there can be
        for time in [never, Time(never.0 + 1), Time(1 << 60), Time::MAX] {
            set(&mut event_queue, Source::Schedule, 0, time, Kind::Schedule);
            assert_eq!(event_queue.next_time(), never);
        }
        set(
            &mut event_queue,
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
