// SPDX-License-Identifier: MIT OR Apache-2.0
//! The net in a kernel, around one timer.

use alloc::vec::Vec;
use core::fmt;
use core::net::SocketAddrV4;

use etalon_adu::Report;
use etalon_events::{Event, Listener, PacketHeader};
use etalon_net::{
    Accounts, Advanced, AnyNetwork, FourTuple, Milestone, Net, NewError as NetError, Segment,
};
use etalon_scenario::address::host_at;
use etalon_scenario::{Flow, Scenario, Setup, Stream, flow_of_ports};
use etalon_schedule::{Scheduler, is_of_user};
use etalon_switch::{ConfigError, Pair};
use etalon_units::{Span, Time};

use crate::claims::Claims;
use crate::connections::Connections;
use crate::desk::{Desk, Outside};
use crate::edge::{Inside, Kernel, Packets, Sent, Slot, Socket};
use crate::weeks::{tell_demand, tell_week};

/// The hosts below TCP and the network between them, in a kernel.
///
/// Two clocks meet here. The network lives in virtual time, from 0 on; the kernel's clock, and so its TCP, in host time,
/// which is [`tdf`](Scenario::tdf) times as fast: kernel = epoch + virtual x tdf. All arguments and results called `kernel`
/// are nanoseconds of the kernel's clock; the log has virtual time.
///
/// The caller calls [`advance`](Driver::advance) at [`next`](Driver::next), and [`send`](Driver::send) when a host's NIC
/// is given a packet. The order of what happens at one instant is the net's ([`Due`](etalon_net::Due)).
#[derive(Debug)]
pub struct Driver {
    scenario: Scenario,
    net: Net<Slot, AnyNetwork<Slot>>,
    packets: Packets,
    /// The sending and the receiving host of each flow, and how many subflows it has.
    ends: Vec<(u32, u32, u8)>,
    /// What programs do, if there are any.
    connections: Option<Connections>,
    /// What programs ask for, if they can.
    claims: Option<Claims>,
    /// What was last logged of each flow's sender.
    sockets: Vec<Socket>,
    /// Flows that are opened from outside, after the plan's.
    opened: Vec<Flow>,
    desk: Option<Desk>,
    /// Every flow of the plan is over.
    flows_over: bool,
    /// The kernel's time at virtual time 0; none before the start.
    epoch: Option<u64>,
}

/// Why there is no driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewError {
    /// There is no such switch.
    Switch(ConfigError),
    /// There is no such net.
    Net(NetError),
}

