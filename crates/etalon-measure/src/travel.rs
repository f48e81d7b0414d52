// SPDX-License-Identifier: MIT OR Apache-2.0
//! How packets travel through a network of circuits: over how many hops, and what its links carry over time.

use etalon_events::QueueId;
use etalon_scenario::{Hosts, Network, Ocs, Scenario};
use etalon_units::{Span, Time};

use crate::meter::Relays;
use crate::table::{Column, Table, named};

/// More hops count as so many.
const MOST_HOPS: usize = 31;

/// Packets, and their bytes on the wire.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

/// Data packets that reached hosts, and bytes on links over time.
#[derive(Debug)]
pub(crate) struct Travels {
    /// What classes are called.
    names: Vec<String>,
    /// By class and number of hops.
    hops: Vec<[Count; MOST_HOPS + 1]>,
    /// The class whose packets RotorLB may relay.
    relaying: Option<usize>,
    over_time: Option<OverTime>,
}

/// What links carry in each interval of measured time.
#[derive(Debug)]
struct OverTime {
    interval: Span,
    began: Time,
    /// Nodes with uplinks, and the numbers of their queues in front of circuits.
    nodes: u16,
    circuits: core::ops::Range<u32>,
    /// The number of their queue to the packet network.
    to_packets: u32,
    /// Bits a second of all uplinks to circuits together, of all links to hosts, and of all NICs.
    uplinks: u64,
    to_hosts: u64,
    nics: u64,
    /// By interval: bytes that uplinks transmit, then bytes of data packets that reach hosts, by class, then bytes that hosts send, by class.
    carried: Vec<Vec<u64>>,
    classes: usize,
}

impl OverTime {
    fn new(interval: Span, began: Time, ocs: &Ocs, hosts: &Hosts) -> OverTime {
        let nodes = ocs.nodes(hosts);
        let own = u32::from(ocs.uplink_queue(hosts, 0));
        // Behind the uplinks' own queues is that of the packet network; those of what waits for a circuit follow.
        let to_packets = u32::from(ocs.uplink_queue(hosts, ocs.uplinks.len() as u8));
        let last = u32::from(ocs.voq(hosts, 0)) + u32::from(nodes);
        let each: u64 = ocs.uplinks.iter().map(|uplink| uplink.rate.0).sum();
        let to_host = ocs.access.map_or(hosts.rate, |access| access.rate);
        OverTime {
            interval,
            began,
            nodes,
            circuits: own..last,
            to_packets,
            uplinks: each * u64::from(nodes),
            to_hosts: to_host.0 * u64::from(hosts.count()),
            nics: hosts.rate.0 * u64::from(hosts.count()),
            carried: Vec::new(),
            classes: ocs.classes.len(),
        }
    }

    fn add(&mut self, now: Time, column: usize, bytes: u32) {
        let place = (now.saturating_since(self.began).0 / self.interval.0) as usize;
        let classes = self.classes;
        if self.carried.len() <= place {
            self.carried
                .resize_with(place + 1, || vec![0; 1 + 2 * classes]);
        }
        self.carried[place][column] += u64::from(bytes);
    }
}

impl Travels {
    /// Of a plan, if its network is one of circuits.
    pub(crate) fn new(plan: &Scenario) -> Option<Box<Travels>> {
        let Network::Ocs(ocs) = &plan.network else {
            return None;
        };
        let interval = plan.measure.links;
        let over = |interval| OverTime::new(interval, plan.begin(), ocs, &plan.hosts);
        Some(Box::new(Travels {
            names: ocs.classes.iter().map(|class| class.name.clone()).collect(),
            relaying: ocs.rotorlb().map(|(class, _)| class.index()),
            hops: vec![[Count::default(); MOST_HOPS + 1]; ocs.classes.len()],
            over_time: interval.map(over),
        }))
    }

    /// Whether transmissions are of interest.
    pub(crate) fn is_over_time(&self) -> bool {
        self.over_time.is_some()
    }

    /// Measurement begins.
    pub(crate) fn begin(&mut self) {
        self.hops.fill([Count::default(); MOST_HOPS + 1]);
        if let Some(over) = &mut self.over_time {
            over.carried.clear();
        }
    }

