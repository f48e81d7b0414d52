// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that TCP does not carry, as they go: what is done when they start, when packets come, and when time has come.

use etalon_net::{Arrival, Edge, Environment};
use etalon_scenario::Completes;
use etalon_switch::{DropReason, Plane};
use etalon_transports::ndp::{Header, Kind};
use etalon_units::Time;

use crate::carrier::{Carrier, NdpFlow};
use crate::hosts::{Priority, arm};
use crate::packet::PacketId;
use crate::parcels::{Body, is_parcel};
use crate::queue::Wake;
use crate::tap::Tap;
use crate::world::World;

impl<T: Tap> World<'_, '_, T> {
    /// Whether a flow is one of these.
    pub(crate) fn is_carried(&self, flow: u32) -> bool {
        self.hosts.is_some() && !self.flows.transport(flow).is_tcp()
    }

    /// Does what is due in one of these, or at a host.
    pub(crate) fn wake_carried(&mut self, now: Time, wake: Wake, edge: &mut Edge<PacketId>) {
        match wake {
            Wake::Nic(host) => {
                let hosts = self.hosts.as_mut();
                if hosts.is_some_and(|hosts| hosts.serve(now, host, &mut self.queue, edge)) {
                    self.serve_bulk(now, host, edge);
                }
            }
            Wake::Carrier(flow) => self.carrier_timer(now, flow, edge),
            Wake::Pull(host) => self.pull(now, host, edge),
            Wake::PullOfFlow(flow) => self.pull_of_flow(now, flow, edge),
            _ => {}
        }
    }

    /// A flow starts.
    #[cold]
    pub(crate) fn start_carried(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        if self.flows.is_open(flow) || self.flows.is_over(flow) {
            return;
        }
        self.close_ended(now);
        self.flows.open_slot(flow);
        if self.streamed.is_some() {
            let row = self.flows.row(flow);
            self.meter.open(row, self.flows.plan(flow));
        }
        let plan = self.flows.scenario();
        let planned = self.flows.plan(flow);
        let carrier = self
            .hosts
            .as_mut()
            .and_then(|hosts| hosts.open(planned, plan));
        if let Some(carrier) = carrier {
            self.flows.put_carrier(flow, carrier);
        }
        self.write_bulk(flow);
        self.send_carried(now, flow, edge);
    }

    /// A flow is killed.
    #[cold]
    pub(crate) fn stop_carried(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        if self.is_gone(now, flow, edge) {
            return;
        }
        if !self.flows.is_open(flow) && !self.flows.is_over(flow) {
            // It starts, to be over at once: what is known of it is known of all.
            self.start_carried(now, flow, edge);
        }
        if self.meter.kill(self.flows.row(flow)) {
            self.finish_flow(now, edge);
        }
        match self.flows.carrier(flow) {
            Some(Carrier::Ndp(carrier)) => carrier.is_killed = true,
            Some(Carrier::Bulk(_)) => self.give_up_bulk(flow),
            None => {}
        }
        self.flows.close_carrier_if_over(flow);
    }

    /// Does something with an open flow of NDP and its hosts.
    fn with<R>(&mut self, flow: u32, work: impl FnOnce(&mut Self, &mut NdpFlow) -> R) -> Option<R> {
        let mut carrier = self.flows.take_carrier(flow)?;
        let done = carrier.ndp().map(|ndp| work(self, ndp));
        self.flows.put_carrier(flow, carrier);
        done
    }

    /// Sends what a flow's sender has to send, and sets its timer.
    fn send_carried(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        self.with(flow, |world, carrier| {
            let Some(hosts) = &mut world.hosts else {
                return;
            };
            let config = carrier.config;
            while !carrier.is_killed {
                let again = carrier.sender.resends();
                let Some(packet) = carrier.sender.poll(now.0, &config) else {
                    break;
                };
                let priority = match carrier.sender.resends() > again {
                    true => Priority::Again,
                    false => Priority::New,
                };
                let outside = (&mut world.queue, &mut *edge);
                hosts.send(now, (flow, carrier), (packet, priority), outside);
            }
            let timer = carrier.sender.next_timer(&config);
            if timer < carrier.armed && !carrier.is_killed {
                carrier.armed = timer;
                let time = Time(timer.max(now.0));
                world.queue.push(time, Wake::Carrier(flow));
            }
        });
        self.flows.close_carrier_if_over(flow);
    }

    /// A sender's timer has come.
    #[cold]
    fn carrier_timer(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        self.with(flow, |_, carrier| {
            carrier.armed = u64::MAX;
            let config = carrier.config;
            carrier.sender.on_timer(now.0, &config);
        });
        self.send_carried(now, flow, edge);
    }

    /// The next pull of a host is due.
    fn pull(&mut self, now: Time, host: u32, edge: &mut Edge<PacketId>) {
        let Some(hosts) = &mut self.hosts else { return };
        let mut puller = hosts.take_puller(host);
        let flows = &mut self.flows;
        let pull = puller.take(now.0, |flow| flows.turn(flow));
        if let Some(hosts) = &mut self.hosts {
            hosts.put_back(host, puller, &mut self.queue);
        }
        if let Some((flow, pull)) = pull {
            self.reply(now, flow, pull, edge);
        }
    }

