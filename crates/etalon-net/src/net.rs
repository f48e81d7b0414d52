// SPDX-License-Identifier: MIT OR Apache-2.0
//! The net: hosts' links and the network between racks, in one order.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use etalon_scenario::{Asked, Control, CrossConnect, HostId, Hosts, Notify, Rdcn};
use etalon_schedule::{
    Answer, Awaited, Change, ComputedWeek, ControlError, Controller, HostDemand, Requests,
    Scheduler,
};
use etalon_switch::{
    Arrival, Departure, DropReason, Event, Packet, Pair, Plane, Probe, QueueId, Sink, Switch,
    Transmission,
};
use etalon_units::{Span, Time};

use crate::accounts::Accounts;
use crate::delivery::Delivery;
use crate::downlinks::Arriving;
use crate::due::Due;
use crate::edge::{Edge, Extras, Milestone};
use crate::environment::Environment;
use crate::network::Network;
use crate::notices::Notice;

/// All that lies between the TCPs of hosts, for packets known by handles `H`.
///
/// Its owner has the clock and the packets. It [sends](Edge::send) through the [edge](Net::edge_mut), and has the net
/// [advance](Net::advance) up to what it has to do itself.
#[derive(Debug)]
pub struct Net<H, N> {
    network: N,
    controller: Option<Box<Controller>>,
    edge: Edge<H>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// Nothing: it is the engine's turn.
    Not,
    /// Something between racks.
    Network,
    /// Something between hosts and their ToR switches.
    Edge,
    /// A milestone is passed.
    Milestone(Time, Milestone),
    /// The controller is due: the engine calls [`Net::compute`], or [`Net::answer`] where circuits are asked for.
    Week(Time),
}

/// Why there is no net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewError {
    /// Weeks cannot be computed.
    Control(ControlError),
    /// Time would overflow: the numbers of hosts and links take some of its bits.
    TooLong,
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewError::Control(error) => error.fmt(f),
            NewError::TooLong => f.write_str("The experiment is too long for so many hosts."),
        }
    }
}

impl core::error::Error for NewError {}

impl<H: Copy, N: Network<H>> Net<H, N> {
    /// A net at virtual time 0: `hosts` around `network`, whose weeks are computed as `control` says, if it does; hosts hear of
    /// them as `notify` says, if it does. It ends at `end`, [`Time::MAX`] for as late as it can; what comes before `warmup` is not measured.
    ///
    /// # Errors
    /// [`NewError`] if weeks cannot be computed, or the experiment is too long.
    pub fn new(
        hosts: Hosts,
        network: N,
        control: Option<(&Control, &Rdcn)>,
        notify: Option<&Notify>,
        seed: u64,
        (warmup, end): (Time, Time),
    ) -> Result<Net<H, N>, NewError> {
        let controller = control
            .map(|(control, rdcn)| Controller::new(control, rdcn, seed).map(Box::new))
            .transpose()
            .map_err(NewError::Control)?;
        let demand =
            control.and_then(|(control, _)| HostDemand::new(hosts.racks, control.estimator));
        let accounts = demand.map(Accounts::new);
        let mut net = Net {
            network,
            controller,
            edge: Edge::new(hosts, seed, (warmup, end), accounts, notify),
        };
        // Packets that are still on their way at the end may arrive later, but not as late as that.
        let never = net.network.switch().map_or(Time::MAX, Switch::never);
        let latest = Time(net.edge.latest().min(never).0 / 2);
        if end == Time::MAX {
            net.edge.end(latest);
        } else if end > latest {
            return Err(NewError::TooLong);
        }
        net.look_at_weeks();
        Ok(net)
    }

    /// Where hosts meet the network.
    #[must_use]
    #[inline]
    pub fn edge(&self) -> &Edge<H> {
        &self.edge
    }

    /// Where hosts meet the network: to send, and to speak of demand.
    #[inline]
    pub fn edge_mut(&mut self) -> &mut Edge<H> {
        &mut self.edge
    }

    /// What lies between racks.
    #[inline]
    pub fn network_mut(&mut self) -> &mut N {
        &mut self.network
    }

    /// When something next happens.
    #[must_use]
    pub fn next_event(&self) -> Time {
        let inside = self.network.next_event().min(self.edge.next_arrival());
        inside.min(self.edge.first.0)
    }

