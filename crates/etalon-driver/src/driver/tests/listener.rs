// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that listens to the driver.

use alloc::collections::VecDeque;

use super::*;

/// What the driver said, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said {
    Log(Record),
    Capture(u64),
    Mark(u64, bool, bool),
    Deliver(u64, u32),
    Discard(u64),
    Free(u64, u32),
    Notification(u32, u16, u8),
    Milestone(Milestone),
    Asked(Record),
    Open(u32),
    Write(u32, u64),
    Close(u32),
    Granted(u32, u32),
}

/// A kernel that listens.
#[derive(Default)]
pub(super) struct Listener {
    pub(super) said: RefCell<Vec<Said>>,
    /// The kernel's time, to tell when something was said.
    pub(super) clock: Cell<u64>,
    pub(super) times: RefCell<Vec<u64>>,
    /// What it answers to questions, one after the other.
    pub(super) answers: RefCell<VecDeque<Vec<u8>>>,
}

impl Listener {
    pub(super) fn say(&self, said: Said) {
        self.said.borrow_mut().push(said);
        self.times.borrow_mut().push(self.clock.get());
    }

    pub(super) fn events(&self) -> Vec<(Time, Event)> {
        let event = |said: &Said| match said {
            Said::Log(record) => Some((record.time, Event::of(record).unwrap())),
            _ => None,
        };
        self.said.borrow().iter().filter_map(event).collect()
    }

    /// When things that `which` chooses were said.
    pub(super) fn times(&self, which: impl Fn(&Said) -> bool) -> Vec<u64> {
        let (said, times) = (self.said.borrow(), self.times.borrow());
        let pairs = said.iter().zip(times.iter());
        pairs.filter(|(s, _)| which(s)).map(|(_, t)| *t).collect()
    }
}

impl Kernel for Listener {
    fn log(&self, record: &Record) {
        self.say(Said::Log(*record));
    }

    fn capture(&self, _now: Time, handle: u64, _snap: u16) {
        self.say(Said::Capture(handle));
    }

    fn mark(&self, handle: u64, ce: bool, ece: bool) {
        self.say(Said::Mark(handle, ce, ece));
    }

    fn deliver(&self, handle: u64, host: u32) {
        self.say(Said::Deliver(handle, host));
    }

    fn discard(&self, handle: u64) {
        self.say(Said::Discard(handle));
    }

    fn nic_free(&self, handle: u64, host: u32) {
        self.say(Said::Free(handle, host));
    }

    /// Handles of notifications are beyond those of packets.
    fn notification(&self, host: u32, rack: u16, tdn: u8) -> Option<NonZero<u64>> {
        self.say(Said::Notification(host, rack, tdn));
        NonZero::new(NOTIFICATION)
    }

    fn milestone(&self, _now: Time, milestone: Milestone) {
        self.say(Said::Milestone(milestone));
    }

    fn ask(&self, question: &Record) -> Vec<u8> {
        self.say(Said::Asked(*question));
        self.answers.borrow_mut().pop_front().unwrap_or_default()
    }

    fn open(&self, flow: u32) {
        self.say(Said::Open(flow));
    }

    fn write(&self, stream: u32, bytes: u64) {
        self.say(Said::Write(stream, bytes));
    }

    fn close(&self, flow: u32) {
        self.say(Said::Close(flow));
    }

    fn granted(&self, claim: u32, changed: u32) {
        self.say(Said::Granted(claim, changed));
    }

    fn fail(&self, _now: Time, sentence: fmt::Arguments<'_>) {
        panic!("{sentence}");
    }
}
