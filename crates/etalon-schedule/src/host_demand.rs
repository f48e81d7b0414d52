// SPDX-License-Identifier: MIT OR Apache-2.0
//! Demand as end hosts know it: streams, and what of them is outstanding.

use alloc::vec::Vec;

use etalon_scenario::Estimator;
use etalon_switch::Pair;
use etalon_units::{Span, Time};

use crate::demand::{Demand, DemandError};
use crate::ledger::Ledger;

/// What an application that writes as much as the network takes always has outstanding: as much as Linux lets a
/// socket's send buffer grow to, 4 MiB.
const SEND_BUFFER: u64 = 4 << 20;

/// An account of what streams have outstanding. A stream is the data that one endpoint of a connection sends.
#[derive(Clone, Debug)]
pub struct HostDemand {
    ledger: Ledger,
    /// What counts as carried: what left the network, or else what left a VOQ.
    when_delivered: bool,
    /// By stream: its application writes as much as the network takes.
    endless: Vec<bool>,
}

impl HostDemand {
    /// For a network of `racks` racks; none if its demand is not known from hosts.
    #[must_use]
    pub fn new(racks: u16, estimator: Estimator) -> Option<HostDemand> {
        let (delay, when_delivered) = match estimator {
            Estimator::Voq => return None,
            Estimator::Adu { report } => (report, false),
            Estimator::Oracle => (Span::ZERO, true),
        };
        Some(HostDemand {
            ledger: Ledger::new(racks, delay),
            when_delivered,
            endless: Vec::new(),
        })
    }

    /// A stream from rack `pair.src` to rack `pair.dst`. The number is that of a stream that was [closed](HostDemand::close),
    /// if there is one, or the next from 0 on.
    ///
    /// # Panics
    /// If there is no such rack.
    pub fn open(&mut self, pair: Pair) -> u32 {
        let stream = self.ledger.open(pair);
        match self.endless.get_mut(stream as usize) {
            Some(endless) => *endless = false,
            None => self.endless.push(false),
        }
        stream
    }

    /// Both streams of a flow whose client is in rack `pair.src`: where none was ever closed, 2n from the client of the nth
    /// flow and 2n + 1 back.
    ///
    /// # Panics
    /// If there is no such rack.
    pub fn open_flow(&mut self, pair: Pair) {
        self.open(pair);
        self.open(Pair {
            src: pair.dst,
            dst: pair.src,
        });
    }

    /// An application has `bytes` to send, [`u64::MAX`] for as much as the network takes: demand as it is, of which its host knows what the
    /// socket has [accepted](HostDemand::accepted). Times must not go back.
    pub fn wanted(&mut self, now: Time, stream: u32, bytes: u64) {
        if self.when_delivered {
            self.announce(now, stream, bytes);
        }
    }

    /// A socket has taken `bytes` of what its application [has to send](HostDemand::wanted).
    pub fn accepted(&mut self, now: Time, stream: u32, bytes: u64) {
        if !self.when_delivered {
            self.announce(now, stream, bytes);
        }
    }

    /// A program reports that it has handed `bytes` to its stack.
    pub fn written(&mut self, now: Time, stream: u32, bytes: u64) {
        self.announce(now, stream, bytes);
    }

    fn announce(&mut self, now: Time, stream: u32, bytes: u64) {
        let endless = bytes == u64::MAX;
        self.endless[stream as usize] = endless;
        let bytes = if endless { SEND_BUFFER } else { bytes };
        self.ledger.announce(now, stream, bytes);
    }

    /// The stack did not take `bytes` of what was [written](HostDemand::written).
    pub fn retracted(&mut self, now: Time, stream: u32, bytes: u64) {
        self.ledger.retract(now, stream, bytes);
    }

    /// What is left of a stream will not be sent: its connection was reset, or its program killed.
    pub fn killed(&mut self, now: Time, stream: u32) {
        self.ledger.withdraw(now, stream);
    }

    /// The stream's FIN leaves its VOQ: its last byte is the one before `offset`, which is counted as in
    /// [`carried`](HostDemand::carried).
    pub fn ends(&mut self, stream: u32, offset: u32) {
        self.endless[stream as usize] = false;
        self.ledger.end(stream, offset);
    }

    /// Whether nothing of a stream will be carried any more for the first time: it has ended and all of it was, or it was
    /// killed.
    #[must_use]
    pub fn is_over(&self, stream: u32) -> bool {
        self.ledger.is_over(stream)
    }

    /// Nothing is said of a stream any more: its number may become another's.
    pub fn close(&mut self, now: Time, stream: u32) {
        self.ledger.close(now, stream);
    }

    /// A part of a stream leaves its VOQ: `len` bytes from `offset`, which is counted from the stream's first byte, modulo
    /// 2^32. The same bytes may come again.
    #[inline]
    pub fn carried(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        if !self.when_delivered {
            self.carry(now, stream, offset, len);
        }
    }

    /// A part of a stream leaves the network, told as in [`carried`](HostDemand::carried).
    #[inline]
    pub fn delivered(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        if self.when_delivered {
            self.carry(now, stream, offset, len);
        }
    }

    #[inline]
    fn carry(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        let new = self.ledger.carry(stream, offset, len);
        if self.endless[stream as usize] && new > 0 {
            self.ledger.announce(now, stream, new);
        }
    }

    /// Demand as known at `now`.
    ///
    /// # Errors
    /// [`DemandError`] for fewer than two racks, or a sum of 2^62 bytes and more.
    pub fn demand(&mut self, now: Time) -> Result<Demand, DemandError> {
        self.ledger.demand(now)
    }
}
