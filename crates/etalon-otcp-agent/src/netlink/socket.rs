// SPDX-License-Identifier: MIT OR Apache-2.0
//! The netlink socket: requests and their answers, and what the kernel tells of itself.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, getsockname,
    recv, sendto, setsockopt, socket, sockopt,
};

use super::route::{self, Route};
use super::tcp_metrics::{self, Entry};
use super::{Builder, DONE, ERROR, Message, flag, messages};

/// Notifications of interfaces, and of IPv4 and IPv6 routes (RTMGRP_LINK, RTMGRP_IPV4_ROUTE, RTMGRP_IPV6_ROUTE).
const ROUTE_GROUPS: u32 = 0x1 | 0x40 | 0x400;
/// As much as the kernel sends at once.
const RECEIVE: usize = 64 * 1024;
/// Requests that are sent at once: their acknowledgements must fit into the socket's buffer.
const BATCH: usize = 64;
/// A dump that the kernel could not make consistent is made again so often.
const DUMPS: usize = 5;

/// What the kernel tells of itself.
#[derive(Clone, Debug)]
pub enum Change {
    /// An interface went up or down, came or went. With it IPv4 routes go without a word.
    Interface,
    /// A unicast route of the main table.
    Route {
        /// Who changed it: the kernel (0) or a socket's port.
        port: u32,
        /// The route as it is now, or was.
        route: Route,
        /// True if it was removed.
        removed: bool,
        /// True if it stands where another one stood.
        replaces: bool,
    },
}

impl Change {
    fn of(message: &Message<'_>) -> Option<Self> {
        match message.kind {
            route::NEW | route::DELETE => Some(Self::Route {
                port: message.port,
                route: Route::decode(message.body)?,
                removed: message.kind == route::DELETE,
                replaces: message.flags & flag::REPLACE != 0,
            }),
            _ => Some(Self::Interface),
        }
    }
}

/// A netlink socket.
#[derive(Debug)]
pub struct Socket {
    fd: OwnedFd,
    sequence: u32,
    buffer: Vec<u8>,
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    fn open(protocol: SockProtocol, groups: u32, flags: SockFlag) -> io::Result<Self> {
        let fd = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            flags | SockFlag::SOCK_CLOEXEC,
            protocol,
        )?;
        bind(fd.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
        Ok(Self {
            fd,
            sequence: 0,
            buffer: vec![0; RECEIVE],
        })
    }

    /// For requests about routes.
    pub fn routes() -> io::Result<Self> {
        Self::open(SockProtocol::NetlinkRoute, 0, SockFlag::empty())
    }

    /// For requests about generic families.
    pub fn generic() -> io::Result<Self> {
        Self::open(SockProtocol::NetlinkGeneric, 0, SockFlag::empty())
    }

    /// Hears of every change of a route. Does not wait.
    pub fn monitor() -> io::Result<Self> {
        let socket = Self::open(
            SockProtocol::NetlinkRoute,
            ROUTE_GROUPS,
            SockFlag::SOCK_NONBLOCK,
        )?;
        setsockopt(&socket.fd, sockopt::RcvBuf, &(1 << 20))?;
        Ok(socket)
    }

    /// The port that notifications name for what this socket asked.
    pub fn port(&self) -> io::Result<u32> {
        Ok(getsockname::<NetlinkAddr>(self.fd.as_raw_fd())?.pid())
    }

    fn receive(&mut self) -> io::Result<usize> {
        loop {
            match recv(self.fd.as_raw_fd(), &mut self.buffer, MsgFlags::empty()) {
                Err(nix::errno::Errno::EINTR) => {}
                other => return Ok(other?),
            }
        }
    }

    fn send(&mut self, requests: Vec<Builder>) -> io::Result<u32> {
        let first = self.sequence.wrapping_add(1);
        let mut bytes = Vec::new();
        for request in requests {
            self.sequence = self.sequence.wrapping_add(1);
            bytes.extend_from_slice(&request.finish(self.sequence));
        }
        sendto(
            self.fd.as_raw_fd(),
            &bytes,
            &NetlinkAddr::new(0, 0),
            MsgFlags::empty(),
        )?;
        Ok(first)
    }

