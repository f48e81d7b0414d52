//! Proportional rate reduction (RFC 6937) with the slow-start reduction bound, as Linux 6.1 has it: below the threshold the
//! window may grow by what was delivered, and by one more only on ACKs that advance SND.UNA and bring no new loss.

/// State of one reduction, in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    /// Window when the reduction began (RFC 6937's RecoverFS).
    pub prior_cwnd: u32,
    /// Delivered since.
    pub delivered: u32,
    /// Sent since.
    pub out: u32,
}

impl Prr {
    pub const NONE: Prr = Prr {
        prior_cwnd: 0,
        delivered: 0,
        out: 0,
    };

    pub fn begin(&mut self, cwnd: u32) {
        *self = Prr {
            prior_cwnd: cwnd,
            delivered: 0,
            out: 0,
        };
    }

    /// The window after an ACK that delivered `delivered` segments, `None` if it stays.
    pub fn window(
        &mut self,
        ssthresh: u32,
        in_flight: u32,
        delivered: u32,
        progress_without_loss: bool,
    ) -> Option<u32> {
        if delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += delivered;
        let room = i64::from(ssthresh) - i64::from(in_flight);
        let mut send = if room < 0 {
            let share = (u64::from(ssthresh) * u64::from(self.delivered))
                .div_ceil(u64::from(self.prior_cwnd));
            share as i64 - i64::from(self.out)
        } else {
            let owed = (i64::from(self.delivered) - i64::from(self.out)).max(i64::from(delivered));
            room.min(owed + i64::from(progress_without_loss))
        };
        // Entering recovery always sends one retransmission.
        send = send.max(i64::from(self.out == 0));
        Some((i64::from(in_flight) + send).max(1) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_over_a_round_trip() {
        // 20 in flight, one lost, ssthresh 10: 19 ACKs let about 10 segments out.
        let (mut prr, mut flight, mut sent) = (Prr::NONE, 19_u32, 0);
        prr.begin(20);
        for _ in 0..19 {
            flight -= 1;
            let cwnd = prr.window(10, flight, 1, false).expect("delivered");
            while flight < cwnd {
                flight += 1;
                sent += 1;
                prr.out += 1;
            }
        }
        assert_eq!(sent, 10);
    }

    #[test]
    fn below_the_threshold_grows_back_by_what_is_delivered() {
        let mut prr = Prr::NONE;
        prr.begin(20);
        prr.out = 1;
        assert_eq!(prr.window(10, 4, 2, false), Some(6));
        assert_eq!(prr.window(10, 4, 2, true), Some(8));
    }

    #[test]
    fn without_delivery_nothing_changes() {
        let mut prr = Prr::NONE;
        prr.begin(20);
        assert_eq!(prr.window(10, 4, 0, true), None);
    }
}
