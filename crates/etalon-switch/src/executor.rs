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
//! Where the packet network is dark in all nights, that is so for all pairs. Beside these, each change of the network that leads to a
//! pair's destination (TDN, SIGCOMM'22 section 4.2) can be told to hosts, some lead before it happens.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::week::{PairSteps, Progress, Week};
use crate::{Night, Pair, Plane, Rdcn, Weeks};

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
    pub(crate) enlarged: Option<Span>,
    pub(crate) announced: Option<Span>,
    /// How long before a pair's TDN changes hosts are told.
    pub(crate) told: Option<Span>,
    /// Outside of its days a pair has the packet network.
    pub(crate) has_packet: bool,
    /// The packet network is dark in all nights.
    pub(crate) dark_nights: bool,
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

    /// How long before a pair's day, before which there is a night of this length, a signal goes on, if it does.
    pub(crate) fn lead(&self, signal: Signal, night: Span) -> Option<Span> {
        match signal {
            Signal::GateClosed => Some(night),
            Signal::Enlarged => self.enlarged,
            Signal::Announced => self.announced,
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

/// A week that starts.
pub(crate) struct NewWeek {
    pub(crate) number: u64,
    /// Its schedule is another: all is to be as [`Executor::initial`] says.
    pub(crate) is_adopted: bool,
}

/// What the schedule did to a pair while it slept.
pub(crate) struct Missed {
    /// How the first week found it, when it began.
    pub(crate) initial: Initial,
    /// Weeks that are over, if any are.
    pub(crate) over: Weeks,
    /// Of a week, in order.
    pub(crate) steps: Vec<(Span, Step)>,
    /// How many of them have been taken in the week that is not over.
    pub(crate) taken: usize,
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
    progress: Progress,
}

impl Executor {
    /// The first week starts at `start`.
    pub(crate) fn new(week: Week, start: Time) -> Executor {
        Executor {
            // What goes before is a week without length that ends at `start`.
            week: Week::default(),
            next_week: Some(week),
            later: VecDeque::new(),
            week_start: start,
            weeks: 0,
            progress: Progress::default(),
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
        let next = self.week.next(&self.progress);
        self.week_start + next.unwrap_or(self.week.length())
    }

    /// When the current week ends.
    pub(crate) fn roll_over(&self) -> Time {
        self.week_start + self.week.length()
    }

    /// How the current week finds those pairs that have a day in it, in order.
    pub(crate) fn initial(&self) -> &[Initial] {
        self.week.initial()
    }

    /// Takes the steps of the current week that are due, in order.
    pub(crate) fn take_due(&mut self, now: Time, steps: &mut Vec<Step>) {
        let until = now.saturating_since(self.week_start);
        self.week.take_due(until, &mut self.progress, steps);
    }

    /// All of the current week is over.
    fn is_over(&self, now: Time) -> bool {
        self.week.next(&self.progress).is_none() && self.roll_over() <= now
    }

    /// The current week, which has begun, is over, and the next one is another.
    pub(crate) fn adopts(&self, now: Time) -> bool {
        let is_due = |&(at, _): &(Time, Week)| at <= self.roll_over();
        let is_another = self.next_week.is_some() || self.later.front().is_some_and(is_due);
        self.weeks > 0 && is_another && self.is_over(now)
    }

    /// The week that pairs sleep in or are woken in: the first, before it has begun, or the current one.
    fn week_mut(&mut self) -> &mut Week {
        match &mut self.next_week {
            Some(first) if self.weeks == 0 => first,
            _ => &mut self.week,
        }
    }

    /// A pair has steps in the current week, or nothing ever happens to it there.
    pub(crate) fn is_awake(&self, pair: Pair) -> bool {
        self.week.is_awake(pair)
    }

    /// In the first week, which has not begun, pairs have no steps unless they are [woken](Executor::wake).
    pub(crate) fn sleep(&mut self) {
        self.week_mut().sleep();
    }

    /// A pair has steps from now on, unless it has already. Returns those that it had none of, with their times; there was no other week
    /// than the current one.
    pub(crate) fn wake(&mut self, pair: Pair, rules: &Rules) -> Option<Missed> {
        let week = self.week_mut();
        if week.is_awake(pair) {
            return None;
        }
        week.wake(pair);
        let before = self.weeks.checked_sub(1)?;
        let length = self.week.length();
        let PairSteps {
            initial,
            steps,
            taken,
        } = self.week.steps_of(pair, rules, &self.progress);
        Some(Missed {
            initial,
            over: Weeks {
                start: Time(self.week_start.0 - before * length.0),
                length,
                count: before,
            },
            steps,
            taken,
        })
    }

    /// Starts the next week, if all of the current one is over.
    pub(crate) fn new_week(&mut self, now: Time) -> Option<NewWeek> {
        if !self.is_over(now) {
            return None;
        }
        self.week_start += self.week.length();
        self.progress = Progress::default();
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
