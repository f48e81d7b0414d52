//! The differential test: every packet that entered the network in the kernel enters the same network outside it, and
//! every event must be the same, at the same nanosecond and in the same order.

use std::cell::RefCell;
use std::collections::VecDeque;

use etalon_driver::network;
use etalon_driver::setup::Setup;
use etalon_events::{Event, Listener, Packet, Probe, Source};
use etalon_net::{Advanced, AnyNetwork, Arrival, Edge, Environment, HostId, Net, Network, Part};
use etalon_switch::{Departure, DropReason, Schedule};
use etalon_units::Time;

/// The net outside the kernel, and what it has done that the kernel's has not yet said.
#[derive(Debug)]
pub(crate) struct Verifier {
    net: Net<Packet, AnyNetwork<Packet>>,
    expected: RefCell<VecDeque<(Time, Event)>>,
    packets: u64,
}

impl Verifier {
    pub(crate) fn new(setup: &Setup) -> Result<Verifier, String> {
        let network = network(&setup.network).map_err(|e| e.to_string())?;
        // Weeks come from the log, and so does the end.
        let milestones = (Time::ZERO, Time::MAX);
        let net = Net::new(setup.hosts(), network, None, setup.seed, milestones);
        Ok(Verifier {
            net: net.map_err(|e| e.to_string())?,
            expected: RefCell::default(),
            packets: 0,
        })
    }

    /// Packets that entered so far.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// The kernel says that `event` happened `now`. The error is a sentence: what should have happened instead.
    pub(crate) fn check(&mut self, now: Time, event: Event) -> Result<(), String> {
        match event {
            Event::Entered { packet } => {
                // As the kernel does: what is due at one instant comes before what enters then.
                self.advance(now);
                self.packets += 1;
                let (mut outside, mut probe) = said(&self.expected);
                let entering = entering(packet);
                self.net.enter(now, entering, &mut outside, &mut probe);
                Ok(())
            }
            Event::End { .. } => {
                self.advance_before(now);
                match self.expected.get_mut().pop_front() {
                    None => Ok(()),
                    Some(other) => Err(self.differ(None, Some(other))),
                }
            }
            Event::Left { .. } | Event::Lost { .. } => self.compare(now, event),
            _ if event.source() == Source::Network => self.compare(now, event),
            _ => Ok(()),
        }
    }

    /// The net outside says the same next.
    fn compare(&mut self, now: Time, event: Event) -> Result<(), String> {
        if self.expected.get_mut().is_empty() {
            self.advance(now);
        }
        match self.expected.get_mut().pop_front() {
            Some(other) if other == (now, event) => Ok(()),
            other => Err(self.differ(Some((now, event)), other)),
        }
    }

    /// The kernel says that a week was computed: what is due at one instant comes after it.
    pub(crate) fn adopt(&mut self, now: Time, week: Schedule) -> Result<(), String> {
        self.advance_before(now);
        let Some(switch) = self.net.network_mut().switch_mut() else {
            return Err("there is no switch that could adopt a week".to_owned());
        };
        switch.adopt(week).map_err(|e| e.to_string())
    }

    /// Does all that is due at or before `until`.
    fn advance(&mut self, until: Time) {
        let (mut outside, mut probe) = said(&self.expected);
        while self.net.advance(until, &mut outside, &mut probe) != Advanced::Not {}
    }

    fn advance_before(&mut self, now: Time) {
        if now > Time::ZERO {
            self.advance(Time(now.0 - 1));
        }
    }

    fn differ(&self, inside: Option<(Time, Event)>, outside: Option<(Time, Event)>) -> String {
        let say = |what: Option<(Time, Event)>| match what {
            None => "nothing".to_owned(),
            Some((time, event)) => format!("at {} ns {event:?}", time.0),
        };
        format!(
            "The network in the kernel differs from the same network outside it, after {} packets: \
             inside {}; outside {}.",
            self.packets,
            say(inside),
            say(outside)
        )
    }
}

/// The log has no numbers of other packets. (Of TCP's, only the first byte of one connection in four thousand million has
/// these, and then no acknowledgement.)
fn is_tcp(packet: &Packet) -> bool {
    packet.flow.is_some() || packet.seq != 0 || packet.ack != 0
}

/// The log knows the racks of hosts.
fn entering(packet: Packet) -> Arrival<Packet> {
    Arrival {
        packet: etalon_net::Packet {
            handle: packet,
            src: HostId::new(packet.pair.src, 0),
            dst: HostId::new(packet.pair.dst, 0),
            bytes: packet.bytes,
        },
        ect: packet.ect,
        pure_ack: is_tcp(&packet) && packet.payload == 0,
    }
}

