// SPDX-License-Identifier: MIT OR Apache-2.0
//! A chain of drop-tail queues and delays for each direction: the plain network that simulators are compared on.

mod stamps;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt::Debug;

use etalon_queues::{DropTail, Fifo};
use etalon_scenario::{Dumbbell, Scenario};
use etalon_switch::{
    Arrival, ConfigError, Departure, DropReason, Event, Packet, Pair, Plane, Probe, QueueId, Sink,
    tell,
};
use etalon_units::{Serializer, Span, Time};

use crate::network::{Described, Network};
use stamps::Stamps;

/// A queue with a link, then a delay.
#[derive(Debug)]
pub struct Stage {
    queue: Option<DropTail>,
    delay: Span,
}

impl Stage {
    /// A queue for `capacity` packets, waiting or in transmission, in front of `link`, and a constant `delay` behind it.
    /// Without a link there is no queue either.
    #[must_use]
    pub fn new(link: Option<Serializer>, capacity: u32, delay: Span) -> Stage {
        let queue = link.map(|link| DropTail::new(link, capacity));
        Stage { queue, delay }
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

/// A packet on its way through a direction, and when it comes out.
#[derive(Clone, Copy, Debug)]
struct Passing<H> {
    leaves: Time,
    entered: Time,
    packet: Packet<H>,
}

/// A stage that has a queue.
#[derive(Debug)]
struct QueuedStage {
    queue: DropTail,
    /// Until the next queue, or the end: stages without a queue are part of it.
    delay: Span,
    /// The stage's number in its direction.
    stage: u16,
    /// What its packets meet, where that is wanted.
    stamps: Stamps,
}

/// One direction.
#[derive(Debug)]
struct Direction<H> {
    pair: Pair,
    /// The delay before its first queue, or all of it if there is none.
    before: Span,
    queues: Box<[QueuedStage]>,
    /// Number of its first stage: those of both directions are in one switch.
    first: u16,
    /// Its last one.
    last: QueueId,
    passing: Fifo<Passing<H>>,
    /// When the first packet comes out.
    next: Time,
}

impl<H: Copy> Direction<H> {
    fn new(pair: Pair, stages: Vec<Stage>, first: usize) -> Direction<H> {
        let first = first as u16;
        let last = numbered(first + (stages.len() as u16 - 1));
        let (mut before, mut queues) = (Span::ZERO, Vec::new());
        for (number, Stage { queue, delay }) in stages.into_iter().enumerate() {
            let stage = number as u16;
            let queue = queue.map(|queue| QueuedStage {
                queue,
                delay: Span::ZERO,
                stage,
                stamps: Stamps::default(),
            });
            queues.extend(queue);
            *queues
                .last_mut()
                .map_or(&mut before, |last| &mut last.delay) += delay;
        }
        Direction {
            pair,
            before,
            queues: queues.into(),
            first,
            last,
            passing: Fifo::default(),
            next: Time::MAX,
        }
    }

    fn queue(&self, stage: u16) -> QueueId {
        numbered(self.first + stage)
    }
}

/// The queue of this number in the switch.
fn numbered(number: u16) -> QueueId {
    QueueId { at: 0, number }
}

/// What happens to a packet at a queue behind the first: of that the probe hears when it happens.
#[derive(Debug)]
enum Story<H> {
    /// It joins the queue, and leaves it at `until`.
    Joins { bytes: u32, until: Time },
    /// The queue is full.
    Lost(Packet<H>),
}

/// When a story happens, behind which queue, and its number among all.
type Moment = (Time, QueueId, u64);

/// Two directions of stages: from rack 0 to rack 1, and back. A stage has one that feeds it, in order, so that all of a packet's way is
/// known when it enters: one event a packet, however many queues it passes.
#[derive(Debug)]
pub struct Chain<H> {
    /// Behind a pointer: of an array that is on the stack the compiler chooses each field, instead of the direction once.
    ways: Box<[Direction<H>; 2]>,
    /// Whether a probe hears of packets that join queues.
    tells: bool,
    /// Hardly ever any: packets that queues will not have room for, and all that join queues for who wants to hear of them.
    stories: BTreeMap<Moment, Story<H>>,
    /// Those of the packet that enters, by stage.
    noted: Vec<(u16, Time, Story<H>)>,
    told: u64,
    /// When the next packet comes out, or the next story happens.
    next: Time,
}

impl<H: Copy> Chain<H> {
    /// The stages from rack 0 to rack 1, and those back: at least one each.
    #[must_use]
    pub fn new(forward: Vec<Stage>, back: Vec<Stage>) -> Chain<H> {
        let (there, again) = (Pair { src: 0, dst: 1 }, Pair { src: 1, dst: 0 });
        let split = forward.len();
        Chain {
            ways: Box::new([
                Direction::new(there, forward, 0),
                Direction::new(again, back, split),
            ]),
            tells: false,
            stories: BTreeMap::new(),
            noted: Vec::new(),
            told: 0,
            next: Time::MAX,
        }
    }

    /// Whether a probe hears of every packet that joins a queue. Else it hears of drops and of departures from the last stage
    /// only: a queue gets shorter without an event, so that its length has no story to tell.
    #[must_use]
    pub fn telling(self, tells: bool) -> Chain<H> {
        Chain { tells, ..self }
    }

    /// Looks what comes next.
    fn look(&mut self) {
        self.next = self.ways[0].next.min(self.ways[1].next);
        if let Some((moment, _)) = self.stories.first_key_value() {
            self.next = self.next.min(moment.0);
        }
    }

    /// A packet enters.
    #[inline(always)] // in two places, of which one is rare
    fn enter<const TELLS: bool, S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        packet: Packet<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let number = usize::from(packet.src.rack() != 0);
        let way = &mut self.ways[number];
        let (is_first, bytes) = (way.passing.is_empty(), packet.bytes);
        // Put there before its way is known: what is not needed for that need not be kept.
        let passing = way.passing.push_back_mut(Passing {
            leaves: Time::MAX,
            entered: now,
            packet,
        });
        let mut time = now + way.before;
        for QueuedStage {
            queue,
            delay,
            stage,
            stamps,
        } in &mut way.queues
        {
            let until = if let Some(until) = queue.take_place(time, bytes) {
                until
            } else if let Some(until) = queue.take_another(time, bytes) {
                until
            } else {
                let (number, stage) = (usize::from(way.pair.src), *stage);
                return self.lose(number, (stage, time), sink, probe);
            };
            if S::STAMPS {
                stamps.join(time, until, bytes, queue.rate());
            }
            if TELLS {
                let joins = Story::Joins { bytes, until };
                self.noted.push((*stage, time, joins));
            }
            time = until + *delay;
        }
        passing.leaves = time;
        if is_first {
            way.next = time;
            self.next = self.next.min(time);
        }
        if TELLS {
            self.tell_noted(number, sink, probe);
        }
    }

    /// As [`Chain::enter`], where a probe hears of each packet that joins a queue.
    #[cold]
    #[inline(never)]
    fn enter_telling<S: Sink<H>, P: Probe>(
        &mut self,
        entering: Passing<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        self.enter::<true, S, P>(entering.entered, entering.packet, sink, probe);
    }

    /// A queue is full when the packet comes that has just entered: the last thing that happens to that.
    #[cold]
    #[inline(never)]
    fn lose<S: Sink<H>, P: Probe>(
        &mut self,
        way: usize,
        (stage, time): (u16, Time),
        sink: &mut S,
        probe: &mut P,
    ) {
        if S::STAMPS {
            let passed = self.ways[way].queues.iter_mut();
            passed
                .take_while(|queue| queue.stage < stage)
                .for_each(|queue| queue.stamps.lose());
        }
        let lost = self.ways[way].passing.pop_back();
        let lost = lost.map(|lost| (stage, time, Story::Lost(lost.packet)));
        self.noted.extend(lost);
        self.tell_noted(way, sink, probe);
    }

    /// Tells what was noted of a packet that enters `way`: at once what happens at the first stage, the rest when it happens.
    #[cold]
    #[inline(never)]
    fn tell_noted<S: Sink<H>, P: Probe>(&mut self, way: usize, sink: &mut S, probe: &mut P) {
        let mut noted = core::mem::take(&mut self.noted);
        for (stage, time, story) in noted.drain(..) {
            if stage == 0 {
                self.tell(time, way, stage, &story, sink, probe);
            } else {
                let before = self.ways[way].queue(stage - 1);
                self.stories.insert((time, before, self.told), story);
                self.told += 1;
                self.next = self.next.min(time);
            }
        }
        self.noted = noted;
    }

    fn tell<S: Sink<H>, P: Probe>(
        &self,
        now: Time,
        way: usize,
        stage: u16,
        story: &Story<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        let way = &self.ways[way];
        let (pair, queue, reason) = (way.pair, way.queue(stage), DropReason::Full);
        let event = match *story {
            Story::Joins { bytes, until } => Event::Scheduled {
                pair,
                queue,
                bytes,
                until,
            },
            Story::Lost(packet) => Event::Dropped {
                pair,
                queue,
                len: way.queues[way.queues.partition_point(|queue| queue.stage < stage)]
                    .queue
                    .capacity(),
                bytes: packet.bytes,
                reason,
            },
        };
        probe.on(now, event);
        if let Story::Lost(packet) = *story {
            sink.discard(now, packet.handle, pair, reason);
        }
    }

    /// Does what comes first, a story or a packet that comes out: at one instant in the order of queues.
    #[cold]
    #[inline(never)]
    fn step<S: Sink<H>, P: Probe>(&mut self, sink: &mut S, probe: &mut P) {
        let number = usize::from(self.ways[0].next != self.next);
        if !self.tell_first(number, sink, probe) {
            self.come_out(sink, probe);
        }
        self.look();
    }

    /// The packet that is first comes out, where no story comes before.
    #[inline(always)] // in two places, of which one is rare
    fn come_out<S: Sink<H>, P: Probe>(&mut self, sink: &mut S, probe: &mut P) {
        let time = self.next;
        let number = usize::from(self.ways[0].next != time);
        let way = &mut self.ways[number];
        let Some(&Passing {
            entered, packet, ..
        }) = way.passing.front()
        else {
            return;
        };
        let queue = way.last;
        if S::STAMPS {
            let first = way.first;
            for QueuedStage {
                queue,
                stage,
                stamps,
                ..
            } in &mut way.queues
            {
                let port = numbered(first + *stage);
                if let Some((at, met)) = stamps.come_out(port, queue.rate()) {
                    sink.dequeued(at, packet.handle, met);
                }
            }
        }
        let departure = Departure {
            packet,
            time,
            latency: time - entered,
            queue,
            plane: Plane::PACKET,
            ce: false,
            ece: false,
            trimmed: false,
        };
        tell::departed(departure, sink, probe);
        // Last, so that the packet above is read in place.
        let next = way.passing.drop_front();
        way.next = next.map_or(Time::MAX, |next| next.leaves);
        self.next = self.ways[0].next.min(self.ways[1].next);
    }

    /// Tells the first story, if it comes before the packet that comes out of `way`.
    fn tell_first<S: Sink<H>, P: Probe>(
        &mut self,
        way: usize,
        sink: &mut S,
        probe: &mut P,
    ) -> bool {
        let leaves = (self.ways[way].next, self.ways[way].last);
        let Some(entry) = self.stories.first_entry() else {
            return false;
        };
        let (time, before, _) = *entry.key();
        if (time, before) > leaves {
            return false;
        }
        let story = entry.remove();
        let way = usize::from(before.number >= self.ways[1].first);
        let stage = before.number - self.ways[way].first + 1;
        self.tell(time, way, stage, &story, sink, probe);
        true
    }

    /// As [`Chain::advance`], after the first packet.
    #[cold]
    #[inline(never)]
    fn advance_more<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        while self.next <= now {
            self.step(sink, probe);
        }
    }
}

