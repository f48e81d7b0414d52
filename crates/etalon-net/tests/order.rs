// SPDX-License-Identifier: MIT OR Apache-2.0
//! The one order of what happens, weeks and hosts' downlinks, against what is computed by hand.

use etalon_net::{
    Advanced, Arrival, Chain, Class, Delivery, Due, Edge, Environment, HostId, Hosts, Hybrid, Net,
    Network, NewError, Packet, Part, Stage,
};
use etalon_scenario::{Control, Estimator};
use etalon_switch::{
    CircuitNetwork, Configuration, DropReason, Matching, Notify, PacketNetwork, Plane, Rdcn,
    Schedule, Switch,
};
use etalon_units::{Bytes, Rate, Span, Time};
use proptest::prelude::*;

/// A byte takes a nanosecond.
const RATE: Rate = Rate(8_000_000_000);
const END: u64 = 20_000;

/// Two racks of two hosts, which are 10 ns away from their ToR switch.
fn hosts(downlink_queue: Option<u32>) -> Hosts {
    Hosts {
        racks: 2,
        per_rack: 2,
        mtu: 9000,
        rate: RATE,
        delay: Span(10),
        jitter: Span::ZERO,
        downlink_queue,
    }
}

/// What hosts hear. Packets are numbers of `packets`.
#[derive(Default)]
struct Log {
    packets: Vec<Arrival<u32>>,
    now: Time,
    due: Vec<(u64, Due)>,
    delivered: Vec<(u64, u32)>,
    lost: Vec<(u64, u32)>,
    weeks: usize,
}

impl Environment<u32> for Log {
    fn enter(&mut self, now: Time, handle: u32) -> Arrival<u32> {
        self.due.push((now.0, Due::Arrival));
        self.packets[handle as usize]
    }

    fn deliver(&mut self, delivery: Delivery<u32>, _: &mut Edge<u32>) {
        self.delivered.push((delivery.time.0, delivery.handle));
    }

    fn discard(&mut self, now: Time, handle: u32, _: DropReason, _: &mut Edge<u32>) {
        self.lost.push((now.0, handle));
    }

    fn part(&mut self, _: u32) -> Option<Part> {
        None
    }

    fn notified(&mut self, now: Time, _: u32, _: u16, _: Plane, _: &mut Edge<u32>) {
        self.due.push((now.0, Due::Notification));
    }

    fn nic_free(&mut self, _: u32, _: u32) {
        self.due.push((self.now.0, Due::NicFree));
    }
}

impl Log {
    /// How much hosts have heard, and whoever passes milestones.
    fn heard(&self) -> usize {
        let told =
            |due: &&(u64, Due)| matches!(due.1, Due::NicFree | Due::Notification | Due::Milestone);
        self.delivered.len() + self.lost.len() + self.due.iter().filter(told).count()
    }

    /// Host `src` sends to another, `ahead` hosts on.
    fn send<N: Network<u32>>(
        &mut self,
        net: &mut Net<u32, N>,
        now: u64,
        (src, ahead): (u32, u32),
        bytes: u32,
    ) {
        let edge = net.edge_mut();
        let host = |index: u32| -> HostId { edge.hosts().host(index % 4) };
        let handle = self.packets.len() as u32;
        self.packets.push(Arrival {
            packet: Packet {
                handle,
                src: host(src),
                dst: host(src + ahead),
                bytes,
            },
            ect: false,
            pure_ack: false,
            class: Class::default(),
            label: 0,
        });
        let done = edge.send(Time(now), src, bytes, handle);
        edge.tell_when_free(src, done, handle);
    }

    /// Has all happen that comes before the engine's turn at `until`.
    fn drive<N: Network<u32>>(&mut self, net: &mut Net<u32, N>, until: u64) {
        loop {
            self.now = net.next_event();
            let (next_heard, next_week) = (net.next_heard(true), net.next_week());
            let (heard, due) = (self.heard(), self.due.len());
            let now = self.now.0;
            match net.advance(Time(until), self, &mut ()) {
                Advanced::Not => break,
                Advanced::Network => self.due.push((now, Due::Network)),
                Advanced::Milestone(now, _) => self.due.push((now.0, Due::Milestone)),
                Advanced::Week(now) => {
                    assert_eq!((now, now), (next_week, self.now));
                    self.due.push((now.0, Due::Week));
                    let week = net.compute(now, None).expect("a week can be computed");
                    self.weeks += usize::from(week.is_some());
                }
                Advanced::Edge if self.due.len() == due => self.due.push((now, Due::Delivery)),
                Advanced::Edge => {}
            }
            assert!(
                self.heard() == heard || next_heard <= self.now,
                "heard before {next_heard:?}"
            );
        }
        assert!(net.next_event().0 > until, "the engine's turn comes last");
    }
}

/// Sends at times, sizes and distances that are multiples of 10 ns, so that much coincides.
fn sends() -> impl Strategy<Value = Vec<(u64, u32, u32, u32)>> {
    let send = (0u64..30, 0u32..4, 1u32..4, 1u32..30);
    let send = send.prop_map(|(pause, src, ahead, size)| (10 * pause, src, ahead, 10 * size));
    prop::collection::vec(send, 1..60)
}

