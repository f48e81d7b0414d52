// SPDX-License-Identifier: MIT OR Apache-2.0
//! Watches a running kernel: takes its log and its console, gives up when it hangs, and says how it ended.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::boot::Machine;
use crate::console::{Console, last_words};
use crate::log::Log;

/// How long a request to stop may go unheard.
const TICK: Duration = Duration::from_millis(50);
/// How long a kernel that has said its last may take to power off.
const GRACE: Duration = Duration::from_secs(5);
/// Between two looks at whether it has.
const SHORT: Duration = Duration::from_millis(1);
/// Console bytes taken at once.
const CONSOLE_READ: usize = 16 << 10;

/// Hears what the kernel writes to its log.
pub(crate) trait Listener {
    /// Takes all whole entries out of the log. The error is a sentence: what cannot be true.
    fn take(&mut self, log: &mut Log) -> Result<(), String>;

    /// Tells how far it has come; returns whether to go on.
    fn report(&self) -> bool;

    /// What the kernel has said of its end, if it has.
    fn farewell(&self) -> Option<Farewell>;

    /// Whether the experiment has begun.
    fn begun(&self) -> bool;

    /// Whether the kernel stands still until there is standard input for it.
    fn waits(&self) -> bool;

    /// Virtual time reached, for people.
    fn reached(&self) -> String;
}

/// How long a kernel may be silent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// While the experiment runs.
    pub(crate) silence: Duration,
    /// While it makes so many `hosts`.
    pub(crate) boot: Duration,
    pub(crate) hosts: u32,
}

/// What the kernel's log says last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    /// The experiment is complete.
    Complete,
    /// It cannot go on, and why.
    Failure(String),
}

/// How a kernel ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The experiment is complete.
    Complete,
    /// It was asked to stop.
    Stopped,
    /// It died, hung or gave up: sentences.
    Failed(String),
    /// Its log cannot be true: sentences.
    Garbled(String),
}

/// Watches `machine` to its end, which it does not outlive.
pub(crate) fn watch(
    mut machine: Machine,
    listener: &mut impl Listener,
    patience: Patience,
) -> (Ending, Console) {
    let mut console = Console::default();
    let ending = attend(&mut machine, listener, patience, &mut console);
    if !matches!(ending, Ending::Complete) {
        machine.kill();
    }
    // What the kernel managed to say; processes that it left behind may hold the pipe open.
    while ready(&machine.console, Duration::ZERO) && take_console(&mut machine, &mut console) {}
    (ending, console)
}

fn attend(
    machine: &mut Machine,
    listener: &mut impl Listener,
    patience: Patience,
    console: &mut Console,
) -> Ending {
    let mut log = Log::default();
    let mut heard = Instant::now();
    let mut console_open = true;
    loop {
        let [log_ready, console_ready] = wait(machine, console_open);
        if console_ready {
            console_open = take_console(machine, console);
        }
        let mut log_open = true;
        if log_ready {
            let read = match log.read(&mut machine.log) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Ending::Failed(format!("The kernel's log cannot be read: {e}.")),
            };
            log_open = read > 0;
            if let Err(e) = listener.take(&mut log) {
                return Ending::Garbled(e);
            }
            if log_open {
                heard = Instant::now(); // not before: who takes may have to wait
            }
        }
        match listener.farewell() {
            Some(Farewell::Complete) => {
                end(machine, console, console_open);
                return Ending::Complete;
            }
            Some(Farewell::Failure(why)) => return Ending::Failed(why),
            None => {}
        }
        let ended = match log_open {
            false => Some(end(machine, console, console_open)),
            true if log_ready => None,
            true => ended_unheard(machine).map(Some),
        };
        if let Some(status) = ended {
            while console_open && ready(&machine.console, Duration::ZERO) {
                console_open = take_console(machine, console);
            }
            return Ending::Failed(died(status, &console.text(), &log, listener));
        }
        if !listener.report() {
            return Ending::Stopped;
        }
        if let Some(why) = silent(heard.elapsed(), patience, listener) {
            return Ending::Failed(why);
        }
    }
}

