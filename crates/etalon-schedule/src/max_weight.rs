// SPDX-License-Identifier: MIT OR Apache-2.0
//! One configuration a week: the matching of most demand.

use etalon_switch::Schedule;

use crate::assignment::largest_assignment;
use crate::decompose::circuits;
use crate::demand::Demand;
use crate::fit::{Day, fit};
use crate::params::Params;
use crate::scheduler::{CannotSchedule, Scheduler};

/// The maximum-weight matching of the demand matrix for the whole week, as in Helios (Farrington et al.) and c-Through
/// (Wang et al.), both SIGCOMM 2010.
#[derive(Clone, Copy, Debug, Default)]
pub struct MaxWeight;

impl Scheduler for MaxWeight {
    fn schedule(&mut self, demand: &Demand, params: &Params) -> Result<Schedule, CannotSchedule> {
        // Entries may be as large as 2^62; halved, they fit the assignment, and only ties of one byte are lost.
        let large = demand.entries().iter().any(|&bytes| bytes >= 1 << 61);
        let weights: alloc::vec::Vec<u64> = demand
            .entries()
            .iter()
            .map(|bytes| bytes >> u32::from(large))
            .collect();
        let assigned = largest_assignment(demand.racks(), &weights);
        let pairs = (0..demand.racks()).zip(assigned);
        let pairs = pairs.filter(|&(src, dst)| demand.row(src)[usize::from(dst)] > 0);
        let day = Day {
            matching: circuits(usize::from(demand.racks()), pairs),
            length: params.window().as_nanos(),
        };
        Ok(fit([day].into(), demand.racks(), params))
    }
}
