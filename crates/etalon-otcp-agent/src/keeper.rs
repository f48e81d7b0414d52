// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent has on the host: done, watched and undone.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::time::Duration;

use crate::bpf::attached::Attached;
use crate::document::Parameters;
use crate::kernel;
use crate::netlink::route::{Control, PROTOCOL, Route};
use crate::netlink::socket::{Change, Socket};
use crate::plan::{self, Changes, Kernel, Plan};
use crate::prefix::Prefix;
use crate::state::{Since, State};
use crate::{error, info, warning};

/// The agent's hands.
#[derive(Debug)]
pub struct Keeper {
    socket: Socket,
    port: u32,
    generic: Option<(Socket, u16)>,
    bpf: Option<Attached>,
    /// The congestion control of the agent's routes.
    control: Option<Control>,
    state: State,
    /// Routes of the agent, as they were set.
    installed: BTreeMap<Prefix, Route>,
    since: Since,
    /// Routes of others, as last read; None if they may have changed.
    others: Option<Vec<Route>>,
    /// Something that concerns a destination has changed.
    dirty: bool,
    /// Destinations whose routes somebody else has touched since they were last read.
    touched: BTreeSet<Prefix>,
    given_up: BTreeSet<Prefix>,
    /// Notes that were told already.
    told: BTreeSet<String>,
    /// What the kernel refused, as it was told.
    refused: BTreeSet<String>,
}

/// What [`Keeper::apply`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Routes set, replaced or removed.
    pub routes: usize,
    /// Entries of the BPF program set or removed.
    pub entries: usize,
    /// Changes that the kernel refused.
    pub failed: usize,
}

impl Keeper {
    /// Takes the host in hand; without BPF if there is no program.
    pub fn new(state: State, bpf: Option<Attached>, control: Option<Control>) -> io::Result<Self> {
        let socket = Socket::routes()?;
        let port = socket.port()?;
        let generic = Socket::generic().and_then(|mut socket| {
            let family = socket.tcp_metrics_family()?;
            Ok((socket, family))
        });
        if let Err(e) = &generic {
            info!(
                "this kernel does not list tcp_metrics ({e}): what it learns from connections stays"
            );
        }
        Ok(Self {
            socket,
            port,
            generic: generic.ok(),
            bpf,
            control,
            state,
            installed: BTreeMap::new(),
            since: Since::new(),
            others: None,
            dirty: false,
            touched: BTreeSet::new(),
            given_up: BTreeSet::new(),
            told: BTreeSet::new(),
            refused: BTreeSet::new(),
        })
    }

    /// The BPF program, if it runs.
    pub fn bpf(&self) -> Option<&Attached> {
        self.bpf.as_ref()
    }

    /// How many routes the agent has on the host.
    pub fn installed(&self) -> usize {
        self.installed.len()
    }

    /// How many destinations are left to the administrator.
    pub fn given_up(&self) -> usize {
        self.given_up.len()
    }

    /// True if something has to be done again: routes have changed, or the kernel refused something.
    pub fn is_dirty(&self) -> bool {
        self.dirty || self.is_failing()
    }

    /// True if the kernel refused something.
    pub fn is_failing(&self) -> bool {
        !self.refused.is_empty()
    }

    /// Removes what an agent that was killed has left on the host.
    pub fn recover(&mut self) -> io::Result<()> {
        let left: Vec<Route> = self
            .socket
            .all_routes()?
            .into_iter()
            .filter(Route::is_ours)
            .collect();
        let mut since = self.state.left();
        for route in &left {
            since.entry(route.prefix).or_insert(Duration::ZERO);
        }
        let results = self.socket.ask(left.iter().map(Route::delete).collect())?;
        results.into_iter().collect::<io::Result<()>>()?;
        let forgotten = self.forget(&since);
        if !since.is_empty() {
            info!(
                "removed what an earlier run left: {} routes (proto {PROTOCOL}), {forgotten} tcp_metrics",
                left.len()
            );
        }
        self.state.clear()
    }