    /// A data packet has come to a host.
    pub(crate) fn arrived(&mut self, now: Time, class: u8, hops: u8, bytes: u32) {
        let class = usize::from(class).min(self.hops.len() - 1);
        let count = &mut self.hops[class][usize::from(hops).min(MOST_HOPS)];
        count.packets += 1;
        count.bytes += u64::from(bytes);
        if let Some(over) = &mut self.over_time {
            over.add(now, 1 + class, bytes);
        }
    }

    /// A host has sent a packet of any kind.
    pub(crate) fn sent(&mut self, now: Time, class: u8, bytes: u32) {
        if let Some(over) = &mut self.over_time {
            let class = usize::from(class).min(over.classes - 1);
            over.add(now, 1 + over.classes + class, bytes);
        }
    }

    /// A packet of any kind leaves a queue.
    pub(crate) fn dequeued(&mut self, now: Time, queue: QueueId, bytes: u32) {
        if let Some(over) = &mut self.over_time {
            let number = u32::from(queue.number);
            let is_uplink = queue.at < over.nodes
                && over.circuits.contains(&number)
                && number != over.to_packets;
            if is_uplink {
                over.add(now, 0, bytes);
            }
        }
    }

    /// One row for each class and number of hops of which there were packets. A packet that a host relayed has come over one hop to that host, and
    /// over another to its destination: it is one packet that took two.
    pub(crate) fn hops(&self, relays: &Relays) -> Table {
        let mut counts = self.hops.clone();
        if let Some(class) = self.relaying {
            let [_, one, two, ..] = &mut counts[class];
            one.packets -= relays.packets + relays.delivered_packets;
            one.bytes -= relays.bytes + relays.delivered_bytes;
            two.packets += relays.delivered_packets;
            two.bytes += relays.delivered_bytes;
        }
        let all = counts.iter().zip(&self.names).flat_map(|(hops, name)| {
            let numbered = hops.iter().enumerate();
            numbered.map(move |(hops, count)| (name, hops, *count))
        });
        let rows: Vec<_> = all.filter(|(.., count)| count.packets > 0).collect();
        let numbers = |f: fn(usize, Count) -> u64| {
            let values = rows.iter().map(|&(_, hops, count)| f(hops, count) as i64);
            Column::Integers(values.collect())
        };
        let names = rows.iter().map(|&(name, ..)| name.clone());
        named([
            ("class", Column::Text(names.collect())),
            ("hops", numbers(|hops, _| hops as u64)),
            ("packets", numbers(|_, count| count.packets)),
            ("bytes", numbers(|_, count| count.bytes)),
        ])
    }

    /// One row for each interval, of uplinks, and of hosts' both directions by class; the last interval may be shorter.
    pub(crate) fn links(&self, end: Time) -> Table {
        let Some(over) = &self.over_time else {
            return Table::new();
        };
        let whole = end.saturating_since(over.began).0;
        let (mut starts, mut links, mut classes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bytes, mut shares) = (Vec::new(), Vec::new());
        for place in 0..whole.div_ceil(over.interval.0) {
            let start = place * over.interval.0;
            let span = over.interval.0.min(whole - start);
            for column in 0..=2 * over.classes {
                let row = over.carried.get(place as usize);
                let carried = row.map_or(0, |row| row[column]);
                let (name, class, rate) = match column {
                    0 => ("uplinks", "all", over.uplinks),
                    _ if column <= over.classes => {
                        ("to hosts", &*self.names[column - 1], over.to_hosts)
                    }
                    _ => {
                        let name = &*self.names[column - 1 - over.classes];
                        ("from hosts", name, over.nics)
                    }
                };
                starts.push((over.began.0 + start) as i64);
                links.push(name.to_owned());
                classes.push(class.to_owned());
                bytes.push(carried as i64);
                shares.push(8e9 * carried as f64 / (rate as f64 * span as f64));
            }
        }
        named([
            ("t_ns", Column::Integers(starts)),
            ("links", Column::Text(links)),
            ("class", Column::Text(classes)),
            ("bytes", Column::Integers(bytes)),
            ("utilization", Column::Floats(shares)),
        ])
    }
}
