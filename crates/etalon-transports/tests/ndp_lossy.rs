// SPDX-License-Identifier: MIT OR Apache-2.0
//! NDP over a network that loses, trims, returns and reorders what it likes: each byte arrives exactly once.

use std::collections::{BTreeMap, BTreeSet};

use etalon_transports::ndp::{Config, Header, Kind, Puller, Pulls, Receiver, Sender};
use proptest::prelude::*;

/// What happens to packets: of 256 so many are lost, trimmed, returned.
#[derive(Clone, Copy, Debug)]
struct Odds {
    lost: u8,
    trimmed: u8,
    returned: u8,
}

#[derive(Debug)]
enum Event {
    Arrives(Header, bool),
    Returns(Header),
    Answers(Header),
    Timer,
    Pull,
}

struct Exchange {
    sender: Sender,
    receiver: Receiver,
    puller: Puller<()>,
    config: Config,
    odds: Odds,
    random: u64,
    events: BTreeMap<(u64, u64), Event>,
    count: u64,
    /// Packets that arrived whole, as a check of what the receiver counts.
    whole: BTreeSet<u32>,
    bytes: u64,
    /// The next timer that is set.
    timer: u64,
}

impl Exchange {
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn at(&mut self, time: u64, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    fn send(&mut self, now: u64) {
        while let Some(packet) = self.sender.poll(now, &self.config) {
            let (fate, late) = (self.draw(256), 100 + self.draw(5000));
            let Odds {
                lost,
                trimmed,
                returned,
            } = self.odds;
            let [lost, trimmed, returned] = [lost, trimmed, returned].map(u64::from);
            if fate < lost {
            } else if fate < lost + trimmed {
                self.at(now + late, Event::Arrives(packet, true));
            } else if fate < lost + trimmed + returned {
                self.at(now + late, Event::Returns(packet));
            } else {
                self.at(now + late, Event::Arrives(packet, false));
            }
        }
        let timer = self.sender.next_timer(&self.config);
        if timer < self.timer {
            self.timer = timer;
            self.at(timer.max(now), Event::Timer);
        }
    }

    fn answer(&mut self, now: u64, packet: Header) {
        let late = 100 + self.draw(5000);
        if self.draw(256) >= u64::from(self.odds.lost) {
            self.at(now + late, Event::Answers(packet));
        }
    }

    fn arrives(&mut self, now: u64, packet: Header, trimmed: bool) {
        assert_eq!(packet.kind, Kind::Data);
        if !trimmed && self.whole.insert(packet.seq) {
            self.bytes += u64::from(packet.len);
        }
        let before = self.puller.next_time();
        let answer = self.receiver.on_data(
            now,
            (&packet, trimmed),
            &self.config,
            (&mut self.puller, ()),
        );
        assert_eq!(answer.kind, if trimmed { Kind::Nack } else { Kind::Ack });
        assert_eq!(self.receiver.bytes(), self.bytes);
        self.answer(now, answer);
        if self.puller.next_time() < before {
            let next = self.puller.next_time();
            self.at(next.max(now), Event::Pull);
        }
    }

    /// To the end; returns when that was.
    fn run(&mut self) -> u64 {
        self.send(0);
        let mut turns = 0;
        let mut last = 0;
        while let Some(((now, _), event)) = self.events.pop_first() {
            turns += 1;
            assert!(turns < 1_000_000, "it goes on for ever");
            last = now;
            match event {
                Event::Arrives(packet, trimmed) => self.arrives(now, packet, trimmed),
                Event::Returns(packet) => self.sender.on_return(now, packet.seq),
                Event::Answers(packet) => self.sender.on_answer(now, &packet, &self.config),
                Event::Timer => {
                    self.timer = u64::MAX;
                    self.sender.on_timer(now, &self.config);
                }
                Event::Pull => {
                    let receiver = &mut self.receiver;
                    let pull = self.puller.take(now, |()| receiver.on_turn());
                    if let Some(((), pull)) = pull {
                        self.answer(now, pull);
                    }
                    let next = self.puller.next_time();
                    if next < u64::MAX {
                        self.at(next.max(now), Event::Pull);
                    }
                }
            }
            self.send(now);
        }
        last
    }
}

fn exchange(bytes: u64, odds: Odds, config: Config, seed: u64) -> Exchange {
    Exchange {
        sender: Sender::new(Some(bytes), &config),
        receiver: Receiver::new(),
        puller: Puller::new(config.spacing),
        config,
        odds,
        random: seed | 1,
        events: BTreeMap::new(),
        count: 0,
        whole: BTreeSet::new(),
        bytes: 0,
        timer: u64::MAX,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_whatever_is_lost(
        bytes in 1u64..200_000,
        (lost, trimmed, returned) in (0u8..100, 0u8..100, 0u8..50),
        (window, each, resends_last) in (1u32..40, any::<bool>(), any::<bool>()),
        seed in any::<u64>(),
    ) {
        let pulls = if each { Pulls::Each } else { Pulls::Needed };
        let config = Config { window, pulls, resends_last, ..Config::default() };
        let odds = Odds { lost, trimmed, returned };
        let mut exchange = exchange(bytes, odds, config, seed);
        exchange.run();
        prop_assert!(exchange.sender.is_done() && exchange.receiver.is_complete());
        prop_assert_eq!(exchange.receiver.bytes(), bytes);
        prop_assert_eq!(exchange.whole.len() as u32, config.packets(bytes));
        prop_assert_eq!(exchange.sender.under_way(), 0);
        if lost == 0 {
            prop_assert_eq!(exchange.sender.next_timer(&config), u64::MAX);
        }
    }

    /// Trimming tells of each loss: nobody waits for a timeout, and there need be none.
    #[test]
    fn what_is_trimmed_needs_no_timeout(
        bytes in 1u64..200_000,
        trimmed in 0u8..200,
        window in 1u32..40,
        seed in any::<u64>(),
    ) {
        let config = Config { window, timeout: None, ..Config::default() };
        let odds = Odds { lost: 0, trimmed, returned: 0 };
        let mut exchange = exchange(bytes, odds, config, seed);
        exchange.run();
        prop_assert!(exchange.sender.is_done() && exchange.receiver.is_complete());
        prop_assert_eq!(exchange.receiver.bytes(), bytes);
        prop_assert_eq!(exchange.sender.timeouts(), 0);
    }
}
