//! The log: what happens in the kernel, in records of 32 bytes.
//!
//! Integers are little-endian. Three kinds of records are followed by data, padded with zeros to whole records
//! ([`Record::data_len`]).

use etalon_switch::{DropReason, Network, Pair};
use etalon_units::{Span, Time};

/// Length of a record in bytes.
pub const RECORD_BYTES: usize = 32;

/// Says that a packet belongs to none of the experiment's flows.
pub const NO_FLOW: u32 = u32::MAX;

/// A record as it is written: what the fields mean depends on the kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)] // named as in `struct etalon_record` of kernel/driver/etalon.h
pub struct Record {
    pub time: Time,
    pub kind: u8,
    pub a: u8,
    pub src: u16,
    pub dst: u16,
    pub b: u16,
    pub c: u32,
    pub d: u32,
    pub e: u64,
}

impl Record {
    /// The record's bytes.
    #[must_use]
    #[inline]
    pub fn to_bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        bytes[0..8].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[8] = self.kind;
        bytes[9] = self.a;
        bytes[10..12].copy_from_slice(&self.src.to_le_bytes());
        bytes[12..14].copy_from_slice(&self.dst.to_le_bytes());
        bytes[14..16].copy_from_slice(&self.b.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.c.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.d.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.e.to_le_bytes());
        bytes
    }

    /// The record of these bytes.
    #[must_use]
    #[inline]
    pub fn from_bytes(bytes: &[u8; RECORD_BYTES]) -> Record {
        let u16_at = |i: usize| u16::from_le_bytes([bytes[i], bytes[i + 1]]);
        let u32_at = |i: usize| u32::from(u16_at(i)) | u32::from(u16_at(i + 2)) << 16;
        let u64_at = |i: usize| u64::from(u32_at(i)) | u64::from(u32_at(i + 4)) << 32;
        Record {
            time: Time(u64_at(0)),
            kind: bytes[8],
            a: bytes[9],
            src: u16_at(10),
            dst: u16_at(12),
            b: u16_at(14),
            c: u32_at(16),
            d: u32_at(20),
            e: u64_at(24),
        }
    }

    /// Bytes of data that follow, padding not counted.
    #[must_use]
    #[inline]
    pub fn data_len(&self) -> usize {
        match self.kind {
            BYTES | OUTPUT | FAILURE => usize::from(self.b),
            _ => 0,
        }
    }

    /// Bytes that follow, padding included: whole records.
    #[must_use]
    #[inline]
    pub fn padded_len(&self) -> usize {
        self.data_len().next_multiple_of(RECORD_BYTES)
    }
}

const ENQUEUE: u8 = 1;
const DEQUEUE: u8 = 2;
const HELD: u8 = 3;
const DROPPED: u8 = 4;
const MARKED: u8 = 5;
const RESIZED: u8 = 6;
const WEEK: u8 = 7;
const DAY: u8 = 8;
const NIGHT: u8 = 9;
const CIRCUIT: u8 = 10;
const DEPARTED: u8 = 11;
const ENTERED: u8 = 12;
const LEFT: u8 = 13;
const LOST: u8 = 14;
const BYTES: u8 = 15;
const CWND: u8 = 16;
const STARTED: u8 = 17;
const DONE: u8 = 18;
const COUNTER: u8 = 19;
const BEGIN: u8 = 20;
const END: u8 = 21;
const EXITED: u8 = 22;
const OUTPUT: u8 = 23;
const FAILURE: u8 = 24;
const DEMANDED: u8 = 25;
const PLANNED_DAY: u8 = 26;
const PLANNED_CIRCUIT: u8 = 27;
const COMPUTED: u8 = 28;

