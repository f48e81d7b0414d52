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

/// The metrics in Prometheus' text format.
pub fn text(core: &Core, keeper: &Keeper, client: &Client, timing: Timing) -> String {
    let mut text = String::new();
    let mut put = |name: &str, kind: &str, help: &str, value: f64| {
        let _ = writeln!(
            text,
            "# HELP etalon_otcp_agent_{name} {help}\n# TYPE etalon_otcp_agent_{name} {kind}"
        );
        let _ = writeln!(text, "etalon_otcp_agent_{name} {value}");
    };
    let version = core.version();
    put(
        "connected",
        "gauge",
        "1 if the controller is heard.",
        f64::from(u8::from(client.connected)),
    );
    put(
        "document_version",
        "gauge",
        "Version in force, 0 for none.",
        version.map_or(0.0, |v| v.version as f64),
    );
    put(
        "document_epoch",
        "gauge",
        "Epoch in force, 0 for none.",
        version.map_or(0.0, |v| v.epoch as f64),
    );
    put(
        "documents_accepted_total",
        "counter",
        "Documents that came into force.",
        core.accepted as f64,
    );
    put(
        "documents_expired_total",
        "counter",
        "Lifetimes that ended.",
        core.expired as f64,
    );
    put(
        "connections_tried_total",
        "counter",
        "Connections to the controller, tried.",
        client.attempts as f64,
    );
    put(
        "routes",
        "gauge",
        "Routes of the agent.",
        keeper.installed() as f64,
    );
    put(
        "destinations_given_up",
        "gauge",
        "Destinations left to the administrator.",
        keeper.given_up() as f64,
    );
    put(
        "bpf_attached",
        "gauge",
        "1 if the BPF program runs.",
        f64::from(u8::from(keeper.bpf().is_some())),
    );
    put(
        "changes_failed_total",
        "counter",
        "Changes that the kernel refused.",
        timing.failed as f64,
    );
    put(
        "apply_seconds",
        "gauge",
        "From the last new document to the host changed.",
        timing.last_apply.as_secs_f64(),
    );
    put(
        "apply_seconds_max",
        "gauge",
        "The longest of these.",
        timing.longest_apply.as_secs_f64(),
    );
    put(
        "resident_bytes",
        "gauge",
        "Memory of the agent.",
        kernel::resident_bytes() as f64,
    );
    if let Some(bpf) = keeper.bpf() {
        let count = |what| bpf.count(what).unwrap_or(0) as f64;
        put(
            "connections_total",
            "counter",
            "TCP connections that got parameters.",
            count(Count::Connections),
        );
        put(
            "options_refused_total",
            "counter",
            "Options that the kernel refused to BPF.",
            count(Count::Refused),
        );
    }
    text += "# HELP etalon_otcp_agent_documents_refused_total Documents and events that were refused.\n";
    text += "# TYPE etalon_otcp_agent_documents_refused_total counter\n";
    for (kind, count) in &core.refused {
        let _ = writeln!(
            text,
            "etalon_otcp_agent_documents_refused_total{{reason=\"{kind}\"}} {count}"
        );
    }
    text
}

/// Writes the metrics so that readers see them whole.
pub fn write(path: &Path, text: &str) -> io::Result<()> {
    state::replace(path, text.as_bytes())
}
