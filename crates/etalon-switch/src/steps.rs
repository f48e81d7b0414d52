// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the schedule does to the switch.

use alloc::vec::Vec;

use etalon_units::Time;

use crate::event_queue::{Kind, Source};
use crate::rules::{Initial, Signal, Step};
use crate::{DropReason, Event, Pair, Plane, Probe, QueueId, Sink, Switch};

impl<H: Copy> Switch<H> {
    /// All transitions of the schedule at this instant: nothing comes between them.
    pub(crate) fn act<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        self.suffer(now, sink, probe);
        let mut steps = core::mem::take(&mut self.due);
        if let Some(changes) = &mut self.changes {
            steps.clear();
            changes.take_due(now, &mut steps);
            self.carry_out(now, &steps, sink, probe);
        } else {
            self.act_by_weeks(now, &mut steps, sink, probe);
        }
        self.due = steps;
        self.await_step();
    }

    #[inline]
    fn act_by_weeks<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        steps: &mut Vec<Step>,
        sink: &mut S,
        probe: &mut P,
    ) {
        loop {
            steps.clear();
            self.executor.take_due(now, steps);
            self.carry_out(now, steps, sink, probe);
            if self.has_sleepers && self.executor.adopts(now) {
                self.wake_all(sink, probe);
            }
            let Some(week) = self.executor.new_week(now) else {
                break;
            };
            let number = week.number;
            probe.on(now, Event::Week { week: number });
            if week.is_adopted {
                let first = self.steps_to_initial();
                self.carry_out(now, &first, sink, probe);
            }
        }
    }

    /// When the schedule has its next step, or something fails or returns.
    pub(crate) fn next_step(&self) -> Time {
        let next = match &self.changes {
            Some(changes) => changes.next_time(),
            None => self.executor.next_time(),
        };
        let faults = self.faults.as_ref();
        faults.map_or(next, |faults| next.min(faults.next_time()))
    }

    /// Sets the event for the schedule's next step.
    pub(crate) fn await_step(&mut self) {
        let next = self.next_step();
        let event_queue = &mut self.core.event_queue;
        let label = event_queue.label(Kind::Schedule, 0);
        let event = event_queue.at(next, label);
        event_queue.set(&event_queue.place(Source::Schedule, 0), event);
    }

    /// What leads from the present signals and TDNs to those with which the current week starts, in order.
    fn steps_to_initial(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let initial = self.executor.initial();
        for wanted in initial {
            if !self.has_sleepers || self.executor.is_awake(wanted.pair) {
                self.add_steps_to(wanted, &mut steps);
            }
        }
        for pair in self.core.voqs.not_at_rest() {
            if initial.binary_search_by_key(&pair, |w| w.pair).is_err() {
                self.add_steps_to(&Initial::at_rest(pair), &mut steps);
            }
        }
        steps.sort_unstable();
        steps
    }

    /// What leads from the present state of a pair to that which is wanted.
    pub(crate) fn add_steps_to(&self, wanted: &Initial, steps: &mut Vec<Step>) {
        let pair = wanted.pair;
        let voq = self.core.voqs.get(pair);
        if wanted.told != voq.told() {
            steps.push(Step::Tell(pair, wanted.told));
        }
        let is_up = voq.circuit().map(|port| self.circuits.plane(port));
        if wanted.circuit != is_up {
            steps.extend(is_up.map(|_| Step::Down(pair)));
            steps.extend(wanted.circuit.map(|plane| Step::Up(pair, plane)));
        }
        for signal in Signal::ALL {
            match (voq.is_on(signal), wanted.signals & signal.bit() != 0) {
                (true, false) => steps.push(Step::Off(signal, pair)),
                (false, true) => steps.push(Step::On(signal, pair)),
                _ => {}
            }
        }
    }

    /// Of hundreds of racks all have steps at once, and most of these are all that happens to a pair: they take one loop.
    #[inline(never)]
    pub(crate) fn carry_out<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        steps: &[Step],
        sink: &mut S,
        probe: &mut P,
    ) {
        let suffered;
        let steps = match self.faults {
            None => steps,
            Some(_) => {
                suffered = self.as_faults_have_it(now, steps);
                &suffered
            }
        };
        for &step in steps {
            self.step(now, step, sink, probe);
        }
    }

    #[inline(always)] // its only call
    fn step<S: Sink<H>, P: Probe>(&mut self, now: Time, step: Step, sink: &mut S, probe: &mut P) {
        match step {
            Step::Night(day) => probe.on(now, Event::Night { day }),
            Step::Day(day) => probe.on(now, Event::Day { day }),
            Step::Dark => self.darken(now, true, probe),
            Step::Light => self.darken(now, false, probe),
            Step::Down(pair) => {
                if let Some(port) = self.core.voqs.get_mut(pair).set_circuit(None) {
                    self.circuits.take_down(port);
                    let (plane, up) = (self.circuits.plane(port), false);
                    probe.on(now, Event::Circuit { pair, plane, up });
                }
            }
            Step::Up(pair, plane) => {
                let port = self.circuits.port(plane, pair.dst);
                let voq = self.core.voqs.get_mut(pair);
                voq.set_circuit(Some(port));
                let (up, has_backlog) = (true, voq.has_backlog());
                probe.on(now, Event::Circuit { pair, plane, up });
                let event_queue = &mut self.core.event_queue;
                let circuits = &mut self.circuits;
                circuits.set_up(now, port, pair.src, has_backlog, event_queue);
            }
            Step::Off(Signal::GateClosed, pair) => self.switch_gate(now, pair, true, probe),
            Step::On(Signal::GateClosed, pair) => self.switch_gate(now, pair, false, probe),
            Step::Off(signal, pair) => self.switch_signal(now, signal, pair, false, sink, probe),
            Step::On(signal, pair) => self.switch_signal(now, signal, pair, true, sink, probe),
            Step::Tell(pair, tdn) => {
                if self.core.voqs.get_mut(pair).tell(tdn) {
                    sink.tdn_changed(now, pair, tdn);
                }
            }
        }
    }

    #[inline(always)] // two calls: a gate opens, or closes
    fn switch_gate<P: Probe>(&mut self, now: Time, pair: Pair, open: bool, probe: &mut P) {
        let voq = self.core.voqs.get_mut(pair);
        if voq.switch(Signal::GateClosed, !open) && !voq.is_dark() {
            let has_backlog = voq.has_backlog();
            self.gate(now, pair, open, has_backlog, probe);
        }
    }

    #[inline(never)]
    fn switch_signal<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        signal: Signal,
        pair: Pair,
        on: bool,
        sink: &mut S,
        probe: &mut P,
    ) {
        if !self.core.voqs.get_mut(pair).switch(signal, on) {
            return;
        }
        match signal {
            Signal::GateClosed => {} // as switch_gate does
            Signal::Enlarged => {
                if on {
                    if self.core.voqs.grow(pair) {
                        probe.on(now, self.resized(pair));
                    }
                } else {
                    self.shrink(now, pair, sink, probe);
                }
            }
            Signal::Announced => probe.on(now, Event::Announced { pair, on }),
        }
    }

    /// The packet network serves nobody from now on, or again whoever has its gate open.
    fn darken<P: Probe>(&mut self, now: Time, dark: bool, probe: &mut P) {
        let racks = self.racks;
        for (src, dst) in (0..racks).flat_map(|src| (0..racks).map(move |dst| (src, dst))) {
            let pair = Pair { src, dst };
            let voq = self.core.voqs.get_mut(pair);
            voq.set_dark(dark);
            if !voq.is_on(Signal::GateClosed) {
                let has_backlog = voq.has_backlog();
                self.gate(now, pair, !dark, has_backlog, probe);
            }
        }
    }

    /// The packet network serves the VOQ of `pair` from now on, or no longer; who has no backlog takes no part in its round robin.
    #[inline(always)]
    fn gate<P: Probe>(
        &mut self,
        now: Time,
        pair: Pair,
        open: bool,
        has_backlog: bool,
        probe: &mut P,
    ) {
        let plane = Plane::PACKET;
        probe.on(now, Event::Gate { pair, plane, open });
        if has_backlog {
            self.turn(now, pair, open);
        }
    }

    /// The VOQ of `pair`, which has backlog, takes part in the round robin from now on, or no longer.
    #[inline(never)]
    fn turn(&mut self, now: Time, pair: Pair, open: bool) {
        if open {
            self.packet.open(pair);
            self.packet.wake(now, pair.src, &mut self.core);
        } else {
            self.packet.close(pair);
        }
    }

    /// The VOQ of `pair` returns to its ordinary capacity: the newest packets that it has no room for are dropped, in
    /// the order of their arrival.
    fn shrink<S: Sink<H>, P: Probe>(&mut self, now: Time, pair: Pair, sink: &mut S, probe: &mut P) {
        let Some(mut excess) = self.core.voqs.shrink(pair, &self.core.pool) else {
            return;
        };
        while let Some(id) = excess.pop(&self.core.pool) {
            let bytes = self.core.pool.get(id).packet.bytes;
            self.core.voqs.get_mut(pair).lose(bytes);
            let len = self.voq_len(pair) + excess.len();
            self.discard(now, id, len, DropReason::Shrunk, sink, probe);
        }
        probe.on(now, self.resized(pair));
    }

    fn resized(&self, pair: Pair) -> Event {
        Event::Resized {
            pair,
            queue: QueueId::voq(pair),
            capacity: self.voq_capacity(pair),
        }
    }
}
