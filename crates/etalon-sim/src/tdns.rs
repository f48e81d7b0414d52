// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hosts know of networks that take turns: which one (TDN) leads to which rack.

use etalon_net::Hosts;
use etalon_scenario::Scenario;
use etalon_switch::Plane;
use etalon_tcp::PathId;
use etalon_units::Span;

use crate::endpoint::{Endpoint, Follows};

/// The TDN by host and destination rack, as hosts were told last. Before that it is 0, the packet network.
#[derive(Debug, Default)]
pub(crate) struct Tdns {
    racks: usize,
    known: Vec<PathId>,
    /// From one endpoint of a host that is told to the next.
    pub(crate) each: Span,
    /// By host, the endpoints that are told, in the order in which they were opened.
    listeners: Vec<Vec<u32>>,
}

impl Tdns {
    /// For the hosts of a plan, if they are told anything.
    pub(crate) fn of_plan(plan: &Scenario) -> Tdns {
        let told = plan.notify();
        told.map_or_else(Tdns::default, |notify| Tdns::new(&plan.hosts, notify.each))
    }

    /// For hosts that are told, `each` apart from endpoint to endpoint.
    fn new(hosts: &Hosts, each: Span) -> Tdns {
        let (racks, count) = (usize::from(hosts.racks), hosts.count() as usize);
        Tdns {
            racks,
            known: vec![0; count * racks],
            each,
            listeners: vec![Vec::new(); count],
        }
    }

    /// A host is told. What it is told of a rack that is not there is lost on it.
    pub(crate) fn set(&mut self, host: u32, rack: u16, tdn: Plane) {
        if usize::from(rack) < self.racks {
            if let Some(known) = self
                .known
                .get_mut(host as usize * self.racks + usize::from(rack))
            {
                *known = tdn.0;
            }
        }
    }

    /// The TDN that leads from a host to a rack.
    pub(crate) fn of(&self, host: u32, rack: u16) -> PathId {
        let index = host as usize * self.racks + usize::from(rack);
        self.known.get(index).copied().unwrap_or(0)
    }

    /// An endpoint that looks for itself which network leads to its peer does so, once the connection is open: a handshake is on
    /// TDN 0.
    #[cold]
    pub(crate) fn look(&mut self, host_now: u64, index: u32, end: &mut Endpoint) {
        if !end.connection.is_established() {
            return;
        }
        let tdn = self.of(end.way.host, end.way.envelope.route.dst.rack());
        end.connection.on_tdn(host_now, tdn);
        if end.follows == Follows::LooksOnce {
            end.follows = Follows::IsTold;
            self.tell(end.way.host, index);
        }
    }

    /// An endpoint is told from now on.
    pub(crate) fn tell(&mut self, host: u32, index: u32) {
        if let Some(listeners) = self.listeners.get_mut(host as usize) {
            listeners.push(index);
        }
    }

    /// The endpoints of a host that are told; those that are no more are to be taken out.
    pub(crate) fn listeners(&mut self, host: u32) -> Option<&mut Vec<u32>> {
        self.listeners.get_mut(host as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_racks_and_hosts_that_are_not_there_is_lost() {
        let mut tdns = Tdns {
            racks: 2,
            known: vec![0; 2 * 2],
            ..Tdns::default()
        };
        tdns.set(0, 1, Plane(1));
        let known = |tdns: &Tdns| [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(h, r)| tdns.of(h, r));
        assert_eq!(known(&tdns), [0, 1, 0, 0]);
        for (host, rack) in [(0, 2), (0, u16::MAX), (2, 0), (u32::MAX, 1)] {
            tdns.set(host, rack, Plane(3));
            assert_eq!(tdns.of(host, rack) % 3, 0, "host {host}, rack {rack}");
        }
        assert_eq!(known(&tdns), [0, 1, 0, 0]);
        // The last notification counts, again or not.
        for tdn in [2, 2, 1, 0] {
            tdns.set(0, 1, Plane(tdn));
            assert_eq!(tdns.of(0, 1), tdn);
        }
    }
}
