// SPDX-License-Identifier: MIT OR Apache-2.0
//! One model of a path for every congestion control in the registry.
//!
//! The model goes by rounds. In each, a window of segments crosses one bottleneck of a fixed rate with a finite queue; the
//! RTT is what the queue makes of it. Overflow loses a segment and is followed by fast recovery, a queue above the
//! threshold marks where the algorithm wants DCTCP's feedback, and a circuit that comes and goes sets ECE where the
//! algorithm reads that. No retransmissions, timeouts or delayed ACKs: those are the connection's tests.
//!
//! What all controls are held to is what the trait's documentation asks of them. Some rules are those of controls whose signal is loss:
//! they are named in `LOSS_BASED`. One whose signal is delay stands here (`Vegas`), at round trips down to 24 us.

use etalon_tcp::cc::{self, Ack, Any, CcError, CongestionControl, State, Window};
use etalon_tcp::telemetry::{Echo, Hop};
use proptest::prelude::*;

const HZ: u32 = 250;
const MSS: u32 = 8_948;
const MS: u64 = 1_000_000;

/// Controls that lower the window at congestion events only. reTCP does so with its circuits, too.
const LOSS_BASED: [&str; 4] = ["reno", "cubic", "dctcp", "scalable"];

/// The path under test.
#[derive(Clone, Copy, Debug)]
struct Path {
    /// RTT without a queue, in ns.
    base_rtt: u64,
    /// Segments that fill the path without a queue.
    bdp: u32,
    /// Segments that fit into the queue.
    queue: u32,
    /// Rounds for which the circuit is down, then up and the rate twice as high; 0 for no circuit.
    circuit: u32,
}

/// What a run of the model came to.
#[derive(Clone, Debug, Default, PartialEq)]
struct Outcome {
    /// Share of the bottleneck's capacity that was used.
    utilisation: f64,
    losses: u32,
    /// The window after each round.
    windows: Vec<u32>,
}

/// A sender in the model.
struct Sender<C> {
    cc: C,
    window: Window,
    now: u64,
    una: u32,
    /// What a queue in front of a link of a given rate writes into segments.
    hop: Hop,
}

impl<C: CongestionControl> Sender<C> {
    fn new(mut cc: C, base_rtt: u64) -> Self {
        let mut window = Window {
            cwnd: 10,
            ssthresh: u32::MAX,
            cwnd_count: 0,
        };
        cc.on_open(&mut window, Some(base_rtt), MSS);
        Self {
            cc,
            window,
            now: 1_000 * MS,
            una: u32::MAX - 100 * MSS,
            hop: Hop::default(),
        }
    }

    /// An ACK echoes what the queue was like, if the control wants to know.
    fn echo(&mut self, nxt: u32, rtt: u64) {
        if !self.cc.wants_telemetry() {
            return;
        }
        (self.hop.sent, self.hop.at) = (self.hop.sent + u64::from(MSS), self.now);
        let echo = Echo {
            una: self.una,
            nxt,
            min_rtt: Some(rtt),
            hops: &[self.hop],
        };
        self.cc.on_telemetry(&mut self.window, &echo);
    }

    /// The ACKs of `segments` that were sent as one window: `rtt` ns from first to first, spread over `spread` ns.
    fn round(&mut self, segments: u32, rtt: u64, spread: u64, ece: bool, open: bool) {
        let start = self.now;
        let nxt = self.una.wrapping_add(2 * segments * MSS);
        for i in 0..segments {
            self.now = start + spread * u64::from(i) / u64::from(segments);
            let prior_una = self.una;
            self.una = self.una.wrapping_add(MSS);
            let ack = Ack {
                now: self.now,
                jiffies: self.now * u64::from(HZ) / 1_000_000_000,
                acked: 1,
                delivered: 1,
                rtt: Some(rtt),
                srtt: rtt,
                cwnd_limited: true,
                ece,
                prior_una,
                una: self.una,
                nxt,
                hz: HZ,
            };
            self.cc.on_ack(&mut self.window, &ack);
            if open {
                self.cc.increase(&mut self.window, &ack);
            }
            self.echo(nxt, rtt);
        }
        self.now = start + rtt.max(spread);
    }

