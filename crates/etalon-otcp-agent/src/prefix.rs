// SPDX-License-Identifier: MIT OR Apache-2.0
//! Destinations: an address and the number of its bits that count.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An IPv4 or IPv6 prefix whose bits behind the length are 0. Ordered by family, address, length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

/// Bits of an address of this family.
const fn bits(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => 32,
        IpAddr::V6(_) => 128,
    }
}

/// The address as a number whose highest bit is the address's first.
fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(a) => u128::from(a.to_bits()) << 96,
        IpAddr::V6(a) => a.to_bits(),
    }
}

impl Prefix {
    /// None if the length is too large or a bit behind it is set.
    pub fn new(address: IpAddr, length: u8) -> Option<Self> {
        let behind = if length >= 128 {
            0
        } else {
            u128::MAX >> length
        };
        (length <= bits(address) && number(address) & behind == 0)
            .then_some(Self { address, length })
    }

    /// The prefix of this length that covers this one, if it is not longer.
    pub fn shortened(&self, length: u8) -> Option<Self> {
        let kept = if length == 0 {
            0
        } else {
            u128::MAX << (128 - u32::from(length.min(128)))
        };
        let bits = number(self.address) & kept;
        let address = match self.address {
            IpAddr::V4(_) => IpAddr::V4(((bits >> 96) as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(bits.into()),
        };
        (length <= self.length).then_some(Self { address, length })
    }

    /// The longest prefix in the map that covers this one, and what belongs to it.
    pub fn longest_in<'a, T>(&self, map: &'a BTreeMap<Prefix, T>) -> Option<(Prefix, &'a T)> {
        (0..=self.length).rev().find_map(|length| {
            let prefix = self.shortened(length)?;
            Some((prefix, map.get(&prefix)?))
        })
    }

    /// The prefix of one address.
    pub fn host(address: IpAddr) -> Self {
        Self {
            address,
            length: bits(address),
        }
    }

    /// Its first address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// How many bits count.
    pub fn length(&self) -> u8 {
        self.length
    }

    /// True for IPv4.
    pub fn is_v4(&self) -> bool {
        self.address.is_ipv4()
    }

    /// True if all addresses of `other` are in this prefix too.
    pub fn covers(&self, other: &Prefix) -> bool {
        self.is_v4() == other.is_v4()
            && self.length <= other.length
            && (self.length == 0
                || (number(self.address) ^ number(other.address)) >> (128 - self.length) == 0)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// Takes the canonical form only (RFC 5952, no bits behind the length), so that a prefix has one spelling.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a prefix: expected an address and a length, as 10.0.1.0/24, with no bits behind the length"
            )
        };
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let prefix = address
            .parse()
            .ok()
            .zip(length.parse().ok())
            .and_then(|(address, length)| Prefix::new(address, length))
            .ok_or_else(wrong)?;
        if prefix.to_string() == text {
            Ok(prefix)
        } else {
            Err(format!("{text:?} is not how {prefix} is written"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    #[test]
    fn one_spelling_each() {
        for text in [
            "10.0.1.0/24",
            "0.0.0.0/0",
            "fd00::/8",
            "::/0",
            "10.1.2.3/32",
            "fd00::1/128",
        ] {
            assert_eq!(prefix(text).to_string(), text);
        }
        for text in [
            "",
            "10.0.1.0",
            "10.0.1.0/",
            "10.0.1.0/33",
            "10.0.1.1/24",
            "10.0.1.0/024",
            "10.0.1.0/+24",
            "010.0.1.0/24",
            "fd00:0::/16",
            "FD00::/8",
            "fd00::/129",
            "10.0.1.0/24 ",
            "fd00::1/64",
            "nan/1",
        ] {
            assert!(text.parse::<Prefix>().is_err(), "{text}");
        }
    }

    #[test]
    fn families_do_not_cover_each_other() {
        assert!(!prefix("0.0.0.0/0").covers(&prefix("::/0")));
        assert!(prefix("::/0").covers(&prefix("fd00::1/128")));
        assert!(prefix("10.0.0.0/8").covers(&prefix("10.0.0.0/8")));
        assert!(!prefix("10.0.1.0/24").covers(&prefix("10.0.0.0/8")));
    }

    proptest! {
        #[test]
        fn covers_exactly_what_shares_its_bits(address: u32, other: u32, length in 0_u8..=32) {
            let mask = if length == 0 { 0 } else { u32::MAX << (32 - length) };
            let prefix = Prefix::new(IpAddr::V4((address & mask).into()), length).unwrap();
            let host = Prefix::host(IpAddr::V4(other.into()));
            prop_assert_eq!(prefix.covers(&host), address & mask == other & mask);
            prop_assert_eq!(prefix.to_string().parse::<Prefix>().unwrap(), prefix);
            prop_assert_eq!(host.shortened(length) == Some(prefix), prefix.covers(&host));
            let map = BTreeMap::from([(prefix, ())]);
            prop_assert_eq!(host.longest_in(&map).is_some(), prefix.covers(&host));
        }

        #[test]
        fn any_text_is_taken_or_refused(text in ".{0,40}") {
            if let Ok(prefix) = text.parse::<Prefix>() {
                prop_assert_eq!(prefix.to_string(), text);
            }
        }
    }
}
