// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two ends that predict, and beside each a twin that takes the general way: whatever happens, twins say and are the same.

use super::*;
use crate::cc::Any;
use crate::{Config, Ecn};
use proptest::prelude::*;

const US: u64 = 1_000;
const DELAY: u64 = 50 * US;

/// What happens to a segment.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Deliver,
    Drop,
    Late(u64),
    Twice(u64),
    Mark,
    /// So much is added to its sequence number, its acknowledgement number, its window, and its timestamp; flags are flipped.
    Mangle(i32, i32, i16, i32, u8),
}

/// What the program at one end does, or the host.
#[derive(Clone, Copy, Debug)]
enum Call {
    Write(u64),
    Read(u64),
    Nagle(bool),
    Shutdown,
    Reno,
}

/// An end, its twin, and bytes that have not left the host.
struct Twins {
    predicts: Connection<Any>,
    general: Connection<Any>,
    below: Vec<(u64, u32)>,
    turns: u32,
}

impl Twins {
    fn new(connection: Connection<Any>) -> Twins {
        Twins {
            general: connection.clone(),
            predicts: connection,
            below: Vec::new(),
            turns: 0,
        }
    }

    /// What both send: all at once, which takes the way that was predicted, or segment by segment.
    fn send(&mut self, now: u64) -> Vec<Segment> {
        self.turns += 1;
        let mut at_once = !self.turns.is_multiple_of(8);
        self.both(|c| {
            let mut sent = Vec::new();
            if std::mem::take(&mut at_once) {
                c.transmit(now, &mut sent);
            } else {
                sent.extend(std::iter::from_fn(|| c.poll_transmit(now)));
            }
            sent
        })
    }

    /// Does the same with both.
    fn both<T: PartialEq + core::fmt::Debug>(
        &mut self,
        mut what: impl FnMut(&mut Connection<Any>) -> T,
    ) -> T {
        if self.general.prediction.is_silent() {
            self.general.prediction = Prediction::Silent;
        }
        let (one, other) = (what(&mut self.predicts), what(&mut self.general));
        assert_eq!(one, other);
        let shown = |end: &Connection<Any>| {
            let mut end = end.clone();
            end.prediction = Prediction::Silent;
            format!("{end:?}")
        };
        assert_eq!(shown(&self.predicts), shown(&self.general));
        one
    }
}

struct Exchange {
    now: u64,
    /// Client and server.
    ends: [Twins; 2],
    flying: Vec<(u64, usize, Segment)>,
    /// Segments taken, and those of them that were predicted.
    taken: u32,
    predicted: u32,
}

impl Exchange {
    fn new(config: &Config, control: &str) -> Exchange {
        let control = || Any::by_name(control, &[]).unwrap();
        let server = Config {
            initial_seq: 7,
            ..config.clone()
        };
        Exchange {
            now: 0,
            ends: [
                Twins::new(Connection::client(config.clone(), control())),
                Twins::new(Connection::server(server, control())),
            ],
            flying: Vec::new(),
            taken: 0,
            predicted: 0,
        }
    }

    /// Takes out what `end` has to send. A segment leaves its host 10 us after it was taken out.
    fn poll(&mut self, end: usize, fates: &mut impl Iterator<Item = Fate>) {
        let now = self.now;
        for segment in self.ends[end].send(now) {
            let below = &mut self.ends[end].below;
            let left = below.last().map_or(now, |last| last.0.max(now)) + 10 * US;
            below.push((left, u32::from(segment.len)));
            let mut add = |late, segment| {
                self.flying.push((left + DELAY + late, 1 - end, segment));
            };
            match fates.next().unwrap_or(Fate::Deliver) {
                Fate::Deliver => add(0, segment),
                Fate::Drop => {}
                Fate::Late(late) => add(late, segment),
                Fate::Twice(late) => {
                    add(0, segment.clone());
                    add(late, segment);
                }
                Fate::Mark => add(
                    0,
                    Segment {
                        ce: segment.ect,
                        ..segment
                    },
                ),
                Fate::Mangle(seq, ack, window, timestamp, flags) => {
                    let mut odd = segment.clone();
                    odd.seq = odd.seq.wrapping_add_signed(seq);
                    odd.ack = odd.ack.wrapping_add_signed(ack);
                    odd.window = odd.window.wrapping_add_signed(window);
                    odd.timestamps =
                        (odd.timestamps).map(|(v, e)| (v.wrapping_add_signed(timestamp), e));
                    odd.flags.0 ^= flags;
                    add(0, odd);
                    add(1, segment);
                }
            }
        }
    }

