// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending end of a flow.

use alloc::collections::VecDeque;

use super::config::{Config, Pulls};
use super::header::{Header, Kind};

/// Answers of which a sender remembers whether they were ACKs, and of how many at least that tells that its way is good.
const RECENT: u32 = 12;
const GOOD: u32 = RECENT / 4;
/// A timeout doubles at most so many times.
const MOST_BACKOFF: u32 = 8;
/// A receiver that has promised a pull may have others to pull first: it is given so many timeouts.
const PATIENCE: u64 = 16;

/// What is known of a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It is under way, or lost.
    Sent,
    /// It is to be sent again.
    Due,
    /// It has arrived.
    Acked,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    state: State,
    /// It was pushed, and nothing was heard of it.
    pushed: bool,
    /// How often it was sent, modulo 256.
    copy: u8,
}

/// A packet that is sent, for its timeout: when, which, and which copy of it.
type Sent = (u64, u32, u8);

/// The sending end of a flow.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Payload to send, in bytes; `u64::MAX` if there is no end.
    bytes: u64,
    /// Number of packets.
    total: u32,
    /// The first packet that was never sent.
    next: u32,
    /// All packets below have arrived, and those from here to `next`.
    acked: u32,
    slots: VecDeque<Slot>,
    /// Packets to be sent again, in order.
    again: VecDeque<u32>,
    /// How many packets it may push, and may send because they were pulled.
    push: u32,
    credit: u32,
    /// Packets that were pushed and of which nothing was heard.
    pushed: u32,
    /// The largest number of pulls heard of, and what was last said of those to come.
    pulled: u32,
    promised: u32,
    /// The last answers: a bit each, set for ACKs.
    recent: u32,
    sent: VecDeque<Sent>,
    /// Packets that are under way, or lost.
    under_way: u32,
    /// When anything was last heard or sent.
    heard: u64,
    backoff: u32,
    resends: u64,
    timeouts: u64,
}

impl Sender {
    /// A sender of so many bytes, or of bytes without end.
    #[must_use]
    pub fn new(bytes: Option<u64>, config: &Config) -> Sender {
        let bytes = bytes.unwrap_or(u64::MAX);
        Sender {
            bytes,
            total: config.packets(bytes),
            next: 0,
            acked: 0,
            slots: VecDeque::new(),
            again: VecDeque::new(),
            push: config.window,
            credit: 0,
            pushed: 0,
            pulled: 0,
            promised: 0,
            recent: 0,
            sent: VecDeque::new(),
            under_way: 0,
            heard: 0,
            backoff: 0,
            resends: 0,
            timeouts: 0,
        }
    }

