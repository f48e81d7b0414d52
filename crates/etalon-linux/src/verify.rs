// SPDX-License-Identifier: MIT OR Apache-2.0
//! The differential test: every packet that entered the network in the kernel enters the same network outside it, and
//! every event must be the same, at the same nanosecond and in the same order.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};

use etalon_events::{Event, Listener, PacketHeader, Probe, Source};
use etalon_net::{Advanced, AnyNetwork, Arrival, Delivery, Edge, Environment, Net, Network, Part};
use etalon_scenario::Setup;
use etalon_switch::{Class, DropReason, Plane, Schedule};
use etalon_units::Time;

/// The net outside the kernel, and what it has done that the kernel's has not yet said.
#[derive(Debug)]
pub(crate) struct Verifier {
    net: Net<PacketHeader, AnyNetwork<PacketHeader>>,
    expected: RefCell<VecDeque<(Time, Event)>>,
    /// Flows whose packets are not TCP's.
    udp: HashSet<u32>,
    packets: u64,
}

impl Verifier {
    pub(crate) fn new(setup: &Setup) -> Result<Verifier, String> {
        let scenario = &setup.scenario;
        let network = AnyNetwork::new(scenario).map_err(|e| e.to_string())?;
        // Weeks come from the log, and so does the end.
        let milestones = (Time::ZERO, Time::MAX);
        let net = Net::new(
            scenario.hosts,
            network,
            None,
            scenario.notify(),
            scenario.seed,
            milestones,
        );
        Ok(Verifier {
            net: net.map_err(|e| e.to_string())?,
            expected: RefCell::default(),
            udp: HashSet::new(),
            packets: 0,
        })
    }

    /// Packets that entered so far.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// The kernel says that `event` happened `now`. The error is a sentence: what should have happened instead.
    pub(crate) fn check(&mut self, now: Time, event: &Event) -> Result<(), String> {
        match *event {
            Event::Entered { packet } => {
                // As the kernel does: what is due at one instant comes before what enters then.
                self.advance(now);
                self.packets += 1;
                let (mut outside, mut probe) = said(&self.expected, &self.udp);
                let entering = entering(packet, &self.udp);
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
            Event::Opened {
                flow, udp: true, ..
            } => {
                self.udp.insert(flow);
                Ok(())
            }
            _ if event.source() == Source::Network => self.compare(now, event),
            _ => Ok(()),
        }
    }

    /// The net outside says the same next.
    fn compare(&mut self, now: Time, event: &Event) -> Result<(), String> {
        if self.expected.get_mut().is_empty() {
            self.advance(now);
        }
        let first = self.expected.get_mut().pop_front();
        match &first {
            Some((time, expected)) if *time == now && expected == event => Ok(()),
            _ => Err(self.differ(Some((now, *event)), first)),
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
        let (mut outside, mut probe) = said(&self.expected, &self.udp);
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
fn is_tcp(packet: &PacketHeader, udp: &HashSet<u32>) -> bool {
    match packet.flow {
        Some(flow) => !udp.contains(&flow),
        None => packet.seq != 0 || packet.ack != 0,
    }
}

/// The packet of the log as it entered.
fn entering(packet: PacketHeader, udp: &HashSet<u32>) -> Arrival<PacketHeader> {
    Arrival {
        packet: etalon_net::Packet {
            handle: packet,
            src: packet.src,
            dst: packet.dst,
            bytes: packet.bytes,
        },
        ect: packet.ect,
        pure_ack: is_tcp(&packet, udp) && packet.payload == 0,
        class: Class::default(),
        label: packet.label(),
    }
}

/// Write down what leaves the net outside, and what it does.
fn said<'a>(
    expected: &'a RefCell<VecDeque<(Time, Event)>>,
    udp: &'a HashSet<u32>,
) -> (Said<'a>, impl Probe + 'a) {
    let probe = Listener(|now, event| expected.borrow_mut().push_back((now, event)));
    (Said { expected, udp }, probe)
}

/// Writes down what leaves the net outside.
struct Said<'a> {
    expected: &'a RefCell<VecDeque<(Time, Event)>>,
    udp: &'a HashSet<u32>,
}

impl Said<'_> {
    fn say(&self, now: Time, event: Event) {
        self.expected.borrow_mut().push_back((now, event));
    }
}

impl Environment<PacketHeader> for Said<'_> {
    fn enter(&mut self, _now: Time, packet: PacketHeader) -> Arrival<PacketHeader> {
        entering(packet, self.udp)
    }

    fn deliver(&mut self, delivery: Delivery<PacketHeader>, edge: &mut Edge<PacketHeader>) {
        if delivery.trimmed {
            let lost = delivery.handle;
            return self.discard(delivery.time, lost, DropReason::Full, edge);
        }
        let packet = PacketHeader {
            ce: delivery.ce,
            ece: delivery.ece && is_tcp(&delivery.handle, self.udp),
            ..delivery.handle
        };
        let plane = delivery.plane;
        self.say(delivery.time, Event::Left { packet, plane });
    }