    /// A congestion event: the new threshold, and the window down to it.
    fn reduce(&mut self, state: State) {
        let before = self.window.cwnd;
        self.window.ssthresh = self.cc.ssthresh(&self.window, self.now);
        assert!(self.window.ssthresh >= 2);
        self.cc.on_state(&mut self.window, state, self.now);
        assert!(self.window.ssthresh >= 2);
        assert!(
            self.window.ssthresh <= before.max(2),
            "a reduction from {before} to {}",
            self.window.ssthresh
        );
        self.window.cwnd = if state == State::Timeout {
            1
        } else {
            self.window.cwnd.min(self.window.ssthresh)
        };
        self.window.cwnd_count = 0;
        assert!(self.cc.undo(&self.window, before) >= before);
    }
}

fn run(cc: impl CongestionControl, path: Path, rounds: u32) -> Outcome {
    let mut sender = Sender::new(cc, path.base_rtt);
    let mut outcome = Outcome::default();
    let (mut carried, mut capacity) = (0.0, 0.0);
    let mut marked = false;
    for round in 0..rounds {
        let circuit = path.circuit > 0 && (round / path.circuit) % 2 == 1;
        let bdp = if circuit { 2 * path.bdp } else { path.bdp };
        let sent = sender.window.cwnd;
        let queued = sent.saturating_sub(bdp);
        let lost = queued > path.queue;
        let queued = queued.min(path.queue);
        let delivered = sent.min(bdp + queued);

        // The round lasts for as long as the bottleneck takes for its segments, but at least the RTT without a queue.
        let per_segment = path.base_rtt / u64::from(bdp);
        let rtt = path.base_rtt + u64::from(queued) * per_segment;
        let spread = match sender.cc.wants_pacing() {
            true => rtt,
            false => u64::from(delivered) * per_segment,
        };
        sender.hop.queue = u64::from(queued * MSS);
        sender.hop.rate = u64::from(MSS) * 8_000_000_000 / per_segment;
        carried += f64::from(delivered);
        capacity += rtt.max(spread) as f64 / per_segment as f64;

        let ece = marked || (circuit && sender.cc.reads_ece_without_ecn());
        sender.round(delivered, rtt, spread, ece, !lost);
        if lost {
            outcome.losses += 1;
            sender.reduce(State::FastRecovery);
        } else if marked {
            sender.reduce(State::Cwr);
        }
        sender
            .cc
            .on_state(&mut sender.window, State::Open, sender.now);
        marked = sender.cc.wants_dctcp_feedback() && queued > path.queue / 3;

        // A window is at most doubled in a round by slow start, and once more by an edge.
        assert!(sender.window.cwnd >= 1);
        assert!(sender.window.cwnd <= 4 * (2 * path.bdp + path.queue).max(10));
        outcome.windows.push(sender.window.cwnd);
    }
    outcome.utilisation = carried / capacity;
    outcome
}

/// Not those that steer: what they do depends on rates of delivery, which this model does not have (`bbr.rs`).
fn every_algorithm() -> impl Iterator<Item = Any> {
    let all = cc::list().iter();
    all.map(|info| Any::by_name(info.name, &[]).expect("a registered name"))
        .filter(|cc| !cc.steers())
}

/// Windows of 1 to 60 segments and RTTs of 1 to 10 ms of host time: where reconfigurable networks live.
fn paths() -> impl Iterator<Item = Path> {
    [MS, 3 * MS, 10 * MS].into_iter().flat_map(|base_rtt| {
        [(4, 4), (10, 5), (20, 16), (50, 16), (20, 128)]
            .into_iter()
            .flat_map(move |(bdp, queue)| {
                [0, 40].into_iter().map(move |circuit| Path {
                    base_rtt,
                    bdp,
                    queue,
                    circuit,
                })
            })
    })
}

