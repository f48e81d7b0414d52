// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of chosen senders over time, thinned so that memory is bounded.

use etalon_events::RecoveryState;
use etalon_units::Time;

/// Samples of all chosen flows together that are kept at most: about 10 MB.
const MOST_SAMPLES: usize = 1 << 18;

/// What a sender's TCP is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// The path that it sends on: TDTCP's TDN, MPTCP's subflow, 0 for plain TCP.
    pub path: u8,
    /// The state of that path's loss recovery.
    pub state: RecoveryState,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Slow start threshold in segments; none if it was never lowered.
    pub ssthresh: Option<u32>,
    /// Smoothed round-trip time in virtual nanoseconds; zero without a sample.
    pub srtt_ns: u64,
    /// Segments in flight (RFC 6675's pipe).
    pub pipe: u32,
}

/// A sender's state over time, on one of its paths. Time is cut into slots, of 1 ns first; of the changes in a slot the last is kept. When there are
/// too many samples, slots become twice as long: what is kept depends on the changes alone, and on how many there may be.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    rows: Vec<(Time, Sender)>,
    most: usize,
    /// Slots have 2^this nanoseconds.
    slot: u32,
}

impl Samples {
    /// Samples of one of so many paths of all flows.
    pub(crate) fn new(paths: usize) -> Samples {
        Samples::at_most(MOST_SAMPLES / paths.max(1))
    }

    fn at_most(most: usize) -> Samples {
        Samples {
            rows: Vec::new(),
            most,
            slot: 0,
        }
    }

    /// The sender is in state `sender` from `now` on.
    pub(crate) fn add(&mut self, now: Time, sender: Sender) {
        match self.rows.last_mut() {
            Some((_, last)) if *last == sender => {}
            Some(last) if last.0.0 >> self.slot == now.0 >> self.slot => *last = (now, sender),
            _ => {
                self.rows.push((now, sender));
                self.thin();
            }
        }
    }

    fn thin(&mut self) {
        while self.rows.len() > self.most {
            self.slot += 1;
            let slot = self.slot;
            // Of each slot the last: what `dedup_by` sees from the end is the first.
            self.rows.reverse();
            self.rows
                .dedup_by(|earlier, later| earlier.0.0 >> slot == later.0.0 >> slot);
            self.rows.reverse();
        }
    }

    /// Instants from which on the sender was in a state, in order.
    pub(crate) fn rows(&self) -> &[(Time, Sender)] {
        &self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cwnd(cwnd: u32) -> Sender {
        Sender {
            cwnd,
            ..Sender::default()
        }
    }

    /// The same, all at once: of the changes in each slot the last.
    fn thinned(changes: &[(Time, Sender)], slot: u32) -> Vec<(Time, Sender)> {
        let mut rows: Vec<(Time, Sender)> = Vec::new();
        for (index, &(time, sender)) in changes.iter().enumerate() {
            let next = changes.get(index + 1);
            if next.is_none_or(|next| next.0.0 >> slot != time.0 >> slot) {
                rows.push((time, sender));
            }
        }
        rows
    }

    #[test]
    fn what_stays_as_it_is_is_no_change() {
        let mut samples = Samples::new(1);
        for (time, value) in [(5, 10), (7, 10), (9, 11), (12, 10)] {
            samples.add(Time(time), cwnd(value));
        }
        let expected = [(5, 10), (9, 11), (12, 10)].map(|(t, v)| (Time(t), cwnd(v)));
        assert_eq!(samples.rows(), expected);
    }

    #[test]
    fn of_one_instant_the_last_state_counts() {
        let mut samples = Samples::new(1);
        for value in [10, 5, 7] {
            samples.add(Time(3), cwnd(value));
        }
        assert_eq!(samples.rows(), [(Time(3), cwnd(7))]);
    }

    #[test]
    fn all_paths_together_have_a_bound() {
        for paths in [1, 3, 1000] {
            let mut samples = Samples::new(paths);
            for step in 0..600_000u32 {
                samples.add(Time(u64::from(step) * 700), cwnd(step));
            }
            let kept = samples.rows().len();
            assert!(kept * paths <= MOST_SAMPLES, "{paths}: {kept}");
            assert!(kept * paths * 3 > MOST_SAMPLES, "{paths}: {kept}"); // and no fewer than need be
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_does_not_depend_on_when_slots_grew(
            steps in prop::collection::vec(0u64..5000, 1..400),
            most in 1usize..50,
        ) {
            let mut samples = Samples::at_most(most);
            let mut changes: Vec<(Time, Sender)> = Vec::new();
            let mut now = 0;
            for (index, step) in steps.iter().enumerate() {
                now += step;
                samples.add(Time(now), cwnd(index as u32));
                changes.push((Time(now), cwnd(index as u32)));
            }
            prop_assert!(samples.rows().len() <= most);
            prop_assert_eq!(samples.rows(), thinned(&changes, samples.slot));
        }
    }
}
