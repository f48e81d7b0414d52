// SPDX-License-Identifier: MIT OR Apache-2.0
//! A connection as a subflow: its bytes have places in a stream, which DSS tells the other end.

use std::collections::VecDeque;

use crate::cc::CongestionControl;
use crate::connection::{Connection, ConnectionState};
use crate::memory::Memory;
use crate::mptcp::ending::Ending;
use crate::mptcp::{DSS_BYTES, DataReceiver, Dss, Mapping, Mptcp, MptcpOption};
use crate::receiving::autotune::Autotune;
use crate::segment::{Flags, Segment};
use crate::sending::buffers::Buffers;
use crate::timers::Purpose;

/// Eight times the shortest round trip of a stream, in microseconds.
const LEAST_RTT8: u64 = 8_000;

/// Where a run of a subflow's bytes belongs: `start` counts them from 0.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    data_seq: u64,
    len: u32,
}

impl Run {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether the stream's bytes from `data_seq` on continue it, none of which has left.
    fn is_continued(&self, first_unsent: u64, data_seq: u64) -> bool {
        self.start >= first_unsent && self.data_seq + u64::from(self.len) == data_seq
    }
}

/// Whether both ends speak MPTCP, as far as this one knows (section 3.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Speech {
    /// SYN and SYN-ACK had it: the server waits for the client's keys, the client for DSS.
    Offered,
    Spoken,
    /// The other end goes on without: the stream is the subflow's.
    Silent,
}

/// What a connection has beyond TCP if it is a subflow.
#[derive(Clone, Debug)]
pub(crate) struct Subflow {
    mptcp: Mptcp,
    /// It answered the SYN.
    serves: bool,
    speech: Speech,
    /// Where the data end that carry the keys, once they have left: the first chunk, as seen on Linux.
    opening_end: Option<u64>,
    /// The other end has answered what ended the handshake.
    joined: bool,
    /// Mappings of what was written and is not acknowledged, in order, and the bytes of all that there have been.
    sent: VecDeque<Run>,
    written: u64,
    /// Mappings of what was received and not taken, in order, and the bytes that were taken.
    received: VecDeque<Run>,
    taken: u64,
    /// What is expected next of the stream that comes in.
    data_ack: u64,
    /// Up to where of that stream there is room, as this subflow or another has told the other end.
    offered: u64,
    /// What the other end has acknowledged of the stream that goes out, and up to where it has room.
    pub(super) acked: u64,
    room_end: u64,
    /// Where either stream ends.
    pub(super) ending: Ending,
}

impl Subflow {
    pub(crate) fn new(mptcp: Mptcp) -> Subflow {
        Subflow {
            mptcp,
            serves: false,
            speech: Speech::Offered,
            opening_end: None,
            joined: mptcp.subflow == 0,
            sent: VecDeque::new(),
            written: 0,
            received: VecDeque::new(),
            taken: 0,
            data_ack: 0,
            offered: 0,
            acked: 0,
            room_end: 0,
            ending: Ending::default(),
        }
    }

    /// What a segment without SYN tells of the other end's speech. A server that gets anything before the keys (the ACK that ends the
    /// handshake and the first data have them) falls back, and so does a client that gets an ACK without DSS.
    fn hear(&mut self, option: Option<MptcpOption>) {
        if self.speech != Speech::Offered || self.mptcp.subflow > 0 {
            return;
        }
        let speaks = match option {
            Some(MptcpOption::Capable) => true,
            Some(MptcpOption::Dss(dss)) => !self.serves || dss.opens,
            _ => false,
        };
        self.speech = if speaks {
            Speech::Spoken
        } else {
            Speech::Silent
        };
    }

    /// Whether data of the stream up to `end` of the subflow carry the client's keys. `chunk_ends`: a chunk does, there.
    fn opens(&mut self, end: u64, chunk_ends: bool) -> bool {
        if self.serves || self.speech != Speech::Offered || self.mptcp.subflow > 0 {
            return false;
        }
        if chunk_ends {
            self.opening_end.get_or_insert(end);
        }
        self.opening_end.is_none_or(|last| end <= last)
    }

