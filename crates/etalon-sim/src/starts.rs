//! When flows of a plan begin.

use etalon_scenario::Scenario;
use etalon_units::Time;

/// The numbers of the plan's flows in the order in which they connect and start: twice where these are two instants.
#[derive(Debug)]
pub(crate) struct Starts {
    order: Vec<(Time, u32)>,
    next: usize,
}

impl Starts {
    pub(crate) fn new(plan: &Scenario) -> Starts {
        let mut order: Vec<(Time, u32)> = Vec::with_capacity(plan.flows.len());
        for (index, flow) in plan.flows.iter().enumerate() {
            let (connects, starts) = (flow.connects(), flow.start);
            if connects < starts {
                order.push((connects, index as u32));
            }
            order.push((starts, index as u32));
        }
        order.sort_unstable();
        Starts { order, next: 0 }
    }

    /// The next flow to connect or to start, and when.
    pub(crate) fn take(&mut self) -> Option<(Time, u32)> {
        let first = self.order.get(self.next).copied();
        self.next += 1;
        first
    }
}