#[test]
fn the_bottleneck_is_used_and_losses_stay_rare() {
    for path in paths() {
        for mut cc in every_algorithm() {
            let name = cc.name();
            let outcome = run(cc.clone(), path, 4_000);
            assert!(
                outcome.utilisation > 0.70,
                "{name} on {path:?}: {}",
                outcome.utilisation
            );
            // What a loss costs takes that many rounds to grow back; rarer than every fourth is never asked for.
            let full = Window {
                cwnd: path.bdp + path.queue,
                ssthresh: 2,
                cwnd_count: 0,
            };
            let cost = full.cwnd - cc.ssthresh(&full, 0).min(full.cwnd);
            let often = 4_000 / (1 + cost).clamp(2, 4) + 40;
            assert!(
                outcome.losses < often,
                "{name} on {path:?}: {} losses",
                outcome.losses
            );
        }
    }
}

/// TCP Vegas' congestion avoidance (Brakmo and Peterson 1995, section 3.2): once a round trip the window moves by a segment, so that 2 to 4
/// segments wait in queues.
#[derive(Clone, Debug, Default)]
struct Vegas {
    base: u64,
    least: u64,
    round_end: Option<u32>,
}

impl CongestionControl for Vegas {
    fn increase(&mut self, window: &mut Window, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.base = if self.base == 0 {
            rtt
        } else {
            self.base.min(rtt)
        };
        self.least = if self.least == 0 {
            rtt
        } else {
            self.least.min(rtt)
        };
        let end = *self.round_end.get_or_insert(ack.nxt);
        if ack.una.wrapping_sub(end) as i32 <= 0 {
            return;
        }
        let rtt = std::mem::take(&mut self.least);
        self.round_end = Some(ack.nxt);
        let queued = u64::from(window.cwnd) * (rtt - self.base) / rtt;
        if queued < 2 && ack.cwnd_limited {
            window.cwnd += 1;
        } else if queued > 4 {
            window.cwnd = (window.cwnd - 1).max(1);
        }
    }

    fn ssthresh(&mut self, window: &Window, _now: u64) -> u32 {
        (window.cwnd / 2).max(2)
    }
}

#[test]
fn delay_tells_the_queue_at_a_round_trip_of_24_microseconds() {
    for base_rtt in [24_000, 240_000, 10 * MS] {
        let path = Path {
            base_rtt,
            bdp: 20,
            queue: 16,
            circuit: 0,
        };
        let outcome = run(Vegas::default(), path, 4_000);
        let settled = &outcome.windows[200..];
        assert_eq!(outcome.losses, 0);
        assert!(outcome.utilisation > 0.99, "{}", outcome.utilisation);
        assert!(
            settled.iter().all(|&cwnd| (21..=26).contains(&cwnd)),
            "at {base_rtt} ns: {:?}",
            settled.iter().max()
        );
    }
}

#[test]
fn microseconds_are_differences_of_whole_ones() {
    for now in [1_000_000_u64, 1_000_999, 1_234_567] {
        for rtt in [0, 1, 433, 999, 1_000, 24_690, 999_999] {
            let ack = Ack {
                now,
                rtt: Some(rtt),
                ..Ack::default()
            };
            let expected = now / 1_000 - (now - rtt) / 1_000;
            assert_eq!(ack.rtt_us(), Some(expected), "{rtt} at {now}");
        }
    }
    assert_eq!(Ack::default().rtt_us(), None);
}

#[test]
fn what_is_all_there_is_to_know_leads_to_the_same_window() {
    for cc in every_algorithm() {
        for (cwnd, ssthresh) in [(1, 2), (3, 64), (10, 10), (63, 64), (500, 100)] {
            for limited in [false, true] {
                let (mut short, mut long) = (cc.clone(), cc.clone());
                let window = Window {
                    cwnd,
                    ssthresh,
                    cwnd_count: 0,
                };
                let (mut by, mut with) = (window, window);
                for delivered in [1, 2, 3, 1, 44, 1] {
                    if !short.increase_by(&mut by, delivered, limited) {
                        break;
                    }
                    let ack = Ack {
                        now: 7 * MS,
                        acked: delivered,
                        delivered,
                        rtt: Some(24_690),
                        cwnd_limited: limited,
                        hz: HZ,
                        ..Ack::default()
                    };
                    long.on_ack(&mut with, &ack);
                    long.increase(&mut with, &ack);
                    assert_eq!(by, with, "{} from {window:?}", cc.name());
                }
            }
        }
    }
}