    /// Lets happen what is next, at `until` at the latest. Returns whether something did.
    fn step(&mut self, until: u64, fates: &mut impl Iterator<Item = Fate>) -> bool {
        let arrival = (0..self.flying.len()).min_by_key(|&i| self.flying[i].0);
        let arrives = arrival.map_or(u64::MAX, |i| self.flying[i].0);
        let timers = [0, 1].map(|end| self.ends[end].predicts.next_timer());
        let leaves = [0, 1].map(|end| self.ends[end].below.first().map_or(u64::MAX, |b| b.0));
        let next = *[arrives, timers[0], timers[1], leaves[0], leaves[1]]
            .iter()
            .min()
            .unwrap();
        self.now = self.now.max(next.min(until));
        if next > until {
            return false;
        }
        let now = self.now;
        let end = if next == leaves[0] || next == leaves[1] {
            let end = usize::from(next == leaves[1]);
            let (_, len) = self.ends[end].below.remove(0);
            self.ends[end].both(|c| c.departed(len.into()));
            end
        } else if let Some(i) = arrival.filter(|_| next == arrives) {
            let (_, end, segment) = self.flying.remove(i);
            self.taken += 1;
            self.predicted += u32::from(self.ends[end].predicts.predicts(&segment));
            self.ends[end].both(|c| c.on_segment(now, &segment));
            end
        } else {
            let end = usize::from(next == timers[1]);
            self.ends[end].both(|c| c.on_timer(now));
            end
        };
        self.poll(end, fates);
        true
    }

    fn call(&mut self, end: usize, call: Call, fates: &mut impl Iterator<Item = Fate>) {
        self.ends[end].both(|c| match call {
            Call::Write(bytes) => c.write(bytes),
            Call::Read(most) => {
                c.read(most);
            }
            Call::Nagle(on) => c.set_nagle(on),
            Call::Shutdown => c.shutdown(),
            Call::Reno => {
                let _ = c.set_congestion_control(Any::by_name("reno", &[]).unwrap());
            }
        });
        self.poll(end, fates);
    }
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let near = || prop_oneof![4 => Just(0), 2 => -3000..3000, 1 => any::<i32>()];
    let fate = prop_oneof![
        60 => Just(Fate::Deliver),
        3 => Just(Fate::Drop),
        2 => (1..400_u64).prop_map(|us| Fate::Late(us * US)),
        2 => (0..400_u64).prop_map(|us| Fate::Twice(us * US)),
        2 => Just(Fate::Mark),
        4 => (near(), near(), any::<i16>(), near(), prop_oneof![3 => Just(0), 1 => any::<u8>()])
            .prop_map(|(seq, ack, window, time, flags)| Fate::Mangle(seq, ack, window, time, flags)),
    ];
    prop::collection::vec(fate, 0..200)
}

fn configs() -> impl Strategy<Value = Config> {
    let bits = (
        any::<[bool; 4]>(),
        0..8_u32,
        prop_oneof![Just(250), Just(1000)],
    );
    bits.prop_map(|([timestamps, nagle, slow, small], odd, hz)| Config {
        mss: 1000,
        hz,
        timestamps,
        nagle,
        slow_start_after_idle: slow,
        small_queues: small,
        sack: odd != 0,
        ecn: if odd == 1 { Ecn::On } else { Ecn::Off },
        pacing: odd == 2,
        auto_read: odd != 3,
        receive_buffer: if odd == 4 { 8_000 } else { 65_536 },
        waits_for_room: (odd > 4).then_some(50_000 * odd),
        ..Config::default()
    })
}

fn calls() -> impl Strategy<Value = Vec<(u64, usize, Call)>> {
    let call = prop_oneof![
        6 => (1..200_000_u64).prop_map(Call::Write),
        3 => (1..3_000_u64).prop_map(Call::Write),
        1 => (1..100_000_u64).prop_map(Call::Read),
        1 => any::<bool>().prop_map(Call::Nagle),
        1 => Just(Call::Reno),
        1 => Just(Call::Shutdown),
    ];
    let pause = prop_oneof![4 => 0..2_000_u64, 1 => 0..2_000_000_u64].prop_map(|us| us * US);
    let end = prop_oneof![3 => Just(0_usize), 1 => Just(1)];
    prop::collection::vec((pause, end, call), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_predicted_does_what_the_general_way_does(
        config in configs(),
        control in prop_oneof![Just("reno"), Just("cubic"), Just("dctcp"), Just("retcp")],
        calls in calls(),
        fates in fates(),
    ) {
        let mut exchange = Exchange::new(&config, control);
        let mut fates = fates.into_iter();
        exchange.poll(0, &mut fates);
        for (pause, end, call) in calls {
            let until = exchange.now + pause;
            let mut steps = 0;
            while steps < 400 && exchange.step(until, &mut fates) {
                steps += 1;
            }
            exchange.call(end, call, &mut fates);
        }
        let until = exchange.now + 2_000_000 * US;
        let mut steps = 0;
        while steps < 400 && exchange.step(until, &mut fates) {
            steps += 1;
        }
    }
}

#[test]
fn while_nothing_is_amiss_nearly_every_segment_is_predicted() {
    for timestamps in [false, true] {
        let config = Config {
            timestamps,
            ..Config::default()
        };
        let mut exchange = Exchange::new(&config, "cubic");
        let mut fates = std::iter::empty();
        exchange.call(0, Call::Write(3_000_000), &mut fates);
        while exchange.step(100_000 * US, &mut fates) {}
        assert_eq!(exchange.ends[1].predicts.bytes_received(), 3_000_000);
        let (taken, predicted) = (exchange.taken, exchange.predicted);
        assert!(predicted * 100 > taken * 95, "{predicted} of {taken}");
    }
}
