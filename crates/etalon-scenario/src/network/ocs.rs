// SPDX-License-Identifier: MIT OR Apache-2.0
//! A network of circuits: racks with several uplinks, each to a circuit switch with a schedule of its own.

use alloc::vec;
use alloc::vec::Vec;

use etalon_units::{Bytes, Rate, Span, Time};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::network::{Layer, NetworkKind, Routing, Tdns};
use crate::rdcn::PLANES;
use crate::{
    Asked, Bottlenecks, Class, ClassOf, CrossConnect, Hosts, MOST_CIRCUITS, MOST_LISTS, Notify,
    Offers, Pair, Place, Plane, PlaneFacts, PortFacts, QueueId, Schedule, Slices,
};

/// Uplinks of a rack at most.
pub const MOST_UPLINKS: usize = 64;

/// Racks, and switches without hosts if there are any (*relays*), whose uplinks lead to circuit switches. A static graph is a network
/// in which each circuit switch has one matching that stays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ocs {
    /// The links from ToR switches to their hosts, with a queue in front of each; none for no such links: packets reach their hosts
    /// when they are at the ToR switch.
    pub access: Option<Access>,
    /// Hosts, too, have a queue in front of their link, in which classes go in their order; their NICs are as fast as one likes.
    #[serde(default)]
    pub host_queues: bool,
    /// Switches without hosts; they have the numbers behind the racks'.
    #[serde(default)]
    pub relays: u16,
    /// The circuit switches, of which each rack has an uplink to every one.
    pub uplinks: Vec<CircuitSwitch>,
    /// A packet network beside them, to which each rack has a link up and a link down.
    #[serde(default)]
    pub packet: Option<Layer>,
    /// The classes of traffic, by number, those that go first at the front.
    pub classes: Vec<ClassOf>,
    /// Flows of so many bytes are of the last class, shorter ones of the first, unless they say; none for all of the first. What has no
    /// end is of the last.
    #[serde(default, rename = "cutoff_bytes")]
    pub cutoff: Option<Bytes>,
    /// ToR switches start no transmission for so long after a day begins, and none that would end later than so long before it ends.
    #[serde(default, rename = "guard_ns")]
    pub guard: Span,
    /// The clock of each ToR switch is wrong by up to this, before or behind, as the seed has it.
    #[serde(default, rename = "skew_ns")]
    pub skew: Span,
    /// What becomes of a packet whose circuit goes while it is transmitted.
    #[serde(default)]
    pub late: Late,
    /// Hops of a packet at most: what takes more is lost.
    #[serde(default = "most_hops")]
    pub most_hops: u8,
    /// Hosts start no transmission while all circuit switches are dark.
    #[serde(default)]
    pub hold: bool,
    /// What fails, for a time.
    #[serde(default)]
    pub failures: Vec<CircuitFailure>,
    /// How long ToR switches take to choose other ways when something fails or returns.
    #[serde(default, rename = "reroute_ns")]
    pub reroute: Span,
    /// Circuits are those of each switch's only day, until somebody asks for others; a circuit's plane is 1 more than its uplink.
    #[serde(default)]
    pub asked: Option<Asked>,
    /// Packets without payload take so long from ToR switch to ToR switch, and wait in no queue; none if they go as others do.
    #[serde(default, rename = "ack_bypass_ns")]
    pub ack_bypass: Option<Span>,
    /// Marks ECE on every packet from D to S while there is a circuit from S to D, or one will be within this time (reTCP, NSDI'20 section
    /// 5.3): from so long before the circuit's slice until that ends.
    #[serde(default, rename = "ece_in_advance_ns")]
    pub ece_in_advance: Option<Span>,
    /// How hosts hear which TDN leads to a rack, if they do.
    #[serde(default)]
    pub notify: Option<Notify>,
    /// What a TDN is, if hosts hear of them.
    #[serde(default)]
    pub tdns: Tdns,
}

const fn most_hops() -> u8 {
    32
}

/// The links between ToR switches and hosts. The way up has the rate of the hosts' NICs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Access {
    /// Rate.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Propagation delay.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
}

/// A circuit switch: a crossbar without queues, with one port a rack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CircuitSwitch {
    /// Rate of a circuit.
    #[serde(rename = "rate_bps")]
    pub rate: Rate,
    /// Propagation delay of a circuit, from ToR switch to ToR switch.
    #[serde(rename = "delay_ns")]
    pub delay: Span,
    /// When its first matching begins. Before that it is where a cycle without beginning would be.
    #[serde(default, rename = "offset_ns")]
    pub offset: Span,
    /// Its matchings: who is dealt which rack's uplink, for how long, and the time without circuits behind each.
    pub rotation: Schedule,
}

