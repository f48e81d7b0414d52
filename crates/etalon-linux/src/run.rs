// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a run is asked for, and what it gives.

use std::path::PathBuf;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use etalon_measure::results::Table;
use etalon_measure::{Results, TraceRequest};
use etalon_scenario::{HostId, Mode, Program};
use etalon_units::Span;

/// A virtual-time kernel.
#[derive(Clone, Debug)]
pub struct Image {
    /// Its executable.
    pub path: PathBuf,
    /// Its timer ticks a second: a plan must ask for the same.
    pub hz: u32,
}

/// How a plan is run; nothing here changes what comes out, except where it is said.
#[derive(Clone, Debug)]
pub struct Options {
    /// Commands on hosts, besides the plan's and before them. They are part of the experiment.
    pub programs: Vec<Program>,
    /// What ends the run.
    pub mode: Mode,
    /// The folder that programs start in.
    pub folder: Option<PathBuf>,
    /// Records what happens in a part of the run, which ends with that part.
    pub trace: Option<TraceRequest>,
    /// Sends every packet through the network a second time, outside the kernel, and compares all events.
    pub verify: bool,
    /// The kernel's memory in MiB, of which it takes what it uses; none for as much as the plan's size calls for. It is
    /// part of the experiment: sizes of tables and random numbers in the kernel depend on it.
    pub memory_mib: Option<u32>,
    /// What a system call of a program takes on the kernel's clock, 1 ns at least. It is part of the experiment.
    pub call: Span,
    /// How long a program's poll that finds nothing waits at most for something to happen on its host, on the kernel's clock. It
    /// is part of the experiment.
    pub polling: Span,
    /// The run is given up when the kernel has written nothing for so long (wall-clock time), and a little longer for each host
    /// that it makes first. A kernel that waits for standard input is given all the time there is.
    pub patience: Duration,
    /// Told what programs write, as soon as it is known here. A listener that is behind stops the kernel's time.
    pub output: Option<SyncSender<Output>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            programs: Vec::new(),
            mode: Mode::Run,
            folder: None,
            trace: None,
            verify: false,
            memory_mib: None,
            call: CALL,
            polling: POLLING,
            patience: Duration::from_secs(60),
            output: None,
        }
    }
}

/// [`Options::call`] of a fast processor.
pub const CALL: Span = Span(100);
/// [`Options::polling`], as far as events go that the kernel does not see.
pub const POLLING: Span = Span(1_000_000);

/// A piece of what a program wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Index of the program, as in [`Run::programs`].
    pub program: u32,
    /// Standard output (1) or standard error (2).
    pub stream: u8,
    /// The piece.
    pub bytes: Vec<u8>,
}

/// What became of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramResult {
    /// Its exit status; 128 + n if signal n ended it, as shells count; none if it still ran at the end.
    pub status: Option<i32>,
    /// When it ended, in virtual time.
    pub end_ns: Option<u64>,
    /// What it wrote to its standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error.
    pub stderr: Vec<u8>,
}

/// What polls of a host's programs that found nothing came to, on the kernel's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polled {
    /// The host.
    pub host: HostId,
    /// They saw what they waited for so much later, in all and at most, than by polling without a pause.
    pub late: Span,
    /// They waited so long, in all.
    pub waited: Span,
}

/// A run on Linux.
#[derive(Clone, Debug)]
pub struct Run {
    /// The same tables as the simulator's.
    pub results: Results,
    /// Events of the traced part, if [`Options::trace`] asked for them.
    pub events: Option<Table>,
    /// One for each of [`Options::programs`], then one for each of the plan's.
    pub programs: Vec<ProgramResult>,
    /// Of the hosts whose programs polled.
    pub polled: Vec<Polled>,
    /// Packets that [`Options::verify`] found to have travelled the same way outside the kernel.
    pub verified: Option<u64>,
    /// The last 64 KiB of the kernel's console.
    pub console: String,
}
