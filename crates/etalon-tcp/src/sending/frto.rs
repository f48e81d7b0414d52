// SPDX-License-Identifier: MIT OR Apache-2.0
//! Forward RTO-recovery (RFC 5682): after a timeout, new data instead of retransmissions finds out whether the timeout was
//! spurious.

use crate::sending::facts::Facts;

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

    /// What one ACK says (section 3.1, the SACK-enhanced version). It belongs to step 2 until new data was sent, to step 3 afterwards.
    pub fn verdict(&mut self, facts: &Facts, progress: Progress) -> Verdict {
        if !self.testing {
            return Verdict::Conventional;
        }
        if facts.original_delivered {
            // Step 3b declares a timeout spurious once data arrives that was never sent again; it says as much in step 2.
            return Verdict::Spurious;
        }
        if progress.beyond {
            self.step_3(facts)
        } else {
            self.step_2(facts, progress)
        }
    }

    /// Only an ACK for a part of what was outstanding leads to step 3: all of it (2a), or nothing, tells no more.
    fn step_2(&mut self, facts: &Facts, progress: Progress) -> Verdict {
        let part = facts.progress && !progress.recovered;
        match (part, progress.new_data) {
            (false, _) => Verdict::Conventional,
            (true, true) => {
                self.retransmit = Retransmit::NewFirst;
                Verdict::SendNew
            }
            (true, false) => self.revert(),
        }
    }

    /// Step 3a: a duplicate ACK, which the new data called for.
    fn step_3(&mut self, facts: &Facts) -> Verdict {
        if facts.duplicate || facts.sacked {
            self.revert()
        } else {
            Verdict::Conventional
        }
    }

    /// "Revert to the conventional RTO recovery": the timeout was real.
    fn revert(&mut self) -> Verdict {
        self.testing = false;
        Verdict::Conventional
    }

    /// No new data could be sent: conventional recovery (step 2, last paragraph).
    pub fn give_up(&mut self) {
        self.revert();
        self.retransmit = Retransmit::Lost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK by what it does: moves SND.UNA, SACKs, repeats, or shows an original.
    fn ack(progress: bool, sacked: bool, duplicate: bool, original_delivered: bool) -> Facts {
        Facts {
            progress,
            sacked,
            duplicate,
            original_delivered,
            ..Facts::none(0, 0)
        }
    }

    /// An ACK, where the sender stands, the verdict, and whether the test goes on.
    type Case = (&'static str, Facts, Progress, Verdict, bool);

    fn cases() -> [Case; 9] {
        use Verdict::{Conventional, SendNew, Spurious};
        let part = ack(true, false, false, false);
        let duplicate = ack(false, false, true, false);
        let sack = ack(false, true, false, false);
        let original = ack(true, false, false, true);
        let stand = |recovered, beyond, new_data| Progress {
            recovered,
            beyond,
            new_data,
        };
        let at_all = stand(true, false, true);
        let step_2 = stand(false, false, true);
        let no_news = stand(false, false, false);
        let step_3 = stand(false, true, true);
        [
            ("2a", part, at_all, Conventional, true),
            ("2b", part, step_2, SendNew, true),
            ("2b, nothing new", part, no_news, Conventional, false),
            ("2, a duplicate", duplicate, step_2, Conventional, true),
            ("3a", duplicate, step_3, Conventional, false),
            ("3a by SACK", sack, step_3, Conventional, false),
            ("3, an advance", part, step_3, Conventional, true),
            ("3b", original, step_3, Spurious, true),
            ("3b at once", original, step_2, Spurious, true),
        ]
    }

    #[test]
    fn the_steps_of_the_rfc() {
        for (name, facts, progress, verdict, goes_on) in cases() {
            let mut frto = Frto::default();
            frto.begin(true);
            assert_eq!(frto.verdict(&facts, progress), verdict, "{name}");
            assert_eq!(frto.testing, goes_on, "{name}");
            frto.begin(false);
            let verdict = frto.verdict(&facts, progress);
            assert_eq!(verdict, Verdict::Conventional, "{name}, no test");
        }
    }
}
