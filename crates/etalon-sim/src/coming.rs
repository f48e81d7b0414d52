// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that come while a run lasts: where they come from, those that have come, and what is remembered of those that are gone.

use std::collections::BTreeSet;

use etalon_measure::Who;
use etalon_measure::results::Table;
use etalon_scenario::{Flow, HostId, Hosts};
use etalon_units::Time;

/// Flows of a run: an endpoint's number, two for each, has 32 bits.
const MOST_FLOWS: u32 = 1 << 31;

/// Why flows did not come, or their rows could not be taken.
pub use etalon_jobs::Failure;

/// Where flows come from, and who takes their rows when they are over.
pub trait Stream {
    /// Adds the flows that come next to `batch`, in the order in which they start; none if there are no more.
    ///
    /// # Errors
    /// Whatever went wrong, which ends the run.
    fn come(&mut self, batch: &mut Vec<Coming>) -> Result<(), Failure>;

    /// Takes rows of flows that are over.
    ///
    /// # Errors
    /// Whatever went wrong, which ends the run.
    fn take(&mut self, rows: Table) -> Result<(), Failure>;
}

/// A flow that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coming {
    /// When it connects and starts, not before the one before it.
    pub start: Time,
    /// The sender.
    pub src: HostId,
    /// The receiver.
    pub dst: HostId,
    /// Bytes to send; none for a bulk flow without end.
    pub bytes: Option<u64>,
    /// When it is killed, after its start, if ever.
    pub stop: Option<Time>,
    /// The number of the flow of the plan that says the rest.
    pub kind: u32,
}

/// The flows of a run that come, and what is remembered of those that are gone.
pub(crate) struct Streamed<'s> {
    pub(crate) stream: &'s mut dyn Stream,
    pub(crate) kinds: Vec<Flow>,
    pub(crate) batch: Vec<Coming>,
    /// How many of the batch have come.
    pub(crate) given: usize,
    /// How many flows have come.
    pub(crate) came: u32,
    pub(crate) last: Time,
    /// Flows whose sender gave up before they were to be killed: a run that ends when all are over waits for that.
    pub(crate) gave_up: BTreeSet<u32>,
    pub(crate) failure: Option<Failure>,
}

/// A flow that has come, while it is open or about to be.
#[derive(Debug)]
pub(crate) struct StreamedFlow {
    pub(crate) number: u32,
    pub(crate) kind: u32,
    pub(crate) flow: Flow,
}

impl StreamedFlow {
    pub(crate) fn who(&self) -> Who<'_> {
        Who {
            number: self.number,
            kind: self.kind,
            flow: &self.flow,
        }
    }
}

impl Streamed<'_> {
    /// The next flow, which comes now; none if there are no more, or if they failed to come.
    pub(crate) fn next(&mut self, hosts: &Hosts) -> Option<StreamedFlow> {
        if self.failure.is_some() {
            return None;
        }
        if self.given == self.batch.len() {
            self.given = 0;
            self.batch.clear();
            if let Err(failure) = self.stream.come(&mut self.batch) {
                self.failure = Some(failure);
                return None;
            }
        }
        let coming = *self.batch.get(self.given)?;
        if let Err(why) = self.check(&coming, hosts) {
            self.failure = Some(format!("flow {}: {why}", self.came).into());
            return None;
        }
        let flow = Flow {
            src_rack: coming.src.rack(),
            src_host: coming.src.number(),
            dst_rack: coming.dst.rack(),
            dst_host: coming.dst.number(),
            start: coming.start,
            stop: coming.stop,
            bytes: coming.bytes,
            ..self.kinds[coming.kind as usize].clone()
        };
        let number = self.came;
        (self.given, self.came, self.last) = (self.given + 1, self.came + 1, coming.start);
        Some(StreamedFlow {
            number,
            kind: coming.kind,
            flow,
        })
    }

    fn check(&self, coming: &Coming, hosts: &Hosts) -> Result<(), &'static str> {
        let Coming { src, dst, .. } = *coming;
        let wrong = [
            (self.came == MOST_FLOWS, "there are too many flows"),
            (!hosts.has(src) || !hosts.has(dst), "there is no such host"),
            (src == dst, "its host would send to itself"),
            (coming.bytes == Some(0), "it has nothing to send"),
            (
                coming.start < self.last,
                "it starts before the flow before it",
            ),
            (
                coming.stop.is_some_and(|stop| stop <= coming.start),
                "it is killed before it starts",
            ),
            (
                coming.kind as usize >= self.kinds.len(),
                "there is no such kind of flow",
            ),
        ];
        let first = wrong.into_iter().find(|(wrong, _)| *wrong);
        first.map_or(Ok(()), |(_, why)| Err(why))
    }
}