    /// What changed on the host, as the monitor tells it.
    pub fn heard(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Interface => self.lost_track(),
                Change::Route { port, .. } if *port == self.port => {}
                Change::Route {
                    port,
                    route,
                    removed,
                    replaces,
                } => {
                    self.others = None;
                    self.dirty |= self.concerns(route.prefix);
                    // The kernel itself (0) removes routes with their interface: they come back.
                    let ours_went = (*removed && route.is_ours()) || *replaces;
                    if *port != 0 && ours_went && self.installed.contains_key(&route.prefix) {
                        self.touched.insert(route.prefix);
                    }
                }
            }
        }
    }

    /// True if a destination lies in the prefix, or the prefix in a destination.
    fn concerns(&self, prefix: Prefix) -> bool {
        let within = self
            .since
            .range(prefix..)
            .next()
            .is_some_and(|(target, _)| prefix.covers(target));
        within || prefix.longest_in(&self.since).is_some()
    }

    /// Some changes were not heard: all is read again.
    pub fn lost_track(&mut self) {
        self.others = None;
        self.dirty = true;
    }

    /// Reads the host's routes, and finds what became of the agent's.
    fn read(&mut self) -> io::Result<()> {
        if self.others.is_some() {
            return Ok(());
        }
        let (ours, others): (Vec<Route>, Vec<Route>) = self
            .socket
            .all_routes()?
            .into_iter()
            .partition(Route::is_ours);
        let mut found: BTreeMap<Prefix, Vec<Route>> = BTreeMap::new();
        for route in ours {
            found.entry(route.prefix).or_default().push(route);
        }
        for (prefix, route) in std::mem::take(&mut self.installed) {
            let there = found.get(&prefix).map(Vec::as_slice).unwrap_or_default();
            if there.contains(&route) {
                self.installed.insert(prefix, route);
            } else if !there.is_empty() || self.touched.contains(&prefix) {
                warning!(
                    "{prefix}: somebody changed or removed the agent's route; it is left alone from now on"
                );
                self.given_up.insert(prefix);
            }
        }
        self.touched.clear();
        self.others = Some(others);
        Ok(())
    }

    /// What should be on the host.
    fn plan(&mut self, document: &BTreeMap<Prefix, Parameters>) -> io::Result<Plan> {
        self.read()?;
        let others = self.others.as_deref().unwrap_or_default();
        Ok(plan::plan(
            document,
            others,
            &self.given_up,
            Kernel {
                control: self.control,
                ..kernel::timing()?
            },
        ))
    }

    /// Brings the host to what the document wants. With an empty document: to what it was.
    pub fn apply(&mut self, document: &BTreeMap<Prefix, Parameters>) -> io::Result<Done> {
        self.dirty = false;
        let plan = self.plan(document)?;
        self.tell(&plan);
        let changes = Changes::new(
            &plan,
            &self.installed,
            self.bpf.as_ref().map(Attached::entries),
        );
        let told = std::mem::take(&mut self.refused);
        if changes.is_empty() {
            return Ok(Done::default());
        }
        let ended = self.remember(&plan)?;
        let mut done = Done {
            routes: changes.add.len()
                + changes
                    .remove
                    .iter()
                    .filter(|r| !plan_has_route(&plan, r))
                    .count(),
            entries: changes.set.len() + changes.unset.len(),
            failed: 0,
        };
        self.change_entries(&changes);
        self.change_routes(changes)?;
        done.failed = self.refused.len();
        for why in self.refused.difference(&told) {
            error!("{why}");
        }
        if !ended.is_empty() {
            self.forget(&ended);
            self.state.keep(&self.since)?;
        }
        Ok(done)
    }

    /// Says once what people should know of destinations.
    fn tell(&mut self, plan: &Plan) {
        let mut notes: BTreeMap<&str, (Prefix, usize)> = BTreeMap::new();
        for (prefix, note) in plan
            .iter()
            .flat_map(|(prefix, target)| target.notes.iter().map(move |note| (prefix, note)))
        {
            notes.entry(note).or_insert((*prefix, 0)).1 += 1;
        }
        for (note, (first, count)) in notes.iter().filter(|(note, _)| !self.told.contains(**note)) {
            match count {
                1 => info!("{first}: {note}"),
                _ => info!("{first} (and {} more): {note}", count - 1),
            }
        }
        self.told = notes.into_keys().map(str::to_owned).collect();
    }

    /// Writes down what is about to be changed, before it is. Returns what ends, and since when it was.
    fn remember(&mut self, plan: &Plan) -> io::Result<Since> {
        let now = kernel::now();
        let before = self.since.len();
        for prefix in plan.keys() {
            self.since.entry(*prefix).or_insert(now);
        }
        if self.since.len() > before {
            self.state.keep(&self.since)?;
        }
        let ended = |prefix: &Prefix| !plan.contains_key(prefix);
        let gone: Since = self
            .since
            .iter()
            .filter(|(prefix, _)| ended(prefix))
            .map(|(p, at)| (*p, *at))
            .collect();
        self.since.retain(|prefix, _| !ended(prefix));
        Ok(gone)
    }

    fn change_entries(&mut self, changes: &Changes) {
        let Some(bpf) = &mut self.bpf else { return };
        let set = changes
            .set
            .iter()
            .map(|(prefix, entry)| (prefix, Some(*entry)));
        let unset = changes.unset.iter().map(|prefix| (prefix, None));
        for (prefix, entry) in set.chain(unset) {
            let result = match entry {
                Some(entry) => bpf.set(*prefix, entry),
                None => bpf.remove(prefix),
            };
            if let Err(e) = result {
                self.refused
                    .insert(format!("{prefix}: the BPF map takes no entry: {e}"));
            }
        }
    }

    fn change_routes(&mut self, changes: Changes) -> io::Result<()> {
        let results = self
            .socket
            .ask(changes.add.iter().map(Route::add).collect())?;
        let mut stays = BTreeSet::new();
        for (route, result) in changes.add.into_iter().zip(results) {
            match result {
                Ok(()) => drop(self.installed.insert(route.prefix, route)),
                Err(e) => {
                    self.refused
                        .insert(format!("{}: the kernel takes no route: {e}", route.prefix));
                    stays.insert(route.prefix);
                }
            }
        }
        // The old one stays where the new one was refused.
        let remove: Vec<Route> = changes
            .remove
            .into_iter()
            .filter(|route| !stays.contains(&route.prefix))
            .collect();
        let results = self
            .socket
            .ask(remove.iter().map(Route::delete).collect())?;
        for (route, result) in remove.into_iter().zip(results) {
            match result {
                // ESRCH: the kernel has removed it with its interface.
                Err(e) if e.raw_os_error() != Some(libc::ESRCH) => {
                    self.refused.insert(format!(
                        "{}: the kernel does not remove the route: {e}",
                        route.prefix
                    ));
                }
                _ if self.installed.get(&route.prefix) == Some(&route) => {
                    drop(self.installed.remove(&route.prefix));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Makes the kernel forget what connections to these destinations have taught it since then. Returns how many.
    fn forget(&mut self, since: &Since) -> usize {
        let Some((socket, family)) = self.generic.as_mut().filter(|_| !since.is_empty()) else {
            return 0;
        };
        let now = kernel::now();
        let forgotten = socket.tcp_metrics(*family).and_then(|entries| {
            let learned = entries.into_iter().filter(|entry| {
                let at = Prefix::host(entry.address)
                    .longest_in(since)
                    .map(|(_, at)| *at);
                at.is_some_and(|at| entry.age <= now.saturating_sub(at))
            });
            socket.ask(learned.map(|entry| entry.delete(*family)).collect())
        });
        match forgotten {
            Ok(results) => results.iter().filter(|result| result.is_ok()).count(),
            Err(e) => {
                error!("tcp_metrics cannot be read: {e}");
                0
            }
        }
    }

    /// Puts the host back as it was found.
    pub fn release(mut self) -> io::Result<Done> {
        let done = self.apply(&BTreeMap::new())?;
        self.state.clear()?;
        Ok(done)
    }

    /// Gives way if somebody has detached the BPF program.
    pub fn check_bpf(&mut self) {
        let detached = |bpf: &Attached| !bpf.is_attached().unwrap_or(true);
        if self.bpf.as_ref().is_some_and(detached) {
            warning!(
                "somebody detached the BPF program: RTOinit and the largest window are left alone from now on"
            );
            self.bpf = None;
        }
    }
}

fn plan_has_route(plan: &Plan, route: &Route) -> bool {
    plan.get(&route.prefix)
        .is_some_and(|target| target.route.is_some())
}

/// Attaches the BPF program to a cgroup for connections of this process's network namespace.
pub fn attach(cgroup: &std::path::Path) -> io::Result<Attached> {
    let told = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", cgroup.display()));
    let folder = File::open(cgroup).map_err(told)?;
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    let namespace =
        crate::sys::namespace_cookie(std::os::fd::AsFd::as_fd(&socket)).map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("this kernel does not tell network namespaces apart: {e}"),
            )
        })?;
    Attached::new(&folder, namespace)
}