/// What the log knows of a packet at an edge of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Source and destination rack.
    pub pair: Pair,
    /// The experiment's flow that it belongs to.
    pub flow: Option<u32>,
    /// From the flow's client to its server.
    pub to_server: bool,
    /// The sender is ECN-capable.
    pub ect: bool,
    /// The network marked it: CE in the IP header.
    pub ce: bool,
    /// The network marked it: ECE in the TCP header.
    pub ece: bool,
    /// TCP payload in bytes.
    pub payload: u16,
    /// Length on the wire in bytes.
    pub bytes: u32,
    /// TCP sequence number.
    pub seq: u32,
    /// TCP acknowledgement number.
    pub ack: u32,
}

/// What is counted of each flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// Bytes that the receiving application was given.
    Received,
    /// Segments sent again.
    Retransmits,
    /// Retransmission timeouts.
    Rtos,
    /// Tail loss probes.
    Tlps,
    /// Times that fast recovery began.
    Recoveries,
    /// Times that a window reduction was undone.
    Undos,
    /// Congestion window in packets.
    Cwnd,
    /// Slow start threshold in packets.
    Ssthresh,
    /// Smoothed round trip time in microseconds of host time.
    Srtt,
}

impl Counter {
    const ALL: [Counter; 9] = [
        Counter::Received,
        Counter::Retransmits,
        Counter::Rtos,
        Counter::Tlps,
        Counter::Recoveries,
        Counter::Undos,
        Counter::Cwnd,
        Counter::Ssthresh,
        Counter::Srtt,
    ];
}

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// [`etalon_switch::Probe::enqueue`].
    #[allow(missing_docs)]
    Enqueue { pair: Pair, len: u32, bytes: u32 },
    /// [`etalon_switch::Probe::dequeue`].
    #[allow(missing_docs)]
    Dequeue {
        pair: Pair,
        len: u32,
        bytes: u32,
        network: Network,
    },
    /// [`etalon_switch::Probe::held`].
    #[allow(missing_docs)]
    Held { pair: Pair, bytes: u32 },
    /// [`etalon_switch::Probe::dropped`].
    #[allow(missing_docs)]
    Dropped {
        pair: Pair,
        len: u32,
        bytes: u32,
        reason: DropReason,
    },
    /// [`etalon_switch::Probe::marked`].
    #[allow(missing_docs)]
    Marked { pair: Pair, len: u32 },
    /// [`etalon_switch::Probe::resized`].
    #[allow(missing_docs)]
    Resized { pair: Pair, capacity: u32 },
    /// [`etalon_switch::Probe::week`].
    #[allow(missing_docs)]
    Week { week: u64 },
    /// [`etalon_switch::Probe::day`].
    #[allow(missing_docs)]
    Day { day: u32 },
    /// [`etalon_switch::Probe::night`].
    #[allow(missing_docs)]
    Night { day: u32 },
    /// [`etalon_switch::Probe::circuit`].
    #[allow(missing_docs)]
    Circuit { pair: Pair, up: bool },
    /// [`etalon_switch::Probe::departed`].
    #[allow(missing_docs)]
    Departed {
        pair: Pair,
        bytes: u32,
        latency: Span,
        network: Network,
    },
    /// A packet enters the network.
    Entered(Packet),
    /// A packet leaves the network towards its host.
    Left(Packet, Network),
    /// The network drops a packet.
    Lost(Packet, DropReason),
    /// The first bytes, from the IP header on, of the packet of the record before follow.
    Bytes {
        /// How many.
        len: u16,
    },
    /// The sender's congestion window, threshold or round trip time changed, as seen when it sent a packet.
    Cwnd {
        /// The flow.
        flow: u32,
        /// Congestion window in packets.
        cwnd: u32,
        /// Slow start threshold in packets.
        ssthresh: u32,
        /// Smoothed round trip time in microseconds of host time.
        srtt_us: u32,
    },
    /// A flow starts.
    #[allow(missing_docs)]
    Started { flow: u32 },
    /// The receiving application has all `bytes` of a flow.
    #[allow(missing_docs)]
    Done { flow: u32, bytes: u64 },
    /// A flow's counter, where measurement begins and where it ends.
    #[allow(missing_docs)]
    Counter {
        which: Counter,
        flow: u32,
        value: u64,
    },
    /// The warm-up is over.
    Begin,
    /// The run is over: nothing follows.
    End {
        /// The experiment's end was reached.
        complete: bool,
    },
    /// A program has ended.
    Exited {
        /// Its number.
        program: u32,
        /// As `waitpid` returns it.
        status: u32,
    },
    /// A program's output follows.
    #[allow(missing_docs)]
    Output { program: u32, stream: u8, len: u16 },
    /// The run cannot go on; a sentence in UTF-8 that says why follows.
    #[allow(missing_docs)]
    Failure { len: u16 },
    /// A pair's demand in the computation of a week, which follows.
    #[allow(missing_docs)]
    Demanded { pair: Pair, bytes: u64 },
    /// The next day of a computed week, and its night; its circuits follow.
    #[allow(missing_docs)]
    PlannedDay { day: Span, night: Span },
    /// A circuit of the planned day.
    #[allow(missing_docs)]
    PlannedCircuit { pair: Pair },
    /// The week of the records before, computed of the demand at `time`, is given to the switch.
    #[allow(missing_docs)]
    Computed { time: Time },
}

