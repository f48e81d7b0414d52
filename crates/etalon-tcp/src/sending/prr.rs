// SPDX-License-Identifier: MIT OR Apache-2.0
//! Proportional rate reduction, in the steps and names of RFC 6937, section 3, and in segments. RFC 9937, which follows it, chooses the
//! bound by what an ACK is (`SafeACK`), as here. `RecoverFS` is the window that is reduced.

/// State of one reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// `RecoverFS`, from which the reduction starts: the window before it.
    pub recover_fs: u32,
    /// `prr_delivered`: delivered since.
    pub delivered: u32,
    /// `prr_out`: sent since.
    pub out: u32,
}

/// What an ACK means to a reduction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// `DeliveredData`: what it delivers.
    pub delivered: u32,
    /// `inflight` after it.
    pub in_flight: u32,
    /// The window at which the reduction aims.
    pub ssthresh: u32,
    /// `SafeACK`: it advances SND.UNA and brings no new loss.
    pub safe: bool,
}

impl Prr {
    pub const NONE: Prr = Prr::from(0);

    /// A reduction of a window of `recover_fs`.
    pub const fn from(recover_fs: u32) -> Prr {
        Prr {
            recover_fs,
            delivered: 0,
            out: 0,
        }
    }

    /// The window after an ACK: what is in flight and `sndcnt`. One that delivers nothing changes nothing.
    pub fn window(&mut self, step: Step) -> Option<u32> {
        if step.delivered == 0 {
            return None;
        }
        self.delivered += step.delivered;
        Some(step.in_flight + self.sndcnt(step))
    }

    /// `sndcnt`, how many segments may be sent in response to an ACK.
    fn sndcnt(&self, step: Step) -> u32 {
        let by_rule = if step.in_flight > step.ssthresh {
            self.proportional(step.ssthresh)
        } else {
            self.catching_up(step)
        };
        // RFC 9937: the first ACK of a recovery lets a retransmission out.
        let first = i64::from(self.out == 0);
        by_rule.max(first) as u32
    }

    /// Above ssthresh: "CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out".
    fn proportional(&self, ssthresh: u32) -> i64 {
        let delivered = u64::from(self.delivered);
        let share = (delivered * u64::from(ssthresh)).div_ceil(u64::from(self.recover_fs.max(1)));
        share as i64 - i64::from(self.out)
    }

    /// Below it: "MAX(prr_delivered - prr_out, DeliveredData)", and one segment more on a safe ACK. "Attempt to catch up, as permitted by
    /// limit": not beyond ssthresh.
    fn catching_up(&self, step: Step) -> i64 {
        let owed = i64::from(self.delivered) - i64::from(self.out);
        let permitted = owed.max(step.delivered.into()) + i64::from(step.safe);
        permitted.min(i64::from(step.ssthresh) - i64::from(step.in_flight))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_over_a_round_trip() {
        // 20 in flight, one lost, ssthresh 10: 19 ACKs let about 10 segments out.
        let (mut prr, mut in_flight, mut sent) = (Prr::from(20), 19_u32, 0);
        for _ in 0..19 {
            in_flight -= 1;
            let step = Step {
                delivered: 1,
                in_flight,
                ssthresh: 10,
                safe: false,
            };
            let cwnd = prr.window(step).expect("delivered");
            while in_flight < cwnd {
                in_flight += 1;
                sent += 1;
                prr.out += 1;
            }
        }
        assert_eq!(sent, 10);
    }

    #[test]
    fn steps() {
        // A window of 20 is reduced to 10. Delivered and sent before; delivered by this ACK, in flight after it, whether it is
        // safe; the window.
        let cases = [
            ((0, 0), (1, 18, false), Some(19)), // the first: ceil(10 / 20) = 1
            ((0, 0), (1, 10, false), Some(11)), // nothing is permitted, but it is the first
            ((1, 1), (1, 17, false), Some(17)), // ceil(20 / 20) - 1 = 0
            ((2, 1), (1, 16, false), Some(17)), // ceil(30 / 20) - 1 = 1
            ((2, 1), (1, 16, true), Some(17)),  // a safe ACK is no other above ssthresh
            ((2, 9), (1, 16, false), Some(16)), // more was sent than permitted
            ((8, 4), (1, 10, true), Some(10)),  // at ssthresh
            ((0, 1), (2, 4, false), Some(6)),   // below it: what is delivered
            ((0, 1), (2, 4, true), Some(7)),    // and one more
            ((5, 1), (2, 4, false), Some(10)),  // what is owed, not beyond ssthresh
            ((3, 1), (1, 4, false), Some(7)),   // 4 - 1
            ((0, 1), (1, 0, false), Some(1)),   // nothing in flight
            ((3, 1), (0, 4, true), None),       // nothing delivered
        ];
        for (sofar, (delivered, in_flight, safe), cwnd) in cases {
            let mut prr = Prr {
                recover_fs: 20,
                delivered: sofar.0,
                out: sofar.1,
            };
            let step = Step {
                delivered,
                in_flight,
                ssthresh: 10,
                safe,
            };
            assert_eq!(prr.window(step), cwnd, "{sofar:?} {step:?}");
        }
    }
}
