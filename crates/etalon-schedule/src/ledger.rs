// SPDX-License-Identifier: MIT OR Apache-2.0
//! What applications have handed to their hosts' stacks and the network has not carried yet: demand as end hosts know it
//! (application data units, Etalon'18 section 5.2).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use etalon_switch::Pair;
use etalon_units::{Span, Time};

use crate::demand::{Demand, DemandError};

/// An account of the bytes outstanding of each flow, summed up by rack pair.
///
/// Hosts announce what applications write ([`announce`](Ledger::announce)) and that a flow is over
/// ([`withdraw`](Ledger::withdraw)); the switch tells which bytes of the stream it has sent on
/// ([`carry`](Ledger::carry)), and where the stream ends ([`end`](Ledger::end)). A byte that is sent again counts once,
/// however often it is. What hosts say arrives after the time that the control network takes.
#[derive(Clone, Debug)]
pub struct Ledger {
    racks: u16,
    delay: Span,
    accounts: Vec<Account>,
    /// Accounts that were closed, to be used again.
    vacant: Vec<u32>,
    /// Bytes outstanding, by source and then by destination rack: sums of what anybody may have announced.
    outstanding: Vec<u128>,
    /// What hosts have said and has not arrived yet, in order.
    on_the_way: VecDeque<(Time, u32, Word)>,
}

/// What a host says of a flow.
#[derive(Clone, Copy, Debug)]
enum Word {
    Announced(u64),
    Retracted(u64),
    Over,
    Closed,
}

#[derive(Clone, Debug)]
struct Account {
    pair: Pair,
    announced: u64,
    /// Bytes of the stream that were carried, each counted once.
    carried: u64,
    /// All bytes of the stream below were carried.
    whole: u64,
    /// Parts of the stream above that were carried: disjoint, in order, apart.
    parts: Vec<(u64, u64)>,
    /// The stream's length, once its end was seen.
    length: Option<u64>,
    over: bool,
}

impl Account {
    fn outstanding(&self) -> u64 {
        if self.over {
            return 0;
        }
        // What was announced and lies behind the end will never be sent. What is carried before its announcement
        // arrives is owed.
        let wanted = self
            .length
            .map_or(self.announced, |length| length.min(self.announced));
        wanted.saturating_sub(self.carried)
    }

    /// The place in the stream of the byte whose number modulo 2^32 is `offset`: within 2^31 of what was carried as a whole.
    fn place(&self, offset: u32) -> u64 {
        let ahead = i64::from(offset.wrapping_sub(self.whole as u32) as i32);
        self.whole.saturating_add_signed(ahead)
    }

    /// Notes that `[start, end)` of the stream was carried; how many of its bytes never were before.
    fn carry(&mut self, start: u64, end: u64) -> u64 {
        let start = start.max(self.whole);
        if start >= end {
            return 0;
        }
        let mut new = end - start;
        // The parts that overlap [start, end) or touch it, which become one with it.
        let first = self.parts.partition_point(|part| part.1 < start);
        let after = self.parts.partition_point(|part| part.0 <= end);
        let (mut low, mut high) = (start, end);
        for &(from, to) in &self.parts[first..after] {
            new -= to.min(end).saturating_sub(from.max(start));
            (low, high) = (low.min(from), high.max(to));
        }
        if low == self.whole {
            self.whole = high;
            self.parts.drain(first..after);
        } else {
            self.parts.splice(first..after, [(low, high)]);
        }
        self.carried += new;
        new
    }
}

impl Ledger {
    /// An empty ledger for `racks` racks; what hosts say arrives after `delay`.
    #[must_use]
    pub fn new(racks: u16, delay: Span) -> Ledger {
        let side = usize::from(racks);
        Ledger {
            racks,
            delay,
            accounts: Vec::new(),
            vacant: Vec::new(),
            outstanding: alloc::vec![0; side * side],
            on_the_way: VecDeque::new(),
        }
    }

