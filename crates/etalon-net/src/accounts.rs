// SPDX-License-Identifier: MIT OR Apache-2.0
//! What hosts say of their demand, and what the network does with it: application data units on real hosts (Etalon'18,
//! section 5.2).
//!
//! The plan's flows are announced as their sockets take what they write. Other connections are followed from their SYN on, and announced by
//! the reports of their programs; the same 4-tuple names both.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_adu::{Kind, Report};
use etalon_schedule::HostDemand;
use etalon_switch::Pair;
use etalon_units::Time;

/// No total of libadu's is larger: 281 TB. A report of more is not believed.
const MOST_BYTES: u64 = 1 << 48;

/// Where a stream comes from and goes to: numbers of hosts, and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub struct FourTuple {
    pub src: (u32, u16),
    pub dst: (u32, u16),
}

impl FourTuple {
    /// What the other end calls it.
    #[must_use]
    pub fn opposite(self) -> FourTuple {
        FourTuple {
            src: self.dst,
            dst: self.src,
        }
    }
}

/// What one holder of a socket has said.
#[derive(Clone, Copy, Debug)]
struct Writer {
    name: u64,
    total: u64,
    closed: bool,
}

/// Whose a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// One of the experiment's flows.
    Flow,
    /// Another connection, followed from its SYN on.
    Connection(FourTuple),
    /// Nobody's any more: its number is closed when its last packet is out of the network.
    Nobody,
}

#[derive(Clone, Debug)]
struct Stream {
    owner: Owner,
    /// Sequence number of its first byte, where segments are looked at.
    first_byte: u32,
    /// Packets in the network; not counted for flows.
    in_flight: u32,
    writers: Vec<Writer>,
}

impl Stream {
    fn new(owner: Owner, first_byte: u32) -> Stream {
        Stream {
            owner,
            first_byte,
            in_flight: 0,
            writers: Vec::new(),
        }
    }
}

/// What a packet carries of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the stream.
    pub stream: u32,
    /// Number of its first byte, counted from that of the stream, modulo 2^32.
    pub offset: u32,
    /// Its length in bytes.
    pub payload: u16,
    /// The stream ends with it.
    pub fin: bool,
}

/// What there is to know of a TCP segment that a host gives to its NIC.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // as in TCP's header
pub struct Segment {
    /// Of which stream.
    pub connection: FourTuple,
    /// From which rack to which.
    pub pair: Pair,
    pub seq: u32,
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    /// Length of its payload in bytes.
    pub payload: u16,
}

/// The accounts of all streams. A stream is what one endpoint of a connection sends: that of the client of flow n has number 2n,
/// that of its server 2n + 1.
#[derive(Debug)]
pub struct Accounts {
    demand: HostDemand,
    /// By number.
    streams: Vec<Stream>,
    /// Numbers of the streams of other connections.
    numbers: BTreeMap<FourTuple, u32>,
}

impl Accounts {
    /// Accounts of no streams.
    #[must_use]
    pub fn new(demand: HostDemand) -> Accounts {
        Accounts {
            demand,
            streams: Vec::new(),
            numbers: BTreeMap::new(),
        }
    }

    /// What is known of demand.
    pub fn demand(&mut self) -> &mut HostDemand {
        &mut self.demand
    }

    /// The next flow, whose client is in rack `pair.src`. Where other connections are followed, flows come before them.
    pub fn open_flow(&mut self, pair: Pair) {
        self.demand.open_flow(pair);
        let stream = Stream::new(Owner::Flow, 0);
        self.streams.extend([stream.clone(), stream]);
    }

    /// The application of a flow's stream has `bytes` to send, [`u64::MAX`] for as much as the network takes.
    pub fn wanted(&mut self, now: Time, stream: u32, bytes: u64) {
        self.demand.wanted(now, stream, bytes);
    }

    /// The socket of a flow's stream has taken `bytes` of that.
    pub fn accepted(&mut self, now: Time, stream: u32, bytes: u64) {
        self.demand.accepted(now, stream, bytes);
    }

    /// What is left of a flow's stream will not be sent.
    pub fn killed(&mut self, now: Time, stream: u32) {
        self.demand.killed(now, stream);
    }

    /// A program reports what it has written into the stream of a connection.
    pub fn reported(&mut self, now: Time, connection: FourTuple, report: &Report) {
        let Some(&number) = self.numbers.get(&connection) else {
            return; // within a rack, or over
        };
        if report.total > MOST_BYTES {
            return;
        }
        let writers = &mut self.streams[number as usize].writers;
        let known = writers.iter().position(|w| w.name == report.writer);
        let index = known.unwrap_or_else(|| {
            writers.push(Writer {
                name: report.writer,
                total: 0,
                closed: false,
            });
            writers.len() - 1
        });
        let writer = &mut writers[index];
        // One that has closed writes no more: what says so comes late. But a write of another thread, which that cut off, is
        // taken back after it, by a second 'closed'.
        if writer.closed && report.kind == Kind::Written {
            return;
        }
        let before = core::mem::replace(&mut writer.total, report.total);
        writer.closed = report.kind == Kind::Closed;
        if report.total > before {
            self.demand.written(now, number, report.total - before);
        } else if report.total < before {
            self.demand.retracted(now, number, before - report.total);
        }
    }

