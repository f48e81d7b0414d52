// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program was started with.

use libc::{c_int, c_long};

use crate::socket;

/// A buffer that directory entries fit and are aligned in.
#[repr(align(8))]
struct Entries([u8; 1024]);

/// Bytes of a directory entry (`linux_dirent64`) before its length, and before its name.
const LENGTH_AT: usize = 16;
const NAME_AT: usize = 19;

/// Whether the process has inherited a socket, as programs started by inetd do. Where it cannot be known, yes.
pub fn sockets() -> bool {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path is a C string.
    let directory = unsafe { libc::open(c"/proc/self/fd".as_ptr(), flags) };
    if directory < 0 {
        return true;
    }
    let mut entries = Entries([0; 1024]);
    let found = loop {
        // SAFETY: `entries` lives through the call, and its size is given.
        let filled = unsafe {
            libc::syscall(
                libc::SYS_getdents64,
                c_long::from(directory),
                entries.0.as_mut_ptr(),
                entries.0.len(),
            )
        };
        match usize::try_from(filled) {
            Err(_) => break true,
            Ok(0) => break false,
            Ok(filled)
                if descriptors(entries.0.get(..filled).unwrap_or(&[])).any(socket::is_socket) =>
            {
                break true;
            }
            Ok(_) => {}
        }
    };
    socket::close(directory);
    found
}

/// The numbers among the names of directory entries.
fn descriptors(entries: &[u8]) -> impl Iterator<Item = c_int> {
    let mut rest = entries;
    core::iter::from_fn(move || {
        let length = rest.get(LENGTH_AT..LENGTH_AT + 2)?;
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let (entry, after) = rest.split_at_checked(length)?;
        rest = after;
        entry.get(NAME_AT..)
    })
    .filter_map(|name| {
        let digits = name.iter().position(|byte| *byte == 0)?;
        core::str::from_utf8(&name[..digits]).ok()?.parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_among_the_open_files() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
        assert!(sockets());
        drop(socket);
    }

    #[test]
    fn numbers_are_read_off_directory_entries() {
        let entry = |name: &str| {
            let mut bytes = vec![0; (NAME_AT + name.len() + 8) / 8 * 8];
            let length = u16::try_from(bytes.len()).expect("short");
            bytes[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&length.to_ne_bytes());
            bytes[NAME_AT..NAME_AT + name.len()].copy_from_slice(name.as_bytes());
            bytes
        };
        let entries = [
            entry("."),
            entry(".."),
            entry("0"),
            entry("1234567"),
            entry("12"),
        ]
        .concat();
        assert!(descriptors(&entries).eq([0, 1_234_567, 12]));
        assert!(
            descriptors(&[0; 64]).take(3).next().is_none(),
            "an entry of no length ends the list"
        );
    }
}
