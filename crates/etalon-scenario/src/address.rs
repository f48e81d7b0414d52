// SPDX-License-Identifier: MIT OR Apache-2.0
//! Addresses of hosts, by rack and number within the rack.

use core::net::{Ipv4Addr, SocketAddrV4};

use crate::HostId;

/// Hosts in a rack that have an address.
pub const MOST_HOSTS: u16 = 254;

/// The address of a host, 10.rack.host+1 with 16 bits of rack; .0 and .255 are left to the network and to broadcast.
/// None for the hosts of a rack beyond [`MOST_HOSTS`].
#[must_use]
pub fn ip(rack: u16, host: u16) -> Option<Ipv4Addr> {
    let [high, low] = rack.to_be_bytes();
    match u8::try_from(host) {
        Ok(number) if host < MOST_HOSTS => Some(Ipv4Addr::new(10, high, low, number + 1)),
        _ => None,
    }
}

/// The host of an address, whether there is such a host or not; none for an address that is no host's.
#[must_use]
#[inline]
pub fn host_at(address: Ipv4Addr) -> Option<HostId> {
    let [net, high, low, number] = address.octets();
    let host = HostId::new(
        u16::from_be_bytes([high, low]),
        u16::from(number.checked_sub(1)?),
    );
    (net == 10).then_some(host)
}

/// Racks that have addresses on the control network.
const MOST_CONTROLLED: u16 = 4095;

/// The address of the estimator of demand on the control network, and its port.
pub const ESTIMATOR: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(172, 31, 255, 254), 5300);

/// The address of a host on the control network: 172.16.0.0/12 with 12 bits of rack and the host's number plus 1. None for
/// hosts that have no [`ip`], and for the rack of the [`ESTIMATOR`].
#[must_use]
pub fn control_ip(rack: u16, host: u16) -> Option<Ipv4Addr> {
    let [_, high, low, number] = ip(rack, host)?.octets();
    (rack < MOST_CONTROLLED).then(|| Ipv4Addr::new(172, 16 + high, low, number))
}

/// A locally administered unicast Ethernet address, 02:00:rack:rack:host:host.
#[must_use]
pub fn mac(rack: u16, host: u16) -> [u8; 6] {
    let ([r0, r1], [h0, h1]) = (rack.to_be_bytes(), host.to_be_bytes());
    [0x02, 0x00, r0, r1, h0, h1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_addresses_of_their_own() {
        assert_eq!(ip(1, 3), Some(Ipv4Addr::new(10, 0, 1, 4)));
        assert_eq!(ip(258, 253), Some(Ipv4Addr::new(10, 1, 2, 254)));
        assert_eq!(
            host_at(Ipv4Addr::new(10, 1, 2, 254)),
            Some(HostId::new(258, 253))
        );
        assert_eq!(host_at(Ipv4Addr::new(10, 1, 2, 0)), None);
        assert_eq!(host_at(Ipv4Addr::new(172, 16, 0, 1)), None);
        assert_eq!(ip(0, 254), None);
        assert_eq!(ip(0, 256), None);
        assert_eq!(control_ip(258, 253), Some(Ipv4Addr::new(172, 17, 2, 254)));
        assert_eq!(control_ip(4094, 0), Some(Ipv4Addr::new(172, 31, 254, 1)));
        assert_eq!(control_ip(4095, 0), None);
        assert_eq!(mac(258, 3), [0x02, 0, 1, 2, 0, 3]);
    }
}
