// SPDX-License-Identifier: MIT OR Apache-2.0
//! The loop: waits for the controller, the kernel, signals and lifetimes, and acts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::args::Options;
use crate::check;
use crate::client::{Client, Heard};
use crate::core::{Core, Outcome};
use crate::document::Document;
use crate::keeper::{self, Done, Keeper};
use crate::kernel;
use crate::metrics::{self, Timing};
use crate::netlink::socket::Socket;
use crate::state::State;
use crate::{error, info, warning};

/// The longest that the loop sleeps: a machine that wakes up must not stay on an old document.
const NAP: Duration = Duration::from_secs(1);
/// How often what nobody tells is looked at: refused changes, the BPF program, metrics.
const ROUND: Duration = Duration::from_secs(5);
/// Changes of routes come in groups.
const SETTLE: Duration = Duration::from_millis(20);

struct Agent {
    core: Core,
    keeper: Keeper,
    client: Client,
    monitor: Socket,
    timing: Timing,
    /// When routes that changed are looked at.
    settled: Option<Duration>,
    round: Duration,
    /// How long it took to bring the host up to date.
    last_change: Duration,
}

/// The program in the kernel, if it can be; says why not.
pub fn attach(options: &Options) -> Option<crate::bpf::attached::Attached> {
    if !options.bpf {
        return None;
    }
    match check::cgroup(options).and_then(|cgroup| keeper::attach(&cgroup)) {
        Ok(attached) => Some(attached),
        Err(e) => {
            warning!("{e}: RTOinit and the largest window stay Linux's own; routes get the rest");
            None
        }
    }
}

/// Follows the controller until SIGTERM, SIGINT or SIGHUP, and leaves the host as it was found.
pub fn run(options: &Options) -> io::Result<()> {
    // Before anything is changed, and before threads that would get them otherwise.
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        signals.add(signal);
    }
    signals.thread_block()?;
    let signals = SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    let settings = options
        .controller
        .clone()
        .ok_or_else(|| io::Error::other("--controller is missing"))?;

    let _alone = kernel::only_one_here()?;
    let state = State::open(&options.run)?;
    let monitor = Socket::monitor()?;
    let mut keeper = Keeper::new(state, attach(options), options.control)?;
    keeper.recover()?;
    let mut agent = Agent {
        core: Core::new(options.host.clone(), options.limits.clone()),
        keeper,
        client: Client::new(settings),
        monitor,
        timing: Timing::default(),
        settled: None,
        round: kernel::now(),
        last_change: Duration::ZERO,
    };
    info!(
        "version {}: host {}, a tick is {:?}",
        env!("CARGO_PKG_VERSION"),
        options.host,
        kernel::tick()?
    );
    notify("READY=1");
    let result = agent.follow(&signals, options);
    notify("STOPPING=1");
    let Done {
        routes,
        entries,
        failed,
    } = agent.keeper.release()?;
    info!("ended: took back {routes} routes and {entries} BPF entries; {failed} failed");
    if let Some(path) = &options.metrics {
        let _ = std::fs::remove_file(path);
    }
    result
}

impl Agent {
    fn follow(&mut self, signals: &SignalFd, options: &Options) -> io::Result<()> {
        loop {
            self.wait(signals)?;
            let woken = Instant::now();
            if signals.read_signal()?.is_some() {
                return Ok(());
            }
            self.hear_kernel();
            let now = kernel::now();
            for heard in self.client.advance(now, self.core.version()) {
                self.hear(now, heard, woken);
            }
            if self.core.expire(now) {
                warning!(
                    "the controller was not heard for a lifetime: the host goes back to its own settings"
                );
                self.apply();
            }
            if self.settled.is_some_and(|at| now >= at) {
                self.settled = None;
                self.apply();
            }
            if now >= self.round + ROUND {
                self.round = now;
                self.go_round(options);
            }
        }
    }

