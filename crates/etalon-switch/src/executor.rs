//! The schedule executor: turns weeks into transitions at exact instants.
//!
//! A pair has a circuit in its days, and three signals. Each is on in a window around each of the pair's days, from some lead
//! before the start of the day to its end; windows that touch or overlap are one. Days repeat every week, so windows reach
//! over the roll-over.
//!
//! | signal      | lead                                        |
//! |-------------|---------------------------------------------|
//! | gate closed | the night before the day                    |
//! | big VOQ     | tau (NSDI'20 section 5.2)                   |
//! | near        | `ece_in_advance` (NSDI'20 section 5.3)      |
//!
//! Where the packet network is dark in all nights, all pairs are at once. Beside these, each change of the network that leads to a pair's destination (TDN, SIGCOMM'22 section 4.2) can be told to
//! hosts, some lead before it happens.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::{Night, Pair, Plane, Rdcn, Schedule};

/// What the schedule switches on and off for a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// The packet network does not serve the pair's VOQ.
    GateClosed,
    /// The pair's VOQ has its big capacity.
    Enlarged,
    /// A circuit is up or near: packets of the opposite direction carry ECE.
    Announced,
}

impl Signal {
    /// All signals, in order.
    pub(crate) const ALL: [Signal; 3] = [Signal::GateClosed, Signal::Enlarged, Signal::Announced];

    /// The signal's place in a set of signals.
    #[inline]
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A step of the schedule. Steps of one instant come in this order, so that what ends, ends before anything starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A day ends.
    Night(u32),
    /// The packet network serves nobody from now on.
    Dark,
    /// The circuit of a pair goes down.
    Down(Pair),
    /// A signal goes off.
    Off(Signal, Pair),
    /// The packet network serves again.
    Light,
    /// A day starts.
    Day(u32),
    /// A circuit comes up.
    Up(Pair, Plane),
    /// A signal goes on.
    On(Signal, Pair),
    /// Hosts are told which TDN leads to the pair's destination from now on, or soon.
    Tell(Pair, Plane),
}

/// What a network makes of its weeks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// How long before a pair's day these signals go on; `None` for never.
    enlarged: Option<Span>,
    announced: Option<Span>,
    /// How long before a pair's TDN changes hosts are told.
    told: Option<Span>,
    /// Outside of its days a pair has the packet network.
    has_packet: bool,
    /// The packet network is dark in all nights.
    dark_nights: bool,
}

impl Rules {
    pub(crate) fn new(config: &Rdcn) -> Rules {
        let has_packet = config.packet.is_some();
        Rules {
            enlarged: config.voq.resize.map(|resize| resize.in_advance),
            announced: config.ece_in_advance,
            told: config.notify.map(|notify| notify.before),
            has_packet,
            dark_nights: has_packet && config.night == Night::All,
        }
    }
}

/// How a week finds a pair when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Initial {
    pub(crate) pair: Pair,
    /// The plane of the circuit that it has, from the week before.
    pub(crate) circuit: Option<Plane>,
    /// Signals that are on before the week's first step, a bit each: windows that reach over the roll-over.
    pub(crate) signals: u8,
    /// The TDN that hosts have been told by then, at that instant included.
    pub(crate) told: Plane,
}

impl Initial {
    /// As of all pairs of which a week says nothing.
    pub(crate) fn at_rest(pair: Pair) -> Initial {
        Initial {
            pair,
            circuit: None,
            signals: 0,
            told: Plane::PACKET,
        }
    }
}

/// A compiled week.
#[derive(Debug)]
pub(crate) struct Week {
    length: Span,
    /// By offset from the start of the week, from zero to the week's length inclusive, then by step.
    steps: Vec<(Span, Step)>,
    /// By pair; of those that are not there, no circuit is up and no signal on, and their TDN is [`Plane::PACKET`].
    initial: Vec<Initial>,
}

