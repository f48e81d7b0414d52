// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that MPTCP carries: their subflows on hosts, and the schedulers that give these data.
//!
//! Subflow 0 is the flow itself; the others are flows of their own behind those of the plan, which no result shows. They connect once
//! it is open.

use etalon_measure::Sender;
use etalon_net::Edge;
use etalon_scenario::{Mptcp, Scheduler};
use etalon_switch::Plane;
use etalon_tcp::mptcp::{BUFFER, send_buffer};
use etalon_tcp::{Connection, cc};
use etalon_units::Time;

use crate::endpoint::{ALONE, Follows};
use crate::groups::Group;
use crate::packet::PacketId;
use crate::tap::{Departure, Tap};
use crate::world::World;

/// What mainline's scheduler gives a subflow before it looks at the others: two buffers.
const TURN: u64 = 2 * BUFFER;

/// How many segments a connection has that are in flight or wait.
fn queued(connection: &Connection<cc::Any>) -> u64 {
    let waiting = connection.unsent().div_ceil(connection.mss().into());
    u64::from(connection.path().in_flight()) + waiting
}

impl<T: Tap> World<'_, '_, T> {
    /// The endpoints of a flow that was just opened are MPTCP's, if they are. Returns whether they are.
    #[cold]
    pub(crate) fn join_group(&mut self, flow: u32) -> bool {
        let Some((group, subflow)) = self.groups.of(flow) else {
            return false;
        };
        for index in [2 * flow, 2 * flow + 1] {
            let end = self.flows.end(index);
            (end.group, end.subflow) = (group, subflow);
            end.follows = Follows::AsSubflow;
        }
        self.meter
            .set_first_byte(self.groups[group as usize].flows[0] as usize, 0);
        true
    }

    /// A packet has left the network. If it is for an endpoint of MPTCP's, that is counted for its flow; returns whether it is.
    #[cold]
    #[inline(never)]
    pub(crate) fn meter_subflow(&mut self, now: Time, handle: PacketId, plane: Plane) -> bool {
        let packet = self.pool.get_mut(handle);
        let (index, pair) = (packet.envelope.to, packet.envelope.route.pair());
        let (seq, payload) = (packet.segment.seq, u32::from(packet.segment.len));
        let end = self.flows.end(index);
        if end.group == ALONE {
            return false;
        }
        let (group, subflow) = (end.group as usize, usize::from(end.subflow));
        if payload == 0 || !self.meter.is_carried(pair) {
            return true;
        }
        if index & 1 == 0 {
            self.meter.other_left(pair, payload, plane);
            return true;
        }
        let offset = seq.wrapping_sub(self.flows.first_byte(index ^ 1));
        let group = &mut self.groups[group];
        let row = group.flows[0] as usize;
        let reached = group.reach(subflow, offset.wrapping_add(payload));
        self.meter
            .data_left(now, row, payload, reached as u32, plane);
        self.meter.data_left_in_order(row, subflow, offset, payload);
        true
    }

    /// An endpoint of MPTCP's was given a segment.
    #[cold]
    #[inline(never)]
    pub(crate) fn after_segment(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let end = self.flows.end(index);
        let group = end.group as usize;
        if index & 1 == 0 && self.comes_too_late(group, index) {
            self.give_up_subflow(now, group, index, edge);
        } else if index & 1 == 0 {
            let end = self.flows.end(index);
            let cwnd = end.connection.path().window().cwnd;
            let row = self.groups[group].flows[0] as usize;
            self.meter.follow_cwnd(now, row, cwnd);
            let acked = self.heard(group, index);
            if self.sends_again_by(group, index) {
                self.feed(now, group, edge);
            }
            self.groups[group].sender.acknowledged(acked);
            self.feed(now, group, edge);
            self.end_as_client(now, group, index, edge);
        } else {
            self.take(now, group, index, edge);
        }
        self.transmit_subflow(now, index, edge);
        if index & 1 == 1 {
            self.read_stream(now, group, edge);
        }
        self.follow_subflow(now, index);
        let flow = index >> 1;
        if self.flows.left_network(self.flows.place(index)) {
            self.flows.close_if_over(flow);
        }
        self.tell_job(now, group, index, edge);
    }

