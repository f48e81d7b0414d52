//! Hosts, network and milestones around one timer.

use alloc::boxed::Box;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::fmt;
use core::net::SocketAddrV4;

use etalon_adu::Report;
use etalon_events::{Event, Listener, Packet, Plane, QueueId};
use etalon_fabric::{Entering, Fabric, Host};
use etalon_schedule::{ControlError, Controller, HostDemand};
use etalon_switch::{ConfigError, Departure, Pair, Sink};
use etalon_units::{Serializer, Span, Time};

use crate::accounts::{Accounts, Way};
use crate::edge::{Edge, Environment, InFlight, Milestone, Outside, Sent, Slot, Socket};
use crate::network::Network;
use crate::setup::{NetworkSetup, Setup};
use crate::weeks::tell_week;

/// Port of the servers of the experiment's flows.
const SERVER_PORT: u16 = 5001;

/// Port of the client of flow 0; those of the others follow.
const FIRST_CLIENT_PORT: u16 = 40_001;

/// The hosts below TCP and the network between them, in a kernel.
///
/// Two clocks meet here. The network lives in virtual time, from 0 on; the kernel's clock, and so its TCP, in host time,
/// which is [`tdf`](Setup::tdf) times as fast: kernel = epoch + virtual x tdf. All arguments and results called `kernel`
/// are nanoseconds of the kernel's clock; the log has virtual time.
///
/// The caller calls [`advance`](Driver::advance) at [`next`](Driver::next), and [`send`](Driver::send) when a host's NIC
/// is given a packet. What is due at one instant happens in this order: milestones, NICs that become free, the computing of
/// weeks, the network, packets that reach the network by number of their host. But for NICs, which the simulator needs no
/// events for, this is the simulator's order.
#[derive(Debug)]
pub struct Driver {
    setup: Setup,
    between: Network<Slot>,
    /// Computes weeks from demand; none if all are the same.
    controller: Option<Box<Controller>>,
    hosts: Vec<Host<Slot>>,
    /// When the first packet of a host's pipe reaches the network; hosts without packets are not here.
    arrivals: BinaryHeap<Reverse<(Time, u32)>>,
    /// When a host's NIC is done with a packet.
    nics: BinaryHeap<Reverse<(Time, u32, u64)>>,
    edge: Edge,
    /// Packets between hosts of one rack that have not reached its ToR switch.
    in_rack: u32,
    /// What was last logged of each flow's sender.
    sockets: Vec<Socket>,
    /// The kernel's time at virtual time 0.
    epoch: u64,
    phase: Phase,
}

/// How far the experiment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Not started.
    Idle,
    Warmup,
    Measuring,
    Over,
}

