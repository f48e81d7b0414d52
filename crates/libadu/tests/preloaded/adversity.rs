// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whatever happens to the reports, the program does what it does without them.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use crate::estimator::Estimator;
use crate::run::{bare, exact, preloaded, run};
use crate::sink::Sink;

/// The scene's bytes arrive, whatever becomes of reports to `estimator`.
fn arrives(scene: &str, estimator: &str) {
    let sinks = [Sink::start(), Sink::start()];
    run(bare(scene, sinks[0].port));
    run(preloaded(bare(scene, sinks[1].port), estimator));
    let [without, with] = sinks.map(|sink| {
        let mut bytes: Vec<u64> = sink.stop().into_values().collect();
        bytes.sort_unstable();
        bytes
    });
    assert_eq!(with, without);
}

#[test]
fn nobody_listens() {
    let gone = UdpSocket::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    arrives("calls", &gone.to_string());
}

#[test]
fn there_is_no_way_to_the_estimator() {
    // Of class E: no route leads there, and the kernel says so.
    arrives("calls", "240.0.0.1:9");
    arrives("calls", "255.255.255.255:9");
}

#[test]
fn the_address_is_none() {
    for address in ["", "here", "127.0.0.1", "[::1]:5300", "127.0.0.1:99999"] {
        arrives("calls", address);
    }
}

#[test]
fn the_queue_of_the_estimator_is_full() {
    let deaf = UdpSocket::bind("127.0.0.1:0").expect("a port");
    arrives(
        "threads-one-socket",
        &deaf.local_addr().expect("bound").to_string(),
    );
}

#[test]
fn a_program_that_is_killed() {
    let (sink, estimator) = (Sink::start(), Estimator::start());
    let mut child = preloaded(bare("forever", sink.port), &estimator.address)
        .spawn()
        .expect("starts");
    std::thread::sleep(Duration::from_millis(300));
    child.kill().expect("killed");
    child.wait().expect("gone");
    let (received, reports) = (sink.stop(), estimator.stop());
    let (received, told) = (
        received.values().sum::<u64>(),
        reports.totals().values().sum::<u64>(),
    );
    assert!(received > 0);
    // The last write may have been announced and not made.
    assert!(
        (0..=10_000).contains(&(told as i64 - received as i64)),
        "{told} told, {received} received"
    );
}

#[test]
fn a_thread_that_is_cancelled_in_a_write() {
    let (sink, estimator) = (Sink::that_does_not_read(), Estimator::start());
    run(preloaded(bare("cancelled", sink.port), &estimator.address));
    let (received, reports) = (sink.stop(), estimator.stop());
    assert_eq!(received.len(), 2);
    for (connection, bytes) in received {
        let told = reports.total(&connection);
        // What a cancelled write leaves is not taken back: nothing of the library runs after it.
        assert_eq!(told, if bytes == 321 { 321 } else { 50_000_000 });
    }
}

#[test]
fn errno_is_the_programs_own() {
    let sink = Sink::start();
    run(bare("errno", sink.port));
    let estimator = Estimator::start();
    run(preloaded(bare("errno", sink.port), &estimator.address));
    let (received, reports) = (sink.stop(), estimator.stop());
    assert_eq!(received.len(), 2);
    assert_eq!(
        reports.totals().values().copied().collect::<Vec<_>>(),
        [100]
    );
    let gone = UdpSocket::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound");
    let sink = Sink::start();
    run(preloaded(bare("errno", sink.port), &gone.to_string()));
    assert_eq!(sink.stop().values().copied().collect::<Vec<_>>(), [100]);
}

#[test]
fn a_program_that_closes_all_descriptors() {
    for scene in ["close-each", "close-range", "closefrom"] {
        assert_eq!(exact(scene).totals().len(), 2, "{scene}");
    }
}

/// The sink looks for reports in the streams, the scene in its Unix socket.
#[test]
fn the_librarys_number_becomes_a_socket_of_the_program() {
    let (sink, estimator) = (Sink::start(), Estimator::start());
    run(preloaded(
        bare("close-by-system-call", sink.port),
        &estimator.address,
    ));
    assert_eq!(sink.stop().values().copied().collect::<Vec<_>>(), [2000]);
    assert_eq!(
        estimator.stop().count,
        0,
        "without its socket the library says nothing"
    );
}

#[test]
fn a_write_does_not_wait_for_reports() {
    // 2000 writes, and a control network that takes nothing.
    let sink = Sink::start();
    let begin = Instant::now();
    run(preloaded(bare("fork", sink.port), "240.0.0.1:9"));
    assert!(begin.elapsed() < Duration::from_secs(5));
    sink.stop();
}
