// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a segment looks like on a wire: the IPv4 and TCP headers, for packet captures.
//!
//! Payload is all zeros and is not written: a packet ends after its headers, as in a capture with a small snapshot length.
//! Checksums are those of the whole packet.

use std::io;
use std::net::Ipv4Addr;

use etalon_scenario::address;
use etalon_tcp::{Flags, Segment, TdnOption};
use etherparse::checksum::Sum16BitWords;
use etherparse::{IpEcn, IpFragOffset, IpNumber, Ipv4Header, TcpHeader, TcpOptions};

use crate::mptcp_options::{self, Secrets};
use crate::packet::{ETHERNET_AND_IP, Packet};

/// A packet as its hosts see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame<'a> {
    /// Rack of the sender, and its number within the rack, from 0.
    pub(crate) src: (u16, u16),
    /// The same of the receiver.
    pub(crate) dst: (u16, u16),
    /// TCP ports of the sender and of the receiver.
    pub(crate) ports: (u16, u16),
    /// What MPTCP's options are written with.
    pub(crate) secrets: Secrets,
    /// The packet.
    pub(crate) packet: &'a Packet,
}

impl Frame<'_> {
    /// Leaves the headers in `data`, and returns the length of the whole IP packet.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a host without an address and for a segment longer than an IPv4 packet.
    pub(crate) fn encode(&self, data: &mut Vec<u8>) -> io::Result<u32> {
        let (source, destination) = (ip_address(self.src)?, ip_address(self.dst)?);
        let segment = &self.packet.segment;
        let telemetry = self.telemetry();
        let mut tcp = tcp_header((self.ports, telemetry), segment, &self.secrets)?;
        let header_len = segment.header_len() + telemetry;
        let beyond = header_len.saturating_sub(tcp.header_len() as u32);
        let tcp_len = u16::try_from(header_len + u32::from(segment.len)).map_err(invalid)?;
        // Zeros add nothing to a ones' complement sum, so the payload itself is not needed.
        tcp.checksum = Sum16BitWords::new()
            .add_4bytes(source.octets())
            .add_4bytes(destination.octets())
            .add_2bytes([0, IpNumber::TCP.0])
            .add_2bytes(tcp_len.to_be_bytes())
            .add_slice(&tcp.to_bytes())
            .ones_complement()
            .to_be();
        let ip = ipv4_header(self.packet, source, destination, tcp_len)?;
        data.clear();
        data.extend_from_slice(&ip.to_bytes());
        data.extend_from_slice(&tcp.to_bytes());
        Ok(data.len() as u32 + beyond + u32::from(segment.len))
    }

    /// Bytes of the option for telemetry: what the packet is longer by than its segment.
    fn telemetry(&self) -> u32 {
        let Packet { segment, envelope } = self.packet;
        let others = ETHERNET_AND_IP + segment.header_len() + u32::from(segment.len);
        envelope.size.bytes().saturating_sub(others)
    }
}

fn ip_address((rack, host): (u16, u16)) -> io::Result<Ipv4Addr> {
    address::ip(rack, host).ok_or_else(|| {
        let most = address::MOST_HOSTS;
        invalid(format!(
            "host {host} of rack {rack} has no address: a capture has room for {most} hosts a rack"
        ))
    })
}

fn ipv4_header(
    packet: &Packet,
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
    ip.ecn = match (packet.segment.ce, packet.segment.ect) {
        (true, _) => IpEcn::CongestionExperienced,
        (false, true) => IpEcn::Ect0,
        (false, false) => IpEcn::NotEct,
    };
    ip.identification = packet.envelope.ip_id;
    ip.dont_fragment = true;
    ip.fragment_offset = IpFragOffset::ZERO;
    ip.header_checksum = ip.calc_header_checksum();
    Ok(ip)
}