/// How a kernel ended whose log has nothing more to read. Its descriptors may outlive it in processes that it left behind, so that
/// they do not tell its end; and what it wrote just before is still to be read.
fn ended_unheard(machine: &mut Machine) -> Option<ExitStatus> {
    let status = machine.ended()?;
    (!ready(&machine.log, Duration::ZERO)).then_some(status)
}

/// Why a kernel is given up that has said nothing for so long, if it is.
fn silent(silence: Duration, patience: Patience, listener: &impl Listener) -> Option<String> {
    if !listener.begun() {
        return (silence > patience.boot).then(|| {
            format!(
                "The kernel has written nothing for {} s of wall-clock time and was killed while it made the hosts, of which \
                 the plan has {}: the experiment had not begun. A machine that is less busy or a longer patience may help.",
                patience.boot.as_secs_f64(),
                patience.hosts
            )
        });
    }
    (silence > patience.silence && !listener.waits()).then(|| {
        format!(
            "The kernel has written nothing for {} s of wall-clock time and was killed; it had reached {}. \
             A program that computes without ever waiting stops virtual time; a longer patience may help.",
            patience.silence.as_secs_f64(),
            listener.reached()
        )
    })
}

/// Lets a kernel that has nothing more to say power off, and says how it ended; kills it if it does not end.
fn end(machine: &mut Machine, console: &mut Console, mut console_open: bool) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < GRACE {
        if let Some(status) = machine.ended() {
            return Some(status);
        }
        // A full console would keep it from ending.
        if console_open && ready(&machine.console, SHORT) {
            console_open = take_console(machine, console);
        } else if !console_open {
            std::thread::sleep(SHORT);
        }
    }
    machine.kill();
    None
}

/// Waits for something to read: from the log, from the console.
fn wait(machine: &Machine, console_open: bool) -> [bool; 2] {
    let mut fds = [
        PollFd::new(machine.log.as_fd(), PollFlags::POLLIN),
        PollFd::new(machine.console.as_fd(), PollFlags::POLLIN),
    ];
    let watched = if console_open { 2 } else { 1 };
    // Interrupted is as good as nothing to read.
    let _ = poll(&mut fds[..watched], timeout(TICK));
    let has = |fd: &PollFd<'_>| fd.any().unwrap_or(false);
    [has(&fds[0]), console_open && has(&fds[1])]
}

fn ready(fd: &impl AsFd, patience: Duration) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, timeout(patience)).is_ok_and(|n| n > 0)
}

fn timeout(duration: Duration) -> PollTimeout {
    PollTimeout::try_from(duration).unwrap_or(PollTimeout::MAX)
}

/// Takes what is there of the console; false at its end.
fn take_console(machine: &mut Machine, console: &mut Console) -> bool {
    let mut buffer = [0; CONSOLE_READ];
    match machine.console.read(&mut buffer) {
        Ok(0) => false,
        Ok(n) => {
            console.write(&buffer[..n]);
            true
        }
        Err(e) => e.kind() == io::ErrorKind::Interrupted,
    }
}

/// Why a kernel ended that has not come to the experiment's end.
fn died(status: Option<ExitStatus>, console: &str, log: &Log, listener: &impl Listener) -> String {
    let reached = listener.reached();
    let why = last_words(console).unwrap_or_else(|| match status {
        None => "The kernel closed its log, did not end, and was killed.".to_owned(),
        Some(status) => match (status.signal(), status.code()) {
            (Some(9), _) => {
                "The kernel was killed, perhaps because this machine ran out of memory.".to_owned()
            }
            (Some(7), _) => "The kernel got no more memory from this machine (SIGBUS).".to_owned(),
            (Some(signal), _) => format!("The kernel died of signal {signal}."),
            (None, code) => format!(
                "The kernel ended before the experiment did (exit code {}).",
                code.unwrap_or_default()
            ),
        },
    });
    let half = match log.rest() {
        0 => "",
        _ => ", in the middle of a log record",
    };
    format!("{why} It had reached {reached}{half}.")
}
