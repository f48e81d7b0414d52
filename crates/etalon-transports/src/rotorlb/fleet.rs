// SPDX-License-Identifier: MIT OR Apache-2.0
//! All hosts of RotorLB, and what they agree upon when their racks are connected.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::commit::{Commit, Part, Which};
use super::host::{Bulk, Host, Queues, Sending};
use super::shares::{share, share_matrix};

/// Parameters of RotorLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Hosts in a rack: as many as a rack has uplinks, or capacity is shared otherwise.
    pub hosts: u32,
    /// Packets may go by a host of another rack.
    pub two_hops: bool,
}

/// What a circuit is for each host of the two racks that it joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// The uplink that leads there.
    pub uplink: u8,
    /// Packets that a host may send or receive over it while it lasts.
    pub slots: u32,
    /// Time from one such packet to the next, in picoseconds.
    pub slot: u64,
    /// Hosts send nothing over it from then on, `u64::MAX` for never, even if they are late.
    pub until: u64,
}

/// All hosts. Numbers of hosts count through the racks.
#[derive(Clone, Debug)]
pub struct Fleet {
    config: Config,
    hosts: Vec<Host>,
}

impl Fleet {
    /// The hosts of so many racks, with nothing to send.
    #[must_use]
    pub fn new(config: Config, racks: u32) -> Fleet {
        Fleet {
            config,
            hosts: vec![Host::default(); (racks * config.hosts) as usize],
        }
    }

    /// A host has a flow to send: packets with numbers from 0.
    pub fn write(&mut self, from: u32, to: u32, flow: u32, packets: u32) {
        if packets > 0 {
            let queue = self.hosts[from as usize].own.entry(to).or_default();
            queue.push_back(flow, 0, packets);
        }
    }

    /// A packet arrives at a host. Whether that is where it is to be; if not, the host relays it.
    pub fn arrives(&mut self, host: u32, packet: Bulk) -> bool {
        let is_there = packet.to == host;
        if !is_there {
            let queue = self.hosts[host as usize]
                .relayed
                .entry(packet.to)
                .or_default();
            queue.push_back(packet.flow, packet.seq, 1);
        }
        is_there
    }

    /// A packet could not leave in time: it is back at the front of its queue at `host`, which sends it itself or `relays` it.
    pub fn give_back(&mut self, host: u32, packet: Bulk, relays: bool) {
        let host = &mut self.hosts[host as usize];
        let queues = if relays {
            &mut host.relayed
        } else {
            &mut host.own
        };
        queues
            .entry(packet.to)
            .or_default()
            .push_front(packet.flow, packet.seq);
    }

    /// A host gives up a flow, of which it has no packet any more; what others relay goes on.
    pub fn give_up(&mut self, from: u32, to: u32, flow: u32) {
        let host = &mut self.hosts[from as usize];
        if let Some(queue) = host.own.get_mut(&to) {
            queue.remove(flow);
            if queue.len() == 0 {
                host.own.remove(&to);
            }
        }
        for commit in &mut host.commits {
            commit.remove(flow);
        }
    }

    /// Packets that wait at a host, in queues or for their slots: its own, and what it relays.
    #[must_use]
    pub fn waiting(&self, host: u32) -> (u64, u64) {
        let host = &self.hosts[host as usize];
        let waiting = |which, queues: &Queues| {
            let planned = host.commits.iter().flat_map(Commit::rest);
            let planned = planned.filter(|planned| planned.which == which).count() as u64;
            planned
                + queues
                    .values()
                    .map(|queue| u64::from(queue.len()))
                    .sum::<u64>()
        };
        (
            waiting(Which::Own, &host.own),
            waiting(Which::Relayed, &host.relayed),
        )
    }

    /// When a host next may have something to send, `u64::MAX` if not before racks meet again.
    #[must_use]
    pub fn next_time(&self, host: u32) -> u64 {
        self.hosts[host as usize].next_time()
    }

    /// What a host sends now, or nothing in this slot: to be asked while [`Fleet::next_time`] is not later than `now`.
    pub fn poll(&mut self, host: u32, now: u64) -> Option<Sending> {
        self.hosts[host as usize].pass(now)
    }