    fn discard(
        &mut self,
        now: Time,
        packet: PacketHeader,
        reason: DropReason,
        _edge: &mut Edge<PacketHeader>,
    ) {
        self.say(now, Event::Lost { packet, reason });
    }

    fn part(&mut self, _packet: PacketHeader) -> Option<Part> {
        None
    }

    fn notified(&mut self, _: Time, _: u32, _: u16, _: Plane, _: &mut Edge<PacketHeader>) {}

    fn nic_free(&mut self, _host: u32, _packet: PacketHeader) {}
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;
    use etalon_driver::{Driver, Kernel, Milestone, Sent, WeekReader};
    use etalon_events::Record;
    use etalon_scenario::Scenario;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    /// A kernel in which nothing listens: only the log.
    #[derive(Default)]
    struct Log(RefCell<Vec<Record>>);

    impl Kernel for Log {
        fn log(&self, record: &Record) {
            self.0.borrow_mut().push(*record);
        }
        fn capture(&self, _: Time, _: u64, _: u16) {}
        fn mark(&self, _: u64, _: bool, _: bool) {}
        fn deliver(&self, _: u64, _: u32) {}
        fn discard(&self, _: u64) {}
        fn nic_free(&self, _: u64, _: u32) {}

        fn notification(&self, _: u32, _: u16, _: u8) -> Option<NonZero<u64>> {
            None
        }
        fn ask(&self, _: &Record) -> Vec<u8> {
            Vec::new()
        }
        fn open(&self, _: u32) {}
        fn write(&self, _: u32, _: u64) {}
        fn close(&self, _: u32) {}
        fn granted(&self, _: u32, _: u32) {}
        fn milestone(&self, _: Time, _: Milestone) {}
        fn fail(&self, _: Time, sentence: std::fmt::Arguments<'_>) {
            panic!("{sentence}");
        }
    }

    fn rdcn(bypass: Option<u64>, estimator: Option<&str>) -> Setup {
        let day =
            |sources: [u16; 3]| json!({"sources": sources, "day_ns": 60_000, "night_ns": 10_000});
        // Weeks of 100 us, computed as these go on.
        let control = estimator.map(|estimator| {
            json!({"scheduler": "max-weight", "estimator": estimator, "window_ns": 100_000,
                "min_day_ns": 60_000, "night_ns": 10_000, "threshold_bytes": 1, "only_big": false,
                "compute_ns": 10_000, "interval_ns": 0})
        });
        setup(
            3,
            &json!({"rdcn": {
                "packet": {"rate_bps": 10_000_000_000u64, "up_delay_ns": 5000, "down_delay_ns": 5000,
                    "internal_queue": 1, "hold_queue": 1},
                "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 30_000}],
                "voq": {"packets": 4, "resize": {"packets": 8, "in_advance_ns": 20_000}},
                "marking": {"threshold": 2, "threshold_big": 4},
                "ece_in_advance_ns": 20_000, "ack_bypass_ns": bypass,
                "notify": {"before_ns": 3000, "delay_ns": 500, "jitter_ns": 4000, "lost_ppm": 100_000, "each_ns": 0}}}),
            &json!({"configurations": [day([1, 2, 0]), day([2, 0, 1])], "control": control}),
        )
    }

    /// Two kinds of circuits beside a packet network that is dark at night, or none, and a week that changes.
    fn planes(has_packet: bool) -> Setup {
        let day = |sources: [u16; 3], plane: u8| json!({"sources": sources, "day_ns": 40_000, "night_ns": 5_000, "plane": plane});
        let packet = json!({"rate_bps": 10_000_000_000u64, "up_delay_ns": 5000, "down_delay_ns": 5000,
            "internal_queue": 2, "hold_queue": 2});
        let change = json!({"at_ns": 100_000, "configurations": [day([2, 0, 1], 2)]});
        setup(
            3,
            &json!({"rdcn": {
                "packet": has_packet.then_some(packet), "night": "all",
                "circuits": [{"rate_bps": 80_000_000_000u64, "delay_ns": 30_000},
                    {"rate_bps": 20_000_000_000u64, "delay_ns": 3_000}],
                "voq": {"packets": 8}}}),
            &json!({"configurations": [day([1, 2, 0], 1), day([1, 2, 0], 2)], "changes": [change]}),
        )
    }

    /// Three leaves below two spines, one of whose links fails.
    fn leaf_spine() -> Setup {
        let layer = json!({"rate_bps": 10_000_000_000u64, "delay_ns": 700, "queue_packets": 4});
        let network = json!({"leaf-spine": {"spines": 2, "rack": layer, "spine": layer, "reroute_ns": 5000,
            "failures": [{"below": 0, "above": 4, "from_ns": 30_000, "to_ns": 90_000}]}});
        setup(3, &network, &Value::Null)
    }

