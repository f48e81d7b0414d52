// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPTCP's options as bytes (RFC 8684, section 3), for captures.
//!
//! Keys and random numbers are made from the flow's number. Tokens, hashes and the initial data sequence numbers follow from them as
//! the RFC says, so that who reads a capture finds which subflows belong together.

use etalon_tcp::Flags;
use etalon_tcp::mptcp::{Dss, MptcpOption};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// Number of the option (IANA), and of what fills it up.
const KIND: u8 = 30;
const NOP: u8 = 1;

/// Subtypes, in the upper half of the third byte.
const MP_CAPABLE: u8 = 0 << 4;
const MP_JOIN: u8 = 1 << 4;
const DSS: u8 = 2 << 4;

/// MP_CAPABLE: version 1, HMAC-SHA256.
const VERSION: u8 = 1;
const HMAC_SHA256: u8 = 1;

/// Flags of DSS: what is there (A, M), which of them has eight bytes (a, m), and whether the stream ends (F).
const HAS_ACK: u8 = 1;
const LONG_ACK: u8 = 2;
const HAS_MAPPING: u8 = 4;
const LONG_SEQ: u8 = 8;
const DATA_FIN: u8 = 16;

/// What both ends of a subflow know of each other: the sender of a packet first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Secrets {
    keys: [u64; 2],
    /// Random numbers of this subflow's handshake.
    nonces: [u32; 2],
}

impl Secrets {
    /// Those of `subflow` of a flow, for packets to its server or to its client.
    pub(crate) fn new(flow: usize, subflow: u8, to_server: bool) -> Secrets {
        let of = |server: bool| {
            let end = (flow as u64) << 1 | u64::from(server);
            let [key, _] = hashed(&end.to_be_bytes());
            let mut text = end.to_be_bytes().to_vec();
            text.push(subflow);
            let [nonce, _] = hashed(&text);
            (key, nonce as u32)
        };
        let (sender, receiver) = (of(!to_server), of(to_server));
        Secrets {
            keys: [sender.0, receiver.0],
            nonces: [sender.1, receiver.1],
        }
    }

    /// The first data sequence number after the initial one, of what the sender sends, or the receiver.
    fn first(&self, end: usize) -> u64 {
        let [_, initial] = hashed(&self.keys[end].to_be_bytes());
        initial.wrapping_add(1)
    }

    /// What names the receiver's connection.
    fn token(&self) -> u32 {
        let [first, _] = hashed(&self.keys[1].to_be_bytes());
        (first >> 32) as u32
    }

    /// The sender's proof that it knows both keys.
    fn proof(&self) -> [u8; 32] {
        let key = self.keys.map(u64::to_be_bytes);
        let text = self.nonces.map(u32::to_be_bytes);
        let mut mac =
            Hmac::<Sha256>::new_from_slice(key.as_flattened()).expect("any length will do");
        mac.update(text.as_flattened());
        mac.finalize().into_bytes().into()
    }
}

/// First and last eight bytes of a hash.
fn hashed(text: &[u8]) -> [u64; 2] {
    let hash: [u8; 32] = Sha256::digest(text).into();
    let eight = |at: usize| {
        hash[at..at + 8]
            .iter()
            .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
    };
    [eight(0), eight(24)]
}

/// Appends `option` of a segment with these flags, padded to the length that [`MptcpOption::wire_len`] says.
pub(crate) fn write(option: &MptcpOption, flags: Flags, secrets: &Secrets, bytes: &mut Vec<u8>) {
    let (syn, ack) = (flags.contains(Flags::SYN), flags.contains(Flags::ACK));
    let start = bytes.len();
    bytes.extend([KIND, 0]);
    match option {
        MptcpOption::Capable => {
            bytes.extend([MP_CAPABLE | VERSION, HMAC_SHA256]);
            let keys = match (syn, ack) {
                (true, false) => 0,
                (true, true) => 1,
                _ => 2,
            };
            bytes.extend(
                secrets.keys[..keys]
                    .iter()
                    .flat_map(|key| key.to_be_bytes()),
            );
        }
        MptcpOption::Join(id) => match (syn, ack) {
            (true, false) => {
                bytes.extend([MP_JOIN, *id]);
                bytes.extend(secrets.token().to_be_bytes());
                bytes.extend(secrets.nonces[0].to_be_bytes());
            }
            (true, true) => {
                bytes.extend([MP_JOIN, 0]);
                bytes.extend(&secrets.proof()[..8]);
                bytes.extend(secrets.nonces[0].to_be_bytes());
            }
            _ => {
                bytes.extend([MP_JOIN, 0]);
                bytes.extend(&secrets.proof()[..20]);
            }
        },
        MptcpOption::Dss(dss) => write_dss(dss, secrets, bytes),
    }
    bytes[start + 1] = (bytes.len() - start) as u8;
    while bytes.len() - start < option.wire_len(syn, ack) as usize {
        bytes.push(NOP);
    }
}

