// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where the bytes arrive: counts them by connection, which is what the reports are held to.

use std::collections::BTreeMap;
use std::io::Read;
use std::net::{SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::estimator::Connection;

type Received = Arc<Mutex<BTreeMap<Connection, u64>>>;

const PAUSE: Duration = Duration::from_millis(1);

/// A listener that reads all that comes.
pub struct Sink {
    pub port: u16,
    stop: Arc<AtomicBool>,
    read: Arc<AtomicBool>,
    thread: JoinHandle<Vec<JoinHandle<()>>>,
    received: Received,
}

impl Sink {
    pub fn start() -> Sink {
        let sink = Sink::that_does_not_read();
        sink.read();
        sink
    }

    /// Its connections have little room, and nothing is read of them before [`Sink::read`] or the end.
    pub fn that_does_not_read() -> Sink {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a TCP port");
        let room: libc::c_int = 4096;
        // SAFETY: `room` lives through the call.
        unsafe {
            let value = (&raw const room).cast();
            libc::setsockopt(
                listener.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUF,
                value,
                4,
            );
        }
        listener
            .set_nonblocking(true)
            .expect("a listener that does not wait");
        let port = listener.local_addr().expect("bound").port();
        let stop = Arc::new(AtomicBool::new(false));
        let read = Arc::new(AtomicBool::new(false));
        let received = Received::default();
        let (stopped, may_read, all) =
            (Arc::clone(&stop), Arc::clone(&read), Arc::clone(&received));
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            loop {
                // Asked before the queue is seen to be empty: who connected before the stop is accepted.
                let last = stopped.load(Ordering::SeqCst);
                let (stream, peer) = match listener.accept() {
                    Ok(connection) => connection,
                    Err(_) if last => return connections,
                    Err(_) => {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                };
                let (may_read, all) = (Arc::clone(&may_read), Arc::clone(&all));
                connections.push(std::thread::spawn(move || {
                    while !may_read.load(Ordering::SeqCst) {
                        std::thread::sleep(PAUSE);
                    }
                    let bytes = count(&stream);
                    let local = stream.local_addr().expect("connected");
                    all.lock()
                        .expect("counts")
                        .insert((v4(peer), v4(local)), bytes);
                }));
            }
        });
        Sink {
            port,
            stop,
            read,
            thread,
            received,
        }
    }

    pub fn read(&self) {
        self.read.store(true, Ordering::SeqCst);
    }

    /// What arrived, when all connections are at their end; the programs must be. Those without a byte are left out.
    pub fn stop(self) -> BTreeMap<Connection, u64> {
        self.read();
        self.stop.store(true, Ordering::SeqCst);
        for connection in self.thread.join().expect("accepted") {
            connection.join().expect("read");
        }
        let mut received = std::mem::take(&mut *self.received.lock().expect("counts"));
        received.retain(|_, bytes| *bytes > 0);
        received
    }
}

/// Bytes until the end of a stream. Its end may be a reset, if its program was killed.
fn count(mut stream: &TcpStream) -> u64 {
    let mut data = vec![0; 1 << 16];
    let mut bytes = 0;
    loop {
        match stream.read(&mut data) {
            Ok(0) | Err(_) => return bytes,
            Ok(more) => {
                // A report that strays into a stream would be seen here.
                assert!(
                    !data[..more].windows(4).any(|four| four == b"ADU1"),
                    "a report in a stream"
                );
                bytes += more as u64;
            }
        }
    }
}

pub fn v4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(address) => panic!("{address} is not IPv4"),
    }
}
