//! What the kernel is started with: the experiment as the driver needs it, and a text for the first process.
//!
//! A setup in bytes: [`MAGIC`], the lengths in bytes of both parts as little-endian 64-bit words, the experiment as
//! little-endian 64-bit words, the text. It is written by the same build that reads it, so it carries no version.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use etalon_schedule::{ControlConfig, Estimator, Pace};
use etalon_switch::{
    CircuitNetwork, Config, Configuration, Marking, Matching, PacketNetwork, Pair, Resize,
    Schedule, VoqConfig,
};
use etalon_units::{Bytes, Rate, Span, Time};

use crate::words::{Reader, Writer};

/// The first bytes of a setup.
pub const MAGIC: &[u8; 8] = b"ETALON1\n";

/// The longest name of a congestion control in bytes: Linux has room for 16, the last of which is zero.
pub const CC_NAME_MAX: usize = 15;

/// The longest name of a scheduler in bytes.
const SCHEDULER_NAME_MAX: usize = 63;

/// An experiment, as far as the kernel's driver and traffic generator know it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Seed of the hosts' jitter.
    pub seed: u64,
    /// Time dilation factor: how many times faster than virtual time the clocks of end hosts run. Positive.
    pub tdf: u64,
    /// Where measurement begins.
    pub warmup: Time,
    /// Where the experiment ends; [`Time::MAX`] for one that does not end by itself.
    pub end: Time,
    /// Number of racks.
    pub racks: u16,
    /// Hosts in each rack.
    pub hosts: u16,
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Every host below TCP.
    pub host: HostSetup,
    /// What lies between hosts.
    pub network: NetworkSetup,
    /// The flows that the kernel makes itself.
    pub flows: Vec<FlowSetup>,
    /// The hosts' TCP.
    pub tcp: TcpSetup,
    /// Packets' bytes to log; none for no bytes.
    pub capture: Option<Capture>,
    /// The experiment ends early, once every flow is over.
    pub end_when_done: bool,
}

/// A host below TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSetup {
    /// Rate of the NIC, positive.
    pub rate: Rate,
    /// Delay between NIC and network.
    pub delay: Span,
    /// Random extra delay, uniform from zero up to this, without reordering.
    pub jitter: Span,
}

/// What lies between hosts.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // there is one
pub enum NetworkSetup {
    /// The hybrid switch.
    Rdcn {
        /// The switch.
        config: Config,
        /// The week; the first one, if others are computed.
        schedule: Schedule,
        /// How weeks are computed from demand; none if all are the same.
        control: Option<ControlConfig>,
        /// Packets without payload go around the switch and take this long.
        bypass: Option<Span>,
    },
    /// Two racks and queues between them.
    Dumbbell {
        /// From rack 0 to rack 1.
        stages: Vec<StageSetup>,
        /// From rack 1 to rack 0.
        back: Vec<StageSetup>,
    },
}

/// A drop-tail queue with its link, and a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSetup {
    /// Rate of the link; none for a pure delay.
    pub rate: Option<Rate>,
    /// Packets that fit, the one in transmission included; none for no bound.
    pub packets: Option<u32>,
    /// Delay behind the link.
    pub delay: Span,
}

/// A flow that the kernel makes itself. Flow `n` has client port 40001 + n on `src` and server port 5001 on `dst`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowSetup {
    /// The sending host: rack times hosts per rack, plus host.
    pub src: u32,
    /// The receiving host.
    pub dst: u32,
    /// The kernel's name of the congestion control, at most [`CC_NAME_MAX`] bytes.
    pub cc: String,
    /// When its client connects, not after the start.
    pub connect: Time,
    /// When it starts: its client has all of its bytes to send from then on.
    pub start: Time,
    /// When it is killed, if ever.
    pub stop: Option<Time>,
    /// Bytes to send; none for a flow without end.
    pub bytes: Option<u64>,
}

/// The hosts' TCP, as far as it is set at sockets rather than by sysctl and routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpSetup {
    /// Whether senders pace.
    pub pacing: bool,
}

/// Which packets' bytes are logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The first instant.
    pub start: Time,
    /// The first instant after it.
    pub end: Time,
    /// Bytes of each packet from its IP header on, at most.
    pub snap: u16,
}