/// The TCP header of `segment`, its checksum still zero. An option for telemetry of so many bytes goes without what is in it; where the header has
/// no room for that, it follows the header as a shim of its own.
fn tcp_header(
    ((source, destination), telemetry): ((u16, u16), u32),
    segment: &Segment,
    secrets: &Secrets,
) -> io::Result<TcpHeader> {
    let mut tcp = TcpHeader::new(source, destination, segment.seq, segment.window);
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
    let mut options = options(segment);
    if let Some(option) = segment.rare.mptcp() {
        mptcp_options::write(&option, segment.flags, secrets, &mut options);
    }
    if telemetry > 0 && options.len() + telemetry as usize <= MOST_OPTIONS {
        options.extend([kind::TELEMETRY, telemetry as u8]);
        options.resize(options.len() + telemetry as usize - 2, 0);
    }
    tcp.options = TcpOptions::try_from_slice(&options).map_err(invalid)?;
    Ok(tcp)
}

/// Numbers of TCP options (IANA), and TDTCP's.
mod kind {
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    /// SIGCOMM'22, figures 5b and 5c.
    pub(super) const TDTCP: u8 = 35;
    /// In-band telemetry, as PowerTCP's authors have it.
    pub(super) const TELEMETRY: u8 = 36;
}

/// Bytes of options that a header has room for.
const MOST_OPTIONS: usize = 40;

/// The options of `segment`, padded with NOPs to the lengths that [`Segment::header_len`] counts.
fn options(segment: &Segment) -> Vec<u8> {
    use kind::NOP;
    let mut bytes = Vec::with_capacity(40);
    let syn = segment.rare.syn();
    if syn.mss != 0 {
        bytes.extend([kind::MSS, 4]);
        bytes.extend(syn.mss.to_be_bytes());
    }
    match (syn.sack_permitted, segment.timestamps.is_some()) {
        // SACK permitted takes the place of the two NOPs in front of the timestamps.
        (true, true) => bytes.extend([kind::SACK_PERMITTED, 2]),
        (true, false) => bytes.extend([NOP, NOP, kind::SACK_PERMITTED, 2]),
        (false, true) => bytes.extend([NOP, NOP]),
        (false, false) => {}
    }
    if let Some((value, echo)) = segment.timestamps {
        bytes.extend([kind::TIMESTAMPS, 10]);
        bytes.extend([value, echo].map(u32::to_be_bytes).as_flattened());
    }
    if let Some(shift) = syn.window_scale {
        bytes.extend([NOP, kind::WINDOW_SCALE, 3, shift]);
    }
    if let Some(TdnOption::Capable(tdns)) = segment.tdn {
        bytes.extend([kind::TDTCP, 4, TD_CAPABLE, tdns]);
    }
    if let Some(TdnOption::DataAck(tdns)) = segment.tdn {
        let flags = u8::from(tdns.ack.is_some()) | u8::from(tdns.data.is_some()) << 1;
        let [data, ack] = [tdns.data, tdns.ack].map(Option::unwrap_or_default);
        bytes.extend([kind::TDTCP, 8, TD_DATA_ACK, flags, data, 0, ack, 0]);
    }
    let blocks = segment.rare.blocks();
    if !blocks.is_empty() {
        bytes.extend([NOP, NOP, kind::SACK, 2 + 8 * blocks.len() as u8]);
        let ends = blocks.iter().flat_map(|&(start, end)| [start, end]);
        bytes.extend(ends.flat_map(u32::to_be_bytes));
    }
    bytes
}

/// Subtypes of TDTCP's option, in the upper half of its third byte.
const TD_CAPABLE: u8 = 1 << 4;
const TD_DATA_ACK: u8 = 2 << 4;

/// A ToR switch's number among the hosts of its rack: none has it.
pub(crate) const TOR: u16 = u16::MAX;

