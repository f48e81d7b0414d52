// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--check`: what this kernel can.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::args::Options;
use crate::keeper;
use crate::kernel;
use crate::netlink::route::{PROTOCOL, Route};
use crate::netlink::socket::Socket;

/// What can be done here.
#[derive(Debug)]
pub struct Report {
    /// Lines for people.
    pub text: String,
    /// True if the agent can do something useful.
    pub useful: bool,
}

/// The cgroup of the options: the given one, or the root of the hierarchy.
pub fn cgroup(options: &Options) -> io::Result<PathBuf> {
    options
        .cgroup
        .clone()
        .or_else(kernel::cgroup_root)
        .ok_or_else(|| {
            io::Error::other("no cgroup v2 hierarchy is mounted: expected one, or --cgroup")
        })
}

/// Asks to remove a route that cannot exist (RFC 5737's addresses, the agent's protocol): refused for want of rights, or
/// for want of the route.
fn routes() -> io::Result<()> {
    let mut socket = Socket::routes()?;
    let found = socket.all_routes()?.len();
    match socket.ask(vec![Route::nowhere().delete()])?.pop() {
        Some(Err(e)) if e.raw_os_error() != Some(libc::ESRCH) => Err(e),
        _ if found == 0 => Err(io::Error::other("the main table has no routes to follow")),
        _ => Ok(()),
    }
}

fn tcp_metrics() -> io::Result<usize> {
    let mut socket = Socket::generic()?;
    let family = socket.tcp_metrics_family()?;
    Ok(socket.tcp_metrics(family)?.len())
}

fn bpf(options: &Options) -> io::Result<PathBuf> {
    let cgroup = cgroup(options)?;
    // With no entries it does nothing, and it is gone at once.
    keeper::attach(&cgroup)?;
    Ok(cgroup)
}

/// Tries what the agent needs, and changes nothing.
pub fn check(options: &Options) -> io::Result<Report> {
    let timing = kernel::timing()?;
    let tick = timing.tick.as_millis();
    let capabilities = kernel::capabilities();
    let mut text = String::new();
    let hz = Duration::from_secs(1).as_nanos() / timing.tick.as_nanos().max(1);
    let _ = writeln!(
        text,
        "Linux {}, a tick is {tick} ms (HZ {hz})",
        kernel::release()
    );
    let routes = routes();
    put(
        &mut text,
        &routes,
        &format!("RTOmin (at least {tick} ms), initial windows: by routes (proto {PROTOCOL})"),
    );
    if !capabilities.net_admin {
        text += "        CAP_NET_ADMIN is missing\n";
    }
    let bpf = if options.bpf {
        bpf(options)
    } else {
        Err(io::Error::other("--no-bpf"))
    };
    put(
        &mut text,
        &bpf,
        &format!(
            "RTOinit (at least {} ms), largest window, initial window: by BPF",
            2 * tick
        ),
    );
    match &bpf {
        Ok(cgroup) => drop(writeln!(
            text,
            "        for processes in {}",
            cgroup.display()
        )),
        Err(_) if !capabilities.bpf => text += "        CAP_BPF is missing\n",
        Err(_) => {}
    }
    let metrics = tcp_metrics();
    put(&mut text, &metrics, "tcp_metrics are put back at the end");
    let retries: usize = kernel::sysctl("tcp_syn_retries").unwrap_or(6);
    let lasts = timing.spacing.lasts(Duration::from_secs(1), retries);
    let _ = writeln!(
        text,
        "        connect() lasts {} s ({retries} retransmissions), and will",
        lasts.as_secs()
    );
    Ok(Report {
        text,
        useful: routes.is_ok() || bpf.is_ok(),
    })
}

fn put<T>(text: &mut String, result: &io::Result<T>, what: &str) {
    let _ = match result {
        Ok(_) => writeln!(text, "  yes   {what}"),
        Err(e) => writeln!(text, "  no    {what}: {e}"),
    };
}
