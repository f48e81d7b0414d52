//! Flows that come and go, among those that are open.

use etalon_measure::FlowFacts;
use etalon_scenario::{SERVER_PORT, client_port};

use super::{Flows, NOWHERE};
use crate::stream::Guest;

impl Flows<'_> {
    /// A flow has come, which will start next.
    pub(crate) fn expect(&mut self, guest: Guest) {
        self.places.push(NOWHERE);
        if let Some(guests) = &mut self.guests {
            guests.expected = Some(guest);
        }
    }

    /// The slots of flows that have settled are free for others after each was told.
    pub(crate) fn forget_settled(&mut self, mut tell: impl FnMut(usize, &Guest, FlowFacts)) {
        let Some(guests) = &mut self.guests else {
            return;
        };
        for (slot, facts) in guests.settled.drain(..) {
            let guest = &guests.there[slot as usize];
            let ports = (client_port(guest.number as usize), SERVER_PORT);
            tell(slot as usize, guest, FlowFacts { ports, ..facts });
            self.vacant.push(slot);
        }
    }

    /// Those that came and are open, with their slot and what is known of them, in the order in which they came.
    pub(crate) fn open_guests(&self) -> Vec<(usize, &Guest, FlowFacts)> {
        let there = self
            .guests
            .iter()
            .flat_map(|guests| guests.there.iter().enumerate());
        let is_open =
            |slot: usize, guest: &Guest| self.places[guest.number as usize] == slot as u32;
        let known = |(slot, guest): (usize, _)| (slot, guest, self.guest_facts(2 * slot, guest));
        let open = there.filter(|&(slot, guest)| is_open(slot, guest));
        let mut open: Vec<_> = open.map(known).collect();
        open.sort_unstable_by_key(|(_, guest, _)| guest.number);
        open
    }

    /// Whether flows come and go.
    pub(crate) fn come_and_go(&self) -> bool {
        self.guests.is_some()
    }

    /// Those that came leave.
    pub(crate) fn leave(&mut self) {
        self.guests = None;
        self.places.clear();
        self.planned = 0;
    }

    fn guest_facts(&self, first: usize, guest: &Guest) -> FlowFacts {
        let ports = (client_port(guest.number as usize), SERVER_PORT);
        FlowFacts {
            ports,
            ..self.facts_at(first)
        }
    }
}
