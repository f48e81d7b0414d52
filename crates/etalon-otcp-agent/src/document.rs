// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the controller says: a document of TCP parameters for destinations (docs/otcp-protocol.md), checked as a whole.
//!
//! A document is taken whole or refused whole. Whatever is in doubt is refused: the host then keeps what it has.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::prefix::Prefix;

/// The largest document, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most routes in a document.
const MAX_ROUTES: usize = 4096;
/// The largest integer that every reader of JSON takes exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// TCP's parameters towards a destination, as the controller gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Smallest retransmission timeout, in us.
    pub rto_min_us: u32,
    /// Timeout before the first measurement of the RTT (SYN, SYN-ACK), in us.
    pub rto_init_us: u32,
    /// The congestion window grows no further, in segments.
    pub max_cwnd: u32,
    /// Initial window, in segments.
    pub initial_cwnd: u32,
    /// Receive window that is offered first, in segments.
    pub initial_rwnd: u32,
}

/// Which document it is: one life of the controller, and a number that grows in it. A larger one is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Version {
    /// One life of the controller.
    pub epoch: u64,
    /// Grows with each change within an epoch.
    pub version: u64,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.version)
    }
}

impl Version {
    /// Reads the data of an event `alive`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Refusal> {
        let version: Self = serde_json::from_slice(bytes).map_err(Refusal::syntax)?;
        version.check()
    }

    fn check(self) -> Result<Self, Refusal> {
        for (key, value) in [("epoch", self.epoch), ("version", self.version)] {
            within(None, key, value, 1, MAX_NUMBER)?;
        }
        Ok(self)
    }
}

/// A document that passed every check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Which one.
    pub version: Version,
    /// How long it holds after the controller was last heard to stand by it, in seconds.
    pub lifetime_s: u32,
    /// Parameters by destination.
    pub routes: BTreeMap<Prefix, Parameters>,
}

/// What a host lets itself be told: destinations, and bounds that may be narrower than the protocol's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Prefixes in which all destinations must lie.
    pub allowed: Vec<Prefix>,
    /// The least RTOmin, in us.
    pub least_rto_min_us: u32,
    /// The largest RTOinit, in us.
    pub most_rto_init_us: u32,
    /// The largest of largest windows, in segments.
    pub most_cwnd: u32,
    /// The largest initial window, in segments.
    pub most_initial_cwnd: u32,
}

impl Limits {
    /// The protocol's bounds, and these destinations.
    pub fn protocol(allowed: Vec<Prefix>) -> Self {
        Self {
            allowed,
            least_rto_min_us: 1000,
            most_rto_init_us: 3_000_000,
            most_cwnd: 65_535,
            most_initial_cwnd: 65_535,
        }
    }
}

/// Why a document was refused: a word to count by, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// For counters: `syntax`, `bounds`, `prefix`, `host`, `older`.
    pub kind: &'static str,
    /// For people.
    pub why: String,
}

impl Refusal {
    pub(crate) fn new(kind: &'static str, why: String) -> Self {
        Self { kind, why }
    }

