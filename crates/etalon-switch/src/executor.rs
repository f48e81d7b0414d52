//! The schedule executor: turns weeks into transitions at exact instants.
//!
//! A pair has four signals. Each is on in a window around each of the pair's days, from some lead before the start of
//! the day to its end; windows that touch or overlap are one. Days repeat every week, so windows reach over the
//! roll-over.
//!
//! | signal      | lead                                        |
//! |-------------|---------------------------------------------|
//! | circuit     | none                                        |
//! | gate closed | the night before the day                    |
//! | big VOQ     | tau (NSDI'20 section 5.2)                   |
//! | near        | `ece_in_advance` (NSDI'20 section 5.3)      |
//!
//! Beside these, each change of the network that leads to a pair's destination (TDN, SIGCOMM'22 section 4.2) can be told to
//! hosts, some lead before it happens.

use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::{Pair, Plane, Schedule};

/// What the schedule switches on and off for a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    /// The pair has a circuit.
    Circuit,
    /// The packet network does not serve the pair's VOQ.
    GateClosed,
    /// The pair's VOQ has its big capacity.
    Enlarged,
    /// A circuit is up or near: packets of the opposite direction carry ECE.
    Announced,
}

impl Signal {
    /// All signals, in order.
    pub(crate) const ALL: [Signal; 4] = [
        Signal::Circuit,
        Signal::GateClosed,
        Signal::Enlarged,
        Signal::Announced,
    ];

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
    /// A signal goes off.
    Off(Signal, Pair),
    /// A day starts.
    Day(u32),
    /// A signal goes on.
    On(Signal, Pair),
    /// Hosts are told which TDN leads to the pair's destination from now on, or soon.
    Tell(Pair, Plane),
}

/// How long before a pair's day its signals go on, and before it changes hosts are told of its TDN; `None` for never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leads {
    pub(crate) enlarged: Option<Span>,
    pub(crate) announced: Option<Span>,
    pub(crate) told: Option<Span>,
}

/// How a week finds a pair when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Initial {
    pub(crate) pair: Pair,
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
    /// By pair; of those that are not there, no signal is on, and their TDN is that of the packet network.
    initial: Vec<Initial>,
}

/// A day of a pair.
#[derive(Clone, Copy)]
struct PairDay {
    start: Span,
    end: Span,
    /// The night before.
    night: Span,
    plane: Plane,
}

impl Week {
    pub(crate) fn compile(schedule: &Schedule, leads: Leads) -> Week {
        let configurations = schedule.configurations();
        let mut steps = Vec::new();
        let mut days = Vec::new();
        let mut start = Span::ZERO;
        let mut night = configurations.last().map_or(Span::ZERO, |c| c.night);
        for (index, c) in configurations.iter().enumerate() {
            let end = start + c.day;
            steps.push((start, Step::Day(index as u32)));
            steps.push((end, Step::Night(index as u32)));
            for pair in c.matching.pairs() {
                let plane = Plane::CIRCUIT;
                let day = PairDay {
                    start,
                    end,
                    night,
                    plane,
                };
                days.push((pair, day));
            }
            start = end + c.night;
            night = c.night;
        }
        days.sort_by_key(|&(pair, day)| (pair, day.start));

        let mut week = Week {
            length: schedule.week(),
            steps,
            initial: Vec::new(),
        };
        for days in days.chunk_by(|a, b| a.0 == b.0) {
            let mut signals = week.add_windows(days, Signal::Circuit, |_| Span::ZERO);
            signals |= week.add_windows(days, Signal::GateClosed, |day| day.night);
            if let Some(lead) = leads.enlarged {
                signals |= week.add_windows(days, Signal::Enlarged, |_| lead);
            }
            if let Some(lead) = leads.announced {
                signals |= week.add_windows(days, Signal::Announced, |_| lead);
            }
            let told = leads
                .told
                .map_or(Plane::PACKET, |lead| week.add_tells(days, lead));
            let pair = days[0].0;
            week.initial.push(Initial {
                pair,
                signals,
                told,
            });
        }
        week.steps.sort_unstable();
        week
    }

    /// Adds the windows of one signal for all days of one pair, in order of time. Its bit, if it is on when the week starts.
    fn add_windows(
        &mut self,
        days: &[(Pair, PairDay)],
        signal: Signal,
        lead: impl Fn(PairDay) -> Span,
    ) -> u8 {
        let (pair, first) = days[0];
        let last = days[days.len() - 1].1;
        // The end of the day before the first one lies in the previous week: `before_first` before this week's start.
        let before_first = self.length - last.end;
        let first_lead = lead(first);
        let joined = before_first + first.start <= first_lead;
        if !joined {
            let at = if first.start >= first_lead {
                first.start - first_lead
            } else {
                self.length - (first_lead - first.start)
            };
            self.steps.push((at, Step::On(signal, pair)));
            self.steps.push((last.end, Step::Off(signal, pair)));
        }
        for next in days.windows(2) {
            let (day, next) = (next[0].1, next[1].1);
            let lead = lead(next);
            if next.start - day.end > lead {
                self.steps.push((day.end, Step::Off(signal, pair)));
                self.steps.push((next.start - lead, Step::On(signal, pair)));
            }
        }
        if joined || first.start < first_lead {
            signal.bit()
        } else {
            0
        }
    }

    /// Adds when hosts are told of the TDN of one pair, which has these days, in order of time: `lead` before it changes.
    /// Returns what they have been told when the week starts.
    fn add_tells(&mut self, days: &[(Pair, PairDay)], lead: Span) -> Plane {
        let week = self.length.0;
        let earlier = |at: Span| Span((at.0 + week - lead.0 % week) % week);
        let changes = self.tdn_changes(days);
        let mut tells: Vec<_> = changes
            .iter()
            .map(|&(at, tdn)| (earlier(at), tdn))
            .collect();
        tells.sort_unstable();
        let pair = days[0].0;
        let steps = tells.iter().map(|&(at, tdn)| (at, Step::Tell(pair, tdn)));
        self.steps.extend(steps);
        match (tells.first(), tells.last()) {
            (Some(&(Span::ZERO, tdn)), _) | (_, Some(&(_, tdn))) => tdn,
            _ => days[0].1.plane,
        }
    }

    /// When the TDN of a pair with these days changes, and to which. Through a night between two days of the pair its gate stays
    /// closed, so that no packet is carried before the second: the TDN remains that of the first.
    fn tdn_changes(&self, days: &[(Pair, PairDay)]) -> Vec<(Span, Plane)> {
        let mut changes = Vec::new();
        let after = days.iter().skip(1).chain(&days[..1]);
        for (&(_, day), &(_, next)) in days.iter().zip(after) {
            changes.push((day.start, day.plane));
            // After the last day comes the first of the next week.
            let next_start = if next.start < day.end {
                next.start + self.length
            } else {
                next.start
            };
            if next_start - day.end > next.night {
                changes.push((day.end, Plane::PACKET));
            }
        }
        let mut before = changes.last().map(|&(_, tdn)| tdn);
        changes.retain(|&(_, tdn)| before.replace(tdn) != Some(tdn));
        changes
    }
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
            week_start: start,
            weeks: 0,
            next_step: 0,
        }
    }

    /// Adopts `week` at the next roll-over.
    pub(crate) fn adopt(&mut self, week: Week) {
        self.next_week = Some(week);
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
        match self.next_week.take() {
            Some(week) => {
                self.week = week;
                Action::Adopt(number)
            }
            None => Action::RollOver(number),
        }
    }
}