/// A switch whose weeks follow demand, with all that a net can have around it.
fn controlled() -> Net<u32, Hybrid<u32>> {
    let packet = PacketNetwork {
        rate: RATE,
        up_delay: Span(50),
        down_delay: Span(50),
        internal_queue: 3,
        hold_queue: 3,
    };
    let mut rdcn = Rdcn::new(
        Some(packet),
        vec![CircuitNetwork {
            rate: RATE,
            delay: Span(20),
        }],
        16,
    );
    let notify = Notify {
        before: Span::ZERO,
        delay: Span(10),
        jitter: Span::ZERO,
        lost: 0,
        each: Span::ZERO,
    };
    rdcn.notify = Some(notify);
    let control = Control {
        scheduler: "max-weight".into(),
        estimator: Estimator::Voq,
        window: Span(1000),
        min_day: Span(300),
        night: Span(100),
        threshold: Bytes(0),
        only_big: false,
        compute: Span(200),
        interval: Span::ZERO,
    };
    let day = |sources: [Option<u16>; 2]| Configuration {
        matching: Matching::new(sources.to_vec()).unwrap(),
        day: Span(400),
        night: Span(100),
        plane: Plane::CIRCUIT,
    };
    let week = Schedule::new(vec![day([None, None]), day([Some(1), Some(0)])]).unwrap();
    let network = Hybrid::new(Switch::new(&rdcn, &week, Time::ZERO).unwrap(), None);
    let milestones = (Time(1000), Time(END));
    Net::new(
        hosts(Some(3)),
        network,
        Some((&control, &rdcn)),
        Some(&notify),
        1,
        milestones,
    )
    .unwrap()
}

proptest! {
    #[test]
    fn what_is_due_at_one_instant_happens_in_the_order_of_due(sends in sends()) {
        let (mut net, mut log, mut now) = (controlled(), Log::default(), 0);
        for (pause, src, ahead, bytes) in sends {
            now += pause;
            log.drive(&mut net, now);
            log.send(&mut net, now, (src, ahead), bytes);
        }
        log.drive(&mut net, END);
        for two in log.due.windows(2) {
            // What a packet brings about where it arrives may be due at once.
            let new = matches!(two[0].1, Due::Network | Due::Arrival) && matches!(two[1].1, Due::Network | Due::Delivery);
            prop_assert!(two[0] <= two[1] || new && two[0].0 == two[1].0, "{two:?}");
        }
        prop_assert_eq!(log.packets.len(), log.delivered.len() + log.lost.len());
        // A week is computed while the one before runs, of 1000 ns at most.
        prop_assert!(log.weeks >= 10, "{}", log.weeks);
        let milestones: Vec<u64> = log.due.iter().filter(|due| due.1 == Due::Milestone).map(|due| due.0).collect();
        prop_assert_eq!(milestones, [1000, END]);
    }

    /// A drop-tail queue for each host, computed packet by packet.
    #[test]
    fn downlinks_are_drop_tail_queues(sends in sends(), room in 1u32..5) {
        let wire = || vec![Stage::new(None, u32::MAX, Span(100))];
        let network = Chain::new(wire(), wire());
        let mut net = Net::new(hosts(Some(room)), network, None, None, 1, (Time(1), Time(END))).unwrap();
        let (mut log, mut now, mut free) = (Log::default(), 0, [0u64; 4]);
        // When each comes to its ToR switch: those of the other rack before those of the same, then as they were sent on.
        let mut coming = Vec::new();
        for (pause, src, ahead, bytes) in sends {
            now += pause;
            log.drive(&mut net, now);
            let handle = log.packets.len() as u32;
            log.send(&mut net, now, (src, ahead), bytes);
            let done = free[src as usize].max(now) + u64::from(bytes);
            free[src as usize] = done;
            let dst = (src + ahead) % 4;
            let same_rack = src / 2 == dst / 2;
            let time = done + 10 + if same_rack { 0 } else { 100 };
            coming.push((time, same_rack, src, handle, dst as usize, u64::from(bytes)));
        }
        log.drive(&mut net, END);
        coming.sort_unstable();
        let mut queues = [const { Vec::<u64>::new() }; 4];
        let (mut delivered, mut lost) = (Vec::new(), Vec::new());
        for (time, _, _, handle, dst, bytes) in coming {
            let queue = &mut queues[dst];
            queue.retain(|&passes| passes > time);
            if queue.len() == room as usize {
                lost.push((time, handle));
            } else {
                let passes = queue.last().copied().unwrap_or(time) + bytes;
                queue.push(passes);
                delivered.push((passes, dst, handle));
            }
        }
        delivered.sort_unstable();
        let delivered: Vec<(u64, u32)> = delivered.into_iter().map(|(time, _, handle)| (time, handle)).collect();
        prop_assert_eq!(&log.delivered, &delivered);
        log.lost.sort_unstable();
        lost.sort_unstable();
        prop_assert_eq!(log.lost, lost);
    }
}

#[test]
fn experiments_that_are_too_long_are_refused() {
    let net = |end| {
        let wire = || vec![Stage::new(None, u32::MAX, Span(100))];
        Net::<u32, _>::new(
            hosts(None),
            Chain::new(wire(), wire()),
            None,
            None,
            1,
            (Time(1), end),
        )
    };
    let longest = net(Time::MAX).unwrap().edge().last_instant();
    assert_eq!(net(longest).unwrap().edge().last_instant(), longest);
    assert_eq!(net(Time(longest.0 + 1)).unwrap_err(), NewError::TooLong);
}
