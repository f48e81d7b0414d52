// SPDX-License-Identifier: MIT OR Apache-2.0
//! The write path of HDFS, and the job of the DFSIO benchmark that uses it.
//!
//! A task writes a file block by block. The task's own host keeps the first replica, which costs no network; two hosts of
//! another rack keep the others (Etalon'18, section 6.1), in a pipeline of connections that each block opens anew:
//!
//! ```text
//! writer = first replica ──hop 0──► second replica ──hop 1──► third replica
//!                        ◄─────────                ◄─────────
//! ```
//!
//! On every hop the writing side first sends a request; the last host answers, and the answer goes back hop by hop. Then
//! packets of a block go down the pipeline, each passed on when it has come in whole; when the last host has a packet it
//! sends an acknowledgement, which goes back the same way. The writer sends a bounded number of packets ahead of their
//! acknowledgements, and begins the next block when all of this one are there (Hadoop's `DFSOutputStream`,
//! `dfs.client.write.max-packets-in-flight`). Disks, checksums and the name node take no time: the paper wrote to RAM disks.
//!
//! A rack with one host keeps two replicas only: there is no third host.

use std::ops::Range;

use etalon_measure::results::Write;
use etalon_scenario::{Dfsio, Flow, Placement, Scenario, ScenarioError};
use etalon_units::Time;
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// Random streams of the placements: one for each job from here on.
const STREAM_PLACEMENT: u64 = 2 << 32;

/// Bytes of a request to write a block, roughly those of Hadoop's `OpWriteBlockProto` with a token.
pub(crate) const REQUEST: u64 = 512;
/// Bytes of the answer to a request (`BlockOpResponseProto`).
pub(crate) const ANSWER: u64 = 16;
/// Bytes of the acknowledgement of a packet (`PipelineAckProto` of three replicas).
pub(crate) const ACKNOWLEDGEMENT: u64 = 32;

/// What a connection is in its job: which task's pipeline, and which hop of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    writer: u32,
    hop: u8,
}

/// The network as a job uses it.
pub(crate) trait Network {
    /// Opens a flow and returns its number.
    fn connect(&mut self, now: Time, job: u32, role: Role, flow: Flow) -> u32;

    /// Writes into a stream: number 2n from flow n's client to its server, 2n + 1 back.
    fn write(&mut self, now: Time, stream: u32, bytes: u64);

    /// The client of a flow writes no more.
    fn shutdown(&mut self, now: Time, flow: u32);
}

/// A host: rack and number.
type HostId = (u16, u16);

/// One connection of a pipeline.
#[derive(Clone, Copy, Debug)]
struct Hop {
    flow: u32,
    /// Packets that the receiving host has whole.
    packets: u64,
    /// The receiving host answered the request.
    answered: bool,
    /// Acknowledgements that the receiving host sent.
    acknowledged: u64,
}

/// The block that a task is writing.
#[derive(Clone, Debug)]
struct Block {
    bytes: u64,
    /// The hosts of the second replica and, if there is one, of the third.
    replicas: [Option<HostId>; 2],
    hops: [Option<Hop>; 2],
    /// Packets that the writer sent.
    sent: u64,
}

#[derive(Clone, Debug)]
struct Writer {
    host: HostId,
    /// Bytes in blocks that were acknowledged as a whole.
    written: u64,
    block: Option<Block>,
    end: Option<Time>,
}

/// A job of tasks that each write a file.
#[derive(Debug)]
pub(crate) struct Job {
    number: u32,
    plan: Dfsio,
    racks: u16,
    hosts: u16,
    rng: ChaCha8Rng,
    writers: Vec<Writer>,
    unfinished: usize,
}

impl Job {
    /// Job `number` of an experiment.
    ///
    /// # Errors
    /// [`ScenarioError`] for a network of fewer than two racks.
    pub(crate) fn new(plan: &Scenario, number: u32, job: &Dfsio) -> Result<Job, ScenarioError> {
        let (racks, hosts) = (plan.hosts.racks, plan.hosts.per_rack);
        if racks < 2 || hosts == 0 {
            return Err(ScenarioError(format!(
                "job {number}: replicas need at least two racks with hosts"
            )));
        }
        let mut rng = ChaCha8Rng::seed_from_u64(plan.seed);
        rng.set_stream(STREAM_PLACEMENT + u64::from(number));
        let writer = |index: u32| Writer {
            host: (
                (index % u32::from(racks)) as u16,
                (index / u32::from(racks) % u32::from(hosts)) as u16,
            ),
            written: 0,
            block: None,
            end: None,
        };
        Ok(Job {
            number,
            plan: job.clone(),
            racks,
            hosts,
            rng,
            writers: (0..job.writers).map(writer).collect(),
            unfinished: job.writers as usize,
        })
    }

