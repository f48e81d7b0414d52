//! Circuits on request: who holds which ports, who waits, and who is next.
//!
//! A request names cross-connects. It reaches the controller after a while, waits until all of its ports are free, and is granted as a
//! whole: circuits that are there already stay up, the others are dark for a reconfiguration, and nobody else's are touched. Ports are
//! held for a least time, and from then on until their holder releases them. Requests that do not conflict are granted together; who
//! comes first keeps the ports that it waits for from those behind, so that nobody waits for ever.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use etalon_scenario::{Asked, Pair, Share};
use etalon_switch::Switch;
use etalon_units::{Span, Time};

/// What circuits are changed in.
pub trait CrossConnects {
    /// Takes some circuits down now, and sets others up that are `live` then; all others carry on.
    fn change(&mut self, now: Time, down: &[Pair], up: &[Pair], live: Time);
}

impl<H: Copy> CrossConnects for Switch<H> {
    fn change(&mut self, now: Time, down: &[Pair], up: &[Pair], live: Time) {
        Switch::change(self, now, down, up, live);
    }
}

/// Names a request of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket {
    /// The job.
    pub job: u32,
    /// Counts the job's requests.
    pub number: u32,
}

/// A request that has reached the controller.
#[derive(Clone, Debug)]
struct Waiting {
    ticket: Ticket,
    circuits: Vec<Pair>,
}

/// Circuits that a job holds, or that are being set up for it.
#[derive(Clone, Debug)]
struct Held {
    circuits: Vec<Pair>,
    /// When it was granted its ports, and when all of its circuits are there.
    since: Time,
    live: Time,
    told: bool,
    released: bool,
}

/// What is on its way to the controller.
#[derive(Clone, Debug)]
enum Message {
    Ask(Waiting),
    Release(Ticket),
}

/// The controller of circuits that are asked for.
#[derive(Clone, Debug)]
pub struct Requests {
    rules: Asked,
    /// In order of arrival.
    coming: Vec<(Time, Message)>,
    /// In order of arrival.
    waiting: Vec<Waiting>,
    held: BTreeMap<Ticket, Held>,
    /// For each rack, where its circuit leads, and which request holds its port there and the one of circuits to it.
    leads: Vec<Option<u16>>,
    out_ports: Vec<Option<Ticket>>,
    in_ports: Vec<Option<Ticket>>,
    /// Time that each job has held ports, in ns, times their number.
    used: BTreeMap<u32, u128>,
}

impl Requests {
    /// A controller for so many racks, which have these circuits at first.
    #[must_use]
    pub fn new(rules: Asked, racks: u16, initial: impl Iterator<Item = Pair>) -> Requests {
        let racks = usize::from(racks);
        let mut leads = alloc::vec![None; racks];
        for pair in initial {
            leads[usize::from(pair.src)] = Some(pair.dst);
        }
        Requests {
            rules,
            coming: Vec::new(),
            waiting: Vec::new(),
            held: BTreeMap::new(),
            leads,
            out_ports: alloc::vec![None; racks],
            in_ports: alloc::vec![None; racks],
            used: BTreeMap::new(),
        }
    }

    /// A host asks for circuits, all or none: no two from or to one rack.
    pub fn ask(&mut self, now: Time, ticket: Ticket, circuits: Vec<Pair>) {
        let waiting = Waiting { ticket, circuits };
        let arrives = now + self.rules.request;
        self.coming.push((arrives, Message::Ask(waiting)));
    }

    /// A host needs the circuits of a request no longer.
    pub fn release(&mut self, now: Time, ticket: Ticket) {
        let arrives = now + self.rules.request;
        self.coming.push((arrives, Message::Release(ticket)));
    }

    /// When it is due next; [`Time::MAX`] if nothing is to come.
    #[must_use]
    pub fn next_event(&self) -> Time {
        let arrival = self.coming.iter().map(|&(time, _)| time);
        let live = self.held.values().filter(|held| !held.told);
        let live = live.map(|held| held.live);
        let free = self.held.values().filter(|held| held.told && held.released);
        let free = free.map(|held| held.live + self.rules.hold);
        arrival.chain(live).chain(free).min().unwrap_or(Time::MAX)
    }

    /// Does what is due: takes in what has arrived, frees ports, grants requests. Adds those whose circuits are there since to
    /// `granted`.
    pub fn step(
        &mut self,
        now: Time,
        circuits: &mut impl CrossConnects,
        granted: &mut Vec<Ticket>,
    ) {
        self.take_in(now);
        self.free_ports(now);
        self.grant(now, circuits);
        for (&ticket, held) in &mut self.held {
            if !held.told && held.live <= now {
                held.told = true;
                granted.push(ticket);
            }
        }
    }

