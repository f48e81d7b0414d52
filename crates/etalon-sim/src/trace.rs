// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces: an experiment runs again, and what happens in a part of it is written down.

use etalon_measure::results::Table;
use etalon_measure::{
    Capture, Control, HEADERS, IpPacket, Recorder, Results, TraceError, TraceRequest,
};
use etalon_scenario::{Flow, HostId, SERVER_PORT, Scenario, subflow_port};
use etalon_switch::DropReason;
use etalon_units::Time;

use crate::engine::run_tapped;
use crate::frame::{Frame, TOR, encode_notification};
use crate::mptcp_options::Secrets;
use crate::packet::Packet;
use crate::plugins::Plugins;
use crate::tap::Tap;

/// Runs `plan` up to the trace's end; returns its results up to there, and the events of the traced part.
///
/// # Errors
/// [`TraceError`] for a bad plan and for a capture that cannot be written.
pub fn trace(
    plan: &Scenario,
    control: &Control,
    request: &TraceRequest,
) -> Result<(Results, Table), TraceError> {
    trace_with(plan, control, Plugins::default(), request)
}

/// As [`trace`], with what the user lends.
///
/// # Errors
/// As [`trace`], and if what is lent fails.
pub fn trace_with(
    plan: &Scenario,
    control: &Control,
    plugins: Plugins,
    request: &TraceRequest,
) -> Result<(Results, Table), TraceError> {
    let plan = request.shorten(plan);
    let window = request.window();
    let capture = match &request.pcapng {
        None => None,
        Some(path) => {
            Some(Capture::create(path, plan.hosts.racks, window, HEADERS).map_err(TraceError::Io)?)
        }
    };
    let planned = plan.flows.iter().enumerate();
    // MPTCP's further subflows come after the plan's flows.
    let joined = planned.clone().flat_map(|(index, flow)| {
        (1..flow.transport.subflows()).map(move |subflow| Written::new(index, subflow, flow))
    });
    let flows: Vec<Written> = planned
        .clone()
        .map(|(index, flow)| Written::new(index, 0, flow))
        .chain(joined)
        .collect();
    let tap = Headers {
        ids: vec![0; flows.len() * 2],
        flows,
        capture,
        data: Vec::with_capacity(HEADERS as usize),
    };
    let recorder = |metrics| Recorder::new(&plan, metrics, window);
    let (results, (tap, recorder)) =
        run_tapped(&plan, control, plugins, tap, recorder).map_err(TraceError::Plan)?;
    if let Some(capture) = tap.capture {
        capture.finish().map_err(TraceError::Io)?;
    }
    Ok((results, recorder.into_table()))
}

/// What is written of a flow, or of a subflow.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// Rack and host of both ends.
    ends: [(u16, u16); 2],
    /// The client's port.
    port: u16,
    /// The flow's number, and the subflow's.
    flow: usize,
    subflow: u8,
}

impl Written {
    fn new(flow: usize, subflow: u8, plan: &Flow) -> Written {
        Written {
            ends: [
                (plan.src_rack, plan.src_host),
                (plan.dst_rack, plan.dst_host),
            ],
            port: subflow_port(flow, subflow),
            flow,
            subflow,
        }
    }
}

/// Writes the headers of packets into a capture.
struct Headers {
    flows: Vec<Written>,
    /// Next IP identification of each endpoint.
    ids: Vec<u16>,
    capture: Option<Capture>,
    /// Headers of the packet that is being written.
    data: Vec<u8>,
}

impl Headers {
    /// Gives `packet` to the capture in the way of `write`.
    fn write(
        &mut self,
        now: Time,
        packet: &Packet,
        write: impl FnOnce(&mut Capture, &IpPacket<'_>),
    ) {
        let Some(capture) = self.capture.as_mut().filter(|c| c.wants(now)) else {
            return;
        };
        let flow = self.flows[(packet.envelope.to >> 1) as usize];
        let to_server = (packet.envelope.to & 1) as usize;
        let ports = [flow.port, SERVER_PORT];
        let (src, dst) = (flow.ends[1 - to_server], flow.ends[to_server]);
        let frame = Frame {
            src,
            dst,
            ports: (ports[1 - to_server], ports[to_server]),
            secrets: Secrets::new(flow.flow, flow.subflow, to_server == 1),
            packet,
        };
        match frame.encode(&mut self.data) {
            Ok(len) => {
                let bytes = &self.data;
                write(
                    capture,
                    &IpPacket {
                        src,
                        dst,
                        bytes,
                        len,
                    },
                );
            }
            Err(e) => capture.fail(e),
        }
    }
}

impl Tap for Headers {
    const EXTRAS: bool = true;

    fn opened(&mut self, flow: &Flow, subflow: u8) {
        let number = self.flows.len() - usize::from(subflow);
        self.flows.push(Written::new(number, subflow, flow));
        self.ids.extend([0, 0]);
    }

    fn entered(&mut self, now: Time, packet: &mut Packet) {
        let counter = &mut self.ids[(packet.envelope.to ^ 1) as usize];
        *counter = counter.wrapping_add(1);
        packet.envelope.ip_id = *counter;
        self.write(now, packet, |capture, bytes| capture.entered(now, bytes));
    }

    fn left(&mut self, now: Time, packet: &Packet) {
        self.write(now, packet, |capture, bytes| capture.left(now, bytes));
    }

    fn notified(&mut self, now: Time, host: HostId, about: u16, tdn: u8) {
        let Some(capture) = self.capture.as_mut().filter(|c| c.wants(now)) else {
            return;
        };
        let dst = (host.rack(), host.number());
        match encode_notification(dst, about, tdn, &mut self.data) {
            Ok(len) => {
                let (src, bytes) = ((host.rack(), TOR), &self.data[..]);
                let packet = IpPacket {
                    src,
                    dst,
                    bytes,
                    len,
                };
                capture.left(now, &packet);
            }
            Err(e) => capture.fail(e),
        }
    }

    fn lost(&mut self, now: Time, packet: &Packet, reason: DropReason) {
        self.write(now, packet, |capture, bytes| {
            capture.lost(now, bytes, reason);
        });
    }
}