    /// All tasks begin.
    pub(crate) fn start(&mut self, now: Time, network: &mut impl Network) {
        for writer in 0..self.plan.writers {
            self.begin_block(now, writer, network);
        }
    }

    /// Whether every file is written.
    pub(crate) fn is_done(&self) -> bool {
        self.unfinished == 0
    }

    /// The files, written or not.
    pub(crate) fn writes(&self) -> impl Iterator<Item = Write> + '_ {
        self.writers.iter().zip(0..).map(|(w, writer)| {
            let in_block = w.block.as_ref().map_or(0, |block| {
                let acknowledged = block.hops[0].map_or(0, |hop| hop.acknowledged);
                (acknowledged * self.plan.packet_bytes).min(block.bytes)
            });
            Write {
                job: self.number,
                writer,
                rack: w.host.0,
                host: w.host.1,
                bytes: self.plan.file_bytes,
                written: w.written + in_block,
                start: self.plan.start,
                end: w.end,
            }
        })
    }

    fn begin_block(&mut self, now: Time, writer: u32, network: &mut impl Network) {
        let (host, written) = {
            let w = &self.writers[writer as usize];
            (w.host, w.written)
        };
        let bytes = self.plan.block_bytes.min(self.plan.file_bytes - written);
        self.writers[writer as usize].block = Some(Block {
            bytes,
            replicas: self.place(now, host.0),
            hops: [None; 2],
            sent: 0,
        });
        self.connect(now, writer, 0, network);
    }

    /// The name node's choice of two hosts for the replicas of a block that a task in rack `own` writes.
    fn place(&mut self, now: Time, own: u16) -> [Option<HostId>; 2] {
        let others = u64::from(self.racks - 1);
        let shift = match self.plan.placement {
            Placement::Hdfs => 1 + self.below(others),
            Placement::Rehdfs { rotate: None } => 1,
            Placement::Rehdfs { rotate: Some(each) } => 1 + now.0 / each.0 % others,
        };
        let rack = ((u64::from(own) + shift) % u64::from(self.racks)) as u16;
        let second = self.below(self.hosts.into()) as u16;
        if self.hosts == 1 {
            return [Some((rack, second)), None];
        }
        // Any host but the second replica's.
        let distance = 1 + self.below(u64::from(self.hosts) - 1);
        let third = ((u64::from(second) + distance) % u64::from(self.hosts)) as u16;
        [Some((rack, second)), Some((rack, third))]
    }

    /// A number below `bound`, uniform up to 2^-32.
    fn below(&mut self, bound: u64) -> u64 {
        (u64::from(self.rng.next_u32()) * bound) >> 32
    }

    /// Opens hop `hop` of a writer's pipeline and sends the request.
    fn connect(&mut self, now: Time, writer: u32, hop: u8, network: &mut impl Network) {
        let w = &mut self.writers[writer as usize];
        let Some(block) = w.block.as_mut() else {
            return;
        };
        let from = if hop == 0 {
            Some(w.host)
        } else {
            block.replicas[0]
        };
        let (Some(from), Some(to)) = (from, block.replicas[usize::from(hop)]) else {
            return;
        };
        let flow = Flow {
            src_rack: from.0,
            src_host: from.1,
            dst_rack: to.0,
            dst_host: to.1,
            cc: self.plan.cc.clone(),
            cc_params: self.plan.cc_params.clone(),
            transport: self.plan.transport.clone(),
            start: now,
            bytes: Some(REQUEST + block.bytes),
            class: self.plan.class.clone(),
            ..Flow::default()
        };
        let flow = network.connect(now, self.number, Role { writer, hop }, flow);
        block.hops[usize::from(hop)] = Some(Hop {
            flow,
            packets: 0,
            answered: false,
            acknowledged: 0,
        });
        network.write(now, 2 * flow, REQUEST);
    }

    /// The receiving host of a hop, whose flow has this number, has `total` bytes.
    pub(crate) fn data_received(
        &mut self,
        now: Time,
        (role, flow): (Role, u32),
        total: u64,
        network: &mut impl Network,
    ) {
        let packet = self.plan.packet_bytes;
        let next = usize::from(role.hop) + 1;
        let Some(block) = self.block_of(role, flow) else {
            return;
        };
        if total < REQUEST {
            return;
        }
        if block.replicas.get(next).is_some_and(Option::is_some) {
            match block.hops[next] {
                None => self.connect(now, role.writer, next as u8, network),
                Some(onward) => {
                    let bytes = block.bytes;
                    for number in block.take_in(role.hop, total - REQUEST, packet) {
                        let length = packet_length(number, packet, bytes);
                        network.write(now, 2 * onward.flow, length);
                    }
                }
            }
            return;
        }
        let new = block.take_in(role.hop, total - REQUEST, packet);
        block.answer(now, role.hop, new.end, network);
    }

    /// The sending host of a hop, whose flow has this number, has `total` bytes of answer and acknowledgements.
    pub(crate) fn answer_received(
        &mut self,
        now: Time,
        (role, flow): (Role, u32),
        total: u64,
        network: &mut impl Network,
    ) {
        let (packet, window) = (self.plan.packet_bytes, self.plan.window_packets);
        let Some(block) = self.block_of(role, flow) else {
            return;
        };
        if total < ANSWER {
            return;
        }
        let acknowledged = (total - ANSWER) / ACKNOWLEDGEMENT;
        if role.hop > 0 {
            block.answer(now, role.hop - 1, acknowledged, network);
            return;
        }
        let packets = block.bytes.div_ceil(packet);
        if acknowledged == packets {
            self.end_block(now, role.writer, network);
            return;
        }
        while block.sent < packets.min(acknowledged + u64::from(window)) {
            let length = packet_length(block.sent, packet, block.bytes);
            block.sent += 1;
            network.write(now, 2 * flow, length);
        }
    }

    /// The block that a flow belongs to, unless it is finished: copies of its last packets may still come in.
    fn block_of(&mut self, role: Role, flow: u32) -> Option<&mut Block> {
        let block = self.writers[role.writer as usize].block.as_mut()?;
        let hop = block.hops[usize::from(role.hop)]?;
        (hop.flow == flow).then_some(block)
    }

    fn end_block(&mut self, now: Time, writer: u32, network: &mut impl Network) {
        let w = &mut self.writers[writer as usize];
        let Some(block) = w.block.take() else {
            return;
        };
        for hop in block.hops.iter().flatten() {
            network.shutdown(now, hop.flow);
        }
        w.written += block.bytes;
        if w.written == self.plan.file_bytes {
            w.end = Some(now);
            self.unfinished -= 1;
        } else {
            self.begin_block(now, writer, network);
        }
    }
}

