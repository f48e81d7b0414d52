// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that writes as its socket's send buffer has room (`Config::waits_for_room`): what it has not handed over cannot be sent, and when
//! it hands something over decides where buffers begin and end (`buffers.rs`), and where PSH is.
//!
//! Seen on the Linux engine, in what `ss -tmi` tells of a flow and in captures of it: a write first fills the last buffer up; it sends while it
//! goes on; it stops with the buffer that takes the last room, which is pushed; and it goes on once a third of the room is free, after the
//! ACK that freed it has let out what it lets out.

use std::collections::VecDeque;

use crate::cc::CongestionControl;
use crate::sending::buffers::Buffers;
use crate::sending::send_buffer::{BESIDE_PAYLOAD, room};
use crate::sending::{Fin, Sender};
use crate::seq::{after, before};

/// A program, and what its socket has taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// Memory that the send buffer has, and how much that may become.
    size: u64,
    max: u64,
    /// Bytes that it has yet to hand over; then it closes, if it was told to.
    pub left: u64,
    pub closes: bool,
    /// It waits for room.
    waits: bool,
    /// It wrote something after all had gone out that might.
    wrote_on: bool,
    /// Bytes handed over, and how many of them the connection's owner has heard of.
    accepted: u64,
    told: u64,
    is_followed: bool,
    /// Bytes of the buffers behind the first that has unsent bytes.
    behind: VecDeque<u32>,
    /// Where the chunks end that were sent: each is a buffer of its own until it is acknowledged.
    chunks: VecDeque<u32>,
    /// Where what was pushed ends.
    pushed: VecDeque<u32>,
}

impl Program {
    /// `max`: memory of the send buffer at most. `is_followed`: the owner wants to hear what was handed over.
    pub fn new(max: u32, is_followed: bool) -> Program {
        Program {
            max: max.into(),
            is_followed,
            ..Program::default()
        }
    }

    /// Memory of what is not acknowledged, `acked` bytes being so. `front`: unsent bytes of the first buffer.
    fn held(&self, acked: u64, front: u32) -> u64 {
        let unsent = self.behind.len() + usize::from(front > 0);
        let buffers = (self.chunks.len() + unsent) as u64;
        self.accepted.saturating_sub(acked) + buffers * BESIDE_PAYLOAD
    }

    /// What ended at `una` or before it is no longer held.
    fn forget_acked(&mut self, una: u32) {
        while self.chunks.front().is_some_and(|&end| !after(end, una)) {
            self.chunks.pop_front();
        }
    }

    /// The next buffer, where `pending` bytes are not sent: a segment that left alone may have begun it, and others.
    fn next_buffer(&mut self, pending: u64) -> u32 {
        let behind: u64 = self.behind.iter().copied().map(u64::from).sum();
        let mut begun = behind.saturating_sub(pending);
        while let Some(buffer) = self.behind.pop_front() {
            if begun < buffer.into() {
                return buffer - begun as u32;
            }
            begun -= u64::from(buffer);
        }
        0
    }

    /// How many of the bytes handed over the owner has not heard of.
    pub fn tell(&mut self) -> u64 {
        self.accepted - std::mem::replace(&mut self.told, self.accepted)
    }
}

impl<C: CongestionControl> Sender<C> {
    /// The program has more to write, at once if the connection is open.
    #[cold]
    pub(crate) fn write_as_there_is_room(&mut self, bytes: u64, mss: Option<u32>) {
        if let Some(program) = &mut self.program {
            program.left = program.left.saturating_add(bytes);
        }
        if let Some(mss) = mss {
            self.begin_writing(mss);
        }
    }

