//! A network of circuits: described, and not run yet.

use core::fmt::Debug;

use etalon_scenario::{Ocs, Scenario};
use etalon_switch::ConfigError;

use crate::fabric::Fabric;
use crate::network::Described;

impl Described for Ocs {
    type Network<H: Copy + Debug> = Fabric<H>;

    fn network<H: Copy + Debug>(&self, _: &Scenario) -> Result<Fabric<H>, ConfigError> {
        Err(ConfigError::NotRun { kind: "ocs" })
    }
}
