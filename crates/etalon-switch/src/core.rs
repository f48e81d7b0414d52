// SPDX-License-Identifier: MIT OR Apache-2.0
//! What both networks of a switch work with.

use crate::entry::Pool;
use crate::event_queue::EventQueue;
use crate::voq::Voqs;

/// Their packets, and what happens next.
#[derive(Debug)]
pub(crate) struct Core<H> {
    pub(crate) event_queue: EventQueue,
    pub(crate) pool: Pool<H>,
    pub(crate) voqs: Voqs,
}
