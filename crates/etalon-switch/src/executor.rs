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

use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::{Pair, Schedule};

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
}

/// How long before a pair's day its signals go on; `None` for never.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leads {
    pub(crate) enlarged: Option<Span>,
    pub(crate) announced: Option<Span>,
}

/// A compiled week.
#[derive(Debug)]
pub(crate) struct Week {
    length: Span,
    /// By offset from the start of the week, from zero to the week's length inclusive, then by step.
    steps: Vec<(Span, Step)>,
    /// Signals that are on when the week starts, before its first step: windows that reach over the roll-over.
    initial: Vec<(Pair, Signal)>,
}

/// A day of a pair.
#[derive(Clone, Copy)]
struct PairDay {
    start: Span,
    end: Span,
    /// The night before.
    night: Span,
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
                days.push((pair, PairDay { start, end, night }));
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
            week.add_windows(days, Signal::Circuit, |_| Span::ZERO);
            week.add_windows(days, Signal::GateClosed, |day| day.night);
            if let Some(lead) = leads.enlarged {
                week.add_windows(days, Signal::Enlarged, |_| lead);
            }
            if let Some(lead) = leads.announced {
                week.add_windows(days, Signal::Announced, |_| lead);
            }
        }
        week.steps.sort_unstable();
        week.initial.sort_unstable();
        week
    }

    /// Adds the windows of one signal for all days of one pair, in order of time.
    fn add_windows(
        &mut self,
        days: &[(Pair, PairDay)],
        signal: Signal,
        lead: impl Fn(PairDay) -> Span,
    ) {
        let (Some(&(pair, first)), Some(&(_, last))) = (days.first(), days.last()) else {
            return;
        };
        // The end of the day before the first one lies in the previous week: `before_first` before this week's start.
        let before_first = self.length - last.end;
        let first_lead = lead(first);
        let joined = before_first + first.start <= first_lead;
        if joined || first.start < first_lead {
            self.initial.push((pair, signal));
        }
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
    }
}

/// What the executor asks for.
pub(crate) enum Action {
    /// Do this step.
    Step(Step),
    /// A week starts, with this number.
    RollOver(u64),
    /// A week starts with this number and another schedule: set the signals to [`Executor::initial`].
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

    /// The signals that are on when the current week starts, in order.
    pub(crate) fn initial(&self) -> &[(Pair, Signal)] {
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
