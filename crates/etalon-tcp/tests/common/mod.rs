//! Two endpoints joined by a link with a delay and a script of what happens to each packet; and helpers to drive one
//! endpoint by hand, the way packetdrill does.
#![allow(dead_code)]

use etalon_tcp::cc::CongestionControl;
use etalon_tcp::{Connection, Segment};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// What the link does with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Deliver,
    Drop,
    /// Delivered later than usual, in nanoseconds.
    Late(u64),
    /// Delivered, and again after so many nanoseconds.
    Twice(u64),
    /// Delivered with CE.
    Mark,
}

#[derive(Clone, Debug)]
struct InFlight {
    at: u64,
    order: u64,
    to_server: bool,
    ce: bool,
    segment: Segment,
}

/// One segment as it entered the link.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    pub at: u64,
    pub to_server: bool,
    pub segment: Segment,
    pub fate: Fate,
}

/// Client and server with a symmetric link.
pub struct Pair<C, F> {
    pub client: Connection<C>,
    pub server: Connection<C>,
    pub now: u64,
    pub delay: u64,
    /// Nanoseconds that a data segment takes on the link, 0 for infinitely fast.
    pub transmission: u64,
    fate: F,
    busy: [u64; 2],
    flying: Vec<InFlight>,
    order: u64,
    pub log: Vec<Logged>,
}

impl<C: CongestionControl, F: FnMut(u64, bool, &Segment) -> Fate> Pair<C, F> {
    pub fn new(client: Connection<C>, server: Connection<C>, delay: u64, fate: F) -> Self {
        Pair {
            client,
            server,
            now: 0,
            delay,
            transmission: 0,
            fate,
            busy: [0; 2],
            flying: Vec::new(),
            order: 0,
            log: Vec::new(),
        }
    }

    fn send(&mut self, to_server: bool, segment: Segment) {
        let fate = (self.fate)(self.now, to_server, &segment);
        self.log.push(Logged {
            at: self.now,
            to_server,
            segment,
            fate,
        });
        let mut at = self.now + self.delay;
        if self.transmission > 0 && segment.len > 0 {
            let busy = &mut self.busy[usize::from(to_server)];
            *busy = (*busy).max(self.now) + self.transmission;
            at = *busy + self.delay;
        }
        let ce = fate == Fate::Mark && segment.ect;
        let mut add = |at| {
            self.order += 1;
            self.flying.push(InFlight {
                at,
                order: self.order,
                to_server,
                ce,
                segment,
            });
        };
        match fate {
            Fate::Drop => {}
            Fate::Deliver | Fate::Mark => add(at),
            Fate::Late(by) => add(at + by),
            Fate::Twice(after) => {
                add(at);
                add(at + after);
            }
        }
    }

    pub fn drain(&mut self) {
        while let Some(segment) = self.client.poll_transmit(self.now) {
            self.send(true, segment);
            self.client.departed(u32::from(segment.len));
        }
        while let Some(segment) = self.server.poll_transmit(self.now) {
            self.send(false, segment);
            self.server.departed(u32::from(segment.len));
        }
    }

    /// One event. Returns whether there was one before `until`.
    pub fn step(&mut self, until: u64) -> bool {
        self.drain();
        let packet = self
            .flying
            .iter()
            .enumerate()
            .min_by_key(|(_, p)| (p.at, p.order))
            .map(|(i, p)| (p.at, i));
        let timer = self.client.next_timer().min(self.server.next_timer());
        let at = packet.map_or(timer, |p| p.0.min(timer));
        if at > until || at == u64::MAX {
            self.now = until.max(self.now);
            return false;
        }
        assert!(at >= self.now, "time went back: {at} < {}", self.now);
        self.now = at;
        match packet {
            Some((due, index)) if due == at => {
                let p = self.flying.remove(index);
                let end = if p.to_server {
                    &mut self.server
                } else {
                    &mut self.client
                };
                end.on_segment(at, &p.segment, p.ce);
            }
            _ => {
                self.client.on_timer(at);
                self.server.on_timer(at);
            }
        }
        self.drain();
        true
    }

    /// Runs until `until`.
    pub fn run(&mut self, until: u64) {
        while self.step(until) {}
    }

    /// Runs until `done`, at most to `limit`; returns whether it came true.
    pub fn run_until(&mut self, limit: u64, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(limit) {
                return done(self);
            }
        }
        true
    }

    /// Data segments that the client sent, with the time.
    pub fn data(&self) -> impl Iterator<Item = &Logged> {
        self.log.iter().filter(|l| l.to_server && l.segment.len > 0)
    }
}
