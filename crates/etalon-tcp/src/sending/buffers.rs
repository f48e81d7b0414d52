// SPDX-License-Identifier: MIT OR Apache-2.0
//! How what a program writes lies in a sender's memory. Linux keeps it in buffers of up to 64 KiB, and what leaves at once is of one of them
//! (`tso.rs`): where they begin and end is seen on the wire.
//!
//! What is assumed of the send buffer, and so was when the exchanges were recorded (`SO_SNDBUF` of 8 MiB): it holds [`BUFFERS`] of them. What
//! is written at once, up to that, is laid out at that instant, by the window that the peer had offered by then; of a longer write the rest is
//! laid out as room comes, that is with the largest window of that time. A program that waits for its send buffer has a layout of its own
//! (`program.rs`).

/// Bytes that a buffer has at most.
pub(crate) const LARGEST: u32 = 65_215;
/// So many of them hold what is written at once.
const BUFFERS: u64 = 64;

/// The buffers of a sender, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Buffers {
    /// Unsent bytes that had been written before the size of buffers changed.
    older: u64,
    /// What a buffer holds, and one that is filled with what was written later than the older bytes.
    size: u32,
    newer_size: u32,
    /// Left of the first buffer that has unsent data; 0 if none was begun.
    pub front: u32,
    /// The program writes at this instant: its bytes fill one buffer after the other, and each that is full is sent from.
    writing: bool,
    /// Bytes written since all that was full was sent, and whether the buffer at hand is sent until it is empty.
    since: u32,
    all: bool,
}

impl Buffers {
    /// Bytes that a buffer holds: whole segments of `mss`, up to half of the largest window that the peer has offered.
    pub fn size_for(mss: u32, max_window: u32) -> u32 {
        let most = LARGEST.min((max_window / 2).max(mss));
        (most / mss).max(1) * mss
    }

    /// Something is written behind `before` unsent bytes, into buffers of `size` bytes.
    #[inline]
    pub fn written(&mut self, before: u64, size: u32) {
        if self.older == 0 {
            self.older = before;
            self.size = self.newer_size;
        }
        self.newer_size = size;
        if before <= u64::from(self.front) {
            self.front = 0;
            self.writing = true;
            self.since = 0;
            self.all = false;
        }
    }

    /// Whether `pending` unsent bytes do not fit, so that buffers are laid out as room comes.
    #[inline]
    pub fn overflow(pending: u64) -> bool {
        pending > BUFFERS * u64::from(LARGEST)
    }

    /// Whether there is a first buffer, and so much behind it that the next one will be laid out anew.
    #[inline]
    pub fn holds_until_sent(&self, pending: u64) -> bool {
        let beyond = pending.saturating_sub(2 * u64::from(LARGEST));
        self.front > 0 && !self.writing && Buffers::overflow(beyond)
    }

    /// What overflowed is laid out now, in buffers of `size` bytes.
    #[cold]
    pub fn lay_out_anew(&mut self, size: u32) {
        self.newer_size = size;
        self.older = 0;
    }

    /// There is a first buffer, and it is as full as `pending` unsent bytes make it. While the program writes, one chunk of a full buffer
    /// is sent, but all of it once more than `half_window` has been written since that was done last.
    #[inline]
    pub fn fill(&mut self, pending: u64, half_window: u32) {
        // The last of the older buffers takes newer bytes too.
        if self.older <= u64::from(self.size) {
            self.size = self.newer_size;
        }
        let full = u64::from(self.size).min(pending) as u32;
        if self.writing && !(self.all && self.front > 0) {
            self.since = self.since.saturating_add(full.saturating_sub(self.front));
            self.front = full;
            self.all = self.since > half_window || u64::from(full) == pending;
            if self.all {
                self.since = 0;
            }
        } else if self.front == 0 {
            self.front = full;
        }
    }

    /// A program that waits for its socket writes into buffers of `size` bytes. `sends`: into the first that has unsent bytes. What it wrote
    /// before it waited counts on.
    pub fn begin(&mut self, size: u32, sends: bool) {
        self.older = 0;
        self.size = size;
        self.newer_size = size;
        if sends {
            self.writing = true;
            self.all = false;
        }
    }

    /// It has written `bytes` behind the first buffer, or while nothing is sent. `fills`: the buffer that they are in is full now.
    pub fn note_written(&mut self, bytes: u32, fills: bool, half_window: u32) {
        self.since = self.since.saturating_add(bytes);
        if fills && self.since > half_window {
            self.since = 0;
        }
    }

    /// It writes no more; the first buffer stays.
    pub fn stop(&mut self) {
        self.writing = false;
    }

    /// Bytes that a buffer holds which is filled now.
    pub fn size_now(&self) -> u32 {
        self.newer_size
    }

    /// The program writes at this instant, and what it writes is sent.
    #[inline]
    pub fn is_writing(&self) -> bool {
        self.writing
    }

    /// Of a subflow of MPTCP, the first buffer is what is `left` of a mapping.
    pub fn front_is(&mut self, left: u32) {
        self.front = left;
        self.writing = false;
    }

