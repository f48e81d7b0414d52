// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small network for NDP, apart from the simulator's: links in a row, each with a queue of packets and one of headers.

use std::collections::{BTreeMap, VecDeque};

use etalon_transports::ndp::{Config, Header, Kind, Puller, Receiver, Sender};

/// Picoseconds that a byte takes at 10 Gb/s.
pub const BYTE: u64 = 800;
const MICROSECOND: u64 = 1_000_000;

/// Who paces pulls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacer {
    Host,
    Flow,
}

#[derive(Clone, Copy, Debug)]
struct Inside {
    flow: usize,
    packet: Header,
    bytes: u64,
    trimmed: bool,
    returned: bool,
    /// Links that it has still to pass, and how many it has passed.
    hop: usize,
}

/// A port: packets and headers in front of a link.
#[derive(Debug)]
struct Port {
    delay: u64,
    room: u64,
    data: VecDeque<Inside>,
    headers: VecDeque<Inside>,
    /// Headers served since the last packet.
    served: u32,
    busy: bool,
}

#[derive(Debug)]
enum Event {
    Start(usize),
    Free(usize),
    Arrive(usize, Inside),
    Pull(usize),
    Timer(usize),
}

#[derive(Debug)]
pub struct Flow {
    sender: Sender,
    receiver: Receiver,
    bytes: u64,
    pub completed: Option<u64>,
    pub acked: Option<u64>,
    /// Links from sender to receiver, and back.
    forth: Vec<usize>,
    back: Vec<usize>,
}

/// Senders of one receiver.
#[derive(Debug)]
pub struct Model {
    config: Config,
    ports: Vec<Port>,
    pub flows: Vec<Flow>,
    pullers: Vec<Puller<usize>>,
    pacer: Pacer,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    now: u64,
    random: u64,
    pub trimmed: u32,
    pub returned: u32,
}

impl Model {
    /// Flows of these sizes from hosts of their own into one, over so many links between switches of 500 ns each; ports have room for
    /// `room` bytes of packets, and of headers.
    pub fn new(sizes: &[u64], switches: usize, room: u64, config: Config, pacer: Pacer) -> Model {
        let mut model = Model {
            config,
            ports: Vec::new(),
            flows: Vec::new(),
            pullers: Vec::new(),
            pacer,
            events: BTreeMap::new(),
            count: 0,
            now: 0,
            random: 88_172_645_463_325_252,
            trimmed: 0,
            returned: 0,
        };
        let pacers = if pacer == Pacer::Flow { sizes.len() } else { 1 };
        model.pullers = (0..pacers).map(|_| Puller::new(config.spacing)).collect();
        let down = model.port(0, room);
        let nic_of_receiver = model.port(0, u64::MAX);
        for (index, &bytes) in sizes.iter().enumerate() {
            let mut forth = vec![model.port(0, u64::MAX)];
            let mut back = vec![nic_of_receiver];
            for _ in 0..switches {
                forth.push(model.port(MICROSECOND / 2, room));
                back.push(model.port(MICROSECOND / 2, room));
            }
            forth.push(down);
            back.push(model.port(0, room));
            model.flows.push(Flow {
                sender: Sender::new(Some(bytes), &config),
                receiver: Receiver::new(),
                bytes,
                completed: None,
                acked: None,
                forth,
                back,
            });
            model.at(0, Event::Start(index));
        }
        model
    }

