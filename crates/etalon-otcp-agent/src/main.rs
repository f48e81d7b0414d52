// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program: reads the command line and does what it says.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use etalon_otcp_agent::args::{HELP, Options, Task};
use etalon_otcp_agent::document::{Document, MAX_BYTES};
use etalon_otcp_agent::{check, client, dry_run, run};

/// How long `--dry-run` waits for the controller.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file's, as far as a document can go and a byte beyond.
fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn document(options: &Options) -> io::Result<Document> {
    let (bytes, what) = match (&options.document, &options.controller) {
        (Some(path), _) => {
            let what = format!("--document {}", path.display());
            let read = contents(path);
            (
                read.map_err(|e| io::Error::new(e.kind(), format!("{what}: {e}")))?,
                what,
            )
        }
        (None, Some(settings)) => (client::fetch(settings, PATIENCE)?, "the document".into()),
        (None, None) => return Err(io::Error::other("--controller is missing")),
    };
    Document::parse(&bytes, &options.host, &options.limits)
        .map_err(|refusal| io::Error::other(format!("{what} would be refused: {refusal}")))
}

fn work(options: &Options) -> io::Result<ExitCode> {
    let mut out = io::stdout().lock();
    match options.task {
        Task::Help => out.write_all(HELP.as_bytes())?,
        Task::Version => writeln!(out, "etalon-otcp-agent {}", env!("CARGO_PKG_VERSION"))?,
        Task::Check => {
            let report = check::check(options)?;
            out.write_all(report.text.as_bytes())?;
            return Ok(if report.useful {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            });
        }
        Task::DryRun => {
            out.write_all(dry_run::explain(&document(options)?, options)?.as_bytes())?;
        }
        Task::Run => run::run(options)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let result = match Options::parse(std::env::args_os().skip(1)) {
        Ok(options) => work(&options),
        Err(why) => {
            etalon_otcp_agent::error!("{why}");
            return ExitCode::from(2);
        }
    };
    result.unwrap_or_else(|e| {
        etalon_otcp_agent::error!("{e}");
        ExitCode::FAILURE
    })
}
