// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options that few segments have: a SYN's, SACK blocks, and MPTCP's. They take memory of their own where there are any, so that the many segments
//! without them are small. Blocks and MPTCP's option share their memory, as they share the 40 bytes that a header has for options: where
//! MPTCP's says much, fewer blocks go with it.

use core::fmt;

use crate::mptcp::{Dss, Mapping, MptcpOption};

/// What a SYN offers, beside timestamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// MSS in bytes (0 if absent).
    pub mss: u16,
    /// Window scale shift, if offered.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
}

/// Which of MPTCP's options is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    #[default]
    None,
    Capable,
    Join,
    /// DSS without a mapping.
    DataAck,
    /// DSS with one.
    Mapping,
    /// MP_CAPABLE with one.
    Opening,
}

impl Kind {
    /// Places that it takes of those for blocks, from the end.
    const fn places(self) -> usize {
        match self {
            Kind::None | Kind::Capable => 0,
            Kind::Join | Kind::DataAck => 1,
            Kind::Mapping | Kind::Opening => 3,
        }
    }
}

/// A SYN's options; up to four SACK blocks (RFC 2018), most recent first; and MPTCP's option. With timestamps on, three blocks fit on the
/// wire; beside MPTCP's option as many fit as on the wire without timestamps: three, one beside a mapping, four beside MP_CAPABLE.
#[derive(Clone, Default)]
pub struct RareOptions(Option<Box<Present>>);

/// Those of a segment that has any.
#[derive(Clone, Copy, Default)]
struct Present {
    places: [(u32, u32); MOST_BLOCKS],
    syn: SynOptions,
    blocks: u8,
    kind: Kind,
}

const MOST_BLOCKS: usize = 4;

/// What is kept beside a mapping's length.
const ENDS: u32 = 1 << 16;
const LONG_ACK: u32 = 1 << 17;

impl RareOptions {
    /// None of them.
    pub(crate) const NONE: RareOptions = RareOptions(None);

    /// Appends the block from `start` up to, not including, `end`; ignored when full.
    pub fn push(&mut self, start: u32, end: u32) {
        let present = self.present();
        let most = MOST_BLOCKS - present.kind.places();
        if let Some(slot) = present.places[..most].get_mut(usize::from(present.blocks)) {
            *slot = (start, end);
            present.blocks += 1;
        }
    }

    /// Has these blocks instead of those before, as many as there is room for.
    #[inline]
    pub(crate) fn report(&mut self, blocks: impl Iterator<Item = (u32, u32)>) {
        let present = self.present();
        let most = MOST_BLOCKS - present.kind.places();
        present.blocks = 0;
        for (place, block) in present.places[..most].iter_mut().zip(blocks) {
            *place = block;
            present.blocks += 1;
        }
    }

    fn present(&mut self) -> &mut Present {
        self.0.get_or_insert_default()
    }

    /// Keeps the first blocks, at most so many.
    pub(crate) fn truncate(&mut self, most: usize) {
        if let Some(present) = &mut self.0 {
            present.blocks = present.blocks.min(most as u8);
        }
    }

    /// Removes all blocks.
    pub fn clear_blocks(&mut self) {
        self.truncate(0);
    }

    /// The blocks.
    #[inline]
    #[must_use]
    pub fn blocks(&self) -> &[(u32, u32)] {
        match &self.0 {
            Some(present) => &present.places[..usize::from(present.blocks)],
            None => &[],
        }
    }

    /// Removes all, and takes their memory for others.
    #[must_use]
    pub fn take_memory(&mut self) -> RareOptions {
        let mut memory = self.0.take();
        if let Some(present) = &mut memory {
            (present.syn, present.blocks, present.kind) = Default::default();
        }
        RareOptions(memory)
    }

    /// Whether there are none, and no memory for any.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// A SYN's options.
    #[must_use]
    pub fn syn(&self) -> SynOptions {
        self.0.as_ref().map_or_else(SynOptions::default, |p| p.syn)
    }

    /// Sets a SYN's options.
    pub fn set_syn(&mut self, syn: SynOptions) {
        self.present().syn = syn;
    }

    /// MPTCP's option, if it is present.
    #[inline]
    #[must_use]
    pub fn mptcp(&self) -> Option<MptcpOption> {
        let present = self.0.as_ref().filter(|p| p.kind != Kind::None);
        present.map(|present| present.mptcp())
    }

    /// Sets MPTCP's option. Blocks for which it leaves no room are lost, the last first.
    #[cold]
    pub fn set_mptcp(&mut self, option: Option<MptcpOption>) {
        if option.is_some() || !self.is_empty() {
            self.present().set_mptcp(option);
        }
    }
}

