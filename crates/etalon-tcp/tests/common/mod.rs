// SPDX-License-Identifier: MIT OR Apache-2.0
//! Two endpoints joined by a link with a delay and a script of what happens to each packet; and helpers to drive one
//! endpoint by hand, the way packetdrill does.
#![allow(dead_code)]

pub mod digest;

use etalon_tcp::cc::{Any, CongestionControl, State};
use etalon_tcp::{Config, Connection, Flags, Segment, SynOptions};
use proptest::prelude::*;

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// An end with a path for each TDN that its configuration has, each with a congestion control of its own.
pub fn end_of(server: bool, config: Config, control: impl Fn() -> Any) -> Connection<Any> {
    let tdns = config.tdtcp.map_or(1, |tdtcp| tdtcp.tdns);
    let mut end = if server {
        Connection::server(config, control())
    } else {
        Connection::client(config, control())
    };
    end.add_paths((1..tdns).map(|_| control()).collect());
    end
}

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
    segment: Segment,
}

/// One segment as it entered the link.
#[derive(Clone, Debug)]
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
    /// Segments that the client and the server sent beyond their windows.
    pub beyond: [u64; 2],
}

/// The next segment of `end`; counts it if it went out although the window was full.
fn poll<C: CongestionControl>(
    end: &mut Connection<C>,
    now: u64,
    beyond: &mut u64,
) -> Option<Segment> {
    let before = end.path().in_flight();
    let segment = end.poll_transmit(now)?;
    end.departed(u64::from(segment.len));
    let path = end.path();
    *beyond += u64::from(path.in_flight() > before && path.in_flight() > path.window().cwnd);
    Some(segment)
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
            beyond: [0; 2],
        }
    }

    fn send(&mut self, to_server: bool, segment: Segment) {
        let fate = (self.fate)(self.now, to_server, &segment);
        self.log.push(Logged {
            at: self.now,
            to_server,
            segment: segment.clone(),
            fate,
        });
        let mut at = self.now + self.delay;
        if self.transmission > 0 && segment.len > 0 {
            let busy = &mut self.busy[usize::from(to_server)];
            *busy = (*busy).max(self.now) + self.transmission;
            at = *busy + self.delay;
        }
        let segment = Segment {
            ce: fate == Fate::Mark && segment.ect,
            ..segment
        };
        let mut add = |at| {
            self.order += 1;
            self.flying.push(InFlight {
                at,
                order: self.order,
                to_server,
                segment: segment.clone(),
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
        while let Some(segment) = poll(&mut self.client, self.now, &mut self.beyond[0]) {
            self.send(true, segment);
        }
        while let Some(segment) = poll(&mut self.server, self.now, &mut self.beyond[1]) {
            self.send(false, segment);
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
                end.on_segment(at, &p.segment);
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

/// One endpoint driven by hand: established, sequence numbers relative to the start of the data in both directions.
pub struct Bench<C> {
    pub end: Connection<C>,
    pub now: u64,
    /// First sequence number of our and of the peer's data.
    ours: u32,
    theirs: u32,
    /// Value of the peer's timestamp clock, and echo to send; `None`: the latest of ours.
    pub echo: Option<u32>,
    last_value: u32,
}

/// First data sequence number of the hand-driven peer.
pub const PEER: u32 = 5_000;

impl<C: CongestionControl> Bench<C> {
    /// A client after the handshake, which took `rtt`. `accept` may change the peer's SYN-ACK.
    pub fn client(mut end: Connection<C>, rtt: u64, accept: impl FnOnce(&mut Segment)) -> Self {
        let syn = end.poll_transmit(0).expect("SYN");
        let mut reply = Segment {
            seq: PEER - 1,
            ack: syn.seq.wrapping_add(1),
            window: 65_535,
            flags: Flags::SYN | Flags::ACK,
            rare: SynOptions {
                window_scale: Some(7),
                ..syn.rare.syn()
            }
            .into(),
            timestamps: syn.timestamps.map(|t| (1, t.0)),
            ..Segment::default()
        };
        accept(&mut reply);
        end.on_segment(rtt, &reply);
        let ours = syn.seq.wrapping_add(1);
        let mut bench = Bench {
            end,
            now: rtt,
            ours,
            theirs: PEER,
            echo: None,
            last_value: 0,
        };
        let ack = bench.poll().expect("ACK of SYN-ACK");
        assert_eq!((ack.len, ack.ack), (0, PEER));
        // The window of a SYN is not scaled; this one is.
        let update = bench.ack_segment(0, &[]);
        bench.inject(&update, false);
        bench
    }

    /// The next segment, sequence numbers still absolute.
    pub fn poll(&mut self) -> Option<Segment> {
        let segment = self.end.poll_transmit(self.now)?;
        if let Some((value, _)) = segment.timestamps {
            self.last_value = value;
        }
        self.end.departed(u64::from(segment.len));
        Some(segment)
    }

    /// Everything it sends now, as (first byte in segments of `mss`, length).
    pub fn sent(&mut self) -> Vec<u32> {
        let mss = u32::from(self.end.config().mss);
        let mut list = Vec::new();
        while let Some(segment) = self.poll() {
            if segment.len > 0 {
                list.push(segment.seq.wrapping_sub(self.ours) / mss);
            }
        }
        list
    }

    /// An ACK of the first `segments` segments, with SACK blocks in segments.
    pub fn ack_segment(&self, segments: u32, sacks: &[(u32, u32)]) -> Segment {
        let mss = u32::from(self.end.config().mss);
        let at = |n: u32| self.ours.wrapping_add(n * mss);
        let mut ack = Segment {
            seq: self.theirs,
            ack: at(segments),
            window: 65_535,
            flags: Flags::ACK,
            timestamps: self
                .end
                .config()
                .timestamps
                .then(|| (self.value(), self.echo.unwrap_or(self.last_value))),
            ..Segment::default()
        };
        for &(from, to) in sacks {
            ack.rare.push(at(from), at(to));
        }
        ack
    }

    fn value(&self) -> u32 {
        (self.now / MS) as u32 + 1
    }

    /// Injects an ACK at `now`; returns the segments that it lets out.
    pub fn ack(&mut self, segments: u32, sacks: &[(u32, u32)]) -> Vec<u32> {
        let ack = self.ack_segment(segments, sacks);
        self.end.on_segment(self.now, &ack);
        self.sent()
    }

    /// Injects a data segment of the peer: bytes from `from` to `to`. Returns what is sent now.
    pub fn data(&mut self, from: u32, to: u32, ce: bool) -> Vec<Segment> {
        let segment = Segment {
            seq: self.theirs.wrapping_add(from),
            len: (to - from) as u16,
            ect: true,
            ..self.ack_segment(0, &[])
        };
        self.inject(&segment, ce)
    }

    /// Injects a segment; returns what is sent now.
    pub fn inject(&mut self, segment: &Segment, ce: bool) -> Vec<Segment> {
        let segment = Segment {
            ce,
            ..segment.clone()
        };
        self.end.on_segment(self.now, &segment);
        let mut list = Vec::new();
        while let Some(segment) = self.poll() {
            list.push(segment);
        }
        list
    }

    pub fn wait(&mut self, ns: u64) {
        self.now += ns;
        assert!(
            self.now <= self.end.next_timer(),
            "a timer was due at {}",
            self.end.next_timer()
        );
    }

    /// Goes to the next timer and fires it; returns the segments sent.
    pub fn fire(&mut self) -> Vec<u32> {
        self.now = self.end.next_timer();
        assert_ne!(self.now, u64::MAX, "no timer is set");
        self.end.on_timer(self.now);
        self.sent()
    }

    pub fn cwnd(&self) -> u32 {
        self.end.path().window().cwnd
    }

    pub fn ssthresh(&self) -> u32 {
        self.end.path().window().ssthresh
    }

    pub fn state(&self) -> State {
        self.end.path().recovery_state()
    }
}

/// One of the corpus, some bytes changed, some behind it.
pub fn mutated(corpus: &'static [&'static [u8]]) -> impl Strategy<Value = Vec<u8>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    let more = prop::collection::vec(any::<u8>(), 0..600);
    (prop::sample::select(corpus.to_vec()), changes, more).prop_map(|(start, changes, more)| {
        let mut bytes = [start, &more].concat();
        for (at, byte) in changes {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes
    })
}