/// A record that no build writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordError;

impl core::fmt::Display for RecordError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the kernel's log contains a record of no known kind")
    }
}

impl core::error::Error for RecordError {}

impl Packet {
    #[inline]
    fn record(&self, time: Time, kind: u8, high: u8) -> Record {
        Record {
            time,
            kind,
            a: u8::from(self.to_server)
                | u8::from(self.ect) << 1
                | u8::from(self.ce) << 2
                | u8::from(self.ece) << 3
                | high << 4,
            src: self.pair.src,
            dst: self.pair.dst,
            b: self.payload,
            c: self.flow.unwrap_or(NO_FLOW),
            d: self.bytes,
            e: u64::from(self.seq) | u64::from(self.ack) << 32,
        }
    }

    #[inline]
    fn of(record: &Record) -> Packet {
        Packet {
            pair: pair(record),
            flow: (record.c != NO_FLOW).then_some(record.c),
            to_server: record.a & 1 != 0,
            ect: record.a & 2 != 0,
            ce: record.a & 4 != 0,
            ece: record.a & 8 != 0,
            payload: record.b,
            bytes: record.d,
            seq: record.e as u32,
            ack: (record.e >> 32) as u32,
        }
    }
}

#[inline]
fn pair(record: &Record) -> Pair {
    Pair {
        src: record.src,
        dst: record.dst,
    }
}

fn network(number: u8) -> Result<Network, RecordError> {
    match number {
        0 => Ok(Network::Packet),
        1 => Ok(Network::Circuit),
        _ => Err(RecordError),
    }
}

fn reason(number: u8) -> Result<DropReason, RecordError> {
    match number {
        0 => Ok(DropReason::VoqFull),
        1 => Ok(DropReason::Shrunk),
        2 => Ok(DropReason::HoldFull),
        _ => Err(RecordError),
    }
}