    /// The program writes now, unless it waits for room.
    #[cold]
    pub(crate) fn begin_writing(&mut self, mss: u32) {
        let cwnd = self.paths.active.window.cwnd;
        let Some(program) = self.program.as_mut() else {
            return;
        };
        if program.size == 0 {
            program.size = room(self.mss, cwnd).min(program.max);
        }
        if program.waits || program.left == 0 {
            return;
        }
        program.forget_acked(self.una);
        let size = Buffers::size_for(mss, self.max_window);
        // Behind a full buffer another is begun, and nothing is sent.
        let fills_first = program.behind.is_empty() && self.buffers.front < size;
        self.buffers.begin(size, fills_first);
        let tail = program.behind.back().copied().unwrap_or(self.buffers.front);
        if tail < size {
            program.pushed.pop_back(); // it is filled up
        }
        if fills_first {
            self.fill_as_written();
        } else {
            self.write_the_rest();
        }
    }

    /// What the program could write at this instant.
    fn writable(&self) -> u64 {
        let Some(program) = &self.program else {
            return 0;
        };
        let full =
            program.waits || program.held(self.bytes_acked, self.buffers.front) >= program.size;
        if full { 0 } else { program.left }
    }

    /// The first buffer is filled: while the program writes, of what it has and what there is room for.
    #[cold]
    pub(crate) fn fill_as_written(&mut self) {
        if self.buffers.is_writing() {
            let total = self.pending.saturating_add(self.writable());
            self.buffers.fill(total, self.max_window / 2);
            let front = u64::from(self.buffers.front);
            self.accept(front.saturating_sub(self.pending));
        } else if self.buffers.front == 0 {
            let pending = self.pending;
            let next = self
                .program
                .as_mut()
                .map(|program| program.next_buffer(pending));
            self.buffers.front = next.unwrap_or(0);
        }
    }

    fn accept(&mut self, bytes: u64) {
        self.pending += bytes;
        let Some(program) = &mut self.program else {
            return;
        };
        program.accepted += bytes;
        program.left -= bytes;
        if program.left == 0 && program.closes && self.fin == Fin::None {
            self.fin = Fin::Asked;
        }
    }

    /// The program writes what there is room for; nothing more is sent meanwhile.
    #[cold]
    pub(crate) fn write_the_rest(&mut self) {
        let mut wrote = false;
        loop {
            let writable = self.writable();
            let Some(program) = self.program.as_mut().filter(|_| writable > 0) else {
                break;
            };
            let size = self.buffers.size_now();
            let front = &mut self.buffers.front;
            let last = program.behind.back_mut().or((*front > 0).then_some(front));
            let (bytes, now) = match last {
                Some(last) if *last < size => {
                    let bytes = writable.min((size - *last).into()) as u32;
                    *last += bytes;
                    (bytes, *last)
                }
                _ => {
                    let bytes = writable.min(size.into()) as u32;
                    program.behind.push_back(bytes);
                    (bytes, bytes)
                }
            };
            self.accept(bytes.into());
            let half = self.max_window / 2;
            self.buffers.note_written(bytes, now == size, half);
            wrote = true;
        }
        let end = self.nxt.wrapping_add(self.pending as u32);
        let has_unsent = self.pending > 0;
        if let Some(program) = &mut self.program {
            program.wrote_on |= wrote;
            program.waits = program.left > 0;
            if program.waits && has_unsent && program.pushed.back() != Some(&end) {
                program.pushed.push_back(end);
            }
        }
    }

    /// A chunk is cut off that ends at `end`.
    #[cold]
    pub(crate) fn note_chunk(&mut self, end: u32) {
        if let Some(program) = self.program.as_mut().filter(|program| program.left > 0) {
            program.chunks.push_back(end);
        }
    }

    /// Whether PSH is due on a segment that ends at `end`, because the program stopped there.
    #[cold]
    pub(crate) fn stopped_at(&mut self, end: u32) -> bool {
        let Some(program) = &mut self.program else {
            return false;
        };
        while program
            .pushed
            .front()
            .is_some_and(|&pushed| before(pushed, end))
        {
            program.pushed.pop_front();
        }
        program.pushed.front() == Some(&end)
    }

