//! The program: reads the command line and does what it says.

use std::fs;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

use etalon_otcp_agent::args::{HELP, Options, Task};
use etalon_otcp_agent::document::Document;
use etalon_otcp_agent::{check, client, dry_run, run};

/// How long `--dry-run` waits for the controller.
const PATIENCE: Duration = Duration::from_secs(10);

fn document(options: &Options) -> io::Result<Document> {
    let bytes = match (&options.document, &options.controller) {
        (Some(path), _) => fs::read(path)
            .map_err(|e| io::Error::new(e.kind(), format!("--document {}: {e}", path.display())))?,
        (None, Some(settings)) => client::fetch(settings, PATIENCE)?,
        (None, None) => return Err(io::Error::other("--controller is missing")),
    };
    Document::parse(&bytes, &options.host, &options.allowed)
        .map_err(|refusal| io::Error::other(format!("the document would be refused: {refusal}")))
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
