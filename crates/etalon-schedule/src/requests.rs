// SPDX-License-Identifier: MIT OR Apache-2.0
//! Circuits on request: who may have which, and when. A request names a set of cross-connects, and gets all of them or waits.
//!
//! A request takes some time to reach the controller. It is granted when no port that it needs is in the way: a circuit gives way
//! when it has been up for its least time and no job uses it. Then only circuits that change are dark. Requests that do not need the
//! same ports are granted together; one that waits keeps its ports from those behind it. A circuit that two jobs name is theirs together.
//!
//! A request's turn is the time at which it arrives, or, if the share is fair, later by what its job has had more than others. It never
//! moves, so that only requests that arrive before it can go first, of each other job one, and none waits for ever (docs/jobs.md,
//! 'How long a request waits').

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use etalon_scenario::{Asked, CrossConnect, Pair, Share};
use etalon_switch::Switch;
use etalon_units::{Span, Time};

/// What changes circuits.
pub trait CrossConnected {
    /// Some circuits go down now, others come up after they were dark; all others carry on.
    fn change(&mut self, now: Time, removed: &[CrossConnect], added: &[CrossConnect], dark: Span);
}

impl<H: Copy> CrossConnected for Switch<H> {
    fn change(&mut self, now: Time, removed: &[CrossConnect], added: &[CrossConnect], dark: Span) {
        Switch::change(self, now, removed, added, dark);
    }
}

/// What a job hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The job.
    pub job: u32,
    /// What.
    pub what: Granted,
}

/// What the controller did for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granted {
    /// Its request is granted: so many circuits change for it, and are dark for so long.
    Request {
        /// How many circuits come up for it.
        changed: u32,
        /// How long they are dark.
        dark: Span,
    },
    /// A circuit of its request is up.
    Up(CrossConnect),
    /// Another job waits for a port of a circuit that it has.
    Wanted(CrossConnect),
}

/// A circuit that changes: it is dark now, and will be up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The job for which it changes.
    pub job: u32,
    /// The circuit.
    pub connect: CrossConnect,
    /// When the job asked for it.
    pub asked: Time,
}

/// A circuit that a request waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Who waits, for what, and since when.
    pub change: Change,
    /// Circuits that are in its way, each with a job that has it.
    pub kept: Vec<(CrossConnect, u32)>,
}

/// A message on its way to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Message {
    /// With the time at which the job asked.
    Ask(u32, Vec<CrossConnect>, Time),
    /// Sent when the job had heard of so many grants.
    Release(u32, Vec<CrossConnect>, u64),
}

/// A circuit that is up, or will be.
#[derive(Clone, Debug)]
struct Circuit {
    to: u16,
    up: Time,
    /// It stays until then.
    held: Time,
    users: Vec<User>,
}

/// A job that uses a circuit.
#[derive(Clone, Copy, Debug)]
struct User {
    job: u32,
    since: Time,
    /// The job's grant that named it last, from 1 on.
    grant: u64,
    /// It has been told that another job waits.
    told: bool,
}

/// A request that waits.
#[derive(Clone, Debug)]
struct Waiting {
    job: u32,
    circuits: Vec<CrossConnect>,
    asked: Time,
    /// Whose is earlier goes first.
    turn: i128,
}

/// What a job has had.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Circuits times nanoseconds, of those that it gave back.
    served: i128,
    /// Circuits that it has, and the sum of the times at which it got them.
    has: u32,
    since: i128,
    waits: bool,
    /// Requests that were granted.
    grants: u64,
    /// What it had had when the last one was.
    then: i128,
}

impl Account {
    fn at(&self, now: Time) -> i128 {
        self.served + i128::from(self.has) * i128::from(now.0) - self.since
    }
}

/// A port of a rack: its plane, whether it is where circuits end, and the rack.
type Port = (u8, bool, u16);

fn ports(connect: CrossConnect) -> [Port; 2] {
    let CrossConnect { plane, pair } = connect;
    [(plane.0, false, pair.src), (plane.0, true, pair.dst)]
}

