// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;

use lexopt::prelude::*;

use crate::client::Settings;
use crate::document::Limits;
use crate::kernel;
use crate::link::{Address, TlsFiles};
use crate::netlink::route::Control;
use crate::prefix::Prefix;

/// What `--help` prints.
pub const HELP: &str = "\
etalon-otcp-agent: applies the TCP parameters that an OTCP controller computes to this host

usage: etalon-otcp-agent --controller https://NAME[:PORT] --ca FILE [--token FILE] [options]
       etalon-otcp-agent --check
       etalon-otcp-agent --dry-run (--controller URL ... | --document FILE)

what it does
  --check            say what this kernel can, and change nothing
  --dry-run          say what would be changed and why, and change nothing
  --document FILE    for --dry-run: a document of the controller's in a file

the controller
  --controller URL   https://NAME[:PORT]; http:// on this host only
  --host NAME        this host's name there (default: the hostname)
  --token FILE       the file with this host's token
  --ca FILE          certificate of the controller's authority, PEM
  --cert FILE        certificate of this host, PEM, if the controller wants one
  --key FILE         its private key, PEM
  --plain-http       http:// beyond this host: for closed networks of laboratories

this host
  --allow PREFIX     destinations that may be touched; may be given several times
                     (default: 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16, fc00::/7)
  --least-rto-min MS, --most-rto-init MS, --most-cwnd SEGMENTS, --most-initial-cwnd SEGMENTS
                     bounds of this host's own: a document with other values is refused
  --congestion-control NAME
                     for new connections to the controller's destinations, by route, such as dctcp
  --cgroup FOLDER    processes whose connections get RTOinit and windows (default: all)
  --no-bpf           routes only
  --run FOLDER       where the agent remembers what it has changed (default: /run/etalon-otcp-agent)
  --metrics FILE     metrics for Prometheus, written every few seconds

docs/otcp-agent.md says more.
";

const PRIVATE: [&str; 4] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"];

/// What the program is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// Follow the controller.
    #[default]
    Run,
    /// Say what this kernel can.
    Check,
    /// Say what would be changed.
    DryRun,
    /// Print the help.
    Help,
    /// Print the version.
    Version,
}

/// The command line, checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to do.
    pub task: Task,
    /// How to reach the controller; always there for [`Task::Run`].
    pub controller: Option<Settings>,
    /// This host's name.
    pub host: String,
    /// A document instead of the controller's.
    pub document: Option<PathBuf>,
    /// What this host lets itself be told.
    pub limits: Limits,
    /// The congestion control towards destinations.
    pub control: Option<Control>,
    /// The cgroup; None for the root of all.
    pub cgroup: Option<PathBuf>,
    /// False if BPF is not wanted.
    pub bpf: bool,
    /// Where state is kept.
    pub run: PathBuf,
    /// Where metrics are written.
    pub metrics: Option<PathBuf>,
}

#[derive(Default)]
struct Given {
    task: Task,
    controller: Option<Address>,
    host: Option<String>,
    document: Option<PathBuf>,
    token: Option<PathBuf>,
    tls: TlsFiles,
    plain_http: bool,
    allowed: Vec<Prefix>,
    least_rto_min: Option<u32>,
    most_rto_init: Option<u32>,
    most_cwnd: Option<u32>,
    most_initial_cwnd: Option<u32>,
    control: Option<Control>,
    cgroup: Option<PathBuf>,
    no_bpf: bool,
    run: Option<PathBuf>,
    metrics: Option<PathBuf>,
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Given, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut given = Given::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("help") | Short('h') => given.task = Task::Help,
            Long("version") => given.task = Task::Version,
            Long("check") => given.task = Task::Check,
            Long("dry-run") => given.task = Task::DryRun,
            Long("document") => given.document = Some(parser.value()?.into()),
            Long("controller") => given.controller = Some(parser.value()?.parse()?),
            Long("host") => given.host = Some(parser.value()?.string()?),
            Long("token") => given.token = Some(parser.value()?.into()),
            Long("ca") => given.tls.ca = Some(parser.value()?.into()),
            Long("cert") => given.tls.cert = Some(parser.value()?.into()),
            Long("key") => given.tls.key = Some(parser.value()?.into()),
            Long("plain-http") => given.plain_http = true,
            Long("allow") => given.allowed.push(parser.value()?.parse()?),
            Long("least-rto-min") => given.least_rto_min = Some(parser.value()?.parse()?),
            Long("most-rto-init") => given.most_rto_init = Some(parser.value()?.parse()?),
            Long("most-cwnd") => given.most_cwnd = Some(parser.value()?.parse()?),
            Long("most-initial-cwnd") => given.most_initial_cwnd = Some(parser.value()?.parse()?),
            Long("congestion-control") => given.control = Some(parser.value()?.parse()?),
            Long("cgroup") => given.cgroup = Some(parser.value()?.into()),
            Long("no-bpf") => given.no_bpf = true,
            Long("run") => given.run = Some(parser.value()?.into()),
            Long("metrics") => given.metrics = Some(parser.value()?.into()),
            other => return Err(other.unexpected()),
        }
    }
    Ok(given)
}

