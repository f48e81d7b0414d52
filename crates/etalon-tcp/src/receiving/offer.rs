// SPDX-License-Identifier: MIT OR Apache-2.0
//! How much a receiver offers, and when that grows: pure functions of named quantities, each with a table of cases. No RFC asks for more than
//! a right edge that never moves back (RFC 9293, section 3.8.6); what Linux's receivers offer was read off recorded exchanges
//! (`tests/exchanges.rs`), which these rules reproduce.

/// In order shorter segments do not let the window grow.
pub(super) const LEAST_TO_GROW: u32 = 128;

/// What an offer follows from. In bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Memory for what is received, and how much of it is taken.
    pub buffer: u32,
    pub taken: u32,
    /// The window that has been earned so far, and the most that can be.
    pub earned: u32,
    pub bound: u32,
    /// The peer's full segment.
    pub segment: u32,
    /// Steps in which the window field counts: 1 << `scale`.
    pub scale: u8,
}

impl Room {
    /// Memory that is not taken, in bytes of payload: half of it is for overhead.
    const fn free(&self) -> u32 {
        self.buffer.saturating_sub(self.taken) / 2
    }

    /// The largest window that the buffer could back.
    fn whole(&self) -> u32 {
        self.bound.min(self.buffer / 2)
    }

    /// Less than half of the largest window is free: what is left must be worth a segment, and it is no time for quick ACKs.
    pub fn is_scarce(&self) -> bool {
        self.free() < self.whole() / 2
    }

    /// The window to be offered. A small one is none (RFC 9293, section 3.8.6.2.2: silly windows): less than a segment, or than
    /// a sixteenth of what an empty buffer offers.
    pub fn offer(&self) -> u32 {
        if !self.is_scarce() {
            return self.free().min(self.earned);
        }
        let steps = self.free() >> self.scale << self.scale;
        let silly = (self.buffer / 32).max(self.segment.min(self.whole()));
        if steps < silly {
            0
        } else {
            steps.min(self.earned)
        }
    }
}

/// What the growth of a window follows from: a segment of `len` bytes takes `memory`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub len: u32,
    pub memory: u32,
    /// The window that has been earned so far, and the largest buffer.
    pub earned: u32,
    pub max_buffer: u32,
    /// The peer's full segment, and ours.
    pub segment: u32,
    pub advertised: u32,
}

impl Arrival {
    /// By how much the window grows: two segments. What takes more than twice its payload earns that only while the window is small,
    /// the smaller the more memory it wastes: below the largest buffer over the power of two by which memory exceeds payload.
    pub fn growth(&self) -> u32 {
        let Arrival { len, memory, .. } = *self;
        let waste = (1..32).find(|&n| memory >> n <= len).unwrap_or(32);
        let step = if waste == 1 {
            self.advertised
        } else if self.earned <= self.max_buffer >> waste {
            self.segment
        } else {
            return 0;
        };
        2 * step.max(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offers() {
        let empty = Room {
            buffer: 131_072,
            taken: 0,
            earned: 65_536,
            bound: 65_536,
            segment: 1_448,
            scale: 7,
        };
        // What is taken, what is earned, the offer, whether room is scarce.
        let cases = [
            (0, 65_536, 65_536, false),
            (0, 20_000, 20_000, false),
            (65_535, 65_536, 32_768, false), // 65,537 / 2
            (65_536, 65_536, 32_768, false),
            (65_538, 65_536, 32_640, true), // 32,767, in steps of 128
            (65_538, 20_000, 20_000, true),
            (122_880, 65_536, 4_096, true), // a sixteenth of 65,536
            (122_882, 65_536, 0, true),
            (131_072, 65_536, 0, true),
            (200_000, 65_536, 0, true),
        ];
        for (taken, earned, offer, scarce) in cases {
            let room = Room {
                taken,
                earned,
                ..empty
            };
            assert_eq!(
                (room.offer(), room.is_scarce()),
                (offer, scarce),
                "{room:?}"
            );
        }
        // A large segment is what a window must hold; but never more than there could be.
        let large = Room {
            taken: 122_880,
            segment: 8_948,
            ..empty
        };
        assert_eq!(large.offer(), 0);
        let bounded = Room {
            bound: 8_192,
            ..large
        };
        assert_eq!((bounded.offer(), bounded.is_scarce()), (4_096, false));
    }

    #[test]
    fn growth() {
        // Payload, memory, what is earned of a largest buffer of 1 MiB, the growth.
        let cases = [
            (1_448, 2_216, 65_536, 2 * 1_460),
            (8_948, 9_716, 65_536, 2 * 8_948), // longer than what we advertise
            (1_448, 2_897, 65_536, 2 * 1_460), // twice, rounded down
            (1_000, 4_000, 262_144, 2 * 1_400),
            (1_000, 4_000, 262_145, 0),
            (300, 4_000, 65_536, 2 * 1_400), // a sixteenth of the buffer
            (200, 4_000, 65_536, 0),
            (0, 4_000, 0, 2 * 1_400),
        ];
        for (len, memory, earned, growth) in cases {
            let arrival = Arrival {
                len,
                memory,
                earned,
                max_buffer: 1 << 20,
                segment: 1_400,
                advertised: 1_460,
            };
            assert_eq!(arrival.growth(), growth, "{arrival:?}");
        }
    }
}
