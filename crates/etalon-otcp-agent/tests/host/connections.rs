// SPDX-License-Identifier: MIT OR Apache-2.0
//! What connections get.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::controller::{Controller, document, route};
use crate::lab::{Lab, eventually};
use crate::tcp::{connect, server, tcp};

/// Servers get parameters too: over IPv4, IPv6, and IPv4 on a socket for both.
#[test]
fn accepted_connections_get_parameters() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(
        1,
        60,
        &[
            route("10.77.1.2/32", 20_000, 2),
            route("fd00:77:1::2/128", 20_000, 3),
        ],
    ));
    let agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    // The server must run in the cgroup: a listener is of the cgroup that it was made in.
    let mut shell = lab.in_cgroup(&["python3", "-c", "
import socket, time
listeners = [socket.create_server(('0.0.0.0', 5001)), socket.create_server(('::', 5002), family=socket.AF_INET6, dualstack_ipv6=True)]
print('ready', flush=True)
kept = [l.accept() for l in (listeners[0], listeners[1], listeners[1])]
print('accepted', flush=True)
time.sleep(60)
"]);
    let mut child = lab
        .host
        .run(move || shell.stdout(std::process::Stdio::piped()).spawn().unwrap());
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let kept: Vec<TcpStream> = lab.peer.run(|| {
        let to = ["10.77.1.1:5001", "10.77.1.1:5002", "[fd00:77:1::1]:5002"];
        to.map(|to| TcpStream::connect(to.parse::<SocketAddr>().unwrap()).unwrap())
            .into()
    });
    assert_eq!(lines.next().unwrap().unwrap(), "accepted");
    let text = lab.host.sh("ss -tinHO state established");
    child.kill().unwrap();
    child.wait().unwrap();
    drop(kept);
    let windows = |address: &str| {
        let lines = text.lines().filter(|line| line.contains(address));
        lines
            .map(|line| {
                line.split(" cwnd:")
                    .nth(1)
                    .unwrap()
                    .split(' ')
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(windows(" 10.77.1.1:5001"), ["2"], "{text}");
    assert_eq!(windows(" [::ffff:10.77.1.1]:5002"), ["2"], "{text}");
    assert_eq!(windows(" [fd00:77:1::1]:5002"), ["3"], "{text}");
    eventually("all three are counted", || {
        lab.metric("connections_total") == Some(3.0)
    });
}

/// By route: new connections have it, both ways of opening; what others set on a route stays.
#[test]
fn connections_get_a_congestion_control() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.settled();
    let port = server(&lab.peer, "0.0.0.0");
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.77.1.2/32", 20_000, 2)]));
    let opened = || {
        lab.host.sh(&format!(
            "python3 -c \"import socket; s = socket.create_connection(('10.77.1.2', {port})); \
             print(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode())\""
        ))
    };
    let usual = opened();
    let other = if usual.trim() == "reno" {
        "cubic"
    } else {
        "reno"
    };
    let mut agent = lab.agent(&controller.url(), &["--congestion-control", other]);
    agent.says("applied 7.1");
    assert!(
        lab.ours().contains(&format!("congctl {other}")),
        "{}",
        lab.ours()
    );
    assert_eq!(opened().trim(), other);
    agent.signal(nix::sys::signal::Signal::SIGTERM);
    assert_eq!(lab.found(), before);
    assert_eq!(opened(), usual);
}

/// The paper's RTOinit alone would have connect() give up after half a second.
#[test]
fn connect_lasts_as_long_as_before() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let port = server(&lab.peer, "0.0.0.0");
    let syn_retries = |count: u32| {
        lab.host.sh(&format!(
            "echo {count} > /proc/sys/net/ipv4/tcp_syn_retries"
        ))
    };
    // Nobody answers at this address: how long does Linux try by itself, with one retransmission?
    syn_retries(1);
    let mut plain = connect(&lab, &format!("10.78.9.8:{port}"));
    let (connected, usual) = plain.wait();
    assert!(!connected);

    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 1000, 2)]));
    let agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    let mut short = connect(&lab, &format!("10.78.9.8:{port}"));
    eventually("it tries", || tcp(&lab, "10.78.9.8", "rto").is_some());
    syn_retries(6);
    let start = Instant::now();
    let mut away = connect(&lab, &format!("10.78.9.9:{port}"));
    std::thread::sleep(Duration::from_secs(1));
    let syns = tcp(&lab, "10.78.9.9", "rto");
    assert!(
        syns.is_none_or(|rto| rto != 1000.0),
        "the first timeout is short: {syns:?}"
    );
    std::thread::sleep(Duration::from_secs(9));
    lab.peer.sh("ip addr add 10.78.9.9/32 dev lo");
    let back = start.elapsed();
    let (connected, took) = away.wait();
    assert!(connected, "gave up after {took:?}");
    assert!(
        took + Duration::from_secs(1) >= back,
        "{took:?}: the server was away until {back:?}"
    );
    let (connected, mended) = short.wait();
    assert!(!connected);
    assert!(
        mended + Duration::from_millis(50) >= usual && mended < usual * 2 + Duration::from_secs(1),
        "{usual:?} {mended:?}"
    );
    eprintln!(
        "connect() gives up after {usual:?} without the agent, {mended:?} with it; a server away for {back:?} was reached after {took:?}"
    );
}

/// A program's own TCP_SYNCNT lasts as long as before too, also at its second connect() with the same socket.
#[test]
fn what_programs_ask_for_stays() {
    let Some(lab) = Lab::new() else { return };
    lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 1000, 2)]));
    let agent = lab.agent(&controller.url(), &[]);
    agent.says("applied 7.1");
    let script = "
import socket, time
s = socket.socket()
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_SYNCNT, 1)
for _ in range(2):
    start = time.monotonic()
    assert s.connect_ex(('10.78.9.8', 80))
    print(time.monotonic() - start)
";
    let output = lab.host.output(lab.in_cgroup(&["python3", "-c", script]));
    let text = String::from_utf8(output.stdout).unwrap();
    let took: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(took.len(), 2, "{}", String::from_utf8_lossy(&output.stderr));
    // 1 + 2 s by Linux itself.
    assert!(
        took.iter().all(|seconds| (3.0..7.0).contains(seconds)),
        "{took:?}"
    );
}