    /// The mapping of the byte at `place`.
    fn mapping_at(&self, place: u64) -> Option<&Run> {
        let after = self.sent.partition_point(|run| run.start <= place);
        let run = self.sent.get(after.checked_sub(1)?)?;
        (place < run.end()).then_some(run)
    }

    /// Bytes that the other end has mapped come, unless they are here.
    fn expect(&mut self, run: Run) {
        if run.end() <= self.taken {
            return;
        }
        let place = self
            .received
            .partition_point(|other| other.start < run.start);
        let there = self.received.get(place);
        if there.is_none_or(|other| other.start != run.start) {
            self.received.insert(place, run);
        }
    }
}

impl<C: CongestionControl> Connection<C> {
    /// Whether it is a subflow: not where the other end did not agree.
    #[must_use]
    pub fn is_subflow(&self) -> bool {
        self.subflow.is_some()
    }

    /// Whether its data have mappings: not where both ends fell back to plain TCP.
    #[must_use]
    pub fn maps_data(&self) -> bool {
        let subflow = self.subflow.as_deref();
        subflow.is_some_and(|subflow| subflow.speech != Speech::Silent)
    }

    /// Whether data may go by it: it is established, and if it joined a stream, the ACK that ended its handshake was answered (RFC 8684,
    /// section 3.2).
    #[must_use]
    pub fn carries_data(&self) -> bool {
        self.is_established() && !self.awaits_join()
    }

    /// Whether the other end has shown by DSS that it speaks MPTCP, so that other subflows may join (RFC 8684, section 3.1). It may have
    /// acknowledged nothing of the stream yet.
    #[must_use]
    pub fn may_be_joined(&self) -> bool {
        let subflow = self.subflow.as_deref();
        self.is_established() && subflow.is_some_and(|subflow| subflow.speech == Speech::Spoken)
    }

    fn awaits_join(&self) -> bool {
        let subflow = self.subflow.as_deref();
        subflow.is_some_and(|subflow| !subflow.joined)
    }

    /// Until the ACK that ends the handshake of a subflow that joins is answered, it goes out at each timeout.
    #[cold]
    pub(crate) fn await_join(&mut self) {
        if self.awaits_join() {
            let ticks = self.snd.paths.active.rtt.rto_ticks();
            self.snd.timer.set(&self.clock, Purpose::Rto, ticks);
        }
    }

    /// The timer of a subflow has fired. Returns whether that was for its handshake, and so nothing is lost.
    #[cold]
    pub(crate) fn repeats_join(&mut self) -> bool {
        if !self.awaits_join() {
            return false;
        }
        self.rcv.force_ack();
        let rtt = &mut self.snd.paths.active.rtt;
        rtt.back_off(&self.clock, &self.config);
        self.await_join();
        true
    }

    /// The next `len` bytes of the subflow are those of the stream from `data_seq` on. They leave in segments of their own, unless they
    /// continue bytes none of which has left.
    pub fn write_mapped(&mut self, data_seq: u64, len: u32) {
        let most = Buffers::size_for(self.current_mss(), self.snd.max_window);
        let unsent = self.snd.pending;
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        let first_unsent = subflow.written - unsent;
        let run = Run {
            start: subflow.written,
            data_seq,
            len,
        };
        subflow.written += u64::from(len);
        match subflow.sent.back_mut() {
            Some(last) if last.is_continued(first_unsent, data_seq) && last.len + len <= most => {
                last.len += len;
            }
            _ => subflow.sent.push_back(run),
        }
        self.write(u64::from(len));
    }