fn write_dss(dss: &Dss, secrets: &Secrets, bytes: &mut Vec<u8>) {
    let ack = secrets.first(1).wrapping_add(dss.data_ack);
    let Some(mapping) = &dss.mapping else {
        bytes.extend([DSS, HAS_ACK | LONG_ACK]);
        bytes.extend(ack.to_be_bytes());
        return;
    };
    if dss.opens {
        bytes.extend([MP_CAPABLE | VERSION, HMAC_SHA256]);
        bytes.extend(secrets.keys.iter().flat_map(|key| key.to_be_bytes()));
        bytes.extend(mapping.len.to_be_bytes());
        return;
    }
    let fin = u8::from(dss.ends) * DATA_FIN;
    let long = u8::from(dss.long_ack) * LONG_ACK;
    bytes.extend([DSS, HAS_ACK | HAS_MAPPING | LONG_SEQ | fin | long]);
    match dss.long_ack {
        true => bytes.extend(ack.to_be_bytes()),
        false => bytes.extend((ack as u32).to_be_bytes()),
    }
    let seq = secrets.first(0).wrapping_add(mapping.data_seq);
    bytes.extend(seq.to_be_bytes());
    bytes.extend(mapping.subflow_seq.to_be_bytes());
    bytes.extend(mapping.len.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use etalon_tcp::mptcp::Mapping;

    fn written(option: MptcpOption, flags: Flags, to_server: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&option, flags, &Secrets::new(3, 1, to_server), &mut bytes);
        let (syn, ack) = (flags.contains(Flags::SYN), flags.contains(Flags::ACK));
        assert_eq!(bytes.len() as u32, option.wire_len(syn, ack), "{option:?}");
        bytes
    }

    #[test]
    fn keys_are_exchanged_and_proved() {
        let both = Flags::SYN | Flags::ACK;
        let capable = MptcpOption::Capable;
        assert_eq!(written(capable, Flags::SYN, true), [30, 4, 1, 1]);
        let servers = written(capable, both, false);
        let clients = written(capable, Flags::ACK, true);
        assert_eq!(&servers[..4], [30, 12, 1, 1]);
        assert_eq!(&clients[..4], [30, 20, 1, 1]);
        assert_eq!(servers[4..12], clients[12..20]);
        // The token is the beginning of the hash of the server's key (section 3.2).
        let join = written(MptcpOption::Join(1), Flags::SYN, true);
        assert_eq!(&join[..4], [30, 12, 0x10, 1]);
        assert_eq!(join[4..8], Sha256::digest(&servers[4..12])[..4]);
        let answer = written(MptcpOption::Join(1), both, false);
        let end = written(MptcpOption::Join(1), Flags::ACK, true);
        assert_eq!((&answer[..2], &end[..2]), (&[30, 16][..], &[30, 24][..]));
        let mut mac = Hmac::<Sha256>::new_from_slice(&clients[4..20]).unwrap();
        mac.update(&join[8..12]);
        mac.update(&answer[12..16]);
        assert_eq!(end[4..24], mac.finalize().into_bytes()[..20]);
    }

    #[test]
    fn data_has_its_place_in_the_stream() {
        let secrets = Secrets::new(3, 1, true);
        let mapping = Mapping {
            data_seq: 100,
            subflow_seq: 7,
            len: 8948,
        };
        let dss = |mapping, opens| {
            MptcpOption::Dss(Dss {
                data_ack: 5,
                mapping,
                opens,
                ..Dss::default()
            })
        };
        let first = written(dss(Some(mapping), true), Flags::ACK, true);
        assert_eq!(&first[..4], [30, 22, 1, 1]);
        assert_eq!(first[4..12], secrets.keys[0].to_be_bytes());
        assert_eq!(first[20..], [0x22, 0xf4, NOP, NOP]);
        let data = written(dss(Some(mapping), false), Flags::ACK, true);
        assert_eq!(&data[..4], [30, 22, 0x20, 0x0d]);
        assert_eq!(data[8..16], (secrets.first(0) + 100).to_be_bytes());
        assert_eq!(data[16..], [0, 0, 0, 7, 0x22, 0xf4, NOP, NOP]);
        let end = MptcpOption::Dss(Dss {
            data_ack: 5,
            mapping: Some(Mapping {
                data_seq: 100,
                subflow_seq: 0,
                len: 1,
            }),
            ends: true,
            long_ack: true,
            ..Dss::default()
        });
        let end = written(end, Flags::ACK, true);
        assert_eq!(&end[..4], [30, 26, 0x20, 0x1f]);
        assert_eq!(end[4..12], (secrets.first(1) + 5).to_be_bytes());
        assert_eq!(end[20..], [0, 0, 0, 0, 0, 1, NOP, NOP]);
        let ack = written(dss(None, false), Flags::ACK, true);
        assert_eq!(&ack[..4], [30, 12, 0x20, 0x03]);
        assert_eq!(ack[4..], (secrets.first(1) + 5).to_be_bytes());
    }
}
