// SPDX-License-Identifier: MIT OR Apache-2.0
//! Netlink: a small codec, what the agent asks the kernel, and the socket.
//!
//! Integers are in the machine's byte order, attributes are padded to four bytes (rtnetlink(7), netlink(7)).

pub mod route;
pub mod socket;
pub mod tcp_metrics;

/// Flags of requests.
pub mod flag {
    /// A request.
    pub const REQUEST: u16 = 0x1;
    /// An acknowledgement is wanted.
    pub const ACK: u16 = 0x4;
    /// All entries.
    pub const DUMP: u16 = 0x300;
    /// Replace what exists.
    pub const REPLACE: u16 = 0x100;
    /// Fail if it exists.
    pub const EXCL: u16 = 0x200;
    /// Make it if it does not exist.
    pub const CREATE: u16 = 0x400;
    /// In an answer: the dump is not consistent.
    pub const DUMP_INTR: u16 = 0x10;
}

/// The kernel's error or acknowledgement.
pub const ERROR: u16 = 2;
/// The end of a dump.
pub const DONE: u16 = 3;
const HEADER: usize = 16;

/// Nested attributes and those in network byte order have marks in their type.
const TYPE_MASK: u16 = 0x3fff;
const NESTED: u16 = 0x8000;

const fn padded(length: usize) -> usize {
    length.next_multiple_of(4)
}

/// Builds one message.
#[derive(Clone, Debug)]
pub struct Builder {
    bytes: Vec<u8>,
}

impl Builder {
    /// A message of this type, with its family's header.
    pub fn new(kind: u16, flags: u16, family_header: &[u8]) -> Self {
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(family_header);
        bytes.resize(padded(bytes.len()), 0);
        Self { bytes }
    }

    /// Appends an attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) -> &mut Self {
        let length = u16::try_from(value.len() + 4).expect("attributes are small");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(padded(self.bytes.len()), 0);
        self
    }

    /// Appends an attribute that holds attributes.
    pub fn nested(&mut self, kind: u16, inner: &[(u16, Vec<u8>)]) -> &mut Self {
        let start = self.bytes.len();
        self.attribute(kind | NESTED, &[]);
        for (kind, value) in inner {
            self.attribute(*kind, value);
        }
        let length = u16::try_from(self.bytes.len() - start).expect("attributes are small");
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// The message, numbered.
    pub fn finish(mut self, sequence: u32) -> Vec<u8> {
        let length = self.bytes.len() as u32;
        self.bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.bytes
    }
}

/// One message as it came.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it is.
    pub kind: u16,
    /// Its flags.
    pub flags: u16,
    /// The number of the request that it answers.
    pub sequence: u32,
    /// The port of the socket that caused it; 0 for the kernel itself.
    pub port: u32,
    /// What follows the header.
    pub body: &'a [u8],
}

impl Message<'_> {
    /// For the kernel's answers: 0, or the number of the error.
    pub fn error(&self) -> Option<i32> {
        (self.kind == ERROR || self.kind == DONE)
            .then(|| u32_at(self.body, 0).map_or(0, |code| code.cast_signed().wrapping_neg()))
    }
}

/// The integer at this place.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The integer at this place.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The integer at this place.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// The messages in what was received. Ends at the first that is not whole.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = Message<'_>> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        if length < HEADER {
            return None;
        }
        let message = Message {
            kind: u16_at(bytes, 4)?,
            flags: u16_at(bytes, 6)?,
            sequence: u32_at(bytes, 8)?,
            port: u32_at(bytes, 12)?,
            body: bytes.get(HEADER..length)?,
        };
        bytes = bytes.get(padded(length)..).unwrap_or_default();
        Some(message)
    })
}

/// The attributes in `bytes`: type without marks, and value. Ends at the first that is not whole.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(padded(length)..).unwrap_or_default();
        Some((kind, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_built_is_read() {
        let mut builder = Builder::new(24, flag::REQUEST | flag::ACK, &[2, 24, 0]);
        builder
            .attribute(1, &[10, 0, 1])
            .nested(8, &[(13, vec![1, 0, 0, 0]), (16, b"cubic\0".to_vec())]);
        let bytes = builder.finish(7);
        let all: Vec<Message> = messages(&bytes).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(
            (all[0].kind, all[0].flags, all[0].sequence, all[0].port),
            (24, 5, 7, 0)
        );
        let mut inner = attributes(&all[0].body[4..]);
        assert_eq!(inner.next(), Some((1, &[10, 0, 1][..])));
        let (kind, nest) = inner.next().unwrap();
        assert_eq!(kind, 8);
        assert_eq!(
            attributes(nest).collect::<Vec<_>>(),
            [(13, &[1, 0, 0, 0][..]), (16, &b"cubic\0"[..])]
        );
        assert!(inner.next().is_none());
    }

    proptest! {
        #[test]
        fn bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for message in messages(&bytes) {
                let _ = message.error();
                prop_assert!(attributes(message.body).count() <= message.body.len());
            }
            let _ = super::route::Route::decode(&bytes);
            let _ = super::tcp_metrics::Entry::decode(&bytes);
        }
    }
}
