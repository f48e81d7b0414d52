// SPDX-License-Identifier: MIT OR Apache-2.0
//! The TCP connections that programs make, as their segments at NICs tell, and the datagrams of UDP that they send.
//!
//! Each direction in which data is sent is a flow, numbered after the plan's in the order in which they appear: the client's from its
//! SYN on, the server's from its first data on. Memory holds the connections that are open, and some that are over, of which packets
//! may still come. UDP has no connections: a flow is what one socket address sends to another, from its first datagram on.

use alloc::collections::{BTreeMap, VecDeque};

use etalon_events::{Event, HostId, MOST_FLOWS};
use etalon_net::FourTuple;

use crate::Sent;

/// Connections that are remembered after they are over.
const MOST_OVER: usize = 4096;

/// The connections that there are.
#[derive(Debug)]
pub(crate) struct Connections {
    /// By what the client calls them.
    known: BTreeMap<FourTuple, Connection>,
    /// Those that are over, and their clients' flows, the oldest first.
    over: VecDeque<(FourTuple, Option<u32>)>,
    /// What was sent by UDP.
    datagrams: BTreeMap<FourTuple, Datagrams>,
    /// The number of the next flow.
    next: u32,
}

/// The datagrams from one socket address to another.
#[derive(Clone, Copy, Debug)]
struct Datagrams {
    flow: u32,
    /// Bytes so far, modulo 2^32: the place of the next one's first.
    bytes: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Connection {
    /// What each end sends: the client, then the server.
    halves: [Half; 2],
    is_over: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Half {
    flow: Option<u32>,
    /// Sequence number of its first byte.
    first_byte: u32,
    /// Sequence number after its FIN, once that was sent.
    end: Option<u32>,
    /// Its FIN was acknowledged.
    acknowledged: bool,
}

impl Half {
    fn from_syn(sent: &Sent) -> Half {
        Half {
            first_byte: sent.seq.wrapping_add(1),
            ..Half::default()
        }
    }
}

impl Connections {
    /// None yet, beside so many flows of the plan.
    pub(crate) fn new(flows: usize) -> Connections {
        Connections {
            known: BTreeMap::new(),
            over: VecDeque::new(),
            datagrams: BTreeMap::new(),
            next: flows as u32,
        }
    }

    /// A host gives a segment, which is of no flow of the plan, to its NIC. Says what begins and ends with it; returns the flow
    /// that it belongs to, and whether it goes that flow's way. What belongs to a connection that is long over has none.
    pub(crate) fn sent(
        &mut self,
        ends: (HostId, HostId),
        tuple: FourTuple,
        sent: &Sent,
        mut say: impl FnMut(Event),
    ) -> Option<(u32, bool)> {
        let (client, from) = self.find(tuple, sent)?;
        let connection = self.known.entry(client).or_default();
        let half = &mut connection.halves[from];
        if sent.syn {
            *half = Half {
                flow: half.flow,
                ..Half::from_syn(sent)
            };
        }
        let begins = half.flow.is_none() && (from == 0 || sent.payload > 0);
        if begins && self.next < MOST_FLOWS {
            half.flow = Some(self.next);
            say(Event::Opened {
                flow: self.next,
                src: ends.0,
                dst: ends.1,
                src_port: sent.ports.0,
                dst_port: sent.ports.1,
                seq: half.first_byte,
                udp: false,
            });
            self.next += 1;
        }
        if sent.fin && half.end.is_none() {
            let seq = sent.seq.wrapping_add(sent.payload.into());
            half.end = Some(seq.wrapping_add(1));
            if let Some(flow) = half.flow {
                let reset = false;
                say(Event::Closed { flow, seq, reset });
            }
        }
        let other = &mut connection.halves[1 - from];
        other.acknowledged |= other.end == Some(sent.ack);
        let halves = connection.halves;
        if sent.rst && !connection.is_over {
            for flow in halves.iter().filter_map(|half| half.flow) {
                let (seq, reset) = (0, true);
                say(Event::Closed { flow, seq, reset });
            }
        }
        let ends = sent.rst || halves.iter().all(|half| half.acknowledged);
        if ends && !connection.is_over {
            connection.is_over = true;
            self.over.push_back((client, halves[0].flow));
            self.forget();
        }
        match halves[from].flow {
            Some(flow) => Some((flow, true)),
            None => halves[1 - from].flow.map(|flow| (flow, false)),
        }
    }

    /// A host gives a datagram with data to its NIC. Says if a flow begins with it; returns the flow, and the place of the
    /// datagram's first byte among all that were sent of it.
    pub(crate) fn sent_datagram(
        &mut self,
        ends: (HostId, HostId),
        tuple: FourTuple,
        payload: u16,
        mut say: impl FnMut(Event),
    ) -> Option<(u32, u32)> {
        if !self.datagrams.contains_key(&tuple) {
            if self.next >= MOST_FLOWS {
                return None;
            }
            say(Event::Opened {
                flow: self.next,
                src: ends.0,
                dst: ends.1,
                src_port: tuple.src.1,
                dst_port: tuple.dst.1,
                seq: 0,
                udp: true,
            });
            let first = Datagrams {
                flow: self.next,
                bytes: 0,
            };
            self.datagrams.insert(tuple, first);
            self.next += 1;
        }
        let sent = self.datagrams.get_mut(&tuple)?;
        let place = sent.bytes;
        sent.bytes = place.wrapping_add(payload.into());
        Some((sent.flow, place))
    }

    /// Forgets the connection that has been over for longest, if there are many.
    fn forget(&mut self) {
        if self.over.len() <= MOST_OVER {
            return;
        }
        if let Some((client, flow)) = self.over.pop_front() {
            let of_that_name = self.known.get(&client);
            if of_that_name.is_some_and(|known| known.halves[0].flow == flow) {
                self.known.remove(&client);
            }
        }
    }

    /// The connection that a segment belongs to, by what its client calls it, and which of its ends sends the segment. A SYN
    /// makes one; one with another sequence number than before ends the connection that had its name.
    fn find(&mut self, tuple: FourTuple, sent: &Sent) -> Option<(FourTuple, usize)> {
        let opposite = tuple.opposite();
        match self.known.get(&tuple) {
            Some(known) if sent.syn && known.halves[0].first_byte != sent.seq.wrapping_add(1) => {
                self.known.remove(&tuple);
                Some((tuple, 0))
            }
            Some(_) => Some((tuple, 0)),
            None if self.known.contains_key(&opposite) => Some((opposite, 1)),
            None => (sent.syn && sent.ack == 0).then_some((tuple, 0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const CLIENT: (u32, u16) = (0, 50_000);
    const SERVER: (u32, u16) = (3, 5201);
    const ENDS: (HostId, HostId) = (HostId::new(0, 0), HostId::new(1, 1));

    /// Connections beside ten flows of a plan, and what was said.
    struct Watched {
        connections: Connections,
        said: Vec<Event>,
    }

    impl Watched {
        fn new() -> Watched {
            Watched {
                connections: Connections::new(10),
                said: Vec::new(),
            }
        }

        fn send(&mut self, from: (u32, u16), to: (u32, u16), sent: Sent) -> Option<(u32, bool)> {
            let tuple = FourTuple { src: from, dst: to };
            let sent = Sent {
                ports: (from.1, to.1),
                ..sent
            };
            let ends = if from.0 == 0 { ENDS } else { (ENDS.1, ENDS.0) };
            let said = &mut self.said;
            self.connections
                .sent(ends, tuple, &sent, |event| said.push(event))
        }

        fn client(&mut self, sent: Sent) -> Option<(u32, bool)> {
            self.send(CLIENT, SERVER, sent)
        }

        fn server(&mut self, sent: Sent) -> Option<(u32, bool)> {
            self.send(SERVER, CLIENT, sent)
        }

        fn take(&mut self) -> Vec<Event> {
            core::mem::take(&mut self.said)
        }
    }

    fn syn(seq: u32, ack: u32) -> Sent {
        Sent {
            syn: true,
            ..data(seq, ack, 0)
        }
    }

    fn data(seq: u32, ack: u32, payload: u16) -> Sent {
        Sent {
            seq,
            ack,
            payload,
            tcp: true,
            ..Sent::default()
        }
    }

    fn fin(seq: u32, ack: u32, payload: u16) -> Sent {
        Sent {
            fin: true,
            ..data(seq, ack, payload)
        }
    }

    fn opened(flow: u32, forth: bool, seq: u32) -> Event {
        let ((src, src_port), (dst, dst_port)) = match forth {
            true => ((ENDS.0, CLIENT.1), (ENDS.1, SERVER.1)),
            false => ((ENDS.1, SERVER.1), (ENDS.0, CLIENT.1)),
        };
        Event::Opened {
            flow,
            src,
            dst,
            src_port,
            dst_port,
            seq,
            udp: false,
        }
    }

    fn closed(flow: u32, seq: u32) -> Event {
        let reset = false;
        Event::Closed { flow, seq, reset }
    }

    #[test]
    fn a_connection_is_a_flow_and_another_if_its_server_sends() {
        let mut net = Watched::new();
        assert_eq!(net.client(syn(100, 0)), Some((10, true)));
        assert_eq!(net.take(), [opened(10, true, 101)]);
        assert_eq!(net.server(syn(900, 101)), Some((10, false)));
        assert_eq!(net.client(data(101, 901, 50)), Some((10, true)));
        assert_eq!(net.server(data(901, 151, 0)), Some((10, false)));
        assert_eq!(net.take(), []);
        assert_eq!(net.server(data(901, 151, 7)), Some((11, true)));
        assert_eq!(net.take(), [opened(11, false, 901)]);
        assert_eq!(net.server(data(908, 151, 0)), Some((11, true)));
        assert_eq!(net.client(fin(151, 908, 9)), Some((10, true)));
        assert_eq!(net.client(fin(151, 908, 9)), Some((10, true))); // sent again
        assert_eq!(net.take(), [closed(10, 160)]);
        assert_eq!(net.server(fin(908, 161, 0)), Some((11, true)));
        assert_eq!(net.take(), [closed(11, 908)]);
        assert!(net.connections.over.is_empty()); // the server's FIN may be lost
        assert_eq!(net.client(data(161, 909, 0)), Some((10, true)));
        assert_eq!(net.connections.over.len(), 1);
        // What is sent again is still known.
        assert_eq!(net.server(fin(908, 161, 0)), Some((11, true)));
        assert_eq!((net.take().len(), net.connections.over.len()), (0, 1));
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection() {
        let mut net = Watched::new();
        net.client(syn(100, 0));
        assert_eq!(net.client(syn(100, 0)), Some((10, true))); // sent again
        assert_eq!(net.take(), [opened(10, true, 101)]);
        assert_eq!(net.client(syn(u32::MAX, 0)), Some((11, true)));
        assert_eq!(net.take(), [opened(11, true, 0)]);
        assert_eq!(net.connections.known.len(), 1);
    }

    #[test]
    fn what_is_long_over_is_forgotten() {
        let mut net = Watched::new();
        for number in 0..3 * MOST_OVER as u32 {
            net.client(syn(100 * number, 0));
            let rst = Sent {
                rst: true,
                ..data(100 * number + 1, 1, 0)
            };
            let client = (0, 50_000 + (number % 10_000) as u16);
            net.send(client, SERVER, syn(100 * number, 0));
            net.send(client, SERVER, rst);
        }
        assert_eq!(net.connections.over.len(), MOST_OVER);
        assert!(net.connections.known.len() <= MOST_OVER + 1);
    }

    #[test]
    fn a_reset_ends_both_directions() {
        let mut net = Watched::new();
        net.client(syn(100, 0));
        net.server(syn(900, 101));
        net.server(data(901, 101, 1));
        net.take();
        let rst = Sent {
            rst: true,
            ..data(101, 902, 0)
        };
        assert_eq!(net.client(rst), Some((10, true)));
        let reset = |flow| Event::Closed {
            flow,
            seq: 0,
            reset: true,
        };
        assert_eq!(net.take(), [reset(10), reset(11)]);
        // What the server sent before it heard of that.
        assert_eq!(net.server(data(902, 101, 1)), Some((11, true)));
        assert_eq!(net.take(), []);
    }

    #[test]
    fn what_one_address_sends_another_by_udp_is_a_flow() {
        let mut net = Watched::new();
        let mut send = |from: (u32, u16), to: (u32, u16), payload| {
            let tuple = FourTuple { src: from, dst: to };
            let ends = if from.0 == 0 { ENDS } else { (ENDS.1, ENDS.0) };
            let mut began = false;
            let sent = net
                .connections
                .sent_datagram(ends, tuple, payload, |event| {
                    began = matches!(event, Event::Opened { udp: true, .. });
                });
            (sent, began)
        };
        assert_eq!(send(CLIENT, SERVER, 1000), (Some((10, 0)), true));
        assert_eq!(send(CLIENT, SERVER, 400), (Some((10, 1000)), false));
        // What is sent back is another flow, and so is what goes to another port.
        assert_eq!(send(SERVER, CLIENT, 7), (Some((11, 0)), true));
        assert_eq!(send(CLIENT, (3, 53), 7), (Some((12, 0)), true));
        assert_eq!(send(CLIENT, SERVER, 9), (Some((10, 1400)), false));
        // TCP between the same addresses is not the same flow.
        assert_eq!(net.client(syn(100, 0)), Some((13, true)));
    }

    #[test]
    fn what_has_no_beginning_is_nobodys() {
        let mut net = Watched::new();
        assert_eq!(net.client(data(1, 1, 10)), None);
        assert_eq!(net.server(syn(900, 101)), None); // an answer to nothing
        assert_eq!(net.take(), []);
    }
}
