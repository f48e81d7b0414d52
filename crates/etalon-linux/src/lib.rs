// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Linux engine: a [`Scenario`] in, [`Results`](etalon_measure::Results) out, as with the simulator; between them real Linux TCP in virtual time.
//!
//! One User-Mode Linux process runs the whole experiment: every emulated host is a network namespace in it, the network
//! between them the same crates that the simulator uses, linked into the kernel. It is told everything through one
//! descriptor and tells everything through another; it touches no file and needs no privilege.

mod boot;
mod capture;
mod compile;
mod console;
mod desk;
mod error;
mod flows;
mod log;
#[cfg(test)]
mod log_fuzz;
mod names;
mod parameters;
mod ports;
mod processor;
mod programs;
mod replay;
mod routes;
mod run;
mod stream;
mod unknown;
mod verify;
mod watch;

#[cfg(test)]
extern crate self as etalon_linux; // what tests share says its name

use std::time::Duration;

use etalon_measure::{Control, Metrics, Observer, Recorder};
use etalon_scenario::Scenario;

use boot::{Machine, Start};
use desk::Desk;
use replay::Replay;
use watch::{Ending, Patience, watch};

pub use desk::Lent;
pub use error::{Cause, LinuxError};
pub use etalon_scenario::Mode;
pub use run::{CALL, Image, Options, Output, POLLING, Polled, ProgramResult, Run};

/// What the silence of a kernel that makes a host may take longer.
const A_HOST: Duration = Duration::from_millis(100);

/// Runs `plan` on the kernel `image`.
///
/// # Errors
/// [`LinuxError`] if Linux cannot do what the plan asks for, if the kernel cannot be started, and if it dies or hangs:
/// then with what was measured up to there. A run that `control` stops is no error but partial.
pub fn run(
    plan: &Scenario,
    image: &Image,
    control: &Control,
    options: &Options,
) -> Result<Run, LinuxError> {
    run_with(plan, image, control, options, Lent::default())
}

/// Runs `plan` with what its user lends.
///
/// # Errors
/// As [`run`], and if what is lent fails.
pub fn run_with(
    plan: &Scenario,
    image: &Image,
    control: &Control,
    options: &Options,
    lent: Lent,
) -> Result<Run, LinuxError> {
    match &options.trace {
        None => observed(plan, image, control, (options, lent), Metrics::new(plan)),
        Some(trace) => {
            let plan = trace.shorten(plan);
            let recorder = Recorder::new(&plan, Metrics::new(&plan), trace.window());
            observed(&plan, image, control, (options, lent), recorder)
        }
    }
}

/// What a failure says, with the machine's memory if that was too small.
fn with_memory(why: String, memory_mib: u32) -> String {
    if !why.contains(console::NO_MEMORY) {
        return why;
    }
    format!(
        "{why} The emulated machine has {memory_mib} MiB of memory: another amount is given by [linux] memory."
    )
}

fn observed<O: Observer>(
    plan: &Scenario,
    image: &Image,
    control: &Control,
    (options, lent): (&Options, Lent),
    observer: O,
) -> Result<Run, LinuxError> {
    let (setup, init) = compile::compile(plan, image, options)?;
    let desk = Desk::new(plan, lent)?;
    let mut replay = Replay::new(plan, control, (options, desk), &setup, observer)?;
    let memory_mib = options
        .memory_mib
        .unwrap_or_else(|| compile::memory_mib(plan, &options.programs));
    let start = Start {
        memory_mib,
        terminal: options.mode == Mode::Shell,
        input: options.mode == Mode::Exec,
    };
    let bytes = setup.encode(&init).map_err(|e| LinuxError::plan(e.0))?;
    let (machine, answers) = Machine::boot(image, &bytes, start)?;
    replay.answer_to(answers);
    let patience = match options.mode {
        Mode::Shell => Duration::MAX, // who thinks is silent
        Mode::Run | Mode::Exec => options.patience,
    };
    let patience = Patience {
        silence: patience,
        boot: patience.saturating_add(A_HOST * plan.hosts.count()),
        hosts: plan.hosts.count(),
    };
    let (ending, console) = watch(machine, &mut replay, patience);
    let console = console.text();
    let silent = replay.is_empty();
    let measured = replay.finish(ending == Ending::Complete).map(|told| Run {
        results: told.results,
        events: told.events,
        programs: told.programs,
        polled: told.polled,
        verified: told.verified,
        console: console.clone(),
    });
    let (cause, message) = match ending {
        Ending::Complete | Ending::Stopped => return measured,
        Ending::Failed(why) => (Cause::Kernel, with_memory(why, memory_mib)),
        Ending::Garbled(why) => (Cause::Log, why),
    };
    Err(LinuxError {
        cause,
        message,
        console,
        partial: measured.ok().filter(|_| !silent).map(Box::new),
    })
}