    /// A host gives a segment of a flow's `stream` to its NIC. Returns what it carries.
    pub fn sent_of_flow(&mut self, now: Time, stream: u32, segment: &Segment) -> Part {
        if segment.syn {
            self.streams[stream as usize].first_byte = segment.seq.wrapping_add(1);
        }
        if segment.rst {
            self.demand.killed(now, stream);
            self.demand.killed(now, stream ^ 1);
        }
        self.part(stream, segment)
    }

    /// A host gives a segment of another connection to its NIC. Returns what it carries; nothing, if nobody knows of the
    /// connection, or it stays in its rack.
    pub fn sent_of_other(&mut self, now: Time, segment: &Segment) -> Option<Part> {
        let connection = segment.connection;
        if segment.pair.src == segment.pair.dst {
            return None;
        }
        if segment.rst {
            self.give_up(now, connection);
            self.give_up(now, connection.opposite());
            return None;
        }
        let known = self.numbers.get(&connection).copied();
        let stream = match known {
            known if !segment.syn => known?,
            Some(stream) if self.first_byte(stream) == segment.seq.wrapping_add(1) => stream,
            _ => self.open(now, segment),
        };
        self.streams[stream as usize].in_flight += 1;
        Some(self.part(stream, segment))
    }

    fn first_byte(&self, stream: u32) -> u32 {
        self.streams[stream as usize].first_byte
    }

    fn part(&self, stream: u32, segment: &Segment) -> Part {
        // A SYN takes a sequence number of its own.
        let seq = segment.seq.wrapping_add(segment.syn.into());
        Part {
            stream,
            offset: seq.wrapping_sub(self.first_byte(stream)),
            payload: segment.payload,
            fin: segment.fin,
        }
    }

    /// A connection begins, that of the same name before it is over.
    fn open(&mut self, now: Time, syn: &Segment) -> u32 {
        self.give_up(now, syn.connection);
        let number = self.demand.open(syn.pair);
        let owner = Owner::Connection(syn.connection);
        let stream = Stream::new(owner, syn.seq.wrapping_add(1));
        match self.streams.get_mut(number as usize) {
            Some(place) => *place = stream,
            None => self.streams.push(stream),
        }
        self.numbers.insert(syn.connection, number);
        number
    }

    /// A connection's stream is over.
    fn give_up(&mut self, now: Time, connection: FourTuple) {
        let Some(number) = self.numbers.remove(&connection) else {
            return;
        };
        self.demand.killed(now, number);
        let stream = &mut self.streams[number as usize];
        stream.owner = Owner::Nobody;
        if stream.in_flight == 0 {
            self.demand.close(now, number);
        }
    }

    fn is_over(&self, stream: u32) -> bool {
        self.streams[stream as usize].owner == Owner::Nobody
    }

    /// A packet leaves its VOQ.
    pub(crate) fn dequeued(&mut self, now: Time, part: Part) {
        if self.is_over(part.stream) {
            return;
        }
        if part.payload > 0 {
            let len = part.payload.into();
            self.demand.carried(now, part.stream, part.offset, len);
        }
        self.follow_end(now, part);
    }

    /// A packet leaves the network between racks.
    pub(crate) fn delivered(&mut self, now: Time, part: Part) {
        if self.is_over(part.stream) {
            return;
        }
        if part.payload > 0 {
            let len = part.payload.into();
            self.demand.delivered(now, part.stream, part.offset, len);
        }
        // A FIN that went around the switch has not been dequeued.
        self.follow_end(now, part);
    }

    /// A stream's FIN says where it ends; then, or when what was missing is carried, it may be over.
    fn follow_end(&mut self, now: Time, part: Part) {
        if part.fin {
            let end = part.offset.wrapping_add(part.payload.into());
            self.demand.ends(part.stream, end);
        }
        let owner = self.streams[part.stream as usize].owner;
        if let (Owner::Connection(connection), true) = (owner, self.demand.is_over(part.stream)) {
            self.give_up(now, connection);
        }
    }

    /// A packet is in the network no more.
    pub(crate) fn left_network(&mut self, now: Time, part: Part) {
        let stream = &mut self.streams[part.stream as usize];
        if stream.owner == Owner::Flow {
            return;
        }
        stream.in_flight -= 1;
        if stream.owner == Owner::Nobody && stream.in_flight == 0 {
            self.demand.close(now, part.stream);
        }
    }
}

#[cfg(test)]
mod tests;