/// What becomes of a packet whose circuit goes while it is transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Late {
    /// It is lost.
    #[default]
    Lost,
    /// It arrives.
    Completes,
}

/// Something that fails for a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CircuitFailure {
    /// What.
    pub part: Part,
    /// When.
    #[serde(rename = "from_ns")]
    pub from: Time,
    /// When it is well again; none for never.
    #[serde(default, rename = "to_ns")]
    pub to: Option<Time>,
    /// It does not go down, but its circuits come up so much later each day.
    #[serde(default, rename = "locks_after_ns")]
    pub locks_after: Option<Span>,
}

/// What may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Part {
    /// A rack's uplink, both ways: rack, uplink.
    Link(u16, u8),
    /// The end of an uplink that sends.
    Sender(u16, u8),
    /// The end of an uplink that receives.
    Receiver(u16, u8),
    /// A ToR switch, or a relay, with all its uplinks.
    Rack(u16),
    /// A circuit switch.
    Switch(u8),
}

impl Part {
    /// Whether what `rack` sends over `uplink` is hit.
    #[must_use]
    pub fn stops_sending(self, rack: u16, uplink: u8) -> bool {
        match self {
            Part::Link(r, u) | Part::Sender(r, u) => (r, u) == (rack, uplink),
            Part::Receiver(..) => false,
            Part::Rack(r) => r == rack,
            Part::Switch(u) => u == uplink,
        }
    }

    /// Whether what `rack` would receive over `uplink` is hit.
    #[must_use]
    pub fn stops_receiving(self, rack: u16, uplink: u8) -> bool {
        match self {
            Part::Link(r, u) | Part::Receiver(r, u) => (r, u) == (rack, uplink),
            Part::Sender(..) => false,
            Part::Rack(r) => r == rack,
            Part::Switch(u) => u == uplink,
        }
    }
}

impl Ocs {
    /// ToR switches and relays.
    #[must_use]
    pub fn nodes(&self, hosts: &Hosts) -> u16 {
        hosts.racks + self.relays
    }

    /// The class that RotorLB carries, and how; none if there is none.
    #[must_use]
    pub fn rotorlb(&self) -> Option<(Class, Offers)> {
        let classes = self.classes.iter().enumerate();
        let mut found = classes.filter_map(|(class, of)| match of.routing {
            Routing::RotorLb(offers) => Some((Class(class as u8), offers)),
            _ => None,
        });
        found.next()
    }

    /// The number of the queue of an uplink, at its ToR switch: behind those of hosts. The packet network's comes behind the last.
    #[must_use]
    #[inline]
    pub fn uplink_queue(&self, hosts: &Hosts, uplink: u8) -> u16 {
        hosts.per_rack + u16::from(uplink)
    }

    /// The number of the queue of what waits for a circuit to `next`, at its ToR switch: behind those of uplinks.
    #[must_use]
    #[inline]
    pub fn voq(&self, hosts: &Hosts, next: u16) -> u16 {
        hosts.per_rack + self.uplinks.len() as u16 + 1 + next
    }

    fn check_uplinks(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        let nodes = self.nodes(hosts);
        ensure!(
            (1..=MOST_UPLINKS).contains(&self.uplinks.len()),
            "a rack has 1 to {MOST_UPLINKS} uplinks to circuit switches, not {}",
            self.uplinks.len()
        );
        for (number, switch) in self.uplinks.iter().enumerate() {
            ensure!(
                switch.rate > Rate(0),
                "the rate of circuit switch {number} must be positive"
            );
            let of = switch.rotation.racks();
            ensure!(
                of == nodes,
                "circuit switch {number} joins {of} racks, the network has {nodes}"
            );
            ensure!(
                switch.offset < switch.rotation.week(),
                "circuit switch {number} must begin within its first cycle of {}, not at {}",
                switch.rotation.week(),
                switch.offset
            );
            let mut days = switch.rotation.configurations().iter();
            let changes = days.len() > 1;
            ensure!(
                !changes || days.all(|one| one.day > self.guard + self.guard),
                "circuit switch {number}: guard bands of {} leave nothing of a day",
                self.guard
            );
        }
        self.check_asked()?;
        let slices = Slices::of(&self.uplinks)?;
        let cycle = slices.cycle();
        ensure!(
            slices.are_static() || self.ece_in_advance.is_none_or(|before| before <= cycle),
            "ECE cannot announce circuits {} ahead: the cycle lasts {cycle}",
            self.ece_in_advance.unwrap_or_default()
        );
        match &self.notify {
            Some(notify) => self.tdns.check(notify, &slices),
            None => Ok(()),
        }
    }

