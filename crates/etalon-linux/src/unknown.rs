// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counters that the kernel did not live to tell are -1 in the table of flows.

use etalon_events::Counter;
use etalon_measure::results::{Column, Table};

const COLUMNS: [(&str, Counter); 7] = [
    ("bytes_delivered", Counter::Received),
    ("bytes_warmup", Counter::Received),
    ("retransmits", Counter::Retransmits),
    ("rtos", Counter::Rtos),
    ("tlps", Counter::Tlps),
    ("recoveries", Counter::Recoveries),
    ("undos", Counter::Undos),
];

/// Puts -1 where a counter of a flow is not `known`.
pub(crate) fn mark(flows: &mut Table, known: impl Fn(usize, Counter) -> bool) {
    for (name, column) in flows {
        let Some((_, which)) = COLUMNS.iter().find(|(column, _)| column == name) else {
            continue;
        };
        if let Column::Integers(values) = column {
            for (flow, value) in values.iter_mut().enumerate() {
                if !known(flow, *which) {
                    *value = -1;
                }
            }
        }
    }
}
