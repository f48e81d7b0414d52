// SPDX-License-Identifier: MIT OR Apache-2.0
//! What ToR switches tell hosts: which network (TDN) leads to which rack (TDTCP, SIGCOMM'22 section 4.2).

use alloc::vec::Vec;

use etalon_queues::{Fifo, Pending};
use etalon_scenario::{Hosts, Notify};
use etalon_switch::{Pair, Plane};
use etalon_units::{Span, Time};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// The random stream of delays and losses, beyond those of hosts (which are numbered from 0).
const STREAM: u64 = 1 << 33;

/// A notification that reaches its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    /// The host's number among all.
    pub(crate) host: u32,
    /// The network that leads to this rack,
    pub(crate) rack: u16,
    /// is this one.
    pub(crate) tdn: Plane,
}

/// Notifications on their way. Those to one host stay in order, whatever their jitter.
#[derive(Debug)]
pub(crate) struct Notices {
    config: Notify,
    per_rack: u32,
    rng: ChaCha8Rng,
    /// By host: when each arrives, the rack that it is about, and the TDN.
    on_the_way: Vec<Fifo<(Time, u16, Plane)>>,
    last: Vec<Time>,
    pending: Pending,
}

impl Notices {
    pub(crate) fn new(hosts: &Hosts, config: Notify, seed: u64) -> Notices {
        let count = hosts.count() as usize;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(STREAM);
        Notices {
            config,
            per_rack: hosts.per_rack.into(),
            rng,
            on_the_way: (0..count).map(|_| Fifo::default()).collect(),
            last: alloc::vec![Time::ZERO; count],
            pending: Pending::new(count),
        }
    }

    /// The ToR switch of `pair.src` tells each of its hosts that `tdn` leads to rack `pair.dst`.
    pub(crate) fn tell(&mut self, now: Time, pair: Pair, tdn: Plane) {
        let first = u32::from(pair.src) * self.per_rack;
        for host in first..first + self.per_rack {
            // Both are drawn for each, so that what is lost moves no other.
            let [fate, jitter] = [0, 1].map(|_| u64::from(self.rng.next_u32()));
            if (fate * 1_000_000) >> 32 < u64::from(self.config.lost) {
                continue;
            }
            let jitter =
                Span(((u128::from(jitter) * u128::from(self.config.jitter.0)) >> 32) as u64);
            let last = &mut self.last[host as usize];
            *last = (*last).max(now + self.config.delay + jitter);
            let queue = &mut self.on_the_way[host as usize];
            if queue.is_empty() {
                self.pending.push(*last, host);
            }
            queue.push_back((*last, pair.dst, tdn));
        }
    }

    /// When the next one reaches its host.
    pub(crate) fn next(&self) -> Time {
        self.pending.next()
    }

    /// Takes the first.
    pub(crate) fn take(&mut self) -> Option<Notice> {
        let host = self.pending.first()?;
        let queue = &mut self.on_the_way[host as usize];
        let first = queue.pop_front();
        let next = queue.front().map(|entry| entry.0);
        self.pending.move_first(host, next);
        let (_, rack, tdn) = first?;
        Some(Notice { host, rack, tdn })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTS: Hosts = Hosts {
        racks: 2,
        per_rack: 3,
        mtu: 9000,
        rate: etalon_units::Rate(1),
        delay: Span::ZERO,
        jitter: Span::ZERO,
        downlink_queue: None,
    };
    const PAIR: Pair = Pair { src: 1, dst: 0 };

    fn notify(delay: u64, jitter: u64, lost: u32) -> Notify {
        Notify {
            before: Span::ZERO,
            delay: Span(delay),
            jitter: Span(jitter),
            lost,
            each: Span::ZERO,
        }
    }

    /// What arrives of `count` notifications, one a microsecond, and when.
    fn heard(config: Notify, seed: u64, count: u64) -> Vec<(Time, Notice)> {
        let mut notices = Notices::new(&HOSTS, config, seed);
        for n in 0..count {
            notices.tell(Time(1000 * n), PAIR, Plane((n % 2) as u8));
        }
        let next = |notices: &mut Notices| (notices.next(), notices.take());
        core::iter::from_fn(|| match next(&mut notices) {
            (time, Some(notice)) => Some((time, notice)),
            (time, None) => {
                assert_eq!(time, Time::MAX);
                None
            }
        })
        .collect()
    }

    #[test]
    fn every_host_of_the_rack_hears_after_the_delay() {
        let tdn = Plane(0);
        let notice = |host| (Time(70), Notice { host, rack: 0, tdn });
        assert_eq!(heard(notify(70, 0, 0), 1, 1), [3, 4, 5].map(notice));
    }

    #[test]
    fn jitter_moves_but_does_not_reorder() {
        let all = heard(notify(10, 5000, 0), 1, 200);
        assert!(all.is_sorted_by_key(|(time, notice)| (*time, notice.host)));
        for host in 3..6 {
            let of_host = || all.iter().filter(|(_, notice)| notice.host == host);
            assert!(
                of_host()
                    .enumerate()
                    .all(|(n, (_, notice))| usize::from(notice.tdn.0) == n % 2)
            );
            let late = of_host()
                .enumerate()
                .map(|(n, (time, _))| time.0 - 1000 * n as u64);
            let late: Vec<u64> = late.collect();
            assert!(
                late.iter().all(|late| (10..5010).contains(late)),
                "{late:?}"
            );
            assert!(late.iter().max().unwrap() - late.iter().min().unwrap() > 2000);
        }
        assert_eq!(all, heard(notify(10, 5000, 0), 1, 200));
        assert_ne!(all, heard(notify(10, 5000, 0), 2, 200));
    }

    #[test]
    fn a_share_is_lost_and_the_rest_is_where_it_was() {
        let (all, some) = (
            heard(notify(0, 900, 0), 1, 1000),
            heard(notify(0, 900, 250_000), 1, 1000),
        );
        assert!(some.iter().all(|one| all.contains(one)));
        assert!((2100..2400).contains(&some.len()), "{}", some.len());
        assert!(heard(notify(0, 0, 1_000_000), 1, 100).is_empty());
    }
}
