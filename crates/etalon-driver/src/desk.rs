// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is decided outside of the kernel while virtual time stands still: what ranks and generators do next, and weeks that a
//! user's function computes.
//!
//! A question is a record of the log; the answer comes back at once: [`Order`]s, or a week. There is one question for each thing that
//! happens to who is outside: a message is there or has been sent, the time to wake has come, circuits are granted.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use etalon_scenario::{CrossConnect, Flow, Scenario};
use etalon_schedule::{CannotSchedule, Demand, Params, Scheduler};
use etalon_switch::Schedule;
use etalon_units::Time;
use serde::{Deserialize, Serialize};

use etalon_events::Event;

use crate::Kernel;
use crate::weeks::tell_demand;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Connect a flow, which has the next number after all flows so far.
    Open(Flow),
    /// Write so many bytes into a stream: number 2n from flow n's client to its server, 2n + 1 back. They are one message.
    Write {
        /// Which.
        stream: u32,
        /// How many.
        bytes: u64,
    },
    /// The client of a flow writes no more.
    Close {
        /// Which.
        flow: u32,
    },
    /// Ask again at this time, instead of another.
    Wake(Time),
    /// A job asks for circuits.
    Ask {
        /// Which.
        job: u32,
        /// Which circuits.
        circuits: Vec<CrossConnect>,
    },
    /// A job needs circuits no more.
    Release {
        /// Which.
        job: u32,
        /// Which circuits.
        circuits: Vec<CrossConnect>,
    },
    /// Whether all jobs and generators are over.
    Over(bool),
}

/// Orders as bytes.
#[must_use]
pub fn encode_orders(orders: &[Order]) -> Vec<u8> {
    postcard::to_allocvec(orders).unwrap_or_default()
}

/// Orders of these bytes.
///
/// # Errors
/// [`postcard::Error`] if they are none.
pub(crate) fn decode_orders(bytes: &[u8]) -> Result<Vec<Order>, postcard::Error> {
    postcard::from_bytes(bytes)
}

/// A week as bytes.
#[must_use]
pub fn encode_week(week: &Schedule) -> Vec<u8> {
    postcard::to_allocvec(week).unwrap_or_default()
}

/// What the driver knows of who decides outside.
#[derive(Debug)]
pub(crate) struct Desk {
    /// When to ask next, whatever happens.
    pub(crate) wake: Time,
    /// Whether jobs and generators are over.
    pub(crate) over: bool,
    /// Number of the first flow that is opened from outside.
    first: u32,
    /// Streams of these flows.
    streams: Vec<Messages>,
}

/// Ends of messages in a stream, counted in bytes from its beginning.
#[derive(Debug, Default)]
struct Messages {
    written: u64,
    unsent: VecDeque<u64>,
    unread: VecDeque<u64>,
}

impl Desk {
    /// That of a plan; none if nothing is decided outside.
    pub(crate) fn new(scenario: &Scenario) -> Option<Desk> {
        let is_wanted = !scenario.jobs.is_empty() || !scenario.generators.is_empty();
        is_wanted.then(|| Desk {
            wake: Time::ZERO,
            over: false,
            first: scenario.flows.len() as u32,
            streams: Vec::new(),
        })
    }

    /// A flow is opened.
    pub(crate) fn open(&mut self) {
        self.streams.push(Messages::default());
        self.streams.push(Messages::default());
    }

    fn messages(&mut self, stream: u32) -> Option<&mut Messages> {
        let place = stream.checked_sub(2 * self.first)?;
        self.streams.get_mut(place as usize)
    }

    /// A message is written. Whether there is such a stream.
    pub(crate) fn write(&mut self, stream: u32, bytes: u64) -> bool {
        let Some(messages) = self.messages(stream) else {
            return false;
        };
        messages.written += bytes;
        messages.unsent.push_back(messages.written);
        messages.unread.push_back(messages.written);
        true
    }

    /// So many bytes of a stream have been sent. Whether that makes a message whole.
    pub(crate) fn sent(&mut self, stream: u32, bytes: u64) -> bool {
        self.messages(stream)
            .is_some_and(|messages| passes(&mut messages.unsent, bytes))
    }

    /// So many bytes of a stream have been read. Whether that makes a message whole.
    pub(crate) fn read(&mut self, stream: u32, bytes: u64) -> bool {
        self.messages(stream)
            .is_some_and(|messages| passes(&mut messages.unread, bytes))
    }
}

/// Takes all ends up to `bytes`; whether there was one.
fn passes(ends: &mut VecDeque<u64>, bytes: u64) -> bool {
    let mut any = false;
    while ends.front().is_some_and(|&end| end <= bytes) {
        ends.pop_front();
        any = true;
    }
    any
}

/// A user's function, which computes weeks outside.
pub(crate) struct Outside<'a, E> {
    pub(crate) now: Time,
    /// When demand was looked at.
    pub(crate) looked_at: Time,
    pub(crate) env: &'a E,
}

impl<E: Kernel> Scheduler for Outside<'_, E> {
    fn look_at(&mut self, now: Time) {
        self.looked_at = now;
    }

    fn schedule(&mut self, demand: &Demand, _: &Params) -> Result<Schedule, CannotSchedule> {
        tell_demand(demand, |event| self.env.log(&event.at(self.now)));
        let answer = self.env.ask(
            &Event::Planning {
                time: self.looked_at,
            }
            .at(self.now),
        );
        postcard::from_bytes(&answer).map_err(|_| CannotSchedule::Failed)
    }
}
