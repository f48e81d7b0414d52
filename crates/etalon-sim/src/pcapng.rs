//! Packet captures: segments with the Ethernet, IPv4 and TCP headers that they would have on a wire, in a pcapng file
//! ([draft-ietf-opsawg-pcapng]) that Wireshark and tshark open.
//!
//! Payload is all zeros and is not stored: a packet is cut after its headers, as a capture with a small snapshot
//! length would be, and its original length says how long it was. Checksums are those of the whole packet.
//!
//! [draft-ietf-opsawg-pcapng]: https://datatracker.ietf.org/doc/draft-ietf-opsawg-pcapng/

use std::borrow::Cow;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::time::Duration;

use etalon_tcp::{Flags, Segment};
use etherparse::checksum::Sum16BitWords;
use etherparse::{
    EtherType, Ethernet2Header, IpEcn, IpFragOffset, IpNumber, Ipv4Header, TcpHeader,
};
use etherparse::{TcpOptionElement, TcpOptions};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

/// The longest headers: Ethernet, IPv4 without options, TCP with 40 bytes of options.
const SNAPLEN: u32 = 14 + 20 + 60;

/// `if_tsresol` for nanoseconds: ten to the power of minus nine.
const NANOSECONDS: u8 = 9;

/// A place in the network where packets are seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Short name, which Wireshark shows and filters by (`frame.interface_name`).
    pub name: String,
    /// What is seen there, in words.
    pub description: String,
}

/// A segment on its way between two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Rack of the sender.
    pub src_rack: u16,
    /// The sender within its rack, from 0.
    pub src_host: u16,
    /// Rack of the receiver.
    pub dst_rack: u16,
    /// The receiver within its rack, from 0.
    pub dst_host: u16,
    /// TCP port of the sender.
    pub src_port: u16,
    /// TCP port of the receiver.
    pub dst_port: u16,
    /// Identification field of the IPv4 header.
    pub ip_id: u16,
    /// The packet is marked Congestion Experienced.
    pub ce: bool,
    /// The TCP segment.
    pub segment: Segment,
}

/// Writes a pcapng file of one section: packets seen at named interfaces, times in nanoseconds.
///
/// Every call writes to `W` at once: give it a [`std::io::BufWriter`].
pub struct PcapNg<W: Write> {
    writer: PcapNgWriter<W>,
    data: Vec<u8>,
}