    /// Whether the receiver is known to have all.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.acked == self.total
    }

    /// Payload that is known to have arrived without a gap, in bytes.
    #[must_use]
    pub fn bytes_acked(&self, config: &Config) -> u64 {
        (u64::from(self.acked) * u64::from(config.payload)).min(self.bytes)
    }

    /// Packets that were sent again.
    #[must_use]
    pub fn resends(&self) -> u64 {
        self.resends
    }

    /// How often a timeout expired.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Packets of which nothing was heard since they were sent.
    #[must_use]
    pub fn under_way(&self) -> u32 {
        self.under_way
    }

    /// The next packet that may leave now; none if it has to wait. To be asked until there is none.
    pub fn poll(&mut self, now: u64, config: &Config) -> Option<Header> {
        if self.credit > 0 {
            if let Some(seq) = self.take_again() {
                self.credit -= 1;
                self.resends += 1;
                return Some(self.send(now, seq, config));
            }
        }
        if self.next == self.total {
            self.credit = match config.pulls {
                // What is under way may prove to be trimmed: its pull has come first.
                Pulls::Needed => self.credit.min(self.under_way),
                Pulls::Each => 0,
            };
            return None;
        }
        let pushes = self.push > 0;
        if pushes {
            self.push -= 1;
            self.pushed += 1;
        } else {
            self.credit = self.credit.checked_sub(1)?;
        }
        let seq = self.next;
        self.next += 1;
        self.slots.push_back(Slot {
            state: State::Due,
            pushed: pushes,
            copy: 0,
        });
        Some(self.send(now, seq, config))
    }

    fn take_again(&mut self) -> Option<u32> {
        while let Some(seq) = self.again.pop_front() {
            if self.slot(seq).is_some_and(|slot| slot.state == State::Due) {
                return Some(seq);
            }
        }
        None
    }

    fn slot(&mut self, seq: u32) -> Option<&mut Slot> {
        let index = seq.checked_sub(self.acked)?;
        self.slots.get_mut(index as usize)
    }

    fn send(&mut self, now: u64, seq: u32, config: &Config) -> Header {
        if let Some(slot) = self.slot(seq) {
            slot.state = State::Sent;
            slot.copy = slot.copy.wrapping_add(1);
            let copy = slot.copy;
            if config.timeout.is_some() {
                self.sent.push_back((now, seq, copy));
            }
        }
        self.under_way += 1;
        self.heard = now;
        let before = u64::from(seq) * u64::from(config.payload);
        let len = (self.bytes - before).min(config.payload.into());
        Header {
            kind: Kind::Data,
            last: seq + 1 == self.total,
            len: len as u16,
            seq,
            ..Header::default()
        }
    }

    /// An ACK, a NACK or a pull arrives.
    pub fn on_answer(&mut self, now: u64, packet: &Header, config: &Config) {
        self.heard = now;
        self.backoff = 0;
        match packet.kind {
            Kind::Ack => self.on_ack(packet.seq),
            Kind::Nack => self.on_nack(packet.seq, config),
            Kind::Pull | Kind::Data => {}
        }
        self.ack_below(packet.cumulative);
        self.forget_sent();
        if let Some(more) = packet.pull.checked_sub(self.pulled) {
            self.pulled = packet.pull;
            self.credit += more;
        }
        self.promised = packet.promised;
    }

    /// The network returns the header of a packet, for which it had no room.
    pub fn on_return(&mut self, now: u64, seq: u32) {
        self.heard = now;
        if !self.is_heard_of(seq, false) {
            return;
        }
        self.again.push_front(seq);
        // Who expects pulls waits for these, unless its packets use to arrive.
        let expects = self.promised > self.pulled || self.pushed > 1;
        if !expects || self.recent.count_ones() > GOOD {
            self.credit += 1;
        }
    }

    fn on_ack(&mut self, seq: u32) {
        self.is_heard_of(seq, true);
        if let Some(slot) = self.slot(seq) {
            slot.state = State::Acked;
        }
        self.forget_acked();
    }

    fn on_nack(&mut self, seq: u32, config: &Config) {
        if !self.is_heard_of(seq, false) {
            return;
        }
        self.again.push_back(seq);
        if config.resends_last && self.next == self.total {
            self.credit += 1;
        }
    }

    /// A packet is known to have arrived, or not to. Whether it was under way.
    fn is_heard_of(&mut self, seq: u32, arrived: bool) -> bool {
        self.recent = (self.recent << 1 | u32::from(arrived)) & ((1 << RECENT) - 1);
        let Some(slot) = self.slot(seq) else {
            return false;
        };
        let was_pushed = core::mem::take(&mut slot.pushed);
        let was_sent = slot.state == State::Sent;
        if was_sent {
            slot.state = State::Due;
        }
        self.pushed -= u32::from(was_pushed);
        self.under_way -= u32::from(was_sent);
        was_sent
    }

    /// All packets with smaller numbers than this have arrived.
    fn ack_below(&mut self, cumulative: u32) {
        while self.acked < cumulative.min(self.next) {
            if let Some(slot) = self.slots.front_mut() {
                self.under_way -= u32::from(slot.state == State::Sent);
                self.pushed -= u32::from(slot.pushed);
            }
            self.slots.pop_front();
            self.acked += 1;
        }
        self.forget_acked();
    }

    fn forget_acked(&mut self) {
        while self
            .slots
            .front()
            .is_some_and(|slot| slot.state == State::Acked)
        {
            self.slots.pop_front();
            self.acked += 1;
        }
    }

    /// Drops what needs no timeout any more.
    fn forget_sent(&mut self) {
        while let Some(&first) = self.sent.front() {
            if self.waits(first) {
                break;
            }
            self.sent.pop_front();
        }
    }

    /// Whether nothing was heard of this copy of a packet.
    fn waits(&mut self, (_, seq, copy): Sent) -> bool {
        self.slot(seq)
            .is_some_and(|slot| slot.state == State::Sent && slot.copy == copy)
    }

    /// When to give up waiting for a pull.
    fn silence_ends(&self, timeout: u64) -> u64 {
        let expects = self.promised > self.pulled;
        let patience = if expects { PATIENCE } else { 1 };
        self.heard.saturating_add(timeout.saturating_mul(patience))
    }

    /// When its timer expires in nanoseconds, `u64::MAX` if it has none. It may come to be later.
    #[must_use]
    pub fn next_timer(&self, config: &Config) -> u64 {
        let Some(timeout) = config.timeout else {
            return u64::MAX;
        };
        let timeout = timeout.saturating_mul(1 << self.backoff);
        match self.sent.front() {
            _ if self.is_done() || self.next == 0 => u64::MAX,
            Some(&(time, ..)) if self.under_way > 0 => time.saturating_add(timeout),
            _ => self.silence_ends(timeout),
        }
    }

    /// Its timer may have expired: packets without an answer are to be sent again, without a pull. If none is under way, but there
    /// is something to send, pulls may have been lost: one packet is sent to hear of them.
    pub fn on_timer(&mut self, now: u64, config: &Config) {
        let Some(timeout) = config.timeout else {
            return;
        };
        let timeout = timeout.saturating_mul(1 << self.backoff);
        let mut expired = false;
        while let Some(&first) = self.sent.front() {
            let waits = self.waits(first);
            if waits && first.0.saturating_add(timeout) > now {
                break;
            }
            self.sent.pop_front();
            if waits {
                self.lose(first.1);
                expired = true;
            }
        }
        let is_silent = self.under_way == 0 && !expired && self.next > 0;
        if is_silent && !self.is_done() && self.silence_ends(timeout) <= now {
            self.credit += 1;
            self.heard = now;
            expired = true;
        }
        if expired {
            self.timeouts += 1;
            self.backoff = (self.backoff + 1).min(MOST_BACKOFF);
        }
    }

    /// A packet had no answer in time.
    fn lose(&mut self, seq: u32) {
        if let Some(slot) = self.slot(seq) {
            slot.state = State::Due;
            let was_pushed = core::mem::take(&mut slot.pushed);
            self.pushed -= u32::from(was_pushed);
            self.under_way -= 1;
            self.again.push_back(seq);
            self.credit += 1;
        }
    }
}
