//! The main loop: the earliest of the network's and the hosts' events, until the end.

use etalon_fabric::{Chain, Fabric, Hybrid, Stage};
use etalon_measure::plan::{DumbbellPlan, NetworkPlan, StagePlan};
use etalon_measure::results::{self, Outcome};
use etalon_measure::{Control, Meter, Metrics, Plan, PlanError, Results};
use etalon_schedule::{Controller, HostDemand};
use etalon_switch::{Probe, Switch};
use etalon_units::{Rate, Serializer, Span, Time};

use crate::announce::Announce;
use crate::packet::PacketId;
use crate::queue::Source;
use crate::steering::Steering;
use crate::world::{Tap, World};

/// Events between looks at the [`Control`], a power of two.
const REPORT_EVERY: u64 = 1 << 14;

/// Runs an experiment.
///
/// # Errors
/// [`PlanError`] if the plan contradicts itself or asks for what the simulator does not have.
pub fn run(plan: &Plan, control: &Control) -> Result<Results, PlanError> {
    run_tapped(plan, control, (), |metrics| metrics).map(|(results, _)| results)
}

/// A probe that contains the run's metrics.
pub(crate) trait Observer: Probe {
    fn metrics(&mut self) -> &mut Metrics;
}

impl Observer for Metrics {
    #[inline]
    fn metrics(&mut self) -> &mut Metrics {
        self
    }
}

/// Runs an experiment with a tap on packets and an observer made around the metrics.
pub(crate) fn run_tapped<T: Tap, O: Observer>(
    plan: &Plan,
    control: &Control,
    tap: T,
    observer: impl FnOnce(Metrics) -> O,
) -> Result<(Results, (T, O)), PlanError> {
    if !plan.programs.is_empty() {
        return Err(PlanError(
            "The simulator runs no programs: remove them from the plan, or run it on the Linux engine."
                .to_owned(),
        ));
    }
    let metrics = Metrics::new(plan)?;
    let meter = Meter::new(plan, &metrics);
    let observer = observer(metrics);
    let config = plan.control_config();
    match config.and_then(|config| HostDemand::new(plan.racks(), config.estimator)) {
        Some(demand) => run_announced(
            plan,
            control,
            World::new(plan, meter, tap, demand)?,
            observer,
        ),
        None => run_announced(plan, control, World::new(plan, meter, tap, ())?, observer),
    }
}

fn run_announced<T: Tap, A: Announce, O: Observer>(
    plan: &Plan,
    control: &Control,
    world: World<T, A>,
    observer: O,
) -> Result<(Results, (T, O)), PlanError> {
    match &plan.network {
        NetworkPlan::Rdcn(network) => {
            let switch = Switch::new(network.switch_config(), plan.schedule()?, Time::ZERO)
                .map_err(|e| PlanError(e.to_string()))?;
            let fabric = Hybrid::new(switch, network.ack_bypass_ns.map(Span));
            match plan.control_config() {
                None => drive(plan, control, fabric, (), world, observer),
                Some(config) => {
                    let controller = Controller::new(&config, plan.seed)
                        .map_err(|e| PlanError(e.to_string()))?;
                    drive(plan, control, fabric, controller, world, observer)
                }
            }
        }
        NetworkPlan::Dumbbell(network) => drive(plan, control, chain(network), (), world, observer),
    }
}

fn chain(plan: &DumbbellPlan) -> Chain<PacketId> {
    let stage = |s: &StagePlan| {
        Stage::new(
            s.rate_bps.map(|rate| Serializer::new(Rate(rate))),
            s.queue_packets.unwrap_or(u32::MAX),
            Span(s.delay_ns),
        )
    };
    Chain::new(
        plan.stages.iter().map(stage).collect(),
        plan.return_stages.iter().map(stage).collect(),
    )
}

fn drive<F: Fabric<PacketId>, R: Steering<F>, T: Tap, A: Announce, O: Observer>(
    plan: &Plan,
    control: &Control,
    mut fabric: F,
    mut steering: R,
    mut world: World<T, A>,
    mut observer: O,
) -> Result<(Results, (T, O)), PlanError> {
    let end = plan.end();
    // The end of the warm-up, then the end.
    let mut milestone = Time(plan.warmup_ns);
    let mut now = Time::ZERO;
    let mut events: u64 = 0;
    let mut partial = false;
    let mut done = false;
    loop {
        if plan.end_when_done && world.is_done() {
            done = true;
            break;
        }
        let inside = fabric.next_event();
        let outside = world.queue.next_time();
        let steered = steering.next_event(&fabric);
        let next = inside.min(outside).min(steered);
        if next >= milestone {
            if next >= end {
                break;
            }
            observer.metrics().begin();
            world.begin(next);
            milestone = end;
        }
        now = next;
        events += 1;
        if events & (REPORT_EVERY - 1) == 0 && !control.report(now.0, end.0) {
            partial = true;
            break;
        }
        if steered <= now {
            let hosts = world.announce.demand();
            steering.step(now, &mut fabric, hosts, observer.metrics())?;
            continue;
        }
        if inside <= outside {
            fabric.advance(now, &mut world, &mut observer);
            world.meter.follow_runs(observer.metrics());
            continue;
        }
        let Some(source) = world.queue.first() else {
            break;
        };
        if let Source::Host(host) = source {
            let pipe = &mut world.hosts[host as usize];
            let Some(id) = pipe.arrive() else {
                break;
            };
            world.queue.move_host(host, pipe.next());
            let packet = world.pool.get_mut(id);
            if packet.pair.src == packet.pair.dst {
                world.deliver_within_rack(now, id);
                continue;
            }
            world.tap.entered(now, packet);
            let packet = packet.entering(id);
            fabric.enqueue(now, packet, &mut world, &mut observer);
        } else {
            world.wake(now, source);
        }
    }
    let stopped_at = if partial || done { now } else { end };
    control.report(stopped_at.0, end.0);
    if stopped_at < Time(plan.warmup_ns) {
        // Nothing of the warm-up is a result.
        observer.metrics().begin();
        world.begin(stopped_at);
    }
    observer.metrics().finish(stopped_at);
    world.meter.finish(stopped_at);
    let results = results::collect(&Outcome {
        plan,
        metrics: observer.metrics(),
        meter: &world.meter,
        flows: &world.facts(),
        opened: world.flows.opened(),
        writes: &world.writes(),
        end: stopped_at,
        partial,
        events,
        peak_in_network: world.pool.peak(),
    })?;
    Ok((results, (world.tap, observer)))
}
