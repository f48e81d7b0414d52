// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's memory of past connections (`ip tcp_metrics`), which would keep what the agent's parameters taught it.

use std::net::IpAddr;
use std::time::Duration;

use super::{Builder, attributes, flag, u16_at, u32_at, u64_at};

const CONTROL_FAMILY: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

const GET: u8 = 1;
const DELETE: u8 = 2;
const ADDRESS_V4: u16 = 1;
const ADDRESS_V6: u16 = 2;
const AGE: u16 = 3;
const SOURCE_V4: u16 = 11;
const SOURCE_V6: u16 = 12;

fn header(command: u8) -> [u8; 4] {
    [command, 1, 0, 0]
}

/// Asks for the number of the family `tcp_metrics`.
pub fn find_family() -> Builder {
    let mut message = Builder::new(
        CONTROL_FAMILY,
        flag::REQUEST | flag::ACK,
        &header(GET_FAMILY),
    );
    message.attribute(FAMILY_NAME, b"tcp_metrics\0");
    message
}

/// Reads the answer to [`find_family`].
pub fn family(body: &[u8]) -> Option<u16> {
    attributes(body.get(4..)?)
        .find(|(kind, _)| *kind == FAMILY_ID)
        .and_then(|(_, value)| u16_at(value, 0))
}

/// Asks for all entries.
pub fn dump(family: u16) -> Builder {
    Builder::new(family, flag::REQUEST | flag::DUMP, &header(GET))
}

/// What the kernel remembers of connections with one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The other host.
    pub address: IpAddr,
    source: Option<IpAddr>,
    /// How long ago it was written.
    pub age: Duration,
}

fn ip(value: &[u8]) -> Option<IpAddr> {
    match value.len() {
        4 => u32_at(value, 0).map(|a| IpAddr::from(a.to_ne_bytes())),
        _ => <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
    }
}

impl Entry {
    /// Reads the body of an entry.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let (mut address, mut source, mut age) = (None, None, None);
        for (kind, value) in attributes(body.get(4..)?) {
            match kind {
                ADDRESS_V4 | ADDRESS_V6 => address = ip(value),
                SOURCE_V4 | SOURCE_V6 => source = ip(value),
                AGE => age = u64_at(value, 0),
                _ => {}
            }
        }
        Some(Self {
            address: address?,
            source,
            age: Duration::from_millis(age?),
        })
    }

    /// The request that makes the kernel forget it.
    pub fn delete(&self, family: u16) -> Builder {
        let mut message = Builder::new(family, flag::REQUEST | flag::ACK, &header(DELETE));
        let mut put = |v4, v6, address| match address {
            IpAddr::V4(a) => drop(message.attribute(v4, &a.octets())),
            IpAddr::V6(a) => drop(message.attribute(v6, &a.octets())),
        };
        put(ADDRESS_V4, ADDRESS_V6, self.address);
        if let Some(source) = self.source {
            put(SOURCE_V4, SOURCE_V6, source);
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_what_is_deleted() {
        for address in ["10.0.1.2", "fd00::2"] {
            let address: IpAddr = address.parse().unwrap();
            let entry = Entry {
                address,
                source: Some(address),
                age: Duration::from_millis(1500),
            };
            let mut message = entry.delete(30);
            message.attribute(AGE, &1500_u64.to_ne_bytes());
            assert_eq!(Entry::decode(&message.finish(1)[16..]), Some(entry));
        }
        assert_eq!(Entry::decode(&[1, 1, 0, 0]), None);
    }
}
