// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs on emulated hosts.

use super::installed::installed;
use super::*;

#[test]
#[ignore = "needs a kernel"]
fn programs_run_on_hosts_in_virtual_time() {
    let program = |(rack, host): (u16, u16), start_ns, command: &str| Program {
        rack,
        host,
        command: ["sh", "-c", command].map(String::from).to_vec(),
        start: Time(start_ns),
        ..Program::default()
    };
    let options = Options {
        programs: vec![
            program((0, 1), 0, "hostname; sleep 0.02; echo late >&2; exit 3"),
            program(
                (1, 0),
                5_000_000,
                "cat /etc/debian_version > /dev/null; pwd; kill -9 $$",
            ),
            program((1, 2), 0, "sleep 1000"),
            program((1, 3), 0, "not-a-command"),
        ],
        folder: Some("/usr".into()),
        verify: true,
        ..Options::default()
    };
    let run = ran(&dumbbell(&json!([])), &options);
    let [one, two, three, four] = &run.programs[..] else {
        panic!("four programs")
    };
    assert_eq!((one.status, &one.stdout[..]), (Some(3), &b"r0h1\n"[..]));
    assert_eq!(&one.stderr[..], b"late\n");
    assert!(
        one.end_ns
            .is_some_and(|t| (20_000_000..30_000_000).contains(&t)),
        "{one:?}"
    );
    assert_eq!((two.status, &two.stdout[..]), (Some(137), &b"/usr\n"[..]));
    assert!(two.end_ns >= Some(5_000_000));
    assert_eq!(three.stdout, b"");
    assert_eq!(four.status, Some(127));
}

/// What Open vSwitch and OTCP's agent take for granted.
#[test]
#[ignore = "needs a kernel"]
fn programs_make_hosts_devices_and_cgroups() {
    let programs = [
        ("ip", "iproute2"),
        ("tc", "iproute2"),
        ("ping", "iputils-ping"),
    ];
    let is_missing = |&(program, package): &(&str, &str)| installed(program, package).is_none();
    if programs.iter().any(is_missing) {
        return;
    }
    let options = Options {
        programs: vec![bash(
            (0, 0),
            "set -e
            ip netns add inner
            ip link add outside type veth peer name inside netns inner
            ip tuntap add tap0 mode tap
            tc qdisc add dev outside root netem delay 200us
            mount -t cgroup2 none /mnt
            mkdir /mnt/inner
            ip addr add 192.0.2.1/24 dev outside
            ip -n inner addr add 192.0.2.2/24 dev inside
            ip link set outside up
            ip -n inner link set inside up
            ping -q -c 2 -i 0.01 192.0.2.2 | tail -1",
        )],
        ..Options::default()
    };
    let run = ran(&dumbbell(&json!([])), &options);
    let said = String::from_utf8_lossy(&run.programs[0].stdout);
    assert!(
        said.starts_with("rtt min/avg/max/mdev = 0.2"),
        "{:?}",
        run.programs[0]
    );
}

#[test]
#[ignore = "needs a kernel"]
fn programs_are_not_given_the_ports_of_flows() {
    let options = Options {
        programs: vec![bash(
            (1, 1),
            "cat /proc/sys/net/ipv4/ip_local_reserved_ports",
        )],
        ..Options::default()
    };
    let run = ran(&dumbbell(&bulk("cubic", 4)), &options);
    assert_eq!(run.programs[0].stdout, b"5001,40001-40004\n");
}

/// A script of bash, which can send UDP.
pub fn bash((rack, host): (u16, u16), script: &str) -> Program {
    Program {
        rack,
        host,
        command: ["bash", "-c", script].map(String::from).to_vec(),
        start: Time(0),
        ..Program::default()
    }
}