    fn dumbbell(ports: bool) -> Setup {
        let stage = |rate: Option<u64>, packets: Option<u32>| json!({"rate_bps": rate, "queue_packets": packets, "delay_ns": 3000});
        let stages = [
            stage(Some(40_000_000_000), Some(6)),
            stage(Some(10_000_000_000), Some(3)),
        ];
        let network = json!({"dumbbell": {"stages": stages, "return_stages": [stage(None, None)]}});
        let mut setup = setup(2, &network, &Value::Null);
        setup.scenario.measure.ports = ports;
        setup
    }

    /// Two pods of two racks, two switches above each layer: with few places in queues, and marks.
    fn tree(delay_in_queue: bool) -> Setup {
        let layer = |rate: u64, delay: u64| {
            json!({"rate_bps": rate, "delay_ns": delay, "queue_packets": 4,
            "mark_above_packets": 2})
        };
        let (rack, pod, core) = (
            layer(40_000_000_000, 500),
            layer(10_000_000_000, 1000),
            layer(10_000_000_000, 3000),
        );
        let network = json!({"tree": {"pods": 2, "aggregation_switches": 2, "core_switches": 2,
            "rack": rack, "pod": pod, "core": core, "delay_in_queue": delay_in_queue}});
        setup(4, &network, &Value::Null)
    }

    /// Three racks that meet in turns over one switch, and whose hosts hear of it.
    fn circuits() -> Setup {
        let day =
            |sources: [u16; 3]| json!({"sources": sources, "day_ns": 40_000, "night_ns": 5_000});
        let queue = json!({"count": "packets", "room": 4, "mark_above": null, "full": "drop"});
        setup(
            3,
            &json!({"ocs": {
                "access": {"rate_bps": 40_000_000_000u64, "delay_ns": 0},
                "uplinks": [{"rate_bps": 10_000_000_000u64, "delay_ns": 500, "rotation": [day([1, 2, 0]), day([2, 0, 1])]}],
                "classes": [{"name": "low", "queue": queue, "routing": "direct"}],
                "notify": {"before_ns": 3000, "delay_ns": 500, "jitter_ns": 4000, "lost_ppm": 100_000, "each_ns": 0},
                "tdns": {"length": 1}}}),
            &Value::Null,
        )
    }

    fn setup(racks: u16, network: &Value, schedule: &Value) -> Setup {
        let scenario = json!({"seed": 1, "tdf": 3, "duration_ns": 400_000, "warmup_ns": 0,
            "hosts": {"racks": racks, "per_rack": 2, "mtu": 9000,
                "rate_bps": 40_000_000_000u64, "delay_ns": 1000, "jitter_ns": 500},
            "network": network, "schedule": schedule,
            "tcp": {"hz": 250, "min_rto_ns": 200_000_000, "initial_cwnd": 10,
                "min_delayed_ack_ns": 40_000_000, "max_delayed_ack_ns": 200_000_000,
                "receive_buffer_bytes": 65_536, "max_receive_buffer_bytes": 3 << 20, "max_send_buffer_bytes": 4 << 20,
                "sack": true, "timestamps": true, "ecn": false, "pacing": false, "tso_win_divisor": 3},
            "flows": [], "measure": {"pair": [0, 1], "weeks_per_run": 3}});
        let scenario = Scenario::from_json(&scenario.to_string()).expect("a good plan");
        Setup {
            end: scenario.end(),
            capture: None,
            scenario,
        }
    }

    /// The log of a driver whose hosts send so: after a pause, from and to a host, so many bytes of payload.
    fn log(setup: &Setup, sends: &[(u64, u32, u32, u16)]) -> Vec<Record> {
        let kernel = Log::default();
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
            let hosts = setup.scenario.hosts.count();
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
        let mut weeks = WeekReader::new(setup.scenario.hosts.racks);
        for record in log {
            let event = Event::of(record).expect("a record");
            verifier.check(record.time, &event)?;
            if let Some(computed) = weeks.hear(event)? {
                verifier.adopt(record.time, computed.week)?;
            }
        }
        Ok(verifier.packets())
    }

    proptest! {
        #[test]
        fn the_drivers_log_is_what_the_network_does(
            sends in prop::collection::vec((0u64..4000, 0u32..8, 0u32..8, 0u16..8948), 1..300),
            which in 0..11,
            doctored in any::<prop::sample::Index>(),
        ) {
            let setup = match which {
                0 => rdcn(None, None),
                1 => rdcn(Some(2500), None),
                2 => rdcn(None, Some("voq")),
                3 => planes(true),
                4 => planes(false),
                5 => tree(false),
                6 => tree(true),
                7 => leaf_spine(),
                8 => dumbbell(true),
                9 => circuits(),
                _ => dumbbell(false),
            };
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