    /// Bytes of the stream for which its congestion window has room, in segments without DSS as Linux counts them, less what it has
    /// and did not send. As seen there, what is to be sent again goes first.
    #[must_use]
    pub fn room_for_mapped(&self) -> u64 {
        let path = self.path();
        let taken = path.in_flight() + self.snd.due_again();
        let free = path.window().cwnd.saturating_sub(taken);
        let room = u64::from(free) * u64::from(self.mapped_mss());
        room.saturating_sub(self.snd.pending)
    }

    /// Payload of a segment without DSS.
    #[must_use]
    pub fn mapped_mss(&self) -> u32 {
        self.snd.mss + DSS_BYTES
    }

    /// Bytes that it was given and that are not acknowledged.
    #[must_use]
    pub fn held_mapped(&self) -> u64 {
        let subflow = self.subflow.as_deref();
        subflow.map_or(0, |subflow| subflow.written - self.snd.bytes_acked)
    }

    /// How many bytes of the stream from `data_seq` on it takes at once: as many as a mapping may have, less what the one has that they
    /// continue.
    #[must_use]
    pub fn takes_mapped(&self, data_seq: u64) -> u32 {
        let most = Buffers::size_for(self.current_mss(), self.snd.max_window);
        let Some(subflow) = self.subflow.as_deref() else {
            return 0;
        };
        let first_unsent = subflow.written - self.snd.pending;
        match subflow.sent.back() {
            Some(last) if last.is_continued(first_unsent, data_seq) && last.len < most => {
                most - last.len
            }
            _ => most,
        }
    }

    /// The next bytes that have arrived in the subflow's order: their place in the stream, and how many.
    pub fn take_mapped(&mut self) -> Option<(u64, u32)> {
        let arrived = self.rcv.bytes;
        let subflow = self.subflow.as_mut()?;
        if subflow.speech == Speech::Silent {
            let from = subflow.taken;
            subflow.taken = arrived;
            return (arrived > from).then_some((from, (arrived - from) as u32));
        }
        let first = *subflow.received.front()?;
        let (from, end) = (subflow.taken, first.end().min(arrived));
        if end <= from {
            return None;
        }
        subflow.taken = end;
        if end == first.end() {
            subflow.received.pop_front();
        }
        Some((first.data_seq + (from - first.start), (end - from) as u32))
    }

    /// Eight times the round trip that this end sees as a receiver, in microseconds; 0 if it is not known.
    #[must_use]
    pub fn receiver_rtt8(&self) -> u64 {
        self.rcv.autotune.as_ref().map_or(0, Autotune::rtt8)
    }

    /// What has come of the stream is read. Returns the buffer that all of its subflows are to have, if more was read in a round trip
    /// of `rtt8` (that of the slowest of them: RFC 6182, section 5.3) than in any before. As seen on Linux the first round trip begins with
    /// the first data and is expected to bring what the handshake offered, none takes less than a millisecond, the step in which timestamps
    /// count, and none is over before the round trip that was known when something was last read.
    pub fn tune_stream(&self, stream: &mut DataReceiver, rtt8: u64) -> Option<u32> {
        self.rcv.autotune.as_ref()?;
        let total = stream.received();
        if total == 0 {
            return None;
        }
        let tune = stream.autotune.get_or_insert_with(|| {
            let mut tune = Autotune::new(self.config.max_receive_buffer.saturating_mul(2));
            let first = self.config.initial_receive_window;
            let first = first.min(self.config.receive_buffer);
            tune.begin(&self.clock, self.rcv.first_round_trip_of(first), 0);
            tune
        });
        if tune.rtt8() > 0 && !tune.is_over(self.clock.us) {
            return None;
        }
        tune.adopt(if rtt8 == 0 { 0 } else { rtt8.max(LEAST_RTT8) });
        tune.read(self.clock.us, total, self.rcv.advertised_mss)
    }

    /// The receive buffer has so many bytes, unless it has more.
    pub fn enlarge_receive_buffer(&mut self, buffer: u32) {
        self.rcv.enlarge(buffer);
    }