impl Present {
    #[cold]
    fn mptcp(&self) -> MptcpOption {
        let [_, (subflow_seq, len), data_seq, last] = self.places;
        let mapping = Mapping {
            data_seq: joined(data_seq),
            subflow_seq,
            len: len as u16,
        };
        let says = |what| self.kind != Kind::DataAck && len & what != 0;
        match self.kind {
            Kind::None | Kind::Capable => MptcpOption::Capable,
            Kind::Join => MptcpOption::Join(last.0 as u8),
            Kind::DataAck | Kind::Mapping | Kind::Opening => MptcpOption::Dss(Dss {
                data_ack: joined(last),
                mapping: (self.kind != Kind::DataAck).then_some(mapping),
                opens: self.kind == Kind::Opening,
                ends: says(ENDS),
                long_ack: says(LONG_ACK),
            }),
        }
    }

    fn set_mptcp(&mut self, option: Option<MptcpOption>) {
        self.kind = match option {
            None => Kind::None,
            Some(MptcpOption::Capable) => Kind::Capable,
            Some(MptcpOption::Join(_)) => Kind::Join,
            Some(MptcpOption::Dss(dss)) if dss.mapping.is_none() => Kind::DataAck,
            Some(MptcpOption::Dss(dss)) if dss.opens => Kind::Opening,
            Some(MptcpOption::Dss(_)) => Kind::Mapping,
        };
        let most = MOST_BLOCKS - self.kind.places();
        self.blocks = self.blocks.min(most as u8);
        match option {
            Some(MptcpOption::Join(id)) => self.places[3].0 = id.into(),
            Some(MptcpOption::Dss(dss)) => {
                self.places[3] = split(dss.data_ack);
                if let Some(mapping) = dss.mapping {
                    self.places[2] = split(mapping.data_seq);
                    let ends = u32::from(dss.ends) * ENDS;
                    let long_ack = u32::from(dss.long_ack) * LONG_ACK;
                    let len = u32::from(mapping.len) | ends | long_ack;
                    self.places[1] = (mapping.subflow_seq, len);
                }
            }
            None | Some(MptcpOption::Capable) => {}
        }
    }
}

impl From<SynOptions> for RareOptions {
    fn from(syn: SynOptions) -> RareOptions {
        let mut options = RareOptions::NONE;
        options.set_syn(syn);
        options
    }
}

impl PartialEq for RareOptions {
    fn eq(&self, other: &RareOptions) -> bool {
        let all = |options: &RareOptions| (options.syn(), options.mptcp());
        self.blocks() == other.blocks() && all(self) == all(other)
    }
}

impl Eq for RareOptions {}

impl fmt::Debug for RareOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RareOptions");
        shown.field("syn", &self.syn());
        shown.field("blocks", &self.blocks());
        shown.field("mptcp", &self.mptcp()).finish()
    }
}

/// The halves of a number of 64 bits.
const fn split(number: u64) -> (u32, u32) {
    ((number >> 32) as u32, number as u32)
}

const fn joined((high, low): (u32, u32)) -> u64 {
    (high as u64) << 32 | low as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mptcp_leaves_is_for_blocks() {
        let mapping = Mapping {
            data_seq: 1 << 40 | 7,
            subflow_seq: u32::MAX,
            len: u16::MAX,
        };
        let dss = |mapping, opens| {
            MptcpOption::Dss(Dss {
                data_ack: u64::MAX - 1,
                mapping,
                opens,
                ..Dss::default()
            })
        };
        let ending = |ends, long_ack| match dss(Some(mapping), false) {
            MptcpOption::Dss(dss) => MptcpOption::Dss(Dss {
                ends,
                long_ack,
                ..dss
            }),
            other => other,
        };
        for (option, room) in [
            (None, 4),
            (Some(MptcpOption::Capable), 4),
            (Some(MptcpOption::Join(255)), 3),
            (Some(dss(None, false)), 3),
            (Some(dss(Some(mapping), false)), 1),
            (Some(dss(Some(mapping), true)), 1),
            (Some(ending(true, false)), 1),
            (Some(ending(false, true)), 1),
        ] {
            let blocks = [(1, 2), (3, 4), (5, 6), (7, 8)];
            let (mut before, mut after) = (RareOptions::default(), RareOptions::default());
            after.set_mptcp(option);
            for (start, end) in blocks {
                before.push(start, end);
                after.push(start, end);
            }
            before.push(9, 10);
            before.set_mptcp(option);
            assert_eq!((after.mptcp(), after.blocks()), (option, &blocks[..room]));
            assert_eq!(
                (&before, before.is_empty()),
                (&after, option.is_none() && room == 0)
            );
            let emptied = before.take_memory();
            assert_eq!((&emptied, emptied.is_empty()), (&RareOptions::NONE, false));
            assert_eq!((&before, before.is_empty()), (&RareOptions::NONE, true));
        }
    }
}
