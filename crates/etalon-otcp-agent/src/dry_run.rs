// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--dry-run`: what would be changed, and why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;

use crate::args::Options;
use crate::check;
use crate::document::Document;
use crate::keeper;
use crate::kernel;
use crate::netlink::route::{Route, metric};
use crate::netlink::socket::Socket;
use crate::plan::{self, Kernel, Target};
use crate::prefix::Prefix;

/// The host's routes, without those of an agent that may be running, and what the document would make of them.
pub fn explain(document: &Document, options: &Options) -> io::Result<String> {
    let routes: Vec<Route> = Socket::routes()?.all_routes()?;
    let (ours, others): (Vec<Route>, Vec<Route>) = routes.into_iter().partition(Route::is_ours);
    let mut timing = kernel::timing()?;
    timing.control = options.control;
    let plan = plan::plan(&document.routes, &others, &BTreeSet::new(), timing);
    let ours: BTreeMap<Prefix, Route> = ours
        .into_iter()
        .map(|route| (route.prefix, route))
        .collect();
    let bpf = match options.bpf {
        true => check::cgroup(options).and_then(|cgroup| keeper::attach(&cgroup).map(drop)),
        false => Err(io::Error::other("--no-bpf")),
    };
    let mut text = format!(
        "document {}: {} destinations, {} s\n",
        document.version,
        document.routes.len(),
        document.lifetime_s
    );
    if let Err(e) = &bpf {
        let _ = writeln!(
            text,
            "no BPF ({e}): RTOinit and the largest window stay Linux's own"
        );
    }
    for (prefix, target) in &plan {
        describe(
            &mut text,
            *prefix,
            target,
            ours.get(prefix),
            bpf.is_ok().then_some(timing),
        );
    }
    for prefix in ours.keys().filter(|prefix| !plan.contains_key(prefix)) {
        let _ = writeln!(
            text,
            "{prefix}\n  route   removed: the document does not name it"
        );
    }
    Ok(text)
}

fn metrics(route: &Route) -> String {
    let value = |kind| route.metric(kind).unwrap_or(0);
    let control = route.control().map(|name| format!(", congctl {name}"));
    format!(
        "rto_min {} ms, initcwnd {}, initrwnd {}{}",
        value(metric::RTO_MIN),
        value(metric::INITCWND),
        value(metric::INITRWND),
        control.unwrap_or_default()
    )
}

fn describe(
    text: &mut String,
    prefix: Prefix,
    target: &Target,
    ours: Option<&Route>,
    bpf: Option<Kernel>,
) {
    let _ = writeln!(text, "{prefix}");
    if target.source != prefix {
        let _ = writeln!(
            text,
            "          a route of this host within {}",
            target.source
        );
    }
    if let Some(route) = &target.route {
        let what = match ours {
            None => "added",
            Some(old) if old == route => "stays",
            Some(_) => "replaced",
        };
        let _ = writeln!(text, "  route   {what}: {}", metrics(route));
    }
    if let Some(kernel) = bpf {
        let entry = &target.entry;
        let windows = [
            ("largest window", entry.max_cwnd),
            ("initial window", entry.initial_cwnd),
        ];
        let windows: String = windows
            .iter()
            .filter(|(_, value)| *value > 0)
            .map(|(name, value)| format!(", {name} {value}"))
            .collect();
        let _ = writeln!(
            text,
            "  BPF     RTOinit {} ms{windows}",
            (kernel.tick * entry.rto_init_ticks).as_millis()
        );
        let usual: usize = kernel::sysctl("tcp_syn_retries").unwrap_or(6);
        let count = entry.syn_count.get(usual).copied().unwrap_or_default();
        let _ = writeln!(
            text,
            "          connect() sends a SYN {count} times again instead of {usual}, to last as long"
        );
    }
    for note in &target.notes {
        let _ = writeln!(text, "  note    {note}");
    }
}