    /// The memory that so many bytes take which it delivered.
    #[must_use]
    pub fn memory_of(&self, len: u32) -> Memory {
        (self.config.memory)(len)
    }

    /// The stream takes so much memory of all of its subflows' receive buffer.
    pub fn set_stream_memory(&mut self, memory: u32) {
        self.rcv.stream_takes(memory);
    }

    /// The program has read all that there is of the stream. As seen on Linux, only then is what was small acknowledged at once.
    pub fn stream_was_read(&mut self) {
        if self.rcv.answers_small() {
            self.acknowledge_stream();
        }
    }

    /// What segments are to acknowledge of the stream, and up to where a subflow has offered room: none offers less than another did.
    pub fn set_data_ack(&mut self, data_ack: u64, offered: u64) {
        if let Some(subflow) = &mut self.subflow {
            subflow.data_ack = data_ack;
            subflow.offered = subflow.offered.max(offered);
        }
    }

    /// Up to where in the stream that comes in this end has offered room, as far as this subflow knows.
    #[must_use]
    pub fn offered_of_stream(&self) -> u64 {
        self.subflow.as_deref().map_or(0, |subflow| subflow.offered)
    }

    /// What the other end has acknowledged of the stream, as far as this subflow heard, and up to where it has room.
    #[must_use]
    pub fn data_acked(&self) -> (u64, u64) {
        let subflow = self.subflow.as_deref();
        subflow.map_or((0, 0), |subflow| (subflow.acked, subflow.room_end))
    }

    /// Left of the mapping that the next new segment is of.
    #[inline(never)]
    pub(crate) fn left_of_mapping(&self) -> u32 {
        let left = self.subflow.as_deref().and_then(|subflow| {
            let place = subflow.written - self.snd.pending;
            Some(subflow.mapping_at(place)?.end() - place)
        });
        left.map_or(0, |left| left as u32)
    }

    /// What a SYN says of MPTCP.
    pub(crate) fn offered_mptcp(&self) -> Option<MptcpOption> {
        let subflow = self.subflow.as_ref()?;
        Some(match subflow.mptcp.subflow {
            0 => MptcpOption::Capable,
            joins => MptcpOption::Join(joins),
        })
    }

    /// The handshake of a subflow that joins is acknowledged (section 3.2: until then it carries no data).
    #[cold]
    pub(crate) fn answer_join(&mut self) {
        let subflow = self.subflow.as_mut();
        if let Some(subflow) = subflow.filter(|subflow| subflow.mptcp.subflow > 0) {
            subflow.joined = true;
            self.rcv.force_ack();
        }
    }

    /// The other end's SYN is here: it has to be of the same subflow, else this is plain TCP (section 3.7).
    #[cold]
    pub(crate) fn agree_on_mptcp(&mut self, syn: &Segment) {
        let offered = self.offered_mptcp();
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        if syn.rare.mptcp() == offered {
            subflow.serves = !syn.flags.contains(Flags::ACK);
            self.snd.mss -= DSS_BYTES;
            subflow.room_end = syn.window.into();
            self.rcv.is_subflow = true;
            if let Some(tune) = &mut self.rcv.autotune {
                tune.leave();
            }
        } else {
            self.subflow = None;
        }
    }

