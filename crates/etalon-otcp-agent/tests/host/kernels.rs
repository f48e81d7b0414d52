// SPDX-License-Identifier: MIT OR Apache-2.0
//! With fewer rights, with a lesser kernel, and without changing anything.

use std::process::Command;

use nix::sys::signal::Signal;

use crate::controller::{Controller, document, route};
use crate::lab::{self, Lab};

#[test]
fn without_bpf_it_does_the_rest_and_says_so() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let mut agent = lab.agent(&controller.url(), &["--cgroup", "/proc/self"]);
    agent.says("RTOinit and the largest window stay Linux's own; routes get the rest");
    agent.says("applied 7.1: 1 destinations; changed 1 routes and 0 BPF entries");
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

/// As the systemd unit runs it: an ordinary user with two capabilities.
#[test]
fn two_capabilities_suffice() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let run = lab.folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::os::unix::fs::chown(&run, Some(65534), Some(65534)).unwrap();
    std::os::unix::fs::chown(lab.folder.path(), Some(65534), Some(65534)).unwrap();
    let binary = lab.folder.path().join("agent");
    std::fs::copy(lab::binary(), &binary).unwrap();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let capabilities = [
        "--inh-caps=-all,+net_admin,+bpf",
        "--ambient-caps=-all,+net_admin,+bpf",
        "--bounding-set=-all,+net_admin,+bpf",
    ];
    let user = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
    ];
    let before_it = [&user[..], &capabilities[..]].concat();
    // Where it can read the program: the folder of the build may be root's.
    let mut agent = lab.agent_from(&binary, &before_it, &controller.url(), &[]);
    agent.says("applied 7.1: 1 destinations; changed 1 routes and 1 BPF entries");
    assert!(lab.ours().contains("rto_min lock 20ms"));
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

/// `--dry-run` and `--check` change nothing.
#[test]
fn says_what_it_would_do_and_does_not() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let path = lab.folder.path().join("document.json");
    std::fs::write(
        &path,
        document(
            1,
            60,
            &[
                route("10.78.0.0/16", 1500, 2),
                route("10.90.0.0/16", 20_000, 2),
            ],
        ),
    )
    .unwrap();
    let agent = |more: &[&str]| {
        let mut command = Command::new(lab::binary());
        command
            .args(["--host", "h1", "--cgroup", lab.cgroup.0.to_str().unwrap()])
            .args(more);
        let output = lab.host.output(command);
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (good, text, _) = agent(&["--dry-run", "--document", path.to_str().unwrap()]);
    assert!(good);
    for part in [
        "10.78.0.0/16\n  route   added: rto_min 2 ms, initcwnd 2, initrwnd 53\n  BPF     RTOinit",
        "10.90.0.0/16\n  BPF",
        "the main table has no route to it",
        "to last as long",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let (good, _, why) = agent(&["--dry-run", "--document", "/nonexistent"]);
    assert!(!good && why.contains("--document /nonexistent"), "{why}");
    let (good, text, _) = agent(&["--check"]);
    assert!(good && text.matches("  yes   ").count() == 3, "{text}");
    assert_eq!(lab.found(), before);
}
