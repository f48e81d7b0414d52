//! Forward RTO-recovery (RFC 5682): after a timeout, new data instead of retransmissions finds out whether the timeout was
//! spurious.

use crate::sending::digest::Facts;

/// What may be retransmitted now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Retransmit {
    /// Lost segments, before new data.
    #[default]
    Lost,
    /// New data first, and lost segments only if there is none.
    NewFirst,
    /// New data went out: nothing until the next ACK.
    Held,
}

/// What an ACK says of the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was spurious.
    Spurious,
    /// Not yet known: new data is to be sent.
    SendNew,
    /// Nothing speaks against it: conventional recovery goes on.
    Conventional,
}

/// The state of the algorithm.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Frto {
    /// A timeout is being tested.
    testing: bool,
    pub retransmit: Retransmit,
}

/// Where the sender stands when an ACK arrives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Everything outstanding at the timeout (`recover`) is acknowledged.
    pub recovered: bool,
    /// Something beyond it was sent.
    pub beyond: bool,
    /// New data waits and the peer's window lets it go.
    pub new_data: bool,
}

impl Frto {
    /// Step 1: a timeout expired.
    pub fn begin(&mut self, test: bool) {
        self.testing = test;
        self.retransmit = Retransmit::Lost;
    }

    /// Steps 2 and 3 for one ACK (section 3.1, the SACK-enhanced version).
    pub fn verdict(&mut self, facts: &Facts, progress: Progress) -> Verdict {
        if !self.testing {
            return Verdict::Conventional;
        }
        // Step 3b: data that was never retransmitted has arrived, and it was sent before the timeout.
        if facts.original_delivered {
            return Verdict::Spurious;
        }
        if progress.beyond {
            // Step 3a: the new data drew a duplicate ACK.
            if facts.sacked || facts.duplicate {
                self.testing = false;
            }
        } else if facts.progress && !progress.recovered {
            // Step 2b: part of it is acknowledged; send new data, if there is any.
            if progress.new_data {
                self.retransmit = Retransmit::NewFirst;
                return Verdict::SendNew;
            }
            self.testing = false;
        }
        Verdict::Conventional
    }

    /// No new data could be sent: conventional recovery (step 2, last paragraph).
    pub fn give_up(&mut self) {
        self.testing = false;
        self.retransmit = Retransmit::Lost;
    }
}
