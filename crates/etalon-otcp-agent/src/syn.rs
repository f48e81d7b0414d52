// SPDX-License-Identifier: MIT OR Apache-2.0
//! How often a SYN must be sent for connect() to last as long as before.
//!
//! Linux gives up after a number of retransmissions, however short their timeouts (tcp(7), `tcp_syn_retries`). With a first
//! timeout of 8 ms instead of 1 s it would after half a second instead of two minutes. More retransmissions mend that.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bpf::program::{Entry, SYN_COUNTS};

/// The first timeout of a SYN without the agent (RFC 6298, section 2).
const USUAL_FIRST: Duration = Duration::from_secs(1);
/// The most that TCP_SYNCNT takes.
const MAX: usize = 127;

/// How the kernel spaces SYNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spacing {
    /// So many timeouts are of the first one's length (`tcp_syn_linear_timeouts`, Linux 6.5; 0 before).
    pub linear: u32,
    /// Then each is twice as long, up to this.
    pub longest: Duration,
}

impl Spacing {
    /// The timeouts of an exponential backoff.
    fn backoff(self, first: Duration) -> impl Iterator<Item = Duration> {
        std::iter::successors(Some(first), move |timeout| {
            Some((*timeout * 2).min(self.longest))
        })
    }

    /// For each number of retransmissions, how long connect() lasts: to the first timeout that is over no earlier than an
    /// exponential backoff of so many retransmissions would be. (So measured on Linux 6.18: 3, 7 and 19 s for 1, 2 and 3.)
    fn durations(self, first: Duration) -> Vec<Duration> {
        let sums = |timeouts: &mut dyn Iterator<Item = Duration>| -> Vec<Duration> {
            timeouts
                .scan(Duration::ZERO, |sum, timeout| {
                    *sum += timeout;
                    Some(*sum)
                })
                .collect()
        };
        let backoff = sums(&mut self.backoff(first).take(MAX + 1));
        let linear = std::iter::repeat_n(first, self.linear as usize);
        let timeouts = sums(&mut linear.chain(self.backoff(first).take(MAX + 1)));
        let mut at = 0;
        backoff
            .into_iter()
            .map(|least| {
                at += timeouts[at..]
                    .iter()
                    .take_while(|over| **over < least)
                    .count();
                timeouts[at.min(timeouts.len() - 1)]
            })
            .collect()
    }

    /// How long connect() lasts with this first timeout and so many retransmissions.
    pub fn lasts(self, first: Duration, retransmissions: usize) -> Duration {
        self.durations(first)[retransmissions.min(MAX)]
    }

    /// For each number of retransmissions with the usual first timeout, the smallest number with this one that lasts at
    /// least as long; at least 1, which is what TCP_SYNCNT takes.
    fn counts(self, first: Duration) -> Vec<usize> {
        let ours = self.durations(first);
        let enough = |usual| {
            ours.partition_point(|duration| *duration < usual)
                .clamp(1, MAX)
        };
        self.durations(USUAL_FIRST)
            .into_iter()
            .map(enough)
            .collect()
    }

    /// Writes into the entry what its first timeout of so many ticks needs.
    fn mend(self, entry: &mut Entry, tick: Duration) {
        let counts = self.counts(tick * entry.rto_init_ticks);
        for (place, count) in entry.syn_count.iter_mut().zip(&counts) {
            *place = *count as u8;
        }
        let beyond = SYN_COUNTS..MAX;
        entry.syn_more = beyond
            .map(|usual| counts[usual].saturating_sub(usual))
            .max()
            .unwrap_or(0) as u32;
    }
}

/// Mends entries. Most have one of a few first timeouts: what each needs is found once.
#[derive(Debug)]
pub struct Mender {
    spacing: Spacing,
    tick: Duration,
    known: BTreeMap<u32, Entry>,
}

impl Mender {
    /// For a kernel with these ticks.
    pub fn new(spacing: Spacing, tick: Duration) -> Self {
        Self {
            spacing,
            tick,
            known: BTreeMap::new(),
        }
    }

    /// Writes into the entry how many SYNs its first timeout needs.
    pub fn mend(&mut self, entry: &mut Entry) {
        let known = self.known.entry(entry.rto_init_ticks).or_insert_with(|| {
            let mut known = Entry {
                rto_init_ticks: entry.rto_init_ticks,
                ..Entry::default()
            };
            self.spacing.mend(&mut known, self.tick);
            known
        });
        entry.syn_more = known.syn_more;
        entry.syn_count = known.syn_count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NEW: Spacing = Spacing {
        linear: 4,
        longest: Duration::from_secs(120),
    };
    const OLD: Spacing = Spacing { linear: 0, ..NEW };

    #[test]
    fn linux_lasts_two_minutes() {
        assert_eq!(OLD.lasts(USUAL_FIRST, 6), Duration::from_secs(127));
        assert_eq!(NEW.lasts(USUAL_FIRST, 6), Duration::from_secs(131));
        assert_eq!(
            [1, 2, 3].map(|count| NEW.lasts(USUAL_FIRST, count).as_secs()),
            [3, 7, 19]
        );
        assert!(
            OLD.lasts(Duration::from_millis(4), 6) < Duration::from_millis(600),
            "which the paper's would not"
        );
    }

    #[test]
    fn two_ticks_of_4_ms() {
        let mut entry = Entry {
            rto_init_ticks: 2,
            ..Entry::default()
        };
        NEW.mend(&mut entry, Duration::from_millis(4));
        assert_eq!(entry.syn_count[6], 13);
        assert_eq!(
            NEW.lasts(Duration::from_millis(8), 13),
            Duration::from_millis(131_096)
        );
    }

    #[test]
    fn a_longer_first_timeout_needs_fewer() {
        let mut entry = Entry {
            rto_init_ticks: 750,
            ..Entry::default()
        };
        OLD.mend(&mut entry, Duration::from_millis(4));
        assert_eq!(entry.syn_count[6], 5, "3 s x 63");
        assert_eq!(entry.syn_more, 0);
    }

    proptest! {
        /// Whatever a program asks for, connect() lasts as long as before, and less than twice as long where it is told.
        #[test]
        fn never_shorter(ticks in 1_u32..3000, linear in 0_u32..10, usual in 1_usize..100, tick_us in prop::sample::select(vec![1000_u64, 4000, 10_000])) {
            let spacing = Spacing { linear, ..NEW };
            let tick = Duration::from_micros(tick_us);
            let mut entry = Entry { rto_init_ticks: ticks, ..Entry::default() };
            spacing.mend(&mut entry, tick);
            let told = if usual < SYN_COUNTS { entry.syn_count[usual].into() } else { usual + entry.syn_more as usize };
            let (before, after) = (spacing.lasts(USUAL_FIRST, usual), spacing.lasts(tick * ticks, told.min(MAX)));
            prop_assert!(after >= before, "{before:?} {after:?}");
            if usual < SYN_COUNTS && told > 1 {
                prop_assert!(spacing.lasts(tick * ticks, told - 1) < before);
            }
        }
    }
}
