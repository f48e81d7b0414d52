// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows that TCP does not carry, among those that are open.

use etalon_scenario::{Scenario, Transport};
use etalon_transports::ndp::{Header, Turn};

use super::Flows;
use crate::carrier::Carrier;

impl<'a> Flows<'a> {
    /// What carries a flow that has come.
    pub(crate) fn transport(&self, flow: u32) -> &Transport {
        if let Some(streamed) = &self.streamed {
            if let Some(expected) = streamed.expected.as_ref().filter(|e| e.number == flow) {
                return &expected.flow.transport;
            }
            if !self.is_open(flow) {
                return &Transport::Tcp; // it is over, and all are over alike
            }
        }
        &self.plan(flow).transport
    }

    /// The plan.
    pub(crate) fn scenario(&self) -> &'a Scenario {
        self.plan
    }

    /// A flow begins that TCP does not carry.
    pub(crate) fn open_slot(&mut self, flow: u32) {
        let slot = self.new_slot();
        self.places[flow as usize] = slot;
        if self.carriers.len() <= slot as usize {
            self.carriers.resize_with(slot as usize + 1, || None);
        }
    }

    fn place_of_carrier(&mut self, flow: u32) -> Option<&mut Option<Carrier>> {
        let slot = self.places[flow as usize] as usize;
        self.carriers.get_mut(slot)
    }

    /// The ends of a flow, if it is open.
    pub(crate) fn carrier(&mut self, flow: u32) -> Option<&mut Carrier> {
        self.place_of_carrier(flow)?.as_mut()
    }

    /// Takes them out, until they are put back.
    pub(crate) fn take_carrier(&mut self, flow: u32) -> Option<Carrier> {
        self.place_of_carrier(flow)?.take()
    }

    /// Gives it its ends, or these back.
    pub(crate) fn put_carrier(&mut self, flow: u32, carrier: Carrier) {
        if let Some(place) = self.place_of_carrier(flow) {
            *place = Some(carrier);
        }
    }

    /// Payload of its full packets, in bytes.
    pub(crate) fn payload(&mut self, flow: u32) -> u64 {
        let carrier = self.carrier(flow).and_then(Carrier::ndp);
        carrier.map_or(0, |carrier| carrier.config.payload.into())
    }

    /// A flow's turn at its host's puller.
    pub(crate) fn turn(&mut self, flow: u32) -> Turn<Header> {
        let carrier = self.carrier(flow).and_then(Carrier::ndp);
        carrier.map_or(Turn::Leaves, |carrier| carrier.receiver.on_turn())
    }

    /// Gives up the ends of a flow in which nothing can happen any more.
    pub(crate) fn close_carrier_if_over(&mut self, flow: u32) {
        if !self.carrier(flow).is_some_and(|carrier| carrier.is_over()) {
            return;
        }
        if let Some(carrier) = self.take_carrier(flow) {
            self.leave_slot(flow, carrier.facts());
        }
    }
}