impl fmt::Display for NewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NewError::Switch(error) => error.fmt(f),
            NewError::Net(error) => error.fmt(f),
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
        let Setup {
            scenario,
            end,
            capture,
        } = setup;
        let between = AnyNetwork::new(&scenario).map_err(NewError::Switch)?;
        let (hosts, computed, notify) = (scenario.hosts, scenario.computed(), scenario.notify());
        let milestones = (scenario.begin(), end);
        let mut net = Net::new(hosts, between, computed, notify, scenario.seed, milestones)
            .map_err(NewError::Net)?;
        if let Some(accounts) = net.edge_mut().accounts() {
            for flow in &scenario.flows {
                accounts.open_flow(flow.pair());
            }
        }
        if let Some(asked) = scenario.asked() {
            net.take_requests(asked, scenario.first_circuits());
        }
        if let Ok(Some(nights)) = scenario.nights() {
            net.edge_mut().hold_in(nights); // of a scenario that was checked
        }
        let ends = scenario.flows.iter();
        Ok(Driver {
            net,
            opened: Vec::new(),
            desk: Desk::new(&scenario),
            flows_over: scenario.flows.is_empty(),
            packets: Packets::new(capture),
            ends: ends
                .map(|flow| {
                    let subflows = flow.transport.subflows();
                    (hosts.index(flow.src()), hosts.index(flow.dst()), subflows)
                })
                .collect(),
            connections: (!scenario.programs.is_empty())
                .then(|| Connections::new(scenario.flows.len())),
            claims: Claims::new(&scenario),
            sockets: alloc::vec![Socket::default(); scenario.flows.len()],
            epoch: None,
            scenario,
        })
    }

    /// The experiment.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// A flow of the plan's, or one that was opened from outside.
    #[must_use]
    pub fn flow(&self, index: u32) -> Option<&Flow> {
        let planned = &self.scenario.flows;
        let index = index as usize;
        let opened = || self.opened.get(index - planned.len());
        planned.get(index).or_else(opened)
    }

    /// Virtual time 0 is at `kernel`, now or later.
    pub fn start(&mut self, kernel: u64) {
        self.epoch = Some(kernel);
    }

    /// Virtual time at `kernel`, rounded down; zero before the start.
    #[must_use]
    pub fn now(&self, kernel: u64) -> Time {
        let epoch = self.epoch.unwrap_or(kernel);
        Time(kernel.saturating_sub(epoch) / self.scenario.tdf)
    }

    /// Virtual time at `kernel`, rounded up, at which the kernel does something; none before the start and after the end.
    #[inline]
    fn happens(&self, kernel: u64) -> Option<Time> {
        let elapsed = kernel.checked_sub(self.epoch?)?;
        // Nothing happens before the kernel does it.
        (!self.net.edge().is_over()).then(|| Time(elapsed.div_ceil(self.scenario.tdf)))
    }

    /// The kernel's time at `time`, [`u64::MAX`] if it is beyond its clock.
    #[must_use]
    pub fn kernel_time(&self, time: Time) -> u64 {
        time.0
            .saturating_mul(self.scenario.tdf)
            .saturating_add(self.epoch.unwrap_or(0))
    }

    /// When the kernel next may hear of something, in its time; [`u64::MAX`] for never. Events that stay inside the
    /// network wait until then: a timer of the kernel costs more than most of them.
    #[must_use]
    #[inline]
    pub fn next(&self) -> u64 {
        if self.epoch.is_none() || self.net.edge().is_over() {
            return u64::MAX;
        }
        let heard = self.net.next_heard(self.packets.any_in_rack());
        self.kernel_time(heard.min(self.outside()))
    }

    /// When who decides outside, or programs, may hear of something next, if the kernel says nothing before: at a time that was asked
    /// for, or when circuits are granted.
    #[inline]
    fn outside(&self) -> Time {
        match (&self.desk, &self.claims) {
            (None, None) => Time::MAX,
            (desk, _) => {
                let wake = desk.as_ref().map_or(Time::MAX, |desk| desk.wake);
                wake.min(self.net.next_week())
            }
        }
    }

    /// A host gives a packet to its NIC. Returns false, and has not taken the packet, if it has nowhere to go: before the
    /// start, after the end, and to hosts that are not there.
    #[inline]
    pub fn send<E: Kernel>(&mut self, kernel: u64, host: u32, sent: &Sent, env: &E) -> bool {
        if sent.dst == host || sent.dst >= self.scenario.hosts.count() {
            return false;
        }
        let Some(now) = self.happens(kernel) else {
            return false;
        };
        self.catch_up(now, env);
        if self.net.edge().is_over() {
            return false;
        }
        let planned = if sent.tcp {
            self.stream(host, sent)
        } else {
            None
        };
        let of_plan = planned.map(|stream| (stream.flow.into(), stream.to_server));
        let mut seq = sent.seq;
        let flow = match (of_plan, &self.connections) {
            (None, Some(_)) if sent.tcp => self.of_program(now, host, sent, env),
            (None, Some(_)) if sent.udp => self.of_datagrams(now, host, sent, &mut seq, env),
            _ => of_plan,
        };
        // A window begins to count when the connection is there.
        let socket = sent.socket.filter(|_| !sent.syn);
        if let (Some((flow, true)), Some(socket)) = (flow, socket) {
            self.follow(self.now(kernel), flow, socket, env);
        }
        let hosts = &self.scenario.hosts;
        let (src, dst) = (hosts.host(host), hosts.host(sent.dst));
        let pair = Pair {
            src: src.rack(),
            dst: dst.rack(),
        };
        let edge = self.net.edge_mut();
        let part = match edge.accounts() {
            Some(accounts) if sent.tcp => account(accounts, now, host, pair, sent, planned),
            _ => None,
        };
        let packet = PacketHeader {
            src,
            dst,
            flow: flow.map(|(flow, _)| flow),
            subflow: planned.map_or(0, |stream| stream.subflow),
            to_server: flow.is_some_and(|(_, to_server)| to_server),
            ect: sent.ect,
            ce: false,
            ece: false,
            payload: sent.payload,
            bytes: sent.bytes,
            seq,
            ack: sent.ack,
        };
        let slot = self.packets.insert(sent, packet, part);
        let done = edge.send(now, host, sent.bytes, slot);
        edge.tell_when_free(host, done, slot);
        true
    }

    /// Does all that is due at or before `kernel`.
    pub fn advance<E: Kernel>(&mut self, kernel: u64, env: &E) {
        if self.epoch.is_some_and(|epoch| kernel >= epoch) {
            self.advance_to(self.now(kernel), env);
        }
    }

    /// Does all that is due before `kernel`, so that what the kernel now logs comes after it. None of it concerns the
    /// kernel if that has called at each [`next`](Driver::next).
    pub fn log_up_to<E: Kernel>(&mut self, kernel: u64, env: &E) {
        self.catch_up(self.now(kernel), env);
    }

    #[inline]
    fn catch_up<E: Kernel>(&mut self, now: Time, env: &E) {
        if now > Time::ZERO {
            self.advance_to(Time(now.0 - 1), env);
        }
    }

    fn advance_to<E: Kernel>(&mut self, now: Time, env: &E) {
        while !self.net.edge().is_over() {
            let packets = &mut self.packets;
            let mut inside = Inside { packets, env };
            let mut log = Listener(|now, event: Event| env.log(&event.at(now)));
            let wake = self.desk.as_ref().map_or(Time::MAX, |desk| desk.wake);
            match self.net.advance(now.min(wake), &mut inside, &mut log) {
                Advanced::Not if wake <= now => {
                    if let Some(desk) = &mut self.desk {
                        desk.wake = Time::MAX;
                    }
                    self.ask(wake, Event::Woken, env);
                }
                Advanced::Not => return,
                Advanced::Network | Advanced::Edge => {}
                Advanced::Milestone(at, milestone) => tell(at, milestone, env),
                Advanced::Week(at) => self.compute(at, env),
            }
        }
    }

    /// One of the plan's flows starts: its application has all its bytes to send.
    pub fn flow_started<E: Kernel>(&mut self, kernel: u64, flow: u32, env: &E) {
        let Some(planned) = self.scenario.flows.get(flow as usize) else {
            return;
        };
        let bytes = planned.bytes.unwrap_or(u64::MAX);
        self.announce(kernel, env, |now, accounts| {
            accounts.wanted(now, 2 * flow, bytes);
        });
    }

    /// The socket at the beginning of a stream has taken `bytes` of what its application writes: number 2n from flow n's client, 2n + 1
    /// from its server.
    pub fn accepted<E: Kernel>(&mut self, kernel: u64, stream: u32, bytes: u64, env: &E) {
        if self.flow(stream / 2).is_some() {
            self.announce(kernel, env, |now, accounts| {
                accounts.accepted(now, stream, bytes);
            });
        }
    }

    /// One of the plan's flows is killed.
    pub fn flow_killed<E: Kernel>(&mut self, kernel: u64, flow: u32, env: &E) {
        if (flow as usize) < self.scenario.flows.len() {
            self.announce(kernel, env, |now, accounts| accounts.killed(now, 2 * flow));
        }
    }

    /// The estimator receives a datagram: [`Report`]s. What is none is left out, as by any server.
    pub fn report<E: Kernel>(&mut self, kernel: u64, datagram: &[u8], env: &E) {
        for bytes in datagram.chunks(etalon_adu::LEN) {
            let Ok(report) = Report::decode(bytes) else {
                continue;
            };
            let (Some(src), Some(dst)) = (self.endpoint(report.src), self.endpoint(report.dst))
            else {
                continue;
            };
            let connection = FourTuple { src, dst };
            self.announce(kernel, env, |now, accounts| {
                accounts.reported(now, connection, &report);
            });
        }
    }

    /// The host and port of an address.
    fn endpoint(&self, address: SocketAddrV4) -> Option<(u32, u16)> {
        let host = host_at(*address.ip())?;
        let hosts = &self.scenario.hosts;
        hosts.has(host).then(|| (hosts.index(host), address.port()))
    }

    /// Something is said of demand. A week that is computed at this instant does not know it yet, as in the simulator.
    fn announce<E: Kernel>(&mut self, kernel: u64, env: &E, say: impl FnOnce(Time, &mut Accounts)) {
        if self.net.edge_mut().accounts().is_none() {
            return;
        }
        let Some(now) = self.happens(kernel) else {
            return;
        };
        self.catch_up(now, env);
        let computes = |net: &Net<_, _>| net.next_week() <= now && net.edge().milestone() > now;
        while !self.net.edge().is_over() && computes(&self.net) {
            self.compute(now, env);
        }
        if self.net.edge().is_over() {
            return;
        }
        if let Some(accounts) = self.net.edge_mut().accounts() {
            say(now, accounts);
        }
    }

    /// Every flow is over: the experiment ends now, if it is one that ends so. [`next`](Driver::next) has changed.
    pub fn flows_are_over<E: Kernel>(&mut self, kernel: u64, env: &E) {
        self.flows_over = true;
        if let Some(now) = self.happens(kernel) {
            self.catch_up(now, env);
            self.end_if_over(now);
        }
    }

    fn end_if_over(&mut self, now: Time) {
        let is_over = self.flows_over && self.desk.as_ref().is_none_or(|desk| desk.over);
        if self.scenario.end_when_done && is_over && !self.net.edge().is_over() {
            self.net.edge_mut().end(now);
        }
    }

    /// The run is over: logs its end, whether it is the experiment's or an early one. Nothing is taken any more.
    pub fn finish<E: Kernel>(&mut self, kernel: u64, env: &E) {
        self.log_up_to(kernel, env);
        let now = self.now(kernel);
        let edge = self.net.edge_mut();
        let complete = edge.is_over();
        edge.end(now);
        let now = edge.last_instant();
        while !edge.is_over() {
            tell(now, edge.pass(), env);
        }
        self.tell_awaited(now, env);
        env.log(&Event::End { complete }.at(now));
    }

    /// Computes a week, or has the switch adopt one; or grants circuits.
    #[cold]
    fn compute<E: Kernel>(&mut self, now: Time, env: &E) {
        if self.scenario.asked().is_some() {
            self.grant(now, env);
            return;
        }
        let is_written = self
            .scenario
            .control()
            .is_some_and(|control| is_of_user(&control.scheduler));
        let mut outside = Outside {
            now,
            looked_at: now,
            env,
        };
        let lent = is_written.then_some(&mut outside as &mut dyn Scheduler);
        match self.net.compute(now, lent) {
            Ok(None) => {}
            Ok(Some(week)) => {
                let say = |event: Event| env.log(&event.at(now));
                if !is_written {
                    tell_demand(&week.demand, say);
                }
                tell_week(&week, say);
            }
            Err(error) => {
                let at = Span(now.0);
                let why = format_args!("No week can be computed at {at}: {error}.");
                self.fail(now, why, env);
            }
        }
    }

    /// The run cannot go on.
    fn fail<E: Kernel>(&mut self, now: Time, why: fmt::Arguments<'_>, env: &E) {
        while !self.net.edge().is_over() {
            self.net.edge_mut().pass();
        }
        env.fail(now, why);
    }

    /// What a TCP segment belongs to, if that is a flow.
    #[inline]
    fn stream(&self, host: u32, sent: &Sent) -> Option<Stream> {
        let stream = flow_of_ports(sent.ports)?;
        let (src, dst, subflows) = *self.ends.get(usize::from(stream.flow))?;
        let expected = if stream.to_server {
            (src, dst)
        } else {
            (dst, src)
        };
        ((host, sent.dst) == expected && stream.subflow < subflows).then_some(stream)
    }

    /// The same of a segment of a program.
    #[inline(never)] // what plans without programs do not pay for
    fn of_program<E: Kernel>(
        &mut self,
        now: Time,
        host: u32,
        sent: &Sent,
        env: &E,
    ) -> Option<(u32, bool)> {
        let hosts = &self.scenario.hosts;
        let ends = (hosts.host(host), hosts.host(sent.dst));
        let connections = self.connections.as_mut()?;
        let say = |event: Event| env.log(&event.at(now));
        let flow = connections.sent(ends, four_tuple(host, sent), sent, say)?;
        if self.sockets.len() <= flow.0 as usize {
            self.sockets.resize(flow.0 as usize + 1, Socket::default());
        }
        Some(flow)
    }

    /// The same of a program's datagram, if it carries data; `seq` becomes its place in the flow.
    #[inline(never)]
    fn of_datagrams<E: Kernel>(
        &mut self,
        now: Time,
        host: u32,
        sent: &Sent,
        seq: &mut u32,
        env: &E,
    ) -> Option<(u32, bool)> {
        if sent.payload == 0 {
            return None;
        }
        let hosts = &self.scenario.hosts;
        let ends = (hosts.host(host), hosts.host(sent.dst));
        let connections = self.connections.as_mut()?;
        let say = |event: Event| env.log(&event.at(now));
        let tuple = four_tuple(host, sent);
        let (flow, place) = connections.sent_datagram(ends, tuple, sent.payload, say)?;
        *seq = place;
        Some((flow, true))
    }

    /// Logs the state of a flow's sender if it is another.
    #[inline]
    fn follow<E: Kernel>(&mut self, now: Time, flow: u32, socket: Socket, env: &E) {
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

/// A milestone is passed.
fn tell<E: Kernel>(now: Time, milestone: Milestone, env: &E) {
    if milestone == Milestone::Begin {
        env.log(&Event::Begin.at(now));
    }
    env.milestone(now, milestone);
}

/// What the sender of a TCP segment calls its connection; of a datagram of UDP, its socket addresses.
fn four_tuple(host: u32, sent: &Sent) -> FourTuple {
    FourTuple {
        src: (host, sent.ports.0),
        dst: (sent.dst, sent.ports.1),
    }
}

/// What a TCP segment carries of a stream of which there is an account.
fn account(
    accounts: &mut Accounts,
    now: Time,
    host: u32,
    pair: Pair,
    sent: &Sent,
    flow: Option<Stream>,
) -> Option<etalon_net::Part> {
    let segment = Segment {
        connection: four_tuple(host, sent),
        pair,
        seq: sent.seq,
        syn: sent.syn,
        fin: sent.fin,
        rst: sent.rst,
        payload: sent.payload,
    };
    match flow {
        Some(Stream {
            flow, to_server, ..
        }) => {
            let stream = 2 * u32::from(flow) + u32::from(!to_server);
            Some(accounts.sent_of_flow(now, stream, &segment))
        }
        None => accounts.sent_of_other(now, &segment),
    }
}

mod circuits;
mod orders;
#[cfg(test)]
mod tests;
