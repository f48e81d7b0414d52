// SPDX-License-Identifier: MIT OR Apache-2.0
//! How segments leave a connection, and what is in every one of them.

use crate::options::RareOptions;
use crate::segment::{Flags, Segment};

/// Where segments go that a connection sends.
pub trait Outlet {
    /// Has `fill` fill in the next segment, in whose place there may be anything before, but no [rare options](Segment::rare). Sends it if there is
    /// one. Returns whether there was.
    fn put(&mut self, fill: impl FnOnce(&mut Segment) -> bool) -> bool;

    /// A chunk of `payload` bytes was put: it counts as queued below TCP until all of it has left the host.
    fn end_chunk(&mut self, payload: u32) {
        let _ = payload;
    }

    /// No rare options, with the memory of some that nobody needs any more, if it was kept.
    fn spare(&mut self) -> RareOptions {
        RareOptions::default()
    }
}

impl Outlet for Vec<Segment> {
    fn put(&mut self, fill: impl FnOnce(&mut Segment) -> bool) -> bool {
        let mut segment = Segment::default();
        let sends = fill(&mut segment);
        self.extend(sends.then_some(segment));
        sends
    }
}

/// What is in every segment.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub timestamps: Option<(u32, u32)>,
}

impl Header {
    /// Makes `out` a segment without payload, of a receiver that has nothing to report.
    #[inline(always)] // for every segment
    pub fn put(&self, out: &mut Segment) {
        out.seq = self.seq;
        out.ack = self.ack;
        out.window = self.window;
        out.len = 0;
        out.flags = Flags::ACK;
        (out.ect, out.ce) = (false, false);
        out.tdn = None;
        out.timestamps = self.timestamps;
    }
}