/// As docs/otcp-protocol.md has names.
fn is_name(text: &str) -> bool {
    text.len() <= 63
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

impl Given {
    /// The host's name at the controller: as given, or the machine's.
    fn host(&self) -> String {
        let machine = || {
            fs::read_to_string("/proc/sys/kernel/hostname")
                .unwrap_or_default()
                .trim()
                .to_owned()
        };
        self.host.clone().unwrap_or_else(machine)
    }

    /// What does not fit together, in a sentence.
    fn check(&self) -> Result<(), String> {
        let host = self.host();
        let speaks =
            self.task == Task::Run || (self.task == Task::DryRun && self.document.is_none());
        if speaks && self.controller.is_none() {
            return Err(
                "--controller is missing: expected https://NAME[:PORT]; --help lists all options"
                    .into(),
            );
        }
        if matches!(self.task, Task::Run | Task::DryRun) && !is_name(&host) {
            return Err(format!(
                "--host {host:?}: expected letters, digits, '.', '_' and '-', at most 63"
            ));
        }
        if self.tls.cert.is_some() != self.tls.key.is_some() {
            return Err("--cert and --key go together: expected both or none".into());
        }
        if self.document.is_some() && self.task != Task::DryRun {
            return Err("--document is for --dry-run".into());
        }
        self.check_limits()?;
        self.check_transport()
    }

    fn check_limits(&self) -> Result<(), String> {
        for (name, value, low, high) in [
            ("least-rto-min", self.least_rto_min, 1, 1000),
            ("most-rto-init", self.most_rto_init, 1, 3000),
            ("most-cwnd", self.most_cwnd, 1, 65_535),
            ("most-initial-cwnd", self.most_initial_cwnd, 1, 65_535),
        ] {
            if value.is_some_and(|value| !(low..=high).contains(&value)) {
                return Err(format!(
                    "--{name} {}: expected {low} to {high}",
                    value.unwrap_or_default()
                ));
            }
        }
        if let (Some(least), Some(most)) = (self.least_rto_min, self.most_rto_init)
            && most < least
        {
            return Err(format!(
                "--most-rto-init {most}: expected at least --least-rto-min {least}"
            ));
        }
        let known = kernel::controls();
        match self.control {
            Some(name) if !known.contains(&name.to_string()) => Err(format!(
                "--congestion-control {name}: expected one that this kernel has ready ({}); modprobe tcp_{name}",
                known.join(", ")
            )),
            _ => Ok(()),
        }
    }

    fn limits(&self, private: Vec<Prefix>) -> Limits {
        let allowed = self.allowed.clone();
        let usual = Limits::protocol(if allowed.is_empty() { private } else { allowed });
        let us = |ms: Option<u32>, usual: u32| ms.map_or(usual, |ms| ms * 1000);
        Limits {
            least_rto_min_us: us(self.least_rto_min, usual.least_rto_min_us),
            most_rto_init_us: us(self.most_rto_init, usual.most_rto_init_us),
            most_cwnd: self.most_cwnd.unwrap_or(usual.most_cwnd),
            most_initial_cwnd: self.most_initial_cwnd.unwrap_or(usual.most_initial_cwnd),
            ..usual
        }
    }

    /// That what is said to the controller cannot be read by others. What a name stands for is only known later (`link`).
    fn check_transport(&self) -> Result<(), String> {
        let Some(controller) = &self.controller else {
            return Ok(());
        };
        if controller.tls {
            self.tls.config()?;
        }
        let beyond = |ip: IpAddr| !ip.is_loopback();
        if !controller.tls && !self.plain_http && controller.name.parse().is_ok_and(beyond) {
            return Err(format!(
                "--controller http://{}: expected https://, or an address of this host; \
                 --plain-http is for closed networks",
                controller.name
            ));
        }
        Ok(())
    }
}

impl Options {
    /// Reads the command line (without the program's name). The error is one sentence.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, String> {
        let given = parse(arguments).map_err(|e| e.to_string())?;
        given.check()?;
        let host = given.host();
        let private = PRIVATE.iter().filter_map(|text| text.parse().ok());
        let limits = given.limits(private.collect());
        Ok(Self {
            task: given.task,
            controller: given.controller.map(|controller| Settings {
                controller,
                host: host.clone(),
                token: given.token,
                tls: given.tls,
                plain_http: given.plain_http,
            }),
            host,
            document: given.document,
            limits,
            control: given.control,
            cgroup: given.cgroup,
            bpf: !given.no_bpf,
            run: given.run.unwrap_or_else(|| "/run/etalon-otcp-agent".into()),
            metrics: given.metrics,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Result<Options, String> {
        Options::parse(text.split_whitespace().map(OsString::from))
    }

    #[test]
    fn the_least_that_is_needed() {
        let options = options("--controller http://127.0.0.1:8080 --host h1").unwrap();
        assert_eq!(
            (options.task, options.bpf, options.host.as_str()),
            (Task::Run, true, "h1")
        );
        assert_eq!(options.limits.allowed.len(), 4);
    }

    #[test]
    fn allowed_prefixes_replace_the_private_ones() {
        let options = options("--check --host h1 --allow 10.1.0.0/16 --allow fd00::/8").unwrap();
        assert_eq!(
            options
                .limits
                .allowed
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            ["10.1.0.0/16", "fd00::/8"]
        );
    }

    #[test]
    fn bounds_are_in_ms_and_segments() {
        let options =
            options("--check --host h1 --most-rto-init 500 --most-cwnd 200 --least-rto-min 5")
                .unwrap();
        let limits = options.limits;
        assert_eq!(
            (
                limits.least_rto_min_us,
                limits.most_rto_init_us,
                limits.most_cwnd
            ),
            (5000, 500_000, 200)
        );
        assert_eq!(limits.most_initial_cwnd, 65_535);
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        for (text, part) in [
            ("--host h1", "--controller is missing"),
            (
                "--controller ftp://x --host h1",
                "is not where a controller is",
            ),
            ("--controller https://x --host h1", "needs --ca"),
            ("--controller http://localhost --host -x", "--host"),
            (
                "--controller http://localhost --host h1 --cert a",
                "go together",
            ),
            (
                "--controller http://localhost --host h1 --allow 10.0.0.1/8",
                "no bits behind",
            ),
            (
                "--controller http://localhost --host h1 --document x",
                "is for --dry-run",
            ),
            ("--controller http://localhost --host h1 --frob", "--frob"),
            (
                "--controller http://10.0.0.1 --host h1",
                "expected https://, or an address of this host",
            ),
            ("--check --host h1 x", "x"),
            (
                "--check --host h1 --most-rto-init 3001",
                "expected 1 to 3000",
            ),
            (
                "--check --host h1 --most-rto-init 4 --least-rto-min 5",
                "expected at least --least-rto-min 5",
            ),
            (
                "--check --host h1 --congestion-control frob",
                "modprobe tcp_frob",
            ),
            (
                "--check --host h1 --congestion-control a/b",
                "is no name of a congestion control",
            ),
        ] {
            let error = options(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
