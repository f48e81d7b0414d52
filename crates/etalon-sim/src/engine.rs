// SPDX-License-Identifier: MIT OR Apache-2.0
//! The main loop: the earliest of the network's and the hosts' events, until the end.

use etalon_measure::results::{self, Outcome};
use etalon_measure::{Control, Live, Metrics, Observer, Results};
use etalon_net::{Advanced, Milestone, Net, Network, Visitor, visit};
use etalon_scenario::{Flow, Scenario, ScenarioError, Transport};
use etalon_schedule::{Awaited, Change, ComputedWeek};
use etalon_switch::Event;
use etalon_units::Time;

use crate::coming::Streamed;
use crate::packet::PacketId;
use crate::plugins::Plugins;
use crate::spray::Sprays;
use crate::stack;
use crate::tap::{Extras, Plain, Tap};
use crate::telemetry;
use crate::world::World;

/// Events between looks at the [`Control`].
const REPORT_EVERY: u32 = 1 << 14;

/// Runs an experiment.
///
/// # Errors
/// [`ScenarioError`] if the plan contradicts itself or asks for what the simulator does not have.
pub fn run(plan: &Scenario, control: &Control) -> Result<Results, ScenarioError> {
    run_with(plan, control, Plugins::default())
}

/// Runs an experiment with what its user lends.
///
/// # Errors
/// As [`run`], and if what is lent fails.
pub fn run_with(
    plan: &Scenario,
    control: &Control,
    plugins: Plugins,
) -> Result<Results, ScenarioError> {
    let observer = |metrics| metrics;
    if has_extras(plan, &plan.flows) {
        run_tapped(plan, control, plugins, Extras, observer).map(|run| run.0)
    } else if is_plain(plan) {
        run_tapped(plan, control, plugins, Plain, observer).map(|run| run.0)
    } else {
        run_tapped(plan, control, plugins, (), observer).map(|run| run.0)
    }
}

/// Runs an experiment whose flows come and go.
pub(crate) fn run_streamed(
    plan: &Scenario,
    control: &Control,
    plugins: Plugins,
    streamed: &mut Streamed<'_>,
) -> Result<Results, ScenarioError> {
    let observer = |metrics| metrics;
    match has_extras(plan, &streamed.kinds) {
        true => drive(plan, control, plugins, Extras, observer, Some(streamed)).map(|run| run.0),
        false => drive(plan, control, plugins, (), observer, Some(streamed)).map(|run| run.0),
    }
}

/// Whether a run with such flows has what [`Tap::EXTRAS`] is about.
fn has_extras(plan: &Scenario, flows: &[Flow]) -> bool {
    telemetry::is_wanted(plan, flows) || Sprays::new(plan).any()
}

/// Whether a run without extras is [plain](Tap::PLAIN).
fn is_plain(plan: &Scenario) -> bool {
    let is_common =
        |flow: &Flow| flow.transport.is_tcp() && !matches!(*flow.transport, Transport::Mptcp(_));
    let is_followed = !plan.measure.flows.is_empty() || plan.measure.reordering;
    let is_told = plan.notify().is_some();
    let holds = !matches!(plan.nights(), Ok(None));
    let is_uncommon =
        plan.has_applications() || is_followed || is_told || holds || stack::announces(plan);
    !is_uncommon && plan.flows.iter().all(is_common)
}

/// Runs an experiment with a tap on packets and an observer made around the metrics.
pub(crate) fn run_tapped<T: Tap, O: Observer>(
    plan: &Scenario,
    control: &Control,
    plugins: Plugins,
    tap: T,
    observer: impl FnOnce(Metrics) -> O,
) -> Result<(Results, (T, O)), ScenarioError> {
    drive(plan, control, plugins, tap, observer, None)
}

fn drive<T: Tap, O: Observer>(
    plan: &Scenario,
    control: &Control,
    plugins: Plugins,
    tap: T,
    observer: impl FnOnce(Metrics) -> O,
    streamed: Option<&mut Streamed<'_>>,
) -> Result<(Results, (T, O)), ScenarioError> {
    if !plan.programs.is_empty() {
        return Err(ScenarioError(
            "The simulator runs no programs: remove them from the plan, or run it on the Linux engine."
                .to_owned(),
        ));
    }
    debug_assert!(!T::PLAIN || streamed.is_none() && is_plain(plan));
    let observer = observer(Metrics::new(plan));
    let drive = Drive {
        plan,
        control,
        plugins,
        tap,
        observer,
        streamed,
    };
    visit(plan, drive).map_err(ScenarioError::new)?
}