/// Write down what leaves the net outside, and what it does.
fn said(expected: &RefCell<VecDeque<(Time, Event)>>) -> (Said<'_>, impl Probe + '_) {
    let probe = Listener(|now, event| expected.borrow_mut().push_back((now, event)));
    (Said(expected), probe)
}

/// Writes down what leaves the net outside.
struct Said<'a>(&'a RefCell<VecDeque<(Time, Event)>>);

impl Said<'_> {
    fn say(&self, now: Time, event: Event) {
        self.0.borrow_mut().push_back((now, event));
    }
}

impl Environment<Packet> for Said<'_> {
    fn enter(&mut self, _now: Time, packet: Packet) -> Arrival<Packet> {
        entering(packet)
    }

    fn deliver(&mut self, departure: Departure<Packet>, _edge: &mut Edge<Packet>) {
        let packet = Packet {
            ce: departure.ce,
            ece: departure.ece && is_tcp(&departure.packet.handle),
            ..departure.packet.handle
        };
        let plane = departure.plane;
        self.say(departure.time, Event::Left { packet, plane });
    }

    fn discard(&mut self, now: Time, packet: Packet, reason: DropReason, _edge: &mut Edge<Packet>) {
        self.say(now, Event::Lost { packet, reason });
    }

    fn part(&mut self, _packet: Packet) -> Option<Part> {
        None
    }

    fn nic_free(&mut self, _host: u32, _packet: Packet) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use etalon_driver::setup::{HostSetup, NetworkSetup, StageSetup, TcpSetup};
    use etalon_driver::{Driver, Environment, Milestone, Sent, WeekReader};
    use etalon_events::Record;
    use etalon_schedule::{ControlConfig, Estimator, Pace};
    use etalon_switch::{
        CircuitNetwork, Config, Configuration, Marking, Matching, PacketNetwork, Resize, Schedule,
        VoqConfig,
    };
    use etalon_units::{Bytes, Rate, Span};
    use proptest::prelude::*;

    const RACKS: u16 = 3;

    /// A kernel in which nothing listens: only the log.
    #[derive(Default)]
    struct Kernel(RefCell<Vec<Record>>);

    impl Environment for Kernel {
        fn log(&self, record: &Record) {
            self.0.borrow_mut().push(*record);
        }
        fn capture(&self, _: Time, _: u64, _: u16) {}
        fn mark(&self, _: u64, _: bool, _: bool) {}
        fn deliver(&self, _: u64, _: u32) {}
        fn discard(&self, _: u64) {}
        fn nic_free(&self, _: u64, _: u32) {}
        fn milestone(&self, _: Time, _: Milestone) {}
        fn fail(&self, _: Time, sentence: std::fmt::Arguments<'_>) {
            panic!("{sentence}");
        }
    }

    fn rdcn(bypass: Option<Span>, control: Option<ControlConfig>) -> NetworkSetup {
        let day = |sources: [u16; 3]| Configuration {
            matching: Matching::new(sources.map(Some).to_vec()).expect("a matching"),
            day: Span(60_000),
            night: Span(10_000),
        };
        NetworkSetup::Rdcn {
            config: Config {
                racks: RACKS,
                packet: PacketNetwork {
                    rate: Rate(10_000_000_000),
                    up_delay: Span(5000),
                    down_delay: Span(5000),
                    internal_queue: 1,
                    hold_queue: 1,
                },
                circuit: CircuitNetwork {
                    rate: Rate(80_000_000_000),
                    delay: Span(30_000),
                },
                voq: VoqConfig {
                    packets: 4,
                    resize: Some(Resize {
                        packets: 8,
                        in_advance: Span(20_000),
                    }),
                    pairs: vec![],
                },
                marking: Some(Marking {
                    threshold: 2,
                    threshold_big: 4,
                }),
                ece_in_advance: Some(Span(20_000)),
            },
            schedule: Schedule::new(vec![day([1, 2, 0]), day([2, 0, 1])]).expect("a schedule"),
            control,
            bypass,
        }
    }

    /// Weeks of 100 us, computed as those of `rdcn` go on.
    fn computed(estimator: Estimator) -> ControlConfig {
        ControlConfig {
            scheduler: "max-weight".to_owned(),
            estimator,
            window: Span(100_000),
            min_day: Span(60_000),
            night: Span(10_000),
            circuit: Rate(80_000_000_000),
            packet: Rate(10_000_000_000),
            threshold: Bytes(1),
            only_big: false,
            pace: Pace {
                compute: Span(10_000),
                interval: Span::ZERO,
            },
        }
    }

    fn dumbbell() -> NetworkSetup {
        let stage = |rate, packets| StageSetup {
            rate,
            packets,
            delay: Span(3000),
        };
        NetworkSetup::Dumbbell {
            stages: vec![
                stage(Some(Rate(40_000_000_000)), Some(6)),
                stage(Some(Rate(10_000_000_000)), Some(3)),
            ],
            back: vec![stage(None, None)],
        }
    }

    fn setup(network: NetworkSetup) -> Setup {
        Setup {
            seed: 1,
            tdf: 3,
            warmup: Time::ZERO,
            end: Time(400_000),
            racks: match network {
                NetworkSetup::Rdcn { .. } => RACKS,
                NetworkSetup::Dumbbell { .. } => 2,
            },
            hosts: 2,
            mtu: 9000,
            host: HostSetup {
                rate: Rate(40_000_000_000),
                delay: Span(1000),
                jitter: Span(500),
            },
            network,
            flows: vec![],
            tcp: TcpSetup { pacing: false },
            capture: None,
            end_when_done: false,
        }
    }

    /// The log of a driver whose hosts send so: after a pause, from and to a host, so many bytes of payload.
    fn log(setup: &Setup, sends: &[(u64, u32, u32, u16)]) -> Vec<Record> {
        let kernel = Kernel::default();
        let mut driver = Driver::new(setup.clone()).expect("a driver");
        driver.start(1000);
        let mut now = 1000;
        for (handle, &(pause, host, dst, payload)) in sends.iter().enumerate() {
            let until = now + pause;
            while driver.next() <= until {
                now = driver.next();
                driver.advance(now, &kernel);
            }
            now = until;
            let hosts = setup.host_count();
            let sent = Sent {
                handle: handle as u64,
                dst: dst % hosts,
                bytes: u32::from(payload) + 66,
                ect: handle % 2 == 0,
                tcp: handle % 5 > 0,
                seq: if handle % 5 > 0 { 7 } else { 0 },
                payload: if handle % 5 > 0 { payload } else { 0 },
                ..Sent::default()
            };
            driver.send(now, host % hosts, &sent, &kernel);
        }
        while driver.next() < u64::MAX {
            now = driver.next();
            driver.advance(now, &kernel);
        }
        driver.finish(now, &kernel);
        kernel.0.into_inner()
    }

    fn verify(setup: &Setup, log: &[Record]) -> Result<u64, String> {
        let mut verifier = Verifier::new(setup).expect("a network");
        let mut weeks = WeekReader::new(setup.racks);
        for record in log {
            let event = Event::of(record).expect("a record");
            verifier.check(record.time, event)?;
            if let Some(computed) = weeks.hear(event)? {
                verifier.adopt(record.time, computed.week)?;
            }
        }
        Ok(verifier.packets())
    }

    proptest! {
        #[test]
        fn the_drivers_log_is_what_the_network_does(
            sends in prop::collection::vec((0u64..4000, 0u32..6, 0u32..6, 0u16..8948), 1..300),
            which in 0..4,
            doctored in any::<prop::sample::Index>(),
        ) {
            let setup = setup(match which {
                0 => rdcn(None, None),
                1 => rdcn(Some(Span(2500)), None),
                2 => rdcn(None, Some(computed(Estimator::Voq))),
                _ => dumbbell(),
            });
            let mut log = log(&setup, &sends);
            let entered = log.iter().filter(|r| matches!(Event::of(r), Ok(Event::Entered { .. }))).count();
            prop_assert_eq!(verify(&setup, &log), Ok(entered as u64));

            // A record that is missing is a difference, unless the network says nothing by it.
            let index = doctored.index(log.len());
            let told = Event::of(&log[index]);
            let is_of_a_week = matches!(
                told,
                Ok(Event::Demanded { .. } | Event::PlannedDay { .. } | Event::PlannedCircuit { .. } | Event::Computed { .. })
            );
            if !is_of_a_week
                && !matches!(told, Ok(Event::Begin | Event::End { .. } | Event::Entered { .. }))
            {
                log.remove(index);
                prop_assert!(verify(&setup, &log).is_err(), "{:?}", told);
            }
        }
    }
}