    /// The environment, or who passes milestones, hears of nothing before this, unless something is sent: whoever pays for being
    /// woken can wait until then. `at_once` says that packets are on their way to a ToR switch which will stay in their rack.
    #[must_use]
    pub fn next_heard(&self, at_once: bool) -> Time {
        let passage = if at_once && !self.network.carries_within_racks() {
            Span::ZERO
        } else {
            self.network.shortest_passage()
        };
        self.edge
            .next_heard(passage)
            .min(self.network.next_departure())
    }

    /// When the controller is next due.
    #[must_use]
    pub fn next_week(&self) -> Time {
        self.edge.week
    }

    /// Looks at demand, or has a week that the network adopts, which it returns: for [`Due::Week`] at `now`. A scheduler of the user's is
    /// `lent`.
    ///
    /// # Errors
    /// [`ControlError`] of the scheduler, and for more demand than can be computed with.
    #[cold]
    pub fn compute(
        &mut self,
        now: Time,
        lent: Option<&mut dyn Scheduler>,
    ) -> Result<Option<ComputedWeek>, ControlError> {
        let (Some(controller), Some(switch)) = (&mut self.controller, self.network.switch_mut())
        else {
            return Ok(None);
        };
        let hosts = self.edge.accounts().map(Accounts::demand);
        let week = controller.step(now, switch, hosts, lent)?;
        self.look_at_weeks();
        Ok(week)
    }

    /// From now on, before anything has happened, circuits are asked for; `first` are up.
    pub fn take_requests(&mut self, asked: &Asked, first: impl Iterator<Item = CrossConnect>) {
        self.edge.requests = Some(Box::new(Requests::new(*asked, first)));
        self.edge.look_at_requests();
    }

    /// Grants the requests that can be granted at `now`: for [`Due::Week`]. Returns what jobs hear, and which circuits change.
    #[cold]
    pub fn answer(&mut self, now: Time) -> (Vec<Answer>, Vec<Change>) {
        let (Some(requests), Some(circuits)) =
            (&mut self.edge.requests, self.network.circuits_mut())
        else {
            return Default::default();
        };
        let answers = requests.step(now, circuits);
        let changes = requests.take_changes();
        self.edge.look_at_requests();
        (answers, changes)
    }

    /// What requests wait for.
    #[must_use]
    pub fn awaited(&self) -> Vec<Awaited> {
        let requests = self.edge.requests.as_ref();
        requests.map_or_else(Vec::new, |requests| requests.awaited())
    }

    fn look_at_weeks(&mut self) {
        if let (Some(controller), Some(switch)) = (&self.controller, self.network.switch()) {
            self.edge.week = controller.next_event(switch);
            self.edge.look();
        }
    }

    /// Does what comes first, if it comes before what the engine has to do at `until`: so that all is in the order of [`Due`].
    #[inline(always)] // once in each engine
    pub fn advance<E: Environment<H>, P: Probe>(
        &mut self,
        until: Time,
        env: &mut E,
        probe: &mut P,
    ) -> Advanced {
        let (network, arrival) = (self.network.next_event(), self.edge.next_arrival());
        // Whatever is neither between racks, nor an arrival, nor the engine's, comes before these: times are all that is compared.
        debug_assert!(self.edge.first.1 < Due::Network);
        let other = self.edge.first.0;
        // Each question by itself: two that had one answer would be put together, which costs more with every packet.
        if network <= arrival {
            if network > until {
                return self.advance_before(until, env, probe);
            }
            if network >= other {
                return self.advance_other(env, probe);
            }
            // Nothing else is due before or at this.
            let last = until.0.min(arrival.0).min(other.0 - 1);
            self.advance_network(network, Time(last), env, probe);
            Advanced::Network
        } else {
            if arrival > until {
                return self.advance_before(until, env, probe);
            }
            if arrival >= other {
                return self.advance_other(env, probe);
            }
            if let Some(handle) = self.edge.arrive() {
                let entering = env.enter(arrival, handle);
                self.enter(arrival, entering, env, probe);
            }
            Advanced::Edge
        }
    }

    /// Nothing is due between racks, and no packet arrives: there may be something else before the engine's turn.
    #[inline(always)] // in two places, and short
    fn advance_before<E: Environment<H>, P: Probe>(
        &mut self,
        until: Time,
        env: &mut E,
        probe: &mut P,
    ) -> Advanced {
        if self.edge.first.0 <= until {
            self.advance_other(env, probe)
        } else {
            Advanced::Not
        }
    }

