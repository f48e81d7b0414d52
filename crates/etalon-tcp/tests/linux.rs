// SPDX-License-Identifier: MIT OR Apache-2.0
//! Against the kernel of the Linux engine, segment by segment: flows over a bottleneck with a short queue, whose data segments Linux
//! sent at the times in `linux/*.txt`, as `linux/record.py` recorded them. Each case says how many of them this TCP
//! sends as well, in the same order and within two microseconds; where that is not all, the case says why.
use crate::common::{MS, US};
use etalon_tcp::cc::Any;
use etalon_tcp::{Config, Connection, Segment};
use std::collections::{BTreeMap, VecDeque};

/// Flows from hosts with NICs of 10 Gb/s over one bottleneck, which carries 20 Mb/s, holds so many packets, that in transmission
/// among them, and lies a millisecond from the receivers; ACKs take a millisecond back.
struct Case {
    name: &'static str,
    cc: &'static str,
    queue: usize,
    /// When each flow starts, in milliseconds, and its bytes.
    flows: &'static [(u64, u64)],
    sack: bool,
    timestamps: bool,
    initial_cwnd: u32,
    min_rto: u64,
    /// Segments of each flow that are Linux's.
    same: &'static [usize],
}

const CASE: Case = Case {
    name: "",
    cc: "reno",
    queue: 1,
    flows: &[(20, 200_000)],
    sack: true,
    timestamps: true,
    initial_cwnd: 10,
    min_rto: 200 * MS,
    same: &[],
};

const NIC: u64 = 10_000_000_000;
const BOTTLENECK: u64 = 20_000_000;

/// Time on a link, and in which order events of the same instant come.
type When = (u64, u64);

#[derive(Clone, Debug)]
enum Event {
    Start(usize),
    /// A segment of a flow leaves the client's or the server's NIC.
    Leaves(usize, bool, Segment),
    /// The bottleneck has sent a packet.
    Sent,
    Arrives(usize, bool, Segment),
}

struct Flow {
    ends: [Connection<Any>; 2],
    nic_free: [u64; 2],
    first: u32,
    bytes: u64,
    started: bool,
    sent: Vec<(u64, u32, u16)>,
}

struct Network {
    flows: Vec<Flow>,
    queue: VecDeque<(usize, Segment)>,
    places: usize,
    events: BTreeMap<When, Event>,
    order: u64,
    now: u64,
}

/// Nanoseconds that a segment takes on a link, with its IP and Ethernet headers.
fn transmission(segment: &Segment, rate: u64) -> u64 {
    let bytes = 34 + u64::from(segment.header_len()) + u64::from(segment.len);
    (bytes * 8 * 1_000_000_000).div_ceil(rate)
}

impl Network {
    fn new(case: &Case) -> Network {
        let config = Config {
            mss: if case.timestamps { 1448 } else { 1460 },
            sack: case.sack,
            timestamps: case.timestamps,
            initial_cwnd: case.initial_cwnd,
            tso_win_divisor: 100,
            min_rto: case.min_rto,
            waits_for_room: Some(4 << 20), // as the programs did that were recorded
            ..Config::default()
        };
        let cc = || Any::by_name(case.cc, &[]).expect("a registered name");
        let flow = |&(_, bytes): &(u64, u64)| Flow {
            ends: [
                Connection::client(config.clone(), cc()),
                Connection::server(config.clone(), cc()),
            ],
            nic_free: [0; 2],
            first: config.initial_seq,
            bytes,
            started: false,
            sent: Vec::new(),
        };
        let mut network = Network {
            flows: case.flows.iter().map(flow).collect(),
            queue: VecDeque::new(),
            places: case.queue,
            events: BTreeMap::new(),
            order: 0,
            now: 0,
        };
        for (index, &(start, _)) in case.flows.iter().enumerate() {
            network.at(start * MS, Event::Start(index));
        }
        network
    }

    fn at(&mut self, time: u64, event: Event) {
        self.order += 1;
        self.events.insert((time, self.order), event);
    }

    /// Hands what both ends of a flow want to send to their NICs.
    fn drain(&mut self, index: usize) {
        for side in 0..2 {
            while let Some(segment) = self.flows[index].ends[side].poll_transmit(self.now) {
                let flow = &mut self.flows[index];
                let free = &mut flow.nic_free[side];
                *free = self.now.max(*free) + transmission(&segment, NIC);
                let leaves = *free;
                self.at(leaves, Event::Leaves(index, side == 0, segment));
            }
        }
    }

    fn transmit(&mut self) {
        if let Some((_, segment)) = self.queue.front() {
            let done = self.now + transmission(segment, BOTTLENECK);
            self.at(done, Event::Sent);
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Start(index) => {
                let flow = &mut self.flows[index];
                flow.started = true;
                flow.ends[0].write(flow.bytes);
                flow.ends[0].shutdown();
                self.drain(index);
            }
            Event::Leaves(index, true, segment) => {
                let flow = &mut self.flows[index];
                if segment.len > 0 {
                    let offset = segment.seq.wrapping_sub(flow.first);
                    flow.sent.push((self.now / US, offset, segment.len));
                }
                flow.ends[0].departed(u64::from(segment.len));
                if self.queue.len() < self.places {
                    self.queue.push_back((index, segment));
                    if self.queue.len() == 1 {
                        self.transmit();
                    }
                }
                self.drain(index);
            }
            Event::Leaves(index, false, segment) => {
                self.at(self.now + MS, Event::Arrives(index, false, segment));
            }
            Event::Sent => {
                if let Some((index, segment)) = self.queue.pop_front() {
                    self.at(self.now + MS, Event::Arrives(index, true, segment));
                }
                self.transmit();
            }
            Event::Arrives(index, to_server, segment) => {
                self.flows[index].ends[usize::from(to_server)].on_segment(self.now, &segment);
                self.drain(index);
            }
        }
    }