    /// Whether the handshake of a client's subflow is over just now, but the application has written all and shut down.
    fn comes_too_late(&mut self, group: usize, index: u32) -> bool {
        let end = self.flows.end(index);
        let joins = end.subflow > 0 && end.connection.is_established();
        let just_so = joins && end.connection.stats().segments_received == 1;
        let group = &self.groups[group];
        just_so && group.ends && !group.sender.is_writing()
    }

    /// As seen on Linux, such a subflow is reset, as RFC 8684 (section 3.6) has an end do that wants it no more, and all that is not
    /// acknowledged of the stream goes once more, as when any subflow closes.
    #[cold]
    fn give_up_subflow(&mut self, now: Time, group: usize, index: u32, edge: &mut Edge<PacketId>) {
        self.flows.end(index).connection.abort();
        self.transmit(now, index, edge);
        self.groups[group].sender.send_all_again();
        self.feed(now, group, edge);
    }

    /// A server takes what has arrived in its subflow's order, and acknowledges what the stream has in its own on all subflows.
    fn take(&mut self, now: Time, group: usize, index: u32, edge: &mut Edge<PacketId>) {
        let connection = &mut self.flows.end(index).connection;
        let receiver = &mut self.groups[group].receiver;
        while let Some(piece) = connection.take_mapped() {
            receiver.take(piece, connection.memory_of(piece.1));
        }
        let received = receiver.received();
        let data_ack = self.data_ack(group);
        let slowest = self.slowest_round_trip(group);
        let connection = &self.flows.end(index).connection;
        let buffer = connection.tune_stream(&mut self.groups[group].receiver, slowest);
        let offered = self.offered(group);
        let memory = self.groups[group].receiver.memory();
        for subflow in 0..self.groups[group].flows.len() {
            let server = 2 * self.groups[group].flows[subflow] + 1;
            if let Some(end) = self.flows.end_if_open(server) {
                end.connection.set_data_ack(data_ack, offered);
                end.connection.set_stream_memory(memory);
                if let Some(buffer) = buffer {
                    end.connection.enlarge_receive_buffer(buffer);
                }
            }
        }
        let row = self.groups[group].flows[0] as usize;
        if self.meter.received(now, row, received) {
            self.finish_flow(now, edge);
        }
        self.end_as_server(now, group, index, edge);
    }

    /// The application reads what has come, once that is acknowledged: as seen on Linux, an ACK goes out before programs run unless it waits
    /// for them.
    fn read_stream(&mut self, now: Time, group: usize, edge: &mut Edge<PacketId>) {
        let receiver = &mut self.groups[group].receiver;
        let before = receiver.memory();
        receiver.read();
        let memory = receiver.memory();
        if memory == before {
            return;
        }
        for subflow in 0..self.groups[group].flows.len() {
            let server = 2 * self.groups[group].flows[subflow] + 1;
            if let Some(end) = self.flows.end_if_open(server) {
                end.connection.set_stream_memory(memory);
                if memory == 0 {
                    end.connection.stream_was_read();
                    self.transmit_subflow(now, server, edge);
                }
            }
        }
    }

    /// Up to where in the stream the servers of a group's subflows have offered room.
    fn offered(&mut self, group: usize) -> u64 {
        let mut offered = 0;
        for &flow in &self.groups[group].flows {
            if let Some(end) = self.flows.end_if_open(2 * flow + 1) {
                offered = offered.max(end.connection.offered_of_stream());
            }
        }
        offered
    }

    /// Eight times the longest round trip that the servers of a group's subflows see, in microseconds.
    fn slowest_round_trip(&mut self, group: usize) -> u64 {
        let mut slowest = 0;
        for &flow in &self.groups[group].flows {
            if let Some(end) = self.flows.end_if_open(2 * flow + 1) {
                slowest = slowest.max(end.connection.receiver_rtt8());
            }
        }
        slowest
    }

    /// A client hears what the other end has room for. Returns what that has of the stream.
    fn heard(&mut self, group: usize, index: u32) -> u64 {
        let end = self.flows.end(index);
        let (subflow, cwnd) = (
            usize::from(end.subflow),
            end.connection.path().window().cwnd,
        );
        let ((acked, room_end), mss) = (end.connection.data_acked(), end.connection.mapped_mss());
        let group = &mut self.groups[group];
        group.sender.opened(room_end);
        group.largest[subflow] = group.largest[subflow].max(cwnd);
        group.sender.grow(send_buffer(mss, cwnd));
        acked
    }