#[test]
fn the_same_inputs_have_the_same_outcome() {
    for path in paths() {
        for cc in every_algorithm() {
            assert_eq!(run(cc.clone(), path, 500), run(cc, path, 500));
        }
    }
}

#[test]
fn retcp_fills_a_circuit_sooner_than_reno() {
    // The queue is too short to carry Reno over the doubling of the rate.
    let path = Path {
        base_rtt: 2 * MS,
        bdp: 50,
        queue: 16,
        circuit: 40,
    };
    let utilisation = |name| run(Any::by_name(name, &[]).unwrap(), path, 4_000).utilisation;
    assert!(utilisation("retcp") > utilisation("reno") + 0.05);
}

#[test]
fn dctcp_keeps_the_queue_short_without_loss() {
    let path = Path {
        base_rtt: 2 * MS,
        bdp: 40,
        queue: 40,
        circuit: 0,
    };
    let outcome = run(Any::by_name("dctcp", &[]).unwrap(), path, 4_000);
    let (settled, early) = (&outcome.windows[200..], &outcome.windows[..200]);
    assert!(
        early.iter().max() > settled.iter().max(),
        "slow start overshoots"
    );
    assert!(
        settled.iter().all(|&cwnd| (38..=58).contains(&cwnd)),
        "{settled:?}"
    );
    assert!(outcome.utilisation > 0.98);
}

#[test]
fn nothing_grows_unless_limited_by_the_window() {
    for cc in every_algorithm() {
        let mut cc = cc;
        let mut window = Window {
            cwnd: 10,
            ssthresh: 20,
            cwnd_count: 0,
        };
        cc.on_open(&mut window, Some(MS), MSS);
        for i in 0..1_000u32 {
            let ack = Ack {
                now: u64::from(i) * MS,
                jiffies: u64::from(i) / 4,
                acked: 1,
                delivered: 1,
                rtt: Some(MS),
                una: i * MSS,
                nxt: (i + 10) * MSS,
                hz: HZ,
                ..Ack::default()
            };
            cc.on_ack(&mut window, &ack);
            cc.increase(&mut window, &ack);
            assert_eq!(window.cwnd, 10, "{}", cc.name());
        }
    }
}

#[test]
fn values_out_of_range_are_refused() {
    for info in cc::list() {
        for parameter in info.parameters {
            for value in [
                parameter.min - 1.0,
                parameter.max + 1.0,
                f64::INFINITY,
                f64::NAN,
            ] {
                let refused = Any::by_name(info.name, &[(parameter.name, value)]);
                assert!(
                    matches!(refused, Err(CcError::BadValue { .. })),
                    "{} {value}",
                    parameter.name
                );
            }
        }
        let unknown = Any::by_name(info.name, &[("no such parameter", 1.0)]);
        assert!(matches!(unknown, Err(CcError::UnknownParameter { .. })));
    }
}

/// What may happen to a congestion control.
#[derive(Clone, Debug)]
enum Event {
    /// Port, queue, bytes sent and rate; SND.UNA and SND.NXT.
    Echo((u8, u32, u64, u64), (u32, u32)),
    Ack {
        ack: Ack,
        increase: bool,
    },
    Reduce(State),
    Settle(State),
    Restart {
        idle: u64,
    },
    Undo,
}

fn ack() -> impl Strategy<Value = Ack> {
    let segments = prop_oneof![4 => 0..5u32, 1 => 0..1u32 << 16];
    let times = (any::<Option<u32>>(), any::<u32>());
    let sequence = (any::<u32>(), 0..1u32 << 20, any::<u32>());
    (
        segments.clone(),
        segments,
        times,
        sequence,
        any::<[bool; 2]>(),
    )
        .prop_map(
            |(acked, delivered, (rtt, srtt), (una, bytes, nxt), [limited, ece])| Ack {
                acked,
                delivered,
                rtt: rtt.map(u64::from),
                srtt: u64::from(srtt),
                cwnd_limited: limited,
                ece,
                prior_una: una.wrapping_sub(bytes),
                una,
                nxt,
                hz: HZ,
                ..Ack::default()
            },
        )
}