    /// Requests that wait, each with one that holds a port it needs, if any does.
    pub fn waiting(&self) -> impl Iterator<Item = (Ticket, Option<Ticket>)> + '_ {
        self.waiting.iter().map(|waiting| {
            let holder = |pair: &Pair| {
                let (out, into) = self.ports(*pair);
                out.or(into)
            };
            (waiting.ticket, waiting.circuits.iter().find_map(holder))
        })
    }

    fn take_in(&mut self, now: Time) {
        let mut place = 0;
        while place < self.coming.len() {
            if self.coming[place].0 > now {
                place += 1;
                continue;
            }
            match self.coming.remove(place).1 {
                Message::Ask(waiting) => self.waiting.push(waiting),
                Message::Release(ticket) => {
                    if let Some(held) = self.held.get_mut(&ticket) {
                        held.released = true;
                    }
                }
            }
        }
    }

    /// Ports are free that were released, and held for long enough.
    fn free_ports(&mut self, now: Time) {
        let hold = self.rules.hold;
        let used = &mut self.used;
        let (out_ports, in_ports) = (&mut self.out_ports, &mut self.in_ports);
        self.held.retain(|ticket, held| {
            if !held.told || !held.released || held.live + hold > now {
                return true;
            }
            for pair in &held.circuits {
                out_ports[usize::from(pair.src)] = None;
                in_ports[usize::from(pair.dst)] = None;
            }
            let time = u128::from((now - held.since).0) * held.circuits.len() as u128;
            *used.entry(ticket.job).or_default() += time;
            false
        });
    }

    /// Grants whom it can, the first first.
    fn grant(&mut self, now: Time, circuits: &mut impl CrossConnects) {
        if self.rules.share == Share::Fair {
            // Who has held ports for longest comes last; those of one job stay in order.
            let used = &self.used;
            self.waiting
                .sort_by_key(|waiting| used.get(&waiting.ticket.job).copied().unwrap_or(0));
        }
        let racks = self.leads.len();
        let (mut out_kept, mut in_kept) = (alloc::vec![false; racks], alloc::vec![false; racks]);
        let mut place = 0;
        while place < self.waiting.len() {
            let wanted = &self.waiting[place].circuits;
            let is_free = |pair: &Pair| {
                let is_kept = out_kept[usize::from(pair.src)] || in_kept[usize::from(pair.dst)];
                !is_kept && self.ports(*pair) == (None, None)
            };
            if wanted.iter().all(is_free) {
                let waiting = self.waiting.remove(place);
                self.set_up(now, waiting, circuits);
                continue;
            }
            for pair in wanted {
                out_kept[usize::from(pair.src)] = true;
                in_kept[usize::from(pair.dst)] = true;
            }
            place += 1;
        }
    }

    fn ports(&self, pair: Pair) -> (Option<Ticket>, Option<Ticket>) {
        let (src, dst) = (usize::from(pair.src), usize::from(pair.dst));
        (self.out_ports[src], self.in_ports[dst])
    }

    fn set_up(&mut self, now: Time, waiting: Waiting, circuits: &mut impl CrossConnects) {
        let Waiting {
            ticket,
            circuits: wanted,
        } = waiting;
        let is_there = |pair: &Pair| self.leads[usize::from(pair.src)] == Some(pair.dst);
        let up: Vec<Pair> = wanted.iter().copied().filter(|pair| !is_there(pair)).collect();
        let mut down = Vec::new();
        for pair in &up {
            // Whatever leads from the one rack, or to the other.
            for src in 0..self.leads.len() as u16 {
                let Some(dst) = self.leads[usize::from(src)] else {
                    continue;
                };
                if src == pair.src || dst == pair.dst {
                    down.push(Pair { src, dst });
                    self.leads[usize::from(src)] = None;
                }
            }
        }
        let live = if up.is_empty() {
            now
        } else {
            now + self.rules.reconfiguration
        };
        for pair in &wanted {
            self.leads[usize::from(pair.src)] = Some(pair.dst);
            self.out_ports[usize::from(pair.src)] = Some(ticket);
            self.in_ports[usize::from(pair.dst)] = Some(ticket);
        }
        if !up.is_empty() {
            circuits.change(now, &down, &up, live);
        }
        let held = Held {
            circuits: wanted,
            since: now,
            live,
            told: false,
            released: false,
        };
        self.held.insert(ticket, held);
    }
}

