// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the kernel of the Linux engine is started with: the scenario for its driver, and a part for its first process.
//!
//! In bytes: [`MAGIC`], the lengths in bytes of both parts as little-endian 64-bit words, the [`Setup`] as postcard, what
//! [`Init`](crate::Init) encodes. It is written by the same build that reads it, so it carries no version.

use alloc::vec::Vec;

use etalon_units::Time;
use serde::{Deserialize, Serialize};

use crate::check::{ScenarioError, ensure};
use crate::layout;
use crate::{CC_NAME_MAX, Scenario};

/// The descriptor that the kernel reads its setup from.
pub const SETUP_FD: i32 = 3;

/// The descriptor that the kernel writes its log to.
pub const LOG_FD: i32 = 4;

/// The descriptor that the kernel reads the standard input of a program from.
pub const INPUT_FD: i32 = 5;

/// The descriptor that the kernel reads answers to its questions from.
pub const ANSWER_FD: i32 = 6;

/// The first bytes of a setup.
pub const MAGIC: &[u8; 8] = b"ETALON1\n";

/// Bytes before both parts.
const HEAD: usize = MAGIC.len() + 2 * size_of::<u64>();

/// What the kernel's C code knows of a scenario, flows apart.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CInfo {
    /// Number of racks.
    pub racks: u32,
    /// Hosts in each rack.
    pub hosts: u32,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// Number of flows.
    pub flows: u32,
    /// Whether senders pace.
    pub pacing: u32,
    /// Kinds of flows that are opened from outside.
    pub kinds: u32,
}

layout!(CInfo {
    racks,
    hosts,
    mtu,
    flows,
    pacing,
    kinds,
});

impl From<&Scenario> for CInfo {
    fn from(scenario: &Scenario) -> CInfo {
        CInfo {
            racks: scenario.hosts.racks.into(),
            hosts: scenario.hosts.per_rack.into(),
            mtu: scenario.hosts.mtu.into(),
            flows: scenario.flows.len() as u32,
            pacing: scenario.tcp.pacing.into(),
            kinds: scenario.kinds().count() as u32,
        }
    }
}

/// A scenario as the kernel runs it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setup {
    /// The experiment.
    pub scenario: Scenario,
    /// Where it ends; [`Time::MAX`] if it does not end by itself.
    pub end: Time,
    /// Packets' bytes to log; none for no bytes.
    pub capture: Option<Capture>,
}

/// Which packets' bytes are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capture {
    /// The first instant.
    pub start: Time,
    /// The first instant after it.
    pub end: Time,
    /// Bytes of each packet from its IP header on, at most.
    pub snap: u16,
}

impl Capture {
    /// Whether bytes are logged at `now`.
    #[must_use]
    pub fn has(&self, now: Time) -> bool {
        self.start <= now && now < self.end
    }
}

impl Setup {
    /// The setup in bytes, with the first process's part.
    ///
    /// # Errors
    /// [`ScenarioError`] if there is no memory for it.
    pub fn encode(&self, init: &[u8]) -> Result<Vec<u8>, ScenarioError> {
        let core = postcard::to_allocvec(self).map_err(ScenarioError::new)?;
        let mut all = Vec::with_capacity(HEAD + core.len() + init.len());
        all.extend_from_slice(MAGIC);
        all.extend_from_slice(&(core.len() as u64).to_le_bytes());
        all.extend_from_slice(&(init.len() as u64).to_le_bytes());
        all.extend_from_slice(&core);
        all.extend_from_slice(init);
        Ok(all)
    }

    /// Reads what [`Setup::encode`] wrote, and checks it.
    ///
    /// # Errors
    /// [`ScenarioError`] for anything else.
    pub fn decode(bytes: &[u8]) -> Result<(Setup, &[u8]), ScenarioError> {
        let (magic, rest) = bytes.split_first_chunk().unwrap_or((&[0; 8], &[]));
        ensure!(
            magic == MAGIC,
            "the setup does not begin as one: it is of another build"
        );
        let (core_len, rest) = length(rest)?;
        let (init_len, rest) = length(rest)?;
        ensure!(
            rest.len() as u64 == core_len.saturating_add(init_len),
            "the setup has {} bytes, not the {core_len} and {init_len} that it says",
            rest.len()
        );
        let (core, init) = rest.split_at(core_len as usize);
        let (setup, left): (Setup, _) =
            postcard::take_from_bytes(core).map_err(ScenarioError::new)?;
        ensure!(left.is_empty(), "the setup goes on after its end");
        setup.check()?;
        Ok((setup, init))
    }

    fn check(&self) -> Result<(), ScenarioError> {
        self.scenario.check()?;
        for (index, flow) in self.scenario.flows.iter().enumerate() {
            ensure!(
                (1..=CC_NAME_MAX).contains(&flow.cc.len()),
                "flow {index}: the kernel has no congestion control '{}'",
                flow.cc
            );
        }
        Ok(())
    }
}

/// A length, and what follows it.
fn length(bytes: &[u8]) -> Result<(u64, &[u8]), ScenarioError> {
    match bytes.split_first_chunk() {
        Some((word, rest)) => Ok((u64::from_le_bytes(*word), rest)),
        None => Err(ScenarioError::new("the setup ends too early")),
    }
}
