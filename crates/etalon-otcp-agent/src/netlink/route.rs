// SPDX-License-Identifier: MIT OR Apache-2.0
//! Routes as rtnetlink(7) has them: what the agent reads of other people's routes, and writes in its own.

use std::net::IpAddr;

use super::{Builder, attributes, flag, u16_at, u32_at};
use crate::prefix::Prefix;

/// RTM_NEWROUTE.
pub const NEW: u16 = 24;
/// RTM_DELROUTE.
pub const DELETE: u16 = 25;
/// RTM_GETROUTE.
pub const GET: u16 = 26;

/// Who set a route (`rtm_protocol`): this agent. A number that nobody else uses; `ip route` shows it as `proto 79`.
pub const PROTOCOL: u8 = 79;
/// The metric of the agent's routes where nobody else has one of the prefix: so high that anybody's own stands before it.
const LAST: u32 = 79_000_000;
/// The table that is used unless a rule says otherwise.
const MAIN_TABLE: u32 = 254;
const UNICAST: u8 = 1;
const CLONED: u32 = 0x200;
/// The only next hop's flag that is a setting, not a state (RTNH_F_ONLINK).
const ONLINK: u8 = 4;

/// Attributes of routes.
mod attribute {
    pub const DESTINATION: u16 = 1;
    pub const OUT_INTERFACE: u16 = 4;
    pub const GATEWAY: u16 = 5;
    pub const PRIORITY: u16 = 6;
    pub const PREFERRED_SOURCE: u16 = 7;
    pub const METRICS: u16 = 8;
    pub const MULTIPATH: u16 = 9;
    pub const FLOW: u16 = 11;
    pub const TABLE: u16 = 15;
    pub const VIA: u16 = 18;
    pub const PREFERENCE: u16 = 20;
    pub const ENCAPSULATION_TYPE: u16 = 21;
    pub const ENCAPSULATION: u16 = 22;
    pub const NEXT_HOP: u16 = 30;
    /// What says where packets go; anything else is state, or is set apart.
    pub const KEPT: [u16; 10] = [
        OUT_INTERFACE,
        GATEWAY,
        PREFERRED_SOURCE,
        MULTIPATH,
        FLOW,
        VIA,
        PREFERENCE,
        ENCAPSULATION_TYPE,
        ENCAPSULATION,
        NEXT_HOP,
    ];
    /// What a dump repeats from the next hop object that the route names.
    pub const OF_NEXT_HOP: [u16; 6] = [
        OUT_INTERFACE,
        GATEWAY,
        MULTIPATH,
        VIA,
        ENCAPSULATION_TYPE,
        ENCAPSULATION,
    ];
}

/// A route's metrics (RTAX_*).
pub mod metric {
    /// A bit for each metric that the kernel may not change.
    pub const LOCK: u16 = 1;
    /// Largest congestion window, if locked.
    pub const CWND: u16 = 7;
    /// Initial congestion window.
    pub const INITCWND: u16 = 11;
    /// Smallest retransmission timeout, in ms.
    pub const RTO_MIN: u16 = 13;
    /// Initial receive window.
    pub const INITRWND: u16 = 14;
    /// Congestion control, by name (`congctl` in `ip route`).
    pub const CC_ALGO: u16 = 16;
}

/// The name of a congestion control: at most 15 characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control([u8; 16]);

impl Control {
    fn name(&self) -> &[u8] {
        self.0.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let name = bytes.split(|byte| *byte == 0).next()?;
        let mut found = [0; 16];
        found.get_mut(..name.len())?.copy_from_slice(name);
        (!name.is_empty() && name.len() < 16).then_some(Self(found))
    }
}

impl std::str::FromStr for Control {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        Self::read(text.as_bytes())
            .filter(|_| text.bytes().all(good))
            .ok_or_else(|| format!("{text:?} is no name of a congestion control, such as dctcp"))
    }
}

impl std::fmt::Display for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.name()))
    }
}