    /// Nothing more goes out for now. Returns whether the program has written more since.
    #[cold]
    pub(crate) fn program_goes_on(&mut self, mss: u32) -> bool {
        if let Some(program) = &mut self.program {
            if std::mem::take(&mut program.wrote_on) {
                self.forget_program();
                return true;
            }
        }
        let (una, acked) = (self.una, self.bytes_acked);
        let path = &self.paths.active;
        let (cwnd, has_room) = (path.window.cwnd, path.has_room());
        let front = self.buffers.front;
        let segment = self.mss;
        let Some(program) = self.program.as_mut().filter(|program| program.waits) else {
            return false;
        };
        program.forget_acked(una);
        if has_room {
            program.size = program.size.max(room(segment, cwnd).min(program.max));
        }
        if 3 * program.held(acked, front) > 2 * program.size {
            return false;
        }
        program.waits = false;
        self.begin_writing(mss);
        true
    }

    /// Bytes that the program has written and its socket has not taken.
    pub(crate) fn not_taken(&self) -> u64 {
        self.program.as_ref().map_or(0, |program| program.left)
    }

    /// The program is told to stop, for there is nothing more to send at this instant; it writes the rest of what there is room for.
    #[cold]
    pub(crate) fn stop_writing(&mut self) {
        if self.program.is_some() {
            self.buffers.stop();
            self.write_the_rest();
            self.forget_program();
        } else {
            self.buffers.end();
        }
    }

    /// A program that is done leaves nothing behind.
    fn forget_program(&mut self) {
        let is_over = |program: &Program| {
            let takes_no_part = program.pushed.is_empty() && program.behind.is_empty();
            program.left == 0 && takes_no_part && !program.wrote_on && !program.is_followed
        };
        if self.program.as_deref().is_some_and(is_over) {
            self.program = None;
        }
    }

    /// Whether all that the program wrote is with its socket, and needs no PSH of its own.
    pub(crate) fn program_is_done(&self) -> bool {
        (self.program.as_ref()).is_none_or(|program| program.left == 0 && program.pushed.is_empty())
    }