    fn check_asked(&self) -> Result<(), ScenarioError> {
        let alone = |switch: &CircuitSwitch| switch.rotation.configurations().len() == 1;
        ensure!(
            self.asked.is_none() || self.uplinks.iter().all(alone),
            "circuits that are asked for follow no schedule"
        );
        ensure!(
            self.asked.is_none() || self.uplinks.len() <= MOST_CIRCUITS,
            "racks have {MOST_CIRCUITS} uplinks at most where circuits are asked for, not {}",
            self.uplinks.len()
        );
        ensure!(
            self.asked.is_none() || self.guard == Span::ZERO && self.skew == Span::ZERO,
            "circuits that are asked for need neither guard bands nor clocks"
        );
        ensure!(
            self.asked.is_none() || self.ece_in_advance.is_none(),
            "ECE announces circuits of a schedule, and those that are asked for have none"
        );
        ensure!(
            self.asked.is_none() || self.rotorlb().is_none(),
            "RotorLB polls hosts slice by slice, and circuits that are asked for have none"
        );
        Ok(())
    }

    fn check_classes(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        ensure!(
            !self.classes.is_empty(),
            "a network of circuits has one class of traffic at least"
        );
        let lists: usize = self.classes.iter().map(ClassOf::lists).sum();
        ensure!(
            lists <= MOST_LISTS,
            "queues have {MOST_LISTS} lists at most, and these classes need {lists}: one each, and one more if they trim"
        );
        let carried = |class: &&ClassOf| matches!(class.routing, Routing::RotorLb(_));
        ensure!(
            self.classes.iter().filter(carried).count() <= 1,
            "RotorLB carries one class at most: it has all circuits to itself"
        );
        for class in &self.classes {
            class.check(hosts.mtu)?;
            ensure!(
                self.packet.is_some() || class.routing != Routing::Packet,
                "the class '{}' is for a packet network, and there is none",
                class.name
            );
        }
        Ok(())
    }

    fn check_failures(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        for (index, failure) in self.failures.iter().enumerate() {
            let has_rack = |rack: u16| rack < self.nodes(hosts);
            let has_uplink = |uplink: u8| usize::from(uplink) < self.uplinks.len();
            let exists = match failure.part {
                Part::Link(rack, uplink)
                | Part::Sender(rack, uplink)
                | Part::Receiver(rack, uplink) => has_rack(rack) && has_uplink(uplink),
                Part::Rack(rack) => has_rack(rack),
                Part::Switch(uplink) => has_uplink(uplink),
            };
            ensure!(exists, "failure {index}: there is no such part");
            let end = failure.to.unwrap_or(Time::MAX);
            ensure!(
                failure.from < end,
                "failure {index}: it must begin before it ends"
            );
            let overlaps = |other: &CircuitFailure| {
                other.part == failure.part
                    && other.from < end
                    && failure.from < other.to.unwrap_or(Time::MAX)
            };
            ensure!(
                !self.failures[..index].iter().any(overlaps),
                "failure {index}: the part has failed then already"
            );
        }
        Ok(())
    }
}

impl NetworkKind for Ocs {
    fn uplinks(&self) -> u8 {
        self.uplinks.len() as u8
    }

    fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    fn first_circuits(&self) -> Vec<CrossConnect> {
        let uplinks = self.uplinks.iter().filter(|_| self.asked.is_some());
        let first = |(uplink, switch): (u8, &CircuitSwitch)| {
            let day = switch.rotation.configurations().first();
            let pairs: Vec<Pair> = day.map_or_else(Vec::new, |day| day.matching.pairs().collect());
            let plane = Plane(Plane::CIRCUIT.0 + uplink);
            pairs
                .into_iter()
                .map(move |pair| CrossConnect { plane, pair })
        };
        (0..).zip(uplinks).flat_map(first).collect()
    }

    fn forwards(&self, class: Class) -> bool {
        let of = self.classes.get(class.index());
        of.is_some_and(|of| of.routing == Routing::Shortest)
    }

    fn has_ack_bypass(&self) -> bool {
        self.ack_bypass.is_some()
    }

    fn notify(&self) -> Option<&Notify> {
        self.notify.as_ref()
    }

    fn tdns(&self, _hosts: &Hosts) -> usize {
        let slices = || Slices::of(&self.uplinks).map_or(1, |slices| slices.len());
        self.notify.map_or(1, |_| self.tdns.count(slices))
    }

