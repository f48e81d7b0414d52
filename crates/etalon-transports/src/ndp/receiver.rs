// SPDX-License-Identifier: MIT OR Apache-2.0
//! The receiving end of a flow.

use super::arrived::Arrived;
use super::config::{Config, Pulls};
use super::header::{Header, Kind};
use super::puller::{Puller, Turn};

/// The receiving end of a flow.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    arrived: Arrived,
    /// The number of the last packet plus one, once that is known.
    total: Option<u32>,
    bytes: u64,
    /// Pulls that were sent, and that wait.
    pulled: u32,
    waiting: u32,
    /// It waits for its turn at its puller.
    in_turn: bool,
}

impl Receiver {
    /// A receiver that has heard of nothing yet.
    #[must_use]
    pub fn new() -> Receiver {
        Receiver::default()
    }

    /// Payload that has arrived, in bytes, each byte counted once.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether all has arrived.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.total == Some(self.arrived.next())
    }

    /// A packet of data arrives, whole or `trimmed`. Returns the answer, which leaves at once; it pulls too if `puller`, who knows this
    /// receiver as `me`, has nothing else to do. Else a pull comes later.
    pub fn on_data<F: Copy>(
        &mut self,
        now: u64,
        (packet, trimmed): (&Header, bool),
        config: &Config,
        (puller, me): (&mut Puller<F>, F),
    ) -> Header {
        if packet.last {
            self.total = Some(packet.seq + 1);
        }
        if !trimmed && self.arrived.insert(packet.seq) {
            self.bytes += u64::from(packet.len);
        }
        let wanted = self.wanted(config.pulls);
        if self.waiting >= wanted {
            self.waiting = wanted;
        } else if puller.try_at_once(now) {
            self.pulled += 1;
        } else {
            self.waiting += 1;
            if !self.in_turn {
                self.in_turn = true;
                puller.wait(me);
            }
        }
        let kind = if trimmed { Kind::Nack } else { Kind::Ack };
        self.says(kind, packet.seq)
    }

    /// How many pulls may wait.
    fn wanted(&self, pulls: Pulls) -> u32 {
        match self.total {
            Some(total) if pulls == Pulls::Needed || self.is_complete() => {
                total - self.arrived.count().min(total)
            }
            _ => u32::MAX,
        }
    }

    /// Its turn at its puller has come.
    pub fn on_turn(&mut self) -> Turn<Header> {
        self.in_turn = false;
        if self.waiting == 0 {
            return Turn::Leaves;
        }
        self.waiting -= 1;
        self.pulled += 1;
        let pull = self.says(Kind::Pull, 0);
        self.in_turn = self.waiting > 0;
        match self.in_turn {
            true => Turn::More(pull),
            false => Turn::Last(pull),
        }
    }

    fn says(&self, kind: Kind, seq: u32) -> Header {
        Header {
            kind,
            seq,
            cumulative: self.arrived.next(),
            pull: self.pulled,
            promised: self.pulled + self.waiting,
            ..Header::default()
        }
    }
}
