// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is connected with what: switches, hosts, links.

use alloc::vec::Vec;

use etalon_units::{Rate, Span};

use crate::{Hosts, Place, PortFacts, QueueId};

/// One direction of a link, with the queue in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its rate, which is positive.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Span,
    /// Packets that fit into the queue, the one in transmission included.
    pub queue: u32,
    /// A packet is marked CE if, with it, the queue is longer than this; none for no marks.
    pub mark_above: Option<u32>,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Node {
    /// A switch by number. That of a rack's ToR switch is its rack's.
    Switch(u16),
    /// A host by its number among all.
    Host(u32),
}

/// An egress port: where it is, where it leads, and the link behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Egress {
    /// The end that sends.
    pub from: Node,
    /// The end that receives.
    pub to: Node,
    /// The queue in front of it.
    pub queue: QueueId,
    /// The link.
    pub link: Link,
}

/// Switches and the links between them. Each rack has a ToR switch, with a port to each of its hosts.
#[derive(Clone, Debug)]
pub struct Topology {
    hosts: Hosts,
    /// What switches are called, and how many ports each has.
    switches: Vec<(Place, u16)>,
    ports: Vec<Egress>,
    /// Whether hosts' own ports are among these, behind their NICs.
    host_ports: bool,
}

impl Topology {
    /// ToR switches with their hosts, and nothing that connects them. Port `n` of a ToR switch leads to host `n` of the rack. With
    /// `host_ports`, hosts have a queue of their own in front of the link to their switch.
    #[must_use]
    pub fn new(hosts: Hosts, access: Link, host_ports: bool) -> Topology {
        let mut topology = Topology {
            hosts,
            switches: (0..hosts.racks).map(|rack| (Place::Tor(rack), 0)).collect(),
            ports: Vec::new(),
            host_ports,
        };
        for host in 0..hosts.count() {
            let tor = Node::Switch(hosts.host(host).rack());
            topology.add_port(tor, Node::Host(host), access);
        }
        topology
    }

    /// Adds a switch and returns its number.
    pub fn add_switch(&mut self, place: Place) -> u16 {
        self.switches.push((place, 0));
        (self.switches.len() - 1) as u16
    }

    /// Connects two switches, both ways alike.
    pub fn connect(&mut self, below: u16, above: u16, link: Link) {
        self.add_port(Node::Switch(below), Node::Switch(above), link);
        self.add_port(Node::Switch(above), Node::Switch(below), link);
    }

    /// Whether these are connected.
    #[must_use]
    pub fn joins(&self, below: u16, above: u16) -> bool {
        let ends = (Node::Switch(below), Node::Switch(above));
        below < above && self.ports.iter().any(|port| (port.from, port.to) == ends)
    }

    fn add_port(&mut self, from: Node, to: Node, link: Link) {
        let queue = match from {
            Node::Switch(at) => {
                let degree = &mut self.switches[usize::from(at)].1;
                *degree += 1;
                QueueId {
                    at,
                    number: *degree - 1,
                }
            }
            // Hosts are numbered behind the switches.
            Node::Host(host) => QueueId {
                at: (self.switches.len() as u32 + host) as u16,
                number: 0,
            },
        };
        self.ports.push(Egress {
            from,
            to,
            queue,
            link,
        });
    }

    /// The hosts.
    #[must_use]
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Number of switches.
    #[must_use]
    pub fn switches(&self) -> u16 {
        self.switches.len() as u16
    }

    /// All egress ports: those to hosts in the order of their hosts, then the others in the order in which they were connected, then
    /// those of hosts if they have any.
    #[must_use]
    pub fn into_ports(mut self) -> Vec<Egress> {
        self.complete();
        self.ports
    }

    fn complete(&mut self) {
        if core::mem::take(&mut self.host_ports) {
            for host in 0..self.hosts.count() {
                let to_host = self.ports[host as usize];
                self.add_port(to_host.to, to_host.from, to_host.link);
            }
        }
    }

    /// What results say of these ports, in this order.
    #[must_use]
    pub fn into_facts(mut self) -> Vec<PortFacts> {
        self.complete();
        let place = |node| match node {
            Node::Switch(switch) => self.switches[usize::from(switch)].0,
            Node::Host(host) => Place::Host(self.hosts.host(host)),
        };
        let facts = |port: &Egress| PortFacts {
            queue: port.queue,
            from: place(port.from),
            to: place(port.to),
            rate: port.link.rate,
        };
        self.ports.iter().map(facts).collect()
    }
}
