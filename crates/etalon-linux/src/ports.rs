// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether there are ports for a flow's subflows.

use etalon_scenario::{MOST_MPTCP, Transport};

/// A flow whose subflows have no ports left, in words.
pub(crate) fn check_ports(flow: usize, transport: &Transport) -> Result<(), String> {
    if transport.subflows() > 1 && flow >= usize::from(MOST_MPTCP) {
        return Err(format!(
            "Flow {flow}: on Linux there are ports for the subflows of the first {MOST_MPTCP} flows."
        ));
    }
    Ok(())
}
