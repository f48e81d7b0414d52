//! Hosts and both kinds of fabric, with times that can be computed by hand.

use etalon_fabric::{Chain, Entering, Fabric, Host, Hybrid, Stage};
use etalon_switch::{
    CircuitNetwork, Config, Configuration, Departure, DropReason, Matching, Network, PacketNetwork,
    Pair, Schedule, Sink, Switch, VoqConfig,
};
use etalon_units::{Rate, Serializer, Span, Time};

const FORTH: Pair = Pair { src: 0, dst: 1 };
const BACK: Pair = Pair { src: 1, dst: 0 };

#[derive(Default)]
struct Out {
    delivered: Vec<Departure<u32>>,
    dropped: Vec<(Time, u32, DropReason)>,
}

impl Sink<u32> for Out {
    fn deliver(&mut self, departure: Departure<u32>) {
        self.delivered.push(departure);
    }

    fn discard(&mut self, now: Time, handle: u32, _pair: Pair, reason: DropReason) {
        self.dropped.push((now, handle, reason));
    }
}

impl Out {
    fn times(&self) -> Vec<(u32, u64)> {
        let one = |d: &Departure<u32>| (d.handle, d.time.0);
        self.delivered.iter().map(one).collect()
    }
}

fn packet(handle: u32, pair: Pair, bytes: u32) -> Entering<u32> {
    Entering {
        handle,
        pair,
        bytes,
        ect: false,
        pure_ack: bytes < 100,
    }
}

fn drain(fabric: &mut impl Fabric<u32>, out: &mut Out, until: Time) {
    while fabric.next_event() <= until {
        fabric.advance(fabric.next_event(), out, &mut ());
    }
}

#[test]
fn a_host_serialises_delays_and_keeps_the_order() {
    let nic = || Serializer::new(Rate(8_000_000_000));
    let mut host = Host::new(nic(), Span(500), Span::ZERO, 1, 0);
    // 1000 bytes take 1000 ns.
    assert_eq!(
        host.send(Time(0), 1000, 'a'),
        (Time(1000), Some(Time(1500)))
    );
    assert_eq!(host.send(Time(0), 1000, 'b'), (Time(2000), None));
    assert_eq!(host.arrive(), Some('a'));
    assert_eq!(host.next(), Some(Time(2500)));
    assert_eq!(host.arrive(), Some('b'));
    assert_eq!((host.next(), host.arrive()), (None, None));

    let arrivals = |index| {
        let mut host = Host::new(nic(), Span(500), Span(10_000), 1, index);
        for i in 0..100 {
            host.send(Time(0), 100, i);
        }
        let mut times = Vec::new();
        while let (Some(time), Some(_)) = (host.next(), host.arrive()) {
            times.push(time.0);
        }
        times
    };
    let times = arrivals(0);
    assert!(times.is_sorted());
    let late = |(i, time): (usize, &u64)| time - (100 * (i as u64 + 1) + 500);
    let jitter: Vec<u64> = times.iter().enumerate().map(late).collect();
    assert!(jitter.iter().all(|&j| j < 10_000) && jitter.iter().any(|&j| j > 5000));
    assert_eq!(times, arrivals(0));
    assert_ne!(times, arrivals(1));
}

#[test]
fn a_chain_queues_drops_and_delays() {
    let link = || Some(Serializer::new(Rate(8_000_000_000)));
    let forth = vec![
        Stage::new(link(), 2, Span(100)),
        Stage::new(None, u32::MAX, Span(10)),
    ];
    let back = vec![Stage::new(None, u32::MAX, Span(50))];
    let mut chain = Chain::new(forth, back);
    let mut out = Out::default();
    assert_eq!(chain.next_event(), Time::MAX);
    for handle in 0..3 {
        let packet = packet(handle, FORTH, 1000);
        chain.enqueue(Time(0), packet, &mut out, &mut ());
    }
    chain.enqueue(Time(0), packet(3, BACK, 1000), &mut out, &mut ());
    assert_eq!(out.dropped, [(Time(0), 2, DropReason::VoqFull)]);
    assert_eq!(chain.next_event(), Time(50));
    drain(&mut chain, &mut out, Time(5000));
    assert_eq!(out.times(), [(3, 50), (0, 1110), (1, 2110)]);
    assert_eq!(out.delivered[2].latency, Span(2110));
    assert_eq!(out.delivered[0].pair, BACK);
    assert_eq!(chain.next_event(), Time::MAX);
}

#[test]
fn acknowledgements_go_around_the_switch_and_are_told_of_circuits() {
    let switch = || {
        let config = Config {
            racks: 2,
            packet: PacketNetwork {
                rate: Rate(8_000_000_000),
                up_delay: Span(1000),
                down_delay: Span(1000),
                internal_queue: 3,
                hold_queue: 5,
            },
            circuit: CircuitNetwork {
                rate: Rate(80_000_000_000),
                delay: Span(1000),
            },
            voq: VoqConfig {
                packets: 16,
                resize: None,
                pairs: Vec::new(),
            },
            marking: None,
            ece_in_advance: Some(Span::ZERO),
        };
        let week = |source| Configuration {
            // To rack 1 only, or none.
            matching: Matching::new(vec![None, source]).unwrap(),
            day: Span(100_000),
            night: Span::ZERO,
        };
        let schedule = Schedule::new(vec![week(Some(0)), week(None)]).unwrap();
        Switch::new(config, schedule, Time::ZERO).unwrap()
    };
    let mut hybrid = Hybrid::new(switch(), Some(Span(300)));
    let mut out = Out::default();
    drain(&mut hybrid, &mut out, Time(0));
    hybrid.enqueue(Time(10), packet(0, BACK, 66), &mut out, &mut ());
    hybrid.enqueue(Time(10), packet(1, BACK, 1000), &mut out, &mut ());
    drain(&mut hybrid, &mut out, Time(100_000));
    hybrid.enqueue(Time(100_000), packet(2, BACK, 66), &mut out, &mut ());
    drain(&mut hybrid, &mut out, Time(150_000));
    let ece: Vec<(u32, bool)> = out.delivered.iter().map(|d| (d.handle, d.ece)).collect();
    // While the circuit from rack 0 is up, whatever comes back to it says so.
    assert_eq!(ece, [(0, true), (1, true), (2, false)]);
    assert_eq!(out.times()[0], (0, 310));
    assert_eq!(out.times()[2], (2, 100_300));
    // Up and down link and both delays.
    assert_eq!(out.times()[1], (1, 10 + 2 * 1000 + 2 * 1000));
    assert!(out.delivered.iter().all(|d| d.network == Network::Packet));

    let mut hybrid = Hybrid::new(switch(), None);
    let mut out = Out::default();
    drain(&mut hybrid, &mut out, Time(0));
    hybrid.enqueue(Time(10), packet(0, BACK, 66), &mut out, &mut ());
    drain(&mut hybrid, &mut out, Time(50_000));
    assert_eq!(out.times(), [(0, 10 + 2 * 66 + 2 * 1000)]);
}
