// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program hands over: counted before the call that does it, corrected after it.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::AtomicPtr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use etalon_adu::{Kind, Report};
use libc::c_int;

use crate::control;
use crate::errno;
use crate::socket::{self, Connection, Socket};
use crate::table::{Entry, Table, Writer};

/// Linux moves no more than this in one call (`MAX_RW_COUNT`), whatever is asked for.
const MOST: u64 = 0x7fff_f000;

/// How often a report is followed by another, because other threads have changed the total meanwhile.
const REPEATS: u32 = 8;

/// The table, if there is an estimator.
static TABLE: AtomicPtr<Table> = AtomicPtr::new(core::ptr::null_mut());

/// Whether the process has, or had, sockets: until then `write` is passed on without a question to the kernel.
static SOCKETS: AtomicBool = AtomicBool::new(false);

/// Begins to count.
pub fn start(table: &'static Table, sockets: bool) {
    SOCKETS.store(sockets, Relaxed);
    TABLE.store(core::ptr::from_ref(table).cast_mut(), Release);
}

/// The process has a socket from now on.
pub fn a_socket() {
    SOCKETS.store(true, Relaxed);
}

/// Whether a descriptor may be one of a socket.
pub fn may_be_socket() -> bool {
    SOCKETS.load(Relaxed)
}

/// Whether anything is counted.
pub fn counts() -> bool {
    table().is_some()
}

fn table() -> Option<&'static Table> {
    // SAFETY: null, or what `start` was given.
    unsafe { TABLE.load(Acquire).as_ref() }
}

/// What is to be done after a call.
#[must_use]
#[derive(Clone, Copy)]
pub enum HandedOver {
    /// Nothing: it does not count.
    Nothing,
    /// The socket was not connected; the call may have connected it (`MSG_FASTOPEN`).
    Perhaps(c_int),
    /// Take back what was not taken of these bytes.
    Counted(Writer<'static>, u64),
    /// The same, with a writer for this call only.
    Once(Connection, u64, u64),
}

/// The program is about to hand `bytes` over through `fd`.
pub fn before(fd: c_int, bytes: u64) -> HandedOver {
    match table() {
        Some(table) if fd >= 0 && bytes > 0 => errno::kept(|| count(table, fd, bytes.min(MOST))),
        _ => HandedOver::Nothing,
    }
}

/// The call has returned, and its stack has taken `taken` bytes (none if that is negative).
pub fn after(handed: HandedOver, taken: i64) {
    let taken = u64::try_from(taken).unwrap_or(0);
    match handed {
        HandedOver::Nothing => {}
        HandedOver::Perhaps(_) if taken == 0 => {}
        HandedOver::Perhaps(fd) => {
            if let once @ HandedOver::Once(..) = before(fd, taken) {
                after(once, taken as i64);
            }
        }
        HandedOver::Counted(_, bytes) if taken >= bytes => {}
        HandedOver::Counted(writer, bytes) => errno::kept(|| {
            if let Some(writer) = writer.take_back(bytes - taken) {
                tell(writer);
            }
        }),
        HandedOver::Once(connection, name, bytes) => {
            errno::kept(|| send(Kind::Closed, connection, name, taken.min(bytes)));
        }
    }
}

/// The program writes no more through `fd`.
pub fn end(fd: c_int) {
    let Some(table) = table().filter(|_| fd >= 0) else {
        return;
    };
    if let Some(writer) = table.slot(fd).close() {
        errno::kept(|| tell(writer));
    }
}

/// Whether the program has written through `fd`, and the calling process is the one for which it counts: a child of
/// `vfork` closes its own descriptors, not its parent's.
pub fn is_writer(fd: c_int) -> bool {
    let Some(table) = table().filter(|_| fd >= 0) else {
        return false;
    };
    table.slot(fd).is_open() && table.process() == Some(process())
}

fn count(table: &'static Table, fd: c_int, bytes: u64) -> HandedOver {
    let Some(cookie) = socket::cookie(fd) else {
        return HandedOver::Nothing;
    };
    let slot = table.slot(fd);
    let mut seen = None;
    loop {
        let takeover = match slot.add(cookie, bytes) {
            Entry::Counted(writer) => {
                tell(writer);
                return HandedOver::Counted(writer, bytes);
            }
            Entry::NotAccounted => return HandedOver::Nothing,
            Entry::Unknown(takeover) => Some(takeover),
            Entry::Busy => None,
        };
        let connection = match seen.get_or_insert_with(|| socket::look(fd)) {
            Socket::Connected(connection) => Some(*connection),
            Socket::Other => None,
            Socket::Unconnected => return HandedOver::Perhaps(fd),
        };
        let Some(takeover) = takeover else {
            let Some(connection) = connection else {
                return HandedOver::Nothing;
            };
            let name = name(table);
            send(Kind::Written, connection, name, bytes);
            return HandedOver::Once(connection, name, bytes);
        };
        // Names are for writers; the slot of another socket does without.
        let name = connection.map_or(0, |_| name(table));
        if let Some((writer, past)) = takeover.take(cookie, connection, name, bytes) {
            if let Some(past) = past {
                send(Kind::Closed, past.connection, past.name, past.total);
            }
            if connection.is_none() {
                return HandedOver::Nothing;
            }
            tell(writer);
            return HandedOver::Counted(writer, bytes);
        }
    }
}

fn name(table: &Table) -> u64 {
    table.name(process, || {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` lives through the call.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
        now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
    })
}

fn process() -> u32 {
    // SAFETY: no memory is involved.
    unsafe { libc::syscall(libc::SYS_getpid) as u32 }
}

/// Reports a writer's total. Threads that write through the same descriptor may overtake each other between the table and
/// the network: who sees after its report that the total has changed reports again, so that the last report to leave
/// is the right one. Not for ever: a thread must not be held up by the others.
fn tell(writer: Writer<'_>) {
    let mut now = writer;
    for _ in 0..REPEATS {
        let kind = if now.closed {
            Kind::Closed
        } else {
            Kind::Written
        };
        send(kind, now.connection, now.name, now.total);
        match now.changed() {
            Some(changed) => now = changed,
            None => return,
        }
    }
}

fn send(kind: Kind, connection: Connection, writer: u64, total: u64) {
    let Connection { src, dst } = connection;
    control::send(&Report {
        kind,
        src,
        dst,
        writer,
        total,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;
    use std::net::{TcpListener, TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    #[test]
    fn a_write_that_finds_its_slot_being_filled_has_a_writer_of_its_own() {
        let table: &Table = Box::leak(table::empty());
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(listener.local_addr().expect("bound")).expect("connects");
        let fd = stream.as_raw_fd();
        table.slot(fd).fill();
        let names = [100, 200].map(|bytes| match count(table, fd, bytes) {
            HandedOver::Once(connection, name, counted) => {
                assert_eq!(counted, bytes);
                assert_eq!(
                    connection.src.port(),
                    stream.local_addr().expect("bound").port()
                );
                name
            }
            _ => panic!("the slot is busy"),
        });
        assert_ne!(names[0], names[1]);
        let udp = UdpSocket::bind("127.0.0.1:0").expect("a port");
        table.slot(udp.as_raw_fd()).fill();
        assert!(matches!(
            count(table, udp.as_raw_fd(), 1),
            HandedOver::Nothing
        ));
    }
}
