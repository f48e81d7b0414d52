// SPDX-License-Identifier: MIT OR Apache-2.0
//! The file format of packet captures, pcapng ([draft-ietf-opsawg-pcapng]), which Wireshark and tshark open.
//!
//! [draft-ietf-opsawg-pcapng]: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/

use etalon_scenario::address;
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

/// `if_tsresol` for nanoseconds: ten to the power of minus nine.
const NANOSECONDS: u8 = 9;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
const ETHERNET_HEADER: u32 = 14;

/// A place in the network where packets are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Short name, which Wireshark shows and filters by (`frame.interface_name`).
    pub name: String,
    /// What is seen there, in words.
    pub description: String,
}

/// An IPv4 packet between two hosts, or the start of one.
#[derive(Clone, Copy, Debug)]
pub struct IpPacket<'a> {
    /// Rack and number of the sender.
    pub src: (u16, u16),
    /// Rack and number of the receiver.
    pub dst: (u16, u16),
    /// What is stored: from the IP header on, as far as it was caught.
    pub bytes: &'a [u8],
    /// Length of the whole packet, IP header included, in bytes.
    pub len: u32,
}

/// Writes a pcapng file of one section: packets seen at named interfaces, times in nanoseconds.
///
/// Every call writes to `W` at once: give it a [`std::io::BufWriter`].
pub struct PcapNg<W: Write> {
    writer: PcapNgWriter<W>,
    data: Vec<u8>,
}

impl<W: Write> PcapNg<W> {
    /// Begins a file whose packets are seen at `interfaces`; no more than `snaplen` bytes of an Ethernet frame are stored.
    ///
    /// # Errors
    /// What `w` returns.
    pub fn new(w: W, interfaces: &[Interface], snaplen: u32) -> io::Result<Self> {
        let section = SectionHeaderBlock {
            // Fixed, so that the same run gives the same bytes on every machine.
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(Cow::Borrowed(
                concat!("etalon ", env!("CARGO_PKG_VERSION")),
            ))],
            ..SectionHeaderBlock::default()
        };
        let mut writer = PcapNgWriter::with_section_header(w, section).map_err(into_io)?;
        for interface in interfaces {
            let block = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(&interface.name)),
                    InterfaceDescriptionOption::IfDescription(Cow::Borrowed(
                        &interface.description,
                    )),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            writer
                .write_block(&Block::InterfaceDescription(block))
                .map_err(into_io)?;
        }
        Ok(Self {
            writer,
            data: Vec::with_capacity(snaplen as usize),
        })
    }

    /// Appends a packet, inside an Ethernet frame, seen at the interface with number `interface`, `time_ns` nanoseconds
    /// after the start of the run, with an optional comment (shown by Wireshark as `frame.comment`).
    ///
    /// # Errors
    /// What `W` returns; [`io::ErrorKind::InvalidInput`] for an unknown interface.
    pub fn packet(
        &mut self,
        interface: usize,
        time_ns: u64,
        packet: &IpPacket<'_>,
        comment: Option<&str>,
    ) -> io::Result<()> {
        self.data.clear();
        self.data
            .extend_from_slice(&address::mac(packet.dst.0, packet.dst.1));
        self.data
            .extend_from_slice(&address::mac(packet.src.0, packet.src.1));
        self.data.extend_from_slice(&ETHERTYPE_IPV4);
        self.data.extend_from_slice(packet.bytes);
        let block = EnhancedPacketBlock {
            interface_id: u32::try_from(interface)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e))?,
            timestamp: Duration::from_nanos(time_ns),
            original_len: ETHERNET_HEADER + packet.len,
            data: Cow::Borrowed(&self.data),
            options: comment
                .map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)))
                .into_iter()
                .collect(),
        };
        self.writer
            .write_block(&Block::EnhancedPacket(block))
            .map_err(into_io)?;
        Ok(())
    }

    /// Flushes and gives back `W`.
    ///
    /// # Errors
    /// What `W` returns.
    pub fn finish(self) -> io::Result<W> {
        let mut w = self.writer.into_inner();
        w.flush()?;
        Ok(w)
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        PcapError::InvalidInterfaceId(id) => io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("there is no interface {id} in this capture"),
        ),
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_file::pcapng::PcapNgReader;

    const PACKET: IpPacket<'static> = IpPacket {
        src: (1, 3),
        dst: (258, 0),
        bytes: &[0x45, 0, 0, 30],
        len: 30,
    };

    #[test]
    fn interfaces_times_and_comments_come_back() {
        let interfaces = ["a", "b"].map(|name| Interface {
            name: name.into(),
            description: format!("at {name}"),
        });
        let mut file = PcapNg::new(Vec::new(), &interfaces, 94).unwrap();
        file.packet(1, 5_000_000_001, &PACKET, Some("dropped: VOQ full"))
            .unwrap();
        let bytes = file.finish().unwrap();

        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let mut names = Vec::new();
        let mut packets = 0;
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(interface) => {
                    assert_eq!(interface.linktype, DataLink::ETHERNET);
                    assert_eq!(interface.snaplen, 94);
                    assert!(
                        interface
                            .options
                            .contains(&InterfaceDescriptionOption::IfTsResol(NANOSECONDS))
                    );
                    names.extend(interface.options.iter().filter_map(|option| match option {
                        InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                        _ => None,
                    }));
                }
                Block::EnhancedPacket(packet) => {
                    packets += 1;
                    assert_eq!(packet.interface_id, 1);
                    assert_eq!(packet.timestamp, Duration::from_nanos(5_000_000_001));
                    assert_eq!(
                        packet.options,
                        [EnhancedPacketOption::Comment("dropped: VOQ full".into())]
                    );
                    assert_eq!(
                        packet.data[..],
                        [
                            0x02, 0, 1, 2, 0, 0, 0x02, 0, 0, 1, 0, 3, 0x08, 0, 0x45, 0, 0, 30
                        ]
                    );
                    assert_eq!(packet.original_len, 44);
                }
                _ => {}
            }
        }
        assert_eq!(names, ["a", "b"]);
        assert_eq!(packets, 1);
    }

    #[test]
    fn an_unknown_interface_is_refused() {
        let mut file = PcapNg::new(Vec::new(), &[], 94).unwrap();
        let error = file.packet(0, 0, &PACKET, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