    #[inline(always)] // its only call
    fn advance_network<E: Environment<H>, P: Probe>(
        &mut self,
        now: Time,
        until: Time,
        env: &mut E,
        probe: &mut P,
    ) {
        let edge = &mut self.edge;
        if edge.extras.is_none() {
            let outside = &mut Outside::<H, E, false> { env, edge };
            self.network.run(now, until, outside, probe);
        } else {
            let outside = &mut Outside::<H, E, true> { env, edge };
            self.network.run(now, until, outside, probe);
        }
        if self.network.switch().is_some() && self.controller.is_some() {
            self.look_at_weeks(); // the switch's week may have ended
        }
    }

    #[inline(never)]
    fn advance_other<E: Environment<H>, P: Probe>(
        &mut self,
        env: &mut E,
        probe: &mut P,
    ) -> Advanced {
        let (now, due) = self.edge.first;
        match due {
            Due::Milestone => return Advanced::Milestone(now, self.edge.pass()),
            Due::Week => return Advanced::Week(now),
            Due::Notification => self.notify(now, env, probe),
            Due::Delivery => self.deliver(now, env, probe),
            Due::NicFree => {
                if let Some((host, handle)) = self.edge.leave_nic() {
                    env.nic_free(host, handle);
                }
            }
            Due::Network | Due::Arrival | Due::Engine => {}
        }
        Advanced::Edge
    }

    /// A packet is at the ToR switch of its host.
    #[inline]
    pub fn enter<E: Environment<H>, P: Probe>(
        &mut self,
        now: Time,
        arrival: Arrival<H>,
        env: &mut E,
        probe: &mut P,
    ) {
        let edge = &mut self.edge;
        let mut outside = Outside::<H, E, true> { env, edge };
        let Arrival { packet, .. } = arrival;
        let is_within = packet.src.rack() == packet.dst.rack();
        if is_within && !self.network.carries_within_racks() {
            outside.deliver(within_rack(now, packet));
        } else {
            self.network.enqueue(now, arrival, &mut outside, probe);
        }
    }

    /// The first notification that is due reaches its host.
    fn notify<E: Environment<H>, P: Probe>(&mut self, now: Time, env: &mut E, probe: &mut P) {
        let edge = &mut self.edge;
        if let Some(Notice { host, rack, tdn }) = edge.notices.as_mut().and_then(|n| n.take()) {
            let id = edge.hosts().host(host);
            let notified = Event::Notified {
                pair: Pair {
                    src: id.rack(),
                    dst: rack,
                },
                host: id.number(),
                plane: tdn,
            };
            probe.on(now, notified);
            env.notified(now, host, rack, tdn, edge);
        }
        edge.look();
    }

    /// Queues what has come for hosts, and delivers the packet that has passed its downlink, if it is due.
    fn deliver<E: Environment<H>, P: Probe>(&mut self, now: Time, env: &mut E, probe: &mut P) {
        let edge = &mut self.edge;
        while let Some(lost) = edge.downlinks().and_then(|d| d.queue(probe)) {
            edge.left_network(lost.time, lost.handle, env);
            env.discard(lost.time, lost.handle, DropReason::DownlinkFull, edge);
        }
        if E::STAMPS {
            if let Some((handle, at, met)) = edge.downlinks().and_then(|d| d.met(now)) {
                env.stamped(at, handle, met);
            }
        }
        if let Some(delivery) = edge.downlinks().and_then(|d| d.pass(now, probe)) {
            edge.left_network(now, delivery.handle, env);
            env.deliver(delivery, edge);
        }
        edge.look();
    }
}

impl<H: Copy> Edge<H> {
    /// A packet is in the network no more: its stream may be over.
    fn left_network<E: Environment<H>>(&mut self, now: Time, handle: H, env: &mut E) {
        if let Some(accounts) = self.accounts() {
            if let Some(part) = env.part(handle) {
                accounts.left_network(now, part);
            }
        }
    }
}

/// A packet between hosts of one rack needs no network: its ToR switch returns it at once.
fn within_rack<H>(now: Time, packet: Packet<H>) -> Departure<H> {
    Departure {
        packet,
        time: now,
        latency: Span::ZERO,
        queue: QueueId::default(),
        plane: Plane::PACKET,
        ce: false,
        ece: false,
        trimmed: false,
    }
}