impl Event {
    /// The record that says so, at `time`.
    #[must_use]
    #[inline]
    pub fn at(self, time: Time) -> Record {
        let of = |kind: u8| Record {
            time,
            kind,
            ..Record::default()
        };
        let of_pair = |kind: u8, pair: Pair| Record {
            src: pair.src,
            dst: pair.dst,
            ..of(kind)
        };
        match self {
            Event::Enqueue { pair, len, bytes } => Record {
                c: len,
                d: bytes,
                ..of_pair(ENQUEUE, pair)
            },
            Event::Dequeue {
                pair,
                len,
                bytes,
                network,
            } => Record {
                a: network as u8,
                c: len,
                d: bytes,
                ..of_pair(DEQUEUE, pair)
            },
            Event::Held { pair, bytes } => Record {
                d: bytes,
                ..of_pair(HELD, pair)
            },
            Event::Dropped {
                pair,
                len,
                bytes,
                reason,
            } => Record {
                a: reason as u8,
                c: len,
                d: bytes,
                ..of_pair(DROPPED, pair)
            },
            Event::Marked { pair, len } => Record {
                c: len,
                ..of_pair(MARKED, pair)
            },
            Event::Resized { pair, capacity } => Record {
                c: capacity,
                ..of_pair(RESIZED, pair)
            },
            Event::Week { week } => Record {
                e: week,
                ..of(WEEK)
            },
            Event::Day { day } => Record { c: day, ..of(DAY) },
            Event::Night { day } => Record {
                c: day,
                ..of(NIGHT)
            },
            Event::Circuit { pair, up } => Record {
                a: up.into(),
                ..of_pair(CIRCUIT, pair)
            },
            Event::Departed {
                pair,
                bytes,
                latency,
                network,
            } => Record {
                a: network as u8,
                d: bytes,
                e: latency.0,
                ..of_pair(DEPARTED, pair)
            },
            Event::Entered(packet) => packet.record(time, ENTERED, 0),
            Event::Left(packet, network) => packet.record(time, LEFT, network as u8),
            Event::Lost(packet, reason) => packet.record(time, LOST, reason as u8),
            Event::Bytes { len } => Record {
                b: len,
                ..of(BYTES)
            },
            Event::Cwnd {
                flow,
                cwnd,
                ssthresh,
                srtt_us,
            } => Record {
                c: flow,
                d: cwnd,
                e: u64::from(ssthresh) | u64::from(srtt_us) << 32,
                ..of(CWND)
            },
            Event::Started { flow } => Record {
                c: flow,
                ..of(STARTED)
            },
            Event::Done { flow, bytes } => Record {
                c: flow,
                e: bytes,
                ..of(DONE)
            },
            Event::Counter { which, flow, value } => Record {
                a: which as u8,
                c: flow,
                e: value,
                ..of(COUNTER)
            },
            Event::Begin => of(BEGIN),
            Event::End { complete } => Record {
                a: u8::from(!complete),
                ..of(END)
            },
            Event::Exited { program, status } => Record {
                c: program,
                d: status,
                ..of(EXITED)
            },
            Event::Output {
                program,
                stream,
                len,
            } => Record {
                a: stream,
                b: len,
                c: program,
                ..of(OUTPUT)
            },
            Event::Failure { len } => Record {
                b: len,
                ..of(FAILURE)
            },
            Event::Demanded { pair, bytes } => Record {
                e: bytes,
                ..of_pair(DEMANDED, pair)
            },
            Event::PlannedDay { day, night } => Record {
                c: night.0 as u32,
                d: (night.0 >> 32) as u32,
                e: day.0,
                ..of(PLANNED_DAY)
            },
            Event::PlannedCircuit { pair } => of_pair(PLANNED_CIRCUIT, pair),
            Event::Computed { time } => Record {
                e: time.0,
                ..of(COMPUTED)
            },
        }
    }

