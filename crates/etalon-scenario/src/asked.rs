// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits that jobs ask for, instead of weeks.

use core::fmt;

use etalon_units::Span;
use serde::{Deserialize, Serialize};

use crate::{Pair, Plane};

/// How circuits change that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Asked {
    /// How long circuits that change are dark.
    #[serde(rename = "reconfiguration_ns")]
    pub reconfiguration: Span,
    /// From a host to the controller, and back.
    #[serde(rename = "request_ns")]
    pub request: Span,
    /// How long a circuit that was granted stays at least, from when it is up.
    #[serde(rename = "hold_ns")]
    pub hold: Span,
    /// Which request goes first.
    pub share: Share,
    /// Who asks.
    pub ask: Ask,
    /// Jobs ask for the circuits of a step as soon as they have those of the step before.
    pub ahead: bool,
}

/// Which of the requests that wait goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Share {
    /// That of the job whose circuits times the time that it had them come to least.
    Fair,
    /// The one that came first.
    Fifo,
}

/// When a job asks for the circuits of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Ask {
    /// When all of its ranks that take part are ready.
    All,
    /// When the first is.
    First,
}

/// A cross-connect: a circuit of a kind from one rack to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CrossConnect {
    /// The kind.
    pub plane: Plane,
    /// The racks.
    pub pair: Pair,
}

impl fmt::Display for CrossConnect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}>r{}", self.pair.src, self.pair.dst)
    }
}