impl<H: Copy> Network<H> for Chain<H> {
    #[inline]
    fn enqueue<S: Sink<H>, P: Probe>(
        &mut self,
        now: Time,
        Arrival { packet, .. }: Arrival<H>,
        sink: &mut S,
        probe: &mut P,
    ) {
        if self.tells {
            // Built on this path only, so that no other packet is put into memory for it.
            let entering = Passing {
                leaves: now,
                entered: now,
                packet,
            };
            self.enter_telling(entering, sink, probe);
        } else {
            self.enter::<false, S, P>(now, packet, sink, probe);
        }
    }

    #[inline]
    fn next_event(&self) -> Time {
        self.next
    }

    #[inline]
    fn next_departure(&self) -> Time {
        self.ways[0].next.min(self.ways[1].next)
    }

    fn shortest_passage(&self) -> Span {
        let passage =
            |way: &Direction<H>| way.queues.iter().fold(way.before, |sum, q| sum + q.delay);
        passage(&self.ways[0]).min(passage(&self.ways[1]))
    }

    #[inline]
    fn advance<S: Sink<H>, P: Probe>(&mut self, now: Time, sink: &mut S, probe: &mut P) {
        // Not a loop: what it would keep ready for its next turn, which hardly ever comes, costs each packet.
        if self.next <= now {
            if self.stories.is_empty() {
                self.come_out(sink, probe);
            } else {
                self.step(sink, probe);
            }
            if self.next <= now {
                self.advance_more(now, sink, probe);
            }
        }
    }
}