/// Why there is no driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewError {
    /// There is no such switch.
    Switch(ConfigError),
    /// Weeks cannot be computed.
    Control(ControlError),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewError::Switch(error) => error.fmt(f),
            NewError::Control(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for NewError {}

impl Driver {
    /// A driver that waits to be [started](Driver::start).
    ///
    /// # Errors
    /// [`NewError`] if there is no such switch, or if weeks cannot be computed.
    pub fn new(setup: Setup) -> Result<Driver, NewError> {
        let between = Network::new(&setup.network).map_err(NewError::Switch)?;
        let control = match &setup.network {
            NetworkSetup::Rdcn { control, .. } => control.as_ref(),
            NetworkSetup::Dumbbell { .. } => None,
        };
        let controller = control
            .map(|config| Controller::new(config, setup.seed).map(Box::new))
            .transpose()
            .map_err(NewError::Control)?;
        let demand = control.and_then(|config| HostDemand::new(setup.racks, config.estimator));
        let accounts = demand.map(|demand| Accounts::new(demand, &setup.flows, setup.hosts));
        let host = |index: u32| {
            let nic = Serializer::new(setup.host.rate);
            let (delay, jitter) = (setup.host.delay, setup.host.jitter);
            Host::new(nic, delay, jitter, setup.seed, index.into())
        };
        let count = setup.host_count();
        Ok(Driver {
            between,
            controller,
            hosts: (0..count).map(host).collect(),
            arrivals: BinaryHeap::with_capacity(count as usize),
            nics: BinaryHeap::with_capacity(count as usize),
            edge: Edge::new(setup.capture, accounts),
            in_rack: 0,
            sockets: alloc::vec![Socket::default(); setup.flows.len()],
            epoch: 0,
            phase: Phase::Idle,
            setup,
        })
    }

    /// What the driver was made from.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Virtual time 0 is at `kernel`, now or later.
    pub fn start(&mut self, kernel: u64) {
        self.epoch = kernel;
        self.phase = Phase::Warmup;
    }

    /// Virtual time at `kernel`, rounded down; zero before the start.
    #[must_use]
    pub fn now(&self, kernel: u64) -> Time {
        if self.phase == Phase::Idle {
            return Time::ZERO;
        }
        Time(kernel.saturating_sub(self.epoch) / self.setup.tdf)
    }

    /// The kernel's time at `time`, [`u64::MAX`] if it is beyond its clock.
    #[must_use]
    pub fn kernel_time(&self, time: Time) -> u64 {
        time.0
            .saturating_mul(self.setup.tdf)
            .saturating_add(self.epoch)
    }

    /// When the kernel next may hear of something, in its time; [`u64::MAX`] for never. Events that stay inside the
    /// network wait until then: a timer of the kernel costs more than most of them.
    #[must_use]
    #[inline]
    pub fn next(&self) -> u64 {
        let Some(milestone) = self.milestone() else {
            return u64::MAX;
        };
        let nic = self.nics.peek().map_or(Time::MAX, |first| first.0.0);
        let arrival = self.arrivals.peek().map_or(Time::MAX, |first| first.0.0);
        let passage = if self.in_rack > 0 {
            Span::ZERO
        } else {
            self.between.shortest_passage()
        };
        let next = nic
            .min(arrival.saturating_add(passage))
            .min(self.between.next_departure())
            .min(milestone);
        self.kernel_time(next)
    }

    /// A host gives a packet to its NIC. Returns false, and has not taken the packet, if it has nowhere to go: before the
    /// start, after the end, and to hosts that are not there.
    #[inline]
    pub fn send<E: Environment>(&mut self, kernel: u64, host: u32, sent: &Sent, env: &E) -> bool {
        let taken = matches!(self.phase, Phase::Warmup | Phase::Measuring)
            && kernel >= self.epoch
            && sent.dst != host
            && sent.dst < self.hosts.len() as u32;
        if !taken {
            return false;
        }
        // The packet is not sent before the kernel sends it.
        let now = Time((kernel - self.epoch).div_ceil(self.setup.tdf));
        self.catch_up(now, env);
        let flow = if sent.tcp {
            self.flow(host, sent)
        } else {
            None
        };
        if let (Some((flow, true)), Some(socket)) = (flow, sent.socket) {
            self.follow(self.now(kernel), flow, socket, env);
        }
        let rack = |host: u32| (host / u32::from(self.setup.hosts)) as u16;
        let pair = Pair {
            src: rack(host),
            dst: rack(sent.dst),
        };
        self.in_rack += u32::from(pair.src == pair.dst);
        let slot = self.edge.insert(InFlight {
            handle: sent.handle,
            dst: sent.dst,
            tcp: sent.tcp,
            packet: Packet {
                pair,
                flow: flow.map(|(flow, _)| flow),
                to_server: flow.is_some_and(|(_, to_server)| to_server),
                ect: sent.ect,
                ce: false,
                ece: false,
                payload: sent.payload,
                bytes: sent.bytes,
                seq: sent.seq,
                ack: sent.ack,
            },
        });
        if let Some(accounts) = &mut self.edge.accounts {
            accounts.sent(now, slot, (host, pair), sent, flow);
        }
        let (done, first) = self.hosts[host as usize].send(now, sent.bytes, slot);
        self.nics.push(Reverse((done, host, sent.handle)));
        if let Some(time) = first {
            self.arrivals.push(Reverse((time, host)));
        }
        true
    }

    /// Does all that is due at or before `kernel`.
    pub fn advance<E: Environment>(&mut self, kernel: u64, env: &E) {
        if kernel >= self.epoch {
            self.advance_to(self.now(kernel), env);
        }
    }

    /// Does all that is due before `kernel`, so that what the kernel now logs comes after it. None of it concerns the
    /// kernel if that has called at each [`next`](Driver::next).
    pub fn log_up_to<E: Environment>(&mut self, kernel: u64, env: &E) {
        self.catch_up(self.now(kernel), env);
    }

    #[inline]
    fn catch_up<E: Environment>(&mut self, now: Time, env: &E) {
        if now > Time::ZERO {
            self.advance_to(Time(now.0 - 1), env);
        }
    }

    fn advance_to<E: Environment>(&mut self, now: Time, env: &E) {
        while let Some(milestone) = self.milestone() {
            let next = self.next_event();
            if next.min(milestone) > now {
                break;
            }
            if milestone <= next {
                self.pass(milestone, env);
            } else {
                self.step(next, env);
            }
        }
    }

    /// One of the plan's flows starts: all its bytes are its stack's to send.
    pub fn flow_started<E: Environment>(&mut self, kernel: u64, flow: u32, env: &E) {
        self.announce(kernel, env, |now, accounts| {
            accounts.flow_started(now, flow);
        });
    }

    /// One of the plan's flows is killed.
    pub fn flow_killed<E: Environment>(&mut self, kernel: u64, flow: u32, env: &E) {
        self.announce(kernel, env, |now, accounts| accounts.flow_killed(now, flow));
    }

    /// The estimator receives a datagram: [`Report`]s. What is none is left out, as by any server.
    pub fn report<E: Environment>(&mut self, kernel: u64, datagram: &[u8], env: &E) {
        for bytes in datagram.chunks(etalon_adu::LEN) {
            let Ok(report) = Report::decode(bytes) else {
                continue;
            };
            let (Some(src), Some(dst)) = (self.endpoint(report.src), self.endpoint(report.dst))
            else {
                continue;
            };
            let way = Way { src, dst };
            self.announce(kernel, env, |now, accounts| {
                accounts.reported(now, way, &report);
            });
        }
    }

    /// The host and port of an address, which is 10.rack.host+1.
    fn endpoint(&self, address: SocketAddrV4) -> Option<(u32, u16)> {
        let [net, high, low, number] = address.ip().octets();
        let host = u32::from(number.checked_sub(1)?);
        let rack = u16::from_be_bytes([high, low]);
        let hosts = u32::from(self.setup.hosts);
        (net == 10 && rack < self.setup.racks && host < hosts)
            .then(|| (u32::from(rack) * hosts + host, address.port()))
    }

    /// Something is said of demand. A week that is computed at this instant does not know it yet, as in the simulator.
    fn announce<E: Environment>(
        &mut self,
        kernel: u64,
        env: &E,
        say: impl FnOnce(Time, &mut Accounts),
    ) {
        if self.edge.accounts.is_none() || kernel < self.epoch {
            return;
        }
        let now = Time((kernel - self.epoch).div_ceil(self.setup.tdf));
        self.catch_up(now, env);
        while self.computes_at() <= now && self.milestone().is_some_and(|due| due > now) {
            self.compute(now, env);
        }
        if let (Some(_), Some(accounts)) = (self.milestone(), &mut self.edge.accounts) {
            say(now, accounts);
        }
    }

    /// Every flow is over: the experiment ends now, if it is one that ends so. [`next`](Driver::next) has changed.
    pub fn flows_are_over<E: Environment>(&mut self, kernel: u64, env: &E) {
        if !self.setup.end_when_done || self.milestone().is_none() || kernel < self.epoch {
            return;
        }
        let now = Time((kernel - self.epoch).div_ceil(self.setup.tdf));
        self.catch_up(now, env);
        self.setup.warmup = self.setup.warmup.min(now);
        self.setup.end = self.setup.end.min(now);
    }

    /// The run is over: logs its end, whether it is the experiment's or an early one. Nothing is taken any more.
    pub fn finish<E: Environment>(&mut self, kernel: u64, env: &E) {
        self.log_up_to(kernel, env);
        let complete = self.phase == Phase::Over;
        let now = self.now(kernel).min(self.setup.end);
        if self.phase == Phase::Idle {
            self.phase = Phase::Warmup;
        }
        while self.phase != Phase::Over {
            self.pass(now, env);
        }
        env.log(&Event::End { complete }.at(now));
    }

    /// The next milestone.
    #[inline]
    fn milestone(&self) -> Option<Time> {
        match self.phase {
            Phase::Warmup => Some(self.setup.warmup),
            Phase::Measuring => Some(self.setup.end),
            Phase::Idle | Phase::Over => None,
        }
    }

    /// Passes the next milestone.
    fn pass<E: Environment>(&mut self, now: Time, env: &E) {
        if self.phase == Phase::Warmup {
            self.phase = Phase::Measuring;
            env.log(&Event::Begin.at(now));
            env.milestone(now, Milestone::Begin);
        } else {
            self.phase = Phase::Over;
            env.milestone(now, Milestone::End);
        }
    }

    /// When a week is next to be computed, or is done.
    #[inline]
    fn computes_at(&self) -> Time {
        match (&self.controller, &self.between) {
            (Some(controller), Network::Rdcn(hybrid)) => controller.next_event(hybrid.switch()),
            _ => Time::MAX,
        }
    }

    /// Computes a week, or has the switch adopt one.
    #[cold]
    fn compute<E: Environment>(&mut self, now: Time, env: &E) {
        let (Some(controller), Some(switch)) = (&mut self.controller, self.between.switch_mut())
        else {
            return;
        };
        let accounts = self.edge.accounts.as_mut();
        let hosts = accounts.map(|accounts| accounts.demand());
        match controller.step(now, switch, hosts) {
            Ok(None) => {}
            Ok(Some(week)) => tell_week(&week, |event| env.log(&event.at(now))),
            Err(error) => {
                self.phase = Phase::Over;
                let at = Span(now.0);
                env.fail(
                    now,
                    format_args!("No week can be computed at {at}: {error}."),
                );
            }
        }
    }

    #[inline]
    fn next_event(&self) -> Time {
        let nic = self.nics.peek().map_or(Time::MAX, |first| first.0.0);
        let arrival = self.arrivals.peek().map_or(Time::MAX, |first| first.0.0);
        let inside = self.between.next_event().min(self.computes_at());
        inside.min(arrival).min(nic)
    }

    /// Does what comes first of all that is due at `now`.
    #[inline]
    fn step<E: Environment>(&mut self, now: Time, env: &E) {
        // A NIC is done with a packet before the packet can be anywhere else.
        if let Some(&Reverse((time, host, handle))) = self.nics.peek() {
            if time == now {
                self.nics.pop();
                env.nic_free(handle, host);
                return;
            }
        }
        if self.computes_at() == now {
            self.compute(now, env);
            return;
        }
        let edge = &mut self.edge;
        let mut log = Listener(|now, event: Event| env.log(&event.at(now)));
        if self.between.next_event() == now {
            let mut outside = Outside { edge, env };
            self.between.advance(now, &mut outside, &mut log);
            return;
        }
        let Some(mut first) = self.arrivals.peek_mut() else {
            return;
        };
        let host = &mut self.hosts[first.0.1 as usize];
        let slot = host.arrive();
        match host.next() {
            Some(time) => first.0.0 = time,
            None => {
                alloc::collections::binary_heap::PeekMut::pop(first);
            }
        }
        if let Some(slot) = slot {
            let entering = edge.enter(now, slot, env);
            let mut outside = Outside { edge, env };
            if entering.pair.src == entering.pair.dst {
                self.in_rack -= 1;
                outside.deliver(within_rack(now, entering));
            } else {
                self.between.enqueue(now, entering, &mut outside, &mut log);
            }
        }
    }

    /// The flow that a TCP segment belongs to, and whether it is on its way to the server.
    #[inline]
    fn flow(&self, host: u32, sent: &Sent) -> Option<(u32, bool)> {
        let (client_port, to_server) = match sent.ports {
            (client, SERVER_PORT) => (client, true),
            (SERVER_PORT, client) => (client, false),
            _ => return None,
        };
        let flow = client_port.checked_sub(FIRST_CLIENT_PORT)?;
        let ends = self.setup.flows.get(usize::from(flow))?;
        let expected = if to_server {
            (ends.src, ends.dst)
        } else {
            (ends.dst, ends.src)
        };
        ((host, sent.dst) == expected).then_some((flow.into(), to_server))
    }

    /// Logs the state of a flow's sender if it is another.
    #[inline]
    fn follow<E: Environment>(&mut self, now: Time, flow: u32, socket: Socket, env: &E) {
        let last = &mut self.sockets[flow as usize];
        if *last == socket {
            return;
        }
        *last = socket;
        let event = Event::Cwnd {
            flow,
            cwnd: socket.cwnd,
            ssthresh: socket.ssthresh,
            srtt_us: socket.srtt_us,
        };
        env.log(&event.at(now));
    }
}

/// A packet between hosts of one rack needs no network: its ToR switch returns it at once.
fn within_rack(now: Time, packet: Entering<Slot>) -> Departure<Slot> {
    Departure {
        handle: packet.handle,
        pair: packet.pair,
        time: now,
        latency: Span::ZERO,
        queue: QueueId::default(),
        plane: Plane::PACKET,
        ce: false,
        ece: false,
    }
}

#[cfg(test)]
mod tests;
