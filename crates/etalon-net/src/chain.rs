//! A chain of drop-tail queues and delays for each direction: the plain network that simulators are compared on.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Debug;

use etalon_scenario::{Dumbbell, Scenario};
use etalon_switch::{
    Arrival, ConfigError, Departure, DropReason, Event, Packet, Pair, Plane, Probe, QueueId, Sink,
};
use etalon_units::{Serializer, Span, Time};

use crate::fifo::Fifo;
use crate::network::{Described, Network};

/// A packet, or whatever else, on its way through a stage.
#[derive(Clone, Copy, Debug)]
struct Entry<T> {
    /// When its last bit leaves the queue.
    departure: Time,
    entered: Time,
    item: T,
}

/// A queue with a link, then a delay. The departure is computed at enqueue, so a packet costs one event a stage.
#[derive(Debug)]
pub struct Stage<T> {
    link: Option<Serializer>,
    capacity: u32,
    delay: Span,
    /// Queued and propagating packets, in order.
    entries: Fifo<Entry<T>>,
    /// How many of `entries`, from the front, have left the queue.
    propagating: usize,
}

impl<T: Copy> Stage<T> {
    /// A queue for `capacity` packets, waiting or in transmission, in front of `link`, and a constant `delay` behind it.
    /// Without a link there is no queue either.
    #[must_use]
    pub fn new(link: Option<Serializer>, capacity: u32, delay: Span) -> Stage<T> {
        Stage {
            link,
            capacity,
            delay,
            entries: Fifo::default(),
            propagating: 0,
        }
    }

    /// Queues a packet and returns when it leaves the queue; none if that is full.
    #[inline(always)] // with every packet, as is `enter`
    fn push(&mut self, now: Time, mut entry: Entry<T>, bytes: u32) -> Option<Time> {
        match &mut self.link {
            None => entry.departure = now,
            Some(link) => {
                while let Some(e) = self.entries.get(self.propagating) {
                    if e.departure > now {
                        break;
                    }
                    self.propagating += 1;
                }
                if self.entries.len() - self.propagating >= self.capacity as usize {
                    return None;
                }
                entry.departure = link.transmit(now, bytes);
            }
        }
        self.entries.push_back(entry);
        Some(entry.departure)
    }

    /// When the first packet reaches the far end of the delay.
    #[inline]
    pub(crate) fn next(&self) -> Time {
        self.entries
            .front()
            .map_or(Time::MAX, |e| e.departure + self.delay)
    }

    #[inline]
    fn pop(&mut self) -> Option<Entry<T>> {
        self.propagating = self.propagating.saturating_sub(1);
        self.entries.pop_front()
    }

    /// As [`Stage::push`], for whoever has no chain.
    pub(crate) fn queue(&mut self, now: Time, item: T, bytes: u32) -> bool {
        let entry = Entry {
            departure: now,
            entered: now,
            item,
        };
        self.push(now, entry, bytes).is_some()
    }

    /// Takes the first packet from the far end.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.pop().map(|entry| entry.item)
    }

    /// Whether no packet is queued or on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Packets in the queue, the one in transmission included.
    pub(crate) fn queued(&self) -> u32 {
        (self.entries.len() - self.propagating) as u32
    }
}

impl Described for Dumbbell {
    type Network<H: Copy + Debug> = Chain<H>;

    fn network<H: Copy + Debug>(&self, scenario: &Scenario) -> Result<Chain<H>, ConfigError> {
        let stage = |stage: &etalon_scenario::Stage| {
            let packets = stage.queue_packets.unwrap_or(u32::MAX);
            Stage::new(stage.rate.map(Serializer::new), packets, stage.delay)
        };
        Ok(Chain::new(
            self.stages.iter().map(stage).collect(),
            self.return_stages.iter().map(stage).collect(),
        )
        .telling(scenario.measure.ports))
    }
}

/// All queues are in one switch.
fn queue_of(stage: usize) -> QueueId {
    QueueId {
        at: 0,
        number: stage as u16,
    }
}

/// Two directions of stages: from rack 0 to rack 1, and back.
#[derive(Debug)]
pub struct Chain<H> {
    stages: Vec<Stage<Packet<H>>>,
    /// Where the stages back begin.
    back: usize,
    /// Whether a probe hears of packets that join queues.
    tells: bool,
    /// When the first packet of each stage reaches its end, and the earliest of these.
    due: Vec<Time>,
    next: Time,
    next_stage: usize,
}

impl<H: Copy> Chain<H> {
    /// The stages from rack 0 to rack 1, and those back: at least one each.
    #[must_use]
    pub fn new(forward: Vec<Stage<Packet<H>>>, back: Vec<Stage<Packet<H>>>) -> Chain<H> {
        let split = forward.len();
        Chain {
            due: vec![Time::MAX; split + back.len()],
            stages: forward.into_iter().chain(back).collect(),
            back: split,
            tells: false,
            next: Time::MAX,
            next_stage: 0,
        }
    }

    /// Whether a probe hears of every packet that joins a queue.
    #[must_use]
    pub fn telling(self, tells: bool) -> Chain<H> {
        Chain { tells, ..self }
    }

