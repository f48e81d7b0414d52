// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program in the kernel: its maps, and the link that holds it to a cgroup.
//!
//! Nothing is pinned: the link is a descriptor of this process, so that the kernel detaches the program when the agent
//! ends, however it ends.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::program::{self, COUNTS, Count, ENTRY_SIZE, Entry, Maps, SOCKET_VALUE_SIZE};
use crate::prefix::Prefix;
use crate::sys::{self, Arguments, Command};

const ARRAY: u32 = 2;
const LPM_TRIE: u32 = 11;
const SK_STORAGE: u32 = 24;
const NO_PREALLOC: u32 = 1;
const SOCK_OPS: u32 = 13;
const CGROUP_SOCK_OPS: u32 = 3;
/// The most destinations of each family.
pub const MAX_ENTRIES: u32 = 16384;
/// What the verifier may say of a program that it refuses.
const LOG: usize = 64 * 1024;

/// A map, with the sizes that its calls are checked against.
#[derive(Debug)]
struct Map {
    fd: OwnedFd,
    key_size: usize,
    value_size: usize,
}

impl Map {
    fn new(
        kind: u32,
        name: &str,
        key_size: u32,
        value_size: u32,
        entries: u32,
        flags: u32,
    ) -> io::Result<Self> {
        Self::with_types(kind, name, [key_size, value_size], entries, flags, None)
    }

    fn with_types(
        kind: u32,
        name: &str,
        [key_size, value_size]: [u32; 2],
        entries: u32,
        flags: u32,
        btf: Option<BorrowedFd>,
    ) -> io::Result<Self> {
        let mut arguments = Arguments::default()
            .number(0, kind)
            .number(4, key_size)
            .number(8, value_size)
            .number(12, entries)
            .number(16, flags)
            .name(28, name);
        if let Some(btf) = btf {
            arguments = arguments
                .descriptor(48, btf)
                .number(52, KEY_TYPE)
                .number(56, VALUE_TYPE);
        }
        Ok(Self {
            fd: sys::map_create(arguments)?,
            key_size: key_size as usize,
            value_size: value_size as usize,
        })
    }

    fn arguments<'a>(&'a self, key: &'a [u8]) -> Arguments<'a> {
        assert_eq!(key.len(), self.key_size);
        Arguments::default()
            .descriptor(0, self.fd.as_fd())
            .input(8, key)
    }

    fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!(value.len(), self.value_size);
        sys::call(Command::MapUpdate, self.arguments(key).input(16, value))
    }

    fn get(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value_size];
        sys::call(
            Command::MapLookup,
            self.arguments(key).output(16, &mut value),
        )?;
        Ok(value)
    }

    fn remove(&self, key: &[u8]) -> io::Result<()> {
        match sys::call(Command::MapDelete, self.arguments(key)) {
            Err(e) if e.raw_os_error() != Some(libc::ENOENT) => Err(e),
            _ => Ok(()),
        }
    }
}

const KEY_TYPE: u32 = 1;
const VALUE_TYPE: u32 = 2;

