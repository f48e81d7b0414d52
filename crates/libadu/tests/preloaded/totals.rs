// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is reported is what arrives.

use crate::estimator::{Estimator, Reports};
use crate::installed::left_out;
use crate::run::{bare, exact, preloaded, run};
use crate::sink::Sink;
use std::process::{Command, Stdio};

fn all_closed(reports: &Reports) -> bool {
    reports.writers().all(|heard| heard.closed)
}

#[test]
fn every_call_that_writes() {
    let reports = exact("calls");
    assert_eq!(reports.of.len(), 11);
    assert!(all_closed(&reports));
    // sendfile announces what the file has, not what it is asked for.
    assert!(
        reports.writers().all(|heard| heard.most <= 8200),
        "{reports:?}"
    );
}

#[test]
fn many_threads_on_one_socket() {
    if !Estimator::has_room() {
        return left_out(
            "only a privileged user's socket has room for reports while others use the machine",
        );
    }
    let reports = exact("threads-one-socket");
    assert!(all_closed(&reports));
}

#[test]
fn many_threads_on_many_sockets() {
    if !Estimator::has_room() {
        return left_out("only a privileged user's socket has room for the reports of 160 sockets");
    }
    let reports = exact("threads-many-sockets");
    assert_eq!(reports.of.len(), 160);
    assert!(all_closed(&reports));
}

#[test]
fn both_write_after_a_fork() {
    for scene in ["fork", "fork-by-system-call"] {
        let reports = exact(scene);
        let mut totals: Vec<Vec<u64>> = reports
            .of
            .values()
            .map(|writers| {
                let mut totals: Vec<u64> = writers.values().map(|heard| heard.total).collect();
                totals.sort_unstable();
                totals
            })
            .collect();
        totals.sort();
        assert_eq!(
            totals,
            [vec![77], vec![1500, 2000]],
            "the child's total begins at zero"
        );
    }
}

#[test]
fn a_child_of_vfork_writes_for_its_parent() {
    let reports = exact("vfork");
    let writers: Vec<_> = reports.writers().collect();
    assert_eq!(
        writers.len(),
        1,
        "what the child closes its parent has still: {writers:?}"
    );
    assert_eq!((writers[0].total, writers[0].closed), (1110, true));
}

#[test]
fn a_program_started_by_exec_goes_on() {
    let sink = Sink::start();
    let without: usize = run(bare("exec", sink.port))
        .trim()
        .parse()
        .expect("a number");
    sink.stop();
    let (sink, estimator) = (Sink::start(), Estimator::start());
    let out = run(preloaded(bare("exec", sink.port), &estimator.address));
    // One more: the new program's own. The old one's is gone.
    assert_eq!(
        out.trim(),
        (without + 1).to_string(),
        "descriptors after exec"
    );
    let (received, reports) = (sink.stop(), estimator.stop());
    assert_eq!(reports.totals(), received);
    let totals: Vec<u64> = reports.writers().map(|heard| heard.total).collect();
    assert!(totals == [1000, 234] || totals == [234, 1000], "{totals:?}");
}

/// As inetd starts programs.
#[test]
fn a_program_that_inherits_its_socket() {
    let (sink, estimator) = (Sink::start(), Estimator::start());
    let stream = std::net::TcpStream::connect(("127.0.0.1", sink.port)).expect("connects");
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "bs=1000", "count=50", "status=none"]);
    command.stdout(Stdio::from(std::os::fd::OwnedFd::from(stream)));
    let status = preloaded(command, &estimator.address)
        .status()
        .expect("dd is installed");
    assert!(status.success());
    let (received, reports) = (sink.stop(), estimator.stop());
    assert_eq!(received.values().sum::<u64>(), 50_000);
    assert_eq!(reports.totals(), received);
}

#[test]
fn what_a_full_buffer_refuses_is_taken_back() {
    let reports = exact("nonblocking");
    let writer = reports.writers().next().expect("a writer");
    assert!(writer.fell, "no total fell: {writer:?}");
    assert!(writer.most <= 3_000_000);
}

#[test]
fn what_an_interrupted_write_leaves_is_taken_back() {
    let (sink, estimator) = (Sink::that_does_not_read(), Estimator::start());
    let out = run(preloaded(
        bare("interrupted", sink.port),
        &estimator.address,
    ));
    let (received, reports) = (sink.stop(), estimator.stop());
    assert_eq!(reports.totals(), received);
    let writer = reports.writers().next().expect("a writer");
    assert_eq!(out.trim(), writer.total.to_string());
    assert!(
        writer.most >= 50_000_000 && writer.fell,
        "counted before it is made: {writer:?}"
    );
}

#[test]
fn a_signal_handler_that_writes() {
    exact("signal-handler");
}

#[test]
fn descriptors_that_change_their_connection() {
    let reports = exact("dup");
    assert!(all_closed(&reports), "{reports:?}");
    let reports = exact("reuse");
    assert_eq!(reports.of.len(), 100);
    let open = reports.writers().filter(|heard| !heard.closed).count();
    assert!(
        open <= 1,
        "whoever loses its number is closed, but the last: {open}"
    );
}

#[test]
fn a_first_write_that_connects() {
    let reports = exact("fastopen");
    assert_eq!(reports.totals().values().sum::<u64>(), 770);
}

#[test]
fn ipv4_on_a_socket_of_ipv6() {
    assert_eq!(exact("mapped").totals().values().sum::<u64>(), 1234);
}

#[test]
fn nothing_but_tcp_over_ipv4_is_accounted() {
    let estimator = Estimator::start();
    run(preloaded(bare("not-accounted", 0), &estimator.address));
    assert_eq!(estimator.stop().count, 0);
}

#[test]
fn shutdown_ends_a_writer() {
    let (sink, estimator) = (Sink::start(), Estimator::start());
    let mut command = preloaded(bare("shutdown", sink.port), &estimator.address);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    let out = child.stdout.as_mut().expect("piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    assert_eq!(line, "shut down\n");
    let reports = estimator.stop();
    child.kill().expect("killed");
    child.wait().expect("gone");
    let writers: Vec<_> = reports.writers().collect();
    assert_eq!(
        (writers.len(), writers[0].total, writers[0].closed),
        (1, 505, true)
    );
    assert_eq!(sink.stop().values().sum::<u64>(), 505);
}
