// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs, with the library preloaded.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::estimator::{Estimator, Reports};
use crate::sink::Sink;

/// The library that was built together with this test.
pub fn library() -> PathBuf {
    built("deps/libadu.so")
}

fn built(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the test's own path");
    let target = test.ancestors().nth(2).expect("in a target directory");
    let path = target.join(name);
    assert!(
        path.exists(),
        "{} is not there: cargo test -p libadu builds it",
        path.display()
    );
    path
}

/// A scene of `examples/writer.rs`, without libadu.
pub fn bare(scene: &str, port: u16) -> Command {
    let mut command = Command::new(built("examples/writer"));
    command.args([scene, &port.to_string()]);
    command
}

/// The command with libadu, which reports to `estimator`.
pub fn preloaded(mut command: Command, estimator: &str) -> Command {
    command
        .env("LD_PRELOAD", library())
        .env("ETALON_ADU", estimator);
    command
}

/// Waits for the command's end, which has to be a good one, and without a word to stderr.
pub fn run(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("starts");
    good(&command, &output)
}

pub fn good(command: &Command, output: &Output) -> String {
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && err.is_empty(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    out.into_owned()
}

/// Runs a scene, and holds what was reported to what arrived, connection by connection. If the system dropped reports, that
/// shows nothing, and the scene runs again.
pub fn exact(scene: &str) -> Reports {
    for _ in 0..TRIES {
        let (sink, estimator) = (Sink::start(), Estimator::start());
        run(preloaded(bare(scene, sink.port), &estimator.address));
        let (received, reports) = (sink.stop(), estimator.stop());
        assert!(!received.is_empty(), "nothing arrived");
        if reports.dropped == 0 {
            assert_eq!(reports.totals(), received);
            return reports;
        }
    }
    panic!("the system dropped reports {TRIES} times");
}

const TRIES: usize = 30;
