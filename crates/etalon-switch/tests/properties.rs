// SPDX-License-Identifier: MIT OR Apache-2.0
//! What holds under any schedule, resizing, marking and load.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::common::*;
use etalon_scenario::{CircuitFailure, Part};
use etalon_switch::*;
use etalon_units::{Rate, Span, Time};
use proptest::prelude::*;

const RACKS: u16 = 4;

/// Two schedules, the time at which the second is handed over, and arrivals (gap to the one before, pair, ECT).
#[derive(Clone, Debug)]
struct Case {
    config: Rdcn,
    schedule: Schedule,
    other: Schedule,
    adopt_at: usize,
    arrivals: Vec<(u64, Pair, bool)>,
}

fn matching() -> impl Strategy<Value = Matching> {
    let permutation = Just((0..RACKS).collect::<Vec<_>>()).prop_shuffle();
    (
        permutation,
        proptest::collection::vec(any::<bool>(), usize::from(RACKS)),
    )
        .prop_map(|(source_of, used)| {
            let circuits = (0..RACKS).zip(source_of).zip(used);
            let source_of = circuits
                .map(|((dst, src), used)| (used && src != dst).then_some(src))
                .collect();
            Matching::new(source_of).unwrap()
        })
}

fn schedule() -> impl Strategy<Value = Schedule> {
    let night = prop_oneof![Just(0), 1..3_000u64];
    let configuration =
        (matching(), 1..20_000u64, night, 1..3u8).prop_map(|(matching, day, night, plane)| {
            Configuration {
                matching,
                day: Span(day),
                night: Span(night),
                plane: Plane(plane),
            }
        });
    proptest::collection::vec(configuration, 1..6).prop_map(|c| Schedule::new(c).unwrap())
}

