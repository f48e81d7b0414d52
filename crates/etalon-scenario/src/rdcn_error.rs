// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is wrong with a reconfigurable network.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::{MOST_CIRCUITS, Pair, PairVoq, Plane, Rdcn, Schedule};

/// Why there is no such switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// Fewer than two racks.
    TooFewRacks {
        /// The racks of the configuration.
        racks: u16,
    },
    /// The schedule is for another number of racks.
    RacksDiffer {
        /// The racks of the switch.
        racks: u16,
        /// The racks of the schedule.
        schedule: u16,
    },
    /// A plane with a rate of zero.
    NoRate {
        /// Its name: `packet` or `circuit`.
        plane: &'static str,
    },
    /// No kind of circuits, or too many.
    Circuits {
        /// How many there are.
        kinds: usize,
    },
    /// The schedule has a day with circuits of a plane that there is not.
    NoSuchPlane {
        /// The plane.
        plane: Plane,
    },
    /// Internal queues without room for a packet.
    NoInternalQueue,
    /// VOQs without room for a packet.
    NoVoq,
    /// The big capacity is smaller than the ordinary one.
    BigIsSmaller {
        /// The ordinary capacity in packets.
        packets: u32,
        /// The big capacity in packets.
        big: u32,
    },
    /// A VOQ of its own capacity for a pair that does not exist.
    NoSuchPair {
        /// The pair.
        pair: Pair,
    },
    /// A VOQ of its own capacity without room for a packet.
    NoPairVoq {
        /// The pair.
        pair: Pair,
    },
    /// Two capacities for the same pair.
    PairTwice {
        /// The pair.
        pair: Pair,
    },
    /// A failure of nothing, or of no time.
    Failure {
        /// Which, from 0 on.
        index: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A network of circuits has no tables: the reason.
    Tables(String),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::TooFewRacks { racks } => {
                write!(f, "a switch needs at least 2 racks, not {racks}")
            }
            ConfigError::RacksDiffer { racks, schedule } => {
                write!(
                    f,
                    "the schedule is for {schedule} racks, the switch has {racks}"
                )
            }
            ConfigError::NoRate { plane } => {
                write!(f, "the rate of the {plane} network must be more than zero")
            }
            ConfigError::Circuits { kinds } => write!(
                f,
                "a network has 1 to {MOST_CIRCUITS} kinds of circuits, not {kinds}"
            ),
            ConfigError::NoSuchPlane { plane } => write!(
                f,
                "the schedule has circuits of plane {}, which does not exist",
                plane.0
            ),
            ConfigError::NoInternalQueue => {
                f.write_str("the internal queues of the packet network must hold at least 1 packet")
            }
            ConfigError::NoVoq => f.write_str("the VOQs must hold at least 1 packet"),
            ConfigError::BigIsSmaller { packets, big } => write!(
                f,
                "VOQs cannot grow from {packets} to {big} packets: the big capacity must not be the smaller one"
            ),
            ConfigError::NoSuchPair { pair } => write!(
                f,
                "a VOQ capacity is given for the pair {} -> {}, which does not exist",
                pair.src, pair.dst
            ),
            ConfigError::NoPairVoq { pair } => write!(
                f,
                "the VOQ of the pair {} -> {} must hold at least 1 packet",
                pair.src, pair.dst
            ),
            ConfigError::PairTwice { pair } => write!(
                f,
                "two VOQ capacities are given for the pair {} -> {}",
                pair.src, pair.dst
            ),
            ConfigError::Failure { index, why } => write!(f, "failure {index}: {why}"),
            ConfigError::Tables(reason) => f.write_str(reason),
        }
    }
}

impl core::error::Error for ConfigError {}

impl ConfigError {
    /// Of a network of circuits, for this reason.
    #[must_use]
    pub fn tables(reason: &impl fmt::Display) -> ConfigError {
        ConfigError::Tables(reason.to_string())
    }
}

impl Rdcn {
    /// Whether it makes a network of `racks` racks.
    ///
    /// # Errors
    /// [`ConfigError`] for what is wrong with it.
    pub fn check(&self, racks: u16) -> Result<(), ConfigError> {
        if racks < 2 {
            return Err(ConfigError::TooFewRacks { racks });
        }
        let kinds = self.circuits.len();
        if kinds == 0 || kinds > MOST_CIRCUITS {
            return Err(ConfigError::Circuits { kinds });
        }
        let packet = self.packet.iter().map(|packet| ("packet", packet.rate));
        let circuits = self
            .circuits
            .iter()
            .map(|circuit| ("circuit", circuit.rate));
        if let Some((plane, _)) = packet.chain(circuits).find(|(_, rate)| rate.as_bps() == 0) {
            return Err(ConfigError::NoRate { plane });
        }
        if self.packet.is_some_and(|packet| packet.internal_queue == 0) {
            return Err(ConfigError::NoInternalQueue);
        }
        let packets = self.voq.packets;
        if packets == 0 {
            return Err(ConfigError::NoVoq);
        }
        if let Some(big) = self.voq.resize.map(|resize| resize.packets) {
            if big < packets {
                return Err(ConfigError::BigIsSmaller { packets, big });
            }
        }
        if let Some((index, why)) = self.wrong_failure(racks) {
            return Err(ConfigError::Failure { index, why });
        }
        for &PairVoq { pair, packets } in &self.voq.pairs {
            if pair.src >= racks || pair.dst >= racks {
                return Err(ConfigError::NoSuchPair { pair });
            }
            if packets == 0 {
                return Err(ConfigError::NoPairVoq { pair });
            }
        }
        let mut pairs: Vec<Pair> = self.voq.pairs.iter().map(|voq| voq.pair).collect();
        pairs.sort_unstable();
        match pairs.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => Err(ConfigError::PairTwice { pair: two[0] }),
            None => Ok(()),
        }
    }
    /// Whether a network of `racks` racks can follow it.
    ///
    /// # Errors
    /// [`ConfigError`] if it has another number of racks, or planes that there are not.
    pub fn check_week(&self, racks: u16, week: &Schedule) -> Result<(), ConfigError> {
        let schedule = week.racks();
        if schedule != racks {
            return Err(ConfigError::RacksDiffer { racks, schedule });
        }
        let circuits = 1..=self.circuits.len();
        let mut planes = week.configurations().iter().map(|c| c.plane);
        match planes.find(|plane| !circuits.contains(&plane.index())) {
            Some(plane) => Err(ConfigError::NoSuchPlane { plane }),
            None => Ok(()),
        }
    }
}