    #[inline]
    fn find_next(&mut self) {
        // The usual dumbbell has one stage each way: no loop.
        if let [forward, back] = self.due[..] {
            self.next_stage = usize::from(back < forward);
            self.next = forward.min(back);
            return;
        }
        self.next = Time::MAX;
        for (index, &time) in self.due.iter().enumerate() {
            if time < self.next {
                self.next = time;
                self.next_stage = index;
            }
        }
    }

    /// The delays between the end of `stage` and the end of its direction.
    fn delays_after(&self, stage: usize) -> Span {
        let end = if stage < self.back {
            self.back
        } else {
            self.stages.len()
        };
        let later = &self.stages[stage + 1..end];
        later.iter().fold(Span::ZERO, |sum, s| sum + s.delay)
    }

    fn pair(&self, stage: usize) -> Pair {
        let src = u16::from(stage >= self.back);
        Pair { src, dst: 1 - src }
    }

    #[cold]
    #[inline(never)]
    fn tell<P: Probe>(&self, now: Time, stage: usize, bytes: u32, until: Time, probe: &mut P) {
        let scheduled = Event::Scheduled {
            pair: self.pair(stage),
            queue: queue_of(stage),
            bytes,
            until,
        };
        probe.on(now, scheduled);
    }

    /// The queue of `stage` is full.
    #[cold]
    #[inline(never)]
    fn lose<S: Sink<H>, P: Probe>(
        &self,
        now: Time,
        stage: usize,
        packet: &Packet<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let (pair, reason) = (self.pair(stage), DropReason::Full);
        let dropped = Event::Dropped {
            pair,
            queue: queue_of(stage),
            len: self.stages[stage].queued(),
            bytes: packet.bytes,
            reason,
        };
        probe.on(now, dropped);
        sink.discard(now, packet.handle, pair, reason);
    }

    /// Puts a packet into `stage`. Unless it is [to tell more](Chain::telling), a probe hears of drops and of departures from the last stage
    /// only: a queue gets shorter without an event, so that its length has no story to tell.
    #[inline(always)]
    fn enter<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        stage: usize,
        entry: Entry<Packet<H>>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let queue = &mut self.stages[stage];
        let bytes = entry.item.bytes;
        let Some(until) = queue.push(now, entry, bytes) else {
            self.lose(now, stage, &entry.item, sink, probe);
            return;
        };
        if self.tells && queue.link.is_some() {
            self.tell(now, stage, bytes, until, probe);
        }
        if self.due[stage] == Time::MAX {
            let time = self.stages[stage].next();
            self.due[stage] = time;
            if time < self.next || (time == self.next && stage < self.next_stage) {
                self.next = time;
                self.next_stage = stage;
            }
        }
    }

    /// Takes the first packet from the end of its stage. Returns whether there was one.
    #[inline(always)] // in two places, of which one is rare
    fn step<S: Sink<H>, P: Probe>(&mut self, sink: &mut S, probe: &mut P) -> bool {
        let (time, stage) = (self.next, self.next_stage);
        let Some(entry) = self.stages[stage].pop() else {
            return false;
        };
        self.due[stage] = self.stages[stage].next();
        self.find_next();
        if stage + 1 != self.back && stage + 1 != self.stages.len() {
            self.enter(time, stage + 1, entry, sink, probe);
            return true;
        }
        let latency = time - entry.entered;
        let (queue, plane) = (queue_of(stage), Plane::PACKET);
        let departed = Event::Departed {
            pair: self.pair(stage),
            queue,
            bytes: entry.item.bytes,
            latency,
            plane,
        };
        probe.on(time, departed);
        sink.deliver(Departure {
            packet: entry.item,
            time,
            latency,
            queue,
            plane,
            ce: false,
            ece: false,
        });
        true
    }

    /// As [`Chain::advance`], after the first packet.
    #[cold]
    #[inline(never)]
    fn advance_more<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        while self.next <= now && self.step(sink, probe) {}
    }
}

impl<H: Copy> Network<H> for Chain<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let entry = Entry {
            departure: now,
            entered: now,
            item: arrival.packet,
        };
        let stage = if arrival.packet.src.rack() == 0 {
            0
        } else {
            self.back
        };
        self.enter(now, stage, entry, sink, probe);
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.next
    }

    #[inline]
    fn next_departure(&self) -> Time {
        // Of stages that follow, only the delays are certain. The usual dumbbell has none that follow.
        let mut first = Time::MAX;
        for (stage, &due) in self.due.iter().enumerate() {
            first = first.min(due.saturating_add(self.delays_after(stage)));
        }
        first
    }

    fn shortest_passage(&self) -> Span {
        let passage = |first: usize| self.stages[first].delay + self.delays_after(first);
        passage(0).min(passage(self.back))
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        // Not a loop: what it would keep ready for its next turn, which hardly ever comes, costs each packet.
        if self.next <= now {
            self.step(sink, probe);
            if self.next <= now {
                self.advance_more(now, sink, probe);
            }
        }
    }
}
