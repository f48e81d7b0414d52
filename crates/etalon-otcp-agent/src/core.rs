// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent holds: which documents are accepted, and for how long. No I/O: time and bytes are arguments.
//!
//! The order of documents and their lifetime are those of docs/otcp-protocol.md.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::document::{Document, Limits, Refusal, Version};

/// The document in force, and when the controller was last heard to stand by it.
#[derive(Debug)]
struct Held {
    document: Document,
    heard: Duration,
}

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in force now.
    New,
    /// It is the one that was in force; its lifetime starts again.
    Same,
}

/// Holds at most one document. Instants are those of a clock that counts while the machine sleeps.
#[derive(Debug)]
pub struct Core {
    host: String,
    limits: Limits,
    held: Option<Held>,
    asked: Option<Version>,
    /// Documents that came into force.
    pub accepted: u64,
    /// Documents and events that were refused, by kind.
    pub refused: BTreeMap<&'static str, u64>,
    /// Lifetimes that ended.
    pub expired: u64,
}

impl Core {
    /// For a host of this name, which lets itself be told what is within `limits`.
    pub fn new(host: String, limits: Limits) -> Self {
        Self {
            host,
            limits,
            held: None,
            asked: None,
            accepted: 0,
            refused: BTreeMap::new(),
            expired: 0,
        }
    }

    /// The document in force.
    pub fn document(&self) -> Option<&Document> {
        self.held.as_ref().map(|held| &held.document)
    }

    /// The version in force.
    pub fn version(&self) -> Option<Version> {
        self.document().map(|document| document.version)
    }

    /// When the document in force expires, if the controller is not heard before.
    pub fn deadline(&self) -> Option<Duration> {
        let held = self.held.as_ref()?;
        Some(held.heard + Duration::from_secs(held.document.lifetime_s.into()))
    }

    /// Takes a document, or refuses it and keeps the one in force.
    pub fn offer(&mut self, now: Duration, bytes: &[u8]) -> Result<Outcome, Refusal> {
        let result = Document::parse(bytes, &self.host, &self.limits)
            .and_then(|document| self.admit(now, document));
        self.counted(result)
    }

    fn admit(&mut self, now: Duration, document: Document) -> Result<Outcome, Refusal> {
        match &mut self.held {
            Some(held) if document.version < held.document.version => {
                let (old, new) = (held.document.version, document.version);
                Err(Refusal::new(
                    "older",
                    format!("version {new} is older than {old}, which is in force"),
                ))
            }
            Some(held) if document.version == held.document.version => {
                held.heard = now;
                Ok(Outcome::Same)
            }
            _ => {
                self.held = Some(Held {
                    document,
                    heard: now,
                });
                self.accepted += 1;
                Ok(Outcome::New)
            }
        }
    }

    /// Takes the data of an event `alive`. True if it names a document that should be asked for.
    pub fn alive(&mut self, now: Duration, bytes: &[u8]) -> Result<bool, Refusal> {
        let version = Version::parse(bytes);
        let version = self.counted(version)?;
        match &mut self.held {
            Some(held) if held.document.version == version => {
                held.heard = now;
                return Ok(false);
            }
            Some(held) if version < held.document.version => return Ok(false),
            _ => {}
        }
        // What was asked for and refused would be refused again.
        Ok(self.asked.replace(version) != Some(version))
    }

    /// A document that was asked for did not come: the next `alive` may ask again.
    pub fn not_answered(&mut self) {
        self.asked = None;
    }

    /// Gives the document up if its lifetime is over. True if there was one.
    pub fn expire(&mut self, now: Duration) -> bool {
        let over = self.deadline().is_some_and(|deadline| now >= deadline);
        if over {
            self.held = None;
            self.asked = None;
            self.expired += 1;
        }
        over
    }

