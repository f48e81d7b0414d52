// SPDX-License-Identifier: MIT OR Apache-2.0
//! What lies between hosts: the kinds of network, of which a scenario has one.

mod dumbbell;
mod failure;
mod layer;
mod leaf_spine;
mod ocs;
mod routing;
mod tdns;
mod tree;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::check::ScenarioError;
use crate::{
    Asked, Class, CrossConnect, Hosts, Notify, Pair, PlaneFacts, PortFacts, Rdcn, Schedule,
};

pub use dumbbell::{Dumbbell, Stage};
pub use failure::Failure;
pub use layer::Layer;
pub use leaf_spine::LeafSpine;
pub use ocs::{Access, CircuitFailure, CircuitSwitch, Late, MOST_UPLINKS, Ocs, Part};
pub use routing::{Earliest, Entry, MOST_PATHS, Paths, Routing, Ucmp};
pub use tdns::{MOST_TDNS, Tdns};
pub use tree::Tree;

/// Calls a macro with the kinds of network. This is the one list of them: what depends on the kind is made from it, here and
/// in the crates above.
#[macro_export]
macro_rules! network_kinds {
    ($then:ident) => {
        $then! {
            /// A reconfigurable network: a packet network, or none, and circuits.
            Rdcn,
            /// Two groups of hosts and a chain of queues between them.
            Dumbbell,
            /// Racks in pods, below a core.
            Tree,
            /// Leaves below spines.
            LeafSpine,
            /// Racks with several uplinks, each to a circuit switch with a schedule of its own.
            Ocs,
        }
    };
}

/// How far apart two racks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They are one.
    Rack,
    /// In one pod.
    Pod,
    /// In different pods, or in a network that has none.
    Core,
}

/// What is asked of every kind of network.
pub trait NetworkKind {
    /// Whether there can be such a network for these hosts.
    ///
    /// # Errors
    /// [`ScenarioError`] for what cannot be.
    fn check(&self, hosts: &Hosts) -> Result<(), ScenarioError>;

    /// Its planes, by number: where packets go side by side.
    fn planes(&self, hosts: &Hosts) -> Vec<PlaneFacts>;

    /// Its egress ports: where packets wait in front of a link, and are seen to join its queue and to leave it. None of a network whose
    /// queues are of rack pairs.
    fn ports(&self, hosts: &Hosts) -> Vec<PortFacts> {
        let _ = hosts;
        Vec::new()
    }

    /// How far the racks of a pair are apart.
    fn distance(&self, hosts: &Hosts, pair: Pair) -> Distance {
        let _ = hosts;
        match pair.src == pair.dst {
            true => Distance::Rack,
            false => Distance::Core,
        }
    }

    /// Whether each rack pair has a queue of its own, of which every packet is seen to join and to leave it.
    fn has_voqs(&self) -> bool {
        false
    }

    /// Whether it follows the weeks of the scenario's schedule.
    fn follows_weeks(&self) -> bool {
        false
    }

    /// Whether it can follow this one.
    ///
    /// # Errors
    /// [`ScenarioError`] if it cannot.
    fn check_week(&self, hosts: &Hosts, week: &Schedule) -> Result<(), ScenarioError> {
        let _ = (hosts, week);
        Ok(())
    }

    /// How hosts hear which plane leads to a rack, if they do.
    fn notify(&self) -> Option<&Notify> {
        None
    }

    /// How many networks take turns from rack to rack, as hosts see it.
    fn tdns(&self, hosts: &Hosts) -> usize {
        self.planes(hosts).len()
    }

    /// The switch whose weeks can be computed from demand, if it is one.
    fn controlled(&self) -> Option<&Rdcn> {
        None
    }

    /// How many circuits of each direction a rack may have at a time.
    fn uplinks(&self) -> u8 {
        0
    }

    /// How circuits change that are asked for, if its own circuits are, not those of a schedule of weeks.
    fn asked(&self) -> Option<&Asked> {
        None
    }

    /// The circuits that are up at first, of those that are asked for.
    fn first_circuits(&self) -> Vec<CrossConnect> {
        Vec::new()
    }

    /// Whether packets of a class go on from rack to rack, over several circuits.
    fn forwards(&self, class: Class) -> bool {
        let _ = class;
        false
    }

    /// How many classes of packets it has; 0 where it does not tell packets apart.
    fn classes(&self) -> usize {
        0
    }

    /// The class of a flow's packets, by its length in bytes (none: without end), unless the flow names one.
    fn class_of(&self, bytes: Option<u64>) -> Class {
        let _ = bytes;
        Class::default()
    }

    /// Whether ways of a class depend on how long flows are.
    fn looks_at_length(&self, class: Class) -> bool {
        let _ = class;
        false
    }

    /// Queues on a packet's way that telemetry is of: so many of them an option has room for (HPCC's has for five).
    fn telemetry_hops(&self, hosts: &Hosts) -> u32 {
        let _ = hosts;
        5
    }

    /// Whether packets without payload go another way than others, which has no queue.
    fn has_ack_bypass(&self) -> bool {
        false
    }
}

macro_rules! network {
    ($($(#[$doc:meta])* $Kind:ident,)*) => {
        /// The network between hosts. In JSON a table with one key, the kind.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Network {
            $($(#[$doc])* $Kind($Kind),)*
        }

        impl Network {
            /// Whatever kind it is.
            #[must_use]
            pub fn kind(&self) -> &dyn NetworkKind {
                match self {
                    $(Network::$Kind(kind) => kind,)*
                }
            }
        }
    };
}
network_kinds!(network);
