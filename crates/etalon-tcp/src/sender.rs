//! The sending half's sequence space and what the application asked it to send.

use crate::Config;
use crate::buffers::Buffers;
use crate::scoreboard::Scoreboard;
use crate::tso::Chunk;

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

/// A transmission that the window does not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forced {
    /// The front of the scoreboard, after a timeout.
    Front,
    /// A tail loss probe.
    Probe,
    /// A zero-window probe.
    WindowProbe,
}

/// Bytes that stand for 'as much as the network takes'.
pub(crate) const FOREVER: u64 = u64::MAX;

#[derive(Clone, Debug)]
pub(crate) struct Sender {
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
    /// ECN: negotiated, CWR to be sent, CE feedback as in DCTCP.
    pub ecn: bool,
    pub cwr_queued: bool,
    pub bytes_acked: u64,
    pub sack: bool,
    pub timestamps: bool,
    /// Timestamp of the peer to echo, and what the segment under way echoed.
    pub ts_recent: u32,
    pub ts_recent_at: u64,
    pub echoed: u32,
    /// Segments that DSACKs reported, to tell them from duplicates made by the network.
    pub dsacked: u32,
}

impl Sender {
    pub fn new(config: &Config) -> Sender {
        let first = config.initial_seq;
        Sender {
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
            ts_recent: 0,
            ts_recent_at: 0,
            echoed: 0,
            dsacked: 0,
        }
    }

    /// Nothing was sent yet: another initial sequence number.
    pub fn start_at(&mut self, seq: u32) {
        (self.first, self.una, self.nxt, self.small_end) = (seq, seq, seq, seq);
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
