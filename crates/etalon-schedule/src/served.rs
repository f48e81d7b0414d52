// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a week serves of a demand.

use etalon_switch::Schedule;
use etalon_units::{Rate, Span};

use crate::demand::Demand;

/// A demand divided into what the circuits of one week carry and what they leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Bytes that circuits carry.
    pub circuits: Demand,
    /// Bytes that are left over, for the packet network or the next week.
    pub left: Demand,
    /// Circuit time in which there is nothing to send, summed over all racks' uplinks: racks x window less the time
    /// that circuits are in use. Nights are part of it.
    pub idle: Span,
}

/// What one week of `schedule` carries of `demand` on circuits of `rate`, if all demand is there when the week starts.
///
/// # Panics
/// If schedule and demand are of different numbers of racks.
#[must_use]
pub fn served(schedule: &Schedule, demand: &Demand, rate: Rate) -> Served {
    assert_eq!(schedule.racks(), demand.racks(), "numbers of racks differ");
    let racks = usize::from(demand.racks());
    let mut up = alloc::vec![Span::ZERO; racks * racks];
    for configuration in schedule.configurations() {
        for pair in configuration.matching.pairs() {
            up[usize::from(pair.src) * racks + usize::from(pair.dst)] += configuration.day;
        }
    }
    let circuits = demand.lowered(|pair, _| {
        let up = up[usize::from(pair.src) * racks + usize::from(pair.dst)];
        rate.bytes_in(up)
    });
    let left = demand.lowered(|pair, bytes| bytes - circuits.bytes(pair));
    let used = circuits
        .entries()
        .iter()
        .fold(Span::ZERO, |sum, &bytes| sum + rate.span_of(bytes));
    let idle = (schedule.week() * racks as u64).saturating_sub(used);
    Served {
        circuits,
        left,
        idle,
    }
}

#[cfg(test)]
mod tests {
    use etalon_switch::{Configuration, Matching, Plane};

    use super::*;

    #[test]
    fn a_day_carries_its_time_times_the_rate() {
        let day = |source_of: [Option<u16>; 2], day| Configuration {
            matching: Matching::new(source_of.into()).unwrap(),
            day: Span(day),
            night: Span(100),
            plane: Plane::CIRCUIT,
        };
        // Rack 0 has 300 ns to rack 1, rack 1 has 200 ns to rack 0; 8 Gb/s is a byte a nanosecond.
        let week = Schedule::new([day([Some(1), Some(0)], 200), day([None, Some(0)], 100)].into());
        let demand: Demand = "0 1000\n50 0".parse().unwrap();
        let served = served(&week.unwrap(), &demand, Rate::from_gbps(8));
        assert_eq!(served.circuits, "0 300\n50 0".parse().unwrap());
        assert_eq!(served.left, "0 700\n0 0".parse().unwrap());
        assert_eq!(served.idle, Span(2 * 500 - 350));
    }
}
