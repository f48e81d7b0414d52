// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of many paths the next packet of a flow takes.

use etalon_scenario::{Network, Scenario};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use crate::packet::Packet;

/// Draws labels, by which the network chooses paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spray {
    /// The paths that are left of this round, the next one last; empty where each packet's path is drawn by itself.
    round: Box<[u16]>,
    left: usize,
}

impl Spray {
    /// Over so many paths in turn, in an order that is drawn for each round, or over any.
    pub(crate) fn new(paths: Option<u16>) -> Spray {
        Spray {
            round: paths.map_or_else(Box::default, |paths| (0..paths).collect()),
            left: 0,
        }
    }

    /// The label of the next packet.
    pub(crate) fn next(&mut self, rng: &mut ChaCha8Rng) -> u16 {
        if self.round.is_empty() {
            return rng.next_u32() as u16;
        }
        if self.left == 0 {
            self.left = self.round.len();
        }
        // A step of a shuffle each time.
        let place = below(rng, self.left as u32) as usize;
        self.left -= 1;
        self.round.swap(place, self.left);
        self.round[self.left]
    }
}

/// Which classes of TCP's flows spread their packets over all ways: each packet has a label of its own, as the plan's routings ask for.
#[derive(Debug)]
pub(crate) struct Sprays {
    by_class: Vec<bool>,
    rng: ChaCha8Rng,
}

/// The random stream of labels, beyond those of hosts and initial sequence numbers.
const STREAM_LABELS: u64 = 1 << 36;

impl Sprays {
    pub(crate) fn new(plan: &Scenario) -> Sprays {
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_LABELS);
        let by_class = match &plan.network {
            Network::Ocs(ocs) => ocs.classes.iter().map(|of| of.routing.sprays()).collect(),
            _ => Vec::new(),
        };
        Sprays { by_class, rng }
    }

    /// Whether any class does.
    pub(crate) fn any(&self) -> bool {
        self.by_class.contains(&true)
    }

    /// A packet enters the network.
    pub(crate) fn label(&mut self, packet: &mut Packet) {
        let class = packet.envelope.size.class().index();
        if self.by_class.get(class) == Some(&true) {
            packet.envelope.label = self.rng.next_u32() as u16;
        }
    }
}

/// A number below `bound`, each as likely as the others but for 2^-32.
pub(crate) fn below(rng: &mut ChaCha8Rng, bound: u32) -> u32 {
    ((u64::from(rng.next_u32()) * u64::from(bound)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_takes_every_path_once_in_an_order_of_its_own() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut spray = Spray::new(Some(18));
        let mut rounds: Vec<Vec<u16>> = Vec::new();
        for _ in 0..50 {
            let round: Vec<u16> = (0..18).map(|_| spray.next(&mut rng)).collect();
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..18));
            assert!(!rounds.contains(&round));
            rounds.push(round);
        }
        let mut any = Spray::new(None);
        let labels: Vec<u16> = (0..1000).map(|_| any.next(&mut rng)).collect();
        let odd = labels.iter().filter(|&label| label % 2 == 1).count();
        assert!((400..600).contains(&odd));
    }
}