    /// Writes DSS, or what ends the handshake. Not into what resets the connection. As seen on Linux the last segment of a mapping has
    /// PSH, also when it is sent again.
    #[cold]
    pub(crate) fn write_dss(&mut self, out: &mut Segment) {
        let offered = self.offered_mptcp();
        let acked = self.snd.bytes_acked;
        let unacked = out.seq.wrapping_sub(self.snd.una);
        let most_blocks = self.most_sack_blocks_beside_data();
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        if out.flags.0 & (Flags::SYN | Flags::RST).0 != 0 {
            return;
        }
        while subflow.sent.front().is_some_and(|run| run.end() <= acked) {
            subflow.sent.pop_front();
        }
        let first = self.stats.segments_received() == 1 || !subflow.joined;
        let ends_handshake = first && out.len == 0 && subflow.data_fin().is_none();
        if ends_handshake && self.state == ConnectionState::Established {
            // Keys leave no room for a block of SACK.
            out.rare.truncate(0);
            out.rare.set_mptcp(offered);
            return;
        }
        if subflow.speech == Speech::Silent {
            return;
        }
        let place = acked + u64::from(unacked);
        let run = (out.len > 0)
            .then(|| subflow.mapping_at(place).copied())
            .flatten();
        let (mut opens, mut ends, mut mapping) = (false, false, None);
        if let Some(run) = run {
            out.rare.truncate(most_blocks);
            let end = place + u64::from(out.len);
            if end == run.end() {
                out.flags |= Flags::PSH;
            }
            ends = subflow.ending.is_behind(run.data_seq + u64::from(run.len));
            opens = !ends && subflow.opens(end, out.flags.contains(Flags::PSH));
            mapping = Some(Mapping {
                data_seq: run.data_seq,
                subflow_seq: (run.start + 1) as u32,
                len: run.len as u16 + u16::from(ends),
            });
        } else if let Some(fin) = subflow.data_fin() {
            out.rare.truncate(most_blocks);
            (ends, mapping) = (true, Some(fin));
        }
        out.rare.set_mptcp(Some(MptcpOption::Dss(Dss {
            data_ack: subflow.data_ack,
            mapping,
            opens,
            ends,
            long_ack: mapping.is_some() && subflow.ending.hears_mappings,
        })));
        if !opens {
            self.offer_of_stream(out);
        }
    }

    /// The window of a segment with DSS is the stream's: no subflow offers less than another did. As seen on Linux the first one voids what the
    /// handshake offered, of which a segment is not offered any more.
    fn offer_of_stream(&mut self, out: &mut Segment) {
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        let room = subflow.offered.saturating_sub(subflow.data_ack);
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        out.window = self.rcv.select_stream_window(room);
        let room = u64::from(self.rcv.window());
        subflow.offered = subflow.offered.max(subflow.data_ack + room);
    }

    /// A segment that is acceptable says what it acknowledges of the stream, and where its payload belongs.
    #[cold]
    pub(crate) fn hear_mptcp(&mut self, segment: &Segment) {
        let option = segment.rare.mptcp();
        let (acked, window) = (self.snd.bytes_acked, u64::from(self.snd.window));
        if let Some(subflow) = &mut self.subflow {
            subflow.hear(option);
            if subflow.speech == Speech::Silent {
                subflow.acked = acked;
                subflow.room_end = subflow.room_end.max(acked + window);
                return;
            }
        }
        let dss = match option {
            Some(MptcpOption::Dss(dss)) => dss,
            Some(MptcpOption::Join(_)) => return self.rcv.force_ack(),
            _ => return,
        };
        if self.awaits_join() && self.is_established() {
            self.snd.timer.clear();
        }
        let arrived = self.rcv.bytes;
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        subflow.joined = true;
        subflow.acked = subflow.acked.max(dss.data_ack);
        subflow.room_end = subflow.room_end.max(dss.data_ack + window);
        self.await_data_ack();
        let Some(subflow) = &mut self.subflow else {
            return;
        };
        let Some(mapping) = dss.mapping else { return };
        let len = mapping.len.saturating_sub(u16::from(dss.ends));
        subflow.ending.hears_mappings = true;
        if dss.ends {
            subflow.ending.heard = Some(mapping.data_seq + u64::from(len));
        }
        if len == 0 {
            return;
        }
        // The place within the subflow, of which the number on the wire has the lower half.
        let ahead = mapping
            .subflow_seq
            .wrapping_sub(1)
            .wrapping_sub(arrived as u32) as i32;
        let start = arrived.saturating_add_signed(i64::from(ahead));
        let run = Run {
            start,
            data_seq: mapping.data_seq,
            len: len.into(),
        };
        subflow.expect(run);
    }
}