    /// Whether the program waits for room, or has something to be sent that it wrote last.
    pub(crate) fn program_waits(&self) -> bool {
        (self.program.as_ref()).is_some_and(|program| program.waits || program.wrote_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Flags;
    use crate::sending::alone::Alone;

    const SEGMENT: u32 = 1448;

    /// A sender of 1448 bytes a segment to whose peer the first window of Linux is open, and that writes 1.5 MB.
    fn writing() -> Alone {
        let mut alone = Alone::with_mss("reno", SEGMENT);
        alone.snd.peer_scale = 0; // the window stays as it is
        (alone.snd.window, alone.snd.max_window) = (65_160, 65_160);
        alone.snd.program = Some(Box::new(Program::new(6 << 20, false)));
        alone.snd.write_as_there_is_room(1_500_000, Some(SEGMENT));
        alone
    }

    fn not_sent(alone: &Alone) -> u64 {
        alone.snd.pending / u64::from(SEGMENT)
    }

    fn program(alone: &Alone) -> &Program {
        alone.snd.program.as_ref().expect("it writes")
    }

    /// What is not sent, in segments, the memory in use, and that of the buffer.
    fn told_by_ss(alone: &mut Alone) -> (u64, u64, u64) {
        let una = alone.snd.una;
        let writing = alone.snd.program.as_mut();
        writing.expect("it writes").forget_acked(una);
        let held = program(alone).held(alone.snd.bytes_acked, alone.snd.buffers.front);
        (not_sent(alone), held, program(alone).size)
    }

    /// What `ss -tmi` told on the Linux engine of a flow over 15 Gb/s with a round trip of 240 us (`tdf = 2`), and where PSH was.
    #[test]
    fn a_write_takes_what_linux_takes_and_ends_where_linux_pushes() {
        let mut alone = writing();
        assert_eq!(alone.send_segments(), (0..10).collect::<Vec<_>>());
        assert_eq!(told_by_ss(&mut alone), (22, 48_640, 46_080));
        let mut pushed = Vec::new();
        for acked in 1..=10 {
            let after = if acked == 1 { 480_000 } else { 1_930 };
            alone.ack(after, acked, &[], Flags(0));
            let sent = alone.send().into_iter().filter(|sent| sent.push);
            pushed.extend(sent.map(|sent| (sent.end - 1_000) / SEGMENT - 1));
        }
        assert_eq!(pushed, [13, 19, 25, 29]);
        assert_eq!(told_by_ss(&mut alone), (34, 82_800, 87_552));
        assert_eq!(alone.snd.buffers.front, 12 * SEGMENT);
        assert_eq!(program(&alone).behind, [22 * SEGMENT]);
    }

    /// The first ten segments are acknowledged, and `cwnd` are sent; then one more is acknowledged, which is no reason to send two, and the
    /// program goes on. Returns what is sent then.
    fn sent_as_it_goes_on(cwnd: u32) -> Vec<u32> {
        let mut alone = writing();
        assert_eq!(alone.send_segments().len(), 10);
        alone.ack(300_000, 10, &[], Flags(0));
        alone.snd.paths.active.window.cwnd = cwnd;
        assert_eq!(alone.send_segments().len(), cwnd as usize);
        alone.ack(250_000, 11, &[], Flags(0));
        alone.send_segments()
    }

    /// In captures of the Linux engine (Reno at 2 Gb/s, round trip 150 us; TDTCP with ten in flight) the program fills the first buffer up, and
    /// two segments of it leave at once; but not if with what it wrote before it waited more than half of the window has been written.
    #[test]
    fn what_fills_up_a_buffer_that_waits_may_let_it_go() {
        assert_eq!(sent_as_it_goes_on(10), [20, 21]);
        assert_eq!(sent_as_it_goes_on(20), []);
    }

    /// As seen there, too.
    #[test]
    fn what_is_written_behind_a_full_buffer_does_not_let_it_go() {
        for (front, sends) in [(22, false), (21, true)] {
            let mut alone = writing();
            assert_eq!(alone.send_segments().len(), 10);
            alone.snd.buffers.front = front * SEGMENT;
            alone.snd.program.as_mut().expect("it writes").waits = false;
            alone.snd.begin_writing(SEGMENT);
            assert_eq!(alone.snd.buffers.is_writing(), sends);
        }
    }

    /// Blocks of SACK take room in segments: buffers that begin then are smaller, and those that are full stay as they are. (It was cut to the
    /// new size, its end was in no buffer, and the sender looked for it for ever.)
    #[test]
    fn a_full_buffer_stays_where_segments_become_smaller() {
        let mut alone = Alone::with_mss("reno", SEGMENT);
        (alone.snd.window, alone.snd.max_window) = (65_160, 65_160);
        alone.snd.program = Some(Box::new(Program::new(6 << 20, true)));
        let size = Buffers::size_for(SEGMENT, 65_160);
        alone.snd.write_as_there_is_room(size.into(), Some(SEGMENT));
        alone.snd.fill_as_written();
        alone.snd.stop_writing();
        assert_eq!(alone.snd.buffers.front, size);
        alone.snd.write_as_there_is_room(372, Some(SEGMENT - 12));
        alone.snd.stop_writing();
        assert_eq!(alone.snd.pending, u64::from(size) + 372);
        assert_eq!(alone.snd.buffers.front, size);
        assert_eq!(program(&alone).behind, [372]);
    }

    #[test]
    fn fin_waits_until_all_is_handed_over() {
        let mut alone = writing();
        alone.snd.program.as_mut().expect("it writes").closes = true;
        let (mut acked, mut fin) = (0, false);
        while !fin {
            assert!(acked < 1_036, "all is acknowledged, and no FIN");
            fin = alone.send().iter().any(|sent| sent.fin);
            acked += 1;
            alone.ack(
                10_000,
                acked.min((alone.snd.nxt - 1_000) / SEGMENT),
                &[],
                Flags(0),
            );
        }
        assert_eq!(alone.snd.nxt - 1_000, 1_500_000 + 1);
        assert_eq!((alone.snd.not_taken(), alone.snd.pending), (0, 0));
        assert!(alone.snd.program_is_done());
    }
}
