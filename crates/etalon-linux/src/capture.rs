// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packets of the traced part, as the kernel had them, into a capture.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};

use etalon_events::{HostId, PacketHeader};
use etalon_measure::{Capture, IpPacket, Window};
use etalon_switch::DropReason;
use etalon_units::Time;
use etherparse::checksum::Sum16BitWords;

use crate::{LinuxError, compile};

const ETHERNET_HEADER: u32 = 14;

/// Bytes of an IP header and of ICMP's message.
const NOTIFICATION: u32 = 28;
/// A ToR switch as the source of a packet: no host has this number.
const TOR: u16 = u16::MAX;

/// Where a packet was seen.
#[derive(Clone, Copy, Debug)]
enum Place {
    Entered,
    Left,
    Lost(DropReason),
}

/// Writes packets whose bytes are in the log.
pub(crate) struct Packets {
    capture: Option<(PathBuf, Capture)>,
    /// The packet whose bytes may follow.
    last: Option<(Time, PacketHeader, Place)>,
}

impl Packets {
    /// Begins a capture, if one is asked for, in a network with so many racks.
    pub(crate) fn new(wanted: Option<(&Path, Window)>, racks: u16) -> Result<Packets, LinuxError> {
        let begin = |(path, window): (&Path, Window)| {
            let snaplen = u32::from(compile::SNAP) + ETHERNET_HEADER;
            match Capture::create(path, racks, window, snaplen) {
                Ok(capture) => Ok((path.to_owned(), capture)),
                Err(e) => Err(unwritable(path, &e)),
            }
        };
        Ok(Packets {
            capture: wanted.map(begin).transpose()?,
            last: None,
        })
    }

    #[inline]
    pub(crate) fn entered(&mut self, now: Time, packet: PacketHeader) {
        self.expect(now, packet, Place::Entered);
    }

    #[inline]
    pub(crate) fn left(&mut self, now: Time, packet: PacketHeader) {
        self.expect(now, packet, Place::Left);
    }

    #[inline]
    pub(crate) fn lost(&mut self, now: Time, packet: PacketHeader, reason: DropReason) {
        self.expect(now, packet, Place::Lost(reason));
    }

    /// A host of a rack hears of a change of networks, by a packet that its ToR switch made.
    pub(crate) fn notified(&mut self, now: Time, rack: u16, host: u16) {
        let packet = PacketHeader {
            src: HostId::new(rack, TOR),
            dst: HostId::new(rack, host),
            bytes: ETHERNET_HEADER + NOTIFICATION,
            ..PacketHeader::default()
        };
        self.expect(now, packet, Place::Left);
    }

    #[inline]
    fn expect(&mut self, now: Time, packet: PacketHeader, place: Place) {
        if self.capture.is_some() {
            self.last = Some((now, packet, place));
        }
    }

    /// The first bytes of the last packet, from its IP header on.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let (Some((_, capture)), Some((now, packet, place))) =
            (&mut self.capture, self.last.take())
        else {
            return Err("bytes of no packet".to_owned());
        };
        let host = |host: HostId| (host.rack(), host.number());
        let len = packet.bytes.saturating_sub(ETHERNET_HEADER);
        let bytes = checksummed(bytes, len);
        let packet = IpPacket {
            src: host(packet.src),
            dst: host(packet.dst),
            bytes: &bytes,
            len,
        };
        match place {
            Place::Entered => capture.entered(now, &packet),
            Place::Left => capture.left(now, &packet),
            Place::Lost(reason) => capture.lost(now, &packet, reason),
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), LinuxError> {
        match self.capture {
            None => Ok(()),
            Some((path, capture)) => capture.finish().map_err(|e| unwritable(&path, &e)),
        }
    }
}

