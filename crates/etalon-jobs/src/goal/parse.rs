// SPDX-License-Identifier: MIT OR Apache-2.0
//! The text of a trace, line by line.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! l1: calc 100 cpu 0
//! l2: send 10b to 1 tag 4 cpu 0 nic 0
//! l2 requires l1
//! }
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::graph::Op;
use super::labels::Labels;
use super::rehearse::rehearse;
use super::{Graph, Kind, Trace, Wrong, channels};
use crate::words::{Words, shown};

/// Ranks of a trace.
const MOST_RANKS: u64 = etalon_scenario::MOST_RANKS as u64;
/// Bytes of a line.
const LONGEST_LINE: usize = 4096;
/// Operations of a rank: their numbers are doubled, and one bit more is added.
const MOST_OPERATIONS: usize = 1 << 30;
/// Bytes of a message, or ns of a computation.
const LARGEST: u64 = 1 << 50;

/// Reads a trace piece by piece.
#[derive(Debug, Default)]
pub struct Parser {
    line: u64,
    /// The beginning of a line that has not ended.
    rest: Vec<u8>,
    blocks: Vec<Option<Block>>,
    /// The rank whose block is open.
    open: Option<(u32, Block)>,
    labels: Labels,
    /// Dependencies on labels that come later: line, label, operation that follows, or the one that comes first.
    late: Vec<(u64, Vec<u8>, Vec<u8>, bool)>,
}

/// What stands in a rank's block.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) ops: Vec<Op>,
    pub(super) tags: Vec<u64>,
    /// Where each operation stands.
    pub(super) lines: Vec<u64>,
    /// Which comes first, and which follows, doubled; one more if it waits for the start only.
    edges: Vec<(u32, u32)>,
}

type Told<T> = Result<T, String>;

impl Parser {
    /// Takes the next piece of the file.
    ///
    /// # Errors
    /// [`Wrong`] for the first line that is no GOAL.
    pub fn feed(&mut self, mut piece: &[u8]) -> Result<(), Wrong> {
        while let Some(end) = piece.iter().position(|&byte| byte == b'\n') {
            let (line, rest) = (&piece[..end], &piece[end + 1..]);
            if self.rest.is_empty() {
                self.take(line)?;
            } else {
                let mut whole = core::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.take(&whole)?;
            }
            piece = rest;
        }
        self.rest.extend_from_slice(piece);
        if self.rest.len() > LONGEST_LINE {
            self.line += 1;
            return Err(self.wrong(format!("a line has at most {LONGEST_LINE} bytes")));
        }
        Ok(())
    }

    /// The file is over.
    ///
    /// # Errors
    /// [`Wrong`] if something is missing, a message has no receive, a receive no message, or ranks wait for each other.
    pub fn finish(mut self) -> Result<Trace, Wrong> {
        if !self.rest.is_empty() {
            let rest = core::mem::take(&mut self.rest);
            self.take(&rest)?;
        }
        if let Some((rank, _)) = self.open {
            return Err(self.wrong(format!("the block of rank {rank} has no end, \"}}\"")));
        }
        let whole = |why| Err(Wrong { line: 0, why });
        if self.blocks.is_empty() {
            return whole(String::from("begins with a line like \"num_ranks 16\""));
        }
        let mut blocks = Vec::new();
        for (rank, block) in self.blocks.into_iter().enumerate() {
            match block {
                Some(block) => blocks.push(block),
                None => return whole(format!("has no block \"rank {rank} {{\"")),
            }
        }
        if blocks.iter().all(|block| block.ops.is_empty()) {
            return whole(String::from("holds no operation"));
        }
        let counts = channels::assign(&mut blocks)?;
        let mut lines = Vec::new();
        let mut ranks = Vec::new();
        for (block, channels) in blocks.into_iter().zip(counts) {
            lines.push(block.lines);
            ranks.push(Graph::new(block.ops, &block.edges, channels));
        }
        rehearse(&ranks, |rank, op| lines[rank as usize][op as usize])?;
        Ok(Trace { ranks })
    }

    fn wrong(&self, why: String) -> Wrong {
        Wrong {
            line: self.line,
            why,
        }
    }

    fn take(&mut self, line: &[u8]) -> Result<(), Wrong> {
        self.line += 1;
        if line.len() > LONGEST_LINE {
            return Err(self.wrong(format!("a line has at most {LONGEST_LINE} bytes")));
        }
        self.read(line).map_err(|why| self.wrong(why))
    }

    fn read(&mut self, line: &[u8]) -> Told<()> {
        let mut words = Words::new(line);
        let Some(first) = words.next() else {
            return Ok(());
        };
        if self.open.is_none() {
            return self.outside(first, &mut words);
        }
        if first == b"}" {
            words.end()?;
            return self.close();
        }
        let (label, word) = match first.strip_suffix(b":") {
            Some(label) => (Some(label), words.next().unwrap_or(b"")),
            None => (None, first),
        };
        let kind = match word {
            b"calc" => Kind::Calc,
            b"send" => Kind::Send,
            b"recv" => Kind::Recv,
            _ if label.is_none() => return self.dependency(first, &mut words),
            _ => {
                return Err(format!(
                    "{} is no operation: there are send, recv and calc",
                    shown(word)
                ));
            }
        };
        self.operation(label, kind, &mut words)
    }

