// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports of application data units: what a program has handed to its TCP stack, told to the estimator of demand
//! (Etalon'18, section 5.2).
//!
//! A [`Report`] has 36 bytes, in network byte order:
//!
//! | offset | what | size |
//! |---|---|---|
//! | 0 | `ADU1` | 4 |
//! | 4 | kind: 1 written, 2 closed | 2 |
//! | 6 | protocol: 6, TCP | 2 |
//! | 8 | source address (of the data: the writer's own socket) | 4 |
//! | 12 | destination address | 4 |
//! | 16 | source port | 2 |
//! | 18 | destination port | 2 |
//! | 20 | writer: one process's hold of one socket | 8 |
//! | 28 | total: bytes that this writer has handed over | 8 |
//!
//! One or several of them are the payload of a UDP datagram to the estimator, whose address programs find in
//! [`ADDRESS_VARIABLE`]. Totals are running: what a lost datagram would have said, the next one says. (The paper's control
//! network used TCP. A datagram cannot block the program.)
//!
//! A blocking write counts when it is called, and what it did not take is taken back after it: so a total may fall.
#![no_std]

use core::fmt;
use core::net::{Ipv4Addr, SocketAddrV4};

/// The environment variable with the estimator's address, as `10.64.0.1:5300`. Without it a program reports nothing.
pub const ADDRESS_VARIABLE: &str = "ETALON_ADU";

/// Bytes of an encoded [`Report`].
pub const LEN: usize = 36;

const MAGIC: [u8; 4] = *b"ADU1";
const TCP: u16 = 6;

/// What a report says of its writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It has handed over `total` bytes so far.
    Written,
    /// As `Written`, and it will write no more. Others that hold the same socket may.
    Closed,
}

/// What one writer has handed to one TCP connection so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Whether the writer goes on.
    pub kind: Kind,
    /// The writer's own socket: where the data come from.
    pub src: SocketAddrV4,
    /// Where the data go.
    pub dst: SocketAddrV4,
    /// Names one process's hold of one socket (process and descriptor): after a fork several write into one connection.
    pub writer: u64,
    /// Bytes that this writer has handed over since it has this connection.
    pub total: u64,
}

/// Why 36 bytes are no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportError {
    /// There are fewer or more than [`LEN`] bytes: how many.
    Length(usize),
    /// They do not begin with `ADU1`.
    Magic,
    /// The kind is neither 1 nor 2.
    Kind(u16),
    /// The protocol is not TCP.
    Protocol(u16),
}

impl fmt::Display for ReportError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReportError::Length(bytes) => write!(out, "a report has {LEN} bytes, this one {bytes}"),
            ReportError::Magic => write!(out, "a report begins with ADU1"),
            ReportError::Kind(kind) => write!(
                out,
                "a report's kind is 1 (written) or 2 (closed), not {kind}"
            ),
            ReportError::Protocol(protocol) => {
                write!(out, "a report is of TCP (protocol 6), not {protocol}")
            }
        }
    }
}

impl core::error::Error for ReportError {}

impl Report {
    /// The report's bytes.
    pub fn encode(&self) -> [u8; LEN] {
        let kind: u16 = match self.kind {
            Kind::Written => 1,
            Kind::Closed => 2,
        };
        let mut bytes = [0; LEN];
        bytes[0..4].copy_from_slice(&MAGIC);
        bytes[4..6].copy_from_slice(&kind.to_be_bytes());
        bytes[6..8].copy_from_slice(&TCP.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.src.ip().octets());
        bytes[12..16].copy_from_slice(&self.dst.ip().octets());
        bytes[16..18].copy_from_slice(&self.src.port().to_be_bytes());
        bytes[18..20].copy_from_slice(&self.dst.port().to_be_bytes());
        bytes[20..28].copy_from_slice(&self.writer.to_be_bytes());
        bytes[28..36].copy_from_slice(&self.total.to_be_bytes());
        bytes
    }

    /// The report that `bytes` hold, which are exactly [`LEN`]. A datagram of several is taken apart by `chunks(LEN)`.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Report, ReportError> {
        let bytes: &[u8; LEN] = bytes
            .try_into()
            .map_err(|_| ReportError::Length(bytes.len()))?;
        if bytes[0..4] != MAGIC {
            return Err(ReportError::Magic);
        }
        let kind = match u16_at(bytes, 4) {
            1 => Kind::Written,
            2 => Kind::Closed,
            other => return Err(ReportError::Kind(other)),
        };
        match u16_at(bytes, 6) {
            TCP => {}
            other => return Err(ReportError::Protocol(other)),
        }
        Ok(Report {
            kind,
            src: SocketAddrV4::new(ip_at(bytes, 8), u16_at(bytes, 16)),
            dst: SocketAddrV4::new(ip_at(bytes, 12), u16_at(bytes, 18)),
            writer: u64_at(bytes, 20),
            total: u64_at(bytes, 28),
        })
    }
}

fn u16_at(bytes: &[u8; LEN], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn u64_at(bytes: &[u8; LEN], at: usize) -> u64 {
    bytes[at..at + 8]
        .iter()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn ip_at(bytes: &[u8; LEN], at: usize) -> Ipv4Addr {
    Ipv4Addr::new(bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn example() -> Report {
        Report {
            kind: Kind::Closed,
            src: SocketAddrV4::new(Ipv4Addr::new(10, 1, 0, 2), 40000),
            dst: SocketAddrV4::new(Ipv4Addr::new(10, 2, 0, 3), 5201),
            writer: 0x0102_0304_0506_0708,
            total: 65_536,
        }
    }

    #[test]
    fn the_bytes_of_a_report() {
        let mut expected = [0; LEN];
        expected[..8].copy_from_slice(b"ADU1\x00\x02\x00\x06");
        expected[8..20].copy_from_slice(&[10, 1, 0, 2, 10, 2, 0, 3, 0x9c, 0x40, 0x14, 0x51]);
        expected[20..28].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        expected[28..36].copy_from_slice(&[0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(example().encode(), expected);
        assert_eq!(Report::decode(&expected), Ok(example()));
    }

    #[test]
    fn what_is_no_report_says_why() {
        let with = |at: usize, value: u8| {
            let mut bytes = example().encode();
            bytes[at] = value;
            Report::decode(&bytes)
        };
        assert_eq!(Report::decode(&[0; 35]), Err(ReportError::Length(35)));
        assert_eq!(with(3, b'2'), Err(ReportError::Magic));
        assert_eq!(with(5, 3), Err(ReportError::Kind(3)));
        assert_eq!(with(7, 17), Err(ReportError::Protocol(17)));
    }

    proptest! {
        #[test]
        fn a_report_comes_back_from_its_bytes(
            closed: bool, src: (u32, u16), dst: (u32, u16), writer: u64, total: u64,
        ) {
            let report = Report {
                kind: if closed { Kind::Closed } else { Kind::Written },
                src: SocketAddrV4::new(Ipv4Addr::from(src.0), src.1),
                dst: SocketAddrV4::new(Ipv4Addr::from(dst.0), dst.1),
                writer,
                total,
            };
            prop_assert_eq!(Report::decode(&report.encode()), Ok(report));
        }
    }
}
