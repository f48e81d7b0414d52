// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP segments as the endpoint sees them: header fields and the length of the payload.

use core::fmt::{self, Write};

use crate::options::RareOptions;
use crate::tdn_option::TdnOption;

/// The flag bits of a TCP header, with the values that they have on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(0x10);
    /// ECN echo (RFC 3168); circuit state in reTCP.
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);

    /// Whether all bits of `other` are set.
    #[inline]
    #[must_use]
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// As tcpdump prints them: `S.` is SYN with ACK, `E` ECE, `W` CWR.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const LETTERS: [(Flags, char); 7] = [
            (Flags::FIN, 'F'),
            (Flags::SYN, 'S'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::ACK, '.'),
        ];
        for (flag, letter) in LETTERS {
            if self.contains(flag) {
                f.write_char(letter)?;
            }
        }
        Ok(())
    }
}

impl core::ops::BitOr for Flags {
    type Output = Flags;
    #[inline]
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

impl core::ops::BitOrAssign for Flags {
    #[inline]
    fn bitor_assign(&mut self, other: Flags) {
        self.0 |= other.0;
    }
}

/// One TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte of payload (or of SYN).
    pub seq: u32,
    /// Acknowledgement number, valid with [`Flags::ACK`].
    pub ack: u32,
    /// Window field in bytes as carried on the wire, i.e. not yet scaled.
    pub window: u16,
    /// Payload in bytes.
    pub len: u16,
    /// Flag bits.
    pub flags: Flags,
    /// The segment is sent in an ECN-capable IP packet (ECT(0)).
    pub ect: bool,
    /// Its IP packet was marked on its way (CE).
    pub ce: bool,
    /// TDTCP's option, if it is present.
    pub tdn: Option<TdnOption>,
    /// Timestamp value and echo reply (RFC 7323), if the option is present.
    pub timestamps: Option<(u32, u32)>,
    /// Options that few segments have. Of SACK blocks a first one at or below `ack` is a DSACK (RFC 2883).
    pub rare: RareOptions,
}

impl Segment {
    /// Length of the TCP header on the wire in bytes, options padded as Linux pads them.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> u32 {
        let mut options = if self.timestamps.is_some() { 12 } else { 0 };
        // One question for nearly all segments.
        if self.tdn.is_some() | !self.rare.is_empty() {
            options += self.len_of_others();
        }
        20 + options
    }

    /// Length of options beside timestamps.
    #[inline(never)]
    fn len_of_others(&self) -> u32 {
        let mut options = 0;
        if self.flags.contains(Flags::SYN) {
            options += self.len_of_syn_options();
        }
        if let Some(tdn) = &self.tdn {
            options += tdn.wire_len();
        }
        if let Some(mptcp) = self.rare.mptcp() {
            let has = |flag| self.flags.contains(flag);
            options += mptcp.wire_len(has(Flags::SYN), has(Flags::ACK));
        }
        if !self.rare.blocks().is_empty() {
            options += 4 + 8 * self.rare.blocks().len() as u32;
        }
        options
    }

    /// Length of options that only a SYN has: beside timestamps, 'SACK permitted' needs no padding.
    #[cold]
    fn len_of_syn_options(&self) -> u32 {
        let syn = self.rare.syn();
        let sack_permitted = syn.sack_permitted && self.timestamps.is_none();
        let present = [syn.mss != 0, syn.window_scale.is_some(), sack_permitted];
        4 * present.map(u32::from).iter().sum::<u32>()
    }

    /// Sequence space that the segment takes: payload, SYN and FIN.
    #[inline]
    #[must_use]
    pub const fn seq_len(&self) -> u32 {
        self.len as u32
            + self.flags.contains(Flags::SYN) as u32
            + self.flags.contains(Flags::FIN) as u32
    }
}

/// As tcpdump prints it, with absolute sequence numbers and the window as it is on the wire.
impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Flags [{}], seq {}", self.flags, self.seq)?;
        if self.len > 0 {
            write!(f, ":{}", self.seq.wrapping_add(u32::from(self.len)))?;
        }
        if self.flags.contains(Flags::ACK) {
            write!(f, ", ack {}", self.ack)?;
        }
        write!(f, ", win {}", self.window)?;
        let mut options = Vec::new();
        let syn = self.rare.syn();
        if syn.mss > 0 {
            options.push(format!("mss {}", syn.mss));
        }
        if syn.sack_permitted {
            options.push("sackOK".to_owned());
        }
        if let Some((value, echo)) = self.timestamps {
            options.push(format!("TS val {value} ecr {echo}"));
        }
        if let Some(shift) = syn.window_scale {
            options.push(format!("wscale {shift}"));
        }
        if let Some(TdnOption::Capable(tdns)) = self.tdn {
            options.push(format!("tdns {tdns}"));
        }
        if let Some(TdnOption::DataAck(tdns)) = self.tdn {
            let names = [("data", tdns.data), ("ack", tdns.ack)];
            let names = names.map(|(name, tdn)| tdn.map(|tdn| format!("{name} {tdn}")));
            let names: Vec<String> = names.into_iter().flatten().collect();
            options.push(format!("tdn {}", names.join(" ")));
        }
        if let Some(option) = self.rare.mptcp() {
            options.push(format!("mptcp {option}"));
        }
        let blocks = self.rare.blocks();
        if !blocks.is_empty() {
            let ranges = blocks.iter().map(|b| format!("{{{}:{}}}", b.0, b.1));
            let ranges: String = ranges.collect();
            options.push(format!("sack {} {ranges}", blocks.len()));
        }
        if !options.is_empty() {
            write!(f, ", options [{}]", options.join(","))?;
        }
        write!(f, ", length {}", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SynOptions;
    use crate::tdn_option::TdDataAck;

    #[test]
    fn segments_are_printed_as_tcpdump_does() {
        let syn = Segment {
            seq: 7,
            window: 65_535,
            flags: Flags::SYN | Flags::ECE | Flags::CWR,
            timestamps: Some((1, 0)),
            rare: SynOptions {
                mss: 8960,
                window_scale: Some(6),
                sack_permitted: true,
            }
            .into(),
            ..Segment::default()
        };
        assert_eq!(
            syn.to_string(),
            "Flags [SEW], seq 7, win 65535, options [mss 8960,sackOK,TS val 1 ecr 0,wscale 6], length 0"
        );
        let mut data = Segment {
            seq: u32::MAX,
            ack: 10,
            len: 3,
            flags: Flags::ACK | Flags::PSH,
            ..Segment::default()
        };
        assert_eq!(
            data.to_string(),
            "Flags [P.], seq 4294967295:2, ack 10, win 0, length 3"
        );
        data.tdn = Some(TdnOption::DataAck(TdDataAck {
            data: Some(1),
            ack: Some(0),
        }));
        assert!(data.to_string().contains("options [tdn data 1 ack 0], "));
        data.tdn = None;
        data.rare.push(20, 30);
        data.rare.push(40, 50);
        assert!(
            data.to_string()
                .contains(", options [sack 2 {20:30}{40:50}], ")
        );
    }
}
