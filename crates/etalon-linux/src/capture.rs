//! Packets of the traced part, as the kernel had them, into a capture.

use std::io;
use std::path::{Path, PathBuf};

use etalon_events::{HostId, Packet};
use etalon_measure::{Capture, IpPacket, Window};
use etalon_switch::DropReason;
use etalon_units::Time;

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
    last: Option<(Time, Packet, Place)>,
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
    pub(crate) fn entered(&mut self, now: Time, packet: Packet) {
        self.expect(now, packet, Place::Entered);
    }

    #[inline]
    pub(crate) fn left(&mut self, now: Time, packet: Packet) {
        self.expect(now, packet, Place::Left);
    }

    #[inline]
    pub(crate) fn lost(&mut self, now: Time, packet: Packet, reason: DropReason) {
        self.expect(now, packet, Place::Lost(reason));
    }

    /// A host of a rack hears of a change of networks, by a packet that its ToR switch made.
    pub(crate) fn notified(&mut self, now: Time, rack: u16, host: u16) {
        let packet = Packet {
            src: HostId::new(rack, TOR),
            dst: HostId::new(rack, host),
            bytes: ETHERNET_HEADER + NOTIFICATION,
            ..Packet::default()
        };
        self.expect(now, packet, Place::Left);
    }

    #[inline]
    fn expect(&mut self, now: Time, packet: Packet, place: Place) {
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
        let packet = IpPacket {
            src: host(packet.src),
            dst: host(packet.dst),
            bytes,
            len: packet.bytes.saturating_sub(ETHERNET_HEADER),
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

fn unwritable(path: &Path, e: &io::Error) -> LinuxError {
    LinuxError::boot(format!(
        "The capture {} cannot be written: {e}.",
        path.display()
    ))
}
