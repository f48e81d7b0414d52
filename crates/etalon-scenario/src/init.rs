// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the first process of the Linux engine's kernel reads from its device: numbers as C has them, then texts.
//!
//! An [`InitHead`], an [`InitProgram`] for each program, an [`InitHost`] for each host, the [`InitRoute`]s of each host, and texts
//! that end with a zero byte: key and value of each sysctl, path and value of each file, `NAME=VALUE` for the programs' environment, the folder that
//! programs start in if there is one, and of each program its arguments and its own `NAME=VALUE`. All is native-endian: the machine that writes it
//! reads it.

use alloc::vec::Vec;

use crate::address;
use crate::check::{ScenarioError, ensure};
use crate::layout;
use crate::{HostId, Scenario};

/// What the kernel runs besides the flows.
#[repr(u32)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The plan, up to its duration.
    #[default]
    Run,
    /// The plan and its programs, up to the end of the first program or the plan's duration, whichever comes first.
    Exec,
    /// As [`Mode::Exec`], but the first program has the terminal, and the plan's duration does not end it.
    Shell,
}

/// How much of everything follows, and what all hosts have.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InitHead {
    /// A [`Mode`].
    pub mode: u32,
    /// Largest IP packet in bytes.
    pub mtu: u32,
    /// Number of hosts.
    pub hosts: u32,
    /// Number of programs.
    pub programs: u32,
    /// Number of sysctls of every host's namespace.
    pub sysctls: u32,
    /// Number of files that are written once.
    pub files: u32,
    /// Number of variables.
    pub variables: u32,
    /// Whether programs start in a folder.
    pub folder: u32,
}

layout!(InitHead {
    mode,
    mtu,
    hosts,
    programs,
    sysctls,
    files,
    variables,
    folder,
});

/// A program: what follows its arguments is the next one's.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InitProgram {
    /// When it starts, in virtual ns.
    pub start: u64,
    /// Number of its host among all.
    pub host: u32,
    /// Number of its arguments, itself included.
    pub arguments: u16,
    /// Number of its own variables.
    pub variables: u16,
}

layout!(InitProgram {
    start,
    host,
    arguments,
    variables,
});

/// A host, `r<rack>h<number>`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct InitHost {
    /// Its rack.
    pub rack: u16,
    /// Its number in the rack.
    pub number: u16,
    /// Its IPv4 address.
    pub address: [u8; 4],
    /// Its address on the control network; zeros without one.
    pub control: [u8; 4],
    /// Number of its routes.
    pub routes: u32,
}

layout!(InitHost {
    rack,
    number,
    address,
    control,
    routes,
});

/// A route of a host, and what its TCP takes for the way to there: 0 is the kernel's own.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InitRoute {
    /// The network that it leads to.
    pub net: [u8; 4],
    /// Bits of that network's prefix.
    pub prefix_bits: u32,
    /// Initial congestion window in segments.
    pub initcwnd: u32,
    /// Largest congestion window in segments.
    pub max_cwnd: u32,
    /// Smallest retransmission timeout in ms.
    pub rto_min_ms: u32,
    /// Retransmission timeout in ms before the first sample of the RTT.
    pub rto_init_ms: u32,
}

layout!(InitRoute {
    net,
    prefix_bits,
    initcwnd,
    max_cwnd,
    rto_min_ms,
    rto_init_ms,
});

/// The settings that a scenario has on Linux.
#[derive(Clone, Debug, Default)]
pub struct Init {
    /// What ends the run.
    pub mode: Mode,
    /// Of each rack, the routes of its hosts; racks beyond have none.
    pub routes: Vec<Vec<InitRoute>>,
    /// Keys and values of every host's namespace, such as `net.ipv4.tcp_ecn`.
    pub sysctls: Vec<(Vec<u8>, Vec<u8>)>,
    /// Paths and values of files that are written once.
    pub files: Vec<(Vec<u8>, Vec<u8>)>,
    /// `NAME=VALUE` for programs.
    pub variables: Vec<Vec<u8>>,
    /// The folder that programs start in.
    pub folder: Option<Vec<u8>>,
    /// Whether hosts have a device on the control network.
    pub control: bool,
}

