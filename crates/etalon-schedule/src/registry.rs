// SPDX-License-Identifier: MIT OR Apache-2.0
//! All schedulers by name.

use alloc::boxed::Box;
use alloc::string::{String, ToString};
use core::fmt;

use etalon_switch::Schedule;
use etalon_units::Bytes;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

use crate::bvn::BirkhoffVonNeumann;
use crate::eclipse::Eclipse;
use crate::fixed::Fixed;
use crate::max_weight::MaxWeight;
use crate::scheduler::Scheduler;
use crate::solstice::Solstice;
use crate::solstice_published::SolsticePublished;
use crate::strobe::Strobe;
use crate::tms::TrafficMatrixScheduling;
use crate::tournament::Tournament;

/// One scheduler of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Registered {
    /// The name by which plans choose it.
    pub name: &'static str,
    /// What it does, in one line, with its source.
    pub about: &'static str,
    make: fn(Options) -> Result<Boxed, SchedulerError>,
}

type Boxed = Box<dyn Scheduler + Send>;

/// What schedulers may need beyond demand; each takes what concerns it.
#[derive(Clone, Debug)]
pub struct Options {
    /// Demand below this is small ([`Solstice::new`]); 1 MB in Etalon'18, 8 kB for HDFS.
    pub big: Bytes,
    /// Whether small demand is always left to packets ([`Solstice::new`]), as for announced demand.
    pub only_big: bool,
    /// The week of the fixed schedule.
    pub week: Option<Schedule>,
    /// The stream from which randomness is drawn.
    pub rng: ChaCha8Rng,
}

impl Options {
    /// Etalon'18's: 1 MB, small demand counts where all is small, no fixed week.
    #[must_use]
    pub fn with_seed(seed: u64) -> Options {
        Options {
            big: Bytes(1_000_000),
            only_big: false,
            week: None,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }
}

/// All schedulers, by name.
pub const SCHEDULERS: &[Registered] = &[
    Registered {
        name: "bvn",
        about: "Birkhoff-von Neumann decomposition of the stuffed demand (Chang et al., INFOCOM 2000)",
        make: |_| Ok(Box::new(BirkhoffVonNeumann)),
    },
    Registered {
        name: "eclipse",
        about: "greedy choice of matching and duration, submodular (Bojja Venkatakrishnan et al., SIGMETRICS 2016)",
        make: |_| Ok(Box::new(Eclipse)),
    },
    Registered {
        name: "fixed",
        about: "always the same week, from a file or from perfect knowledge (Etalon'18, section 5.3)",
        make: |options| match options.week {
            Some(week) => Ok(Box::new(Fixed::new(week))),
            None => Err(SchedulerError::NoWeek),
        },
    },
    Registered {
        name: "max-weight",
        about: "one configuration a week, the matching of most demand (Helios and c-Through, SIGCOMM 2010)",
        make: |_| Ok(Box::new(MaxWeight)),
    },
    Registered {
        name: "solstice",
        about: "Solstice for a window, as Etalon implements it (Etalon'18, section 3.2)",
        make: |options| {
            Ok(Box::new(Solstice::new(
                options.big,
                options.only_big,
                options.rng,
            )))
        },
    },
    Registered {
        name: "solstice-published",
        about: "Solstice with QuickStuff and BigSlice (Liu et al., CoNEXT 2015)",
        make: |_| Ok(Box::new(SolsticePublished)),
    },
    Registered {
        name: "strobe",
        about: "all pairs in turn, whatever the demand (NSDI'20, section 4.5)",
        make: |_| Ok(Box::new(Strobe)),
    },
    Registered {
        name: "tms",
        about: "traffic matrix scheduling: Sinkhorn scaling and decomposition (Mordia, SIGCOMM 2013)",
        make: |_| Ok(Box::new(TrafficMatrixScheduling)),
    },
    Registered {
        name: "tournament",
        about: "all pairs in turn, both ways at once (the circle method)",
        make: |_| Ok(Box::new(Tournament)),
    },
];

/// The scheduler called `name`.
///
/// # Errors
/// [`SchedulerError`] for a name that is not in [`SCHEDULERS`], or for `fixed` without a week.
pub fn scheduler(
    name: &str,
    options: Options,
) -> Result<Box<dyn Scheduler + Send>, SchedulerError> {
    let found = SCHEDULERS.iter().find(|registered| registered.name == name);
    match found {
        Some(registered) => (registered.make)(options),
        None => Err(SchedulerError::Unknown {
            name: name.to_string(),
        }),
    }
}

/// Why there is no such scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SchedulerError {
    /// A name that is not registered.
    Unknown {
        /// The name.
        name: String,
    },
    /// The fixed schedule without its week.
    NoWeek,
}

impl fmt::Display for SchedulerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SchedulerError::Unknown { name } => {
                write!(f, "there is no scheduler '{name}'; there are")?;
                for (index, registered) in SCHEDULERS.iter().enumerate() {
                    let comma = if index == 0 { "" } else { "," };
                    write!(f, "{comma} {}", registered.name)?;
                }
                Ok(())
            }
            SchedulerError::NoWeek => {
                f.write_str("the scheduler 'fixed' needs a schedule, and there is none")
            }
        }
    }
}

impl core::error::Error for SchedulerError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        assert!(SCHEDULERS.is_sorted_by(|a, b| a.name < b.name));
        let error = |name| match scheduler(name, Options::with_seed(1)) {
            Ok(_) => panic!("{name} should not be there"),
            Err(error) => error.to_string(),
        };
        assert_eq!(
            error("sostice"),
            "there is no scheduler 'sostice'; there are bvn, eclipse, fixed, max-weight, solstice, \
             solstice-published, strobe, tms, tournament"
        );
        assert_eq!(
            error("fixed"),
            "the scheduler 'fixed' needs a schedule, and there is none"
        );
    }
}