impl Capture {
    /// Whether bytes are logged at `now`.
    #[must_use]
    pub fn has(&self, now: Time) -> bool {
        self.start <= now && now < self.end
    }
}

/// Why bytes are not a setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupError {
    /// They do not begin with [`MAGIC`].
    Magic,
    /// They end too early.
    Short,
    /// They go on after the end.
    Long,
    /// A number is not possible in its place.
    Range,
    /// The schedule is none.
    Schedule,
    /// A name or the text is not UTF-8.
    Text,
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SetupError::Magic => "the setup does not begin as one: it is of another build",
            SetupError::Short => "the setup ends too early",
            SetupError::Long => "the setup goes on after its end",
            SetupError::Range => "a number in the setup is not possible in its place",
            SetupError::Schedule => "the setup's schedule is none",
            SetupError::Text => "a text in the setup is not UTF-8",
        })
    }
}

impl core::error::Error for SetupError {}

impl Setup {
    /// Number of hosts in all racks.
    #[must_use]
    pub fn host_count(&self) -> u32 {
        u32::from(self.racks) * u32::from(self.hosts)
    }

    /// The setup in bytes, with the first process's `text`.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u8> {
        let mut core = Writer::default();
        self.write(&mut core);
        let mut all = Writer::default();
        all.bytes.extend_from_slice(MAGIC);
        all.length(core.bytes.len());
        all.length(text.len());
        all.bytes.extend_from_slice(&core.bytes);
        all.bytes.extend_from_slice(text.as_bytes());
        all.bytes
    }

    /// Reads what [`Setup::encode`] wrote.
    ///
    /// # Errors
    /// [`SetupError`] for anything else.
    pub fn decode(bytes: &[u8]) -> Result<(Setup, &str), SetupError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(SetupError::Magic)?;
        let mut reader = Reader { rest };
        let core_len = reader.narrow::<usize>()?;
        let text_len = reader.narrow::<usize>()?;
        let (core, text) = reader
            .rest
            .split_at_checked(core_len)
            .ok_or(SetupError::Short)?;
        if text.len() < text_len {
            return Err(SetupError::Short);
        }
        let mut core = Reader { rest: core };
        let setup = Setup::read(&mut core)?;
        if !core.rest.is_empty() || text.len() > text_len {
            return Err(SetupError::Long);
        }
        let text = core::str::from_utf8(text).map_err(|_| SetupError::Text)?;
        Ok((setup, text))
    }

    fn write(&self, w: &mut Writer) {
        for word in [self.seed, self.tdf, self.warmup.0, self.end.0] {
            w.word(word);
        }
        for word in [self.racks, self.hosts, self.mtu] {
            w.word(word);
        }
        for word in [self.host.rate.0, self.host.delay.0, self.host.jitter.0] {
            w.word(word);
        }
        self.network.write(w);
        w.length(self.flows.len());
        for flow in &self.flows {
            flow.write(w);
        }
        w.word(self.tcp.pacing);
        w.word(self.capture.is_some());
        if let Some(capture) = &self.capture {
            w.word(capture.start.0);
            w.word(capture.end.0);
            w.word(capture.snap);
        }
        w.word(self.end_when_done);
    }

    fn read(r: &mut Reader<'_>) -> Result<Setup, SetupError> {
        let setup = Setup {
            seed: r.word()?,
            tdf: r.word()?,
            warmup: Time(r.word()?),
            end: Time(r.word()?),
            racks: r.narrow()?,
            hosts: r.narrow()?,
            mtu: r.narrow()?,
            host: HostSetup {
                rate: Rate(r.word()?),
                delay: Span(r.word()?),
                jitter: Span(r.word()?),
            },
            network: NetworkSetup::read(r)?,
            flows: r.list(FlowSetup::read)?,
            tcp: TcpSetup { pacing: r.flag()? },
            capture: match r.flag()? {
                false => None,
                true => Some(Capture {
                    start: Time(r.word()?),
                    end: Time(r.word()?),
                    snap: r.narrow()?,
                }),
            },
            end_when_done: r.flag()?,
        };
        if setup.is_possible() {
            Ok(setup)
        } else {
            Err(SetupError::Range)
        }
    }

    /// What a division or an index relies on. Whether a switch can be made of it, the switch says.
    fn is_possible(&self) -> bool {
        let stages_are_possible = match &self.network {
            NetworkSetup::Rdcn { config, .. } => config.racks == self.racks,
            NetworkSetup::Dumbbell { stages, back } => {
                let rates = || stages.iter().chain(back).map(|stage| stage.rate);
                self.racks == 2
                    && !stages.is_empty()
                    && !back.is_empty()
                    && rates().all(|rate| rate != Some(Rate(0)))
            }
        };
        let hosts = self.host_count();
        stages_are_possible
            && self.tdf > 0
            && hosts > 0
            && self.host.rate > Rate(0)
            && self.warmup < self.end
            && self
                .flows
                .iter()
                .all(|flow| flow.src < hosts && flow.dst < hosts && flow.connect <= flow.start)
    }
}

