// SPDX-License-Identifier: MIT OR Apache-2.0
//! The events.

use etalon_units::{Span, Time};

use crate::declare::events;
use crate::record::RECORD_BYTES;
use crate::{
    Counter, DropReason, HostId, PacketHeader, Pair, Plane, QueueId, Record, RecordError,
    RecoveryState,
};

/// Who says an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// What queues packets, carries them, and follows the schedule. These events are of traces, and those that are mixed
    /// are of digests.
    Network,
    /// Who gives packets to the network and takes them from it.
    Edge,
    /// Who conducts the experiment.
    Course,
    /// Sockets and programs. What they say may come a little late.
    Host,
}

events! {
    /// What happens. In a log, in the order of time, but for what [hosts](Source::Host) say.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs)] // fields are what the event says
    pub enum Event {
        Network {
            /// A packet of `bytes` joined a queue, which now holds `len` packets.
            Enqueue = 1 "enqueue",
                { pair: Pair = racks, queue: QueueId = e, len: u32 = c, bytes: u32 = d },
                mixes pair, u64::from(len) << 17 | u64::from(bytes);
            /// A packet left its queue, or the hold beside it, and its transmission on `plane` starts; the queue now holds
            /// `len` packets. A packet that was [held](Event::Held) is dequeued once more.
            Dequeue = 2 "dequeue",
                { pair: Pair = racks, queue: QueueId = e, len: u32 = c, bytes: u32 = d, plane: Plane = a },
                mixes pair, u64::from(len) << 17 | u64::from(bytes);
            /// A packet was dropped; its queue now holds `len` packets.
            Dropped = 3 "drop",
                { pair: Pair = racks, queue: QueueId = e, len: u32 = c, bytes: u32 = d, reason: DropReason = a },
                mixes pair, reason as u64;
            /// A packet was marked CE on joining a queue that now holds `len` packets.
            Marked = 4 "mark",
                { pair: Pair = racks, queue: QueueId = e, len: u32 = c },
                mixes pair, u64::from(len);
            /// A queue now has room for `capacity` packets. Follows from the schedule, as circuits and gates do.
            Resized = 5 "resize",
                { pair: Pair = racks, queue: QueueId = e, capacity: u32 = c };
            /// A circuit for a pair comes up or goes down. Follows from the schedule: a digest mixes each week once, and its days as
            /// they come, but not what these do to each pair.
            Circuit = 6 if up { "circuit_up" } else { "circuit_down" },
                { pair: Pair = racks, plane: Plane = c, up: bool = a };
            /// The gate between a pair's VOQ and the plane that serves it outside of its days opens or closes. Follows from the
            /// schedule.
            Gate = 30 if open { "gate_open" } else { "gate_closed" },
                { pair: Pair = racks, plane: Plane = c, open: bool = a };
            /// A packet left the network after `latency`, carried by `plane`; before that it was in `queue`.
            Departed = 7 "depart",
                { pair: Pair = racks, queue: QueueId = c, bytes: u32 = d, latency: Span = e, plane: Plane = a },
                mixes pair, latency.0;
            /// A packet of `bytes` joined the queue of a port, which it leaves at `until`, when its transmission ends: of networks whose
            /// packets leave queues without an event, where ports are looked at.
            Scheduled = 36 "schedule",
                { pair: Pair = racks, queue: QueueId = c, bytes: u32 = d, until: Time = e };
            /// A packet that a plane carried has passed the queue in front of its host, or is dropped there.
            Passed = 35 "pass", { pair: Pair = racks, bytes: u32 = d, plane: Plane = a };
            /// A packet found its internal queue in the packet network full, and is held beside the queue that it came from.
            Held = 8 "hold",
                { pair: Pair = racks, queue: QueueId = e, bytes: u32 = d },
                mixes pair, u64::from(bytes);
            /// Day `day` (from 0) of the week starts.
            Day = 9 "day", { day: u32 = c }, mixes Pair::default(), u64::from(day);
            /// Day `day` of the week ends: its night starts.
            Night = 10 "night", { day: u32 = c }, mixes Pair::default(), u64::from(day);
            /// A week starts, number `week` from 0.
            Week = 11 "week", { week: u64 = e }, mixes Pair::default(), week;
            /// From now on packets to the hosts of `pair.src` carry ECE, as a circuit for the pair is up or near (reTCP,
            /// NSDI'20 section 5.3), or no longer do.
            Announced = 29 if on { "ece_on" } else { "ece_off" }, { pair: Pair = racks, on: bool = a };
            /// Host `host` of rack `pair.src` hears that network `plane` leads to rack `pair.dst` from now on, or soon (TDTCP,
            /// SIGCOMM'22 section 4.2).
            Notified = 31 "notify", { pair: Pair = racks, host: u16 = c, plane: Plane = a },
                mixes pair, u64::from(host) << 8 | u64::from(plane.0);
            /// A packet found its queue full, and only its header joined it, of `bytes` (NDP, SIGCOMM'17); the queue now holds `len`
            /// packets.
            Trimmed = 38 "trim",
                { pair: Pair = racks, queue: QueueId = e, len: u32 = c, bytes: u32 = d },
                mixes pair, u64::from(len) << 17 | u64::from(bytes);
            /// A packet that a queue had no room or no way for is on its way back to its sender, with `bytes` of it.
            Returned = 39 "return",
                { pair: Pair = racks, queue: QueueId = e, bytes: u32 = d },
                mixes pair, u64::from(bytes);
            /// A packet with payload of a class has come to a host, over so many hops from rack to rack: of networks whose packets may go
            /// on from rack to rack.
            Travelled = 49 "travel",
                { pair: Pair = racks, class: u8 = a, hops: u8 = b, bytes: u32 = d };
            /// A packet of a class has come from a host to its ToR switch: of networks of circuits, where what links carry over time is
            /// measured.
            Came = 54 "come", { pair: Pair = racks, class: u8 = a, bytes: u32 = d };
            /// A slice of time starts, number `slice` from 0: circuits are others than before.
            Slice = 40 "slice", { slice: u64 = e }, mixes Pair::default(), slice;
            /// A circuit that is asked for comes up or goes down, in a network of circuits; its plane is 1 more than the uplink.
            Joined = 51 if up { "uplink_joined" } else { "uplink_parted" },
                { pair: Pair = racks, plane: Plane = c, up: bool = a }, mixes pair, u64::from(plane.0) << 1 | u64::from(up);
            /// Switches have chosen other ways, since links went down or came up.
            Rerouted = 41 "reroute", {}, mixes Pair::default(), 0;
        }
        Edge {
            /// A packet enters the network.
            Entered = 12 "enter", { packet: PacketHeader = whole };
            /// A packet leaves the network towards its host.
            Left = 13 "leave", { packet: PacketHeader = whole, plane: Plane = a_high };
            /// The network drops a packet.
            Lost = 14 "lose", { packet: PacketHeader = whole, reason: DropReason = a_high };
            /// The first `len` bytes, from the IP header on, of the packet of the event before follow.
            Bytes = 15 "bytes", { len: u16 = data };
        }
        Course {
            /// The warm-up is over.
            Begin = 16 "begin";
            /// The run is over: nothing follows. Whether the experiment's end was reached.
            End = 17 "end", { complete: bool = a };
            /// A pair's demand in the computation of a week, which follows.
            Demanded = 18 "demand", { pair: Pair = racks, bytes: u64 = e };
            /// A circuit that is asked for changes: it is dark from now on, and will be up. Job `by` asked for it at `asked`; or,
            /// if it was a `program`, one of the host of this number.
            Changing = 50 "changing",
                { pair: Pair = racks, plane: Plane = d, by: u32 = c, program: bool = a, asked: Time = e };
            /// The next day of a computed week, and its night; its circuits follow.
            PlannedDay = 19 "planned_day", { day: Span = e, night: Span = c_d };
            /// A circuit of the planned day.
            /// The run ends, and `by`, as in `Changing`, still waits for a circuit that it asked for at `asked`.
            Awaited = 52 "circuit_awaited",
                { pair: Pair = racks, plane: Plane = d, by: u32 = c, program: bool = a, asked: Time = e };
            /// And a circuit is in the way of that one, which `by` has not given back.
            Kept = 53 "circuit_kept", { pair: Pair = racks, plane: Plane = d, by: u32 = c, program: bool = a };
            PlannedCircuit = 20 "planned_circuit", { pair: Pair = racks };
            /// The week of the events before, computed of the demand at `time`, is given to the switch.
            Computed = 21 "computed", { time: Time = e };
        }
        Host {
            /// The sender's congestion window and threshold (in packets) or round trip time (in microseconds of host time)
            /// changed, as seen when it sent a packet.
            Cwnd = 22 "cwnd",
                { flow: u32 = c, cwnd: u32 = d, ssthresh: u32 = e_low, srtt_us: u32 = e_high };
            /// The state of a sender that is followed, after an ACK or a timer: cwnd, ssthresh and pipe (65,535 for more) in
            /// packets, the round trip time in microseconds of host time, on `path`.
            Sender = 32 "sender",
                { flow: u32 = c, cwnd: u32 = d, ssthresh: u32 = e_low, srtt_us: u32 = e_high, pipe: u16 = b,
                    state: RecoveryState = a_low, path: u8 = a_high };
            /// A flow that is none of the plan's: from now on `src` sends data to `dst` over a connection that a program made,
            /// the first byte of which has sequence number `seq`; or datagrams of UDP, whose bytes are counted from `seq` on.
            Opened = 33 "opened",
                { flow: u32 = c, src: HostId = src, dst: HostId = dst, src_port: u16 = d_low, dst_port: u16 = d_high,
                    seq: u32 = e_low, udp: bool = a };
            /// The stream of such a flow ends before sequence number `seq`; with `reset`, the connection is no more.
            Closed = 34 if reset { "reset" } else { "closed" },
                { flow: u32 = c, seq: u32 = e_low, reset: bool = a };
            /// A flow starts.
            Started = 23 "start", { flow: u32 = c };
            /// The receiving application has all `bytes` of a flow.
            Done = 24 "done", { flow: u32 = c, bytes: u64 = e };
            /// A flow's counter, where measurement begins and where it ends.
            Counter = 25 "counter", { which: Counter = a, flow: u32 = c, value: u64 = e };
            /// A program has ended; `status` is as `waitpid` returns it.
            Exited = 26 "exit", { program: u32 = c, status: u32 = d };
            /// `len` bytes of a program's output follow.
            Output = 27 "output", { program: u32 = c, stream: u8 = a, len: u16 = data };
            /// A program waits for its standard input, and virtual time with it.
            Waiting = 37 "wait", { program: u32 = c };
            /// Programs of a host polled in vain and `waited` meanwhile, in all, on the kernel's clock; they saw what they waited for
            /// later than by polling without a pause, in all by `late` at most.
            Polled = 42 "polled", { host: HostId = src, late: Span = c_d, waited: Span = e };
            /// Who decides outside of the kernel is asked, as the time has come that was asked for. Virtual time stands still until the
            /// answer is there, as with the events that follow.
            Woken = 43 "woken";
            /// The same: an end of a flow, 2n its client and 2n + 1 its server, has read `bytes` in all.
            Read = 44 "read", { end: u32 = c, bytes: u64 = e };
            /// The same: `bytes` of a stream, 2n from flow n's client and 2n + 1 back, have been sent by TCP in all.
            Sent = 45 "sent", { stream: u32 = c, bytes: u64 = e };
            /// The same: the circuits that a job asked for are granted; so many change, and are `dark` for so long.
            Granted = 46 "granted", { job: u32 = c, changed: u32 = d, dark: Span = e };
            /// The same: a circuit is up that a job asked for; or another job waits for it, if it is `wanted`.
            Connected = 47 if wanted { "wanted" } else { "connected" },
                { pair: Pair = racks, plane: Plane = c, job: u32 = d, wanted: bool = a };
            /// The same: a week is to be computed of the demand of the events before, looked at at `time`.
            Planning = 48 "planning", { time: Time = e };
            /// The run cannot go on; a sentence in UTF-8 that says why follows.
            Failure = 28 "failure", { len: u16 = data };
        }
    }
}

impl Record {
    /// Bytes of data that follow, padding not counted.
    #[must_use]
    #[inline]
    pub fn data_len(&self) -> usize {
        if self.kind < 64 && Event::WITH_DATA >> self.kind & 1 != 0 {
            self.b.into()
        } else {
            0
        }
    }

    /// Bytes that follow, padding included: whole records.
    #[must_use]
    #[inline]
    pub fn padded_len(&self) -> usize {
        self.data_len().next_multiple_of(RECORD_BYTES)
    }
}