    fn counted<T>(&mut self, result: Result<T, Refusal>) -> Result<T, Refusal> {
        if let Err(refusal) = &result {
            *self.refused.entry(refusal.kind).or_default() += 1;
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: fn(u64) -> Duration = Duration::from_secs;

    fn text(epoch: u64, version: u64, rto_min_us: u64) -> Vec<u8> {
        format!(
            r#"{{"host":"h1","epoch":{epoch},"version":{version},"lifetime_s":60,"routes":[{{"prefix":"10.0.1.0/24",
            "rto_min_us":{rto_min_us},"rto_init_us":8000,"max_cwnd":53,"initial_cwnd":1,"initial_rwnd":53}}]}}"#
        )
        .into_bytes()
    }

    fn core() -> Core {
        Core::new(
            "h1".into(),
            Limits::protocol(vec!["10.0.0.0/8".parse().unwrap()]),
        )
    }

    fn alive(epoch: u64, version: u64) -> Vec<u8> {
        format!(r#"{{"epoch":{epoch},"version":{version}}}"#).into_bytes()
    }

    #[test]
    fn newer_is_taken_and_older_refused() {
        let mut core = core();
        assert_eq!(core.offer(S(0), &text(5, 2, 1000)), Ok(Outcome::New));
        assert_eq!(
            core.offer(S(1), &text(5, 1, 2000)).unwrap_err().kind,
            "older"
        );
        assert_eq!(
            core.offer(S(1), &text(4, 9, 2000)).unwrap_err().kind,
            "older"
        );
        assert_eq!(core.offer(S(2), &text(5, 2, 1000)), Ok(Outcome::Same));
        assert_eq!(core.offer(S(3), &text(6, 1, 3000)), Ok(Outcome::New));
        assert_eq!(
            core.document()
                .unwrap()
                .routes
                .values()
                .next()
                .unwrap()
                .rto_min_us,
            3000
        );
        assert_eq!((core.accepted, core.refused["older"]), (2, 2));
    }

    #[test]
    fn refused_as_a_whole_counted_and_the_last_good_stays() {
        let mut core = core();
        core.offer(S(0), &text(5, 2, 1000)).unwrap();
        let before = core.document().unwrap().clone();
        assert_eq!(core.offer(S(9), &text(5, 3, 1)).unwrap_err().kind, "bounds");
        assert_eq!(core.offer(S(9), b"{").unwrap_err().kind, "syntax");
        assert_eq!(core.document(), Some(&before));
        assert_eq!(core.refused, [("bounds", 1), ("syntax", 1)].into());
        assert_eq!(
            core.deadline(),
            Some(S(60)),
            "what was refused does not prolong a life"
        );
    }

    #[test]
    fn a_document_lives_as_long_as_its_controller_is_heard() {
        let mut core = core();
        core.offer(S(0), &text(5, 2, 1000)).unwrap();
        assert!(!core.alive(S(30), &alive(5, 2)).unwrap());
        assert_eq!(core.deadline(), Some(S(90)));
        assert!(!core.expire(S(89)));
        assert!(core.expire(S(90)));
        assert!(core.document().is_none() && core.deadline().is_none());
        assert!(!core.expire(S(91)), "once");
        assert_eq!(
            core.offer(S(92), &text(5, 1, 1000)),
            Ok(Outcome::New),
            "who holds none takes any"
        );
    }

    #[test]
    fn alive_asks_once_for_what_is_not_held() {
        let mut core = core();
        assert!(core.alive(S(0), &alive(5, 2)).unwrap(), "nothing is held");
        assert!(!core.alive(S(5), &alive(5, 2)).unwrap(), "asked already");
        core.not_answered();
        assert!(core.alive(S(10), &alive(5, 2)).unwrap());
        core.offer(S(10), &text(5, 2, 1000)).unwrap();
        assert!(!core.alive(S(11), &alive(5, 1)).unwrap(), "older");
        assert!(core.alive(S(12), &alive(5, 3)).unwrap(), "newer");
        assert_eq!(
            core.deadline(),
            Some(S(70)),
            "another document does not prolong this one"
        );
        assert!(core.alive(S(12), b"nonsense").is_err());
        assert_eq!(core.refused["syntax"], 1);
    }
}