impl NetworkSetup {
    fn write(&self, w: &mut Writer) {
        match self {
            NetworkSetup::Rdcn {
                config,
                schedule,
                control,
                bypass,
            } => {
                w.word(0u8);
                write_config(config, w);
                write_schedule(schedule, w);
                w.word(control.is_some());
                if let Some(control) = control {
                    write_control(control, w);
                }
                w.option(bypass.map(|span| span.0));
            }
            NetworkSetup::Dumbbell { stages, back } => {
                w.word(1u8);
                for stages in [stages, back] {
                    w.length(stages.len());
                    for stage in stages {
                        w.option(stage.rate.map(|rate| rate.0));
                        w.option(stage.packets);
                        w.word(stage.delay.0);
                    }
                }
            }
        }
    }

    fn read(r: &mut Reader<'_>) -> Result<NetworkSetup, SetupError> {
        let stage = |r: &mut Reader<'_>| {
            Ok(StageSetup {
                rate: r.option()?.map(Rate),
                packets: r.option()?,
                delay: Span(r.word()?),
            })
        };
        match r.word()? {
            0 => Ok(NetworkSetup::Rdcn {
                config: read_config(r)?,
                schedule: read_schedule(r)?,
                control: match r.flag()? {
                    false => None,
                    true => Some(read_control(r)?),
                },
                bypass: r.option()?.map(Span),
            }),
            1 => Ok(NetworkSetup::Dumbbell {
                stages: r.list(stage)?,
                back: r.list(stage)?,
            }),
            _ => Err(SetupError::Range),
        }
    }
}

fn write_config(config: &Config, w: &mut Writer) {
    w.word(config.racks);
    w.word(config.packet.rate.0);
    w.word(config.packet.up_delay.0);
    w.word(config.packet.down_delay.0);
    w.word(config.packet.internal_queue);
    w.word(config.packet.hold_queue);
    w.word(config.circuit.rate.0);
    w.word(config.circuit.delay.0);
    w.word(config.voq.packets);
    w.word(config.voq.resize.is_some());
    if let Some(resize) = config.voq.resize {
        w.word(resize.packets);
        w.word(resize.in_advance.0);
    }
    w.length(config.voq.pairs.len());
    for (pair, packets) in &config.voq.pairs {
        w.word(pair.src);
        w.word(pair.dst);
        w.word(*packets);
    }
    w.word(config.marking.is_some());
    if let Some(marking) = config.marking {
        w.word(marking.threshold);
        w.word(marking.threshold_big);
    }
    w.option(config.ece_in_advance.map(|span| span.0));
}

fn read_config(r: &mut Reader<'_>) -> Result<Config, SetupError> {
    Ok(Config {
        racks: r.narrow()?,
        packet: PacketNetwork {
            rate: Rate(r.word()?),
            up_delay: Span(r.word()?),
            down_delay: Span(r.word()?),
            internal_queue: r.narrow()?,
            hold_queue: r.narrow()?,
        },
        circuit: CircuitNetwork {
            rate: Rate(r.word()?),
            delay: Span(r.word()?),
        },
        voq: VoqConfig {
            packets: r.narrow()?,
            resize: match r.flag()? {
                false => None,
                true => Some(Resize {
                    packets: r.narrow()?,
                    in_advance: Span(r.word()?),
                }),
            },
            pairs: r.list(|r| {
                let pair = Pair {
                    src: r.narrow()?,
                    dst: r.narrow()?,
                };
                Ok((pair, r.narrow()?))
            })?,
        },
        marking: match r.flag()? {
            false => None,
            true => Some(Marking {
                threshold: r.narrow()?,
                threshold_big: r.narrow()?,
            }),
        },
        ece_in_advance: r.option()?.map(Span),
    })
}