    /// Data of a client's has left the host: the first lets the application write on. As seen on Linux, if it shuts down then, DATA_FIN is ahead
    /// of what it wrote.
    pub(crate) fn subflow_departed(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let group = self.flows.end(index).group as usize;
        let is_first = index & 1 == 0 && !std::mem::replace(&mut self.groups[group].departed, true);
        if is_first && self.give_all(now, group, edge) {
            self.end_stream(now, group, edge);
            self.transmit_clients(now, group, edge);
        }
        self.transmit_subflow(now, index, edge);
    }

    /// A client's subflow has waited in vain for ACKs: the first that is missing of the stream goes once more, by a subflow that has
    /// nothing under way, if there is one.
    fn repair(&mut self, group: usize) {
        let Some(piece) = self.groups[group].sender.first_missing() else {
            return;
        };
        for subflow in 0..self.groups[group].flows.len() {
            let flow = self.groups[group].flows[subflow];
            let Some(client) = self.flows.end_if_open(2 * flow) else {
                continue;
            };
            if client.connection.carries_data() && client.connection.all_acked() {
                client.connection.write_mapped(piece.data_seq, piece.len);
                return;
            }
        }
    }

    /// A flow is killed: its other subflows are, too.
    #[cold]
    pub(crate) fn abort_others(&mut self, now: Time, group: u32, edge: &mut Edge<PacketId>) {
        for subflow in 1..self.groups[group as usize].flows.len() {
            let flow = self.groups[group as usize].flows[subflow];
            if let Some(client) = self.flows.end_if_open(2 * flow) {
                client.connection.abort();
                self.transmit(now, 2 * flow, edge);
                self.flows.close_if_over(flow);
            }
        }
    }

    /// The application of a flow writes; none for without end.
    #[cold]
    pub(crate) fn write_stream(
        &mut self,
        now: Time,
        group: u32,
        bytes: Option<u64>,
        edge: &mut Edge<PacketId>,
    ) {
        let group = group as usize;
        self.groups[group].sender.write(bytes.unwrap_or(u64::MAX));
        self.groups[group].ends = bytes.is_some();
        self.feed(now, group, edge);
    }

    /// MPTCP carries a flow of a job's, which was just made and is not open yet.
    #[cold]
    pub(crate) fn add_group(&mut self, flow: u32, mptcp: Mptcp) {
        let group = self.flows.group(flow, mptcp);
        let plan = self.flows.plan(flow);
        for subflow in 1..mptcp.subflows {
            self.meter.add_connection(plan);
            self.tap.opened(plan, subflow);
        }
        let server = self.flows.hosts().index(plan.dst());
        self.groups.add(group, server);
    }

    /// A rank writes a message.
    #[cold]
    pub(crate) fn write_message(
        &mut self,
        now: Time,
        group: u32,
        bytes: u64,
        edge: &mut Edge<PacketId>,
    ) {
        self.groups[group as usize].sender.write(bytes);
        self.feed(now, group as usize, edge);
    }

    /// Bytes of a stream that have never been sent. What goes once more by a subflow is counted as if it had not been sent before, unless it
    /// is acknowledged.
    #[cold]
    pub(crate) fn unsent_of_stream(&mut self, group: u32) -> u64 {
        let mut waiting = 0;
        for subflow in 0..self.groups[group as usize].flows.len() {
            let client = 2 * self.groups[group as usize].flows[subflow];
            if let Some(end) = self.flows.end_if_open(client) {
                waiting += end.connection.unsent();
            }
        }
        self.groups[group as usize].sender.unsent(waiting)
    }

    /// The rank at an endpoint's host looks at what a packet to it has brought, if a job has opened the flow.
    fn tell_job(&mut self, now: Time, group: usize, index: u32, edge: &mut Edge<PacketId>) {
        let group = &self.groups[group];
        let (first, side) = (group.flows[0], index & 1);
        if first < self.flows.planned() {
            return;
        }
        let received = if side == 1 {
            group.receiver.received()
        } else {
            0
        };
        self.with_jobs(now, edge, |jobs, hosts| {
            jobs.received(now, (2 * first + side, received, side == 1), hosts);
        });
    }