/// A unicast route of the main table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Destinations.
    pub prefix: Prefix,
    /// Of routes with one prefix the lowest counts (`metric` in `ip route`).
    pub priority: u32,
    /// Who set it.
    pub protocol: u8,
    scope: u8,
    flags: u8,
    /// Where packets go, in the kernel's form and order of types.
    hops: Vec<(u16, Vec<u8>)>,
    /// Metrics, in order of types.
    metrics: Vec<(u16, Vec<u8>)>,
}

impl Route {
    /// Reads the body of an RTM_NEWROUTE or RTM_DELROUTE. None if it is not a unicast route of the main table without a
    /// type of service.
    pub fn decode(body: &[u8]) -> Option<Self> {
        let header: [u8; 8] = body.get(..8)?.try_into().ok()?;
        let [family, length, _, tos, table, protocol, scope, kind] = header;
        let flags = u32_at(body, 8)?;
        let all: Vec<(u16, &[u8])> = attributes(body.get(12..)?).collect();
        let find = |wanted| {
            all.iter()
                .find(|(kind, _)| *kind == wanted)
                .map(|(_, value)| *value)
        };
        let table = find(attribute::TABLE)
            .and_then(|v| u32_at(v, 0))
            .unwrap_or_else(|| table.into());
        if table != MAIN_TABLE || kind != UNICAST || tos != 0 || flags & CLONED != 0 {
            return None;
        }
        Some(Self {
            prefix: Prefix::new(address(family, find(attribute::DESTINATION))?, length)?,
            priority: find(attribute::PRIORITY)
                .and_then(|v| u32_at(v, 0))
                .unwrap_or(0),
            protocol,
            scope,
            flags: flags as u8 & ONLINK,
            hops: hops(&all),
            metrics: find(attribute::METRICS)
                .map(|nest| {
                    attributes(nest)
                        .map(|(kind, value)| (kind, value.to_vec()))
                        .collect()
                })
                .unwrap_or_default(),
        })
    }

    /// A route that no host has: for documentation only (RFC 5737).
    pub fn nowhere() -> Self {
        let prefix = Prefix::host(IpAddr::from([192, 0, 2, 255]));
        Self {
            prefix,
            priority: 4321,
            protocol: PROTOCOL,
            scope: 0,
            flags: 0,
            hops: Vec::new(),
            metrics: Vec::new(),
        }
    }

    /// True if the agent set it.
    pub fn is_ours(&self) -> bool {
        self.protocol == PROTOCOL
    }

    /// A metric, if the route sets it.
    pub fn metric(&self, kind: u16) -> Option<u32> {
        let (_, value) = self.metrics.iter().find(|(k, _)| *k == kind)?;
        u32_at(value, 0).filter(|value| *value != 0)
    }

    /// True if the kernel may not change this metric.
    pub fn is_locked(&self, kind: u16) -> bool {
        self.metric(metric::LOCK)
            .is_some_and(|lock| lock >> kind & 1 == 1)
    }

    /// The congestion control, if the route sets it.
    pub fn control(&self) -> Option<Control> {
        let (_, value) = self.metrics.iter().find(|(k, _)| *k == metric::CC_ALGO)?;
        Control::read(value)
    }

    fn set_metric(&mut self, kind: u16, value: u32) {
        self.set_bytes(kind, value.to_ne_bytes().to_vec());
    }

    fn set_bytes(&mut self, kind: u16, bytes: Vec<u8>) {
        match self.metrics.binary_search_by_key(&kind, |(k, _)| *k) {
            Ok(at) => self.metrics[at].1 = bytes,
            Err(at) => self.metrics.insert(at, (kind, bytes)),
        }
    }

