//! The agent on a host: what it sets, and that it leaves the host as it was. As root, in private network namespaces.

mod support;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use support::controller::{Controller, document, route};
use support::{Lab, Space, eventually};

/// Skips the test where a laboratory is not permitted.
macro_rules! lab {
    () => {
        match Lab::new() {
            Some(lab) => lab,
            None => return,
        }
    };
}

/// Accepts and keeps connections; returns the port.
fn server(space: &Space, address: &str) -> u16 {
    let address: IpAddr = address.parse().unwrap();
    let listener = space.run(move || TcpListener::bind(SocketAddr::new(address, 0)).unwrap());
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for stream in listener.incoming().map_while(Result::ok) {
            kept.push(stream);
        }
    });
    port
}

/// A connection from the host's cgroup, held until it is dropped: this test program again, in a part that connects.
fn connect(lab: &Lab, to: &str) -> Connecting {
    let exe = std::env::current_exe().unwrap();
    let mut command = lab.in_cgroup(&[
        exe.to_str().unwrap(),
        "part_that_connects",
        "--exact",
        "--nocapture",
    ]);
    command
        .env("OTCP_TEST_CONNECT", to)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    Connecting(lab.host.run(move || command.spawn().unwrap()))
}

struct Connecting(std::process::Child);

impl Connecting {
    /// Waits until connect() returns: whether it did connect, and how long it took.
    fn wait(&mut self) -> (bool, Duration) {
        use std::io::{BufRead, BufReader};
        let lines = BufReader::new(self.0.stdout.as_mut().unwrap())
            .lines()
            .map_while(Result::ok);
        let line = lines
            .filter_map(|line| {
                line.split_once("connect: ")
                    .map(|(_, rest)| rest.to_owned())
            })
            .next()
            .unwrap();
        let (how, ms) = line.split_once(' ').unwrap();
        (how == "ok", Duration::from_millis(ms.parse().unwrap()))
    }
}

impl Drop for Connecting {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn part_that_connects() {
    let Ok(to) = std::env::var("OTCP_TEST_CONNECT") else {
        return;
    };
    let start = Instant::now();
    let result = TcpStream::connect(to.parse::<SocketAddr>().unwrap());
    println!(
        "connect: {} {}",
        if result.is_ok() { "ok" } else { "failed" },
        start.elapsed().as_millis()
    );
    // Until the test has seen enough.
    let _ = std::io::stdin().lines().next();
}

/// What `ss` says of the host's connection with this address: a value such as `cwnd`.
fn tcp(lab: &Lab, with: &str, key: &str) -> Option<f64> {
    let text = lab.host.sh(&format!("ss -tinHO dst '{with}'"));
    let start = text.find(&format!(" {key}:"))? + key.len() + 2;
    text[start..].split([' ', '/']).next()?.parse().ok()
}

#[test]
fn routes_and_connections_get_parameters_and_the_host_is_as_found_after_sigterm() {
    let lab = lab!();
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
        "10.78.0.0/16 via 10.77.1.2 dev h0 scope global initcwnd 2 rto_min lock 21ms initrwnd 53",
        "10.79.0.0/16 via 10.77.1.2 dev h0 scope global metric 49 initcwnd 3 rto_min lock 6ms initrwnd 53",
    ] {
        assert!(ours.contains(part), "{part}: {ours}");
    }
    assert!(
        ours.contains("fd00:77:1::/64 dev h0 scope global metric 255 initcwnd 4 rto_min lock 30ms"),
        "{ours}"
    );

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

/// Servers get parameters too: over IPv4, IPv6, and IPv4 on a socket for both.
#[test]
fn accepted_connections_get_parameters() {
    let lab = lab!();
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

#[test]
fn after_sigkill_the_next_start_removes_what_is_left() {
    let lab = lab!();
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
    let lab = lab!();
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
    std::thread::sleep(Duration::from_secs(3));
    assert!(lab.ours().contains("rto_min"), "the last good stays");
    agent.says("the controller was not heard for a lifetime");
    let lived = died.elapsed();
    assert!(
        (Duration::from_secs(4)..Duration::from_secs(9)).contains(&lived),
        "{lived:?}"
    );
    eventually("Linux's own", || lab.found() == before);
    // It comes back: with any version, for the agent holds none.
    controller.silence(false);
    agent.says("hears the controller");
    eventually("applied again", || lab.ours().contains("rto_min lock 20ms"));
}

#[test]
fn refused_as_a_whole_counted_and_the_last_good_stays() {
    let lab = lab!();
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

#[test]
fn metrics_that_others_set_stay() {
    let lab = lab!();
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
            "10.78.1.0/24 via 10.77.1.2 dev h0 scope global mtu 1400 initcwnd 20 rto_min lock 20ms"
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
    let lab = lab!();
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
    let lab = lab!();
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
    assert!(!agent.log().contains("somebody"), "{}", agent.log());
}

/// Who hears that another document is the newest asks for it; who comes again says what it holds.
#[test]
fn asks_for_what_it_missed() {
    let lab = lab!();
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

#[test]
fn without_bpf_it_does_the_rest_and_says_so() {
    let lab = lab!();
    let before = lab.settled();
    let controller = Controller::new(&lab.host);
    controller.publish(&document(1, 60, &[route("10.78.0.0/16", 20_000, 2)]));
    let mut agent = lab.agent(&controller.url(), &["--cgroup", "/proc/self"]);
    agent.says("RTOinit and the largest window stay Linux's own; routes get the rest");
    agent.says("applied 7.1: 1 destinations; changed 1 routes and 0 BPF entries");
    agent.signal(Signal::SIGTERM);
    assert_eq!(lab.found(), before);
}

#[test]
fn gives_way_if_its_program_is_detached() {
    let lab = lab!();
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

/// As the systemd unit runs it: an ordinary user with two capabilities.
#[test]
fn two_capabilities_suffice() {
    let lab = lab!();
    let before = lab.settled();
    let run = lab.folder.path().join("run");
    std::fs::create_dir(&run).unwrap();
    std::os::unix::fs::chown(&run, Some(65534), Some(65534)).unwrap();
    std::os::unix::fs::chown(lab.folder.path(), Some(65534), Some(65534)).unwrap();
    let binary = lab.folder.path().join("agent");
    std::fs::copy(env!("CARGO_BIN_EXE_etalon-otcp-agent"), &binary).unwrap();
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

/// The paper's RTOinit alone would have connect() give up after half a second.
#[test]
fn connect_lasts_as_long_as_before() {
    let lab = lab!();
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
    std::thread::sleep(Duration::from_millis(200));
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

/// `--dry-run` and `--check` change nothing.
#[test]
fn says_what_it_would_do_and_does_not() {
    let lab = lab!();
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
        let mut command = Command::new(env!("CARGO_BIN_EXE_etalon-otcp-agent"));
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
