// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP connections of the laboratory, and what the kernel says of them.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::lab::{Lab, Space};

/// Accepts and keeps connections; returns the port.
pub fn server(space: &Space, address: &str) -> u16 {
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
pub fn connect(lab: &Lab, to: &str) -> Connecting {
    let exe = std::env::current_exe().unwrap();
    let mut command = lab.in_cgroup(&[
        exe.to_str().unwrap(),
        "tcp::part_that_connects",
        "--exact",
        "--nocapture",
    ]);
    command
        .env("OTCP_TEST_CONNECT", to)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    Connecting(lab.host.run(move || command.spawn().unwrap()))
}

pub struct Connecting(std::process::Child);

impl Connecting {
    /// Waits until connect() returns: whether it did connect, and how long it took.
    pub fn wait(&mut self) -> (bool, Duration) {
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
pub fn tcp(lab: &Lab, with: &str, key: &str) -> Option<f64> {
    let text = lab.host.sh(&format!("ss -tinHO dst '{with}'"));
    let start = text.find(&format!(" {key}:"))? + key.len() + 2;
    text[start..].split([' ', '/']).next()?.parse().ok()
}
