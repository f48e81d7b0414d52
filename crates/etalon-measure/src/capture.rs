// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet capture of a part of a run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use etalon_events::DropReason;
use etalon_units::Time;

use crate::pcapng::{Interface, IpPacket, PcapNg};
use crate::trace::Window;

/// Bytes of a frame that hold the longest headers: Ethernet, IPv4 without options, TCP with 40 bytes of options.
pub const HEADERS: u32 = 14 + 20 + 60;

/// Writes packets as the ToR switches see them: one interface for each rack and direction, and one for drops.
///
/// What goes wrong while writing is kept for [`Capture::finish`].
pub struct Capture {
    window: Window,
    racks: usize,
    file: PcapNg<BufWriter<File>>,
    error: Option<io::Error>,
}

impl Capture {
    /// Begins a capture of a network with so many racks; no more than `snaplen` bytes of an Ethernet frame are stored.
    ///
    /// # Errors
    /// What the file system returns.
    pub fn create(path: &Path, racks: u16, window: Window, snaplen: u32) -> io::Result<Capture> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Capture {
            window,
            racks: usize::from(racks),
            file: PcapNg::new(file, &interfaces(racks), snaplen)?,
            error: None,
        })
    }

    /// Whether a packet seen at `now` would be written: others need no bytes.
    #[inline]
    #[must_use]
    pub fn wants(&self, now: Time) -> bool {
        self.window.has(now) && self.error.is_none()
    }

    /// A packet enters the network.
    pub fn entered(&mut self, now: Time, packet: &IpPacket<'_>) {
        self.write(now, usize::from(packet.src.0), packet, None);
    }

    /// A packet leaves the network towards its host.
    pub fn left(&mut self, now: Time, packet: &IpPacket<'_>) {
        self.write(now, self.racks + usize::from(packet.dst.0), packet, None);
    }

    /// The network drops a packet.
    pub fn lost(&mut self, now: Time, packet: &IpPacket<'_>, reason: DropReason) {
        self.write(now, 2 * self.racks, packet, Some(words(reason)));
    }

    /// Something about a packet could not be written down: the capture is worth nothing.
    pub fn fail(&mut self, error: io::Error) {
        self.error.get_or_insert(error);
    }

    fn write(&mut self, now: Time, interface: usize, packet: &IpPacket<'_>, comment: Option<&str>) {
        if !self.wants(now) {
            return;
        }
        if let Err(e) = self.file.packet(interface, now.0, packet, comment) {
            self.error = Some(e);
        }
    }

    /// Completes the file.
    ///
    /// # Errors
    /// The first that occurred since the capture began.
    pub fn finish(self) -> io::Result<()> {
        match self.error {
            Some(e) => Err(e),
            None => self.file.finish()?.flush(),
        }
    }
}

fn interfaces(racks: u16) -> Vec<Interface> {
    let one = |name: String, description: String| Interface { name, description };
    let mut all: Vec<Interface> = (0..racks)
        .map(|r| {
            one(
                format!("tor{r}-in"),
                format!("packets from the hosts of rack {r} to its ToR switch"),
            )
        })
        .collect();
    all.extend((0..racks).map(|r| {
        one(
            format!("tor{r}-out"),
            format!("packets from the network to the hosts of rack {r}"),
        )
    }));
    all.push(one(
        "drops".into(),
        "packets that the network dropped".into(),
    ));
    all
}

fn words(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Full => "the queue was full",
        DropReason::Shrunk => "the queue shrank",
        DropReason::HoldFull => "the hold was full",
        DropReason::DownlinkFull => "the host's downlink was full",
        DropReason::LinkDown => "the link was down",
        DropReason::Dark => "the circuit was dark",
        DropReason::Loop => "the way was a loop",
    }
}
