// SPDX-License-Identifier: MIT OR Apache-2.0
//! One circuit switch and direct ways: the hybrid switch.

use etalon_scenario::*;
use etalon_switch::Switch;
use etalon_units::Time;
use proptest::prelude::*;

use super::bench::*;

/// All but slices, at one instant in the order of contents; queues of the switch's pairs as of these VOQs.
fn comparable(log: &Log) -> Vec<(Time, Out)> {
    let mut all: Vec<(Time, Out)> = log.0.borrow().clone();
    all.retain(|(_, out)| !matches!(out, Out::Slice(_)));
    all.sort();
    all
}

proptest! {
    /// One circuit switch, direct ways and no packet network: the hybrid switch, event for event.
    #[test]
    fn one_switch_and_direct_ways_are_the_hybrid_switch(
        racks in 2u16..6,
        day in 500u64..6000,
        night in prop_oneof![Just(0u64), 1u64..1500],
        room in 1u32..8,
        threshold in 0u32..6,
        announced in prop::option::of(0u64..1000),
        packets in prop::collection::vec((0u64..2500, any::<u16>(), any::<u16>(), 64u32..3000), 1..120),
    ) {
        let days: Vec<_> = (1..racks).map(|step| {
            let source_of = (0..racks).map(|dst| Some((dst + step) % racks)).collect();
            (Matching::new(source_of).unwrap(), day, night)
        }).collect();
        let week = rotation(days);
        let mut rdcn = Rdcn::new(None, vec![CircuitNetwork { rate: RATE, delay: DELAY }], room);
        rdcn.marking = Some(Marking { threshold, threshold_big: threshold });
        let mut of_class = limit(Some(room.into()), Full::Drop);
        of_class.mark_above = Some(threshold.into());
        let mut config = ocs(vec![switch(0, week.clone())], vec![class(of_class, Routing::Direct)]);
        config.late = Late::Completes;
        // The hybrid switch announces until the night, a network of circuits until the slice ends.
        let ece = announced.filter(|_| night == 0).map(etalon_units::Span);
        (config.ece_in_advance, rdcn.ece_in_advance) = (ece, ece);
        let mut circuits = Bench::new(&config, racks);
        let mut hybrid: Switch<u32> = Switch::new(&rdcn, &week, Time::ZERO).unwrap();
        let mut log = Log::default();
        let mut now = Time::ZERO;
        for (handle, (pause, src, step, bytes)) in packets.into_iter().enumerate() {
            // Half of them come together.
            now.0 += pause.saturating_sub(1250);
            let src = src % racks;
            let dst = (src + 1 + step % (racks - 1)) % racks;
            let packet = arrival(handle as u32, (src, dst), bytes, 0);
            circuits.send(now.0, packet);
            hybrid.advance(now, &mut log.clone(), &mut log);
            hybrid.enqueue(now, packet, &mut log.clone(), &mut log);
        }
        let end = Time(now.0 + 60 * (day + night) * u64::from(racks));
        circuits.run(end.0);
        hybrid.advance(end, &mut log.clone(), &mut log);
        // A queue for the same rack has another number.
        for (_, out) in &mut *log.0.borrow_mut() {
            match out {
                Out::Enqueue(_, queue, ..) | Out::Dequeue(_, queue, ..) | Out::Dropped(_, queue, ..)
                | Out::Departed(_, queue, _) | Out::Marked(_, queue, _) => {
                    queue.number = config.voq(&hosts(racks), queue.number);
                }
                _ => {}
            }
        }
        prop_assert_eq!(comparable(&circuits.log), comparable(&log));
        let marked = |log: &Log| {
            let mut marked = log.3.borrow().clone();
            marked.sort_unstable();
            marked
        };
        prop_assert_eq!(marked(&circuits.log), marked(&log));
    }
}

proptest! {
    /// The same of what hosts hear: one circuit is TDN 1, and none TDN 0, from the end of the night on.
    #[test]
    fn hosts_hear_of_one_switch_what_they_hear_of_the_hybrid(
        racks in 3u16..7,
        day in 500u64..6000,
        night in prop_oneof![Just(0u64), 1u64..1500],
        before in 0u64..500,
    ) {
        let days: Vec<_> = (1..racks).map(|step| {
            let source_of = (0..racks).map(|dst| Some((dst + step) % racks)).collect();
            (Matching::new(source_of).unwrap(), day, night)
        }).collect();
        let week = rotation(days);
        let packet = PacketNetwork {
            rate: RATE,
            up_delay: DELAY,
            down_delay: DELAY,
            internal_queue: 3,
            hold_queue: 3,
        };
        let circuit = CircuitNetwork { rate: RATE, delay: DELAY };
        let mut rdcn = Rdcn::new(Some(packet), vec![circuit], 16);
        rdcn.notify = Some(notify(before));
        let of_class = class(limit(None, Full::Drop), Routing::Direct);
        let mut config = ocs(vec![switch(0, week.clone())], vec![of_class]);
        (config.notify, config.tdns) = (rdcn.notify, Tdns::Length(1));
        let mut circuits = Bench::new(&config, racks);
        let mut hybrid: Switch<u32> = Switch::new(&rdcn, &week, Time::ZERO).unwrap();
        let mut log = Log::default();
        let end = 3 * (day + night) * u64::from(racks);
        circuits.run(end + night);
        hybrid.advance(Time(end), &mut log.clone(), &mut log);
        let sorted = |told: &Notifications, later: u64| {
            let when = |&(time, pair, tdn): &(u64, _, u8)| match tdn {
                0 => (time + later, pair, tdn),
                _ => (time, pair, tdn),
            };
            let mut told: Notifications = told.iter().map(when).collect();
            told.retain(|one| one.0 <= end);
            told.sort_unstable();
            told
        };
        let hybrid = sorted(&log.2.borrow(), night);
        let circuits = sorted(&circuits.log.2.borrow(), 0);
        prop_assert!(circuits.len() > usize::from(racks));
        prop_assert_eq!(circuits, hybrid);
    }
}