/// The requests for circuits of a switch.
#[derive(Debug)]
pub struct Requests {
    config: Asked,
    /// Circuits by plane and source, and their sources by plane and destination.
    circuits: BTreeMap<(u8, u16), Circuit>,
    sources: BTreeMap<(u8, u16), u16>,
    /// All take the same time to arrive.
    messages: VecDeque<(Time, Message)>,
    /// In order of arrival.
    waiting: Vec<Waiting>,
    accounts: BTreeMap<u32, Account>,
    /// By time, and by the order in which they were given. That another job waits comes last: who gives a circuit back then has heard
    /// whether it was granted again.
    answers: BTreeMap<(Time, bool, u64), Answer>,
    given: u64,
    /// Since they were [taken](Requests::take_changes) last.
    changes: Vec<Change>,
    /// When a circuit in the way of a request has been up for its least time.
    retry: Time,
}

impl Requests {
    /// Nobody has asked yet; `first` are up.
    #[must_use]
    pub fn new(config: Asked, first: impl Iterator<Item = CrossConnect>) -> Requests {
        let mut requests = Requests {
            config,
            circuits: BTreeMap::new(),
            sources: BTreeMap::new(),
            messages: VecDeque::new(),
            waiting: Vec::new(),
            accounts: BTreeMap::new(),
            answers: BTreeMap::new(),
            given: 0,
            changes: Vec::new(),
            retry: Time::MAX,
        };
        for connect in first {
            requests.connect(connect, Time::ZERO, Time::ZERO);
        }
        requests
    }

    /// A job asks for circuits, all or none of them.
    pub fn ask(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        let message = Message::Ask(job, circuits, now);
        self.messages
            .push_back((now + self.config.request, message));
    }

    /// A job needs circuits no more that it was granted.
    pub fn release(&mut self, now: Time, job: u32, circuits: Vec<CrossConnect>) {
        let heard = self.accounts.get(&job).map_or(0, |account| account.grants);
        let message = Message::Release(job, circuits, heard);
        self.messages
            .push_back((now + self.config.request, message));
    }

    /// When something is due.
    #[must_use]
    pub fn next_event(&self) -> Time {
        let message = self.messages.front().map_or(Time::MAX, |first| first.0);
        let answer = self
            .answers
            .first_key_value()
            .map_or(Time::MAX, |(first, _)| first.0);
        message.min(answer).min(self.retry)
    }

    /// Does what is due at `now`, before what the `network` does at that instant. Returns what jobs hear then.
    pub fn step(&mut self, now: Time, network: &mut dyn CrossConnected) -> Vec<Answer> {
        let mut news = self.retry <= now;
        while self.messages.front().is_some_and(|first| first.0 <= now) {
            if let Some((_, message)) = self.messages.pop_front() {
                self.receive(now, message);
                news = true;
            }
        }
        if news {
            self.grant(now, network);
        }
        let mut answers = Vec::new();
        while let Some(entry) = self.answers.first_entry() {
            if entry.key().0 > now {
                break;
            }
            answers.push(entry.remove());
        }
        answers
    }

    /// What has changed since this was called last, in order.
    pub fn take_changes(&mut self) -> Vec<Change> {
        core::mem::take(&mut self.changes)
    }

    /// What requests wait for that have arrived, and why.
    #[must_use]
    pub fn awaited(&self) -> Vec<Awaited> {
        let of_request = |waiting: &Waiting| {
            let &Waiting { job, asked, .. } = waiting;
            let awaited = |&connect: &CrossConnect| Awaited {
                change: Change {
                    job,
                    connect,
                    asked,
                },
                kept: self.keepers(connect),
            };
            waiting.circuits.iter().map(awaited).collect::<Vec<_>>()
        };
        self.waiting.iter().flat_map(of_request).collect()
    }

    /// Circuits in the way of one, with the jobs that have them.
    fn keepers(&self, connect: CrossConnect) -> Vec<(CrossConnect, u32)> {
        let users = |other: CrossConnect| {
            let circuit = self.circuits.get(&(other.plane.0, other.pair.src));
            let users = circuit.into_iter().flat_map(|circuit| &circuit.users);
            users.map(move |user| (other, user.job))
        };
        self.in_the_way(connect).flat_map(users).collect()
    }