impl Init {
    /// The settings, hosts and programs of `scenario` in bytes.
    ///
    /// # Errors
    /// [`ScenarioError`] if a host has no address, or a text has a zero byte.
    pub fn encode(&self, scenario: &Scenario) -> Result<Vec<u8>, ScenarioError> {
        let mut bytes = Bytes(Vec::new());
        let hosts = || (0..scenario.hosts.count()).map(|index| scenario.hosts.host(index));
        bytes.head(&InitHead {
            mode: self.mode as u32,
            mtu: scenario.hosts.mtu.into(),
            hosts: scenario.hosts.count(),
            programs: scenario.programs.len() as u32,
            sysctls: self.sysctls.len() as u32,
            files: self.files.len() as u32,
            variables: self.variables.len() as u32,
            folder: self.folder.is_some().into(),
        });
        for program in &scenario.programs {
            bytes.program(&InitProgram {
                start: program.start.0,
                host: scenario.hosts.index(program.on()),
                arguments: program.command.len() as u16,
                variables: program.env.len() as u16,
            });
        }
        for host in hosts() {
            bytes.host(&self.host(host)?);
        }
        for route in hosts().flat_map(|host| self.routes(host)) {
            bytes.route(route);
        }
        for (key, value) in self.sysctls.iter().chain(&self.files) {
            bytes.text(key)?;
            bytes.text(value)?;
        }
        for text in self.variables.iter().chain(&self.folder) {
            bytes.text(text)?;
        }
        for text in scenario
            .programs
            .iter()
            .flat_map(|p| p.command.iter().chain(&p.env))
        {
            bytes.text(text.as_bytes())?;
        }
        Ok(bytes.0)
    }

    fn routes(&self, host: HostId) -> &[InitRoute] {
        self.routes
            .get(usize::from(host.rack()))
            .map_or(&[], Vec::as_slice)
    }

    fn host(&self, host: HostId) -> Result<InitHost, ScenarioError> {
        let (rack, number) = (host.rack(), host.number());
        let address = address::ip(rack, number);
        ensure!(
            address.is_some(),
            "there is no address for host r{rack}h{number}"
        );
        let control = address::control_ip(rack, number).filter(|_| self.control);
        ensure!(
            control.is_some() == self.control,
            "there is no address on the control network for host r{rack}h{number}"
        );
        Ok(InitHost {
            rack,
            number,
            address: address.map_or([0; 4], |address| address.octets()),
            control: control.map_or([0; 4], |address| address.octets()),
            routes: self.routes(host).len() as u32,
        })
    }
}

/// Appends structs as C lays them out: their fields in order, without padding.
struct Bytes(Vec<u8>);

impl Bytes {
    fn head(&mut self, head: &InitHead) {
        let InitHead {
            mode,
            mtu,
            hosts,
            programs,
            sysctls,
            files,
            variables,
            folder,
        } = *head;
        for word in [
            mode, mtu, hosts, programs, sysctls, files, variables, folder,
        ] {
            self.0.extend(word.to_ne_bytes());
        }
    }

    fn program(&mut self, program: &InitProgram) {
        self.0.extend(program.start.to_ne_bytes());
        self.0.extend(program.host.to_ne_bytes());
        self.0.extend(program.arguments.to_ne_bytes());
        self.0.extend(program.variables.to_ne_bytes());
    }

    fn host(&mut self, host: &InitHost) {
        self.0.extend(host.rack.to_ne_bytes());
        self.0.extend(host.number.to_ne_bytes());
        self.0.extend(host.address);
        self.0.extend(host.control);
        self.0.extend(host.routes.to_ne_bytes());
    }

    fn route(&mut self, route: &InitRoute) {
        let InitRoute {
            net,
            prefix_bits,
            initcwnd,
            max_cwnd,
            rto_min_ms,
            rto_init_ms,
        } = *route;
        self.0.extend(net);
        for word in [prefix_bits, initcwnd, max_cwnd, rto_min_ms, rto_init_ms] {
            self.0.extend(word.to_ne_bytes());
        }
    }

    fn text(&mut self, text: &[u8]) -> Result<(), ScenarioError> {
        ensure!(
            !text.contains(&0),
            "the text '{}' has a zero byte, which Linux has no room for",
            text.escape_ascii()
        );
        self.0.extend(text);
        self.0.push(0);
        Ok(())
    }
}