    /// An account for a flow of `pair`; flows are numbered from 0 in the order of these calls, those of
    /// [closed](Ledger::close) accounts being used again first.
    ///
    /// # Panics
    /// If there is no such rack.
    pub fn open(&mut self, pair: Pair) -> u32 {
        assert!(
            pair.src < self.racks && pair.dst < self.racks,
            "there is no such rack"
        );
        let account = Account {
            pair,
            announced: 0,
            carried: 0,
            whole: 0,
            parts: Vec::new(),
            length: None,
            over: false,
        };
        if let Some(flow) = self.vacant.pop() {
            self.accounts[flow as usize] = account;
            return flow;
        }
        self.accounts.push(account);
        (self.accounts.len() - 1) as u32
    }

    /// The application of `flow` hands `bytes` more to its stack. Times must not go back.
    pub fn announce(&mut self, now: Time, flow: u32, bytes: u64) {
        self.say(now, flow, Word::Announced(bytes));
    }

    /// The stack of `flow` did not take `bytes` of what was announced.
    pub fn retract(&mut self, now: Time, flow: u32, bytes: u64) {
        self.say(now, flow, Word::Retracted(bytes));
    }

    /// The flow is over, whatever it has outstanding: its connection was closed, or its program died.
    pub fn withdraw(&mut self, now: Time, flow: u32) {
        self.say(now, flow, Word::Over);
    }

    /// The flow is over, and nothing more is said of it: once that has arrived, its number may become another's.
    pub fn close(&mut self, now: Time, flow: u32) {
        self.say(now, flow, Word::Closed);
    }

    fn say(&mut self, now: Time, flow: u32, word: Word) {
        if self.delay == Span::ZERO {
            self.hear(flow, word);
        } else {
            self.on_the_way.push_back((now + self.delay, flow, word));
        }
    }

    fn hear(&mut self, flow: u32, word: Word) {
        self.update(flow, |account| match word {
            Word::Announced(bytes) => {
                account.announced = account.announced.saturating_add(bytes);
            }
            Word::Retracted(bytes) => {
                account.announced = account.announced.saturating_sub(bytes);
            }
            Word::Over | Word::Closed => {
                account.over = true;
                account.parts = Vec::new();
            }
        });
        if matches!(word, Word::Closed) {
            self.vacant.push(flow);
        }
    }

    /// The switch sent `len` bytes of the stream of `flow` on, from `offset`: the sequence number counted from that of
    /// the stream's first byte, modulo 2^32. Returns how many of them it had not sent before.
    pub fn carry(&mut self, flow: u32, offset: u32, len: u32) -> u64 {
        if self.accounts[flow as usize].over {
            return 0;
        }
        self.update(flow, |account| {
            let start = account.place(offset);
            let end = account.place(offset.wrapping_add(len));
            account.carry(start, end)
        })
    }

    /// The switch saw the end of the stream of `flow`: its length is `offset`, counted as in [`carry`](Ledger::carry). What was
    /// announced beyond it will never be sent.
    pub fn end(&mut self, flow: u32, offset: u32) {
        self.update(flow, |account| account.length = Some(account.place(offset)));
    }

    /// Whether `flow` is over, or its stream has ended and all of it was carried.
    #[must_use]
    pub fn is_over(&self, flow: u32) -> bool {
        let account = &self.accounts[flow as usize];
        account.over || account.length.is_some_and(|length| account.whole >= length)
    }

    fn update<R>(&mut self, flow: u32, change: impl FnOnce(&mut Account) -> R) -> R {
        let account = &mut self.accounts[flow as usize];
        let before = account.outstanding();
        let answer = change(account);
        let Pair { src, dst } = account.pair;
        let sum =
            &mut self.outstanding[usize::from(src) * usize::from(self.racks) + usize::from(dst)];
        *sum = *sum - u128::from(before) + u128::from(account.outstanding());
        answer
    }

    /// The bytes outstanding of `flow`, as known now.
    #[must_use]
    pub fn outstanding(&self, flow: u32) -> u64 {
        self.accounts[flow as usize].outstanding()
    }