    fn syntax(error: serde_json::Error) -> Self {
        Self::new("syntax", error.to_string())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawDocument {
    host: String,
    epoch: u64,
    version: u64,
    lifetime_s: u64,
    routes: Vec<RawRoute>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRoute {
    prefix: String,
    rto_min_us: u64,
    rto_init_us: u64,
    max_cwnd: u64,
    initial_cwnd: u64,
    initial_rwnd: u64,
}

fn within(
    prefix: Option<Prefix>,
    key: &str,
    value: u64,
    low: u64,
    high: u64,
) -> Result<u32, Refusal> {
    if (low..=high).contains(&value) {
        // Only numbers of versions are larger, and their callers do not use this.
        return Ok(u32::try_from(value).unwrap_or(u32::MAX));
    }
    let place = prefix.map(|p| format!("{p}: ")).unwrap_or_default();
    Err(Refusal::new(
        "bounds",
        format!("{place}{key} is {value}: expected {low} to {high}"),
    ))
}

impl RawRoute {
    fn check(&self, limits: &Limits) -> Result<(Prefix, Parameters), Refusal> {
        let prefix: Prefix = self
            .prefix
            .parse()
            .map_err(|why| Refusal::new("prefix", why))?;
        if prefix.length() == 0 {
            return Err(Refusal::new(
                "prefix",
                format!("{prefix} is everything: expected a length of at least 1"),
            ));
        }
        if !limits.allowed.iter().any(|a| a.covers(&prefix)) {
            return Err(Refusal::new(
                "prefix",
                format!("{prefix} is not within the prefixes that --allow permits"),
            ));
        }
        let at = Some(prefix);
        let least = u64::from(limits.least_rto_min_us);
        let rto_min_us = within(at, "rto_min_us", self.rto_min_us, least, 1_000_000)?;
        let max_cwnd = within(at, "max_cwnd", self.max_cwnd, 1, limits.most_cwnd.into())?;
        let parameters = Parameters {
            rto_min_us,
            rto_init_us: within(
                at,
                "rto_init_us",
                self.rto_init_us,
                u64::from(rto_min_us),
                limits.most_rto_init_us.into(),
            )?,
            max_cwnd,
            initial_cwnd: within(
                at,
                "initial_cwnd",
                self.initial_cwnd,
                1,
                max_cwnd.min(limits.most_initial_cwnd).into(),
            )?,
            initial_rwnd: within(at, "initial_rwnd", self.initial_rwnd, 10, 65535)?,
        };
        Ok((prefix, parameters))
    }
}

impl Document {
    /// Reads and checks the whole document for `host`, which lets itself be told what is within `limits`.
    pub fn parse(bytes: &[u8], host: &str, limits: &Limits) -> Result<Self, Refusal> {
        if bytes.len() > MAX_BYTES {
            return Err(Refusal::new(
                "bounds",
                format!("the document is larger than {MAX_BYTES} bytes"),
            ));
        }
        let raw: RawDocument = serde_json::from_slice(bytes).map_err(Refusal::syntax)?;
        if raw.host != host {
            return Err(Refusal::new(
                "host",
                format!("the document is for {:?}: expected {host:?}", raw.host),
            ));
        }
        let version = Version {
            epoch: raw.epoch,
            version: raw.version,
        }
        .check()?;
        let lifetime_s = within(None, "lifetime_s", raw.lifetime_s, 5, 86_400)?;
        within(
            None,
            "the number of routes",
            raw.routes.len() as u64,
            0,
            MAX_ROUTES as u64,
        )?;
        if let Some(pair) = raw
            .routes
            .windows(2)
            .find(|pair| pair[0].prefix >= pair[1].prefix)
        {
            let why = format!(
                "{} stands before {}: expected each prefix once, in order",
                pair[0].prefix, pair[1].prefix
            );
            return Err(Refusal::new("prefix", why));
        }
        let routes = raw
            .routes
            .iter()
            .map(|route| route.check(limits))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            version,
            lifetime_s,
            routes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn route(prefix: &str) -> Value {
        json!({"prefix": prefix, "rto_min_us": 1000, "rto_init_us": 4138, "max_cwnd": 53, "initial_cwnd": 1, "initial_rwnd": 53})
    }

    fn whole() -> Value {
        json!({"host": "h1", "epoch": 1_764_000_000_000_u64, "version": 17, "lifetime_s": 60,
               "routes": [route("10.0.1.0/24"), route("10.0.2.0/24"), route("fd00:1::/64")]})
    }

    fn parse(value: &Value) -> Result<Document, Refusal> {
        parse_text(&value.to_string())
    }

    fn parse_text(text: &str) -> Result<Document, Refusal> {
        Document::parse(text.as_bytes(), "h1", &limits())
    }

    fn limits() -> Limits {
        Limits::protocol(vec![
            "10.0.0.0/8".parse().unwrap(),
            "fd00::/8".parse().unwrap(),
        ])
    }

    /// A host's own bounds refuse what the protocol allows.
    #[test]
    fn narrower_bounds_refuse_the_whole_document() {
        let text = whole().to_string();
        let refused = |change: &dyn Fn(&mut Limits)| {
            let mut narrow = limits();
            change(&mut narrow);
            Document::parse(text.as_bytes(), "h1", &narrow)
                .unwrap_err()
                .why
        };
        for (why, part) in [
            (
                refused(&|l| l.least_rto_min_us = 5000),
                "rto_min_us is 1000: expected 5000",
            ),
            (
                refused(&|l| l.most_rto_init_us = 4000),
                "rto_init_us is 4138: expected 1000 to 4000",
            ),
            (
                refused(&|l| l.most_cwnd = 52),
                "max_cwnd is 53: expected 1 to 52",
            ),
            (
                refused(&|l| l.most_initial_cwnd = 0),
                "initial_cwnd is 1: expected 1 to 0",
            ),
        ] {
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn a_good_document_is_taken() {
        let document = parse(&whole()).unwrap();
        assert_eq!(document.version.to_string(), "1764000000000.17");
        assert_eq!(document.lifetime_s, 60);
        assert_eq!(document.routes.len(), 3);
        let parameters = document.routes[&"10.0.2.0/24".parse().unwrap()];
        assert_eq!(
            parameters,
            Parameters {
                rto_min_us: 1000,
                rto_init_us: 4138,
                max_cwnd: 53,
                initial_cwnd: 1,
                initial_rwnd: 53
            }
        );
    }

    /// One wrong value anywhere refuses all of it, and the sentence says which.
    #[test]
    fn out_of_bounds_is_refused_as_a_whole() {
        for (key, value) in [
            ("rto_min_us", 999_u64),
            ("rto_min_us", 1_000_001),
            ("rto_init_us", 999),
            ("rto_init_us", 3_000_001),
            ("max_cwnd", 0),
            ("max_cwnd", 65536),
            ("initial_cwnd", 0),
            ("initial_cwnd", 54),
            ("initial_rwnd", 9),
            ("initial_rwnd", 65536),
            ("max_cwnd", u64::MAX),
        ] {
            let mut value_of = whole();
            value_of["routes"][1][key] = json!(value);
            let refusal = parse(&value_of).unwrap_err();
            assert_eq!(refusal.kind, "bounds", "{refusal}");
            assert!(
                refusal.why.contains(key) && refusal.why.contains("10.0.2.0/24"),
                "{refusal}"
            );
        }
        for (key, value) in [
            ("epoch", 0),
            ("version", 0),
            ("epoch", 1_u64 << 53),
            ("lifetime_s", 4),
            ("lifetime_s", 86_401),
        ] {
            let mut value_of = whole();
            value_of[key] = json!(value);
            assert_eq!(parse(&value_of).unwrap_err().kind, "bounds");
        }
        let mut shorter = whole();
        shorter["routes"][0]["rto_min_us"] = json!(5000);
        assert!(
            parse(&shorter)
                .unwrap_err()
                .why
                .contains("rto_init_us is 4138: expected 5000")
        );
    }

    #[test]
    fn the_bounds_themselves_are_within() {
        for (min, init, cwnd, iw, rwnd) in [
            (1000, 1000, 1, 1, 10),
            (1_000_000, 3_000_000, 65535, 65535, 65535),
        ] {
            let mut value = whole();
            value["routes"][0] = json!({"prefix": "10.0.1.0/24", "rto_min_us": min, "rto_init_us": init, "max_cwnd": cwnd,
                                        "initial_cwnd": iw, "initial_rwnd": rwnd});
            parse(&value).unwrap();
        }
    }

    #[test]
    fn what_is_not_the_schema_is_refused() {
        let good = whole().to_string();
        for (old, new) in [
            ("\"rto_min_us\":1000", "\"rto_min_us\":NaN"),
            ("\"rto_min_us\":1000", "\"rto_min_us\":1000.0"),
            ("\"rto_min_us\":1000", "\"rto_min_us\":1e3"),
            ("\"rto_min_us\":1000", "\"rto_min_us\":\"1000\""),
            ("\"rto_min_us\":1000", "\"rto_min_us\":-1000"),
            ("\"rto_min_us\":1000", "\"rto_min_us\":null"),
            ("\"rto_min_us\":1000", "\"rto_min_us\":Infinity"),
            ("\"rto_min_us\":1000", "\"rto_min_us\":1000,\"x\":1"),
            (
                "\"rto_min_us\":1000",
                "\"rto_min_us\":1000,\"rto_min_us\":1000",
            ),
            ("\"rto_min_us\":1000", "\"rto_min_us\":18446744073709551616"),
            ("\"rto_init_us\":4138,", ""),
            ("\"lifetime_s\":60,", ""),
            ("\"version\":17", "\"version\":17,\"version\":18"),
            ("\"version\":17", "\"version\":17,\"extra\":{}"),
            ("\"host\":\"h1\"", "\"host\":7"),
        ] {
            let text = good.replacen(old, new, 1);
            assert_ne!(text, good);
            assert_eq!(parse_text(&text).unwrap_err().kind, "syntax", "{new}");
        }
        assert!(parse_text(&format!("{good} x")).is_err());
        assert!(parse_text(&good[..good.len() - 1]).is_err());
        assert_eq!(
            parse_text(&good.replace("\"h1\"", "\"h2\""))
                .unwrap_err()
                .kind,
            "host"
        );
    }

    #[test]
    fn prefixes_are_allowed_ordered_and_once() {
        for routes in [
            vec!["192.168.0.0/16"],
            vec!["10.0.0.0/7"],
            vec!["0.0.0.0/0"],
            vec!["::/0"],
            vec!["10.0.1.1/24"],
            vec!["10.0.1.0/24", "10.0.1.0/24"],
            vec!["10.0.2.0/24", "10.0.1.0/24"],
        ] {
            let mut value = whole();
            value["routes"] = routes.iter().map(|p| route(p)).collect();
            assert_eq!(parse(&value).unwrap_err().kind, "prefix", "{routes:?}");
        }
        let mut empty = whole();
        empty["routes"] = json!([]);
        assert!(parse(&empty).unwrap().routes.is_empty());
    }

    #[test]
    fn size_is_limited() {
        let mut many = whole();
        many["routes"] = (0..=MAX_ROUTES)
            .map(|i| route(&format!("10.{}.{}.0/24", i / 256, i % 256)))
            .collect();
        assert_eq!(parse(&many).unwrap_err().kind, "bounds");
        let padded = format!("{}{}", whole(), " ".repeat(MAX_BYTES));
        assert_eq!(parse_text(&padded).unwrap_err().kind, "bounds");
    }

    #[test]
    fn alive_names_a_version() {
        assert_eq!(
            Version::parse(br#"{"epoch":2,"version":3}"#).unwrap(),
            Version {
                epoch: 2,
                version: 3
            }
        );
        for text in [
            "",
            "{}",
            r#"{"epoch":2}"#,
            r#"{"epoch":0,"version":3}"#,
            r#"{"epoch":2,"version":3,"x":1}"#,
        ] {
            assert!(Version::parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    proptest! {
        /// Whatever comes, what is accepted is within all bounds.
        #[test]
        fn accepted_means_within_bounds(
            min in 0_u64..1_200_000, init in 0_u64..3_500_000, cwnd in 0_u64..70_000, iw in 0_u64..70_000, rwnd in 0_u64..70_000,
        ) {
            let mut value = whole();
            value["routes"] = json!([{"prefix": "10.0.1.0/24", "rto_min_us": min, "rto_init_us": init, "max_cwnd": cwnd,
                                      "initial_cwnd": iw, "initial_rwnd": rwnd}]);
            let good = (1000..=1_000_000).contains(&min) && init >= min && (1000..=3_000_000).contains(&init)
                && (1..=65535).contains(&cwnd) && (1..=cwnd).contains(&iw) && (10..=65535).contains(&rwnd);
            prop_assert_eq!(parse(&value).is_ok(), good);
        }

        #[test]
        fn bytes_do_no_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Document::parse(&bytes, "h1", &Limits::protocol(Vec::new()));
            let _ = Version::parse(&bytes);
        }

        /// A good document with some bytes changed: never a panic, and never a value out of bounds.
        #[test]
        fn damaged_documents_do_no_harm(changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
            let mut bytes = whole().to_string().into_bytes();
            for (at, byte) in changes {
                let at = usize::from(at) % bytes.len();
                bytes[at] = byte;
            }
            let limits = limits();
            if let Ok(document) = Document::parse(&bytes, "h1", &limits) {
                for (prefix, p) in document.routes {
                    prop_assert!(limits.allowed.iter().any(|a| a.covers(&prefix)));
                    prop_assert!((1000..=1_000_000).contains(&p.rto_min_us) && p.rto_init_us <= 3_000_000);
                    prop_assert!(p.rto_init_us >= p.rto_min_us && p.initial_cwnd >= 1 && p.initial_cwnd <= p.max_cwnd);
                }
            }
        }
    }
}
