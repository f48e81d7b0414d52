// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads that a function of the user's makes while a run lasts: what an engine asks of it.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::error::Error;

use etalon_scenario::{Flow, Generator, HostId};
use etalon_units::Time;

/// Whatever went wrong outside.
pub type Failure = Box<dyn Error + Send + Sync>;

/// What makes the flows of a plan's generators.
pub trait Generators {
    /// What a generator begins at `now`: when the run reaches its start, when one of its flows is complete, whose number among
    /// its own is `ended`, and when it asked to be woken.
    ///
    /// # Errors
    /// Whatever went wrong, which ends the run.
    fn step(&mut self, now: Time, generator: usize, ended: Option<u32>) -> Result<Step, Failure>;
}

/// What a generator does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Flows that begin now.
    pub flows: Vec<Begun>,
    /// When it wants to go on at the latest, if nothing is complete before.
    pub wake: Option<Time>,
}

/// A flow that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The sender.
    pub src: HostId,
    /// The receiver.
    pub dst: HostId,
    /// Bytes to send.
    pub bytes: u64,
    /// Its class; the generator's if empty.
    pub class: String,
}

impl Begun {
    /// The flow, which begins at `now` and has with others of its generator in common what `kind` says.
    #[must_use]
    pub fn flow(self, now: Time, kind: &Generator) -> Flow {
        Flow {
            src_rack: self.src.rack(),
            src_host: self.src.number(),
            dst_rack: self.dst.rack(),
            dst_host: self.dst.number(),
            cc: kind.cc.clone(),
            cc_params: kind.cc_params.clone(),
            transport: kind.transport.clone(),
            start: now,
            bytes: Some(self.bytes),
            class: match self.class.is_empty() {
                true => kind.class.clone(),
                false => Arc::new(self.class),
            },
            ..Flow::default()
        }
    }
}