/// Turns of the main loop, counted down to the next look: one number changes with each.
struct Turns {
    ahead: u32,
    looks: u64,
}

impl Turns {
    fn new() -> Turns {
        Turns {
            ahead: REPORT_EVERY,
            looks: 0,
        }
    }

    /// One more. Whether it is time to look.
    #[inline]
    fn pass(&mut self) -> bool {
        self.ahead -= 1;
        if self.ahead > 0 {
            return false;
        }
        self.ahead = REPORT_EVERY;
        self.looks += 1;
        true
    }

    /// How many there were.
    fn count(&self) -> u64 {
        (self.looks + 1) * u64::from(REPORT_EVERY) - u64::from(self.ahead)
    }
}

/// A run, whatever the network.
struct Drive<'a, 's, T, O> {
    plan: &'a Scenario,
    control: &'a Control,
    plugins: Plugins,
    tap: T,
    observer: O,
    /// Where flows come from, if the plan does not list them.
    streamed: Option<&'a mut Streamed<'s>>,
}

impl<T: Tap, O: Observer> Visitor<PacketId> for Drive<'_, '_, T, O> {
    type Answer = Result<(Results, (T, O)), ScenarioError>;

    fn visit<N: Network<PacketId>>(self, network: N) -> Self::Answer {
        let (plan, control, mut observer) = (self.plan, self.control, self.observer);
        let (mut scheduler, plugins) = self.plugins.split();
        let mut net = net(plan, network, observer.may_hear_late())?;
        let metrics = observer.metrics();
        let sources = (self.streamed, plugins);
        let mut world = World::new(plan, sources, metrics, self.tap, net.edge_mut())?;
        let mut turns = Turns::new();
        let mut partial = false;
        let end = loop {
            match net.advance(world.queue.next_time(), &mut world, &mut observer) {
                Advanced::Edge => {}
                Advanced::Network if net.network_mut().switch().is_none() => {}
                Advanced::Network => world.meter.follow_runs(observer.metrics()),
                Advanced::Not => {
                    let now = world.queue.next_time();
                    if let Some(wake) = world.queue.take() {
                        world.wake(now, wake, net.edge_mut());
                    }
                }
                Advanced::Week(now) if plan.asked().is_some() => {
                    let (answers, changes) = net.answer(now);
                    changes.iter().for_each(|c| observer.on(now, changing(c)));
                    world.answered(now, answers, net.edge_mut());
                }
                Advanced::Week(now) => {
                    let lent = scheduler.as_deref_mut().map(|s| s as _);
                    let week = net.compute(now, lent).map_err(ScenarioError::new)?;
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
            if turns.pass() {
                let now = net.next_event().min(world.queue.next_time());
                if !goes_on(now, (plan, control), &mut world, &mut observer) {
                    partial = true;
                    net.edge_mut().end(now);
                }
            }
        };
        control.report(end.0, plan.end().0);
        tell_awaited(end, net, &mut observer); // the net goes first, as are the packets: the tables find room where they were
        if let Some(failure) = world.failure() {
            return Err(ScenarioError::new(failure));
        }
        Ok(measured(
            plan,
            (end, partial),
            turns.count(),
            world,
            observer,
        ))
    }
}

/// What a run has measured that is over.
fn measured<T: Tap, O: Observer>(
    plan: &Scenario,
    (end, partial): (Time, bool),
    events: u64,
    mut world: World<'_, '_, T>,
    mut observer: O,
) -> (Results, (T, O)) {
    observer.metrics().finish(end);
    world.finish(end);
    let others = world.hosts.take().map_or(0, |hosts| hosts.parcels.peak());
    let peak_in_network = std::mem::take(&mut world.pool).peak() + others;
    let (facts, writes, jobs) = (world.facts(), world.writes(), world.take_job_rows());
    let (meter, opened, tap) = world.into_what_is_left();
    let results = results::collect(&Outcome {
        plan,
        metrics: observer.metrics(),
        meter: &meter,
        flows: &facts,
        opened: &opened,
        writes: &writes,
        jobs: &jobs,
        end,
        partial,
        events,
        peak_in_network,
    });
    (results, (tap, observer))
}

/// A circuit changes for a job.
fn changing(
    &Change {
        job,
        connect,
        asked,
    }: &Change,
) -> Event {
    Event::Changing {
        pair: connect.pair,
        plane: connect.plane,
        by: job,
        program: false,
        asked,
    }
}

/// Says who still waits for circuits, and who has what is in their way.
#[cold]
fn tell_awaited<N: Network<PacketId>>(
    end: Time,
    net: Net<PacketId, N>,
    observer: &mut impl Observer,
) {
    let awaited = net.awaited();
    drop(net);
    for Awaited { change, kept } in awaited {
        let Change {
            job,
            connect,
            asked,
        } = change;
        let awaited = Event::Awaited {
            pair: connect.pair,
            plane: connect.plane,
            by: job,
            program: false,
            asked,
        };
        observer.on(end, awaited);
        for (connect, by) in kept {
            let kept = Event::Kept {
                pair: connect.pair,
                plane: connect.plane,
                by,
                program: false,
            };
            observer.on(end, kept);
        }
    }
}

/// Says how far the run is, and what it has measured so far if that was asked for. Whether it is to go on.
#[cold]
fn goes_on<T: Tap, O: Observer>(
    now: Time,
    (plan, control): (&Scenario, &Control),
    world: &mut World<'_, '_, T>,
    observer: &mut O,
) -> bool {
    if control.asked() {
        let flows = world.facts();
        control.tell(Live::of(
            plan,
            now,
            observer.metrics(),
            &world.meter,
            &flows,
        ));
    }
    world.hand_over(now, false) && control.report(now.0, plan.end().0)
}

fn net<N: Network<PacketId>>(
    plan: &Scenario,
    mut network: N,
    may_hear_late: bool,
) -> Result<Net<PacketId, N>, ScenarioError> {
    // An ACK that goes around the switch does not wake its pair, of which the queue in front of a host is heard.
    let goes_around = plan.network.kind().has_ack_bypass();
    if let (Some(switch), true) = (network.switch_mut(), may_hear_late && !goes_around) {
        switch.let_idle_pairs_sleep(plan.measure.pair);
    }
    let milestones = (plan.begin(), plan.end());
    let mut net = Net::new(
        plan.hosts,
        network,
        plan.computed(),
        plan.notify(),
        plan.seed,
        milestones,
    )
    .map_err(ScenarioError::new)?;
    if let Some(asked) = plan.asked() {
        net.take_requests(asked, plan.first_circuits());
    }
    if let Some(nights) = plan.nights()? {
        net.edge_mut().hold_in(nights);
    }
    Ok(net)
}

#[cfg(test)]
#[path = "../tests/common/mod.rs"]
#[allow(unused_imports, unreachable_pub)]
mod common;

#[cfg(test)]
mod tests {
    use super::{common, is_plain};
    use serde_json::{Value, json};

    #[test]
    fn a_plan_of_tcp_is_plain_until_packets_have_something_to_be_asked() {
        let notify =
            json!({"before_ns": 0, "delay_ns": 1000, "jitter_ns": 0, "lost_ppm": 0, "each_ns": 0});
        let mptcp = json!({"mptcp": {"subflows": 2, "scheduler": "tdm", "acks": "pinned", "reinject": true}});
        let uncommon: [(&str, Value); 5] = [
            ("/measure/flows", json!([0])),
            ("/measure/reordering", json!(true)),
            ("/network/rdcn/hold", json!(true)),
            ("/network/rdcn/notify", notify),
            ("/flows/3/transport", mptcp),
        ];
        let plan = common::strobe(1, 16);
        assert!(is_plain(&common::plan(&plan)));
        for (key, value) in uncommon {
            let mut plan = plan.clone();
            let (table, key) = key.rsplit_once('/').expect("a key");
            plan.pointer_mut(table).expect("a table")[key] = value;
            assert!(!is_plain(&common::plan(&plan)), "{table}/{key}");
        }
    }
}