fn event() -> impl Strategy<Value = Event> {
    let congestion = prop_oneof![
        Just(State::Cwr),
        Just(State::FastRecovery),
        Just(State::Timeout)
    ];
    let state = prop_oneof![
        Just(State::Open),
        Just(State::LimitedTransmit),
        congestion.clone()
    ];
    prop_oneof![
        20 => (ack(), any::<bool>()).prop_map(|(ack, increase)| Event::Ack { ack, increase }),
        10 => (any::<(u8, u32, u64, u64)>(), any::<(u32, u32)>())
            .prop_map(|(hop, acked)| Event::Echo(hop, acked)),
        2 => congestion.prop_map(Event::Reduce),
        2 => state.prop_map(Event::Settle),
        1 => (0..1u64 << 40).prop_map(|idle| Event::Restart { idle }),
        1 => Just(Event::Undo),
    ]
}

/// Every algorithm that does not steer with every parameter at its default, or anywhere in its range.
fn algorithm() -> impl Strategy<Value = Any> {
    let steers = |info: &cc::Info| Any::by_name(info.name, &[]).is_ok_and(|cc| cc.steers());
    let known: Vec<&cc::Info> = cc::list().iter().filter(|info| !steers(info)).collect();
    (
        0..known.len(),
        proptest::collection::vec(any::<Option<f64>>(), 8),
    )
        .prop_map(move |(index, picks)| {
            let info = known[index];
            let chosen = |(parameter, pick): (&cc::Parameter, &Option<f64>)| {
                let share = pick.as_ref()?.abs().fract();
                let value = parameter.min + share * (parameter.max - parameter.min);
                Some((
                    parameter.name,
                    if parameter.whole {
                        value.round()
                    } else {
                        value
                    },
                ))
            };
            let given: Vec<_> = info
                .parameters
                .iter()
                .zip(&picks)
                .filter_map(chosen)
                .collect();
            Any::by_name(info.name, &given).expect("all are in range")
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens, in whatever order: no panic, no overflow, and a window between 1 and its limit.
    #[test]
    fn any_sequence_of_events_keeps_the_window_in_bounds(
        cc in algorithm(),
        cwnd in prop_oneof![1..100u32, 1..=Window::MAX_CWND],
        events in proptest::collection::vec((event(), 0..1u64 << 36), 1..200),
    ) {
        let mut sender = Sender::new(cc, 24_000);
        sender.window.cwnd = cwnd;
        for (event, after) in events {
            sender.now += after;
            let before = sender.window;
            match event {
                Event::Echo((port, queue, sent, rate), (una, nxt)) => {
                    let hop = Hop { port: (port % 2).into(), queue: queue.into(), sent, rate, at: sender.now };
                    let echo = Echo { una, nxt, min_rtt: Some(rate >> 20), hops: &[hop] };
                    sender.cc.on_telemetry(&mut sender.window, &echo);
                }
                Event::Ack { ack, increase } => {
                    let ack = Ack { now: sender.now, jiffies: sender.now / (4 * MS), ..ack };
                    sender.cc.on_ack(&mut sender.window, &ack);
                    prop_assert_eq!(sender.window.cwnd, before.cwnd);
                    if increase {
                        sender.cc.increase(&mut sender.window, &ack);
                        let grows = LOSS_BASED.contains(&sender.cc.name());
                        prop_assert!(!grows || sender.window.cwnd >= before.cwnd);
                        prop_assert!(!grows || ack.cwnd_limited || sender.window.cwnd == before.cwnd);
                    }
                }
                Event::Reduce(state) => sender.reduce(state),
                Event::Settle(state) => sender.cc.on_state(&mut sender.window, state, sender.now),
                Event::Restart { idle } => sender.cc.on_restart(&mut sender.window, sender.now, idle),
                Event::Undo => sender.window.cwnd = sender.cc.undo(&sender.window, before.cwnd),
            }
            prop_assert!((1..=Window::MAX_CWND).contains(&sender.window.cwnd));
            prop_assert!(sender.window.ssthresh >= 2);
        }
    }
}