    fn receive(&mut self, now: Time, message: Message) {
        match message {
            Message::Ask(job, circuits, asked) => {
                let more = self.arrive(now, job);
                let later = match self.config.share {
                    Share::Fifo => 0,
                    Share::Fair => more,
                };
                self.waiting.push(Waiting {
                    job,
                    circuits,
                    asked,
                    turn: i128::from(now.0) + later,
                });
            }
            Message::Release(job, circuits, heard) => {
                for connect in circuits {
                    self.give_back(now, job, connect, heard);
                }
            }
        }
    }

    /// A job that has had nothing and waited for nothing does not save up: it begins where those are that do (start-time fair
    /// queueing). Returns how much more it has had than the one of them that has had least; no more than since its last grant, as
    /// what it had while nobody else wanted it is no debt.
    fn arrive(&mut self, now: Time, job: u32) -> i128 {
        let is_active = |account: &Account| account.waits || account.has > 0;
        let others = self.accounts.iter().filter(|&(&other, _)| other != job);
        let active = others.filter(|(_, account)| is_active(account));
        let least = active.map(|(_, account)| account.at(now)).min();
        let account = self.accounts.entry(job).or_default();
        if let (false, Some(least)) = (is_active(account), least) {
            account.served += (least - account.at(now)).max(0);
        }
        account.waits = true;
        let more = |least: i128| account.at(now) - least.max(account.then);
        least.map_or(0, more).max(0)
    }

    /// A job uses a circuit no more, unless it was granted again since.
    fn give_back(&mut self, now: Time, job: u32, connect: CrossConnect, heard: u64) {
        let key = (connect.plane.0, connect.pair.src);
        let Some(circuit) = self.circuits.get_mut(&key) else {
            return;
        };
        let mut used = circuit.users.iter();
        let used = used.position(|user| user.job == job && user.grant <= heard);
        if let (Some(place), true) = (used, circuit.to == connect.pair.dst) {
            let since = circuit.users.remove(place).since;
            let account = self.accounts.entry(job).or_default();
            account.served += i128::from(now.0) - i128::from(since.0);
            account.since -= i128::from(since.0);
            account.has -= 1;
        }
    }

    /// Grants what can be granted, in order.
    fn grant(&mut self, now: Time, network: &mut dyn CrossConnected) {
        self.retry = Time::MAX;
        let mut order: Vec<usize> = (0..self.waiting.len()).collect();
        order.sort_by_key(|&place| self.waiting[place].turn); // stable: else who came first
        let mut kept: Vec<Port> = Vec::new();
        let mut granted = Vec::new();
        for place in order {
            let waiting = &self.waiting[place];
            let mut needs = waiting.circuits.iter().flat_map(|&one| ports(one));
            let is_kept = needs.any(|port| kept.binary_search(&port).is_ok());
            let waiting = waiting.clone();
            if !is_kept && self.is_free(now, waiting.job, &waiting.circuits) {
                self.carry_out(now, &waiting, network);
                granted.push(place);
            } else {
                kept.extend(waiting.circuits.iter().flat_map(|&one| ports(one)));
                kept.sort_unstable();
            }
        }
        granted.sort_unstable();
        for place in granted.into_iter().rev() {
            let job = self.waiting.remove(place).job;
            let still = self.waiting.iter().any(|other| other.job == job);
            self.accounts.entry(job).or_default().waits = still;
        }
    }

    /// The circuits in the way of one: those that have a port of its, and are others.
    fn in_the_way(&self, connect: CrossConnect) -> impl Iterator<Item = CrossConnect> {
        let CrossConnect { plane, pair } = connect;
        let from = self.circuits.get(&(plane.0, pair.src));
        let dst = from.map(|circuit| circuit.to).filter(|&to| to != pair.dst);
        let src = self.sources.get(&(plane.0, pair.dst)).copied();
        let src = src.filter(|&src| src != pair.src);
        let at = move |src, dst| CrossConnect {
            plane,
            pair: Pair { src, dst },
        };
        let out = dst.map(|dst| at(pair.src, dst));
        out.into_iter().chain(src.map(|src| at(src, pair.dst)))
    }

