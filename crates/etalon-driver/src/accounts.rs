//! What hosts say of their demand, and what the network does with it: application data units on real hosts (Etalon'18,
//! section 5.2).
//!
//! The plan's flows are announced when they start. Other connections are followed from their SYN on, and announced by
//! the reports of their programs; the same 4-tuple names both.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_adu::{Kind, Report};
use etalon_schedule::HostDemand;
use etalon_switch::Pair;
use etalon_units::Time;

use crate::edge::{Sent, Slot};
use crate::setup::FlowSetup;

/// No stream: what nobody counts.
const NONE: u32 = u32::MAX;

/// No total of libadu's is larger: 281 TB. A report of more is not believed.
const MOST_BYTES: u64 = 1 << 48;

/// Where a stream comes from and goes to: hosts and ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Way {
    pub(crate) src: (u32, u16),
    pub(crate) dst: (u32, u16),
}

impl Way {
    fn back(self) -> Way {
        Way {
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

/// A stream, by its number in [`HostDemand`].
#[derive(Clone, Debug, Default)]
struct Stream {
    /// Sequence number of its first byte, from its SYN.
    first_byte: u32,
    /// The connection, if it is none of the plan's flows and not over.
    way: Option<Way>,
    /// Nothing is said of it any more: it is closed when its last packet is out of the network.
    over: bool,
    in_flight: u32,
    writers: Vec<Writer>,
}

/// What a packet carries of a stream.
#[derive(Clone, Copy, Debug)]
struct Part {
    stream: u32,
    offset: u32,
    payload: u16,
    fin: bool,
}

/// The accounts of all streams.
#[derive(Debug)]
pub(crate) struct Accounts {
    demand: HostDemand,
    flows: Vec<Option<u64>>,
    streams: Vec<Stream>,
    /// Streams of connections that are none of the plan's flows.
    others: BTreeMap<Way, u32>,
    /// By the slot of a packet on its way.
    parts: Vec<Part>,
}

impl Accounts {
    /// For these flows, between hosts of which each rack has `hosts`.
    pub(crate) fn new(mut demand: HostDemand, flows: &[FlowSetup], hosts: u16) -> Accounts {
        let rack = |host: u32| (host / u32::from(hosts)) as u16;
        for flow in flows {
            demand.open_flow(Pair {
                src: rack(flow.src),
                dst: rack(flow.dst),
            });
        }
        Accounts {
            demand,
            flows: flows.iter().map(|flow| flow.bytes).collect(),
            streams: alloc::vec![Stream::default(); 2 * flows.len()],
            others: BTreeMap::new(),
            parts: Vec::new(),
        }
    }

    /// What is known of demand.
    pub(crate) fn demand(&mut self) -> &mut HostDemand {
        &mut self.demand
    }

    /// One of the plan's flows starts: its client hands all its bytes to its stack.
    pub(crate) fn flow_started(&mut self, now: Time, flow: u32) {
        if let Some(bytes) = self.flows.get(flow as usize) {
            self.demand
                .written(now, 2 * flow, bytes.unwrap_or(u64::MAX));
        }
    }

    /// One of the plan's flows is killed.
    pub(crate) fn flow_killed(&mut self, now: Time, flow: u32) {
        if (flow as usize) < self.flows.len() {
            self.demand.killed(now, 2 * flow);
        }
    }

    /// A program reports what it has written into the stream of `way`.
    pub(crate) fn reported(&mut self, now: Time, way: Way, report: &Report) {
        let Some(&number) = self.others.get(&way) else {
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

    /// A host gives a TCP segment to its NIC, to be known by `slot`: of a flow's stream, or of another connection from rack to
    /// rack.
    pub(crate) fn sent(
        &mut self,
        now: Time,
        slot: Slot,
        (host, pair): (u32, Pair),
        sent: &Sent,
        flow: Option<(u32, bool)>,
    ) {
        let stream = match flow {
            Some((flow, to_server)) => self.of_flow(now, sent, 2 * flow + u32::from(!to_server)),
            None if sent.tcp && pair.src != pair.dst => self.of_other(now, host, pair, sent),
            None => NONE,
        };
        let mut part = Part {
            stream,
            offset: 0,
            payload: sent.payload,
            fin: sent.fin,
        };
        if stream != NONE {
            let stream = &mut self.streams[stream as usize];
            // A SYN takes a sequence number of its own.
            let seq = sent.seq.wrapping_add(sent.syn.into());
            part.offset = seq.wrapping_sub(stream.first_byte);
            stream.in_flight += 1;
        }
        match self.parts.get_mut(slot as usize) {
            Some(place) => *place = part,
            // Slots are given out one after the other.
            None => self.parts.push(part),
        }
    }

    fn of_flow(&mut self, now: Time, sent: &Sent, stream: u32) -> u32 {
        if sent.syn {
            self.streams[stream as usize].first_byte = sent.seq.wrapping_add(1);
        }
        if sent.rst {
            self.demand.killed(now, stream);
            self.demand.killed(now, stream ^ 1);
        }
        stream
    }

    fn of_other(&mut self, now: Time, host: u32, pair: Pair, sent: &Sent) -> u32 {
        let way = Way {
            src: (host, sent.ports.0),
            dst: (sent.dst, sent.ports.1),
        };
        if sent.rst {
            self.give_up(now, way);
            self.give_up(now, way.back());
            return NONE;
        }
        if !sent.syn {
            return self.others.get(&way).copied().unwrap_or(NONE);
        }
        let first_byte = sent.seq.wrapping_add(1);
        if let Some(&number) = self.others.get(&way) {
            if self.streams[number as usize].first_byte == first_byte {
                return number; // the SYN once more
            }
            self.give_up(now, way);
        }
        let number = self.demand.open(pair);
        let stream = Stream {
            first_byte,
            way: Some(way),
            ..Stream::default()
        };
        match self.streams.get_mut(number as usize) {
            Some(place) => *place = stream,
            None => self.streams.push(stream),
        }
        self.others.insert(way, number);
        number
    }

    /// A connection's stream is over.
    fn give_up(&mut self, now: Time, way: Way) {
        let Some(number) = self.others.remove(&way) else {
            return;
        };
        self.demand.killed(now, number);
        let stream = &mut self.streams[number as usize];
        stream.way = None;
        stream.over = true;
        if stream.in_flight == 0 {
            self.demand.close(now, number);
        }
    }

    /// A packet leaves its VOQ.
    pub(crate) fn dequeued(&mut self, now: Time, slot: Slot) {
        let part = self.parts[slot as usize];
        if part.stream == NONE || self.streams[part.stream as usize].over {
            return;
        }
        if part.payload > 0 {
            let len = part.payload.into();
            self.demand.carried(now, part.stream, part.offset, len);
        }
        self.follow_end(now, part);
    }

    /// A packet leaves the network.
    pub(crate) fn delivered(&mut self, now: Time, slot: Slot) {
        let part = self.parts[slot as usize];
        if part.stream != NONE && !self.streams[part.stream as usize].over {
            if part.payload > 0 {
                let len = part.payload.into();
                self.demand.delivered(now, part.stream, part.offset, len);
            }
            // A FIN that went around the switch has not been dequeued.
            self.follow_end(now, part);
        }
        self.landed(now, slot);
    }

    /// A stream's FIN says where it ends; then, or when what was missing is carried, it may be over.
    fn follow_end(&mut self, now: Time, part: Part) {
        if part.fin {
            let end = part.offset.wrapping_add(part.payload.into());
            self.demand.ends(part.stream, end);
        }
        let way = self.streams[part.stream as usize].way;
        if let (Some(way), true) = (way, self.demand.is_over(part.stream)) {
            self.give_up(now, way);
        }
    }

    /// A packet is in the network no more.
    pub(crate) fn landed(&mut self, now: Time, slot: Slot) {
        let number = self.parts[slot as usize].stream;
        if number == NONE {
            return;
        }
        let stream = &mut self.streams[number as usize];
        stream.in_flight -= 1;
        if stream.over && stream.in_flight == 0 {
            self.demand.close(now, number);
        }
    }
}

#[cfg(test)]
mod tests;