impl Block {
    /// The receiving host of a hop has `total` bytes of the block. Returns the numbers of the packets that are whole since.
    fn take_in(&mut self, hop: u8, total: u64, packet: u64) -> Range<u64> {
        let Some(hop) = self.hops[usize::from(hop)].as_mut() else {
            return 0..0;
        };
        let before = hop.packets;
        hop.packets = if total >= self.bytes {
            self.bytes.div_ceil(packet)
        } else {
            total / packet
        };
        before..hop.packets
    }

    /// The receiving host of a hop answers the request, if it has not, and acknowledges packets up to `acknowledged`.
    fn answer(&mut self, now: Time, hop: u8, acknowledged: u64, network: &mut impl Network) {
        let Some(hop) = self.hops[usize::from(hop)].as_mut() else {
            return;
        };
        let stream = 2 * hop.flow + 1;
        if !hop.answered {
            hop.answered = true;
            network.write(now, stream, ANSWER);
        }
        for _ in hop.acknowledged..acknowledged {
            network.write(now, stream, ACKNOWLEDGEMENT);
        }
        hop.acknowledged = acknowledged;
    }
}

/// Length of packet `number` of a block.
fn packet_length(number: u64, packet: u64, block: u64) -> u64 {
    packet.min(block - number * packet)
}

#[cfg(test)]
mod tests;
