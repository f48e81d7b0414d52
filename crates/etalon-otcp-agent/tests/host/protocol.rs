// SPDX-License-Identifier: MIT OR Apache-2.0
//! Documents: refused, missed, as large as they can be.

use nix::sys::signal::Signal;

use crate::controller::{Controller, document, route};
use crate::lab::{Lab, eventually};

#[test]
fn refused_as_a_whole_counted_and_the_last_good_stays() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(2, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let agent = lab.agent(
        &controller.url(),
        &["--allow", "10.78.0.0/15", "--allow", "10.77.0.0/16"],
    );
    agent.says("applied 7.2");
    let good = lab.ours();
    let bad = [
        document(
            3,
            60,
            &[
                route("10.77.0.0/16", 20_000, 2),
                route("10.78.0.0/16", 999, 2),
            ],
        ),
        document(3, 60, &[route("10.80.0.0/16", 20_000, 2)]),
        document(3, 60, &[route("10.78.0.0/16", 20_000, 2)]).replace("20000", "NaN"),
        document(3, 60, &[route("10.78.0.0/16", 20_000, 2)])
            .replace("\"version\"", "\"x\":1,\"version\""),
        document(1, 60, &[route("10.78.0.0/16", 30_000, 2)]),
    ];
    for text in &bad {
        controller.publish(text);
    }
    agent.says("version 7.1 is older than 7.2");
    eventually("all are counted", || {
        [
            ("bounds", 1.0),
            ("prefix", 1.0),
            ("syntax", 2.0),
            ("older", 1.0),
        ]
        .iter()
        .all(|(kind, count)| {
            lab.metric(&format!("documents_refused_total{{reason=\"{kind}\"}}")) == Some(*count)
        })
    });
    assert_eq!(lab.ours(), good);
    controller.publish(&document(3, 60, &[route("10.78.0.0/16", 40_000, 2)]));
    eventually("the next good one", || {
        lab.ours().contains("rto_min lock 40ms")
    });
}

/// A host's own bounds are narrower than the protocol's; and a second agent in its network namespace would undo the first's work.
#[test]
fn a_host_has_bounds_of_its_own_and_one_agent() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let mut agent = lab.agent(
        &controller.url(),
        &["--least-rto-min", "20", "--most-cwnd", "53"],
    );
    agent.says("applied 7.1");
    controller.publish(&document(2, 60, &[route("10.78.0.0/16", 19_999, 2)]));
    agent.says("rto_min_us is 19999: expected 20000 to 1000000");
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().to_str().unwrap();
    let second = lab.agent(&controller.url(), &["--run", run]);
    second.says("another agent runs in this network namespace");
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

/// Who hears that another document is the newest asks for it; who comes again says what it holds.
#[test]
fn asks_for_what_it_missed() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    controller.silence(false);
    eventually("comes again", || controller.streams() == 1);
    assert!(
        controller
            .requests()
            .last()
            .unwrap()
            .contains("Last-Event-ID: 7.1\r\n")
    );
    controller.alive(1);
    controller.alive(2);
    eventually("asks", || {
        controller
            .requests()
            .iter()
            .any(|head| head.starts_with("GET /v1/hosts/h1/routes "))
    });
}

/// As many destinations as a document can have; then one of them changes. For time and memory of an installed program:
/// `OTCP_AGENT=PROGRAM cargo test -p etalon-otcp-agent four_thousand -- --nocapture`.
#[test]
fn four_thousand_destinations() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let mut routes: Vec<String> = (0..4096)
        .map(|i| route(&format!("10.78.{}.{}/32", i / 256, i % 256), 20_000, 2))
        .collect();
    routes.sort();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &routes));
    let mut agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1: 4096 destinations; changed 4096 routes and 4096 BPF entries");
    routes[17] = routes[17].replace("20000", "30000");
    controller.publish(&document(2, 60, &routes));
    agent.says("applied 7.2: 4096 destinations; changed 1 routes and 1 BPF entries");
    eventually("metrics", || lab.metric("document_version") == Some(2.0));
    let resident = lab.metric("resident_bytes").unwrap();
    let peak = lab.metric("peak_bytes").unwrap();
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
    assert!(
        peak <= 10e6 || cfg!(debug_assertions) && peak <= 30e6,
        "{peak} bytes"
    );
    eprintln!(
        "{resident} bytes of memory, at most {peak}\n{}",
        agent.log()
    );
}
