//! What lies between hosts, made from a setup.

use etalon_net::{AnyNetwork, Chain, Hosts, Hybrid, Stage};
use etalon_switch::{ConfigError, Switch};
use etalon_units::{Serializer, Time};

use crate::setup::{NetworkSetup, Setup, StageSetup};

/// The network of a setup, at virtual time 0.
///
/// # Errors
/// [`ConfigError`] if there is no such switch.
pub fn network<H: Copy>(setup: &NetworkSetup) -> Result<AnyNetwork<H>, ConfigError> {
    let stages = |setup: &[StageSetup]| setup.iter().map(stage).collect();
    Ok(match setup {
        NetworkSetup::Rdcn {
            config,
            schedule,
            bypass,
            ..
        } => {
            let switch = Switch::new(config.clone(), schedule.clone(), Time::ZERO)?;
            AnyNetwork::Hybrid(Hybrid::new(switch, *bypass))
        }
        NetworkSetup::Dumbbell {
            stages: forward,
            back,
        } => AnyNetwork::Chain(Chain::new(stages(forward), stages(back))),
    })
}

fn stage<H: Copy>(setup: &StageSetup) -> Stage<H> {
    let packets = setup.packets.unwrap_or(u32::MAX);
    Stage::new(setup.rate.map(Serializer::new), packets, setup.delay)
}

impl Setup {
    /// The hosts of this setup.
    #[must_use]
    pub fn hosts(&self) -> Hosts {
        Hosts {
            racks: self.racks,
            in_rack: self.hosts,
            rate: self.host.rate,
            delay: self.host.delay,
            jitter: self.host.jitter,
            downlink_queue: None,
        }
    }
}
