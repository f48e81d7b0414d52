// SPDX-License-Identifier: MIT OR Apache-2.0
//! For tests: a sender without a receiver or a connection.

use crate::Config;
use crate::cc::{Any, State};
use crate::options::RareOptions;
use crate::segment::{Flags, Segment};
use crate::sending::Sender;
use crate::sending::output::{Limits, Transmission};
use crate::timers::Clock;

pub(crate) const MS: u64 = 1_000_000;
pub(crate) const MSS: u32 = 1_000;

/// A sender, open, and what it is given otherwise.
pub(crate) struct Alone {
    pub snd: Sender<Any>,
    pub clock: Clock,
    pub config: Config,
}

impl Alone {
    /// The peer's SYN-ACK has come, and its window is large.
    pub fn new(control: &str) -> Alone {
        Alone::with_mss(control, MSS)
    }

    /// The same with segments of `mss` bytes.
    pub fn with_mss(control: &str, mss: u32) -> Alone {
        let config = Config {
            mss: mss as u16,
            initial_seq: 999,
            ..Config::default()
        };
        let mut clock = Clock::new(config.hz);
        clock.advance(100 * MS);
        let mut snd = Sender::new(&config, &clock, Any::by_name(control, &[]).unwrap());
        (snd.una, snd.nxt, snd.small_end) = (1_000, 1_000, 1_000);
        (snd.window, snd.max_window, snd.peer_scale) = (1 << 24, 1 << 24, 8);
        snd.mss = mss;
        snd.paths.establish(&clock, 1_000);
        Alone { snd, clock, config }
    }

    /// The same, with as much written as goes out.
    pub fn with_data(control: &str) -> Alone {
        let mut alone = Alone::new(control);
        alone.write(1 << 30);
        alone
    }

    pub fn write(&mut self, bytes: u64) {
        self.snd.lay_out(self.snd.pending, self.snd.mss);
        self.snd.pending += bytes;
    }

    /// All that may go out now.
    pub fn send(&mut self) -> Vec<Transmission> {
        let limits = Limits {
            mss: self.snd.mss,
            mapping: None,
        };
        let mut sent = Vec::new();
        loop {
            let forced = self.snd.forced.take();
            let (snd, clock, config) = (&mut self.snd, &self.clock, &self.config);
            let next = match forced {
                Some(forced) => snd.forced_transmission(clock, config, limits, forced),
                None => snd.next_transmission(clock, config, limits),
            };
            if let Some(next) = next {
                sent.push(next);
                continue;
            }
            self.snd.note_burst(&self.clock, &self.config, false);
            if !self.snd.program_goes_on(self.snd.mss) {
                return sent;
            }
        }
    }

    /// Where each of them starts, in segments from the first.
    pub fn send_segments(&mut self) -> Vec<u32> {
        let mss = self.snd.mss;
        let place = |sent: Transmission| (sent.start - 1_000) / mss;
        self.send().into_iter().map(place).collect()
    }

    /// `after` later, an ACK of the first `segments` with SACK blocks, in segments.
    pub fn ack(&mut self, after: u64, segments: u32, blocks: &[(u32, u32)], flags: Flags) {
        self.clock.advance(self.clock.now + after);
        let mss = self.snd.mss;
        let seq = |segments: u32| 1_000 + segments * mss;
        let mut rare = RareOptions::default();
        for &(start, end) in blocks {
            rare.push(seq(start), seq(end));
        }
        let segment = Segment {
            ack: seq(segments),
            window: u16::MAX,
            flags: Flags::ACK | flags,
            rare,
            ..Segment::default()
        };
        self.snd.on_ack(&self.clock, &self.config, mss, &segment);
        self.snd.board.check(&self.snd.paths, self.snd.sack);
    }

    pub fn cwnd(&self) -> u32 {
        self.snd.paths.active.window.cwnd
    }

    pub fn state(&self) -> State {
        self.snd.paths.active.recovery.state
    }
}