    /// Whether nothing is in the way of a request. If something is, its users hear of it, or it is looked at again in time.
    fn is_free(&mut self, now: Time, job: u32, circuits: &[CrossConnect]) -> bool {
        let back = now + self.config.request;
        let mut is_free = true;
        for &connect in circuits {
            for other in self.in_the_way(connect).collect::<Vec<_>>() {
                let key = (other.plane.0, other.pair.src);
                let Some(circuit) = self.circuits.get_mut(&key) else {
                    continue;
                };
                if circuit.users.is_empty() && circuit.held <= now {
                    continue;
                }
                is_free = false;
                if circuit.users.is_empty() {
                    self.retry = self.retry.min(circuit.held);
                }
                let others = circuit.users.iter_mut();
                let untold = others.filter(|user| user.job != job && !user.told);
                let told = |user: &mut User| {
                    user.told = true;
                    user.job
                };
                for user in untold.map(told).collect::<Vec<_>>() {
                    self.answer(back, user, Granted::Wanted(other));
                }
            }
        }
        is_free
    }

    /// Grants a request.
    fn carry_out(&mut self, now: Time, waiting: &Waiting, network: &mut dyn CrossConnected) {
        let &Waiting {
            job,
            ref circuits,
            asked,
            ..
        } = waiting;
        let (mut removed, mut added) = (Vec::new(), Vec::new());
        for &connect in circuits {
            let key = (connect.plane.0, connect.pair.src);
            let there = self.circuits.get(&key);
            if there.is_none_or(|circuit| circuit.to != connect.pair.dst) {
                added.push(connect);
                removed.extend(self.in_the_way(connect));
            }
        }
        removed.sort_unstable();
        removed.dedup();
        for one in &removed {
            self.circuits.remove(&(one.plane.0, one.pair.src));
            self.sources.remove(&(one.plane.0, one.pair.dst));
        }
        let dark = self.config.reconfiguration;
        for &connect in &added {
            self.connect(connect, now + dark, now);
            self.changes.push(Change {
                job,
                connect,
                asked,
            });
        }
        if !added.is_empty() {
            network.change(now, &removed, &added, dark);
        }
        let changed = added.len() as u32;
        let account = self.accounts.entry(job).or_default();
        (account.grants, account.then) = (account.grants + 1, account.at(now));
        self.answer(now, job, Granted::Request { changed, dark });
        for &connect in circuits {
            let up = self.use_circuit(now, job, connect);
            self.answer(up, job, Granted::Up(connect));
        }
    }

    /// A circuit will be up.
    fn connect(&mut self, connect: CrossConnect, up: Time, held: Time) {
        let CrossConnect { plane, pair } = connect;
        let circuit = Circuit {
            to: pair.dst,
            up,
            held,
            users: Vec::new(),
        };
        self.circuits.insert((plane.0, pair.src), circuit);
        self.sources.insert((plane.0, pair.dst), pair.src);
    }

    /// A job has a circuit from now on. Returns when it is up.
    fn use_circuit(&mut self, now: Time, job: u32, connect: CrossConnect) -> Time {
        let key = (connect.plane.0, connect.pair.src);
        let Some(circuit) = self.circuits.get_mut(&key) else {
            return now;
        };
        let up = circuit.up.max(now);
        circuit.held = up + self.config.hold;
        let account = self.accounts.entry(job).or_default();
        let grant = account.grants;
        if let Some(user) = circuit.users.iter_mut().find(|user| user.job == job) {
            (user.grant, user.told) = (grant, false);
        } else {
            circuit.users.push(User {
                job,
                since: now,
                grant,
                told: false,
            });
            account.has += 1;
            account.since += i128::from(now.0);
        }
        up
    }

    fn answer(&mut self, time: Time, job: u32, what: Granted) {
        let is_last = matches!(what, Granted::Wanted(_));
        let place = (time, is_last, self.given);
        self.answers.insert(place, Answer { job, what });
        self.given += 1;
    }
}