    /// The agent's own route for `prefix`, which goes where this one goes and has its metrics, and these, and this congestion
    /// control, where it has none. None if nothing can stand before this one (IPv6 with metric 1).
    pub fn with(
        &self,
        prefix: Prefix,
        metrics: &[(u16, u32)],
        control: Option<Control>,
    ) -> Option<Self> {
        let mut route = self.clone();
        route.priority = LAST;
        if prefix == self.prefix {
            // Before the route of the same prefix: by a lower metric, or (IPv4 with metric 0) by coming first.
            route.priority = match self.priority {
                0 if prefix.is_v4() => 0,
                priority => priority
                    .checked_sub(1)
                    .filter(|p| *p > 0 || prefix.is_v4())?,
            };
        }
        route.prefix = prefix;
        route.protocol = PROTOCOL;
        for (kind, value) in metrics {
            if self.metric(*kind).is_none() {
                route.set_metric(*kind, *value);
                if *kind == metric::RTO_MIN {
                    let lock = self.metric(metric::LOCK).unwrap_or(0);
                    route.set_metric(metric::LOCK, lock | 1 << metric::RTO_MIN);
                }
            }
        }
        if let (Some(control), None) = (control, self.control()) {
            let mut name = control.name().to_vec();
            name.push(0);
            route.set_bytes(metric::CC_ALGO, name);
        }
        Some(route)
    }

    fn encode(&self, kind: u16, flags: u16) -> Builder {
        let family = if self.prefix.is_v4() {
            libc::AF_INET
        } else {
            libc::AF_INET6
        };
        let mut header = vec![
            family as u8,
            self.prefix.length(),
            0,
            0,
            MAIN_TABLE as u8,
            self.protocol,
            self.scope,
            UNICAST,
        ];
        header.extend_from_slice(&u32::from(self.flags).to_ne_bytes());
        let mut message = Builder::new(kind, flag::REQUEST | flag::ACK | flags, &header);
        match self.prefix.address() {
            IpAddr::V4(a) => message.attribute(attribute::DESTINATION, &a.octets()),
            IpAddr::V6(a) => message.attribute(attribute::DESTINATION, &a.octets()),
        };
        message.attribute(attribute::PRIORITY, &self.priority.to_ne_bytes());
        for (kind, value) in &self.hops {
            message.attribute(*kind, value);
        }
        if !self.metrics.is_empty() {
            message.nested(attribute::METRICS, &self.metrics);
        }
        message
    }

    /// The request that adds it: before all others of its prefix and metric (IPv4), or in place of the agent's old one
    /// (IPv6, where no two routes share prefix and metric).
    pub fn add(&self) -> Builder {
        self.encode(
            NEW,
            if self.prefix.is_v4() {
                flag::CREATE
            } else {
                flag::CREATE | flag::REPLACE
            },
        )
    }

    /// The request that removes it, and never one of another protocol.
    pub fn delete(&self) -> Builder {
        self.encode(DELETE, 0)
    }
}

fn address(family: u8, bytes: Option<&[u8]>) -> Option<IpAddr> {
    match i32::from(family) {
        libc::AF_INET => Some(IpAddr::from(
            <[u8; 4]>::try_from(bytes.unwrap_or(&[0; 4])).ok()?,
        )),
        libc::AF_INET6 => Some(IpAddr::from(
            <[u8; 16]>::try_from(bytes.unwrap_or(&[0; 16])).ok()?,
        )),
        _ => None,
    }
}

fn hops(all: &[(u16, &[u8])]) -> Vec<(u16, Vec<u8>)> {
    let named = all.iter().any(|(kind, _)| *kind == attribute::NEXT_HOP);
    let mut hops: Vec<(u16, Vec<u8>)> = all
        .iter()
        .filter(|(kind, value)| {
            attribute::KEPT.contains(kind)
                && !(named && attribute::OF_NEXT_HOP.contains(kind))
                // Medium is what an IPv6 route has if nothing is said.
                && !(*kind == attribute::PREFERENCE && *value == [0])
        })
        .map(|(kind, value)| {
            (
                *kind,
                if *kind == attribute::MULTIPATH {
                    settings_of(value)
                } else {
                    value.to_vec()
                },
            )
        })
        .collect();
    hops.sort();
    hops
}

