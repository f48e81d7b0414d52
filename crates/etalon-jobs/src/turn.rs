// SPDX-License-Identifier: MIT OR Apache-2.0
//! What one rank does in one step.

use alloc::vec::Vec;

use crate::sizes::Sizes;

/// A message that a rank sends or receives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The rank at its other end.
    pub peer: u32,
    /// Its length.
    pub bytes: u64,
    /// The receiver adds what comes to what it has, instead of putting it in its place.
    pub combines: bool,
    /// The pieces in it, if they are followed.
    pub pieces: Vec<u32>,
}

/// The messages of one rank in one step, filled by an [`Algorithm`](crate::Algorithm). Of a message without bytes nothing is
/// said.
#[derive(Debug)]
pub struct Turn<'a> {
    sizes: &'a Sizes,
    follows: bool,
    /// What the rank sends.
    pub sends: Vec<Message>,
    /// What it waits for.
    pub receives: Vec<Message>,
}

impl<'a> Turn<'a> {
    /// A turn without messages; `follows` keeps their pieces.
    #[must_use]
    pub fn new(sizes: &'a Sizes, follows: bool) -> Turn<'a> {
        Turn {
            sizes,
            follows,
            sends: Vec::new(),
            receives: Vec::new(),
        }
    }

    /// The rank sends some pieces to another.
    pub fn send(&mut self, to: u32, pieces: impl Iterator<Item = u32>) {
        let message = self.message(to, pieces, false);
        self.sends.extend(message);
    }

    /// It receives pieces, which take the place of what it has.
    pub fn receive(&mut self, from: u32, pieces: impl Iterator<Item = u32>) {
        let message = self.message(from, pieces, false);
        self.receives.extend(message);
    }

    /// It receives pieces, and adds them to what it has.
    pub fn combine(&mut self, from: u32, pieces: impl Iterator<Item = u32>) {
        let message = self.message(from, pieces, true);
        self.receives.extend(message);
    }

    fn message(
        &self,
        peer: u32,
        pieces: impl Iterator<Item = u32>,
        combines: bool,
    ) -> Option<Message> {
        let mut message = Message {
            peer,
            bytes: 0,
            combines,
            pieces: Vec::new(),
        };
        for piece in pieces {
            message.bytes += self.sizes.piece(piece);
            if self.follows {
                message.pieces.push(piece);
            }
        }
        (message.bytes > 0).then_some(message)
    }

    /// The same backwards in time: what was sent is received, and added.
    pub(crate) fn reverse(&mut self) {
        core::mem::swap(&mut self.sends, &mut self.receives);
        for message in &mut self.receives {
            message.combines = true;
        }
    }

    /// Whether the rank has nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sends.is_empty() && self.receives.is_empty()
    }
}