    /// A circuit leads from one rack to another from now on, to itself if it leads nowhere: what hosts send over it. What they had agreed
    /// upon for this uplink is over. `draw` returns a random number below its argument.
    pub fn meet(
        &mut self,
        now: u64,
        (from, to): (u32, u32),
        circuit: &Circuit,
        mut draw: impl FnMut(u32) -> u32,
    ) {
        let n = self.config.hosts;
        let (senders, receivers) = (from * n..(from + 1) * n, to * n..(to + 1) * n);
        let of_senders = &mut self.hosts[from as usize * n as usize..][..n as usize];
        for host in &mut *of_senders {
            host.end(circuit.uplink);
        }
        if of_senders.iter().all(Host::is_idle) {
            return;
        }
        let mut parts = vec![Vec::new(); n as usize];
        let mut send = vec![circuit.slots; n as usize];
        let mut receive = send.clone();
        if from != to {
            let most = circuit.slots / n;
            if self.config.two_hops {
                let room = (&mut send[..], &mut receive[..]);
                self.second_hops(&senders, &receivers, most, room, &mut parts);
            }
            let wants: Vec<Vec<u32>> = senders
                .clone()
                .map(|s| {
                    receivers
                        .clone()
                        .map(|r| self.hosts[s as usize].own_len(r))
                        .collect()
                })
                .collect();
            let direct = share_matrix(&wants, &mut send, &mut receive, &mut draw);
            for (row, parts) in direct.iter().zip(&mut parts) {
                for (to, &packets) in receivers.clone().zip(row) {
                    push(parts, Which::Own, (to, to), packets);
                }
            }
            if self.config.two_hops {
                let proposed = self.propose(&senders, &receivers, &send, &mut draw);
                for (relay, room) in receivers.clone().zip(receive) {
                    self.accept(
                        relay,
                        (room, most.saturating_mul(2)),
                        &proposed,
                        &mut parts,
                        &mut draw,
                    );
                }
            }
        }
        for (host, parts) in senders.zip(parts) {
            self.hosts[host as usize].commit(now, circuit, parts);
        }
    }

    /// What was relayed comes first.
    fn second_hops(
        &self,
        senders: &Range<u32>,
        receivers: &Range<u32>,
        most: u32,
        (send, receive): (&mut [u32], &mut [u32]),
        parts: &mut [Vec<Part>],
    ) {
        for (s, from) in senders.clone().enumerate() {
            for (r, to) in receivers.clone().enumerate() {
                let waiting = self.hosts[from as usize].relayed_len(to);
                let packets = waiting.min(most);
                send[s] -= packets;
                receive[r] -= packets;
                push(&mut parts[s], Which::Relayed, (to, to), packets);
            }
        }
    }

    /// What each sender would have relayed, with what it may still send: by destination.
    fn propose(
        &self,
        senders: &Range<u32>,
        receivers: &Range<u32>,
        send: &[u32],
        draw: &mut impl FnMut(u32) -> u32,
    ) -> Vec<Vec<(u32, u32)>> {
        let propose = |(from, &capacity): (u32, &u32)| {
            let own = self.hosts[from as usize].own.iter();
            let others = own.filter(|(to, _)| !receivers.contains(to));
            let (to, wants): (Vec<u32>, Vec<u32>) =
                others.map(|(&to, queue)| (to, queue.len())).unzip();
            let given = share(&wants, capacity, draw);
            to.into_iter()
                .zip(given)
                .filter(|given| given.1 > 0)
                .collect()
        };
        senders.clone().zip(send).map(propose).collect()
    }

    /// What one receiver relays of it: it has room for two visits' worth of what it may send on to each destination.
    fn accept(
        &self,
        relay: u32,
        (capacity, most): (u32, u32),
        proposed: &[Vec<(u32, u32)>],
        parts: &mut [Vec<Part>],
        draw: &mut impl FnMut(u32) -> u32,
    ) {
        let host = &self.hosts[relay as usize];
        let mut all: Vec<(u32, usize, u32)> = Vec::new();
        for (s, proposed) in proposed.iter().enumerate() {
            all.extend(proposed.iter().map(|&(to, packets)| (to, s, packets)));
        }
        all.sort_unstable();
        for same in all.chunk_by_mut(|a, b| a.0 == b.0) {
            let to = same[0].0;
            let room = most.saturating_sub(host.own_len(to).saturating_add(host.relayed_len(to)));
            let wants: Vec<u32> = same.iter().map(|entry| entry.2).collect();
            for (entry, given) in same.iter_mut().zip(share(&wants, room, draw)) {
                entry.2 = given;
            }
        }
        let wants: Vec<u32> = all.iter().map(|entry| entry.2).collect();
        let given = share(&wants, capacity, draw);
        for (&(to, s, _), packets) in all.iter().zip(given) {
            push(&mut parts[s], Which::Own, (to, relay), packets);
        }
    }
}

fn push(parts: &mut Vec<Part>, which: Which, (to, via): (u32, u32), packets: u32) {
    if packets > 0 {
        parts.push(Part {
            which,
            to,
            via,
            packets,
            sent: 0,
        });
    }
}