/// The first bytes of a packet of `len` bytes as they would be on a wire.
///
/// Hosts leave checksums of TCP and UDP to their network card, which nobody plays. Of a packet whose payload is not here nobody can
/// tell whether its checksum is right; of one that is whole anybody can.
fn checksummed(bytes: &[u8], len: u32) -> Cow<'_, [u8]> {
    const IPV4: u8 = 4;
    let header = usize::from(bytes.first().copied().unwrap_or(0) & 0xf) * 4;
    let whole = bytes.len() >= 20
        && bytes[0] >> 4 == IPV4
        && header >= 20
        && usize::try_from(len) == Ok(bytes.len())
        && u16::from_be_bytes([bytes[6], bytes[7]]) & 0x3fff == 0; // no fragment
    let at = match bytes.get(9) {
        Some(6) => 16,
        Some(17) => 6,
        _ => return Cow::Borrowed(bytes),
    };
    if !whole || bytes.len() < header + at + 2 {
        return Cow::Borrowed(bytes);
    }
    let mut bytes = bytes.to_vec();
    let (ip, segment) = bytes.split_at_mut(header);
    segment[at..at + 2].fill(0);
    // The pseudo-header (RFC 9293, 3.1): addresses, protocol and length.
    let length = u16::try_from(segment.len()).unwrap_or(u16::MAX);
    let checksum = Sum16BitWords::new()
        .add_slice(&ip[12..20])
        .add_2bytes([0, ip[9]])
        .add_2bytes(length.to_be_bytes())
        .add_slice(segment)
        .ones_complement();
    // A UDP checksum of zero would say that there is none (RFC 768).
    let checksum = if checksum == 0 && ip[9] == 17 {
        u16::MAX
    } else {
        checksum
    };
    segment[at..at + 2].copy_from_slice(&checksum.to_ne_bytes());
    Cow::Owned(bytes)
}

fn unwritable(path: &Path, e: &io::Error) -> LinuxError {
    LinuxError::boot(format!(
        "The capture {} cannot be written: {e}.",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP packet whose checksum is known: a DNS query from 192.168.0.31 to 192.168.0.30 port 55348 to 53 with three bytes.
    const UDP: [u8; 31] = [
        0x45, 0, 0, 31, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 168, 0, 31, 192, 168, 0, 30, 0xd8, 0x34,
        0, 53, 0, 11, 0, 0, b'a', b'b', b'c',
    ];

    /// The sum of 16-bit words (RFC 1071); an odd byte at the end is followed by a zero.
    fn words(bytes: &[u8]) -> u32 {
        bytes
            .chunks(2)
            .map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0)))
            .sum()
    }

    /// What a receiver adds up (RFC 1071): all ones if the checksum is right.
    fn verified(bytes: &[u8]) -> bool {
        let segment = &bytes[20..];
        let mut sum = words(&bytes[12..20])
            + u32::from(bytes[9])
            + u32::try_from(segment.len()).unwrap()
            + words(segment);
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        sum == 0xffff
    }

    fn tcp(payload: usize) -> Vec<u8> {
        let mut bytes = vec![
            0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 1, 0, 1,
        ];
        bytes.extend([
            0x75, 0x30, 0x15, 0xb3, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x10, 0xff, 0xff,
        ]);
        bytes.extend([0x14, 0xe8, 0, 0]); // what Linux leaves for the card
        bytes.extend((0..payload).map(|n| u8::try_from(n % 251).unwrap()));
        bytes
    }

    #[test]
    fn a_whole_packet_has_the_checksum_of_a_wire() {
        // 192.168.0.31, 192.168.0.30, 17, 11, 0xd834, 53, 11, "ab", "c\0": summed by hand.
        let sum =
            0xc0a8 + 0x001f + 0xc0a8 + 0x001e + 17 + 11 + 0xd834 + 53 + 11 + 0x6162 + 0x6300_u32;
        let folded = (sum & 0xffff) + (sum >> 16);
        let expected = !u16::try_from(folded).unwrap();
        assert_eq!(checksummed(&UDP, 31)[26..28], expected.to_be_bytes());
        for payload in [0, 1, 2, 999] {
            let bytes = tcp(payload);
            assert!(!verified(&bytes));
            let len = u32::try_from(bytes.len()).unwrap();
            assert!(verified(&checksummed(&bytes, len)), "{payload} bytes");
        }
    }

    #[test]
    fn what_is_not_whole_or_has_no_such_checksum_is_left_alone() {
        let bytes = tcp(100);
        assert_eq!(checksummed(&bytes[..90], 140), &bytes[..90]);
        for (at, value) in [(9, 1), (0, 0x65), (6, 0x20), (7, 1)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(checksummed(&other, 140), other, "byte {at} is {value}");
        }
        for short in 0..40 {
            let len = u32::try_from(short).unwrap();
            assert_eq!(checksummed(&bytes[..short], len).len(), short);
        }
    }
}
