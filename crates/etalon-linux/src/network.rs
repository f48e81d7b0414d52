//! The experiment's network outside the kernel: the same crates, made from the same setup.

use etalon_driver::setup::{NetworkSetup, Setup, StageSetup};
use etalon_fabric::{Chain, Entering, Fabric, Hybrid, Stage};
use etalon_switch::{Probe, Sink, Switch};
use etalon_units::{Serializer, Span, Time};

/// The network of a setup.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // there is one
pub(crate) enum Network<H> {
    Rdcn(Hybrid<H>),
    Dumbbell(Chain<H>),
}

impl<H: Copy> Network<H> {
    /// The error is a sentence.
    pub(crate) fn new(setup: &Setup) -> Result<Network<H>, String> {
        Ok(match &setup.network {
            NetworkSetup::Rdcn {
                config,
                schedule,
                bypass,
            } => {
                let switch = Switch::new(config.clone(), schedule.clone(), Time::ZERO)
                    .map_err(|e| e.to_string())?;
                Network::Rdcn(Hybrid::new(switch, *bypass))
            }
            NetworkSetup::Dumbbell { stages, back } => {
                Network::Dumbbell(Chain::new(chain(stages), chain(back)))
            }
        })
    }
}

fn chain<H: Copy>(stages: &[StageSetup]) -> Vec<Stage<H>> {
    stages
        .iter()
        .map(|s| {
            Stage::new(
                s.rate.map(Serializer::new),
                s.packets.unwrap_or(u32::MAX),
                s.delay,
            )
        })
        .collect()
}

impl<H: Copy> Fabric<H> for Network<H> {
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Entering<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        match self {
            Network::Rdcn(network) => network.enqueue(now, packet, sink, probe),
            Network::Dumbbell(network) => network.enqueue(now, packet, sink, probe),
        }
    }

    fn next_event(&self) -> Time {
        match self {
            Network::Rdcn(network) => network.next_event(),
            Network::Dumbbell(network) => network.next_event(),
        }
    }

    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        match self {
            Network::Rdcn(network) => network.advance(now, sink, probe),
            Network::Dumbbell(network) => network.advance(now, sink, probe),
        }
    }

    fn next_departure(&self) -> Time {
        match self {
            Network::Rdcn(network) => network.next_departure(),
            Network::Dumbbell(network) => network.next_departure(),
        }
    }

    fn shortest_passage(&self) -> Span {
        match self {
            Network::Rdcn(network) => network.shortest_passage(),
            Network::Dumbbell(network) => network.shortest_passage(),
        }
    }
}
