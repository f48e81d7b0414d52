// SPDX-License-Identifier: MIT OR Apache-2.0
//! The other end of the reports.

use std::collections::BTreeMap;
use std::net::{SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use etalon_adu::{Kind, LEN, Report};

/// Source and destination of a connection's data.
pub type Connection = (SocketAddrV4, SocketAddrV4);

/// What was heard of one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub total: u64,
    pub closed: bool,
    /// The largest total of all, and whether a total was smaller than the one before.
    pub most: u64,
    pub fell: bool,
}

/// All that was heard: connections, and their writers.
#[derive(Debug, Default)]
pub struct Reports {
    pub of: BTreeMap<Connection, BTreeMap<u64, Heard>>,
    pub count: u64,
    /// Reports for which the system had no room: a busy machine, where the usual room has to do.
    pub dropped: u64,
}

impl Reports {
    /// The totals of a connection's writers together.
    pub fn total(&self, connection: &Connection) -> u64 {
        self.of
            .get(connection)
            .map_or(0, |writers| writers.values().map(|heard| heard.total).sum())
    }

    /// Of all connections.
    pub fn totals(&self) -> BTreeMap<Connection, u64> {
        self.of
            .keys()
            .map(|connection| (*connection, self.total(connection)))
            .collect()
    }

    /// All writers, of whatever connection.
    pub fn writers(&self) -> impl Iterator<Item = &Heard> {
        self.of.values().flat_map(BTreeMap::values)
    }

    fn hear(&mut self, report: &Report) {
        let closed = report.kind == Kind::Closed;
        let total = report.total;
        self.count += 1;
        self.of
            .entry((report.src, report.dst))
            .or_default()
            .entry(report.writer)
            .and_modify(|heard| {
                heard.fell |= total < heard.total;
                heard.most = heard.most.max(total);
                (heard.total, heard.closed) = (total, closed);
            })
            .or_insert(Heard {
                total,
                closed,
                most: total,
                fell: false,
            });
    }
}

/// Datagrams that a socket had no room for, as Linux counts them (`SO_MEMINFO`: /proc/net/udp may miss a socket while others come and go).
fn dropped(socket: &UdpSocket) -> u64 {
    const DROPS: usize = 8;
    let mut counts = [0_u32; DROPS + 1];
    let mut length = size_of_val(&counts) as libc::socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_MEMINFO);
    let room = (&raw mut counts).cast();
    // SAFETY: there is room for `length` bytes.
    let failed =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, room, &raw mut length) };
    assert_eq!(
        (failed, length as usize),
        (0, size_of_val(&counts)),
        "Linux has it"
    );
    counts[DROPS].into()
}

/// Gives a socket room for 64 MiB, if it may have that.
fn widen(socket: &UdpSocket) -> bool {
    let room: libc::c_int = 64 << 20;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_RCVBUFFORCE);
    // SAFETY: `room` lives through the call.
    unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const room).cast(),
            4,
        ) == 0
    }
}

/// An estimator that only sums up.
pub struct Estimator {
    pub address: String,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Reports>,
}

impl Estimator {
    /// Whether its socket has room for all reports that come while it does not run.
    pub fn has_room() -> bool {
        widen(&UdpSocket::bind("127.0.0.1:0").expect("a UDP port"))
    }

    pub fn start() -> Estimator {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a UDP port");
        widen(&socket); // where that is not allowed, the usual room has to do
        socket
            .set_read_timeout(Some(Duration::from_millis(20)))
            .expect("a timeout");
        let address = socket.local_addr().expect("bound").to_string();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut reports = Reports::default();
            let mut datagram = [0; 2048];
            loop {
                // Asked before the queue is seen to be empty: what was sent before the stop is heard.
                let last = stopped.load(Ordering::SeqCst);
                match socket.recv(&mut datagram) {
                    Ok(len) => datagram[..len]
                        .chunks(LEN)
                        .for_each(|bytes| reports.hear(&Report::decode(bytes).expect("a report"))),
                    Err(_) if last => {
                        reports.dropped = dropped(&socket);
                        return reports;
                    }
                    Err(_) => {}
                }
            }
        });
        Estimator {
            address,
            stop,
            thread,
        }
    }

    /// What was heard. The programs must be at their end.
    pub fn stop(self) -> Reports {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().expect("only reports came")
    }
}
