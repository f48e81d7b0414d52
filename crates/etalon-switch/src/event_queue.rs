//! What happens next: one pending event per source of events.

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

/// An event that is due: `port` is that of its link, among those of one kind; 0 for the schedule. In the packet network it is the
/// number of the rack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) time: Time,
    pub(crate) kind: Kind,
    pub(crate) port: u16,
}

/// A tournament tree over all (kind, port), in order; each has at most one pending event.
///
/// Unlike a heap it needs no search to reschedule a source, holds no stale entries, and breaks ties by place: of two that are equal the
/// left one is first, so that times are all that is kept.
#[derive(Debug)]
pub(crate) struct EventQueue {
    /// The times of node i's children, 2i and 2i + 1; node 1 is the root, what has no children is a leaf.
    children: Vec<[Time; 2]>,
    /// The time of the root.
    next: Time,
    /// Leaf = kind << shift | port.
    shift: u32,
}

impl EventQueue {
    /// For so many ports of a kind.
    pub(crate) fn new(ports: usize) -> EventQueue {
        let shift = ports.next_power_of_two().trailing_zeros();
        EventQueue {
            children: alloc::vec![[Time::MAX; 2]; 8 << shift],
            next: Time::MAX,
            shift,
        }
    }

    /// Sets the time of the source's event, [`Time::MAX`] for none.
    #[inline]
    pub(crate) fn set(&mut self, kind: Kind, port: u16, time: Time) {
        let mut node = self.children.len() + ((kind as usize) << self.shift) + usize::from(port);
        let mut first = time;
        while node > 1 {
            let siblings = &mut self.children[node / 2];
            if siblings[node & 1] == first {
                return;
            }
            siblings[node & 1] = first;
            first = siblings[0].min(siblings[1]);
            node /= 2;
        }
        self.next = first;
    }

    /// The time of the first event, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_time(&self) -> Time {
        self.next
    }

    /// The time of the first event of `kind`, [`Time::MAX`] if there is none.
    #[inline]
    pub(crate) fn next_of(&self, kind: Kind) -> Time {
        // Eight kinds have room, so a kind is a node of the fourth level with all below it.
        let node = 8 + kind as usize;
        self.children[node / 2][node & 1]
    }

    /// The first event if it is due at or before `now`. It stays until its source sets another time.
    #[inline]
    pub(crate) fn first(&self, now: Time) -> Option<Due> {
        let time = self.next;
        if time > now || time == Time::MAX {
            return None;
        }
        let mut node = 1;
        while let Some([left, right]) = self.children.get(node) {
            node = 2 * node + usize::from(right < left);
        }
        let leaf = node - self.children.len();
        let kind = match leaf >> self.shift {
            0 => Kind::Schedule,
            1 => Kind::CircuitArrival,
            2 => Kind::DownlinkArrival,
            3 => Kind::CircuitFree,
            4 => Kind::DownlinkFree,
            5 => Kind::UplinkFree,
            _ => Kind::UplinkArrival,
        };
        let port = (leaf & ((1 << self.shift) - 1)) as u16;
        Some(Due { time, kind, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Kind; 7] = [
        Kind::Schedule,
        Kind::CircuitArrival,
        Kind::DownlinkArrival,
        Kind::CircuitFree,
        Kind::DownlinkFree,
        Kind::UplinkFree,
        Kind::UplinkArrival,
    ];

    #[test]
    fn events_come_by_time_then_kind_then_port() {
        for ports in [1, 2, 3, 5, 64] {
            let mut event_queue = EventQueue::new(usize::from(ports));
            let mut expected = Vec::new();
            let mut x = 1u64;
            for kind in KINDS {
                for port in 0..ports {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    let time = Time(x >> 61); // eight instants: many ties
                    event_queue.set(kind, port, Time(5));
                    event_queue.set(kind, port, time);
                    expected.push((time, kind, port));
                }
            }
            expected.sort();
            for kind in KINDS {
                let first = expected.iter().find(|event| event.1 == kind);
                assert_eq!(Some(event_queue.next_of(kind)), first.map(|event| event.0));
            }
            for (time, kind, port) in expected {
                assert_eq!(event_queue.next_time(), time);
                assert_eq!(event_queue.first(Time(7)), Some(Due { time, kind, port }));
                event_queue.set(kind, port, Time::MAX);
            }
            assert_eq!(event_queue.next_time(), Time::MAX);
            assert_eq!(event_queue.first(Time::MAX), None);
        }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut event_queue = EventQueue::new(2);
        event_queue.set(Kind::UplinkFree, 1, Time(10));
        assert_eq!(event_queue.first(Time(9)), None);
        assert!(event_queue.first(Time(10)).is_some());
    }
}