    /// Demand as it is known at `now`, racks' traffic to themselves left out.
    ///
    /// # Errors
    /// [`DemandError`] for fewer than two racks, or a sum of 2^62 bytes and more.
    pub fn demand(&mut self, now: Time) -> Result<Demand, DemandError> {
        while let Some(&(time, flow, word)) = self.on_the_way.front() {
            if time > now {
                break;
            }
            self.on_the_way.pop_front();
            self.hear(flow, word);
        }
        let side = usize::from(self.racks);
        Demand::gather(self.racks, |pair| {
            let sum = self.outstanding[usize::from(pair.src) * side + usize::from(pair.dst)];
            u64::try_from(sum).unwrap_or(u64::MAX)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PAIR: Pair = Pair { src: 0, dst: 1 };

    fn ledger(delay: u64) -> (Ledger, u32) {
        let mut ledger = Ledger::new(2, Span(delay));
        let flow = ledger.open(PAIR);
        (ledger, flow)
    }

    fn demand(ledger: &mut Ledger, now: u64) -> u64 {
        ledger.demand(Time(now)).unwrap().bytes(PAIR)
    }

    #[test]
    fn what_was_written_less_what_was_carried() {
        let (mut ledger, flow) = ledger(0);
        ledger.announce(Time(0), flow, 1000);
        assert_eq!(ledger.carry(flow, 0, 300), 300);
        assert_eq!(demand(&mut ledger, 0), 700);
        ledger.announce(Time(5), flow, 50);
        assert_eq!(demand(&mut ledger, 5), 750);
        // Two flows of a pair add up.
        let other = ledger.open(PAIR);
        ledger.announce(Time(6), other, 1);
        assert_eq!(demand(&mut ledger, 6), 751);
    }

    #[test]
    fn what_is_sent_again_counts_once() {
        let (mut ledger, flow) = ledger(0);
        ledger.announce(Time(0), flow, 1000);
        assert_eq!(ledger.carry(flow, 100, 100), 100);
        assert_eq!(ledger.carry(flow, 100, 100), 0);
        // 200 to 300 was lost before the switch; its neighbours were not.
        assert_eq!(ledger.carry(flow, 300, 100), 100);
        assert_eq!(ledger.carry(flow, 0, 400), 200);
        assert_eq!(ledger.carry(flow, 0, 400), 0);
        assert_eq!(ledger.outstanding(flow), 600);
        assert!(ledger.accounts[0].parts.is_empty());
    }

    #[test]
    fn a_flow_that_is_over_has_nothing_outstanding() {
        let (mut ledger, flow) = ledger(0);
        ledger.announce(Time(0), flow, 1000);
        ledger.withdraw(Time(1), flow);
        assert_eq!(demand(&mut ledger, 1), 0);
        // A write that was on its way, and packets that still were in a queue.
        ledger.announce(Time(2), flow, 10);
        assert_eq!(ledger.carry(flow, 0, 10), 0);
        assert_eq!(demand(&mut ledger, 2), 0);
        // Nothing is remembered of it.
        let flow = ledger.open(PAIR);
        ledger.carry(flow, 100, 100);
        ledger.withdraw(Time(3), flow);
        assert!(ledger.accounts[flow as usize].parts.is_empty());
    }

    #[test]
    fn no_bytes_and_bytes_before_the_first_are_nothing() {
        let (mut ledger, flow) = ledger(0);
        assert_eq!(ledger.carry(flow, 500, 0), 0);
        assert!(ledger.accounts[0].parts.is_empty());
        // The SYN's place, alone and with two bytes behind it.
        assert_eq!(ledger.carry(flow, u32::MAX, 1), 0);
        assert_eq!(ledger.carry(flow, u32::MAX, 3), 2);
    }

    #[test]
    fn announcements_saturate() {
        let (mut ledger, flow) = ledger(0);
        ledger.announce(Time(0), flow, u64::MAX);
        ledger.announce(Time(0), flow, 1);
        assert_eq!(ledger.outstanding(flow), u64::MAX);
    }

    #[test]
    fn more_than_can_be_demanded_is_an_error_and_can_be_taken_back() {
        let (mut ledger, flow) = ledger(0);
        let other = ledger.open(PAIR);
        ledger.announce(Time(0), flow, u64::MAX);
        ledger.announce(Time(0), other, u64::MAX);
        assert_eq!(ledger.demand(Time(0)), Err(DemandError::TooLarge));
        ledger.withdraw(Time(1), flow);
        ledger.retract(Time(1), other, u64::MAX - 5);
        assert_eq!(demand(&mut ledger, 1), 5);
    }

    #[test]
    #[should_panic = "there is no such rack"]
    fn the_last_rack_is_one_less_than_their_number() {
        Ledger::new(2, Span::ZERO).open(Pair { src: 0, dst: 2 });
    }

    #[test]
    fn the_control_network_takes_its_time() {
        let (mut ledger, flow) = ledger(100);
        ledger.announce(Time(0), flow, 1000);
        assert_eq!(demand(&mut ledger, 99), 0);
        // Carried before it was announced, it is not demanded later.
        ledger.carry(flow, 0, 400);
        assert_eq!(demand(&mut ledger, 99), 0);
        assert_eq!(demand(&mut ledger, 100), 600);
        ledger.withdraw(Time(150), flow);
        assert_eq!(demand(&mut ledger, 249), 600);
        assert_eq!(demand(&mut ledger, 250), 0);
    }

    #[test]
    fn what_lies_behind_the_end_is_not_demanded() {
        let (mut ledger, flow) = ledger(0);
        ledger.announce(Time(0), flow, 1000);
        ledger.carry(flow, 0, 200);
        // 200 to 300 is lost before its first transmission, and the FIN comes before it is sent again.
        ledger.carry(flow, 300, 100);
        ledger.end(flow, 400);
        assert_eq!(demand(&mut ledger, 1), 100);
        assert!(!ledger.is_over(flow));
        ledger.carry(flow, 200, 100);
        assert_eq!(demand(&mut ledger, 2), 0);
        assert!(ledger.is_over(flow));
    }

    #[test]
    fn what_was_not_taken_is_retracted() {
        let (mut ledger, flow) = ledger(100);
        ledger.announce(Time(0), flow, 1000);
        ledger.retract(Time(50), flow, 400);
        assert_eq!(demand(&mut ledger, 100), 1000);
        assert_eq!(demand(&mut ledger, 150), 600);
    }

    #[test]
    fn a_closed_account_is_used_again_when_all_that_was_said_of_it_has_arrived() {
        let (mut ledger, flow) = ledger(100);
        ledger.announce(Time(0), flow, 1000);
        ledger.close(Time(1), flow);
        let other = ledger.open(PAIR);
        assert_ne!(other, flow);
        assert_eq!(demand(&mut ledger, 100), 1000);
        assert_eq!(demand(&mut ledger, 101), 0);
        let again = ledger.open(PAIR);
        assert_eq!(again, flow);
        assert_eq!(ledger.outstanding(again), 0);
        assert!(!ledger.is_over(again));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let (mut ledger, flow) = ledger(0);
        let step = 1 << 30;
        ledger.announce(Time(0), flow, 8 << 30);
        for number in 0..6u32 {
            assert_eq!(
                ledger.carry(flow, number.wrapping_mul(step), step),
                u64::from(step)
            );
        }
        assert_eq!(ledger.outstanding(flow), 2 << 30);
    }

    proptest! {
        /// Against a set of bytes.
        #[test]
        fn carried_bytes_are_a_set(
            parts in proptest::collection::vec((0u32..200, 1u32..40), 1..40),
        ) {
            let (mut ledger, flow) = ledger(0);
            ledger.announce(Time(0), flow, 1000);
            let mut bytes = [false; 256];
            for (start, len) in parts {
                let range = start as usize..(start + len) as usize;
                let new = bytes[range.clone()].iter().filter(|had| !**had).count();
                bytes[range].fill(true);
                prop_assert_eq!(ledger.carry(flow, start, len), new as u64);
                let all = bytes.iter().filter(|had| **had).count();
                prop_assert_eq!(ledger.outstanding(flow), 1000 - all as u64);
                let parts = &ledger.accounts[0].parts;
                prop_assert!(parts.windows(2).all(|two| two[0].1 < two[1].0));
                prop_assert!(parts.iter().all(|part| ledger.accounts[0].whole < part.0));
            }
        }
    }
}
