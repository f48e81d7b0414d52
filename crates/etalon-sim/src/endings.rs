// SPDX-License-Identifier: MIT OR Apache-2.0
//! How a flow that MPTCP carries ends, as seen on Linux: the application shuts down once it has written all. As soon as subflows were given that,
//! DATA_FIN goes out on each of them, whatever they have yet to send. The other end's application reads up to there and closes too. Each subflow
//! then ends as a TCP connection does.

use etalon_net::Edge;
use etalon_tcp::ConnectionState;
use etalon_units::Time;

use crate::groups::Ending;
use crate::packet::PacketId;
use crate::tap::Tap;
use crate::world::World;

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl<T: Tap> World<'_, '_, T> {
    /// If subflows were given all that a stream has, they tell its end.
    pub(crate) fn end_stream(&mut self, now: Time, group: usize, edge: &mut Edge<PacketId>) {
        let is_over = self.groups[group].ending[CLIENT] == Ending::Over;
        if is_over || !self.groups[group].ends || !self.groups[group].sender.is_given() {
            return;
        }
        let first = 2 * self.groups[group].flows[0];
        let speaks = self.flows.end(first).connection.maps_data();
        let end = self.groups[group].sender.end();
        match self.groups[group].ending[CLIENT] {
            Ending::None if speaks => {
                self.groups[group].ending[CLIENT] = Ending::Said;
                self.tell_end(now, group, CLIENT, end, edge);
            }
            // Both ends fell back: FIN follows what was written.
            _ if !speaks => self.shut_subflows(now, group, CLIENT, edge),
            _ => {}
        }
    }

    /// A client has heard something: perhaps that the server has ended its stream, too.
    pub(crate) fn end_as_client(
        &mut self,
        now: Time,
        group: usize,
        index: u32,
        edge: &mut Edge<PacketId>,
    ) {
        let Some(end) = self.flows.end_if_open(index) else {
            return;
        };
        let both = end.connection.end_is_acked() && end.connection.end_heard().is_some();
        if !both || self.groups[group].ending[CLIENT] != Ending::Said {
            return;
        }
        for client in self.ends_of(group, CLIENT) {
            // The server sends nothing, so its DATA_FIN is the first byte.
            self.flows.end(client).connection.set_data_ack(1, 0);
        }
        self.shut_subflows(now, group, CLIENT, edge);
        self.acknowledge_all(now, group, CLIENT, edge);
    }

    /// A server has heard something: perhaps the end of the stream, or that its own is known.
    pub(crate) fn end_as_server(
        &mut self,
        now: Time,
        group: usize,
        index: u32,
        edge: &mut Edge<PacketId>,
    ) {
        let connection = &self.flows.end(index).connection;
        if let Some(end) = connection.end_heard() {
            self.groups[group].receiver.ends_at(end);
        }
        let knows = connection.end_is_acked();
        let closed = connection.state() == ConnectionState::CloseWait && !connection.maps_data();
        match self.groups[group].ending[SERVER] {
            Ending::None if self.groups[group].receiver.has_ended() => {
                self.groups[group].ending[SERVER] = Ending::Said;
                if connection.acks_before_reading() {
                    // What acknowledges the last data goes before the application has read it.
                    self.transmit_subflow(now, index, edge);
                }
                let data_ack = self.data_ack(group);
                for server in self.ends_of(group, SERVER) {
                    self.flows.end(server).connection.set_data_ack(data_ack, 0);
                }
                self.acknowledge_all(now, group, SERVER, edge);
                self.tell_end(now, group, SERVER, 0, edge);
            }
            Ending::Said if knows => self.shut_subflows(now, group, SERVER, edge),
            Ending::None if closed => self.shut_subflows(now, group, SERVER, edge),
            _ => {}
        }
    }

    /// What servers acknowledge: what has arrived, and DATA_FIN once they have taken note of it.
    pub(crate) fn data_ack(&self, group: usize) -> u64 {
        let group = &self.groups[group];
        group.receiver.received() + u64::from(group.ending[SERVER] != Ending::None)
    }

    /// The endpoints of a group's subflows at one end that are established.
    fn ends_of(&mut self, group: usize, side: usize) -> Vec<u32> {
        let flows = self.groups[group].flows.clone();
        let ends = flows.iter().map(|flow| 2 * flow + side as u32);
        ends.filter(|&index| {
            let end = self.flows.end_if_open(index);
            end.is_some_and(|end| end.connection.is_established())
        })
        .collect()
    }

    /// DATA_FIN goes out on every subflow.
    fn tell_end(
        &mut self,
        now: Time,
        group: usize,
        side: usize,
        place: u64,
        edge: &mut Edge<PacketId>,
    ) {
        for index in self.ends_of(group, side) {
            self.flows.end(index).connection.end_stream(place);
            self.transmit_subflow(now, index, edge);
        }
    }

    /// All subflows acknowledge what has come of the stream.
    fn acknowledge_all(&mut self, now: Time, group: usize, side: usize, edge: &mut Edge<PacketId>) {
        for index in self.ends_of(group, side) {
            self.flows.end(index).connection.acknowledge_stream();
            self.transmit_subflow(now, index, edge);
        }
    }

    /// FIN goes out on every subflow.
    fn shut_subflows(&mut self, now: Time, group: usize, side: usize, edge: &mut Edge<PacketId>) {
        self.groups[group].ending[side] = Ending::Over;
        for index in self.ends_of(group, side) {
            let connection = &mut self.flows.end(index).connection;
            connection.end_was_acked();
            connection.shutdown();
            self.transmit_subflow(now, index, edge);
        }
    }
}