    fn wait(&self, signals: &SignalFd) -> io::Result<()> {
        let mut fds = vec![
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.monitor.as_fd(), PollFlags::POLLIN),
        ];
        for (fd, write) in self.client.descriptors() {
            fds.push(PollFd::new(
                fd,
                if write {
                    PollFlags::POLLIN | PollFlags::POLLOUT
                } else {
                    PollFlags::POLLIN
                },
            ));
        }
        let deadlines = [
            Some(self.client.deadline()),
            self.core.deadline(),
            self.settled,
        ];
        let sleep = deadlines
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(Duration::MAX)
            .saturating_sub(kernel::now());
        // Rounded up, lest the loop spin in the last millisecond.
        let milliseconds = sleep.min(NAP).as_micros().div_ceil(1000) as u16;
        match poll(&mut fds, PollTimeout::from(milliseconds)) {
            Err(e) if e != nix::errno::Errno::EINTR => Err(e.into()),
            _ => Ok(()),
        }
    }

    fn hear_kernel(&mut self) {
        match self.monitor.changes() {
            Ok(changes) => self.keeper.heard(&changes),
            // Some are lost.
            Err(_) => self.keeper.lost_track(),
        }
        if self.keeper.is_dirty() && self.settled.is_none() {
            // Where routes change all the time, most of the time is not the agent's.
            let pause = if self.keeper.is_failing() {
                ROUND
            } else {
                SETTLE.max(self.last_change * 10)
            };
            self.settled = Some(kernel::now() + pause);
        }
    }

    fn hear(&mut self, now: Duration, heard: Heard, woken: Instant) {
        match heard {
            Heard::Document(bytes) => match self.core.offer(now, &bytes) {
                Ok(Outcome::Same) => {}
                Ok(Outcome::New) => {
                    let done = self.apply();
                    self.timing.last_apply = woken.elapsed();
                    self.timing.longest_apply =
                        self.timing.longest_apply.max(self.timing.last_apply);
                    self.say_applied(done);
                }
                Err(refusal) => {
                    warning!("refused a document as a whole: {refusal}; the last good one stays");
                }
            },
            Heard::Alive(bytes) => match self.core.alive(now, &bytes) {
                Ok(true) => self.client.ask_for_routes(now),
                Ok(false) => {}
                Err(refusal) => warning!("refused an event 'alive': {refusal}"),
            },
            Heard::NotAnswered => self.core.not_answered(),
        }
    }

    /// Brings the host to the document in force, or to its own settings if there is none.
    fn apply(&mut self) -> Done {
        let start = Instant::now();
        let none = BTreeMap::new();
        let routes = self
            .core
            .document()
            .map_or(&none, |document| &document.routes);
        let done = self.keeper.apply(routes).unwrap_or_else(|e| {
            error!("cannot change the host: {e}");
            self.keeper.lost_track();
            self.settled = Some(kernel::now() + ROUND);
            Done {
                failed: 1,
                ..Done::default()
            }
        });
        self.timing.failed += done.failed as u64;
        self.last_change = start.elapsed();
        done
    }

    fn say_applied(&self, done: Done) {
        let Some(Document {
            version, routes, ..
        }) = self.core.document()
        else {
            return;
        };
        info!(
            "applied {version}: {} destinations; changed {} routes and {} BPF entries in {:.2} ms; {} failed",
            routes.len(),
            done.routes,
            done.entries,
            self.timing.last_apply.as_secs_f64() * 1e3,
            done.failed
        );
        notify(&format!(
            "STATUS=version {version}, {} destinations",
            routes.len()
        ));
    }

    fn go_round(&mut self, options: &Options) {
        self.keeper.check_bpf();
        if let Some(path) = &options.metrics {
            let text = metrics::text(&self.core, &self.keeper, &self.client, self.timing);
            if let Err(e) = metrics::write(path, &text) {
                warning!("--metrics {}: {e}", path.display());
            }
        }
    }
}

/// Tells systemd, if it wants to know (sd_notify(3)).
fn notify(text: &str) {
    let Ok(path) = std::env::var("NOTIFY_SOCKET") else {
        return;
    };
    let address = match path.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(&path),
    };
    // Who started the agent may be gone.
    let _ = address
        .and_then(|address| UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address));
}