impl<W: Write> PcapNg<W> {
    /// Begins a file whose packets are seen at `interfaces`.
    ///
    /// # Errors
    /// What `w` returns.
    pub fn new(w: W, interfaces: &[Interface]) -> io::Result<Self> {
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
                snaplen: SNAPLEN,
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
            data: Vec::with_capacity(SNAPLEN as usize),
        })
    }

    /// Appends a packet seen at the interface with number `interface`, `time_ns` nanoseconds after the start of the
    /// run, with an optional comment (shown by Wireshark as `frame.comment`).
    ///
    /// # Errors
    /// What `W` returns; [`io::ErrorKind::InvalidInput`] for an unknown interface, for a host number above 253 (no
    /// address is left for it in its rack's /24) and for a segment longer than an IPv4 packet.
    pub fn packet(
        &mut self,
        interface: usize,
        time_ns: u64,
        frame: &Frame,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let original_len = self.encode(frame)?;
        let block = EnhancedPacketBlock {
            interface_id: u32::try_from(interface).map_err(invalid)?,
            timestamp: Duration::from_nanos(time_ns),
            original_len,
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

    /// Leaves the headers of `frame` in `self.data` and returns the length of the whole packet.
    fn encode(&mut self, frame: &Frame) -> io::Result<u32> {
        let (source, destination) = (
            address(frame.src_rack, frame.src_host)?,
            address(frame.dst_rack, frame.dst_host)?,
        );
        let mut tcp = tcp_header(frame)?;
        let tcp_len =
            u16::try_from(tcp.header_len() + usize::from(frame.segment.len)).map_err(invalid)?;
        // Zeros add nothing to a ones' complement sum, so the payload itself is not needed.
        tcp.checksum = Sum16BitWords::new()
            .add_4bytes(source.octets())
            .add_4bytes(destination.octets())
            .add_2bytes([0, IpNumber::TCP.0])
            .add_2bytes(tcp_len.to_be_bytes())
            .add_slice(&tcp.to_bytes())
            .ones_complement()
            .to_be();
        let ip = ipv4_header(frame, source, destination, tcp_len)?;
        let ethernet = Ethernet2Header {
            source: mac(frame.src_rack, frame.src_host),
            destination: mac(frame.dst_rack, frame.dst_host),
            ether_type: EtherType::IPV4,
        };
        self.data.clear();
        self.data.extend_from_slice(&ethernet.to_bytes());
        self.data.extend_from_slice(&ip.to_bytes());
        self.data.extend_from_slice(&tcp.to_bytes());
        Ok(self.data.len() as u32 + u32::from(frame.segment.len))
    }
}

/// The address of a host, 10.rack.host+1 with 16 bits of rack; .0 and .255 are left to the network and to broadcast.
fn address(rack: u16, host: u16) -> io::Result<Ipv4Addr> {
    let [high, low] = rack.to_be_bytes();
    match u8::try_from(host) {
        Ok(host @ 0..=253) => Ok(Ipv4Addr::new(10, high, low, host + 1)),
        _ => Err(invalid(format!(
            "host {host} of rack {rack} has no address: a capture has room for 254 hosts a rack"
        ))),
    }
}

/// A locally administered unicast address, 02:00:rack:rack:host:host.
fn mac(rack: u16, host: u16) -> [u8; 6] {
    let ([r0, r1], [h0, h1]) = (rack.to_be_bytes(), host.to_be_bytes());
    [0x02, 0x00, r0, r1, h0, h1]
}

fn ipv4_header(
    frame: &Frame,
    source: Ipv4Addr,
    destination: Ipv4Addr,
    payload_len: u16,
) -> io::Result<Ipv4Header> {
    let mut ip = Ipv4Header::new(
        payload_len,
        64,
        IpNumber::TCP,
        source.octets(),
        destination.octets(),
    )
    .map_err(invalid)?;
    ip.ecn = match (frame.ce, frame.segment.ect) {
        (true, _) => IpEcn::CongestionExperienced,
        (false, true) => IpEcn::Ect0,
        (false, false) => IpEcn::NotEct,
    };
    ip.identification = frame.ip_id;
    ip.dont_fragment = true;
    ip.fragment_offset = IpFragOffset::ZERO;
    ip.header_checksum = ip.calc_header_checksum();
    Ok(ip)
}

/// The TCP header of `frame`, its checksum still zero.
fn tcp_header(frame: &Frame) -> io::Result<TcpHeader> {
    let segment = &frame.segment;
    let mut tcp = TcpHeader::new(frame.src_port, frame.dst_port, segment.seq, segment.window);
    tcp.fin = segment.flags.contains(Flags::FIN);
    tcp.syn = segment.flags.contains(Flags::SYN);
    tcp.rst = segment.flags.contains(Flags::RST);
    tcp.psh = segment.flags.contains(Flags::PSH);
    tcp.ack = segment.flags.contains(Flags::ACK);
    tcp.ece = segment.flags.contains(Flags::ECE);
    tcp.cwr = segment.flags.contains(Flags::CWR);
    if tcp.ack {
        tcp.acknowledgment_number = segment.ack;
    }
    tcp.options = TcpOptions::try_from_elements(&options(segment)).map_err(invalid)?;
    Ok(tcp)
}

/// The options of `segment`, padded with NOPs to the lengths that [`Segment::header_len`] counts.
fn options(segment: &Segment) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let mut options = Vec::with_capacity(8);
    if segment.mss != 0 {
        options.push(MaximumSegmentSize(segment.mss));
    }
    match (segment.sack_permitted, segment.timestamps) {
        // SACK permitted takes the place of the two NOPs in front of the timestamps.
        (true, Some((value, echo))) => {
            options.extend([SelectiveAcknowledgementPermitted, Timestamp(value, echo)]);
        }
        (false, Some((value, echo))) => options.extend([Noop, Noop, Timestamp(value, echo)]),
        (true, None) => options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
        (false, None) => {}
    }
    if let Some(shift) = segment.window_scale {
        options.extend([Noop, WindowScale(shift)]);
    }
    if let Some((&first, rest)) = segment.sack.as_slice().split_first() {
        let mut more = [None; 3];
        for (slot, &block) in more.iter_mut().zip(rest) {
            *slot = Some(block);
        }
        options.extend([Noop, Noop, SelectiveAcknowledgement(first, more)]);
    }
    options
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        PcapError::InvalidInterfaceId(id) => {
            invalid(format!("there is no interface {id} in this capture"))
        }
        error => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etalon_tcp::SackBlocks;
    use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
    use pcap_file::pcapng::PcapNgReader;

    fn frame(segment: Segment) -> Frame {
        Frame {
            src_rack: 1,
            src_host: 3,
            dst_rack: 258,
            dst_host: 0,
            src_port: 40_000,
            dst_port: 5001,
            ip_id: 7,
            ce: false,
            segment,
        }
    }

    fn one_interface() -> Vec<Interface> {
        vec![Interface {
            name: "r1h3".into(),
            description: "leaving host 3 of rack 1".into(),
        }]
    }

    /// The headers of one packet as they come out of a file, and its original length.
    fn round_trip(frame: &Frame) -> (Ethernet2Header, Ipv4Header, TcpHeader, usize, u32) {
        let mut file = PcapNg::new(Vec::new(), &one_interface()).unwrap();
        file.packet(0, 0, frame, None).unwrap();
        let bytes = file.finish().unwrap();
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        loop {
            if let Block::EnhancedPacket(packet) = reader.next_block().unwrap().unwrap() {
                let Ok((ethernet, rest)) = Ethernet2Header::from_slice(&packet.data) else {
                    panic!("no Ethernet header")
                };
                let (ip, rest) = Ipv4Header::from_slice(rest).unwrap();
                let (tcp, rest) = TcpHeader::from_slice(rest).unwrap();
                assert!(rest.is_empty(), "payload is stored");
                return (ethernet, ip, tcp, packet.data.len(), packet.original_len);
            }
        }
    }

    fn elements(tcp: &TcpHeader) -> Vec<TcpOptionElement> {
        tcp.options_iterator()
            .map(|element| element.unwrap())
            .collect()
    }

    #[test]
    fn headers_say_what_the_segment_says() {
        let segment = Segment {
            seq: 0xffff_fff0,
            ack: 17,
            window: 4096,
            len: 8948,
            flags: Flags::ACK | Flags::PSH | Flags::ECE | Flags::CWR,
            ect: true,
            timestamps: Some((11, 12)),
            ..Segment::default()
        };
        let (ethernet, ip, tcp, stored, original) = round_trip(&frame(segment));
        assert_eq!(ethernet.source, [0x02, 0, 0, 1, 0, 3]);
        assert_eq!(ethernet.destination, [0x02, 0, 1, 2, 0, 0]);
        assert_eq!((ip.source, ip.destination), ([10, 0, 1, 4], [10, 1, 2, 1]));
        assert_eq!(
            (ip.identification, ip.dont_fragment, ip.ecn),
            (7, true, IpEcn::Ect0)
        );
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!(usize::from(ip.total_len), 20 + 32 + 8948);
        assert_eq!((tcp.source_port, tcp.destination_port), (40_000, 5001));
        assert_eq!(
            (
                tcp.sequence_number,
                tcp.acknowledgment_number,
                tcp.window_size
            ),
            (0xffff_fff0, 17, 4096)
        );
        assert!(tcp.ack && tcp.psh && tcp.ece && tcp.cwr && !tcp.syn && !tcp.fin && !tcp.rst);
        assert_eq!(
            tcp.checksum,
            tcp.calc_checksum_ipv4(&ip, &[0; 8948]).unwrap()
        );
        assert_eq!((stored, original), (14 + 20 + 32, 14 + 20 + 32 + 8948));
    }

    #[test]
    fn checksum_holds_for_every_payload_length() {
        for len in [0, 1, 2, 1447, 8948] {
            let segment = Segment {
                len,
                flags: Flags::ACK,
                ..Segment::default()
            };
            let (_, ip, tcp, ..) = round_trip(&frame(segment));
            assert_eq!(
                tcp.checksum,
                tcp.calc_checksum_ipv4(&ip, &vec![0; usize::from(len)])
                    .unwrap(),
                "len {len}"
            );
        }
    }

    #[test]
    fn a_mark_replaces_ect() {
        let segment = Segment {
            flags: Flags::ACK,
            ect: true,
            len: 1,
            ..Segment::default()
        };
        let (_, ip, ..) = round_trip(&Frame {
            ce: true,
            ..frame(segment)
        });
        assert_eq!(ip.ecn, IpEcn::CongestionExperienced);
        let (_, ip, ..) = round_trip(&frame(Segment {
            ect: false,
            ..segment
        }));
        assert_eq!(ip.ecn, IpEcn::NotEct);
    }

    #[test]
    fn options_of_a_syn() {
        use TcpOptionElement::{
            MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
        };
        let syn = Segment {
            flags: Flags::SYN,
            mss: 8960,
            window_scale: Some(7),
            sack_permitted: true,
            ..Segment::default()
        };
        let with_timestamps = Segment {
            timestamps: Some((1, 0)),
            ..syn
        };
        let (.., tcp, _, _) = round_trip(&frame(with_timestamps));
        assert_eq!(
            elements(&tcp),
            [
                MaximumSegmentSize(8960),
                SelectiveAcknowledgementPermitted,
                Timestamp(1, 0),
                Noop,
                WindowScale(7)
            ]
        );
        let (.., tcp, _, _) = round_trip(&frame(syn));
        assert_eq!(
            elements(&tcp),
            [
                MaximumSegmentSize(8960),
                Noop,
                Noop,
                SelectiveAcknowledgementPermitted,
                Noop,
                WindowScale(7)
            ]
        );
    }

    /// The writer and the endpoint agree on the length of every header, whatever options it has.
    #[test]
    fn header_length_is_the_segments() {
        for bits in 0..32_u32 {
            for blocks in 0..=4 {
                let timestamps = (bits & 8 != 0).then_some((1, 2));
                if blocks > 0 && (bits & 0b0111 != 0) || blocks == 4 && timestamps.is_some() {
                    continue; // SACK blocks do not come with the options of a SYN; the fourth has no room.
                }
                let mut sack = SackBlocks::default();
                for i in 0..blocks {
                    sack.push(100 * i + 10, 100 * i + 20);
                }
                let segment = Segment {
                    mss: if bits & 1 != 0 { 1460 } else { 0 },
                    window_scale: (bits & 2 != 0).then_some(3),
                    sack_permitted: bits & 4 != 0,
                    timestamps,
                    sack,
                    ..Segment::default()
                };
                let (_, _, tcp, stored, _) = round_trip(&frame(segment));
                assert_eq!(tcp.header_len() as u32, segment.header_len(), "{segment:?}");
                assert_eq!(stored as u32, 34 + segment.header_len());
                let found: usize = elements(&tcp)
                    .iter()
                    .map(|element| match element {
                        TcpOptionElement::SelectiveAcknowledgement(_, more) => {
                            1 + more.iter().flatten().count()
                        }
                        _ => 0,
                    })
                    .sum();
                assert_eq!(found as u32, blocks);
            }
        }
    }

    #[test]
    fn interfaces_times_and_comments_come_back() {
        let interfaces = ["a", "b"].map(|name| Interface {
            name: name.into(),
            description: format!("at {name}"),
        });
        let mut file = PcapNg::new(Vec::new(), &interfaces).unwrap();
        let segment = Segment {
            flags: Flags::ACK,
            len: 10,
            ..Segment::default()
        };
        file.packet(1, 5_000_000_001, &frame(segment), Some("dropped: VOQ full"))
            .unwrap();
        let bytes = file.finish().unwrap();

        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let mut names = Vec::new();
        let mut packets = 0;
        while let Some(block) = reader.next_block() {
            match block.unwrap() {
                Block::InterfaceDescription(interface) => {
                    assert_eq!(interface.linktype, DataLink::ETHERNET);
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
                    let headers = PacketHeaders::from_ethernet_slice(&packet.data);
                    // Cut packets are an error to the strict parser and fine to the lax one.
                    assert!(headers.is_err());
                    let headers =
                        etherparse::LaxPacketHeaders::from_ethernet(&packet.data).unwrap();
                    assert!(matches!(headers.net, Some(NetHeaders::Ipv4(..))));
                    assert!(matches!(headers.transport, Some(TransportHeader::Tcp(_))));
                }
                _ => {}
            }
        }
        assert_eq!(names, ["a", "b"]);
        assert_eq!(packets, 1);
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let mut file = PcapNg::new(Vec::new(), &one_interface()).unwrap();
        let good = frame(Segment {
            flags: Flags::ACK,
            ..Segment::default()
        });
        let kind = |result: io::Result<()>| result.unwrap_err().kind();
        assert_eq!(
            kind(file.packet(1, 0, &good, None)),
            io::ErrorKind::InvalidInput
        );
        assert_eq!(
            kind(file.packet(
                0,
                0,
                &Frame {
                    src_host: 254,
                    ..good
                },
                None
            )),
            io::ErrorKind::InvalidInput
        );
        let long = Segment {
            len: u16::MAX,
            ..good.segment
        };
        assert_eq!(
            kind(file.packet(0, 0, &frame(long), None)),
            io::ErrorKind::InvalidInput
        );
        file.packet(
            0,
            0,
            &Frame {
                src_host: 253,
                ..good
            },
            None,
        )
        .unwrap();
    }
}
