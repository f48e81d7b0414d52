// SPDX-License-Identifier: MIT OR Apache-2.0
//! The sending half: sequence space, what the application asked it to send, what is outstanding, the paths that it goes over, and the
//! timer. What is done with an ACK is in `ack.rs`, what is sent next in `output.rs`. It knows nothing of the receiving half.

mod ack;
#[cfg(test)]
mod alone;
pub(crate) mod buffers;
pub(crate) mod digest;
mod episode;
mod facts;
pub(crate) mod frto;
mod loss_detection;
mod loss_probe;
mod newreno;
pub(crate) mod output;
pub(crate) mod pacing;
pub(crate) mod path;
mod paths;
mod persist;
mod places;
pub(crate) mod program;
mod prr;
mod rack;
pub(crate) mod record;
pub(crate) mod recovery;
mod reduction;
pub(crate) mod rtt;
mod sack;
pub(crate) mod scoreboard;
pub(crate) mod send_buffer;
mod tdn;
mod telemetry;
mod timeout;
mod tlp;
mod tso;
mod undo;
mod validation;

use self::buffers::Buffers;
use self::frto::Frto;
use self::loss_probe::LossProbe;
use self::paths::Paths;
use self::program::Program;
use self::rack::Rack;
use self::scoreboard::Scoreboard;
use self::send_buffer::SendBuffer;
use self::undo::Eifel;
use crate::Config;
use crate::cc::CongestionControl;
use crate::rare::Rare;
use crate::stats::OfSender;
use crate::timers::{Clock, Timer};

/// Whether and when a FIN ends the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fin {
    /// Not asked for.
    None,
    /// Asked for at this instant: what can go out of the data before it does so by itself, as at a `write` of its own.
    Asked,
    /// To be sent with the last of the data.
    Queued,
    /// Sent.
    Sent,
}

/// A transmission that the congestion window does not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forced {
    /// The front of the scoreboard, after a timeout.
    Front,
    /// A tail loss probe.
    Probe,
    /// A zero-window probe.
    WindowProbe,
}

/// The chunk that is being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Chunk {
    /// Bytes left of it.
    pub left: u32,
    /// It has more than one segment.
    pub several: bool,
    /// The congestion window would let one go that waits.
    pub held_back: bool,
}

/// Bytes that stand for 'as much as the network takes'.
pub(crate) const FOREVER: u64 = u64::MAX;

/// One end's sending half.
#[derive(Clone, Debug)]
pub(crate) struct Sender<C> {
    /// Initial sequence number.
    pub first: u32,
    /// SND.UNA, SND.NXT.
    pub una: u32,
    pub nxt: u32,
    /// Peer's window in bytes, and the segment that told it (SND.WL1).
    pub window: u32,
    pub window_seq: u32,
    pub max_window: u32,
    pub peer_scale: u8,
    /// Payload of a full segment.
    pub mss: u32,
    /// Bytes written and not yet sent.
    pub pending: u64,
    pub fin: Fin,
    pub buffers: Buffers,
    pub chunk: Chunk,
    pub board: Scoreboard,
    pub forced: Option<Forced>,
    /// Consecutive timeouts without progress, and doublings of the persist timer.
    pub timeouts: u32,
    pub persist_backoff: u16,
    /// End of the last small segment sent (Minshall).
    pub small_end: u32,
    /// Bytes handed out that have not left the host.
    pub queued: u64,
    pub throttled: bool,
    /// Earliest next departure with pacing, in nanoseconds.
    pub paced_until: u64,
    /// New segments of the burst that is being taken out.
    pub burst: u32,
    /// The burst calls for the retransmission timer to be set.
    pub rearm: bool,
    /// ECN was negotiated; CWR is to be sent.
    pub ecn: bool,
    pub cwr_queued: bool,
    pub bytes_acked: u64,
    pub sack: bool,
    pub timestamps: bool,
    /// The timestamp of ours that the segment under way echoed; 0 if none.
    pub echoed: u32,
    /// Segments that DSACKs reported, to tell them from duplicates made by the network.
    pub dsacked: u32,
    pub paths: Paths<C>,
    pub rack: Rack,
    pub frto: Frto,
    pub probe: LossProbe,
    pub eifel: Eifel,
    /// The retransmission timer.
    pub timer: Timer,
    /// Segments are paced.
    pub paced: bool,
    /// ECE counts though ECN was not negotiated.
    pub reads_ece: bool,
    /// The peer echoes marks as DCTCP has it.
    pub dctcp: bool,
    /// The ACK that completes the handshake of a server has just arrived.
    pub opens: bool,
    /// Our FIN is acknowledged.
    pub fin_acked: bool,
    /// What the program could hand over of its writes, if that is followed.
    pub send_buffer: Option<Box<SendBuffer>>,
    /// The program, if it waits for its socket.
    pub program: Option<Box<Program>>,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    pub stats: Rare<OfSender>,
}

impl<C: CongestionControl> Sender<C> {
    pub fn new(config: &Config, clock: &Clock, cc: C) -> Sender<C> {
        let first = config.initial_seq;
        Sender {
            paced: config.pacing || cc.wants_pacing(),
            reads_ece: cc.reads_ece_without_ecn(),
            dctcp: cc.wants_dctcp_feedback(),
            paths: Paths::new(config, clock, cc),
            rack: Rack::default(),
            frto: Frto::default(),
            probe: LossProbe::default(),
            eifel: Eifel::default(),
            timer: Timer::OFF,
            opens: false,
            fin_acked: false,
            send_buffer: config.send_buffer.map(|max| Box::new(SendBuffer::new(max))),
            program: None,
            data_segments_sent: 0,
            stats: Rare::default(),
            first,
            una: first,
            nxt: first,
            window: 0,
            window_seq: 0,
            max_window: 0,
            peer_scale: 0,
            mss: u32::from(config.mss),
            pending: 0,
            fin: Fin::None,
            buffers: Buffers::default(),
            chunk: Chunk::default(),
            board: Scoreboard::default(),
            forced: None,
            timeouts: 0,
            persist_backoff: 0,
            small_end: first,
            queued: 0,
            throttled: false,
            paced_until: 0,
            burst: 0,
            rearm: false,
            ecn: false,
            cwr_queued: false,
            bytes_acked: 0,
            sack: config.sack,
            timestamps: config.timestamps,
            echoed: 0,
            dsacked: 0,
        }
    }

    /// Nothing was sent yet: another initial sequence number.
    pub fn start_at(&mut self, seq: u32) {
        (self.first, self.una, self.nxt, self.small_end) = (seq, seq, seq, seq);
        self.paths.active.validation.round_end = seq;
    }

    /// Right edge of the peer's window.
    #[inline]
    pub fn window_end(&self) -> u32 {
        self.una.wrapping_add(self.window)
    }

    /// Something waits to be sent for the first time.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.pending > 0 || matches!(self.fin, Fin::Asked | Fin::Queued)
    }
}