    /// A line between blocks.
    fn outside(&mut self, first: &[u8], words: &mut Words<'_>) -> Told<()> {
        match first {
            b"num_ranks" if self.blocks.is_empty() => {
                let ranks = words.number("num_ranks", 2..=MOST_RANKS)?;
                self.blocks.resize_with(ranks as usize, || None);
                words.end()
            }
            b"num_ranks" => Err(String::from("the number of ranks is given already")),
            b"rank" if self.blocks.is_empty() => Err(String::from(
                "a line like \"num_ranks 16\" comes before the first block",
            )),
            b"rank" => {
                let most = self.blocks.len() as u64 - 1;
                let rank = words.number("rank", 0..=most)?;
                words.expect(b"{")?;
                words.end()?;
                if self.blocks[rank as usize].is_some() {
                    return Err(format!("rank {rank} has a block already"));
                }
                self.open = Some((rank as u32, Block::default()));
                Ok(())
            }
            _ => Err(format!(
                "{} stands outside of a block: there are lines \"num_ranks N\" and \"rank N {{\"",
                shown(first)
            )),
        }
    }

    fn operation(&mut self, label: Option<&[u8]>, kind: Kind, words: &mut Words<'_>) -> Told<()> {
        let ranks = self.blocks.len() as u64;
        let Some((rank, block)) = &mut self.open else {
            return Ok(());
        };
        let op = block.ops.len();
        if op >= MOST_OPERATIONS {
            return Err(format!("a rank has at most {MOST_OPERATIONS} operations"));
        }
        if let Some(label) = label {
            if !self.labels.add(label, op as u32) {
                return Err(format!("the label {} is there already", shown(label)));
            }
        }
        let mut new = Op {
            kind,
            cpu: 0,
            peer: 0,
            channel: 0,
            amount: 0,
        };
        if kind == Kind::Calc {
            new.amount = words.number("calc", 0..=LARGEST)?;
        } else {
            // TCP carries no message without a byte.
            new.amount = words.bytes(LARGEST)?.max(1);
            let to = if kind == Kind::Send { "to" } else { "from" };
            words.expect(to.as_bytes())?;
            new.peer = words.number(to, 0..=ranks - 1)? as u32;
            if new.peer == *rank {
                return Err(format!("rank {rank} would send to itself"));
            }
        }
        let mut tag = 0;
        while let Some(word) = words.next() {
            match word {
                b"tag" if kind != Kind::Calc => tag = words.number("tag", 0..=u64::MAX)?,
                b"cpu" => new.cpu = words.number("cpu", 0..=u64::from(u16::MAX))? as u16,
                b"nic" if kind != Kind::Calc => {
                    words.number("nic", 0..=u64::from(u16::MAX))?;
                }
                _ => return Err(format!("{} is no word of GOAL here", shown(word))),
            }
        }
        block.ops.push(new);
        block.tags.push(tag);
        block.lines.push(self.line);
        Ok(())
    }

    /// A line like "l2 requires l1".
    fn dependency(&mut self, after: &[u8], words: &mut Words<'_>) -> Told<()> {
        let of_start = match words.next() {
            Some(b"requires") => false,
            Some(b"irequires") => true,
            _ => {
                return Err(format!(
                    "{} is no word of GOAL here: lines are like \"l1: send 10b to 1 tag 0\", \"l1: recv 10b from 1\", \
                     \"l1: calc 100\", \"l2 requires l1\" or \"l2 irequires l1\"",
                    shown(after)
                ));
            }
        };
        let before = words.next().unwrap_or(b"");
        words.end()?;
        match (self.labels.get(after), self.labels.get(before)) {
            (Some(after), Some(before)) => self.edge(before, after, of_start),
            _ => self
                .late
                .push((self.line, after.into(), before.into(), of_start)),
        }
        Ok(())
    }

    fn edge(&mut self, before: u32, after: u32, of_start: bool) {
        if let Some((_, block)) = &mut self.open {
            block.edges.push((before, 2 * after + u32::from(of_start)));
        }
    }

    /// The end of a block.
    fn close(&mut self) -> Told<()> {
        for (line, after, before, of_start) in core::mem::take(&mut self.late) {
            let found = [&after, &before].map(|label| self.labels.get(label).ok_or(label));
            match found {
                [Ok(after), Ok(before)] => self.edge(before, after, of_start),
                [Err(label), _] | [_, Err(label)] => {
                    self.line = line;
                    return Err(format!("there is no label {} in this block", shown(label)));
                }
            }
        }
        self.labels.clear();
        if let Some((rank, block)) = self.open.take() {
            self.blocks[rank as usize] = Some(block);
        }
        Ok(())
    }
}