    /// A timer of an endpoint of MPTCP's was due.
    #[cold]
    pub(crate) fn subflow_timer(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        let end = self.flows.end(index);
        let (group, subflow) = (end.group as usize, usize::from(end.subflow));
        if index & 1 == 0 {
            let stats = end.connection.stats();
            let waited = u64::from(stats.rtos) + u64::from(stats.tlps);
            let carries = end.connection.carries_data(); // its SYN may be what timed out
            let before = std::mem::replace(&mut self.groups[group].waited[subflow], waited);
            if carries && waited > before {
                self.repair(group);
            }
            self.feed(now, group, edge);
        }
        self.transmit_subflow(now, index, edge);
        self.follow_subflow(now, index);
    }

    /// A client may be in another state than before, which somebody may want to know: its path is its subflow.
    fn follow_subflow(&mut self, now: Time, index: u32) {
        if index & 1 == 0 && self.meter.follows_senders() {
            let end = self.flows.end(index);
            let (group, subflow) = (end.group as usize, end.subflow);
            let row = self.groups[group].flows[0] as usize;
            let sender = Sender {
                path: subflow,
                ..self.flows.sender(index)
            };
            self.meter.follow_sender(now, row, sender);
        }
    }

    /// Sends what an endpoint of MPTCP's has to send, unless that waits for its network.
    pub(crate) fn transmit_subflow(&mut self, now: Time, index: u32, edge: &mut Edge<PacketId>) {
        if !self.holds(index) {
            self.transmit(now, index, edge);
        }
    }

    /// Opens subflows that wait for the first, gives them data, and closes them after the last of it. They wait for its first
    /// DSS (RFC 8684, section 3.1), so that their SYNs do not meet the queue that the initial window fills. As seen on Linux, none
    /// is opened for an application that has written all by then.
    fn feed(&mut self, now: Time, group: usize, edge: &mut Edge<PacketId>) {
        if self.give_all(now, group, edge) {
            self.transmit_clients(now, group, edge);
            self.end_stream(now, group, edge);
        }
    }

    /// The same without sending what was given last. Returns whether the flow is open.
    fn give_all(&mut self, now: Time, group: usize, edge: &mut Edge<PacketId>) -> bool {
        let flows = self.groups[group].flows.clone();
        let first = self.flows.end_if_open(2 * flows[0]);
        let Some(first) = first.filter(|end| end.connection.is_established()) else {
            return false;
        };
        if first.connection.may_be_joined() && self.groups[group].sender.is_writing() {
            for &flow in &flows[1..] {
                if !self.flows.is_open(flow) && !self.flows.is_over(flow) {
                    self.open(flow, now);
                }
            }
        }
        self.follow_network(group);
        self.give(group);
        while self.groups[group].refill() {
            self.transmit_clients(now, group, edge);
            self.give(group);
        }
        true
    }

    /// All subflows send what they were given.
    fn transmit_clients(&mut self, now: Time, group: usize, edge: &mut Edge<PacketId>) {
        for subflow in 0..self.groups[group].flows.len() {
            let client = 2 * self.groups[group].flows[subflow];
            if self.flows.end_if_open(client).is_none() {
                continue;
            }
            if self.groups[group].departed {
                self.transmit(now, client, edge);
            } else {
                self.transmit_as::<Departure>(now, client, edge);
            }
        }
    }

    /// Gives subflows what is in the send buffer, as far as they take it.
    fn give(&mut self, group: usize) {
        while self.groups[group].sender.has_data() {
            let Some((subflow, room)) = self.scheduled(group) else {
                break;
            };
            let client = &mut self
                .flows
                .end(2 * self.groups[group].flows[subflow])
                .connection;
            let takes = |data_seq| room.min(client.takes_mapped(data_seq).into());
            let Some(piece) = self.groups[group].sender.give(takes) else {
                break;
            };
            client.write_mapped(piece.data_seq, piece.len);
            let turn = &mut self.groups[group].turn;
            turn.0 = turn.0.saturating_sub(piece.len.into());
        }
    }

    /// What is not acknowledged when the network changes goes by the subflow of the next, if the plan says so.
    fn follow_network(&mut self, group: usize) {
        let Group {
            plan, flows, tdn, ..
        } = &self.groups[group];
        if !plan.reinject || plan.scheduler != Scheduler::Tdm {
            return;
        }
        let (before, client) = (*tdn, 2 * flows[0]);
        let tdn = self.tdn_of(client);
        if tdn != before {
            let speaks = self.flows.end(client).connection.may_be_joined();
            let group = &mut self.groups[group];
            group.tdn = tdn;
            if speaks {
                group.sender.send_all_again();
            }
        }
    }

