// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which messages meet which receives: those of one sender and tag, in order.

use alloc::format;
use alloc::vec::Vec;

use super::parse::Block;
use super::{Kind, Wrong};

/// A send or a receive: receiver, sender, tag, whether it is the receive, place in the block.
type End = (u32, u32, u64, bool, u32);

/// Numbers the channels that lead to each rank. Returns how many there are.
///
/// # Errors
/// [`Wrong`] for a message without a receive, a receive without a message, and one that is too short.
pub(super) fn assign(blocks: &mut [Block]) -> Result<Vec<u32>, Wrong> {
    let mut ends: Vec<End> = Vec::new();
    for (rank, block) in (0..).zip(&*blocks) {
        for ((place, op), &tag) in (0..).zip(&block.ops).zip(&block.tags) {
            match op.kind {
                Kind::Calc => {}
                Kind::Send => ends.push((op.peer, rank, tag, false, place)),
                Kind::Recv => ends.push((rank, op.peer, tag, true, place)),
            }
        }
    }
    ends.sort_unstable();
    let mut counts = alloc::vec![0; blocks.len()];
    for channel in ends.chunk_by(|a, b| (a.0, a.1, a.2) == (b.0, b.1, b.2)) {
        let (to, from, ..) = channel[0];
        let number = counts[to as usize];
        counts[to as usize] += 1;
        let (sends, receives) = channel.split_at(channel.partition_point(|end| !end.3));
        check(blocks, sends, receives)?;
        for &(.., is_receive, place) in channel {
            let rank = if is_receive { to } else { from };
            blocks[rank as usize].ops[place as usize].channel = number;
        }
    }
    Ok(counts)
}

fn check(blocks: &[Block], sends: &[End], receives: &[End]) -> Result<(), Wrong> {
    let line = |rank: u32, place: u32| blocks[rank as usize].lines[place as usize];
    let amount = |rank: u32, place: u32| blocks[rank as usize].ops[place as usize].amount;
    for (send, receive) in sends.iter().zip(receives) {
        let &(to, from, .., place) = send;
        let (sent, taken) = (amount(from, place), amount(to, receive.4));
        if taken < sent {
            let why = format!(
                "rank {to} receives {taken} bytes here, but the message has {sent}: line {}",
                line(from, place)
            );
            return Err(Wrong {
                line: line(to, receive.4),
                why,
            });
        }
    }
    if let Some(&(to, from, tag, _, place)) = sends.get(receives.len()) {
        return Err(Wrong {
            line: line(from, place),
            why: format!("rank {to} never receives this message of rank {from} with tag {tag}"),
        });
    }
    if let Some(&(to, from, tag, _, place)) = receives.get(sends.len()) {
        return Err(Wrong {
            line: line(to, place),
            why: format!("rank {from} never sends this message to rank {to} with tag {tag}"),
        });
    }
    Ok(())
}
