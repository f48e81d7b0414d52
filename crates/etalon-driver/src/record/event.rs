//! What a record says.

use etalon_switch::{DropReason, Network, Pair};
use etalon_units::{Span, Time};

use super::Record;
use super::kind::*;
use super::packet::{Packet, pair};

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
        let of_voq = |kind: u8, pair: Pair, a: u8, len: u32, bytes: u32| Record {
            a,
            c: len,
            d: bytes,
            ..of_pair(kind, pair)
        };
        match self {
            Event::Enqueue { pair, len, bytes } => of_voq(ENQUEUE, pair, 0, len, bytes),
            Event::Dequeue {
                pair,
                len,
                bytes,
                network,
            } => of_voq(DEQUEUE, pair, network as u8, len, bytes),
            Event::Held { pair, bytes } => of_voq(HELD, pair, 0, 0, bytes),
            Event::Dropped {
                pair,
                len,
                bytes,
                reason,
            } => of_voq(DROPPED, pair, reason as u8, len, bytes),
            Event::Marked { pair, len } => of_voq(MARKED, pair, 0, len, 0),
            Event::Resized { pair, capacity } => of_voq(RESIZED, pair, 0, capacity, 0),
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
