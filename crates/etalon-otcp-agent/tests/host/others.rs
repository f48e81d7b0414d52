// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes and settings of others come first.

use nix::sys::signal::Signal;

use crate::controller::{Controller, document, route};
use crate::lab::{Lab, eventually};
use crate::tcp::{connect, server, tcp};

#[test]
fn metrics_that_others_set_stay() {
    let Some(lab) = Lab::new() else { return };
    lab.host
        .sh("ip route change 10.78.0.0/16 via 10.77.1.2 initcwnd 20 mtu 1400");
    let before = lab.settled();
    let port = server(&lab.peer, "0.0.0.0");
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.1.0/24", 20_000, 2)]));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("10.78.1.0/24: 'initcwnd 20' of the route 10.78.0.0/16 stays");
    agent.says("applied 7.1");
    let ours = lab.ours();
    assert!(
        ours.contains(
            "10.78.1.0/24 via 10.77.1.2 dev h0 scope global metric 79000000 mtu 1400 initcwnd 20 rto_min lock 20ms"
        ),
        "{ours}"
    );
    let mut connection = connect(&lab, &format!("10.78.1.1:{port}"));
    assert!(connection.wait().0);
    assert_eq!(tcp(&lab, "10.78.1.1", "cwnd"), Some(20.0));
    drop(connection);
    // What the administrator sets later counts too.
    lab.host
        .sh("ip route change 10.78.0.0/16 via 10.77.1.2 initcwnd 20 rto_min 300ms");
    eventually("followed", || {
        lab.ours().contains("initcwnd 20 rto_min lock 300ms")
    });
    lab.host
        .sh("ip route change 10.78.0.0/16 via 10.77.1.2 initcwnd 20 mtu 1400");
    eventually("followed back", || {
        lab.ours()
            .contains("mtu 1400 initcwnd 20 rto_min lock 20ms")
    });
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

#[test]
fn gives_way_to_the_administrator_and_says_so() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let port = server(&lab.peer, "0.0.0.0");
    let controller = Controller::new(&lab.host);
    let routes =
        |rto| ["10.77.1.0/24", "10.78.0.0/16", "10.79.0.0/16"].map(|prefix| route(prefix, rto, 2));
    controller.publish(&document(1, 60, &routes(20_000)));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    lab.host
        .sh("ip route change 10.79.0.0/16 via 10.77.1.2 metric 49 rto_min 77ms proto 79");
    agent.says("10.79.0.0/16: somebody changed or removed the agent's route");
    lab.host
        .sh("ip route replace 10.78.0.0/16 via 10.77.1.2 rto_min 88ms");
    agent.says("10.78.0.0/16: somebody changed or removed the agent's route");
    lab.host.sh("ip route del 10.77.1.0/24 proto 79");
    agent.says("10.77.1.0/24: somebody changed or removed the agent's route");
    controller.publish(&document(2, 60, &routes(30_000)));
    agent.says("applied 7.2: 3 destinations; changed 0 routes");
    assert!(!lab.found().contains("30ms"), "{}", lab.found());
    let mut connection = connect(&lab, &format!("10.79.1.1:{port}"));
    assert!(connection.wait().0);
    assert_eq!(
        tcp(&lab, "10.79.1.1", "cwnd"),
        Some(10.0),
        "BPF gives way too"
    );
    drop(connection);
    eventually("counted", || {
        lab.metric("destinations_given_up") == Some(3.0)
    });
    agent.signal(Signal::SIGTERM);
    assert!(
        lab.found().contains("rto_min lock 77ms") && lab.found().contains("rto_min lock 88ms"),
        "{}",
        lab.found()
    );
}

/// The kernel, not a person, takes routes away with their interface.
#[test]
fn routes_come_back_with_their_interface() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(
        1,
        60,
        &[
            route("10.77.1.0/24", 20_000, 2),
            route("10.78.0.0/16", 20_000, 2),
        ],
    ));
    let agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    lab.host.sh("ip link set h0 down");
    eventually("gone", || !lab.ours().contains("dev h0"));
    lab.host.sh("ip link set h0 up");
    eventually("the connected one is back", || {
        lab.ours().contains("10.77.1.0/24 dev h0")
    });
    lab.host.sh("ip route add 10.78.0.0/16 via 10.77.1.2");
    eventually("the other too", || {
        lab.ours().contains("10.78.0.0/16 via 10.77.1.2")
    });
    // At once, as network managers do it, and without IPv6, which would tell.
    lab.host
        .sh("echo 1 > /proc/sys/net/ipv6/conf/h0/disable_ipv6");
    lab.host
        .sh("ip link set h0 down; ip link set h0 up; ip route replace 10.78.0.0/16 via 10.77.1.2");
    eventually("both again", || lab.ours().lines().count() == 2);
    assert!(!agent.log().contains("somebody"), "{}", agent.log());
}

/// A copy must not outlive what it is a copy of, nor stand in the way of a route of the administrator's.
#[test]
fn routes_follow_those_of_others() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(
        1,
        60,
        &[
            route("10.79.3.0/24", 20_000, 2),
            route("10.79.4.0/24", 20_000, 2),
        ],
    ));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    assert!(lab.ours().contains("10.79.3.0/24 via 10.77.1.2 dev h0"));
    lab.host
        .sh("ip route add 10.79.3.0/24 via 10.77.1.3 initcwnd 9");
    eventually("the narrower one counts", || {
        lab.ours()
            .contains("10.79.3.0/24 via 10.77.1.3 dev h0 scope global initcwnd 9")
    });
    lab.host
        .sh("ip route del 10.79.3.0/24 via 10.77.1.3 initcwnd 9 proto boot");
    eventually("the wider one again", || {
        lab.ours().contains("10.79.3.0/24 via 10.77.1.2 dev h0")
    });
    lab.host.sh("ip route del 10.79.0.0/16");
    eventually("no copy without its original", || lab.ours().is_empty());
    lab.host
        .sh("ip route add 10.79.0.0/16 via 10.77.1.2 metric 50");
    eventually("both again", || lab.ours().lines().count() == 2);
    assert!(!agent.log().contains("somebody"), "{}", agent.log());
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

#[test]
fn gives_way_if_its_program_is_detached() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    std::fs::remove_dir(&lab.cgroup.0).unwrap();
    agent.says("somebody detached the BPF program");
    agent.signal(Signal::SIGTERM);
    std::fs::create_dir(&lab.cgroup.0).unwrap();
}
