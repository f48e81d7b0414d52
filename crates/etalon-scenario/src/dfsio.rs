// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs that write files to HDFS.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;

use etalon_units::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::transport::Transport;

/// A job of tasks that each write a file to HDFS, all at once: the write test of DFSIO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Dfsio {
    /// When the tasks begin.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// Number of tasks. Task i runs in rack i modulo the number of racks, on the hosts of each rack in turn.
    pub writers: u32,
    /// Length of each file.
    pub file_bytes: u64,
    /// Length of a block of a file, but for the last.
    pub block_bytes: u64,
    /// Length of a packet of a block, but for the last.
    pub packet_bytes: u64,
    /// Packets that a writer sends ahead of their acknowledgements.
    pub window_packets: u32,
    /// How the rack of a block's second and third replica is chosen.
    pub placement: Placement,
    /// Congestion control by name.
    pub cc: Arc<String>,
    /// The congestion control's parameters.
    #[serde(default)]
    pub cc_params: Arc<BTreeMap<String, f64>>,
    /// What carries its connections.
    #[serde(default)]
    pub transport: Arc<Transport>,
    /// Class of the connections.
    #[serde(default)]
    pub class: Arc<String>,
}

/// How HDFS chooses the rack of the second and third replica of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Placement {
    /// Any other rack than the writer's, at random.
    Hdfs,
    /// Rack i + 1 for writers of rack i (Etalon'18, section 6.1).
    Rehdfs {
        /// After each such time the next rack is taken: i + 2, and so on. Without it, never.
        #[serde(default, rename = "rotate_ns")]
        rotate: Option<Span>,
    },
}

/// Tasks of a job that write at once.
pub const MOST_WRITERS: u32 = 100_000;

impl Dfsio {
    pub(crate) fn check(&self, index: usize, tdns: usize, mtu: u16) -> Result<(), ScenarioError> {
        let lengths = [self.file_bytes, self.block_bytes, self.packet_bytes];
        ensure!(
            !lengths.contains(&0) && self.writers > 0 && self.window_packets > 0,
            "job {index} writes nothing"
        );
        ensure!(
            self.writers <= MOST_WRITERS,
            "job {index} has at most {MOST_WRITERS} writers, not {}",
            self.writers
        );
        let never = Placement::Rehdfs {
            rotate: Some(Span::ZERO),
        };
        ensure!(
            self.placement != never,
            "job {index}: the mapping of racks needs some time"
        );
        ensure!(
            self.transport.is_tcp(),
            "job {index}: TCP carries what jobs send"
        );
        self.transport.check(format_args!("job {index}"), tdns, mtu)
    }
}