/// Type information that the kernel asks of maps of sockets: an integer of four bytes, the key, and one of eight, the value
/// (Linux, `Documentation/bpf/btf`).
fn btf() -> Vec<u8> {
    const INTEGER: u32 = 1 << 24;
    let types = [[1, INTEGER, 4, 32], [5, INTEGER, SOCKET_VALUE_SIZE, 64]].concat();
    let names = b"\0int\0long\0";
    let header: [u32; 5] = [
        24,
        0,
        4 * types.len() as u32,
        4 * types.len() as u32,
        names.len() as u32,
    ];
    let mut bytes = 0xeb9f_u16.to_ne_bytes().to_vec();
    bytes.extend_from_slice(&[1, 0]);
    for word in header.iter().chain(&types) {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.extend_from_slice(names);
    bytes
}

fn sockets() -> io::Result<Map> {
    let bytes = btf();
    let btf = sys::btf_load(
        Arguments::default()
            .input(0, &bytes)
            .number(16, bytes.len() as u32),
    )?;
    Map::with_types(
        SK_STORAGE,
        "otcp_sockets",
        [4, SOCKET_VALUE_SIZE],
        0,
        NO_PREALLOC,
        Some(btf.as_fd()),
    )
}

fn load(code: &[u8]) -> io::Result<OwnedFd> {
    let arguments = || {
        Arguments::default()
            .number(0, SOCK_OPS)
            .number(4, (code.len() / 8) as u32)
            .input(8, code)
            .input(16, b"Dual MIT/GPL\0")
            .name(48, "otcp")
            .number(68, CGROUP_SOCK_OPS)
    };
    sys::program_load(arguments()).map_err(|error| {
        // Once more, for what the verifier has to say.
        let mut log = vec![0; LOG];
        let _ = sys::program_load(
            arguments()
                .number(24, 1)
                .number(28, LOG as u32)
                .output(32, &mut log),
        );
        let text = String::from_utf8_lossy(&log);
        // The last line is about the verifier's work, the one before it about the program.
        let lines = text.trim_end_matches('\0').lines().rev();
        let why = lines
            .map(str::trim)
            .find(|line| !line.is_empty() && !line.starts_with("processed"))
            .unwrap_or_default();
        io::Error::new(
            error.kind(),
            format!("the kernel refuses the BPF program: {error}: {why}"),
        )
    })
}

/// The key of a prefix in a trie: its length, then its address.
fn key(prefix: &Prefix) -> Vec<u8> {
    let mut key = u32::from(prefix.length()).to_ne_bytes().to_vec();
    match prefix.address() {
        IpAddr::V4(a) => key.extend_from_slice(&a.octets()),
        IpAddr::V6(a) => key.extend_from_slice(&a.octets()),
    }
    key
}

/// The program, attached to a cgroup.
#[derive(Debug)]
pub struct Attached {
    v4: Map,
    v6: Map,
    counts: Map,
    link: OwnedFd,
    entries: BTreeMap<Prefix, Entry>,
}

impl Attached {
    /// Loads the program, and attaches it to all processes in the cgroup and below; of these only connections of the
    /// network namespace with this cookie are touched.
    pub fn new(cgroup: &File, namespace: u64) -> io::Result<Self> {
        let trie = |name, key_size| {
            Map::new(
                LPM_TRIE,
                name,
                key_size,
                ENTRY_SIZE as u32,
                MAX_ENTRIES,
                NO_PREALLOC,
            )
        };
        let (v4, v6) = (trie("otcp_v4", 8)?, trie("otcp_v6", 20)?);
        let counts = Map::new(ARRAY, "otcp_counts", 4, 8, COUNTS, 0)?;
        let sockets = sockets()?;
        let maps = Maps {
            v4: v4.fd.as_raw_fd(),
            v6: v6.fd.as_raw_fd(),
            counts: counts.fd.as_raw_fd(),
            sockets: sockets.fd.as_raw_fd(),
        };
        let program = load(&program::assemble(maps, namespace))?;
        let link = sys::link_create(
            Arguments::default()
                .descriptor(0, program.as_fd())
                .descriptor(4, cgroup.as_fd())
                .number(8, CGROUP_SOCK_OPS),
        )
        .map_err(|e| {
            io::Error::new(
                e.kind(),
                format!("the BPF program cannot be attached to the cgroup: {e}"),
            )
        })?;
        // The program holds its maps, and the link the program.
        Ok(Self {
            v4,
            v6,
            counts,
            link,
            entries: BTreeMap::new(),
        })
    }

    fn trie(&self, prefix: &Prefix) -> &Map {
        if prefix.is_v4() { &self.v4 } else { &self.v6 }
    }

    /// What is in force.
    pub fn entries(&self) -> &BTreeMap<Prefix, Entry> {
        &self.entries
    }

    /// Puts an entry into force.
    pub fn set(&mut self, prefix: Prefix, entry: Entry) -> io::Result<()> {
        self.trie(&prefix).set(&key(&prefix), &entry.bytes())?;
        self.entries.insert(prefix, entry);
        Ok(())
    }

    /// Takes an entry away.
    pub fn remove(&mut self, prefix: &Prefix) -> io::Result<()> {
        self.trie(prefix).remove(&key(prefix))?;
        self.entries.remove(prefix);
        Ok(())
    }

    /// What the program has counted.
    pub fn count(&self, what: Count) -> io::Result<u64> {
        let value = self.counts.get(&(what as u32).to_ne_bytes())?;
        Ok(u64::from_ne_bytes(value.try_into().unwrap_or_default()))
    }

    /// False if somebody has detached the program, or its cgroup is gone.
    pub fn is_attached(&self) -> io::Result<bool> {
        let mut info = [0; 32];
        let length = info.len() as u32;
        sys::call(
            Command::ObjectInfo,
            Arguments::default()
                .descriptor(0, self.link.as_fd())
                .number(4, length)
                .output(8, &mut info),
        )?;
        Ok(info[16..24] != [0; 8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_length_and_address() {
        assert_eq!(
            key(&"10.0.1.0/24".parse().unwrap()),
            [&24_u32.to_ne_bytes()[..], &[10, 0, 1, 0]].concat()
        );
        assert_eq!(key(&"fd00::/8".parse().unwrap()).len(), 20);
    }

    #[test]
    fn type_information_is_as_long_as_it_says() {
        let bytes = btf();
        assert_eq!(bytes.len(), 24 + 32 + 10);
        assert_eq!(
            bytes[..4],
            [&0xeb9f_u16.to_ne_bytes()[..], &[1, 0]].concat()
        );
    }
}
