//! What lies between hosts, made from a setup.

use etalon_fabric::{Chain, Entering, Fabric, Hybrid, Stage};
use etalon_switch::{ConfigError, Probe, Sink, Switch};
use etalon_units::{Serializer, Span, Time};

use crate::setup::{NetworkSetup, StageSetup};

/// Either network.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // there is one
pub enum Network<H> {
    /// The hybrid switch.
    Rdcn(Hybrid<H>),
    /// Queues in a row.
    Dumbbell(Chain<H>),
}

impl<H: Copy> Network<H> {
    /// The network of a setup, at virtual time 0.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such switch.
    pub fn new(setup: &NetworkSetup) -> Result<Network<H>, ConfigError> {
        let stages = |setup: &[StageSetup]| setup.iter().map(stage).collect();
        Ok(match setup {
            NetworkSetup::Rdcn {
                config,
                schedule,
                bypass,
                ..
            } => {
                let switch = Switch::new(config.clone(), schedule.clone(), Time::ZERO)?;
                Network::Rdcn(Hybrid::new(switch, *bypass))
            }
            NetworkSetup::Dumbbell {
                stages: forward,
                back,
            } => Network::Dumbbell(Chain::new(stages(forward), stages(back))),
        })
    }

    /// The switch, to adopt weeks; none if there is none.
    #[inline]
    pub fn switch_mut(&mut self) -> Option<&mut Switch<H>> {
        match self {
            Network::Rdcn(hybrid) => Some(hybrid.switch_mut()),
            Network::Dumbbell(_) => None,
        }
    }
}

fn stage<H: Copy>(setup: &StageSetup) -> Stage<H> {
    let packets = setup.packets.unwrap_or(u32::MAX);
    Stage::new(setup.rate.map(Serializer::new), packets, setup.delay)
}

impl<H: Copy> Fabric<H> for Network<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Entering<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        match self {
            Network::Rdcn(hybrid) => hybrid.enqueue(now, packet, sink, probe),
            Network::Dumbbell(chain) => chain.enqueue(now, packet, sink, probe),
        }
    }

    #[inline]
    fn next_event(&self) -> Time {
        match self {
            Network::Rdcn(hybrid) => hybrid.next_event(),
            Network::Dumbbell(chain) => chain.next_event(),
        }
    }

    #[inline]
    fn next_departure(&self) -> Time {
        match self {
            Network::Rdcn(hybrid) => hybrid.next_departure(),
            Network::Dumbbell(chain) => chain.next_departure(),
        }
    }

    #[inline]
    fn shortest_passage(&self) -> Span {
        match self {
            Network::Rdcn(hybrid) => hybrid.shortest_passage(),
            Network::Dumbbell(chain) => chain.shortest_passage(),
        }
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        match self {
            Network::Rdcn(hybrid) => hybrid.advance(now, sink, probe),
            Network::Dumbbell(chain) => chain.advance(now, sink, probe),
        }
    }
}
