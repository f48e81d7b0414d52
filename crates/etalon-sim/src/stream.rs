// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that come while a run lasts, in the order in which they start, instead of being listed in its plan; and go when
//! they are over, so that memory is that of the flows which are open.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt;

use etalon_measure::{Control, Results};
use etalon_net::Edge;
use etalon_scenario::{Flow, Scenario, ScenarioError, Transport};
use etalon_units::Time;

use crate::coming::{Failure, Stream, Streamed};
use crate::engine;
use crate::packet::PacketId;
use crate::plugins::Plugins;
use crate::queue::Wake;
use crate::stack::downgrade_of;
use crate::tap::Tap;
use crate::world::World;

/// Rows that are handed over together.
const ROWS: usize = 1 << 15;
/// Why there are no results.
#[derive(Debug)]
pub enum StreamError {
    /// The plan contradicts itself, or asks for what the simulator does not have.
    Plan(ScenarioError),
    /// What went wrong with the stream.
    Stream(Failure),
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Plan(error) => error.fmt(f),
            StreamError::Stream(error) => error.fmt(f),
        }
    }
}

impl Error for StreamError {}

/// Runs an experiment whose flows come from `stream`. The flows of the plan are none: they are the kinds that there are of
/// them, of which everything holds but who sends what when.
///
/// The table of flows of the results is empty.
///
/// # Errors
/// [`StreamError`] if the plan contradicts itself or asks for what such a run does not have, and if the stream fails.
pub fn run_stream(
    mut plan: Scenario,
    control: &Control,
    plugins: Plugins,
    stream: &mut dyn Stream,
) -> Result<Results, StreamError> {
    check(&plan).map_err(|why| StreamError::Plan(ScenarioError(why.to_owned())))?;
    let kinds = std::mem::take(&mut plan.flows);
    let mut streamed = Streamed {
        stream,
        kinds,
        batch: Vec::new(),
        given: 0,
        came: 0,
        last: Time::ZERO,
        gave_up: BTreeSet::new(),
        failure: None,
    };
    let results = engine::run_streamed(&plan, control, plugins, &mut streamed);
    match streamed.failure {
        Some(failure) => Err(StreamError::Stream(failure)),
        None => results.map_err(StreamError::Plan),
    }
}

/// Refuses what needs to know of flows before they come, or after they have gone.
fn check(plan: &Scenario) -> Result<(), &'static str> {
    let mptcp = |flow: &Flow| matches!(*flow.transport, Transport::Mptcp(_));
    let ahead = |flow: &Flow| flow.connect.is_some();
    let refused = [
        (
            plan.flows.iter().any(mptcp),
            "MPTCP carries no flows that come as a stream",
        ),
        (
            plan.flows.iter().any(ahead),
            "flows that come as a stream connect when they start",
        ),
        (
            !plan.dfsio.is_empty() || !plan.jobs.is_empty(),
            "jobs cannot be beside flows that come as a stream",
        ),
        (
            !plan.generators.is_empty(),
            "generators cannot be beside flows that come as a stream",
        ),
        (
            !plan.measure.flows.is_empty(),
            "measure.flows: flows come as a stream",
        ),
        (
            plan.measure.reordering,
            "measure.reordering: flows come as a stream",
        ),
        (
            plan.control()
                .is_some_and(|control| control.estimator != etalon_scenario::Estimator::Voq),
            "hosts announce no demand of flows that come as a stream",
        ),
    ];
    let first = refused.into_iter().find(|(wrong, _)| *wrong);
    first.map_or(Ok(()), |(_, why)| Err(why))
}

impl<T: Tap> World<'_, '_, T> {
    /// Sets the event for the next flow that comes.
    pub(crate) fn await_coming(&mut self) {
        let Some(streamed) = &mut self.streamed else {
            return;
        };
        let Some(next) = streamed.next(self.flows.hosts()) else {
            return;
        };
        let (number, flow) = (next.number, &next.flow);
        self.queue.push(flow.start, Wake::Start(number));
        if let Some(stop) = flow.stop {
            self.queue.push(stop, Wake::Stop(number));
        }
        if let Some(time) = downgrade_of(&flow.transport).filter(|&time| time >= flow.start) {
            self.queue.push(time, Wake::Downgrade(number));
        }
        self.unfinished += 1;
        self.flows.expect(next);
    }

    /// Closes the rows of flows that are over. Their places are free again.
    pub(crate) fn close_ended(&mut self, now: Time) {
        let Some(streamed) = &mut self.streamed else {
            return;
        };
        let meter = &mut self.meter;
        self.flows.forget_ended(|row, ended, facts| {
            if ended.flow.stop.is_some_and(|stop| stop > now) && !meter.has_ended(row) {
                streamed.gave_up.insert(ended.number);
            }
            meter.close(row, ended.who(), &facts);
        });
    }

    /// A flow that may be over is to be killed. Returns whether it is.
    pub(crate) fn is_gone(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) -> bool {
        if self.streamed.is_none() || !self.flows.is_over(flow) {
            return false;
        }
        self.close_ended(now);
        let gave_up = |streamed: &mut &mut Streamed<'_>| streamed.gave_up.remove(&flow);
        if self.streamed.as_mut().is_some_and(gave_up) {
            self.finish_flow(now, edge);
        }
        true
    }

    /// Hands over rows, if there are enough of them or it is the `last` time. Whether the run is to go on.
    pub(crate) fn hand_over(&mut self, now: Time, last: bool) -> bool {
        self.close_ended(now);
        let Some(streamed) = &mut self.streamed else {
            return true;
        };
        let rows = self.meter.ended();
        if streamed.failure.is_none() && (rows >= ROWS || last && rows > 0) {
            streamed.failure = streamed.stream.take(self.meter.take_ended()).err();
        }
        streamed.failure.is_none()
    }

    /// The run ends: flows that came and are open are over.
    pub(crate) fn finish(&mut self, now: Time) {
        self.meter.finish(now);
        if self.streamed.is_none() {
            return;
        }
        self.close_ended(now);
        for (row, flow, facts) in self.flows.open_streamed() {
            self.meter.close(row, flow.who(), &facts);
        }
        self.flows.leave();
        self.hand_over(now, true);
    }
}
