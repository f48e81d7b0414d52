//! Demand as end hosts know it.

use etalon_measure::Plan;
use etalon_measure::plan::EstimatorPlan;
use etalon_schedule::{Demand, DemandError, Ledger};
use etalon_switch::Pair;
use etalon_units::{Span, Time};

use crate::announce::Announce;

/// What an application that writes as much as the network takes always has outstanding: as much as Linux lets a
/// socket's send buffer grow to, 4 MiB.
const SEND_BUFFER: u64 = 4 << 20;

/// Knows demand.
pub(crate) trait KnowsDemand {
    /// Demand as known at `now`; none if hosts do not tell.
    fn demand(&mut self, now: Time) -> Option<Result<Demand, DemandError>>;
}

impl KnowsDemand for () {
    fn demand(&mut self, _: Time) -> Option<Result<Demand, DemandError>> {
        None
    }
}

/// An account of what streams have outstanding.
#[derive(Debug)]
pub(crate) struct HostDemand {
    ledger: Ledger,
    /// What counts as carried: what left the network, or else what left a VOQ.
    when_delivered: bool,
    /// By stream: its application writes as much as the network takes.
    endless: Vec<bool>,
}

impl HostDemand {
    /// For a run of `plan`; none if its demand is not known from hosts.
    pub(crate) fn of(plan: &Plan) -> Option<HostDemand> {
        let control = plan.control()?;
        let (delay, when_delivered) = match control.estimator {
            EstimatorPlan::Voq => return None,
            EstimatorPlan::Adu => (Span(control.report_ns), false),
            EstimatorPlan::Oracle => (Span::ZERO, true),
        };
        Some(HostDemand {
            ledger: Ledger::new(plan.racks(), delay),
            when_delivered,
            endless: Vec::new(),
        })
    }

    #[inline]
    fn carry(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        let new = self.ledger.carry(stream, offset, len);
        if self.endless[stream as usize] && new > 0 {
            self.ledger.announce(now, stream, new);
        }
    }
}

impl KnowsDemand for HostDemand {
    fn demand(&mut self, now: Time) -> Option<Result<Demand, DemandError>> {
        Some(self.ledger.demand(now))
    }
}

impl Announce for HostDemand {
    fn opened(&mut self, _flow: u32, pair: Pair) {
        self.ledger.open(pair);
        self.ledger.open(Pair {
            src: pair.dst,
            dst: pair.src,
        });
        self.endless.extend([false; 2]);
    }

    fn written(&mut self, now: Time, stream: u32, bytes: u64) {
        let endless = bytes == u64::MAX;
        self.endless[stream as usize] = endless;
        let bytes = if endless { SEND_BUFFER } else { bytes };
        self.ledger.announce(now, stream, bytes);
    }

    fn closed(&mut self, now: Time, stream: u32, killed: bool) {
        // What was written before an orderly close is sent all the same.
        if killed {
            self.ledger.withdraw(now, stream);
        }
    }

    #[inline]
    fn carried(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        if !self.when_delivered {
            self.carry(now, stream, offset, len);
        }
    }

    #[inline]
    fn delivered(&mut self, now: Time, stream: u32, offset: u32, len: u32) {
        if self.when_delivered {
            self.carry(now, stream, offset, len);
        }
    }
}