    /// Runs for two seconds. Returns what each client sent: time in us, offset of the first byte from 1, length.
    fn run(mut self) -> Vec<Vec<(u64, u32, u16)>> {
        loop {
            let event = self
                .events
                .first_key_value()
                .map_or(u64::MAX, |(when, _)| when.0);
            let timers = self.flows.iter().filter(|f| f.started);
            let timer = timers
                .flat_map(|f| f.ends.iter().map(Connection::next_timer))
                .min();
            let next = event.min(timer.unwrap_or(u64::MAX));
            if next > 1_900 * MS {
                return self.flows.into_iter().map(|f| f.sent).collect();
            }
            self.now = next;
            if event == next {
                if let Some((_, event)) = self.events.pop_first() {
                    self.take(event);
                }
            } else {
                for index in 0..self.flows.len() {
                    for end in &mut self.flows[index].ends {
                        end.on_timer(next);
                    }
                    self.drain(index);
                }
            }
        }
    }
}

/// What Linux sent, by flow.
fn recorded(name: &str) -> Vec<Vec<(u64, u32, u16)>> {
    let path = format!("{}/tests/linux/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the record is there");
    let mut flows: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for line in text.lines() {
        let mut words = line
            .split(' ')
            .map(|word| word.parse::<u64>().expect("numbers"));
        let mut next = || words.next().expect("four of them");
        let (flow, at, offset, len) = (next(), next(), next(), next());
        let sent = (at, offset as u32, len as u16);
        flows.entry(flow as u32).or_default().push(sent);
    }
    flows.into_values().collect()
}

/// Checks a case, or prints where the two part.
fn check(case: &Case) {
    let ours = Network::new(case).run();
    let linux = recorded(case.name);
    let alike = |(a, b): &(&(u64, u32, u16), &(u64, u32, u16))| {
        a.0.abs_diff(b.0) <= 2 && (a.1, a.2) == (b.1, b.2)
    };
    let same: Vec<usize> = ours
        .iter()
        .zip(&linux)
        .map(|(a, b)| a.iter().zip(b).take_while(alike).count())
        .collect();
    for ((ours, linux), &n) in ours.iter().zip(&linux).zip(&same) {
        println!(
            "{}: {n} of {}, ours then {:?}, Linux's {:?}",
            case.name,
            linux.len(),
            ours.get(n),
            linux.get(n)
        );
    }
    assert_eq!(same, case.same, "{}", case.name);
}

/// Every segment of two seconds in which a queue of one packet loses most of what is sent at once: slow start, loss probes, recovery
/// by RACK, PRR, timeouts, their backoff, F-RTO.
#[test]
fn a_queue_of_one_packet() {
    check(&Case {
        name: "queue1",
        same: &[174],
        ..CASE
    });
    check(&Case {
        name: "cubic_long",
        cc: "cubic",
        flows: &[(20, 600_000)],
        same: &[306],
        ..CASE
    });
}

/// Forty segments at once; timeouts of 5 ms, which Linux rounds up to ticks.
#[test]
fn a_large_initial_window_and_a_small_timeout() {
    check(&Case {
        name: "iw40",
        initial_cwnd: 40,
        same: &[249],
        ..CASE
    });
    check(&Case {
        name: "minrto5",
        min_rto: 5 * MS,
        same: &[227],
        ..CASE
    });
    let flows = &[(28, 140_000), (24, 200_000)];
    check(&Case {
        name: "minrto5q2",
        queue: 2,
        flows,
        min_rto: 5 * MS,
        same: &[131, 174],
        ..CASE
    });
}

/// Two that lose to each other, to the last segment, which carries FIN and goes out whatever the window.
#[test]
fn two_flows_over_a_queue_of_one_packet() {
    let flows = &[(28, 140_000), (24, 200_000)];
    check(&Case {
        name: "rto",
        flows,
        same: &[151, 176],
        ..CASE
    });
    check(&Case {
        name: "two_cubic",
        cc: "cubic",
        flows,
        same: &[149, 174],
        ..CASE
    });
}

/// What parts the flows of Scalable TCP is not known.
#[test]
fn three_flows_over_a_short_queue() {
    let flows = &[(24, 90_000), (27, 90_000), (30, 90_000)];
    check(&Case {
        name: "three",
        queue: 2,
        flows,
        same: &[84, 85, 84],
        ..CASE
    });
    check(&Case {
        name: "scalable3",
        cc: "scalable",
        flows,
        same: &[131, 131, 12],
        ..CASE
    });
}

/// The first recovery of a flow: sixty segments.
#[test]
fn the_first_recovery() {
    check(&Case {
        name: "burst",
        queue: 4,
        same: &[60],
        ..CASE
    });
    check(&Case {
        name: "cubic",
        cc: "cubic",
        queue: 6,
        same: &[60],
        ..CASE
    });
    check(&Case {
        name: "queue2",
        queue: 2,
        same: &[60],
        ..CASE
    });
    check(&Case {
        name: "nosack",
        queue: 4,
        sack: false,
        same: &[43],
        ..CASE
    });
    check(&Case {
        name: "nots",
        queue: 4,
        timestamps: false,
        same: &[60],
        ..CASE
    });
}
