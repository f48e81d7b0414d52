// SPDX-License-Identifier: MIT OR Apache-2.0
//! The number of the library's own descriptor is in nobody's way.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::estimator::{Estimator, Reports};
use crate::run::{bare, preloaded, run};
use crate::sink::Sink;

/// The capability to raise hard limits.
const CAP_SYS_RESOURCE: libc::c_ulong = 24;

/// The command under a limit of open files, soft and hard, perhaps without the privilege to raise it.
fn limited(mut command: Command, soft: u64, hard: u64, privileged: bool) -> Command {
    let limit = libc::rlimit {
        rlim_cur: soft,
        rlim_max: hard,
    };
    let limited = move || {
        if !privileged {
            // SAFETY: a system call, and no memory is involved. It fails if there is no privilege to lose.
            unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0) };
        }
        // SAFETY: a system call, and `limit` lives through it.
        match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    };
    // SAFETY: the closure calls what may be called between fork and exec.
    unsafe { command.pre_exec(limited) };
    command
}

/// What the scene `limits` prints, bare and preloaded, and what was reported.
fn with_limits(soft: u64, hard: u64, privileged: bool) -> (String, String, Reports) {
    let (sink, estimator) = (Sink::start(), Estimator::start());
    let without = run(limited(bare("limits", sink.port), soft, hard, privileged));
    let command = preloaded(bare("limits", sink.port), &estimator.address);
    let with = run(limited(command, soft, hard, privileged));
    assert_eq!(
        sink.stop().into_values().collect::<Vec<_>>(),
        [99, 99],
        "both have written"
    );
    (without, with, estimator.stop())
}

/// The numbers that a scene has printed.
fn numbers(text: &str) -> Vec<u64> {
    text.split_whitespace()
        .map(|number| number.parse().expect("a number"))
        .collect()
}

/// Whether this process may raise hard limits, and so its children.
fn may_raise() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is mounted");
    let line = status
        .lines()
        .find(|line| line.starts_with("CapBnd:"))
        .expect("capabilities");
    let bounding = u64::from_str_radix(line[7..].trim(), 16).expect("a hexadecimal number");
    // SAFETY: asks only.
    unsafe { libc::geteuid() == 0 && bounding >> CAP_SYS_RESOURCE & 1 == 1 }
}

#[test]
fn new_descriptors_have_the_numbers_they_always_have() {
    let estimator = Estimator::start();
    let with = run(preloaded(bare("descriptors", 0), &estimator.address));
    assert_eq!(with, run(bare("descriptors", 0)));
    estimator.stop();
}

#[test]
fn a_program_has_all_descriptors_that_it_may_have() {
    let mut own = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `own` lives through the call.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut own) };
    assert!(
        own.rlim_max >= 4096 || may_raise(),
        "this test needs a hard limit of 4096 open files (ulimit -Hn), not {}",
        own.rlim_max
    );
    // The second number can be raised to the third, beyond which the library's is.
    for (soft, hard) in [(8, 1000), (300, 2000), (1024, 4096)] {
        let (without, with, reports) = with_limits(soft, hard, false);
        assert_eq!(with, without);
        assert_eq!(
            reports.totals().into_values().collect::<Vec<_>>(),
            [99],
            "{soft} {hard}"
        );
    }
}

#[test]
fn beyond_1024_a_program_has_one_descriptor_less() {
    let (without, with, reports) = with_limits(2048, 4096, false);
    let (without, with) = (numbers(&without), numbers(&with));
    assert_eq!((without[1], with[1], with[0]), (2047, 2047, without[0] - 1));
    assert_eq!(reports.totals().into_values().collect::<Vec<_>>(), [99]);
}

#[test]
fn a_program_under_a_hard_limit_of_eight() {
    let (without, with, reports) = with_limits(8, 8, may_raise());
    assert_eq!(with, without);
    assert!(with.ends_with(" 7 8 8\n"), "{with}");
    // Who may raise limits has reports nevertheless.
    assert_eq!(reports.count > 0, may_raise());
}

#[test]
fn without_privileges_under_a_hard_limit() {
    let (without, with, reports) = with_limits(8, 8, false);
    assert_eq!(
        (with, reports.count),
        (without, 0),
        "so few are all the program's"
    );
    // One less: the last one is the library's.
    let (without, with, reports) = with_limits(512, 512, false);
    let (without, with) = (numbers(&without), numbers(&with));
    assert_eq!((without[1], with[1], with[0]), (511, 510, without[0] - 1));
    assert_eq!(reports.totals().into_values().collect::<Vec<_>>(), [99]);
}
