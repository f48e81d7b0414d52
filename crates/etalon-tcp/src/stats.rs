//! What a connection counts.

/// Counters of one connection: 64 bits wide where packets are counted, 32 for what happens to a connection now and then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, of any kind.
    pub segments_sent: u64,
    /// Segments received, of any kind.
    pub segments_received: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments with payload received, duplicates included.
    pub data_segments_received: u64,
    /// Segments without payload sent.
    pub acks_sent: u64,
    /// Retransmissions, probes included.
    pub retransmits: u64,
    /// Times that fast recovery was entered.
    pub recoveries: u32,
    /// Retransmission timeouts.
    pub rtos: u32,
    /// Tail loss probes.
    pub tlps: u32,
    /// Window reductions that were undone, for whatever reason.
    pub undos: u32,
    /// Of these, retransmission timeouts that F-RTO found spurious.
    pub frto_undos: u32,
    /// DSACK blocks received.
    pub dsacks: u32,
    /// DSACK blocks sent.
    pub dsacks_sent: u32,
    /// Segments that arrived with CE.
    pub ce_received: u64,
    /// ACKs that arrived with ECE and counted as congestion.
    pub ece_received: u64,
    /// Window reductions for ECE.
    pub cwrs: u32,
    /// ACKs sent because the delayed-ACK timer fired.
    pub delayed_acks: u32,
    /// Segments that arrived out of order.
    pub out_of_order: u64,
    /// Segments marked lost.
    pub lost: u64,
    /// Retransmissions that were themselves lost.
    pub lost_retransmits: u32,
    /// Zero-window probes.
    pub window_probes: u32,
    /// Times that the receiver took back what it had SACKed.
    pub reneged: u32,
    /// Segments dropped because of their timestamp (PAWS).
    pub paws_drops: u32,
    /// Times that the reordering degree was found larger than assumed.
    pub reorderings: u32,
}