/// Next hops (`struct rtnexthop`) without their state.
fn settings_of(multipath: &[u8]) -> Vec<u8> {
    let mut bytes = multipath.to_vec();
    let mut at = 0;
    while let Some(length) = u16_at(&bytes, at)
        .map(usize::from)
        .filter(|length| *length >= 8)
    {
        if let Some(flags) = bytes.get_mut(at + 2) {
            *flags &= ONLINK;
        }
        at += length.next_multiple_of(4);
    }
    bytes
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A route as the kernel would tell it.
    pub(crate) fn route(prefix: &str, priority: u32, metrics: &[(u16, u32)]) -> Route {
        let metrics = metrics
            .iter()
            .map(|(kind, value)| (*kind, value.to_ne_bytes().to_vec()))
            .collect();
        Route {
            prefix: prefix.parse().unwrap(),
            priority,
            protocol: 3,
            scope: 0,
            flags: 0,
            hops: vec![(attribute::OUT_INTERFACE, vec![2, 0, 0, 0])],
            metrics,
        }
    }

    fn back(builder: Builder) -> Route {
        Route::decode(&builder.finish(1)[16..]).unwrap()
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        for prefix in ["10.0.1.0/24", "0.0.0.0/0", "fd00::/64"] {
            let route = route(prefix, 100, &[(metric::LOCK, 4), (metric::INITCWND, 20)]);
            assert_eq!(back(route.add()), route);
            assert_eq!(back(route.delete()), route);
        }
    }

    #[test]
    fn metrics_of_others_stay_and_the_lock_is_added() {
        let base = route(
            "10.0.0.0/8",
            0,
            &[(metric::LOCK, 4), (metric::INITCWND, 20)],
        );
        let ours = base
            .with(
                "10.0.1.0/24".parse().unwrap(),
                &[(metric::INITCWND, 1), (metric::RTO_MIN, 5)],
                None,
            )
            .unwrap();
        assert_eq!(ours.metric(metric::INITCWND), Some(20));
        assert_eq!(ours.metric(metric::RTO_MIN), Some(5));
        assert_eq!(ours.metric(metric::LOCK), Some(4 | 1 << 13));
        assert!(ours.is_ours() && ours.is_locked(metric::RTO_MIN));
        assert_eq!(back(ours.add()), ours);
    }

    #[test]
    fn stands_before_the_route_of_the_same_prefix() {
        let priority = |prefix: &str, priority| {
            let base = route(prefix, priority, &[]);
            base.with(base.prefix, &[(metric::RTO_MIN, 5)], None)
                .map(|ours| ours.priority)
        };
        assert_eq!(priority("10.0.1.0/24", 0), Some(0), "it comes first");
        assert_eq!(priority("10.0.1.0/24", 100), Some(99));
        assert_eq!(priority("10.0.1.0/24", 1), Some(0));
        assert_eq!(priority("fd00::/64", 256), Some(255));
        assert_eq!(priority("fd00::/64", 1), None);
        let narrower = route("fd00::/8", 1, &[])
            .with("fd00:1::/64".parse().unwrap(), &[], None)
            .unwrap();
        assert_eq!(narrower.priority, LAST);
    }

    #[test]
    fn other_tables_and_kinds_are_not_routes_here() {
        let bytes = route("10.0.1.0/24", 0, &[]).add().finish(1);
        for (at, value) in [(16 + 4, 255), (16 + 7, 2), (16 + 3, 16)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert!(Route::decode(&other[16..]).is_none());
        }
    }

    #[test]
    fn state_of_next_hops_is_not_a_setting() {
        let hop = |flags| [8, 0, flags, 0, 3, 0, 0, 0];
        let both = [hop(1 | ONLINK), hop(16)].concat();
        assert_eq!(settings_of(&both), [hop(ONLINK), hop(0)].concat());
        assert_eq!(settings_of(&both[..5]).len(), 5);
    }
}
