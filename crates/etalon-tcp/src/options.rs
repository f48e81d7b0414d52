//! The options of a segment that take most room, SACK blocks and MPTCP's: in the same memory, as they share the 40 bytes that a header has
//! for options. Where MPTCP's option says much, fewer blocks go with it.

use crate::mptcp::{Dss, Mapping, MptcpOption};

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
}

impl Kind {
    /// Places that it takes of those for blocks, from the end.
    const fn places(self) -> usize {
        match self {
            Kind::None | Kind::Capable => 0,
            Kind::Join | Kind::DataAck => 1,
            Kind::Mapping => 3,
        }
    }
}

/// Up to four SACK blocks (RFC 2018), most recent first, and MPTCP's option. With timestamps on, three blocks fit on the wire; beside MPTCP's
/// option as many fit as on the wire without timestamps: three, one beside a mapping, four beside MP_CAPABLE.
#[derive(Clone, Copy, Debug, Default)]
pub struct LongOptions {
    places: [(u32, u32); MOST_BLOCKS],
    blocks: u8,
    kind: Kind,
}

const MOST_BLOCKS: usize = 4;

impl PartialEq for LongOptions {
    fn eq(&self, other: &LongOptions) -> bool {
        (self.blocks(), self.mptcp()) == (other.blocks(), other.mptcp())
    }
}

impl Eq for LongOptions {}

impl LongOptions {
    /// Appends the block from `start` up to, not including, `end`; ignored when full.
    pub fn push(&mut self, start: u32, end: u32) {
        let most = MOST_BLOCKS - self.kind.places();
        if let Some(slot) = self.places[..most].get_mut(usize::from(self.blocks)) {
            *slot = (start, end);
            self.blocks += 1;
        }
    }

    /// Keeps the first blocks, at most so many.
    pub(crate) fn truncate(&mut self, most: usize) {
        self.blocks = self.blocks.min(most as u8);
    }

    /// Removes all blocks.
    #[inline]
    pub fn clear_blocks(&mut self) {
        self.blocks = 0;
    }

    /// The blocks.
    #[inline]
    #[must_use]
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.places[..usize::from(self.blocks)]
    }

    /// Removes all blocks, and MPTCP's option.
    #[inline]
    pub(crate) fn clear(&mut self) {
        (self.blocks, self.kind) = (0, Kind::None);
    }

    /// Whether there are neither blocks nor MPTCP's option.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.blocks as u32 | self.kind as u32 == 0
    }

    /// MPTCP's option, if it is present.
    #[inline]
    #[must_use]
    pub fn mptcp(&self) -> Option<MptcpOption> {
        if self.kind == Kind::None {
            return None;
        }
        Some(self.read())
    }

    #[cold]
    fn read(&self) -> MptcpOption {
        let [_, (subflow_seq, len), data_seq, last] = self.places;
        let mapping = Mapping {
            data_seq: joined(data_seq),
            subflow_seq,
            len: len as u16,
        };
        match self.kind {
            Kind::None | Kind::Capable => MptcpOption::Capable,
            Kind::Join => MptcpOption::Join(last.0 as u8),
            Kind::DataAck | Kind::Mapping => MptcpOption::Dss(Dss {
                data_ack: joined(last),
                mapping: (self.kind == Kind::Mapping).then_some(mapping),
            }),
        }
    }

    /// Sets MPTCP's option. Blocks for which it leaves no room are lost, the last first.
    #[cold]
    pub fn set_mptcp(&mut self, option: Option<MptcpOption>) {
        self.kind = match option {
            None => Kind::None,
            Some(MptcpOption::Capable) => Kind::Capable,
            Some(MptcpOption::Join(_)) => Kind::Join,
            Some(MptcpOption::Dss(dss)) if dss.mapping.is_none() => Kind::DataAck,
            Some(MptcpOption::Dss(_)) => Kind::Mapping,
        };
        self.truncate(MOST_BLOCKS - self.kind.places());
        match option {
            Some(MptcpOption::Join(id)) => self.places[3].0 = id.into(),
            Some(MptcpOption::Dss(dss)) => {
                self.places[3] = split(dss.data_ack);
                if let Some(mapping) = dss.mapping {
                    self.places[2] = split(mapping.data_seq);
                    self.places[1] = (mapping.subflow_seq, mapping.len.into());
                }
            }
            None | Some(MptcpOption::Capable) => {}
        }
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
        let dss = |mapping| {
            MptcpOption::Dss(Dss {
                data_ack: u64::MAX - 1,
                mapping,
            })
        };
        let mapping = Mapping {
            data_seq: 1 << 40 | 7,
            subflow_seq: u32::MAX,
            len: u16::MAX,
        };
        for (option, room) in [
            (None, 4),
            (Some(MptcpOption::Capable), 4),
            (Some(MptcpOption::Join(255)), 3),
            (Some(dss(None)), 3),
            (Some(dss(Some(mapping))), 1),
        ] {
            let blocks = [(1, 2), (3, 4), (5, 6), (7, 8)];
            let (mut before, mut after) = (LongOptions::default(), LongOptions::default());
            after.set_mptcp(option);
            for (start, end) in blocks {
                before.push(start, end);
                after.push(start, end);
            }
            before.push(9, 10);
            before.set_mptcp(option);
            assert_eq!((after.mptcp(), after.blocks()), (option, &blocks[..room]));
            assert_eq!((before, before.is_empty()), (after, false));
            before.clear();
            assert_eq!((before, before.is_empty()), (LongOptions::default(), true));
        }
    }
}