    /// The next pull of a flow with a pacer of its own is due.
    fn pull_of_flow(&mut self, now: Time, flow: u32, edge: &mut Edge<PacketId>) {
        let pull = self.with(flow, |world, carrier| {
            carrier.pull_armed = u64::MAX;
            let puller = carrier.puller.as_mut()?;
            let receiver = &mut carrier.receiver;
            let pull = puller.take(now.0, |_| receiver.on_turn());
            let wake = Wake::PullOfFlow(flow);
            arm(puller, &mut carrier.pull_armed, wake, &mut world.queue);
            pull
        });
        if let Some(Some((_, pull))) = pull {
            self.reply(now, flow, pull, edge);
        }
    }

    /// A flow's receiver sends.
    fn reply(&mut self, now: Time, flow: u32, packet: Header, edge: &mut Edge<PacketId>) {
        self.with(flow, |world, carrier| {
            if let Some(hosts) = &mut world.hosts {
                let outside = (&mut world.queue, edge);
                let packet = (packet, Priority::Control);
                hosts.send(now, (flow, carrier), packet, outside);
            }
        });
    }

    /// What the network needs to know of a packet that enters it.
    #[inline(never)]
    pub(crate) fn entering_carried(&self, handle: PacketId) -> Arrival<PacketId> {
        match &self.hosts {
            Some(hosts) => hosts.parcels.entering(handle),
            None => unreachable!("a packet of hosts that there are not"),
        }
    }

    /// A packet that is not TCP's, or no whole one, is at its host.
    #[inline(never)]
    pub(crate) fn deliver_otherwise(
        &mut self,
        now: Time,
        handle: PacketId,
        (plane, trimmed): (Plane, bool),
        edge: &mut Edge<PacketId>,
    ) {
        if is_parcel(handle) {
            self.deliver_carried(now, handle, (plane, trimmed), edge);
        } else {
            // To TCP a header alone is a loss.
            self.discard(now, handle, DropReason::Full, edge);
        }
    }

    /// A packet is at its host.
    fn deliver_carried(
        &mut self,
        now: Time,
        handle: PacketId,
        (plane, trimmed): (Plane, bool),
        edge: &mut Edge<PacketId>,
    ) {
        let Some(hosts) = &mut self.hosts else { return };
        let parcel = hosts.parcels.remove(handle);
        let (flow, packet) = match parcel.body {
            Body::Ndp(packet) => (parcel.flow, packet),
            Body::Bulk(seq) => return self.deliver_bulk(now, &parcel, (seq, trimmed), plane, edge),
        };
        if packet.is_data() {
            let row = self.flows.row(flow);
            if !trimmed && self.meter.is_carried(parcel.route.pair()) {
                let end = u64::from(packet.seq) * self.flows.payload(flow) + u64::from(packet.len);
                let payload = packet.len.into();
                self.meter.data_left(now, row, payload, end as u32, plane);
            }
            let answer = self.with(flow, |world, carrier| {
                carrier.under_way -= 1;
                if carrier.is_killed {
                    return None;
                }
                let hosts = world.hosts.as_mut()?;
                let came = (&packet, trimmed);
                let answer = hosts.answer(now, (flow, carrier), came, &mut world.queue);
                let received = carrier.receiver.bytes();
                if carrier.kind.completes == Completes::Received
                    && world.meter.received(now, row, received)
                {
                    world.finish_flow(now, edge);
                }
                Some(answer)
            });
            match answer.flatten() {
                Some(answer) => self.reply(now, flow, answer, edge),
                None => self.flows.close_carrier_if_over(flow),
            }
            return;
        }
        self.with(flow, |world, carrier| {
            carrier.under_way -= 1;
            let config = carrier.config;
            carrier.sender.on_answer(now.0, &packet, &config);
            if carrier.kind.completes == Completes::Acked && carrier.sender.is_done() {
                let (row, received) = (world.flows.row(flow), carrier.receiver.bytes());
                if !carrier.is_killed && world.meter.received(now, row, received) {
                    world.finish_flow(now, edge);
                }
            }
        });
        self.send_carried(now, flow, edge);
    }

    /// A packet is no more.
    #[cold]
    pub(crate) fn discard_carried(&mut self, handle: PacketId) {
        let Some(hosts) = &mut self.hosts else { return };
        let parcel = hosts.parcels.remove(handle);
        let flow = parcel.flow;
        if let Body::Bulk(seq) = parcel.body {
            // As if a NACK had come.
            return self.take_back_bulk(&parcel, seq);
        }
        self.with(flow, |_, carrier| carrier.under_way -= 1);
        self.flows.close_carrier_if_over(flow);
    }

    /// The network returns a packet to its sender.
    #[cold]
    pub(crate) fn take_back_carried(
        &mut self,
        now: Time,
        handle: PacketId,
        edge: &mut Edge<PacketId>,
    ) {
        let Some(hosts) = &mut self.hosts else { return };
        let parcel = hosts.parcels.remove(handle);
        let packet = match parcel.body {
            Body::Ndp(packet) => packet,
            Body::Bulk(seq) => return self.take_back_bulk(&parcel, seq),
        };
        self.with(parcel.flow, |_, carrier| {
            carrier.under_way -= 1;
            if packet.kind == Kind::Data {
                carrier.sender.on_return(now.0, packet.seq);
            }
        });
        self.send_carried(now, parcel.flow, edge);
    }
}