    fn classes(&self) -> usize {
        self.classes.len()
    }

    fn class_of(&self, bytes: Option<u64>) -> Class {
        let last = Class(self.classes.len().saturating_sub(1) as u8);
        match (self.cutoff, bytes) {
            (None, _) => Class::default(),
            (Some(_), None) => last,
            (Some(cutoff), Some(bytes)) if bytes >= cutoff.0 => last,
            _ => Class::default(),
        }
    }

    fn looks_at_length(&self, class: Class) -> bool {
        let of = self.classes.get(class.index());
        of.is_some_and(|of| matches!(of.routing, Routing::Ucmp(_)))
    }

    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError> {
        ensure!(hosts.racks >= 2, "circuits join 2 racks at least");
        let nodes = u32::from(hosts.racks) + u32::from(self.relays);
        let queues = u32::from(hosts.per_rack) + self.uplinks.len() as u32 + 1 + nodes;
        ensure!(
            nodes + hosts.count() <= u16::MAX.into() && queues <= u16::MAX.into(),
            "there are numbers for 65535 switches and hosts, and as many queues of a switch, not for {nodes}, {} and {queues}",
            hosts.count()
        );
        ensure!(
            hosts.downlink_queue.is_none(),
            "the queues to hosts are those of the classes"
        );
        ensure!(
            self.access.is_none_or(|access| access.rate > Rate(0)),
            "the rate of links to hosts must be positive"
        );
        ensure!(
            self.access.is_some() || !self.host_queues,
            "hosts that have queues need links to their racks"
        );
        ensure!(self.most_hops > 0, "packets must go one hop at least");
        if let Some(packet) = &self.packet {
            packet.check("packet")?;
        }
        self.check_uplinks(hosts)?;
        self.check_classes(hosts)?;
        self.check_failures(hosts)
    }

    fn planes(&self, hosts: &Hosts) -> Vec<PlaneFacts> {
        let access = self.access.map_or(hosts.rate, |access| access.rate);
        let rack = Rate(access.0.saturating_mul(hosts.per_rack.into()));
        let up = self.uplinks.iter().map(|switch| switch.rate.0);
        let up = up.chain(self.packet.map(|layer| layer.rate.0));
        let up = rack.min(Rate(up.fold(0, u64::saturating_add)));
        // Queues are watched; behind them is the delay of the last link.
        let within = self.access.map_or(Span::ZERO, |access| access.delay);
        let longest = self.uplinks.iter().map(|switch| switch.delay).max();
        let across = within + longest.unwrap_or_default();
        vec![PlaneFacts {
            name: PLANES[0],
            bottlenecks: Bottlenecks::Distances(
                hosts.racks,
                [(rack, within), (up, across), (up, across)],
            ),
            in_days: false,
        }]
    }

    /// Links to hosts, then the uplinks of each rack and relay, then links of hosts if those have queues. Queues of what waits for a
    /// circuit are none of a link.
    fn ports(&self, hosts: &Hosts) -> Vec<PortFacts> {
        let mut ports = Vec::new();
        let mut add = |at, number, from, to, rate| {
            let queue = QueueId { at, number };
            ports.push(PortFacts {
                queue,
                from,
                to,
                rate,
            });
        };
        let all_hosts = || (0..hosts.count()).map(|index| (index, hosts.host(index)));
        if let Some(access) = self.access {
            for (_, host) in all_hosts() {
                let (rack, to) = (host.rack(), Place::Host(host));
                add(rack, host.number(), Place::Tor(rack), to, access.rate);
            }
        }
        let nodes = self.nodes(hosts);
        let packet = self.packet.map(|layer| layer.rate);
        for node in 0..nodes {
            let from = match node.checked_sub(hosts.racks) {
                None => Place::Tor(node),
                Some(relay) => Place::Relay(relay),
            };
            let rates = self.uplinks.iter().map(|switch| switch.rate).chain(packet);
            for (uplink, rate) in (0..).zip(rates) {
                let to = match usize::from(uplink) == self.uplinks.len() {
                    true => Place::Core(0),
                    false => Place::Circuits(uplink),
                };
                let number = self.uplink_queue(hosts, uplink as u8);
                add(node, number, from, to, rate);
            }
        }
        if self.host_queues {
            for (index, host) in all_hosts() {
                let at = (u32::from(nodes) + index) as u16;
                let (from, to) = (Place::Host(host), Place::Tor(host.rack()));
                add(at, 0, from, to, self.access.map_or(hosts.rate, |a| a.rate));
            }
        }
        ports
    }
}