/// A day of a pair.
#[derive(Clone, Copy)]
struct PairDay {
    pair: Pair,
    start: Span,
    end: Span,
    /// The night before.
    night: Span,
    plane: Plane,
}

/// All pairs' days in a week: a million of them where a thousand racks take turns.
struct PairDays {
    week: Span,
    /// In order of time, then by pair.
    days: Vec<PairDay>,
    /// The place of the same pair's next day; of the last, that of its first, a week later.
    next: Vec<u32>,
}

/// A day of a pair, the day before, and the time between them.
struct Gap<'a> {
    before: &'a PairDay,
    day: &'a PairDay,
    time: Span,
    /// The day is the pair's first of the week, and the one before of the week before.
    is_first: bool,
}

impl PairDays {
    fn new(schedule: &Schedule) -> PairDays {
        let configurations = schedule.configurations();
        let mut days: Vec<PairDay> = Vec::new();
        let mut start = Span::ZERO;
        let mut night = configurations.last().map_or(Span::ZERO, |c| c.night);
        for c in configurations {
            let (end, plane) = (start + c.day, c.plane);
            let first = days.len();
            days.extend(c.matching.pairs().map(|pair| PairDay {
                pair,
                start,
                end,
                night,
                plane,
            }));
            days[first..].sort_unstable_by_key(|day| day.pair);
            start = end + c.night;
            night = c.night;
        }
        let next = next_of_pairs(&days, usize::from(schedule.racks()));
        let week = schedule.week();
        PairDays { week, days, next }
    }

    /// Every day with the one before, in the order of the latter.
    fn gaps(&self) -> impl Iterator<Item = Gap<'_>> {
        self.next.iter().enumerate().map(|(index, &next)| {
            let (before, day) = (&self.days[index], &self.days[next as usize]);
            let is_first = next as usize <= index;
            let start = day.start + if is_first { self.week } else { Span::ZERO };
            Gap {
                before,
                day,
                time: start - before.end,
                is_first,
            }
        })
    }

    /// The days of each pair, in order of time.
    fn by_pair(&self) -> impl Iterator<Item = Vec<PairDay>> {
        let lasts = self.gaps().enumerate().filter(|(_, gap)| gap.is_first);
        lasts.map(|(last, gap)| {
            let mut days = alloc::vec![*gap.day];
            let mut at = self.next[last] as usize;
            while at != last {
                at = self.next[at] as usize;
                days.push(self.days[at]);
            }
            days
        })
    }
}

/// Of each of these days, which are in order of time, the place of the same pair's next one.
fn next_of_pairs(days: &[PairDay], racks: usize) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let mut next_of = alloc::vec![NONE; racks * racks];
    let mut next = alloc::vec![NONE; days.len()];
    // From the end twice around: the first time leaves the first days behind, which follow the last ones.
    for _ in 0..2 {
        for (index, day) in days.iter().enumerate().rev() {
            let after = &mut next_of[day.pair.index(racks)];
            next[index] = core::mem::replace(after, index as u32);
        }
    }
    next
}

impl Week {
    pub(crate) fn compile(schedule: &Schedule, rules: &Rules) -> Week {
        let mut steps = Vec::new();
        let mut start = Span::ZERO;
        for (index, c) in schedule.configurations().iter().enumerate() {
            let end = start + c.day;
            steps.push((start, Step::Day(index as u32)));
            steps.push((end, Step::Night(index as u32)));
            if rules.dark_nights && c.night > Span::ZERO {
                steps.push((end, Step::Dark));
                steps.push((end + c.night, Step::Light));
            }
            start = end + c.night;
        }
        let mut week = Week {
            length: schedule.week(),
            steps,
            initial: Vec::new(),
        };
        let days = PairDays::new(schedule);
        let mut initial = BTreeMap::new();
        week.add_circuits(&days, &mut initial);
        week.add_windows(&days, &mut initial, Signal::GateClosed, |day| day.night);
        if let Some(lead) = rules.enlarged {
            week.add_windows(&days, &mut initial, Signal::Enlarged, |_| lead);
        }
        if let Some(lead) = rules.announced {
            week.add_windows(&days, &mut initial, Signal::Announced, |_| lead);
        }
        if let Some(lead) = rules.told {
            for days in days.by_pair() {
                let told = week.add_tells(&days, lead, rules.has_packet);
                of_pair(&mut initial, days[0].pair).told = told;
            }
        }
        week.initial = initial.into_values().collect();
        week.steps.sort(); // a few runs that are in order already, which this sort makes use of
        week
    }