/// Takes what leaves the network between racks. Without `EXTRAS` there are neither accounts nor downlinks, so that what these look at
/// need not be read of each packet.
struct Outside<'a, H, E, const EXTRAS: bool> {
    env: &'a mut E,
    edge: &'a mut Edge<H>,
}

impl<H: Copy, E: Environment<H>, const EXTRAS: bool> Outside<'_, H, E, EXTRAS> {
    /// As [`Sink::deliver`], where there are accounts or downlinks. In parts, which are handed on in registers: as a whole, a departure
    /// would be put into memory for each packet in case that this is called.
    #[cold]
    #[inline(never)]
    fn deliver_with_extras(
        &mut self,
        handle: H,
        (src, dst): (HostId, HostId),
        (bytes, plane): (u32, Plane),
        time: Time,
        (ce, ece, trimmed): (bool, bool, bool),
    ) {
        let delivery = Delivery {
            handle,
            time,
            plane,
            ce,
            ece,
            trimmed,
        };
        let Some(Extras {
            accounts,
            downlinks,
        }) = self.edge.extras.as_deref_mut()
        else {
            return;
        };
        let part = accounts.as_ref().and_then(|_| self.env.part(handle));
        if let (Some(accounts), Some(part)) = (accounts, part) {
            accounts.delivered(time, part);
        }
        if let Some(downlinks) = downlinks {
            let (src, dst_rack) = (src.rack(), dst.rack());
            downlinks.arrive(Arriving {
                dst,
                pair: Pair { src, dst: dst_rack },
                bytes,
                delivery,
            });
            self.edge.first = self.edge.first.min((time, Due::Delivery));
        } else {
            self.edge.left_network(time, handle, self.env);
            self.env.deliver(delivery, self.edge);
        }
    }

    /// As [`Sink::dequeued`], where there may be accounts.
    #[inline(never)]
    fn dequeued_with_extras(&mut self, now: Time, handle: H) {
        if let (Some(accounts), Some(part)) = (self.edge.accounts(), self.env.part(handle)) {
            accounts.dequeued(now, part);
        }
    }
}

impl<H: Copy, E: Environment<H>, const EXTRAS: bool> Sink<H> for Outside<'_, H, E, EXTRAS> {
    const STAMPS: bool = E::STAMPS;

    #[inline(always)] // what is known of a departure where it is made need not be handed on
    fn deliver(&mut self, departure: Departure<H>) {
        let Departure {
            packet,
            time,
            plane,
            ce,
            ece,
            trimmed,
            ..
        } = departure;
        let handle = packet.handle;
        if EXTRAS && self.edge.extras.is_some() {
            let (ends, bytes) = ((packet.src, packet.dst), packet.bytes);
            let marks = (ce, ece, trimmed);
            self.deliver_with_extras(handle, ends, (bytes, plane), time, marks);
        } else {
            let delivery = Delivery {
                handle,
                time,
                plane,
                ce,
                ece,
                trimmed,
            };
            self.env.deliver(delivery, self.edge);
        }
    }

    #[inline]
    fn dequeued(&mut self, now: Time, handle: H, from: Transmission) {
        if EXTRAS && self.edge.extras.is_some() {
            self.dequeued_with_extras(now, handle);
        }
        if E::STAMPS {
            self.env.stamped(now, handle, from);
        }
    }

    #[cold]
    fn give_back(&mut self, now: Time, handle: H, _pair: Pair, why: DropReason) {
        self.edge.left_network(now, handle, self.env);
        self.env.given_back(now, handle, why, self.edge);
    }

    #[inline]
    fn slice_began(&mut self, now: Time, slice: u64) {
        self.env.slice(now, slice, self.edge);
    }

    #[cold]
    fn tdn_changed(&mut self, now: Time, pair: Pair, tdn: Plane) {
        if let Some(notices) = &mut self.edge.notices {
            notices.tell(now, pair, tdn);
            self.edge.look();
        }
    }

    fn discard(&mut self, now: Time, handle: H, _pair: Pair, reason: DropReason) {
        self.edge.left_network(now, handle, self.env);
        self.env.discard(now, handle, reason, self.edge);
    }
}
