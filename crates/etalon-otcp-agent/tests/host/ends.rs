// SPDX-License-Identifier: MIT OR Apache-2.0
//! However it ends, the host is as it was found.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::controller::{Controller, document, route};
use crate::lab::{Lab, eventually};
use crate::tcp::{connect, server, tcp};

#[test]
fn routes_and_connections_get_parameters_and_the_host_is_as_found_after_sigterm() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let port = server(&lab.peer, "0.0.0.0");
    // A connection of earlier days, which the kernel remembers, and will still.
    assert!(connect(&lab, &format!("10.77.1.2:{port}")).wait().0);
    let controller = Controller::new(&lab.host);
    controller.publish(&document(
        1,
        60,
        &[
            route("10.78.0.0/16", 20_500, 2),
            route("10.79.0.0/16", 6000, 3),
            route("fd00:77:1::/64", 30_000, 4),
        ],
    ));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1: 3 destinations; changed 3 routes and 3 BPF entries");
    let ours = lab.ours();
    for part in [
        "fd00:77:1::/64 dev h0 scope global metric 255 initcwnd 4 rto_min lock 30ms",
        "10.78.0.0/16 via 10.77.1.2 dev h0 scope global initcwnd 2 rto_min lock 21ms initrwnd 53",
        "10.79.0.0/16 via 10.77.1.2 dev h0 scope global metric 49 initcwnd 3 rto_min lock 6ms initrwnd 53",
    ] {
        assert!(ours.contains(part), "{part}: {ours}");
    }

    let mut connection = connect(&lab, &format!("10.78.1.1:{port}"));
    assert!(connection.wait().0);
    assert_eq!(tcp(&lab, "10.78.1.1", "cwnd"), Some(2.0));
    assert_eq!(
        tcp(&lab, "10.78.1.1", "ssthresh"),
        Some(53.0),
        "the clamp sets it too"
    );
    drop(connection);
    let mut other = connect(&lab, &format!("10.77.1.2:{port}"));
    assert!(other.wait().0);
    assert_eq!(
        tcp(&lab, "10.77.1.2", "cwnd"),
        Some(10.0),
        "no destination of the document"
    );
    drop(other);
    let remembers = |address| lab.host.sh("ip tcp_metrics").contains(address);
    eventually("the kernel remembers both", || {
        remembers("10.77.1.2") && remembers("10.78.1.1")
    });
    eventually("the program counts", || {
        lab.metric("connections_total") == Some(1.0)
    });
    assert_eq!(lab.metric("options_refused_total"), Some(0.0));
    let resident = lab.metric("resident_bytes").unwrap();
    assert!(resident < 10e6, "{resident} bytes of memory");

    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
    assert!(remembers("10.77.1.2") && !remembers("10.78.1.1"));
    assert!(!lab.folder.path().join("run/state.json").exists());
}

#[test]
fn after_sigkill_the_next_start_removes_what_is_left() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let port = server(&lab.peer, "0.0.0.0");
    let controller = Controller::new(&lab.host);
    controller.publish(&document(
        1,
        60,
        &[
            route("10.77.1.0/24", 20_000, 2),
            route("10.78.0.0/16", 20_000, 2),
        ],
    ));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    assert!(connect(&lab, &format!("10.78.1.1:{port}")).wait().0);
    eventually("the kernel remembers", || {
        lab.host.sh("ip tcp_metrics").contains("10.78.1.1")
    });
    agent.signal(Signal::SIGKILL);
    assert_eq!(
        lab.ours()
            .lines()
            .filter(|line| line.contains("rto_min"))
            .count(),
        2,
        "routes outlive their agent"
    );

    controller.silence(true);
    let mut next = lab.agent(&controller.url(), &[]);
    next.says("removed what an earlier run left: 2 routes (proto 79), 1 tcp_metrics");
    assert_eq!(lab.found(), before);
    assert!(!lab.host.sh("ip tcp_metrics").contains("10.78.1.1"));
    next.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

#[test]
fn a_dead_controller_leaves_the_last_good_and_then_linux_its_own() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 5, &[route("10.78.0.0/16", 20_000, 2)]));
    let agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(7) {
        controller.alive(1);
        std::thread::sleep(Duration::from_millis(500));
    }
    assert!(lab.ours().contains("rto_min"), "who is heard lives on");
    controller.silence(true);
    let died = Instant::now();
    // On a busy machine the lifetime may be over before one can look.
    std::thread::sleep(Duration::from_secs(2));
    let ours = lab.ours();
    assert!(
        ours.contains("rto_min") || died.elapsed() > Duration::from_secs(4),
        "the last good stays"
    );
    agent.says("the controller was not heard for a lifetime");
    let lived = died.elapsed();
    assert!(lived > Duration::from_secs(4), "{lived:?}");
    eventually("Linux's own", || lab.found() == before);
    // It comes back: with any version, for the agent holds none.
    controller.silence(false);
    agent.says("hears the controller");
    eventually("applied again", || lab.ours().contains("rto_min lock 20ms"));
}
