// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a write costs with and without libadu, over loopback: `cargo run --release -p libadu --example cost`.
//!
//! Both are measured in turn, in processes of their own, while an estimator reads the reports. Ratios of one run can
//! be compared, times cannot: machines are noisy.

use std::env;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::time::Instant;

/// Bytes of a write, and how many are timed.
const CASES: [(usize, u32); 2] = [(1, 100_000), (128 * 1024, 10_000)];
const ROUNDS: usize = 7;

fn main() {
    if let Some(bytes) = env::args().nth(1) {
        let bytes = bytes.parse().expect("a number of bytes");
        let case = CASES.iter().find(|case| case.0 == bytes).expect("a case");
        println!("{}", nanoseconds(case.0, case.1));
        return;
    }
    let program = env::current_exe().expect("the program's own path");
    let target = program.ancestors().nth(2).expect("in a target directory");
    let library = target.join("deps/libadu.so");
    assert!(
        library.exists(),
        "{} is not there: cargo build -p libadu",
        library.display()
    );
    let estimator = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = estimator.local_addr().expect("bound").to_string();
    std::thread::spawn(move || while estimator.recv(&mut [0; 64]).is_ok() {});
    println!("bytes  alone [ns]  with libadu [ns]  ratio (medians of {ROUNDS})");
    for (bytes, _) in CASES {
        let measure = |preloaded: bool| {
            let mut command = Command::new(&program);
            command.arg(bytes.to_string());
            if preloaded {
                command
                    .env("LD_PRELOAD", &library)
                    .env("ETALON_ADU", &address);
            }
            let output = command.output().expect("starts");
            let text = String::from_utf8(output.stdout).expect("text");
            text.trim().parse::<u64>().expect("a time")
        };
        let mut rounds: Vec<_> = (0..ROUNDS)
            .map(|_| (measure(false), measure(true)))
            .collect();
        let ratio = |round: &(u64, u64)| round.1 as f64 / round.0 as f64;
        rounds.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
        let middle = rounds[ROUNDS / 2];
        println!(
            "{bytes:6} {:11} {:17} {:6.2}",
            middle.0,
            middle.1,
            ratio(&middle)
        );
    }
}

/// Time of one write, on average.
fn nanoseconds(bytes: usize, count: u32) -> u128 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
    stream.set_nodelay(true).expect("set");
    let (mut peer, _) = listener.accept().expect("connected");
    let reader = std::thread::spawn(move || {
        let mut data = vec![0; 1 << 20];
        while peer.read(&mut data).is_ok_and(|len| len > 0) {}
    });
    let data = vec![0; bytes];
    stream.write_all(&data).expect("written");
    let begin = Instant::now();
    for _ in 0..count {
        stream.write_all(&data).expect("written");
    }
    let time = begin.elapsed();
    drop(stream);
    reader.join().expect("read");
    time.as_nanos() / u128::from(count)
}