    fn port(&mut self, delay: u64, room: u64) -> usize {
        self.ports.push(Port {
            delay,
            room,
            data: VecDeque::new(),
            headers: VecDeque::new(),
            served: 0,
            busy: false,
        });
        self.ports.len() - 1
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    fn coin(&mut self) -> bool {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random & 1 == 0
    }

    fn ns(&self) -> u64 {
        self.now / 1000
    }

    /// Runs to the end, and checks that all arrived. Returns the last completion at the receiver, in picoseconds.
    pub fn run(&mut self) -> u64 {
        while let Some(((time, _), event)) = self.events.pop_first() {
            self.now = time;
            match event {
                Event::Start(flow) => self.send(flow),
                Event::Free(port) => {
                    self.ports[port].busy = false;
                    self.serve(port);
                }
                Event::Arrive(port, inside) => self.arrive(port, inside),
                Event::Pull(puller) => self.pull(puller),
                Event::Timer(flow) => {
                    self.flows[flow].sender.on_timer(time / 1000, &self.config);
                    self.send(flow);
                }
            }
        }
        for flow in &self.flows {
            assert!(flow.receiver.is_complete() && flow.sender.is_done());
            assert_eq!(flow.receiver.bytes(), flow.bytes);
        }
        let ends = self
            .flows
            .iter()
            .map(|flow| flow.completed.expect("an end"));
        ends.max().unwrap_or_default()
    }

    fn wire(&self, packet: &Header) -> u64 {
        let len = match packet.kind {
            // With padding all are as long as the first one.
            Kind::Data if self.config.padded => u64::from(self.config.payload),
            _ => packet.len.into(),
        };
        len + u64::from(self.config.header)
    }

    fn send(&mut self, index: usize) {
        let now = self.ns();
        while let Some(packet) = self.flows[index].sender.poll(now, &self.config) {
            self.enter(index, packet);
        }
        let timer = self.flows[index].sender.next_timer(&self.config);
        if timer < u64::MAX {
            self.at((timer * 1000).max(self.now + 1), Event::Timer(index));
        }
    }

    fn enter(&mut self, flow: usize, packet: Header) {
        let inside = Inside {
            flow,
            packet,
            bytes: self.wire(&packet),
            trimmed: false,
            returned: false,
            hop: 0,
        };
        self.queue(inside);
    }

    fn way(&self, inside: &Inside) -> &[usize] {
        let flow = &self.flows[inside.flow];
        match inside.packet.is_data() && !inside.returned {
            true => &flow.forth,
            false => &flow.back,
        }
    }

    fn queue(&mut self, mut inside: Inside) {
        let number = self.way(&inside)[inside.hop];
        let header = u64::from(self.config.header);
        let tosses = self.coin();
        let port = &mut self.ports[number];
        let held: u64 = port.data.iter().map(|i| i.bytes).sum();
        if inside.packet.is_data() && !inside.trimmed {
            if held.saturating_add(inside.bytes) <= port.room {
                port.data.push_back(inside);
                return self.serve(number);
            }
            self.trimmed += 1;
            if let (true, Some(last)) = (tosses, port.data.back_mut()) {
                core::mem::swap(last, &mut inside);
            }
            inside.trimmed = true;
            inside.bytes = header;
        }
        if (port.headers.len() as u64 + 1).saturating_mul(header) <= port.room {
            port.headers.push_back(inside);
            self.serve(number);
        } else if inside.packet.is_data() && !inside.returned {
            // Back along the way: from the switch where it is.
            self.returned += 1;
            inside.returned = true;
            inside.hop = self.way(&inside).len() - inside.hop;
            if inside.hop < self.way(&inside).len() {
                self.queue(inside);
            } else {
                self.at(self.now, Event::Arrive(usize::MAX, inside));
            }
        }
    }

    fn serve(&mut self, number: usize) {
        let port = &mut self.ports[number];
        if port.busy {
            return;
        }
        let header_first = port.data.is_empty() || port.served < 10;
        let inside = if !port.headers.is_empty() && header_first {
            port.served += 1;
            port.headers.pop_front()
        } else {
            port.served = 0;
            port.data.pop_front()
        };
        let Some(inside) = inside else { return };
        port.busy = true;
        let (delay, done) = (port.delay, self.now + inside.bytes * BYTE);
        self.at(done, Event::Free(number));
        self.at(done + delay, Event::Arrive(number, inside));
    }

    fn arrive(&mut self, _port: usize, mut inside: Inside) {
        inside.hop += 1;
        if inside.hop < self.way(&inside).len() {
            return self.queue(inside);
        }
        let (index, now) = (inside.flow, self.ns());
        let flow = &mut self.flows[index];
        if inside.returned {
            flow.sender.on_return(now, inside.packet.seq);
        } else if !inside.packet.is_data() {
            flow.sender.on_answer(now, &inside.packet, &self.config);
            if flow.sender.is_done() && flow.acked.is_none() {
                flow.acked = Some(self.now);
            }
        } else {
            let number = if self.pacer == Pacer::Flow { index } else { 0 };
            let puller = &mut self.pullers[number];
            let came = (&inside.packet, inside.trimmed);
            let before = puller.next_time();
            let answer = flow
                .receiver
                .on_data(now, came, &self.config, (puller, index));
            if flow.receiver.is_complete() && flow.completed.is_none() {
                flow.completed = Some(self.now);
            }
            let next = puller.next_time();
            if next < before {
                self.at((next * 1000).max(self.now), Event::Pull(number));
            }
            return self.enter(index, answer);
        }
        self.send(index);
    }

    fn pull(&mut self, number: usize) {
        let now = self.ns();
        let flows = &mut self.flows;
        let turn = |index: usize| flows[index].receiver.on_turn();
        if let Some((flow, pull)) = self.pullers[number].take(now, turn) {
            self.enter(flow, pull);
        }
        let next = self.pullers[number].next_time();
        if next < u64::MAX {
            self.at((next * 1000).max(self.now), Event::Pull(number));
        }
    }
}
