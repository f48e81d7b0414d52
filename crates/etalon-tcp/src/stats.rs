// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a connection counts.

use crate::rare::Fresh;

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
    /// Pure ACKs sent.
    pub acks_sent: u64,
    /// Retransmissions, those of SYNs and probes included.
    pub retransmits: u64,
    /// Times that fast recovery was entered.
    pub recoveries: u32,
    /// Retransmission timeouts, those of SYNs included.
    pub rtos: u32,
    /// Tail loss probes.
    pub tlps: u32,
    /// Window reductions that were undone, for whatever reason; not those that ECE asked for, which stand though their losses were none.
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

/// The same as a connection keeps them. What happens to a half now and then is counted there, and takes memory once it has happened.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Segments with payload, and the others.
    pub data_segments_received: u64,
    pub others_received: u64,
    /// Pure ACKs, and SYNs, FINs and RSTs without payload.
    pub acks_sent: u64,
    pub others_sent: u64,
}

/// What happens to senders.
#[derive(Clone, Debug)]
pub(crate) struct OfSender {
    pub retransmits: u64,
    pub recoveries: u32,
    pub rtos: u32,
    pub tlps: u32,
    pub undos: u32,
    pub frto_undos: u32,
    pub dsacks: u32,
    pub ece_received: u64,
    pub cwrs: u32,
    pub lost: u64,
    pub lost_retransmits: u32,
    pub window_probes: u32,
    pub reneged: u32,
    pub reorderings: u32,
}

impl Fresh for OfSender {
    fn fresh() -> &'static OfSender {
        static ZERO: OfSender = OfSender {
            retransmits: 0,
            recoveries: 0,
            rtos: 0,
            tlps: 0,
            undos: 0,
            frto_undos: 0,
            dsacks: 0,
            ece_received: 0,
            cwrs: 0,
            lost: 0,
            lost_retransmits: 0,
            window_probes: 0,
            reneged: 0,
            reorderings: 0,
        };
        &ZERO
    }
}

/// What happens to receivers.
#[derive(Clone, Debug)]
pub(crate) struct OfReceiver {
    pub dsacks_sent: u32,
    pub ce_received: u64,
    pub delayed_acks: u32,
    pub out_of_order: u64,
    pub paws_drops: u32,
}

impl Fresh for OfReceiver {
    fn fresh() -> &'static OfReceiver {
        static ZERO: OfReceiver = OfReceiver {
            dsacks_sent: 0,
            ce_received: 0,
            delayed_acks: 0,
            out_of_order: 0,
            paws_drops: 0,
        };
        &ZERO
    }
}

impl Tally {
    pub fn segments_received(&self) -> u64 {
        self.data_segments_received + self.others_received
    }

    /// All counters, with those of the two halves.
    pub fn stats(
        &self,
        data_segments_sent: u64,
        sender: &OfSender,
        receiver: &OfReceiver,
    ) -> Stats {
        Stats {
            segments_sent: data_segments_sent + self.acks_sent + self.others_sent,
            segments_received: self.segments_received(),
            data_segments_sent,
            data_segments_received: self.data_segments_received,
            acks_sent: self.acks_sent,
            retransmits: sender.retransmits,
            recoveries: sender.recoveries,
            rtos: sender.rtos,
            tlps: sender.tlps,
            undos: sender.undos,
            frto_undos: sender.frto_undos,
            dsacks: sender.dsacks,
            dsacks_sent: receiver.dsacks_sent,
            ce_received: receiver.ce_received,
            ece_received: sender.ece_received,
            cwrs: sender.cwrs,
            delayed_acks: receiver.delayed_acks,
            out_of_order: receiver.out_of_order,
            lost: sender.lost,
            lost_retransmits: sender.lost_retransmits,
            window_probes: sender.window_probes,
            reneged: sender.reneged,
            paws_drops: receiver.paws_drops,
            reorderings: sender.reorderings,
        }
    }
}
