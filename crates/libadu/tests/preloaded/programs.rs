// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real programs: what they say of themselves is what libadu has told of them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::estimator::{Connection, Estimator, Reports};
use crate::installed::installed;
use crate::run::{preloaded, run};
use crate::sink::Sink;

/// Bytes that iperf3's client sends before its data, to name its test.
const COOKIE: u64 = 37;

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("bound")
        .port()
}

/// A server, which does not outlive the test.
struct Server(Child);

impl Server {
    fn start(mut command: Command) -> Server {
        let streams = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        Server(streams.spawn().expect("starts"))
    }

    fn wait(&mut self) {
        assert!(
            self.0.wait().expect("waited for").success(),
            "the server failed"
        );
    }

    /// Asks it to end. Killed, it could not close its connections.
    fn terminate(&mut self) {
        // SAFETY: a signal to a child that has not been waited for.
        unsafe { libc::kill(self.0.id() as libc::pid_t, libc::SIGTERM) };
        self.0.wait().expect("waited for");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail if it is gone already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// iperf3 between two preloaded programs, by connection of a stream: what its sender says that it sent.
fn iperf3(options: &[&str]) -> Option<(Value, Reports)> {
    let program = installed("iperf3", "iperf3")?;
    let estimator = Estimator::start();
    let port = free_port().to_string();
    let mut command = Command::new(&program);
    command.args(["-s", "-1", "--forceflush", "-p", &port]);
    let mut server = Server::start(preloaded(command, &estimator.address));
    let out = server.0.stdout.take().expect("piped");
    let mut lines = BufReader::new(out).lines().map(|line| line.expect("text"));
    assert!(
        lines.any(|line| line.starts_with("Server listening")),
        "iperf3 does not listen"
    );
    let mut command = Command::new(&program);
    command
        .args(["-c", "127.0.0.1", "-J", "-p", &port])
        .args(options);
    let result = run(preloaded(command, &estimator.address));
    let rest = std::thread::spawn(move || lines.count());
    server.wait();
    rest.join().expect("read to its end");
    let result = serde_json::from_str(&result).expect("JSON");
    Some((result, estimator.stop()))
}

/// Holds each stream's total to what its sender counted. `to_server`: the direction of the data.
fn held_to_iperf3(options: &[&str], streams: usize, to_server: bool) -> Option<Reports> {
    let (result, reports) = iperf3(options)?;
    let number = |value: &Value| value.as_u64().expect("a number");
    let mut sent = BTreeMap::new();
    for stream in result["end"]["streams"].as_array().expect("streams") {
        sent.insert(
            number(&stream["sender"]["socket"]),
            number(&stream["sender"]["bytes"]),
        );
    }
    assert_eq!(sent.len(), streams);
    for stream in result["start"]["connected"].as_array().expect("streams") {
        let bytes = sent[&number(&stream["socket"])];
        assert!(bytes > 1_000_000, "{options:?}: iperf3 sent {bytes} bytes");
        let end = |host: &str, port: &str| {
            let host = stream[host]
                .as_str()
                .expect("a host")
                .trim_start_matches("::ffff:");
            format!("{host}:{}", number(&stream[port]))
                .parse()
                .expect("an address")
        };
        let (client, server) = (
            end("local_host", "local_port"),
            end("remote_host", "remote_port"),
        );
        let (forth, back) = (
            reports.total(&(client, server)),
            reports.total(&(server, client)),
        );
        if to_server {
            assert_eq!((forth, back), (bytes + COOKIE, 0), "{options:?}");
        } else {
            assert_eq!((forth, back), (COOKIE, bytes), "{options:?}");
        }
    }
    Some(reports)
}

#[test]
fn iperf3_to_its_server() {
    held_to_iperf3(&["-n", "20M"], 1, true);
    held_to_iperf3(&["-t", "1", "-l", "1M", "-w", "16K"], 1, true);
}

#[test]
fn iperf3_from_its_server() {
    held_to_iperf3(&["-R", "-n", "20M"], 1, false);
}

#[test]
fn iperf3_with_parallel_streams() {
    held_to_iperf3(&["-P", "4", "-n", "40M"], 4, true);
    held_to_iperf3(&["-P", "4", "-R", "-n", "40M"], 4, false);
}

#[test]
fn iperf3_with_sendfile() {
    if let Some(reports) = held_to_iperf3(&["--zerocopy", "-n", "20M"], 1, true) {
        assert!(reports.writers().all(|heard| heard.closed));
    }
}

/// The daemon sends. Both ends of each flow are its own, and each flow goes both ways.
#[test]
fn flowgrind_both_ways() {
    const BLOCK: u64 = 8192;
    let controller = installed("flowgrind", "flowgrind");
    let (Some(controller), Some(daemon)) = (controller, installed("flowgrindd", "flowgrind"))
    else {
        return;
    };
    let estimator = Estimator::start();
    let port = free_port();
    let mut command = Command::new(daemon);
    command.args(["-d", "-b", "127.0.0.1", "-p", &port.to_string()]);
    let mut daemon = Server::start(preloaded(command, &estimator.address));
    let begin = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            begin.elapsed() < Duration::from_secs(10),
            "flowgrindd does not listen"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut command = Command::new(controller);
    let ends = format!("b=127.0.0.1/127.0.0.1:{port}");
    command.args(["-n", "3", "-Q", "-H", &ends, "-T", "b=0.5", "-R", "b=200Mb"]);
    let out = run(command);
    daemon.terminate();
    let reports = estimator.stop();
    let flows: BTreeMap<Connection, u64> = reports
        .totals()
        .into_iter()
        .filter(|((src, _), _)| src.port() != port)
        .collect();
    let mut told: Vec<u64> = flows.into_values().map(|bytes| bytes / BLOCK).collect();
    told.sort_unstable();
    // "request blocks = 123/456 [#] (out/in)", of each end of each flow. The last block may have been cut off.
    let blocks = out
        .lines()
        .filter_map(|line| line.split_once("request blocks = "));
    let mut said: Vec<u64> = blocks
        .map(|(_, rest)| {
            rest.split('/')
                .next()
                .and_then(|out| out.parse().ok())
                .expect("a number")
        })
        .collect();
    said.sort_unstable();
    assert!(said.len() == 6 && said[0] > 100, "{out}");
    assert_eq!(told, said);
}

#[test]
fn python_sends_what_arrives() {
    let sends = "import socket, sys\n\
        s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n\
        s.sendall(bytes(1_000_000))\n\
        s.sendmsg([bytes(1000), bytes(2000)])\n\
        s.sendfile(open('/proc/self/exe', 'rb'))\n\
        s.close()";
    let Some(python) = installed("python3", "python3") else {
        return;
    };
    let (sink, estimator) = (Sink::start(), Estimator::start());
    let mut command = Command::new(python);
    command.args(["-c", sends, &sink.port.to_string()]);
    run(preloaded(command, &estimator.address));
    let (received, reports) = (sink.stop(), estimator.stop());
    assert!(received.values().sum::<u64>() > 1_003_000);
    assert_eq!(reports.totals(), received);
}

#[test]
fn a_shell_and_its_children_notice_nothing() {
    let script =
        "exec 5>/dev/null; echo a | cat; (echo b >&5; echo c); ls -d / 2>&1; echo $(echo d)";
    let shell = |library: bool| {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(if library {
            preloaded(command, "127.0.0.1:9")
        } else {
            command
        })
    };
    assert_eq!(shell(true), shell(false));
    assert_eq!(shell(true), "a\nc\n/\nd\n");
}