    /// Adds the circuits. One that goes on through the pair's next day stays up.
    fn add_circuits(&mut self, days: &PairDays, initial: &mut Initials) {
        let stays = |gap: &Gap<'_>| gap.time == Span::ZERO && gap.before.plane == gap.day.plane;
        let changes = || days.gaps().filter(|gap| !stays(gap));
        let down = |gap: Gap<'_>| (gap.before.end, Step::Down(gap.day.pair));
        let up = |Gap { day, .. }: Gap<'_>| (day.start, Step::Up(day.pair, day.plane));
        self.steps.extend(changes().map(down));
        self.steps.extend(changes().map(up));
        for Gap { day, .. } in days.gaps().filter(stays) {
            if day.start == Span::ZERO {
                of_pair(initial, day.pair).circuit = Some(day.plane);
            }
        }
    }

    /// Adds the windows of one signal around all days.
    fn add_windows(
        &mut self,
        days: &PairDays,
        initial: &mut Initials,
        signal: Signal,
        lead: impl Fn(&PairDay) -> Span,
    ) {
        let week = self.length;
        let apart = || days.gaps().filter(|gap| gap.time > lead(gap.day));
        let off = |gap: Gap<'_>| (gap.before.end, Step::Off(signal, gap.day.pair));
        let on = |Gap { day, .. }: Gap<'_>| {
            let at = (day.start + week - lead(day)).0 % week.0;
            (Span(at), Step::On(signal, day.pair))
        };
        self.steps.extend(apart().map(off));
        self.steps.extend(apart().map(on));
        for Gap { day, time, .. } in days.gaps().filter(|gap| gap.is_first) {
            let lead = lead(day);
            if lead > day.start || (lead == day.start && time <= lead) {
                of_pair(initial, day.pair).signals |= signal.bit();
            }
        }
    }

    /// Adds when hosts are told of the TDN of one pair, which has these days, in order of time: `lead` before it changes.
    /// Returns what they have been told when the week starts.
    fn add_tells(&mut self, days: &[PairDay], lead: Span, has_packet: bool) -> Plane {
        let week = self.length.0;
        let earlier = |at: Span| Span((at.0 + week - lead.0 % week) % week);
        let changes = self.tdn_changes(days, has_packet);
        let mut tells: Vec<_> = changes
            .iter()
            .map(|&(at, tdn)| (earlier(at), tdn))
            .collect();
        tells.sort_unstable();
        let pair = days[0].pair;
        let steps = tells.iter().map(|&(at, tdn)| (at, Step::Tell(pair, tdn)));
        self.steps.extend(steps);
        match (tells.first(), tells.last()) {
            (Some(&(Span::ZERO, tdn)), _) | (_, Some(&(_, tdn))) => tdn,
            _ => days[0].plane,
        }
    }

    /// When the TDN of a pair with these days changes, and to which. Through a night between two days of the pair its gate stays
    /// closed, so that no packet is carried before the second: the TDN remains that of the first.
    fn tdn_changes(&self, days: &[PairDay], has_packet: bool) -> Vec<(Span, Plane)> {
        let mut changes = Vec::new();
        let befores = days.iter().cycle().skip(days.len() - 1);
        for (before, day) in befores.zip(days) {
            let this_week = before.end <= day.start;
            let gap = day.start + if this_week { Span::ZERO } else { self.length } - before.end;
            if gap > day.night && has_packet {
                changes.push((before.end, Plane::PACKET));
            }
            changes.push((day.start, day.plane));
        }
        changes.sort_unstable(); // the first gap began in the week before
        let mut before = changes.last().map(|&(_, tdn)| tdn);
        changes.retain(|&(_, tdn)| before.replace(tdn) != Some(tdn));
        changes
    }
}