/// Leaves in `data` what the ToR switch of a rack tells one of its hosts: network `tdn` leads to rack `about`. It is an ICMP message
/// of type 7, code 0 (SIGCOMM'22, figure 5a); its last two bytes, reserved there, are the destination rack.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a host without an address.
pub(crate) fn encode_notification(
    host: (u16, u16),
    about: u16,
    tdn: u8,
    data: &mut Vec<u8>,
) -> io::Result<u32> {
    let [high, low] = host.0.to_be_bytes();
    // Between the ToR switch and its hosts only.
    let source = [169, 254, high, low];
    let destination = ip_address(host)?.octets();
    let [about_high, about_low] = about.to_be_bytes();
    let mut icmp = [7, 0, 0, 0, tdn, 0, about_high, about_low];
    let checksum = Sum16BitWords::new().add_slice(&icmp).ones_complement();
    icmp[2..4].copy_from_slice(&checksum.to_ne_bytes());
    let mut ip = Ipv4Header::new(icmp.len() as u16, 1, IpNumber::ICMP, source, destination)
        .map_err(invalid)?;
    ip.dont_fragment = true;
    ip.header_checksum = ip.calc_header_checksum();
    data.clear();
    data.extend_from_slice(&ip.to_bytes());
    data.extend_from_slice(&icmp);
    Ok(data.len() as u32)
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Envelope;
    use etalon_tcp::{RareOptions, SynOptions, TdDataAck};

    use etherparse::TcpOptionElement;

    const TAG: TdnOption = TdnOption::DataAck(TdDataAck {
        data: None,
        ack: Some(1),
    });

    fn packet(segment: Segment) -> Packet {
        Packet {
            segment,
            envelope: Envelope {
                ip_id: 7,
                ..Envelope::default()
            },
        }
    }

    fn frame(packet: &Packet) -> Frame<'_> {
        Frame {
            src: (1, 3),
            dst: (258, 0),
            ports: (40_000, 5001),
            secrets: Secrets::default(),
            packet,
        }
    }

    /// The headers of one packet, their length, and that of the packet.
    fn round_trip(packet: &Packet) -> (Ipv4Header, TcpHeader, usize, u32) {
        let mut data = Vec::new();
        let len = frame(packet).encode(&mut data).unwrap();
        let (ip, rest) = Ipv4Header::from_slice(&data).unwrap();
        let (tcp, rest) = TcpHeader::from_slice(rest).unwrap();
        assert!(rest.is_empty(), "payload is stored");
        (ip, tcp, data.len(), len)
    }

    fn elements(tcp: &TcpHeader) -> Vec<TcpOptionElement> {
        tcp.options_iterator()
            .map(|element| element.unwrap())
            .collect()
    }

    #[test]
    fn telemetry_takes_its_bytes_where_there_is_room_and_where_there_is_none() {
        use crate::packet::Size;
        let segment = Segment {
            len: 100,
            timestamps: Some((1, 2)),
            ..Segment::default()
        };
        for (option, in_header) in [(12, 12), (28, 28), (44, 0)] {
            let mut packet = packet(segment.clone());
            let bytes = ETHERNET_AND_IP + segment.header_len() + 100;
            packet.envelope.size = Size::default().with(bytes + option);
            let (ip, tcp, _, len) = round_trip(&packet);
            assert_eq!(len, bytes + option - 14);
            assert_eq!(u32::from(ip.total_len), len);
            assert_eq!(tcp.header_len(), 32 + in_header);
        }
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
        let (ip, tcp, stored, original) = round_trip(&packet(segment));
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
        assert_eq!((stored, original), (20 + 32, 20 + 32 + 8948));
    }

    #[test]
    fn checksum_holds_for_every_payload_length() {
        for len in [0, 1, 2, 1447, 8948] {
            let segment = Segment {
                len,
                flags: Flags::ACK,
                ..Segment::default()
            };
            let (ip, tcp, ..) = round_trip(&packet(segment));
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
        let (ip, ..) = round_trip(&packet(Segment {
            ce: true,
            ..segment.clone()
        }));
        assert_eq!(ip.ecn, IpEcn::CongestionExperienced);
        let (ip, ..) = round_trip(&packet(Segment {
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
            rare: SynOptions {
                mss: 8960,
                window_scale: Some(7),
                sack_permitted: true,
            }
            .into(),
            ..Segment::default()
        };
        let with_timestamps = Segment {
            timestamps: Some((1, 0)),
            ..syn.clone()
        };
        let (_, tcp, ..) = round_trip(&packet(with_timestamps));
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
        let (_, tcp, ..) = round_trip(&packet(syn));
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
        for bits in 0..64_u32 {
            for blocks in 0..=4 {
                let timestamps = (bits & 8 != 0).then_some((1, 2));
                let (td_capable, tags) = (bits & 16 != 0, bits & 32 != 0);
                let of_syn = bits & 0b1_0111 != 0;
                if of_syn && (blocks > 0 || tags)
                    || blocks + u32::from(timestamps.is_some()) + u32::from(tags) > 4
                {
                    continue; // What belongs on other segments does not come with the options of a SYN, or has no room.
                }
                let mut rare = RareOptions::from(SynOptions {
                    mss: if bits & 1 != 0 { 1460 } else { 0 },
                    window_scale: (bits & 2 != 0).then_some(3),
                    sack_permitted: bits & 4 != 0,
                });
                for i in 0..blocks {
                    rare.push(100 * i + 10, 100 * i + 20);
                }
                let segment = Segment {
                    flags: if of_syn { Flags::SYN } else { Flags::ACK },
                    timestamps,
                    tdn: match (td_capable, tags) {
                        (true, _) => Some(TdnOption::Capable(2)),
                        (_, true) => Some(TAG),
                        _ => None,
                    },
                    rare,
                    ..Segment::default()
                };
                let (_, tcp, stored, _) = round_trip(&packet(segment.clone()));
                assert_eq!(tcp.header_len() as u32, segment.header_len(), "{segment:?}");
                assert_eq!(stored as u32, 20 + segment.header_len());
                if td_capable || tags {
                    continue; // the reader does not know them: see below
                }
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
    fn tdtcps_options_are_the_papers() {
        let raw = |segment: Segment| round_trip(&packet(segment)).1.options.to_vec();
        let syn = Segment {
            flags: Flags::SYN,
            tdn: Some(TdnOption::Capable(3)),
            ..Segment::default()
        };
        assert_eq!(raw(syn), [35, 4, 0x10, 3]);
        let tagged = |data, ack| Segment {
            flags: Flags::ACK,
            tdn: Some(TdnOption::DataAck(TdDataAck { data, ack })),
            ..Segment::default()
        };
        let both = tagged(Some(2), Some(1));
        assert_eq!(raw(both.clone()), [35, 8, 0x20, 3, 2, 0, 1, 0]);
        assert_eq!(raw(tagged(None, Some(1))), [35, 8, 0x20, 1, 0, 0, 1, 0]);
        let mut full = Segment {
            timestamps: Some((1, 2)),
            ..both
        };
        full.rare.push(10, 20);
        full.rare.push(30, 40);
        assert_eq!(raw(full).len(), 40);
    }

    #[test]
    fn notifications_are_icmp() {
        let mut data = Vec::new();
        let len = encode_notification((258, 3), 7, 1, &mut data).unwrap();
        let (ip, icmp) = Ipv4Header::from_slice(&data).unwrap();
        assert_eq!(
            (ip.source, ip.destination),
            ([169, 254, 1, 2], [10, 1, 2, 4])
        );
        assert_eq!((ip.protocol, ip.time_to_live), (IpNumber::ICMP, 1));
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!((len, icmp.len()), (28, 8));
        assert_eq!([&icmp[..2], &icmp[4..]].concat(), [7, 0, 1, 0, 0, 7]);
        // With its checksum, a message sums up to all ones.
        assert_eq!(Sum16BitWords::new().add_slice(icmp).ones_complement(), 0);
        assert!(encode_notification((0, 254), 0, 1, &mut data).is_err());
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let ack = Segment {
            flags: Flags::ACK,
            ..Segment::default()
        };
        let kind = |host: u16, segment: Segment| {
            let packet = packet(segment);
            let src = (1, host);
            let frame = Frame {
                src,
                ..frame(&packet)
            };
            frame.encode(&mut Vec::new()).map_err(|e| e.kind())
        };
        assert_eq!(kind(253, ack.clone()), Ok(40));
        let refused = Err(io::ErrorKind::InvalidInput);
        assert_eq!(kind(254, ack.clone()), refused);
        let len = u16::MAX;
        assert_eq!(kind(3, Segment { len, ..ack }), refused);
    }
}