    /// Whether only one chunk of the first buffer is sent, at once, because the program goes on to fill it.
    #[inline]
    pub fn is_being_filled(&self) -> bool {
        self.writing && !self.all
    }

    /// Whether the first buffer is the last of what the program writes at this instant, of `pending` unsent bytes, and is not full.
    #[inline]
    pub fn ends_write(&self, pending: u64) -> bool {
        self.writing && u64::from(self.front) == pending && self.front < self.size
    }

    /// `len` bytes are sent.
    #[inline]
    pub fn sent(&mut self, len: u32) {
        self.older = self.older.saturating_sub(u64::from(len));
        self.front = self.front.saturating_sub(len);
    }

    /// Nothing more is sent now. What the program wrote has filled up what was left of a buffer.
    #[inline]
    pub fn end(&mut self) {
        if self.writing {
            self.front = 0;
            self.writing = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MSS: u32 = 1000;

    /// Sends all of `pending` after a pause. Returns what each buffer had.
    fn fronts(buffers: &mut Buffers, mut pending: u64) -> Vec<u32> {
        buffers.end();
        let mut found = Vec::new();
        while pending > 0 {
            buffers.fill(pending, 0);
            found.push(buffers.front);
            pending -= u64::from(buffers.front);
            buffers.sent(buffers.front);
        }
        found
    }

    #[test]
    fn a_buffer_is_half_of_the_window_in_whole_segments() {
        assert_eq!(Buffers::size_for(1448, 65_535), 22 * 1448);
        assert_eq!(Buffers::size_for(1448, 1 << 20), 45 * 1448);
        assert_eq!(Buffers::size_for(8948, 1), 8948);
    }

    #[test]
    fn the_last_of_the_older_buffers_takes_newer_bytes() {
        let mut buffers = Buffers::default();
        buffers.written(0, 4 * MSS);
        assert_eq!(fronts(&mut buffers.clone(), 9_500), [4000, 4000, 1500]);
        buffers.end();
        buffers.fill(9_500, 0);
        buffers.sent(1000);
        buffers.written(8_500, 8 * MSS);
        assert_eq!(buffers.front, 3000, "what is being sent stays");
        assert_eq!(fronts(&mut buffers, 20_500 - 8_000), [3000, 4000, 5500]);
    }

    #[test]
    fn what_was_written_before_anything_could_leave_is_in_buffers() {
        let mut buffers = Buffers::default();
        buffers.written(0, 2 * MSS);
        buffers.end();
        buffers.written(5_000, 4 * MSS);
        assert_eq!(fronts(&mut buffers, 10_000), [2000, 2000, 4000, 2000]);
    }

    #[test]
    fn what_does_not_fit_is_laid_out_later() {
        assert!(!Buffers::overflow(4_000_000) && Buffers::overflow(5 << 20));
        let mut buffers = Buffers::default();
        buffers.written(0, 2 * MSS);
        buffers.lay_out_anew(3 * MSS);
        assert_eq!(fronts(&mut buffers, 4_000), [3000, 1000]);
    }

    #[test]
    fn the_first_of_many_buffers_stays_until_it_is_sent() {
        let mut buffers = Buffers::default();
        buffers.written(0, LARGEST);
        let enough = (BUFFERS + 2) * u64::from(LARGEST);
        assert!(!buffers.holds_until_sent(2 * enough), "none was begun");
        buffers.fill(enough, 0);
        assert!(!buffers.holds_until_sent(2 * enough), "it is being filled");
        buffers.end();
        buffers.fill(enough, 0);
        assert!(!buffers.holds_until_sent(enough) && buffers.holds_until_sent(enough + 1));
        buffers.sent(LARGEST);
        assert!(!buffers.holds_until_sent(2 * enough), "it is sent");
    }

    proptest! {
        /// Who does not look at the buffers while the first one stays finds the same as who always does.
        #[test]
        fn nothing_is_missed_while_the_first_buffer_stays(
            // Around the length from which it is so.
            over in 0..10 * u64::from(LARGEST),
            steps in prop::collection::vec((1..LARGEST, 1..6u32, prop::option::weighted(0.2, 1..400_000u64)), 1..200),
        ) {
            let mut pending = (BUFFERS - 2) * u64::from(LARGEST) + over;
            let mut looks = Buffers::default();
            looks.written(0, LARGEST);
            let mut skips = looks;
            for (chunk, size, written) in steps {
                for buffers in [&mut looks, &mut skips] {
                    buffers.end();
                    if written.is_some() {
                        buffers.written(pending, size * 11 * MSS);
                    }
                }
                pending += written.unwrap_or_default();
                let look = |buffers: &mut Buffers| {
                    if Buffers::overflow(pending) {
                        buffers.lay_out_anew(size * 10 * MSS);
                    }
                    buffers.fill(pending, 0);
                };
                look(&mut looks);
                if !skips.holds_until_sent(pending) {
                    look(&mut skips);
                }
                prop_assert_eq!(looks.front, skips.front);
                let sent = chunk.min(looks.front);
                looks.sent(sent);
                skips.sent(sent);
                pending -= u64::from(sent);
            }
        }
    }
}