    /// What `record` says.
    ///
    /// # Errors
    /// [`RecordError`] if it is of no known kind.
    #[inline]
    pub fn of(record: &Record) -> Result<Event, RecordError> {
        let pair = pair(record);
        let Record { a, b, c, d, e, .. } = *record;
        Ok(match record.kind {
            ENQUEUE => Event::Enqueue {
                pair,
                len: c,
                bytes: d,
            },
            DEQUEUE => Event::Dequeue {
                pair,
                len: c,
                bytes: d,
                network: network(a)?,
            },
            HELD => Event::Held { pair, bytes: d },
            DROPPED => Event::Dropped {
                pair,
                len: c,
                bytes: d,
                reason: reason(a)?,
            },
            MARKED => Event::Marked { pair, len: c },
            RESIZED => Event::Resized { pair, capacity: c },
            WEEK => Event::Week { week: e },
            DAY => Event::Day { day: c },
            NIGHT => Event::Night { day: c },
            CIRCUIT => Event::Circuit { pair, up: a != 0 },
            DEPARTED => Event::Departed {
                pair,
                bytes: d,
                latency: Span(e),
                network: network(a)?,
            },
            ENTERED => Event::Entered(Packet::of(record)),
            LEFT => Event::Left(Packet::of(record), network(a >> 4)?),
            LOST => Event::Lost(Packet::of(record), reason(a >> 4)?),
            BYTES => Event::Bytes { len: b },
            CWND => Event::Cwnd {
                flow: c,
                cwnd: d,
                ssthresh: e as u32,
                srtt_us: (e >> 32) as u32,
            },
            STARTED => Event::Started { flow: c },
            DONE => Event::Done { flow: c, bytes: e },
            COUNTER => Event::Counter {
                which: *Counter::ALL.get(usize::from(a)).ok_or(RecordError)?,
                flow: c,
                value: e,
            },
            BEGIN => Event::Begin,
            END => Event::End { complete: a == 0 },
            EXITED => Event::Exited {
                program: c,
                status: d,
            },
            OUTPUT => Event::Output {
                program: c,
                stream: a,
                len: b,
            },
            FAILURE => Event::Failure { len: b },
            DEMANDED => Event::Demanded { pair, bytes: e },
            PLANNED_DAY => Event::PlannedDay {
                day: Span(e),
                night: Span(u64::from(c) | u64::from(d) << 32),
            },
            PLANNED_CIRCUIT => Event::PlannedCircuit { pair },
            COMPUTED => Event::Computed { time: Time(e) },
            _ => return Err(RecordError),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_and_records_are_the_same(bytes in any::<[u8; RECORD_BYTES]>()) {
            prop_assert_eq!(Record::from_bytes(&bytes).to_bytes(), bytes);
        }

        /// What is read from a record makes a record that says the same, whatever else was in it.
        #[test]
        fn every_kind_comes_back_as_it_was(bytes in any::<[u8; RECORD_BYTES]>(), kind in 1u8..=28) {
            let mut record = Record::from_bytes(&bytes);
            record.kind = kind;
            record.a %= 3;
            if (ENTERED..=LOST).contains(&kind) {
                record.a = record.a << 4 | bytes[31] & 15;
            }
            let Ok(event) = Event::of(&record) else {
                // The third network.
                prop_assert!([DEQUEUE, DEPARTED, LEFT].contains(&kind));
                return Ok(());
            };
            let back = event.at(record.time);
            prop_assert_eq!(back.kind, kind);
            prop_assert_eq!(back.time, record.time);
            prop_assert_eq!(Event::of(&back), Ok(event));
            prop_assert_eq!(back.data_len(), record.data_len());
        }
    }

    #[test]
    fn the_fields_lie_where_c_has_them() {
        let packet = Packet {
            pair: Pair {
                src: 0x0102,
                dst: 0x0304,
            },
            flow: Some(0x0506_0708),
            ect: true,
            ece: true,
            payload: 0x090a,
            bytes: 0x0b0c_0d0e,
            seq: 0x0f10_1112,
            ack: 0x1314_1516,
            ..Packet::default()
        };
        let bytes = Event::Left(packet, Network::Circuit)
            .at(Time(0x1718_191a_1b1c_1d1e))
            .to_bytes();
        let expected = [
            0x1e, 0x1d, 0x1c, 0x1b, 0x1a, 0x19, 0x18, 0x17, 13, 0x1a, 2, 1, 4, 3, 0x0a, 9, 8, 7, 6,
            5, 0x0e, 0x0d, 0x0c, 0x0b, 0x12, 0x11, 0x10, 0x0f, 0x16, 0x15, 0x14, 0x13,
        ];
        assert_eq!(bytes, expected);
    }

    #[test]
    fn data_is_padded_to_whole_records() {
        for (len, padded) in [(0, 0), (1, 32), (32, 32), (33, 64)] {
            assert_eq!(Event::Failure { len }.at(Time(0)).padded_len(), padded);
        }
        assert_eq!(Event::Begin.at(Time(0)).padded_len(), 0);
    }
}
