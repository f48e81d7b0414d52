// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parameters of an end host's TCP. Defaults are those of Linux, HZ 250.

use crate::Memory;
use crate::mptcp::Mptcp;

/// Use of explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Neither offered nor accepted.
    #[default]
    Off,
    /// Offered and accepted; also whenever the congestion control needs it.
    On,
}

/// Parameters of one endpoint. Times in nanoseconds of host time.
#[derive(Clone, Debug)]
pub struct Config {
    /// Timer ticks a second (Linux's HZ): granularity of all timers and of the clocks that are in jiffies there.
    pub hz: u32,
    /// Largest payload of a segment in bytes, timestamps already taken off (8948 for an MTU of 9000).
    pub mss: u16,
    /// Initial congestion window in segments (RFC 6928).
    pub initial_cwnd: u32,
    /// Largest congestion window in segments: what it grows to (Linux's `snd_cwnd_clamp`, which a route or a program may set).
    pub max_cwnd: u32,
    /// Smallest retransmission timeout (Linux: 200 ms).
    pub min_rto: u64,
    /// Largest retransmission timeout (Linux: 120 s).
    pub max_rto: u64,
    /// Retransmission timeout before the first RTT sample (RFC 6298: 1 s).
    pub initial_rto: u64,
    /// Margin that the reordering and loss-probe timers add before they are rounded up to ticks. Linux: 2 ms since October 2023
    /// ("tcp: fix excessive TLP and RACK timeouts from HZ rounding", in 6.6 and in later releases of older series, 6.1 among
    /// them); before, two ticks, which is 8 ms at HZ 250.
    pub timer_margin: u64,
    /// Shortest delayed-ACK timer (Linux: 40 ms).
    pub min_delayed_ack: u64,
    /// Longest delayed-ACK timer (Linux: 200 ms).
    pub max_delayed_ack: u64,
    /// Receive buffer at first, in bytes of payload: bounds the advertised window (Linux: half of `tcp_rmem`'s 128 KiB).
    pub receive_buffer: u32,
    /// Largest receive buffer that autotuning goes to, in bytes of payload (Linux: half of 6 MiB); no autotuning if it is
    /// not larger than `receive_buffer`.
    pub max_receive_buffer: u32,
    /// Largest send buffer in bytes of memory (Linux: `tcp_wmem`), if how much of its writes a program could hand over is to be known
    /// ([`take_writes`](crate::Connection::take_writes)).
    pub send_buffer: Option<u32>,
    /// Largest send buffer in bytes of memory, if a program writes only what that has room for, as programs do whose `write` blocks; without,
    /// a connection may send whatever was written. A program that [writes for ever](crate::Connection::write_forever) waits only with
    /// TDTCP; never does MPTCP, whose stream has a buffer of its own.
    pub waits_for_room: Option<u32>,
    /// Memory that segments take by their length, for windows: half of the buffer's memory is offered.
    pub memory: fn(u32) -> Memory,
    /// Explicit congestion notification.
    pub ecn: Ecn,
    /// SACK (RFC 2018), and with it RACK-TLP (RFC 8985).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// Spreads segments over the RTT at the pacing rate (Linux: only BBR asks for it, or fq).
    pub pacing: bool,
    /// Initial sequence number.
    pub initial_seq: u32,
    /// The application reads data as soon as it arrives in order, so that the advertised window never closes.
    pub auto_read: bool,
    /// The application closes as soon as the peer has, once all that it wrote is sent (RFC 9293, section 3.6, case 2).
    pub auto_close: bool,
    /// Window advertised first, in bytes; it grows by two segments with each one received, up to the buffer (Linux: 64 KB).
    pub initial_receive_window: u32,
    /// A chunk of segments waits while less of the window is free than this part of it, if the window is expected to open soon
    /// (Linux's `tcp_tso_win_divisor`); 0: while less than four segments are.
    pub tso_win_divisor: u32,
    /// Nagle's algorithm in Minshall's variant: at most one small segment in flight.
    pub nagle: bool,
    /// The last buffer of a write waits while something of the connection is queued below TCP (Linux: `tcp_autocorking`, on); needs
    /// [`small_queues`](Config::small_queues).
    pub autocorking: bool,
    /// Decays the window after an idle time of a retransmission timeout (RFC 2861, Linux's default).
    pub slow_start_after_idle: bool,
    /// Bounds what is queued below TCP (Linux's TCP small queues); the owner must report departures.
    pub small_queues: bool,
    /// Length of TIME-WAIT (Linux: 60 s).
    pub time_wait: u64,
    /// TDTCP, if it is wanted: for a connection that is [given](crate::Connection::add_paths) a path for each TDN but the first.
    pub tdtcp: Option<Tdtcp>,
    /// What it is in a connection of MPTCP.
    pub mptcp: Option<Mptcp>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            hz: 250,
            mss: 8948,
            initial_cwnd: 10,
            max_cwnd: u32::MAX,
            min_rto: 200_000_000,
            max_rto: 120_000_000_000,
            initial_rto: 1_000_000_000,
            timer_margin: 2_000_000,
            min_delayed_ack: 40_000_000,
            max_delayed_ack: 200_000_000,
            receive_buffer: 64 << 10,
            max_receive_buffer: 3 << 20,
            send_buffer: None,
            waits_for_room: None,
            memory: Memory::shared,
            ecn: Ecn::Off,
            sack: true,
            timestamps: true,
            pacing: false,
            initial_seq: 0,
            auto_read: true,
            auto_close: false,
            initial_receive_window: 65_535,
            tso_win_divisor: 3,
            nagle: true,
            autocorking: false,
            slow_start_after_idle: true,
            small_queues: true,
            time_wait: 60_000_000_000,
            tdtcp: None,
            mptcp: None,
        }
    }
}

/// Switches of TDTCP. The defaults are the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tdtcp {
    /// How many TDNs there are: both ends have to say the same.
    pub tdns: u8,
    /// TD_CAPABLE and TD_DATA_ACK are written and expected (section 4.3). Without them each end is one of TDTCP by its own choice.
    pub options: bool,
    /// A hole of another TDN than that of the ACK waits for ACKs of its own (section 3.4).
    pub relaxed: bool,
    /// A window limits what is in flight on all TDNs.
    pub shared_pipe: bool,
    /// RTT samples count whichever way data and ACK went.
    pub all_rtts: bool,
    /// The first round trip after a change is paced.
    pub pace_burst: bool,
}

impl Default for Tdtcp {
    fn default() -> Tdtcp {
        Tdtcp {
            tdns: 2,
            options: true,
            relaxed: true,
            shared_pipe: false,
            all_rtts: false,
            pace_burst: false,
        }
    }
}