    /// Whether a client is the subflow by which data is sent again, at a change or because a subflow is closed. As seen on Linux, what an
    /// ACK lets its own subflow send is chosen before what it says of the stream counts: that may be what this very ACK acknowledges.
    fn sends_again_by(&mut self, group: usize, index: u32) -> bool {
        let subflow = usize::from(self.flows.end(index).subflow);
        let plan = &self.groups[group].plan;
        if plan.reinject && plan.scheduler == Scheduler::Tdm {
            return self.tdn_of(index) == subflow;
        }
        let picked = |world: &mut Self| world.scheduled(group).is_some_and(|(by, _)| by == subflow);
        self.groups[group].sender.repeats() && picked(self)
    }

    /// The TDN from an endpoint's host to its peer's.
    fn tdn_of(&mut self, index: u32) -> usize {
        let end = self.flows.end(index);
        self.tdns
            .of(end.way.host, end.way.envelope.route.dst.rack())
            .into()
    }

    /// The subflow that gets data next, and how much it takes; none if there is no room.
    fn scheduled(&mut self, group: usize) -> Option<(usize, u64)> {
        match self.groups[group].plan.scheduler {
            Scheduler::Tdm => {
                let first = 2 * self.groups[group].flows[0];
                let tdn = self.tdn_of(first);
                let open = |world: &mut Self, subflow: usize| {
                    let flow = *world.groups[group].flows.get(subflow)?;
                    let client = &world.flows.end_if_open(2 * flow)?.connection;
                    let room = (client.room_for_mapped(), client.mapped_mss());
                    client.carries_data().then_some(room)
                };
                let (subflow, (room, mss)) = match open(self, tdn) {
                    Some(room) => (tdn, room),
                    None => (0, open(self, 0)?),
                };
                (room > 0).then_some((subflow, room.max(mss.into())))
            }
            Scheduler::Mainline => self.soonest(group),
        }
    }

    /// As Linux does it: whoever has the turn, then the subflow that would be done first with what waits on it. One that has as much as
    /// its own send buffer holds is left out.
    fn soonest(&mut self, group: usize) -> Option<(usize, u64)> {
        let mut best = None;
        let (left, last) = self.groups[group].turn;
        for subflow in 0..self.groups[group].flows.len() {
            let flow = self.groups[group].flows[subflow];
            let largest = self.groups[group].largest[subflow];
            let Some(client) = self.flows.end_if_open(2 * flow) else {
                continue;
            };
            let connection = &client.connection;
            let most = send_buffer(connection.mapped_mss(), largest);
            if !connection.carries_data() || connection.held_mapped() >= most {
                continue;
            }
            if left > 0 && subflow == last {
                return Some((subflow, left));
            }
            let (queued, path) = (queued(connection), connection.path());
            let cwnd = u64::from(path.window().cwnd);
            let done = u128::from(queued) * u128::from(path.srtt()) / u128::from(cwnd.max(1));
            if best.is_none_or(|(first, _)| done < first) {
                best = Some((done, subflow));
            }
        }
        let (_, subflow) = best?;
        self.groups[group].turn = (TURN, subflow);
        Some((subflow, TURN))
    }

    /// Whether an endpoint of MPTCP's waits for its network before it sends: a server whose ACKs are pinned.
    fn holds(&mut self, index: u32) -> bool {
        let end = self.flows.end(index);
        let (group, subflow) = (end.group as usize, usize::from(end.subflow));
        let established = end.connection.is_established();
        let waits = index & 1 == 1 && established && self.groups[group].pins_acks();
        waits && self.tdn_of(index) != subflow
    }

    /// A host was told of a network: ACKs that waited for it go.
    #[cold]
    pub(crate) fn release_acks(&mut self, now: Time, host: u32, edge: &mut Edge<PacketId>) {
        for nth in 0..self.groups.pinned(host).len() {
            let server = self.groups.pinned(host)[nth];
            if self.flows.is_open(server >> 1) {
                self.transmit_subflow(now, server, edge);
            }
        }
    }
}
