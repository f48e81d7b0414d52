// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that writes as its socket's send buffer has room (`Config::waits_for_room`): what it has not handed over cannot be sent, and when
//! it hands something over decides where buffers begin and end (`buffers.rs`), and where PSH is.
//!
//! Seen on the Linux engine, in what `ss -tmi` tells of a flow and in captures of it: a write first fills the last buffer up; it sends while it
//! goes on; it stops with the buffer that takes the last room, which is pushed; and it goes on once a third of the room is free, after the
//! ACK that freed it has let out what it lets out.

use crate::cc::CongestionControl;
use crate::sending::buffers::Buffers;
use crate::sending::places::Places;
use crate::sending::record::mark;
use crate::sending::send_buffer::{BESIDE_PAYLOAD, room};
use crate::sending::{Fin, Sender};
use crate::seq::before;

/// A program, and what is remembered of its buffers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// Bytes that it has yet to hand over; then it closes, if it was told to.
    pub left: u64,
    places: Places,
    /// Chunks that were sent and are not acknowledged to their ends.
    pub chunks: u32,
    /// Memory that the send buffer has, and how much that may become.
    size: u32,
    max: u32,
    pub closes: bool,
    /// It waits for room.
    waits: bool,
    /// It wrote something after all had gone out that might.
    wrote_on: bool,
}

const _: () = assert!(
    size_of::<Program>() == 56,
    "an allocation of 64 bytes holds one"
);

impl Program {
    /// `max`: memory of the send buffer at most.
    pub fn new(max: u32) -> Program {
        Program {
            max,
            ..Program::default()
        }
    }

    /// It writes no more.
    pub fn stop(&mut self) {
        self.left = 0;
        self.waits = false;
    }

    /// The send buffer has at least so much room, if it may.
    fn provide(&mut self, room: u64) {
        self.size = self.size.max(room.min(self.max.into()) as u32);
    }

    /// Memory of `bytes` that were handed over and are not acknowledged. `front`: unsent bytes of the first buffer.
    fn held(&self, bytes: u64, front: u32) -> u64 {
        let unsent = self.places.behind().0 + u64::from(front > 0);
        let buffers = u64::from(self.chunks) + unsent;
        bytes + buffers * BESIDE_PAYLOAD
    }

    /// The next buffer, where `pending` bytes are not sent: a segment that left alone may have begun it, and others.
    fn next_buffer(&mut self, pending: u64) -> u32 {
        let mut begun = self.places.behind().1.saturating_sub(pending);
        while let Some(buffer) = self.places.next_behind() {
            if begun < buffer.into() {
                return buffer - begun as u32;
            }
            begun -= u64::from(buffer);
        }
        0
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
            program.provide(room(self.mss, cwnd));
        }
        if program.waits || program.left == 0 {
            return;
        }
        let size = Buffers::size_for(mss, self.max_window);
        // Behind a full buffer another is begun, and nothing is sent.
        let behind = program.places.last_behind();
        let fills_first = behind.is_none() && self.buffers.front < size;
        self.buffers.begin(size, fills_first);
        if behind.unwrap_or(self.buffers.front) < size {
            program.places.forget_last_pushed(); // it is filled up
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
        let held = program.held(self.taken(), self.buffers.front);
        let full = program.waits || held >= program.size.into();
        if full { 0 } else { program.left }
    }

