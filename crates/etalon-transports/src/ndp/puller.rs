// SPDX-License-Identifier: MIT OR Apache-2.0
//! When pulls leave a host.

use alloc::collections::VecDeque;

/// Spaces the pulls of flows `F`, and takes them in turns. A host has one, as in the paper, or each flow its own.
#[derive(Clone, Debug)]
pub struct Puller<F> {
    /// Time between two pulls, in picoseconds.
    spacing: u64,
    /// When the next may leave, in picoseconds.
    free_at: u64,
    /// Flows with pulls that wait, in turn.
    ring: VecDeque<F>,
}

/// What a flow does with its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn<P> {
    /// It wants no pull any more.
    Leaves,
    /// It pulls, and wants no more.
    Last(P),
    /// It pulls, and wants another turn.
    More(P),
}

impl<F: Copy> Puller<F> {
    /// A puller with nothing to do, with `spacing` picoseconds between two pulls.
    #[must_use]
    pub fn new(spacing: u64) -> Puller<F> {
        Puller {
            spacing,
            free_at: 0,
            ring: VecDeque::new(),
        }
    }

    /// Pulls are so many picoseconds apart from now on.
    pub fn set_spacing(&mut self, spacing: u64) {
        self.spacing = spacing;
    }

    /// Whether a pull may leave at once: none waits, and the last was long enough ago. If so, it counts as sent.
    pub fn try_at_once(&mut self, now: u64) -> bool {
        let now = now * 1000;
        let may = self.ring.is_empty() && self.free_at <= now;
        if may {
            self.free_at = now + self.spacing;
        }
        may
    }

    /// A flow that has no turn waits for one.
    pub fn wait(&mut self, flow: F) {
        self.ring.push_back(flow);
    }

    /// When the next pull is due in nanoseconds, `u64::MAX` if none waits.
    #[must_use]
    pub fn next_time(&self) -> u64 {
        match self.ring.is_empty() {
            true => u64::MAX,
            false => self.free_at.div_ceil(1000),
        }
    }

    /// The pull that is due, and whose. `turn` tells what a flow does with its turn.
    pub fn take<P>(&mut self, now: u64, mut turn: impl FnMut(F) -> Turn<P>) -> Option<(F, P)> {
        if now < self.next_time() {
            return None;
        }
        loop {
            let flow = self.ring.pop_front()?;
            let pull = match turn(flow) {
                Turn::Leaves => continue,
                Turn::Last(pull) => pull,
                Turn::More(pull) => {
                    self.ring.push_back(flow);
                    pull
                }
            };
            // Rounding to nanoseconds does not add up.
            let late = now * 1000 - self.free_at;
            let from = if late < 1000 {
                self.free_at
            } else {
                now * 1000
            };
            self.free_at = from + self.spacing;
            return Some((flow, pull));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn pulls_are_spaced_and_flows_take_turns() {
        let mut puller = Puller::new(1_148_800);
        assert!(puller.try_at_once(100));
        assert!(!puller.try_at_once(1248));
        puller.wait('a');
        puller.wait('b');
        let mut left = [2000, 1000];
        let mut turn = |flow: char| {
            let left = &mut left[usize::from(flow == 'b')];
            *left -= 1;
            if *left == 0 {
                Turn::Last(())
            } else {
                Turn::More(())
            }
        };
        let mut taken = Vec::new();
        while puller.next_time() < u64::MAX {
            let now = puller.next_time();
            assert_eq!(puller.take(now - 1, &mut turn), None);
            let (flow, ()) = puller.take(now, &mut turn).expect("one is due");
            taken.push((now, flow));
        }
        assert_eq!(taken[..3], [(1249, 'a'), (2398, 'b'), (3547, 'a')]);
        // The 3000th leaves 3000 spacings after the first one at 100 ns, rounded up.
        assert_eq!(taken.last(), Some(&(100 + 3_446_400, 'a')));
        assert!(!puller.try_at_once(3_446_501));
        assert!(puller.try_at_once(3_447_649));
    }

    #[test]
    fn who_wants_no_pull_takes_no_time() {
        let mut puller = Puller::new(1_000_000);
        for flow in 0..5 {
            puller.wait(flow);
        }
        let turn = |flow| {
            if flow < 4 {
                Turn::Leaves
            } else {
                Turn::Last(flow)
            }
        };
        assert_eq!(puller.take(0, turn), Some((4, 4)));
        assert_eq!(puller.next_time(), u64::MAX);
        assert!(!puller.try_at_once(999));
    }
}