/// What a job's circuits may be: no two lead from one rack, or to one.
#[must_use]
pub fn is_matching(circuits: &[Pair]) -> bool {
    let mut sources: Vec<u16> = circuits.iter().map(|pair| pair.src).collect();
    let mut destinations: Vec<u16> = circuits.iter().map(|pair| pair.dst).collect();
    sources.sort_unstable();
    destinations.sort_unstable();
    let differ = |racks: &[u16]| racks.windows(2).all(|two| two[0] != two[1]);
    differ(&sources) && differ(&destinations)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(src: u16, dst: u16) -> Pair {
        Pair { src, dst }
    }

    fn rules(share: Share) -> Asked {
        Asked {
            reconfiguration: Span(10_000),
            request: Span(2_000),
            hold: Span(50_000),
            share,
        }
    }

    fn ticket(job: u32, number: u32) -> Ticket {
        Ticket { job, number }
    }

    /// What was changed: when, what went down, what comes up, and when.
    #[derive(Default)]
    struct Log(Vec<(u64, Vec<Pair>, Vec<Pair>, u64)>);

    impl CrossConnects for Log {
        fn change(&mut self, now: Time, down: &[Pair], up: &[Pair], live: Time) {
            self.0.push((now.0, down.to_vec(), up.to_vec(), live.0));
        }
    }

    /// Goes on until nothing is to come before `end`. Returns who was granted, and when.
    fn run(requests: &mut Requests, log: &mut Log, end: u64) -> Vec<(u64, Ticket)> {
        let mut all = Vec::new();
        while requests.next_event() < Time(end) {
            let now = requests.next_event();
            let mut granted = Vec::new();
            requests.step(now, log, &mut granted);
            all.extend(granted.into_iter().map(|ticket| (now.0, ticket)));
        }
        all
    }

    /// Four racks, two jobs, three requests, by hand. Job 0 asks for 0>1 and 1>0 at 0: there at 2 + 10 us. Job 1 asks for 2>3 at
    /// 1 us, which conflicts with nobody: 3 + 10 us. Job 1 asks for 1>2 at 5 us: rack 1's port is job 0's, which releases it at
    /// 20 us; that arrives at 22, but the port is held until 62 us: there at 72 us, and 0>1 stays up.
    #[test]
    fn four_racks_two_jobs_three_requests() {
        let mut requests = Requests::new(rules(Share::Fifo), 4, core::iter::empty());
        let mut log = Log::default();
        requests.ask(Time(0), ticket(0, 0), alloc::vec![pair(0, 1), pair(1, 0)]);
        requests.ask(Time(1_000), ticket(1, 0), alloc::vec![pair(2, 3)]);
        requests.ask(Time(5_000), ticket(1, 1), alloc::vec![pair(1, 2)]);
        let mut granted = run(&mut requests, &mut log, 20_000);
        assert_eq!(requests.waiting().collect::<Vec<_>>(), [(ticket(1, 1), Some(ticket(0, 0)))]);
        requests.release(Time(20_000), ticket(0, 0));
        granted.extend(run(&mut requests, &mut log, 1_000_000));
        assert_eq!(
            granted,
            [(12_000, ticket(0, 0)), (13_000, ticket(1, 0)), (72_000, ticket(1, 1))]
        );
        assert_eq!(
            log.0,
            [
                (2_000, alloc::vec![], alloc::vec![pair(0, 1), pair(1, 0)], 12_000),
                (3_000, alloc::vec![], alloc::vec![pair(2, 3)], 13_000),
                (62_000, alloc::vec![pair(1, 0)], alloc::vec![pair(1, 2)], 72_000),
            ]
        );
    }

    #[test]
    fn circuits_that_are_there_cost_nothing() {
        let mut requests = Requests::new(rules(Share::Fifo), 4, [pair(0, 1), pair(2, 3)].into_iter());
        let mut log = Log::default();
        requests.ask(Time(0), ticket(0, 0), alloc::vec![pair(0, 1)]);
        assert_eq!(run(&mut requests, &mut log, 9_999), [(2_000, ticket(0, 0))]);
        assert!(log.0.is_empty());
    }

    /// Both jobs always want rack 0's port; job 1 asks once for a long time, job 0 again and again.
    #[test]
    fn who_has_held_ports_for_less_time_comes_first() {
        let mut requests = Requests::new(rules(Share::Fair), 4, core::iter::empty());
        let mut log = Log::default();
        requests.ask(Time(0), ticket(0, 0), alloc::vec![pair(0, 1)]);
        run(&mut requests, &mut log, 13_000);
        requests.ask(Time(13_000), ticket(0, 1), alloc::vec![pair(0, 2)]);
        requests.ask(Time(14_000), ticket(1, 0), alloc::vec![pair(0, 3)]);
        requests.release(Time(15_000), ticket(0, 0));
        let granted = run(&mut requests, &mut log, 100_000);
        assert_eq!(granted, [(72_000, ticket(1, 0))]);
    }

    /// Who waits keeps its ports from those behind: a request for many ports is granted in the end.
    #[test]
    fn nobody_waits_for_ever() {
        let mut requests = Requests::new(rules(Share::Fifo), 4, core::iter::empty());
        let mut log = Log::default();
        requests.ask(Time(0), ticket(0, 0), alloc::vec![pair(0, 1)]);
        requests.ask(Time(1), ticket(1, 0), alloc::vec![pair(0, 2), pair(1, 3)]);
        requests.ask(Time(2), ticket(2, 0), alloc::vec![pair(1, 2)]);
        requests.release(Time(3), ticket(0, 0));
        let granted = run(&mut requests, &mut log, 100_000);
        assert_eq!(granted, [(12_000, ticket(0, 0)), (72_000, ticket(1, 0))]);
    }
}