/// How a week finds those pairs that it does not find as all others.
type Initials = BTreeMap<Pair, Initial>;

fn of_pair(initials: &mut Initials, pair: Pair) -> &mut Initial {
    let entry = initials.entry(pair);
    entry.or_insert_with(|| Initial::at_rest(pair))
}

/// A week that starts.
pub(crate) struct NewWeek {
    pub(crate) number: u64,
    /// Its schedule is another: all is to be as [`Executor::initial`] says.
    pub(crate) is_adopted: bool,
}

/// Runs weeks, one after the other. Every instant is the week's start plus an offset, so nothing drifts.
#[derive(Debug)]
pub(crate) struct Executor {
    week: Week,
    /// Adopted when the current week ends.
    next_week: Option<Week>,
    /// Adopted when the first week ends that does not end before this time, in order of time.
    later: VecDeque<(Time, Week)>,
    week_start: Time,
    weeks: u64,
    next_step: usize,
}

impl Executor {
    /// The first week starts at `start`.
    pub(crate) fn new(week: Week, start: Time) -> Executor {
        Executor {
            // What goes before is a week without length that ends at `start`.
            week: Week {
                length: Span::ZERO,
                steps: Vec::new(),
                initial: Vec::new(),
            },
            next_week: Some(week),
            later: VecDeque::new(),
            week_start: start,
            weeks: 0,
            next_step: 0,
        }
    }

    /// Adopts `week` at the next roll-over.
    pub(crate) fn adopt(&mut self, week: Week) {
        self.next_week = Some(week);
    }

    /// Adopts `week` at the first roll-over that is not before `at`.
    pub(crate) fn adopt_later(&mut self, at: Time, week: Week) {
        let place = self.later.partition_point(|&(other, _)| other <= at);
        self.later.insert(place, (at, week));
    }

    /// When the next action is due.
    pub(crate) fn next_time(&self) -> Time {
        let offset = self.week.steps.get(self.next_step);
        self.week_start + offset.map_or(self.week.length, |&(offset, _)| offset)
    }

    /// When the current week ends.
    pub(crate) fn roll_over(&self) -> Time {
        self.week_start + self.week.length
    }

    /// How the current week finds those pairs that have a day in it, in order.
    pub(crate) fn initial(&self) -> &[Initial] {
        &self.week.initial
    }

    /// Takes the steps of the current week that are due, in order.
    pub(crate) fn take_due(&mut self, now: Time, steps: &mut Vec<Step>) {
        let until = now.saturating_since(self.week_start);
        let rest = &self.week.steps[self.next_step..];
        let due = rest.iter().take_while(|&&(offset, _)| offset <= until);
        let before = steps.len();
        steps.extend(due.map(|&(_, step)| step));
        self.next_step += steps.len() - before;
    }

    /// Starts the next week, if all of the current one is over.
    pub(crate) fn new_week(&mut self, now: Time) -> Option<NewWeek> {
        if self.next_step < self.week.steps.len() || self.roll_over() > now {
            return None;
        }
        self.week_start += self.week.length;
        self.next_step = 0;
        let number = self.weeks;
        self.weeks += 1;
        while self
            .later
            .front()
            .is_some_and(|&(at, _)| at <= self.week_start)
        {
            self.next_week = self.later.pop_front().map(|(_, week)| week);
        }
        let next = self.next_week.take();
        let is_adopted = next.is_some();
        if let Some(week) = next {
            self.week = week;
        }
        Some(NewWeek { number, is_adopted })
    }
}