    /// Bytes that the socket has taken and that are not acknowledged.
    fn taken(&self) -> u64 {
        u64::from(self.nxt.wrapping_sub(self.una)) + self.pending
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
        if let Some(buffer) = &mut self.send_buffer {
            buffer.hand_over(bytes);
        }
        let Some(program) = &mut self.program else {
            return;
        };
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
            let (behind, front) = (program.places.last_behind(), self.buffers.front);
            let last = behind.or((front > 0).then_some(front));
            let before = last.filter(|&last| last < size).unwrap_or(0);
            let bytes = writable.min((size - before).into()) as u32;
            let now = before + bytes;
            match (before, behind) {
                (0, _) => program.places.add_behind(now),
                (_, Some(_)) => program.places.fill_last_behind(now),
                (_, None) => self.buffers.front = now,
            }
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
            if program.waits && has_unsent {
                program.places.add_pushed(end);
            }
        }
    }

    /// The last segment of a chunk is sent. Returns the mark that its record has.
    #[cold]
    pub(crate) fn note_chunk(&mut self) -> u8 {
        let Some(program) = self.program.as_mut().filter(|program| program.left > 0) else {
            return 0;
        };
        program.chunks += 1;
        mark::ENDS_CHUNK
    }

    /// What ends at `una` or before it is about to be taken off the scoreboard.
    #[cold]
    pub(crate) fn forget_chunks(&mut self, una: u32) {
        let acked = self.board.chunks_up_to(una);
        if let Some(program) = &mut self.program {
            program.chunks -= acked;
        }
    }

    /// Whether PSH is due on a segment that ends at `end`, because the program stopped there.
    #[cold]
    pub(crate) fn stopped_at(&mut self, end: u32) -> bool {
        let Some(program) = &mut self.program else {
            return false;
        };
        let places = &mut program.places;
        while (places.first_pushed()).is_some_and(|pushed| before(pushed, end)) {
            places.forget_first_pushed();
        }
        places.first_pushed() == Some(end)
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
        let taken = self.taken();
        let path = &self.paths.active;
        let (cwnd, has_room) = (path.window.cwnd, path.has_room());
        let front = self.buffers.front;
        let segment = self.mss;
        let Some(program) = self.program.as_mut().filter(|program| program.waits) else {
            return false;
        };
        if has_room {
            program.provide(room(segment, cwnd));
        }
        if 3 * program.held(taken, front) > 2 * u64::from(program.size) {
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
        let is_followed = self.send_buffer.is_some();
        let is_over = |program: &Program| {
            let places = &program.places;
            let takes_no_part = places.first_pushed().or(places.last_behind()).is_none();
            program.left == 0 && takes_no_part && !program.wrote_on && !is_followed
        };
        if self.program.as_deref().is_some_and(is_over) {
            self.program = None;
        }
    }

    /// Whether all that the program wrote is with its socket, and needs no PSH of its own.
    pub(crate) fn program_is_done(&self) -> bool {
        let is_done = |program: &Program| {
            program.left == 0 && !program.wrote_on && program.places.first_pushed().is_none()
        };
        self.program.as_deref().is_none_or(is_done)
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
    use crate::sending::send_buffer::SendBuffer;

    const SEGMENT: u32 = 1448;

    /// A sender of 1448 bytes a segment to whose peer the first window of Linux is open, and that writes 1.5 MB.
    fn writing() -> Alone {
        let mut alone = Alone::with_mss("reno", SEGMENT);
        alone.snd.peer_scale = 0; // the window stays as it is
        (alone.snd.window, alone.snd.max_window) = (65_160, 65_160);
        alone.snd.program = Some(Box::new(Program::new(6 << 20)));
        alone.snd.write_as_there_is_room(1_500_000, Some(SEGMENT));
        alone
    }

    fn not_sent(alone: &Alone) -> u64 {
        alone.snd.pending / u64::from(SEGMENT)
    }

    fn program(alone: &Alone) -> &Program {
        alone.snd.program.as_ref().expect("it writes")
    }

    /// How many buffers are behind the first, and their bytes.
    fn behind(alone: &Alone) -> (u64, u64) {
        program(alone).places.behind()
    }

    /// What is not sent, in segments, the memory in use, and that of the buffer.
    fn told_by_ss(alone: &mut Alone) -> (u64, u64, u64) {
        let held = program(alone).held(alone.snd.taken(), alone.snd.buffers.front);
        (not_sent(alone), held, program(alone).size.into())
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
        assert_eq!(behind(&alone), (1, 22 * u64::from(SEGMENT)));
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
        alone.snd.program = Some(Box::new(Program::new(6 << 20)));
        alone.snd.send_buffer = Some(Box::new(SendBuffer::new(6 << 20))); // it is followed
        let size = Buffers::size_for(SEGMENT, 65_160);
        alone.snd.write_as_there_is_room(size.into(), Some(SEGMENT));
        alone.snd.fill_as_written();
        alone.snd.stop_writing();
        assert_eq!(alone.snd.buffers.front, size);
        alone.snd.write_as_there_is_room(372, Some(SEGMENT - 12));
        alone.snd.stop_writing();
        assert_eq!(alone.snd.pending, u64::from(size) + 372);
        assert_eq!(alone.snd.buffers.front, size);
        assert_eq!(behind(&alone), (1, 372));
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