fn any_config() -> impl Strategy<Value = Rdcn> {
    let pair_capacity = (0..RACKS, 0..RACKS, 1..20u32);
    (
        (1..12u32, proptest::option::of((0..12u32, 0..40_000u64))),
        (1..4u32, 0..4u32),
        (0..5_000u64, 0..5_000u64),
        proptest::option::of((0..6u32, 0..10u32)),
        proptest::option::of(0..30_000u64),
        proptest::option::of(pair_capacity),
        (
            1..100u64,
            prop_oneof![Just(Night::Own), Just(Night::All)],
            any::<bool>(),
        ),
    )
        .prop_map(
            |(voq, queues, delays, marking, ece, own, (gbps, night, has_packet))| {
                let mut config = two_kinds();
                config.night = night;
                config.voq.packets = voq.0;
                config.voq.resize = voq.1.map(|(more, tau)| Resize {
                    packets: voq.0 + more,
                    in_advance: Span(tau),
                });
                config.voq.pairs = own
                    .map(|(src, dst, packets)| PairVoq {
                        pair: pair(src, dst),
                        packets,
                    })
                    .into_iter()
                    .collect();
                let packet = config.packet.as_mut().unwrap();
                (packet.internal_queue, packet.hold_queue) = queues;
                packet.up_delay = Span(delays.0);
                packet.down_delay = Span(delays.1);
                config.circuits[0].delay = Span(delays.0 * 2);
                config.circuits[0].rate = Rate::from_gbps(gbps);
                config.packet = config.packet.filter(|_| has_packet);
                config.marking = marking.map(|(threshold, threshold_big)| Marking {
                    threshold,
                    threshold_big,
                });
                config.ece_in_advance = ece.map(Span);
                config
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    let gap = prop_oneof![4 => Just(0), 4 => 1..300u64, 1 => 1..20_000u64];
    let arrival = (gap, 0..RACKS, 0..RACKS, any::<bool>())
        .prop_map(|(gap, src, dst, ect)| (gap, pair(src, dst), ect));
    (
        any_config(),
        schedule(),
        schedule(),
        0..300usize,
        proptest::collection::vec(arrival, 1..300),
    )
        .prop_map(|(config, schedule, other, adopt_at, arrivals)| Case {
            config,
            schedule,
            other,
            adopt_at,
            arrivals,
        })
}

/// The same with up to four parts that fail, or lock late.
fn case_with_failures() -> impl Strategy<Value = Case> {
    let part = (0..5u8, 0..RACKS, 0..3u8);
    let to = proptest::option::of(1..30_000u64);
    let failure = (part, 0..40_000u64, to, proptest::option::of(1..5_000u64));
    (
        case(),
        proptest::collection::vec(failure, 1..5),
        0..10_000u64,
    )
        .prop_map(|(mut case, failures, reroute)| {
            let has_packet = case.config.packet.is_some();
            let failure = |((kind, rack, plane), from, to, late): (
                (u8, _, u8),
                u64,
                Option<u64>,
                Option<u64>,
            )| {
                let plane = if has_packet && late.is_none() {
                    plane
                } else {
                    plane.max(1)
                };
                let part = match kind {
                    0 => Part::Link(rack, plane),
                    1 => Part::Sender(rack, plane),
                    2 => Part::Receiver(rack, plane),
                    3 => Part::Rack(rack),
                    _ => Part::Switch(plane),
                };
                CircuitFailure {
                    part,
                    from: Time(from),
                    to: to.map(|length| Time(from + length)),
                    locks_after: late.map(Span),
                }
            };
            case.config.failures = failures.into_iter().map(failure).collect();
            case.config.reroute = Span(reroute);
            case
        })
}

/// The length of packet `handle`: tells packets apart where only their length is known.
fn bytes(handle: u32) -> u32 {
    200 + handle
}

/// Lets everything arrive, checking at each arrival that every packet is accounted for; then waits.
fn run(case: &Case) -> Result<Bench, TestCaseError> {
    let mut bench = Bench::new(case.config.clone(), case.schedule.clone());
    let mut now = 0;
    for (handle, &(gap, pair, ect)) in (0u32..).zip(&case.arrivals) {
        now += gap;
        if handle as usize == case.adopt_at {
            bench.switch.adopt(case.other.clone()).unwrap();
        }
        bench.send(now, handle, pair, bytes(handle), ect);
        let gone = bench.deliveries().len() + bench.discards().len();
        prop_assert_eq!(gone as u64 + bench.switch.queued(), u64::from(handle) + 1);
        prop_assert!(bench.switch.next_event().as_nanos() >= now);
    }
    bench.run(now + 1_000_000);
    Ok(bench)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn each_packet_comes_out_once(case in case()) {
        let bench = run(&case)?;
        let mut handles: Vec<u32> = bench.deliveries().iter().map(|d| d.1.0).collect();
        handles.extend(bench.discards().iter().map(|d| d.1.0));
        handles.sort_unstable();
        let out = handles.len() as u64;
        handles.dedup();
        prop_assert_eq!(handles.len() as u64, out);
        prop_assert_eq!(out + bench.switch.queued(), case.arrivals.len() as u64);
    }

    #[test]
    fn nothing_crosses_what_is_down_and_each_packet_comes_out_once(case in case_with_failures()) {
        let bench = run(&case)?;
        let mut handles: Vec<u32> = bench.deliveries().iter().map(|d| d.1.0).collect();
        handles.extend(bench.discards().iter().map(|d| d.1.0));
        handles.sort_unstable();
        prop_assert!(handles.is_sorted_by(|one, next| one < next), "each once");
        prop_assert_eq!(handles.len() as u64 + bench.switch.queued(), case.arrivals.len() as u64);
        let failures = || case.config.failures.iter().filter(|f| f.locks_after.is_none());
        let is_down = |time: u64, hit: &dyn Fn(Part) -> bool| {
            let covers = |f: &CircuitFailure| f.from.0 <= time && f.to.is_none_or(|to| time < to.0);
            failures().any(|f| hit(f.part) && covers(f))
        };
        let mut left = BTreeMap::new();
        for (time, out) in bench.pick(Some) {
            match out {
                Out::Event(Event::Dequeue { pair, bytes, plane, .. }) => {
                    left.insert(bytes, time);
                    prop_assert!(!is_down(time, &|part| part.stops_sending(pair.src, plane.0)));
                    let is_circuit = plane != Plane::PACKET;
                    prop_assert!(!is_circuit || !is_down(time, &|part| part.stops_receiving(pair.dst, plane.0)));
                }
                Out::Deliver { handle, pair, plane, .. } => {
                    prop_assert!(!is_down(time, &|part| part.stops_receiving(pair.dst, plane.0)));
                    // Over a circuit nothing failed either while it was on its way.
                    let start = left[&bytes(handle)];
                    let cuts = |f: &CircuitFailure| {
                        let hits = f.part.stops_sending(pair.src, plane.0) || f.part.stops_receiving(pair.dst, plane.0);
                        hits && start < f.from.0 && f.from.0 <= time
                    };
                    prop_assert!(plane == Plane::PACKET || !failures().any(cuts));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn time_goes_forward_and_probe_and_sink_agree(case in case()) {
        let bench = run(&case)?;
        let log = bench.pick(Some);
        prop_assert!(log.windows(2).all(|two| two[0].0 <= two[1].0));
        let dropped = bench.pick(|out| match out {
            Out::Event(Event::Dropped { bytes, reason, .. }) => Some((bytes - 200, reason)),
            _ => None,
        });
        prop_assert_eq!(dropped, bench.discards());
    }

    #[test]
    fn a_rack_has_one_circuit_in_and_one_out_and_none_in_a_night(case in case()) {
        let bench = run(&case)?;
        let (mut from, mut to) = (BTreeMap::new(), BTreeMap::new());
        let mut day = false;
        for (time, out) in bench.pick(Some) {
            match out {
                Out::Event(Event::Day { .. }) => day = true,
                Out::Event(Event::Night { .. }) => day = false,
                Out::Event(Event::Circuit { pair, up: true, .. }) => {
                    prop_assert_eq!(from.insert(pair.src, pair.dst), None);
                    prop_assert_eq!(to.insert(pair.dst, pair.src), None);
                }
                Out::Event(Event::Circuit { pair, up: false, .. }) => {
                    prop_assert_eq!(from.remove(&pair.src), Some(pair.dst));
                    prop_assert_eq!(to.remove(&pair.dst), Some(pair.src));
                }
                Out::Event(Event::Dequeue { pair, plane, .. }) => {
                    let circuit = from.get(&pair.src) == Some(&pair.dst);
                    prop_assert_eq!(plane != Plane::PACKET, circuit, "at {}", time);
                    let by_night = plane == Plane::PACKET && case.config.night == Night::Own;
                    prop_assert!(day || by_night, "at {}", time);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn voqs_are_first_in_first_out(case in case()) {
        let bench = run(&case)?;
        let mut last = BTreeMap::new();
        let mut held = BTreeMap::<_, Vec<u32>>::new();
        for (time, out) in bench.pick(Some) {
            match out {
                Out::Event(Event::Held { pair, bytes, .. }) => held.entry(pair).or_default().push(bytes),
                Out::Event(Event::Dequeue { pair, bytes, .. }) => {
                    // Held packets go first, in the order in which they came back.
                    let held = held.entry(pair).or_default();
                    if held.is_empty() {
                        let before = last.insert(pair, bytes);
                        prop_assert!(before < Some(bytes), "at {}", time);
                    } else {
                        prop_assert_eq!(held.remove(0), bytes, "at {}", time);
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn a_voq_is_never_longer_than_its_capacity(case in case()) {
        let bench = run(&case)?;
        let mut capacity = BTreeMap::new();
        let mut length = BTreeMap::<_, u32>::new();
        let own = |pair| {
            let own = case.config.voq.pairs.iter().find(|own| own.pair == pair);
            own.map_or(case.config.voq.packets, |own| own.packets)
        };
        for (time, out) in bench.pick(Some) {
            let (pair, len) = match out {
                Out::Event(Event::Resized { pair, capacity: packets, .. }) => {
                    capacity.insert(pair, packets);
                    (pair, *length.entry(pair).or_default())
                }
                Out::Event(Event::Enqueue { pair, len, .. }) | Out::Event(Event::Dequeue { pair, len, .. }) => (pair, len),
                Out::Event(Event::Dropped { pair, len, reason, .. }) => {
                    if reason == DropReason::Full {
                        prop_assert_eq!(len, *capacity.entry(pair).or_insert_with(|| own(pair)));
                    }
                    length.insert(pair, len);
                    continue;
                }
                _ => continue,
            };
            length.insert(pair, len);
            prop_assert!(len <= *capacity.entry(pair).or_insert_with(|| own(pair)), "at {}", time);
        }
        for (pair, len) in length {
            prop_assert_eq!(bench.switch.voq_len(pair), len);
            let capacity = *capacity.entry(pair).or_insert_with(|| own(pair));
            prop_assert_eq!(bench.switch.voq_capacity(pair), capacity);
        }
    }

    #[test]
    fn bytes_in_voqs_are_those_that_came_and_have_not_left(case in case()) {
        let bench = run(&case)?;
        let mut queued = BTreeMap::<_, u64>::new();
        for (_, out) in bench.pick(Some) {
            match out {
                Out::Event(Event::Enqueue { pair, bytes, .. }) | Out::Event(Event::Held { pair, bytes, .. }) => {
                    *queued.entry(pair).or_default() += u64::from(bytes);
                }
                Out::Event(Event::Dequeue { pair, bytes, .. })
                | Out::Event(Event::Dropped { pair, bytes, reason: DropReason::Shrunk, .. }) => {
                    *queued.entry(pair).or_default() -= u64::from(bytes);
                }
                _ => {}
            }
        }
        for (pair, bytes) in queued {
            prop_assert_eq!(bench.switch.voq_bytes(pair), bytes);
        }
    }

    #[test]
    fn the_sink_hears_of_each_packet_that_leaves_a_voq(case in case()) {
        let bench = run(&case)?;
        let probe = bench.pick(|out| match out {
            Out::Event(Event::Dequeue { bytes, .. }) => Some(bytes - 200),
            _ => None,
        });
        let sink = bench.pick(|out| match out {
            Out::Dequeued(handle) => Some(handle),
            _ => None,
        });
        prop_assert_eq!(sink, probe);
    }

    #[test]
    fn no_link_is_faster_than_its_rate(case in case()) {
        let bench = run(&case)?;
        // Transmissions by transmitter: uplinks and circuits by when they start, downlinks by when they end.
        let mut links = BTreeMap::<_, Vec<(u64, u64)>>::new();
        for (time, out) in bench.pick(Some) {
            match out {
                Out::Event(Event::Dequeue { pair, bytes, plane, .. }) => {
                    links.entry((plane, "from", pair.src)).or_default().push((time, bytes.into()));
                    if plane != Plane::PACKET {
                        links.entry((plane, "to", pair.dst)).or_default().push((time, bytes.into()));
                    }
                }
                Out::Deliver { handle, pair, plane: Plane::PACKET, .. } => {
                    let link = (Plane::PACKET, "to", pair.dst);
                    links.entry(link).or_default().push((time, bytes(handle).into()));
                }
                _ => {}
            }
        }
        for ((plane, end, rack), sent) in links {
            let rate = match plane {
                Plane::PACKET => case.config.packet.unwrap().rate,
                _ => case.config.circuits[plane.index() - 1].rate,
            };
            let starts = !(plane == Plane::PACKET && end == "to");
            for i in 0..sent.len() {
                let mut total = 0;
                for j in i + 1..sent.len() {
                    total += if starts { sent[j - 1].1 } else { sent[j].1 };
                    // Instants are whole nanoseconds: one of them may be lost to rounding.
                    let span = Span(sent[j].0 - sent[i].0 + 1);
                    prop_assert!(rate.span_of(total) <= span, "{plane:?} {end} {rack}: {total} in {span}");
                }
            }
        }
    }

    #[test]
    fn marks_and_ece_follow_the_configuration(case in case()) {
        let bench = run(&case)?;
        for (_, out) in bench.pick(Some) {
            if let Out::Deliver { handle, pair, ce, ece, latency, plane } = out {
                let (_, sent_as, ect) = case.arrivals[handle as usize];
                prop_assert_eq!(pair, sent_as);
                prop_assert!(!ce || (ect && case.config.marking.is_some()));
                prop_assert!(!ece || case.config.ece_in_advance.is_some());
                let delay = match plane {
                    Plane::PACKET => case.config.packet.unwrap().up_delay + case.config.packet.unwrap().down_delay,
                    _ => case.config.circuits[plane.index() - 1].delay,
                };
                prop_assert!(Span(latency) >= delay);
            }
        }
    }

    #[test]
    fn when_the_caller_looks_makes_no_difference(case in case()) {
        // Once at every event, once only at arrivals.
        let seldom = run(&case)?;
        let mut often = Bench::new(case.config.clone(), case.schedule.clone());
        let mut now = 0;
        for (handle, &(gap, pair, ect)) in (0u32..).zip(&case.arrivals) {
            now += gap;
            if handle as usize == case.adopt_at {
                often.switch.adopt(case.other.clone()).unwrap();
            }
            while often.switch.next_event().as_nanos() <= now {
                often.run(often.switch.next_event().as_nanos());
            }
            often.send(now, handle, pair, bytes(handle), ect);
        }
        often.run(now + 1_000_000);
        prop_assert_eq!(seldom.pick(Some), often.pick(Some));
    }

    #[test]
    fn pairs_that_sleep_miss_nothing(
        case in case(),
        others_listen in prop::bool::weighted(0.2),
        watched in (0..RACKS, 0..RACKS).prop_map(|(src, dst)| pair(src, dst)),
    ) {
        let mut config = case.config.clone();
        if !others_listen {
            (config.ece_in_advance, config.night) = (None, Night::Own);
        }
        let [awake, sleeping] = [false, true].map(|sleeps| {
            let mut bench = Bench::new(config.clone(), case.schedule.clone());
            if sleeps {
                bench.switch.let_idle_pairs_sleep(watched);
            }
            let mut now = 0;
            for (handle, &(gap, pair, ect)) in (0u32..).zip(&case.arrivals) {
                now += gap;
                if handle as usize == case.adopt_at {
                    bench.switch.adopt(case.other.clone()).unwrap();
                }
                // Before what the schedule does at that instant, or after.
                bench.run(now.saturating_sub((handle % 2).into()));
                let packet = packet(handle, pair, bytes(handle), ect);
                let Bench { switch, log } = &mut bench;
                switch.enqueue(Time(now), packet, &mut log.clone(), log);
            }
            bench.run(now + 1_000_000);
            bench
        });
        let others = |bench: &Bench| bench.pick(|out| (!follows(out)).then_some(out));
        prop_assert_eq!(others(&awake), others(&sleeping));
        let nobody_listens = config.ece_in_advance.is_none();
        let all_wait = config.night == Night::All && config.packet.is_some();
        let sleeps = nobody_listens && !all_wait && case.adopt_at >= case.arrivals.len();
        for pair in (0..RACKS * RACKS).map(|n| pair(n / RACKS, n % RACKS)) {
            let own = |bench: &Bench| bench.pick(|out| match out {
                Out::Event(event) if follows(out) && event.pair() == Some(pair) => Some(event),
                _ => None,
            });
            if sleeps && pair != watched && case.arrivals.iter().all(|arrival| arrival.1 != pair) {
                prop_assert_eq!(own(&sleeping), []);
                continue;
            }
            prop_assert_eq!(own(&awake), own(&sleeping));
            prop_assert_eq!(awake.switch.plane(pair), sleeping.switch.plane(pair));
            prop_assert_eq!(awake.switch.voq_capacity(pair), sleeping.switch.voq_capacity(pair));
        }
    }

    #[test]
    fn circuits_gates_and_capacities_are_what_the_week_says(
        schedule in schedule(),
        tau in 0..60_000u64,
        dark in any::<bool>(),
        lead in prop_oneof![Just(0), 0..60_000u64],
        now in 0..400_000u64,
        // Just at, before or after a boundary, as well as anywhere.
        boundary in proptest::option::of((0..12usize, 0..3u64)),
        pair in (0..RACKS, 0..RACKS).prop_map(|(src, dst)| pair(src, dst)),
    ) {
        let mut config = two_kinds();
        config.notify = config_with_notify(0).notify;
        config.voq.resize = Some(Resize { packets: 50, in_advance: Span(tau) });
        config.notify.as_mut().unwrap().before = Span(lead);
        config.night = if dark { Night::All } else { Night::Own };
        let (days, nights, instants) = three_weeks(&schedule, pair);
        let week = schedule.week().as_nanos();
        let now = match boundary {
            Some((n, off)) => instants[n % instants.len()] + week + off - 1,
            None => now,
        };
        // The pair's days in the weeks around, on a clock that starts a week early.
        let clock = now % week + week;
        let at = |clock| days.iter().find(|day| day.start <= clock && clock < day.end);
        let up = at(clock).map(|day| day.plane);
        let night = nights.iter().any(|night| night.contains(&clock));
        let closed = days.iter().any(|day| day.night_before <= clock && clock < day.end) || dark && night;
        let weeks_of_tau = tau.min(week);
        // What hosts know is what will be; through the night between two days of the pair the first one's network is said to lead.
        let soon = (now + lead) % week + week;
        let before = days.windows(2).find(|two| {
            two[1].night_before == two[0].end && two[0].end <= soon && soon < two[1].start
        });
        let tdn = at(soon).or(before.map(|two| &two[0])).map_or(Plane::PACKET, |day| day.plane);
        let big = days.iter().any(|day| day.start <= clock + weeks_of_tau && clock < day.end);

        let mut bench = Bench::new(config, schedule);
        bench.run(now);
        let serves = up.or((!closed).then_some(Plane::PACKET));
        prop_assert_eq!(bench.switch.plane(pair), serves);
        let told = bench.told(pair).last().map_or(Plane::PACKET, |told| told.1);
        prop_assert_eq!(told, tdn);
        prop_assert_eq!(bench.switch.voq_capacity(pair), if big { 50 } else { 16 });
        bench.send(now, 0, pair, 1000, false);
        let dequeued = bench.pick(|out| match out {
            Out::Event(Event::Dequeue { plane, .. }) => Some(plane),
            _ => None,
        });
        let expected: Vec<_> = serves.iter().map(|&plane| (now, plane)).collect();
        prop_assert_eq!(dequeued, expected);
    }
}

/// What the schedule does to a pair.
fn follows(out: Out) -> bool {
    let Out::Event(event) = out else { return false };
    matches!(
        event,
        Event::Circuit { .. } | Event::Gate { .. } | Event::Resized { .. }
    )
}

struct Day {
    night_before: u64,
    start: u64,
    end: u64,
    plane: Plane,
}

/// The days of `pair` in three weeks, all nights of these, and all boundaries of the first.
fn three_weeks(schedule: &Schedule, pair: Pair) -> (Vec<Day>, Vec<Range<u64>>, Vec<u64>) {
    let (mut days, mut nights, mut instants) = (Vec::new(), Vec::new(), Vec::new());
    let configurations = schedule.configurations();
    let mut night_before = 0;
    let mut start = 0;
    for (n, c) in configurations
        .iter()
        .cycle()
        .take(3 * configurations.len())
        .enumerate()
    {
        let end = start + c.day.as_nanos();
        if c.matching.source_of(pair.dst) == Some(pair.src) {
            days.push(Day {
                night_before,
                start,
                end,
                plane: c.plane,
            });
        }
        if n < configurations.len() {
            instants.extend([start, end]);
        }
        night_before = end;
        start = end + c.night.as_nanos();
        nights.push(end..start);
    }
    (days, nights, instants)
}
