// SPDX-License-Identifier: MIT OR Apache-2.0
//! Starts the kernel: one process, fixed arguments, two descriptors. Nothing is written to a file system.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Seek, Write, pipe, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use command_fds::{CommandFdExt, FdMapping};
use etalon_scenario::{ANSWER_FD, INPUT_FD, LOG_FD, SETUP_FD};
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{AccessFlags, Pid, access};

use crate::processor::Processor;
use crate::{Image, LinuxError};

/// Held while a process is forked. The process around us may have libraries whose handlers at a fork wait for their threads (OpenBLAS): two
/// forks at a time would wait for each other for ever.
static FORK: Mutex<()> = Mutex::new(());

/// Bytes that wait in the log's pipe: the kernel's buffer fits several times.
const PIPE: i32 = 1 << 20;

/// Virtual time before the experiment is 2023-11-14, for programs that ask for the date.
const EPOCH: &str = "time-travel-start=1700000000000000000";

/// The one variable of the environment that the kernel is told: `ptrace` has programs' system calls come by ptrace, which is slower.
const CALLS: &str = "ETALON_CALLS";

/// How long a kill waits for the kernel's other processes to be gone.
const BURIAL: Duration = Duration::from_millis(200);

/// A running kernel. It dies with this value.
#[derive(Debug)]
pub(crate) struct Machine {
    child: Child,
    pub(crate) log: PipeReader,
    pub(crate) console: PipeReader,
    _processor: Processor,
}

/// How a kernel is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Its physical memory in MiB.
    pub(crate) memory_mib: u32,
    /// Its console is this process's terminal.
    pub(crate) terminal: bool,
    /// A program in it reads this process's standard input.
    pub(crate) input: bool,
}

impl Machine {
    /// Boots `image` with what the driver loads. Answers to its questions go into the pipe.
    pub(crate) fn boot(
        image: &Image,
        setup: &[u8],
        start: Start,
    ) -> Result<(Machine, PipeWriter), LinuxError> {
        runs(&image.path).map_err(|e| not_started(image, &e))?;
        let setup = in_memory(setup)
            .map_err(|e| LinuxError::boot(format!("No memory for the kernel's setup: {e}.")))?;
        let pipes = || -> std::io::Result<_> {
            let (console, console_in) = pipe()?;
            let errors = console_in.try_clone()?;
            Ok((pipe()?, pipe()?, console, console_in, errors))
        };
        let ((log, log_in), (questions, answers), console, console_in, errors) =
            pipes().map_err(|e| LinuxError::boot(format!("No pipe from the kernel: {e}.")))?;
        // A smaller pipe only costs time: an unprivileged user may have used up the share.
        let _ = fcntl(&log_in, FcntlArg::F_SETPIPE_SZ(PIPE));

        let (console_is, stdin, stdout) = match start.terminal {
            true => ("con0=fd:0,fd:1", Stdio::inherit(), Stdio::inherit()),
            false => ("con0=null,fd:1", Stdio::null(), console_in.into()),
        };

        let mut command = Command::new(&image.path);
        command
            // The command line is part of the seed of the kernel's random numbers: the same for all plans.
            .arg(format!("mem={}M", start.memory_mib))
            .args(["con=null", console_is, "ssl=null", "quiet"])
            .args(["time-travel=inf-cpu", EPOCH, "um_tt_exact", "um_seed=1"])
            .env_clear()
            .envs(std::env::var_os(CALLS).map(|way| (CALLS, way)))
            .stdin(stdin)
            .stdout(stdout)
            .stderr(errors);
        let map = |parent_fd: OwnedFd, child_fd| FdMapping {
            parent_fd,
            child_fd,
        };
        command
            .fd_mappings(vec![
                map(setup.into(), SETUP_FD),
                map(log_in.into(), LOG_FD),
                map(input(start.input)?, INPUT_FD),
                map(questions.into(), ANSWER_FD),
            ])
            .map_err(|e| LinuxError::boot(format!("No descriptors for the kernel: {e}.")))?;
        let processor = Processor::claim();
        let forking = FORK.lock();
        let child = processor.within(|| command.spawn());
        drop(forking);
        let child = child.map_err(|e| not_started(image, &e))?;
        drop(command); // and with it our copies of the descriptors: the log ends when the kernel does
        let machine = Machine {
            child,
            log,
            console,
            _processor: processor,
        };
        Ok((machine, answers))
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Kills it and the processes in it.
    pub(crate) fn kill(&mut self) {
        let group = Pid::from_raw(self.child.id() as i32);
        // It leads a group of its own, which the processes in it belong to.
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The others are gone a moment later; who should bury them may not.
        let start = Instant::now();
        while killpg(group, None).is_ok() && start.elapsed() < BURIAL {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        if self.ended().is_none() {
            self.kill();
        }
    }
}

/// Looks whether a file may be executed. A forked process could not always tell: its descriptors may take the place of the one on which it
/// would report that.
fn runs(path: &Path) -> std::io::Result<()> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    Ok(access(path, AccessFlags::X_OK)?)
}

/// Why a kernel could not be started.
fn not_started(image: &Image, e: &std::io::Error) -> LinuxError {
    let path = image.path.display();
    LinuxError::boot(match e.kind() {
        std::io::ErrorKind::NotFound => {
            format!("There is no kernel at {path}; build it: etalon kernel build.")
        }
        std::io::ErrorKind::PermissionDenied => format!(
            "The kernel {path} may not be executed: is its folder mounted noexec? \
             Build it elsewhere: XDG_CACHE_HOME=<folder> etalon kernel build."
        ),
        _ => format!("The kernel {path} could not be started: {e}."),
    })
}

/// This process's standard input if it is `wanted` and open, or one that is empty.
fn input(wanted: bool) -> Result<OwnedFd, LinuxError> {
    match stdin().as_fd().try_clone_to_owned() {
        Ok(fd) if wanted => Ok(fd),
        _ => match File::open("/dev/null") {
            Ok(file) => Ok(file.into()),
            Err(e) => Err(LinuxError::boot(format!(
                "No standard input for the kernel: {e}."
            ))),
        },
    }
}

/// A file in memory that holds `bytes`, to be read from its start.
fn in_memory(bytes: &[u8]) -> std::io::Result<File> {
    let mut file = File::from(memfd_create("etalon-setup", MFdFlags::MFD_CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
