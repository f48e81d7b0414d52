// SPDX-License-Identifier: MIT OR Apache-2.0
//! In-band telemetry: what queues write into data segments, and their receivers echo. It lies beside the packets, which do not grow for it; their
//! lengths on the wire count the option ([`option_len`]). Only in runs in which a flow's congestion control asks for it.
//!
//! An option collects on a segment with payload, and echoes on one without: an end that sends data of its own echoes with its pure ACKs alone.

use etalon_net::Transmission;
use etalon_scenario::{Flow, Scenario, Transport};
use etalon_tcp::cc::{self, CongestionControl};
use etalon_tcp::telemetry::{Hop, option_len};
use etalon_units::Time;

use crate::packet::PacketId;

/// Hops of a list at most: what a segment meets beyond them is not told.
const MOST_HOPS: usize = 8;

/// What a segment carries, or what an end has to echo.
#[derive(Clone, Copy, Debug, Default)]
struct Carried {
    /// It has room for as many hops; 0 if it has no such option, or nothing is to be written there any more.
    room: u8,
    len: u8,
    hops: [Hop; MOST_HOPS],
}

impl Carried {
    fn hops(&self) -> &[Hop] {
        &self.hops[..usize::from(self.len)]
    }
}

/// The telemetry of a run.
#[derive(Debug)]
pub(crate) struct Telemetry {
    /// Hops that an option has room for.
    room: u8,
    tdf: u64,
    /// By packet, by its place in the pool.
    packets: Vec<Carried>,
    /// By end, by its place among those of open flows: what the last data segment brought.
    heard: Vec<Carried>,
}

/// Hops that an option has room for on this plan's network.
fn room(plan: &Scenario) -> u8 {
    let hops = plan.network.kind().telemetry_hops(&plan.hosts);
    hops.clamp(1, MOST_HOPS as u32) as u8
}

/// Bytes that the option takes from each segment's payload.
pub(crate) fn reserved(plan: &Scenario) -> u16 {
    option_len(room(plan).into()) as u16
}

/// The place that is asked for, made if there is none.
fn at(list: &mut Vec<Carried>, index: u32) -> &mut Carried {
    let index = index as usize;
    if index >= list.len() {
        list.resize(index + 1, Carried::default());
    }
    &mut list[index]
}

impl Telemetry {
    pub(crate) fn new(plan: &Scenario) -> Telemetry {
        Telemetry {
            room: room(plan),
            tdf: plan.tdf,
            packets: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// The end at `place` sends a packet with or without payload. Returns the bytes of its option.
    pub(crate) fn send(&mut self, id: PacketId, place: u32, wanted: bool, has_data: bool) -> u32 {
        let carried = at(&mut self.packets, id);
        (carried.room, carried.len) = (0, 0);
        if !wanted {
            return 0;
        }
        if has_data {
            carried.room = self.room;
        } else {
            let heard = at(&mut self.heard, place);
            if heard.len == 0 {
                return 0; // a SYN, or an ACK of one
            }
            *carried = Carried { room: 0, ..*heard };
        }
        option_len(self.room.into())
    }

    /// A packet left a queue.
    #[inline]
    pub(crate) fn stamp(&mut self, now: Time, id: PacketId, from: &Transmission) {
        let Some(carried) = self.packets.get_mut(id as usize) else {
            return;
        };
        if carried.len < carried.room {
            carried.hops[usize::from(carried.len)] = Hop {
                port: u32::from(from.port.at) << 16 | u32::from(from.port.number),
                queue: from.queue,
                sent: from.sent,
                rate: from.rate.as_bps() / self.tdf,
                at: now.0 * self.tdf,
            };
            carried.len += 1;
        }
    }

    /// A packet is with the end at `place`. What it echoes to that, if anything.
    pub(crate) fn receive(&mut self, id: PacketId, place: u32) -> &[Hop] {
        let carried = *at(&mut self.packets, id);
        if carried.room == 0 {
            return self.packets[id as usize].hops();
        }
        *at(&mut self.heard, place) = carried;
        &[]
    }

    /// Another flow has these places.
    pub(crate) fn forget(&mut self, slot: u32) {
        for place in [2 * slot, 2 * slot + 1] {
            at(&mut self.heard, place).len = 0;
        }
    }
}

/// Whether a flow's congestion control asks for telemetry, one of these flows or of those that the plan's applications open.
pub(crate) fn is_wanted(plan: &Scenario, flows: &[Flow]) -> bool {
    let wants = |name: &str| cc::Any::by_name(name, &[]).is_ok_and(|cc| cc.wants_telemetry());
    let wanted = |name: &str, transport: &Transport| match transport {
        Transport::Tdtcp(tdtcp) if !tdtcp.cc.is_empty() => tdtcp.cc.iter().any(|name| wants(name)),
        _ => wants(name),
    };
    let mut asked: Option<&Flow> = None;
    let of_flows = flows.iter().any(|flow| {
        let before = asked.replace(flow);
        let is_new =
            before.is_none_or(|before| before.cc != flow.cc || before.transport != flow.transport);
        is_new && wanted(&flow.cc, &flow.transport)
    });
    of_flows
        || plan.dfsio.iter().any(|job| wanted(&job.cc, &job.transport))
        || plan.jobs.iter().any(|job| wanted(&job.cc, &job.transport))
        || plan
            .generators
            .iter()
            .any(|one| wanted(&one.cc, &one.transport))
}
