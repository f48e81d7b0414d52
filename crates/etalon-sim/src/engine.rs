//! The main loop: the earliest of the network's and the hosts' events, until the end.

use etalon_measure::plan::{DumbbellPlan, NetworkPlan, StagePlan};
use etalon_measure::results::{self, Outcome};
use etalon_measure::{Control, Meter, Metrics, Plan, PlanError, Results};
use etalon_net::{Advanced, Chain, Hosts, Hybrid, Milestone, Net, Network, Stage};
use etalon_schedule::ComputedWeek;
use etalon_switch::{Probe, Switch};
use etalon_units::{Rate, Serializer, Span, Time};

use crate::packet::PacketId;
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
    let observer = observer(Metrics::new(plan)?);
    match &plan.network {
        NetworkPlan::Rdcn(network) => {
            let switch = Switch::new(network.switch_config(), plan.schedule()?, Time::ZERO)
                .map_err(|e| PlanError(e.to_string()))?;
            let hybrid = Hybrid::new(switch, network.ack_bypass_ns.map(Span));
            drive(plan, control, hybrid, tap, observer)
        }
        NetworkPlan::Dumbbell(network) => drive(plan, control, chain(network), tap, observer),
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

fn net<N: Network<PacketId>>(plan: &Plan, network: N) -> Result<Net<PacketId, N>, PlanError> {
    let host = plan.host();
    let hosts = Hosts {
        racks: plan.racks(),
        in_rack: plan.hosts(),
        rate: Rate(host.rate_bps),
        delay: Span(host.delay_ns),
        jitter: Span(host.jitter_ns),
        downlink_queue: None,
    };
    let milestones = (Time(plan.warmup_ns), plan.end());
    let control = plan.control_config();
    Net::new(hosts, network, control.as_ref(), plan.seed, milestones)
        .map_err(|e| PlanError(e.to_string()))
}

fn drive<N: Network<PacketId>, T: Tap, O: Observer>(
    plan: &Plan,
    control: &Control,
    network: N,
    tap: T,
    mut observer: O,
) -> Result<(Results, (T, O)), PlanError> {
    let mut net = net(plan, network)?;
    let meter = Meter::new(plan, observer.metrics());
    let mut world = World::new(plan, meter, tap, net.edge_mut())?;
    let mut events: u64 = 0;
    let mut partial = false;
    let end = loop {
        match net.advance(world.queue.next_time(), &mut world, &mut observer) {
            Advanced::Edge => {}
            Advanced::Network => world.meter.follow_runs(observer.metrics()),
            Advanced::Not => {
                let now = world.queue.next_time();
                if let Some(wake) = world.queue.take() {
                    world.wake(now, wake, net.edge_mut());
                }
            }
            Advanced::Week(now) => {
                let week = net.compute(now).map_err(|e| PlanError(e.to_string()))?;
                if let Some(ComputedWeek { time, demand, week }) = week {
                    observer.metrics().computed(time, demand.entries(), &week);
                }
            }
            Advanced::Milestone(now, Milestone::Begin) => {
                observer.metrics().begin();
                world.begin(now);
                continue;
            }
            Advanced::Milestone(now, Milestone::End) => break now,
        }
        events += 1;
        if events & (REPORT_EVERY - 1) == 0 {
            let now = net.next_event().min(world.queue.next_time());
            if !control.report(now.0, plan.end().0) {
                partial = true;
                net.edge_mut().end(now);
            }
        }
    };
    control.report(end.0, plan.end().0);
    observer.metrics().finish(end);
    world.meter.finish(end);
    let results = results::collect(&Outcome {
        plan,
        metrics: observer.metrics(),
        meter: &world.meter,
        flows: &world.facts(),
        opened: world.flows.opened(),
        writes: &world.writes(),
        end,
        partial,
        events,
        peak_in_network: world.pool.peak(),
    })?;
    Ok((results, (world.tap, observer)))
}