    /// Sends requests that want acknowledgements. Returns for each whether it was done.
    pub fn ask(&mut self, requests: Vec<Builder>) -> io::Result<Vec<io::Result<()>>> {
        let mut results = Vec::with_capacity(requests.len());
        let mut requests = requests.into_iter().peekable();
        while requests.peek().is_some() {
            let batch: Vec<Builder> = requests.by_ref().take(BATCH).collect();
            let count = batch.len();
            let first = self.send(batch)?;
            let mut batch = vec![None; count];
            while batch.iter().any(Option::is_none) {
                let length = self.receive()?;
                for message in messages(&self.buffer[..length]) {
                    let at = message.sequence.wrapping_sub(first) as usize;
                    if let (Some(place), Some(code)) = (batch.get_mut(at), message.error()) {
                        *place = Some(code);
                    }
                }
            }
            results.extend(batch.into_iter().flatten().map(|code| match code {
                0 => Ok(()),
                code => Err(io::Error::from_raw_os_error(code)),
            }));
        }
        Ok(results)
    }

    fn collect<T>(
        &mut self,
        request: Builder,
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<(Vec<T>, bool)> {
        let sequence = self.send(vec![request])?;
        let (mut found, mut consistent) = (Vec::new(), true);
        loop {
            let length = self.receive()?;
            for message in messages(&self.buffer[..length]).filter(|m| m.sequence == sequence) {
                consistent &= message.flags & flag::DUMP_INTR == 0;
                match (message.kind, message.error()) {
                    (ERROR | DONE, Some(0) | None) => return Ok((found, consistent)),
                    (_, Some(code)) => return Err(io::Error::from_raw_os_error(code)),
                    _ => found.extend(read(message)),
                }
            }
        }
    }

    fn dump<T>(
        &mut self,
        request: &Builder,
        read: impl Fn(Message) -> Option<T>,
    ) -> io::Result<Vec<T>> {
        for _ in 0..DUMPS {
            if let (found, true) = self.collect(request.clone(), &read)? {
                return Ok(found);
            }
        }
        Err(io::Error::other(
            "the kernel's table changes too fast to be read",
        ))
    }

    /// All unicast routes of the main table, in the kernel's order.
    pub fn all_routes(&mut self) -> io::Result<Vec<Route>> {
        let mut all = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            let header = [family as u8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let request = Builder::new(route::GET, flag::REQUEST | flag::DUMP, &header);
            let routes = self.dump(&request, |message| {
                (message.kind == route::NEW)
                    .then(|| Route::decode(message.body))
                    .flatten()
            });
            match routes {
                Ok(routes) => all.extend(routes),
                // A kernel without IPv6.
                Err(e)
                    if family == libc::AF_INET6 && e.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(all)
    }

    /// What changed since this was last asked. An error means that some of it is lost.
    pub fn changes(&mut self) -> io::Result<Vec<Change>> {
        let mut changes = Vec::new();
        loop {
            match self.receive() {
                Ok(length) => {
                    changes.extend(messages(&self.buffer[..length]).filter_map(|m| Change::of(&m)));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(changes),
                Err(e) => return Err(e),
            }
        }
    }

    /// The number of the family `tcp_metrics`.
    pub fn tcp_metrics_family(&mut self) -> io::Result<u16> {
        let (found, _) =
            self.collect(tcp_metrics::find_family(), |m| tcp_metrics::family(m.body))?;
        found
            .first()
            .copied()
            .ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }

    /// What the kernel remembers of past connections.
    pub fn tcp_metrics(&mut self, family: u16) -> io::Result<Vec<Entry>> {
        self.dump(&tcp_metrics::dump(family), |m| Entry::decode(m.body))
    }
}
