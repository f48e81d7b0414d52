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

use alloc::collections::VecDeque;
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

/// A compiled week.
#[derive(Debug)]
pub(crate) struct Week {
    length: Span,
    /// By offset from the start of the week, from zero to the week's length inclusive, then by step.
    steps: Vec<(Span, Step)>,
    /// By pair; of those that are not there, no signal is on, and their TDN is [`Plane::PACKET`].
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

impl Week {
    pub(crate) fn compile(schedule: &Schedule, rules: &Rules) -> Week {
        let configurations = schedule.configurations();
        let mut steps = Vec::new();
        let mut days = Vec::new();
        let mut start = Span::ZERO;
        let mut night = configurations.last().map_or(Span::ZERO, |c| c.night);
        for (index, c) in configurations.iter().enumerate() {
            let end = start + c.day;
            steps.push((start, Step::Day(index as u32)));
            steps.push((end, Step::Night(index as u32)));
            if rules.dark_nights && c.night > Span::ZERO {
                steps.push((end, Step::Dark));
                steps.push((end + c.night, Step::Light));
            }
            let plane = c.plane;
            for pair in c.matching.pairs() {
                days.push(PairDay {
                    pair,
                    start,
                    end,
                    night,
                    plane,
                });
            }
            start = end + c.night;
            night = c.night;
        }
        days.sort_by_key(|day| (day.pair, day.start));

        let mut week = Week {
            length: schedule.week(),
            steps,
            initial: Vec::new(),
        };
        for days in days.chunk_by(|a, b| a.pair == b.pair) {
            let mut initial = Initial {
                pair: days[0].pair,
                circuit: week.add_circuits(days),
                signals: week.add_windows(days, Signal::GateClosed, |day| day.night),
                told: Plane::PACKET,
            };
            if let Some(lead) = rules.enlarged {
                initial.signals |= week.add_windows(days, Signal::Enlarged, |_| lead);
            }
            if let Some(lead) = rules.announced {
                initial.signals |= week.add_windows(days, Signal::Announced, |_| lead);
            }
            if let Some(lead) = rules.told {
                initial.told = week.add_tells(days, lead, rules.has_packet);
            }
            week.initial.push(initial);
        }
        week.steps.sort_unstable();
        week
    }

    /// Adds the circuits of one pair, which has these days, in order of time. One that goes on through the next day stays up.
    /// Returns the one that is up when the week starts.
    fn add_circuits(&mut self, days: &[PairDay]) -> Option<Plane> {
        let mut initial = None;
        for (before, day, gap) in gaps(days, self.length) {
            if gap == Span::ZERO && before.plane == day.plane {
                if day.start == Span::ZERO {
                    initial = Some(day.plane);
                }
                continue;
            }
            self.steps.push((before.end, Step::Down(day.pair)));
            self.steps.push((day.start, Step::Up(day.pair, day.plane)));
        }
        initial
    }

    /// Adds the windows of one signal around all days of one pair, in order of time. Its bit, if it is on when the week starts.
    fn add_windows(
        &mut self,
        days: &[PairDay],
        signal: Signal,
        lead: impl Fn(&PairDay) -> Span,
    ) -> u8 {
        let mut initial = 0;
        for (before, day, gap) in gaps(days, self.length) {
            let lead = lead(day);
            let from_before = lead > day.start || (lead == day.start && gap <= lead);
            if day.start == days[0].start && from_before {
                initial = signal.bit();
            }
            if gap > lead {
                let on = (day.start + self.length - lead).0 % self.length.0;
                self.steps.push((before.end, Step::Off(signal, day.pair)));
                self.steps.push((Span(on), Step::On(signal, day.pair)));
            }
        }
        initial
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
        for (before, day, gap) in gaps(days, self.length) {
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

/// The days of a pair, in order of time, each with the day before, and the time between them; before the first comes the last
/// of the week before.
fn gaps(days: &[PairDay], week: Span) -> impl Iterator<Item = (&PairDay, &PairDay, Span)> {
    let before = days.iter().cycle().skip(days.len() - 1);
    before.zip(days).map(move |(before, day)| {
        let this_week = before.end <= day.start;
        let gap = day.start + if this_week { Span::ZERO } else { week } - before.end;
        (before, day, gap)
    })
}

/// What the executor asks for.
pub(crate) enum Action {
    /// Do this step.
    Step(Step),
    /// A week starts, with this number.
    RollOver(u64),
    /// A week starts with this number and another schedule: all is to be as [`Executor::initial`] says.
    Adopt(u64),
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

    /// Takes the next action.
    pub(crate) fn advance(&mut self) -> Action {
        if let Some(&(_, step)) = self.week.steps.get(self.next_step) {
            self.next_step += 1;
            return Action::Step(step);
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
        match self.next_week.take() {
            Some(week) => {
                self.week = week;
                Action::Adopt(number)
            }
            None => Action::RollOver(number),
        }
    }
}
