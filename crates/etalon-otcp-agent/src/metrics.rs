// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics for Prometheus, in a file that its node exporter reads (textfile collector).

use std::fmt::Write;
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::bpf::program::Count;
use crate::client::Client;
use crate::core::Core;
use crate::keeper::Keeper;
use crate::kernel;
use crate::state;

/// What the loop knows of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// From the bytes of the last new document to the host changed.
    pub last_apply: Duration,
    /// The longest such time.
    pub longest_apply: Duration,
    /// Changes that the kernel refused.
    pub failed: u64,
}

/// Lines in Prometheus' text format.
#[derive(Default)]
struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(
            self.0,
            "# HELP etalon_otcp_agent_{name} {help}\n# TYPE etalon_otcp_agent_{name} {kind}"
        );
    }

    fn put(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "etalon_otcp_agent_{name} {value}");
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.put(name, "gauge", help, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: u64) {
        self.put(name, "counter", help, value as f64);
    }

    fn documents(&mut self, core: &Core) {
        let (epoch, version) = core.version().map_or((0, 0), |v| (v.epoch, v.version));
        self.gauge(
            "document_epoch",
            "Epoch in force, 0 for none.",
            epoch as f64,
        );
        self.gauge(
            "document_version",
            "Version in force, 0 for none.",
            version as f64,
        );
        self.counter(
            "documents_accepted_total",
            "Documents that came into force.",
            core.accepted,
        );
        self.counter(
            "documents_expired_total",
            "Lifetimes that ended.",
            core.expired,
        );
        let refused = "documents_refused_total";
        self.head(
            refused,
            "counter",
            "Documents and events that were refused.",
        );
        for (kind, count) in &core.refused {
            let _ = writeln!(
                self.0,
                "etalon_otcp_agent_{refused}{{reason=\"{kind}\"}} {count}"
            );
        }
    }

    fn host(&mut self, keeper: &Keeper) {
        self.gauge("routes", "Routes of the agent.", keeper.installed() as f64);
        self.gauge(
            "destinations_given_up",
            "Destinations left to the administrator.",
            keeper.given_up() as f64,
        );
        self.gauge(
            "bpf_attached",
            "1 if the BPF program runs.",
            f64::from(u8::from(keeper.bpf().is_some())),
        );
        if let Some(bpf) = keeper.bpf() {
            let count = |what| bpf.count(what).unwrap_or(0);
            self.counter(
                "connections_total",
                "TCP connections that got parameters.",
                count(Count::Connections),
            );
            self.counter(
                "options_refused_total",
                "Options that the kernel refused to BPF.",
                count(Count::Refused),
            );
        }
    }

    fn agent(&mut self, client: &Client, timing: Timing) {
        self.gauge(
            "connected",
            "1 if the controller is heard.",
            f64::from(u8::from(client.connected)),
        );
        self.counter(
            "connections_tried_total",
            "Connections to the controller, tried.",
            client.attempts,
        );
        self.counter(
            "changes_failed_total",
            "Changes that the kernel refused.",
            timing.failed,
        );
        let help = "From the last new document to the host changed.";
        self.gauge("apply_seconds", help, timing.last_apply.as_secs_f64());
        self.gauge(
            "apply_seconds_max",
            "The longest of these.",
            timing.longest_apply.as_secs_f64(),
        );
        self.gauge(
            "resident_bytes",
            "Memory of the agent.",
            kernel::resident_bytes() as f64,
        );
        self.gauge(
            "peak_bytes",
            "The most that it has held.",
            kernel::peak_bytes() as f64,
        );
    }
}

/// The metrics in Prometheus' text format.
pub fn text(core: &Core, keeper: &Keeper, client: &Client, timing: Timing) -> String {
    let mut page = Page::default();
    page.documents(core);
    page.host(keeper);
    page.agent(client, timing);
    page.0
}

/// Writes the metrics so that readers see them whole.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    state::replace(path, text.as_bytes())
}
