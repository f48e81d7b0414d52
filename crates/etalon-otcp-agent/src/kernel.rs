// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent reads of the kernel and of its own process.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use nix::time::{ClockId, clock_getres, clock_gettime};

use crate::plan::Kernel;
use crate::syn::Spacing;

const NET_ADMIN: u32 = 12;
const BPF: u32 = 39;
const SYS_ADMIN: u32 = 21;

/// Time since the machine started, with the time it slept.
pub fn now() -> Duration {
    clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::ZERO, Duration::from)
}

/// The length of a tick: what the coarse clock is counted in.
pub fn tick() -> io::Result<Duration> {
    Ok(clock_getres(ClockId::CLOCK_MONOTONIC_COARSE)?.into())
}

/// A setting of IPv4's TCP in this network namespace, if this kernel has it.
pub fn sysctl<T: FromStr>(name: &str) -> Option<T> {
    fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// How this kernel counts time. Its settings may change at any time.
pub fn timing() -> io::Result<Kernel> {
    let longest = sysctl("tcp_rto_max_ms").map_or(Duration::from_secs(120), Duration::from_millis);
    let linear = sysctl("tcp_syn_linear_timeouts").unwrap_or(0);
    Ok(Kernel {
        tick: tick()?,
        spacing: Spacing { linear, longest },
        control: None,
    })
}

/// Takes the place of the one agent of this network namespace, as long as it is held: two would undo each other's routes.
pub fn only_one_here() -> io::Result<UnixDatagram> {
    // Abstract names are the namespace's, and are gone with who holds them.
    let place = SocketAddr::from_abstract_name("etalon-otcp-agent")?;
    UnixDatagram::bind_addr(&place).map_err(|e| match e.kind() {
        io::ErrorKind::AddrInUse => {
            io::Error::other("another agent runs in this network namespace")
        }
        _ => e,
    })
}

/// The congestion controls that this kernel has ready.
pub fn controls() -> Vec<String> {
    sysctl::<String>("tcp_available_congestion_control")
        .unwrap_or_default()
        .split_whitespace()
        .map(str::to_owned)
        .collect()
}

/// One life of the machine.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// The kernel's release, as `6.18.1`.
pub fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Where the cgroup v2 hierarchy is mounted.
pub fn cgroup_root() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, path, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(path))
    })
}

/// What this process may do.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// CAP_NET_ADMIN.
    pub net_admin: bool,
    /// CAP_BPF, or CAP_SYS_ADMIN, which includes it.
    pub bpf: bool,
}

/// What this process may do.
pub fn capabilities() -> Capabilities {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_capabilities(&status)
}

fn parse_capabilities(status: &str) -> Capabilities {
    let effective = status
        .lines()
        .find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok())
        .unwrap_or(0);
    let has = |capability: u32| effective >> capability & 1 == 1;
    Capabilities {
        net_admin: has(NET_ADMIN),
        bpf: has(BPF) || has(SYS_ADMIN),
    }
}

/// Bytes of memory that this process holds (RSS).
pub fn resident_bytes() -> u64 {
    of_memory("VmRSS:")
}

/// The most that it has held.
pub fn peak_bytes() -> u64 {
    of_memory("VmHWM:")
}

fn of_memory(what: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status.lines().find_map(|line| {
        line.strip_prefix(what)?
            .trim()
            .strip_suffix("kB")?
            .trim()
            .parse()
            .ok()
    });
    kib.unwrap_or(0_u64) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_bits() {
        let of = |bits: &str| parse_capabilities(&format!("Name:\tx\nCapEff:\t{bits}\n"));
        let both = of("0000008000001000");
        assert!(both.net_admin && both.bpf);
        let root = of("000001ffffffffff");
        assert!(root.net_admin && root.bpf);
        let none = of("0000000000000000");
        assert!(!none.net_admin && !none.bpf);
    }

    #[test]
    fn a_tick_is_a_few_milliseconds() {
        let tick = tick().unwrap();
        assert!(
            (Duration::from_micros(900)..=Duration::from_millis(11)).contains(&tick),
            "{tick:?}"
        );
        assert!(resident_bytes() > 0);
    }
}
