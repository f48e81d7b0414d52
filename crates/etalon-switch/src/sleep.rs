// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pairs that sleep. Among hundreds of racks most pairs send nothing, while a rotating schedule has steps for all of them in turn:
//! of those that sleep it has none, and whoever wakes catches up. Nobody can tell, but for when the probe hears of it.

use alloc::vec::Vec;

use etalon_units::{Span, Time};

use crate::rules::{Rules, Step};
use crate::{DropReason, Event, HostId, Packet, Pair, Probe, Sink, Switch};

impl<H: Copy> Switch<H> {
    /// From now on, before anything has happened, a pair sleeps until its first packet comes: only then the probe hears of its circuits,
    /// gates and capacities up to there, each with its own time. All pairs wake before another week is adopted, for good. `watched` never
    /// sleeps. Until it is awake, what the switch says of a pair's circuit, gate and capacity is not kept up to date.
    ///
    /// Nothing changes where more than the pair itself is concerned: where others hear of its days by ECE or notification, where
    /// all pairs wait through all nights, where circuits are asked for, and where something fails.
    pub fn let_idle_pairs_sleep(&mut self, watched: Pair) {
        let rules = Rules::new(&self.config);
        if self.changes.is_none()
            && rules.announced.is_none()
            && rules.told.is_none()
            && !rules.dark_nights
            && self.faults.is_none()
        {
            self.executor.sleep();
            self.executor.wake(watched, &rules);
            self.has_sleepers = true;
        }
    }

    /// A packet finds no room in its VOQ. If it is the first that ever came it will find some: the pair wakes. Otherwise it is dropped.
    /// The packet comes in parts, in registers: passed whole, each packet would go through memory in case this is called.
    #[cold]
    #[inline(never)]
    pub(crate) fn enqueue_full<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        (handle, bytes): (H, u32),
        (src, dst): (HostId, HostId),
        ect: bool,
        sink: &mut S,
        probe: &mut P,
    ) {
        let packet = Packet {
            handle,
            src,
            dst,
            bytes,
        };
        let pair = packet.pair();
        let voq = self.core.voqs.get(pair);
        if voq.capacity() > 0 {
            let len = voq.len();
            return self.dropped(now, &packet, len, DropReason::Full, sink, probe);
        }
        if self.has_sleepers {
            self.wake(pair, sink, probe);
        }
        self.core.voqs.open(pair);
        self.admit(now, packet, ect, sink, probe);
    }

    /// Wakes all pairs.
    #[cold]
    #[inline(never)]
    pub(crate) fn wake_all<S: Sink<H>, P: Probe>(&mut self, sink: &mut S, probe: &mut P) {
        for src in 0..self.racks {
            for dst in 0..self.racks {
                self.wake(Pair { src, dst }, sink, probe);
            }
        }
        self.has_sleepers = false;
    }

    /// If a pair sleeps, it wakes: all that the schedule has done to it is done now. It has never sent anything, so that this is between
    /// the schedule and the pair alone: whoever had its ports since is not concerned.
    fn wake<S: Sink<H>, P: Probe>(&mut self, pair: Pair, sink: &mut S, probe: &mut P) {
        let Some(missed) = self.executor.wake(pair, &Rules::new(&self.config)) else {
            return;
        };
        let mut first = Vec::new();
        self.add_steps_to(&missed.initial, &mut first);
        first.sort_unstable();
        for step in first {
            self.retrace(missed.over.start, step, sink, probe);
        }
        let (steps, mut weeks) = (&missed.steps[..], missed.over);
        // What a week finds may differ in the first one; from then on all are alike.
        if weeks.count > 0 {
            self.retrace_week(weeks.start, steps, sink, probe);
            weeks.pass(1);
        }
        probe.on_weeks(pair, weeks, |probe, start| {
            self.retrace_week(start, steps, sink, probe);
        });
        weeks.pass(weeks.count);
        self.retrace_week(weeks.start, &steps[..missed.taken], sink, probe);
        if let Some(port) = self.core.voqs.get(pair).circuit() {
            self.circuits.connect(port, pair.src);
        }
    }

    /// Takes steps of the past week that started at this time.
    fn retrace_week<S: Sink<H>, P: Probe>(
        &mut self,
        start: Time,
        steps: &[(Span, Step)],
        sink: &mut S,
        probe: &mut P,
    ) {
        for &(at, step) in steps {
            self.retrace(start + at, step, sink, probe);
        }
    }

    /// Takes a step of the past. Circuits come up and go down without their ports.
    fn retrace<S: Sink<H>, P: Probe>(
        &mut self,
        time: Time,
        step: Step,
        sink: &mut S,
        probe: &mut P,
    ) {
        match step {
            Step::Down(pair) => {
                if let Some(port) = self.core.voqs.get_mut(pair).set_circuit(None) {
                    let (plane, up) = (self.circuits.plane(port), false);
                    probe.on(time, Event::Circuit { pair, plane, up });
                }
            }
            Step::Up(pair, plane) => {
                let port = self.circuits.port(plane, pair.dst);
                self.core.voqs.get_mut(pair).set_circuit(Some(port));
                probe.on(
                    time,
                    Event::Circuit {
                        pair,
                        plane,
                        up: true,
                    },
                );
            }
            _ => self.carry_out(time, &[step], sink, probe),
        }
    }
}