fn write_schedule(schedule: &Schedule, w: &mut Writer) {
    w.length(schedule.configurations().len());
    for configuration in schedule.configurations() {
        let racks = configuration.matching.racks();
        w.word(racks);
        for dst in 0..racks {
            // A rack's number fits into 16 bits: one more stands for none.
            let source = configuration.matching.source_of(dst);
            w.word(source.map_or(u64::from(u16::MAX) + 1, u64::from));
        }
        w.word(configuration.day.0);
        w.word(configuration.night.0);
    }
}

fn read_schedule(r: &mut Reader<'_>) -> Result<Schedule, SetupError> {
    let configurations = r.list(|r| {
        let sources = r.list(|r| Ok(u16::try_from(r.word()?).ok()))?;
        Ok(Configuration {
            matching: Matching::new(sources).map_err(|_| SetupError::Schedule)?,
            day: Span(r.word()?),
            night: Span(r.word()?),
        })
    })?;
    Schedule::new(configurations).map_err(|_| SetupError::Schedule)
}

fn write_control(control: &ControlConfig, w: &mut Writer) {
    write_name(&control.scheduler, w);
    let (estimator, report) = match control.estimator {
        Estimator::Voq => (0u8, Span::ZERO),
        Estimator::Adu { report } => (1, report),
        Estimator::Oracle => (2, Span::ZERO),
    };
    w.word(estimator);
    w.word(report.0);
    for span in [control.window, control.min_day, control.night] {
        w.word(span.0);
    }
    w.word(control.circuit.0);
    w.word(control.packet.0);
    w.word(control.threshold.0);
    w.word(control.only_big);
    w.word(control.pace.compute.0);
    w.word(control.pace.interval.0);
}

fn read_control(r: &mut Reader<'_>) -> Result<ControlConfig, SetupError> {
    Ok(ControlConfig {
        scheduler: read_name(r, SCHEDULER_NAME_MAX)?,
        estimator: match (r.word()?, Span(r.word()?)) {
            (0, _) => Estimator::Voq,
            (1, report) => Estimator::Adu { report },
            (2, _) => Estimator::Oracle,
            _ => return Err(SetupError::Range),
        },
        window: Span(r.word()?),
        min_day: Span(r.word()?),
        night: Span(r.word()?),
        circuit: Rate(r.word()?),
        packet: Rate(r.word()?),
        threshold: Bytes(r.word()?),
        only_big: r.flag()?,
        pace: Pace {
            compute: Span(r.word()?),
            interval: Span(r.word()?),
        },
    })
}

impl FlowSetup {
    fn write(&self, w: &mut Writer) {
        w.word(self.src);
        w.word(self.dst);
        write_name(&self.cc, w);
        w.word(self.connect.0);
        w.word(self.start.0);
        w.option(self.stop.map(|time| time.0));
        w.option(self.bytes);
    }

    fn read(r: &mut Reader<'_>) -> Result<FlowSetup, SetupError> {
        Ok(FlowSetup {
            src: r.narrow()?,
            dst: r.narrow()?,
            cc: read_name(r, CC_NAME_MAX)?,
            connect: Time(r.word()?),
            start: Time(r.word()?),
            stop: r.option()?.map(Time),
            bytes: r.option()?,
        })
    }
}

fn write_name(name: &str, w: &mut Writer) {
    w.length(name.len());
    for chunk in name.as_bytes().chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        w.word(u64::from_le_bytes(word));
    }
}

fn read_name(r: &mut Reader<'_>, most: usize) -> Result<String, SetupError> {
    let len = r.narrow::<usize>()?;
    if len > most {
        return Err(SetupError::Range);
    }
    let mut bytes = Vec::new();
    for _ in 0..len.div_ceil(8) {
        bytes.extend_from_slice(&r.word()?.to_le_bytes());
    }
    let name = core::str::from_utf8(&bytes[..len]).map_err(|_| SetupError::Text)?;
    Ok(name.to_string())
}

#[cfg(test)]
mod tests;
