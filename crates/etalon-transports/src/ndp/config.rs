// SPDX-License-Identifier: MIT OR Apache-2.0
//! What all flows of NDP have in common.

/// Parameters of NDP. Defaults are the paper's, for links of 10 Gb/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Packets that a sender pushes unasked (30 in the paper).
    pub window: u32,
    /// Bytes of payload in a full packet.
    pub payload: u16,
    /// Bytes of a header on the wire: those of all packets without payload, and of trimmed ones.
    pub header: u16,
    /// A flow's last packet takes as many bytes on the wire as its others.
    pub padded: bool,
    /// Time between two pulls of a puller, in picoseconds: what a full packet takes on the receiver's link.
    pub spacing: u64,
    /// What entitles a flow to a pull.
    pub pulls: Pulls,
    /// A packet without any answer is sent again after this time in nanoseconds (1 ms in the paper); never, if none. It doubles
    /// each time, until an answer comes.
    pub timeout: Option<u64>,
    /// Once a flow has sent all of its packets for the first time, it sends trimmed ones again without being asked.
    pub resends_last: bool,
}

/// What entitles a flow to a pull.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pulls {
    /// Each packet that arrives; but once the receiver knows a flow's end, no more than are missing (as in the paper, pulls that are not
    /// needed are removed).
    #[default]
    Needed,
    /// Each packet that arrives, until the flow is complete; the sender forgets pulls for which it has nothing to send. A pull that
    /// overtakes a NACK is lost so, which only a timeout mends.
    Each,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            window: 30,
            payload: 1436,
            header: 64,
            padded: false,
            spacing: 1_200_000,
            pulls: Pulls::Needed,
            timeout: Some(1_000_000),
            resends_last: false,
        }
    }
}

impl Config {
    /// Number of packets that carry `bytes`.
    #[must_use]
    pub fn packets(&self, bytes: u64) -> u32 {
        let packets = bytes.div_ceil(u64::from(self.payload));
        u32::try_from(packets).unwrap_or(u32::MAX)
    }
}
