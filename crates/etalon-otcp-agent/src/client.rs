// SPDX-License-Identifier: MIT OR Apache-2.0
//! The conversation with the controller (docs/otcp-protocol.md): the event stream, a document when one is asked for, and
//! when to try again.

use std::collections::hash_map::RandomState;
use std::fs;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::Duration;

use crate::document::{MAX_BYTES, Version};
use crate::link::{Address, Dialing, Link, TlsFiles};
use crate::{events, http, info, warning};

/// A stream on which nothing came for so long is dead.
const QUIET: Duration = Duration::from_secs(15);
/// After the controller has said that it does not know this host or token.
const REFUSED: Duration = Duration::from_secs(30);
/// Where it does not say when to come again, and the longest that is believed.
const BUSY: u64 = 2;
const LONGEST_BUSY: u64 = 300;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How to reach the controller, and as whom.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where it is.
    pub controller: Address,
    /// This host's name.
    pub host: String,
    /// The file with this host's token; read for each connection.
    pub token: Option<PathBuf>,
    /// Files for TLS; read for each connection.
    pub tls: TlsFiles,
    /// HTTP without TLS beyond this host.
    pub plain_http: bool,
}

/// What was heard from the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A document.
    Document(Vec<u8>),
    /// The data of an event `alive`.
    Alive(Vec<u8>),
    /// A document that was asked for does not come.
    NotAnswered,
}

/// The pauses between attempts: each twice as long as the last, up to two seconds, and scattered.
#[derive(Debug)]
struct Pauses {
    next: Duration,
}

impl Pauses {
    fn new() -> Self {
        Self { next: FIRST_PAUSE }
    }

    /// The next pause, times 0.5 to 1.5 as `random` says.
    fn next(&mut self, random: u64) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        pause / 2 + pause * (random % 1001) as u32 / 1000
    }
}

fn random() -> u64 {
    // The standard library seeds it from the system's randomness.
    RandomState::new().build_hasher().finish()
}

/// Why an exchange ended.
#[derive(Debug)]
struct Failure {
    why: String,
    wait: Option<Duration>,
}

impl<E: ToString> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            why: error.to_string(),
            wait: None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Events,
    Routes,
}

#[derive(Debug)]
enum Phase {
    Dialing(Dialing),
    Open(Link),
}

/// One request and its answer.
#[derive(Debug)]
struct Exchange {
    purpose: Purpose,
    phase: Phase,
    request: Vec<u8>,
    answer: http::Decoder,
    events: events::Decoder,
    body: Vec<u8>,
    heard: Duration,
}

/// Speaks with the controller. Instants are those of a clock that counts while the machine sleeps.
#[derive(Debug)]
pub struct Client {
    settings: Settings,
    events: Option<Exchange>,
    routes: Option<Exchange>,
    pauses: Pauses,
    again: Duration,
    trouble: Option<String>,
    /// True once the stream has told something.
    pub connected: bool,
    /// Connections that were opened or tried.
    pub attempts: u64,
}

impl Client {
    /// Begins at the first [`Client::advance`].
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            events: None,
            routes: None,
            pauses: Pauses::new(),
            again: Duration::ZERO,
            trouble: None,
            connected: false,
            attempts: 0,
        }
    }

    /// What to wait for: descriptors, and whether one should be writable too.
    pub fn descriptors(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        [&self.events, &self.routes]
            .into_iter()
            .flatten()
            .map(|exchange| match &exchange.phase {
                Phase::Dialing(dialing) => (dialing.as_fd(), false),
                Phase::Open(link) => (link.as_fd(), link.wants_write()),
            })
    }

    /// When to call [`Client::advance`] at the latest.
    pub fn deadline(&self) -> Duration {
        let quiet = [&self.events, &self.routes]
            .into_iter()
            .flatten()
            .map(|e| e.heard + QUIET)
            .min();
        match (&self.events, quiet) {
            (None, None) => self.again,
            (None, Some(quiet)) => quiet.min(self.again),
            (Some(_), quiet) => quiet.unwrap_or(self.again),
        }
    }

    /// Asks for the document beside the stream.
    pub fn ask_for_routes(&mut self, now: Duration) {
        if self.routes.is_none() {
            match self.open(Purpose::Routes, None, now) {
                Ok(exchange) => self.routes = Some(exchange),
                Err(failure) => self.failed(now, Purpose::Routes, failure),
            }
        }
    }

    /// Does what can be done without waiting. `held` is the version in force.
    pub fn advance(&mut self, now: Duration, held: Option<Version>) -> Vec<Heard> {
        if self.events.is_none() && now >= self.again {
            match self.open(Purpose::Events, held, now) {
                Ok(exchange) => self.events = Some(exchange),
                Err(failure) => self.failed(now, Purpose::Events, failure),
            }
        }
        let mut heard = Vec::new();
        for purpose in [Purpose::Events, Purpose::Routes] {
            let place = if purpose == Purpose::Events {
                &mut self.events
            } else {
                &mut self.routes
            };
            let Some(exchange) = place else { continue };
            match exchange.advance(now, &self.settings, &mut heard) {
                Ok(false) => {}
                Ok(true) => *place = None,
                Err(failure) => {
                    *place = None;
                    if purpose == Purpose::Routes {
                        heard.push(Heard::NotAnswered);
                    }
                    self.failed(now, purpose, failure);
                }
            }
        }
        if !heard.is_empty() && heard != [Heard::NotAnswered] {
            self.got_through();
        }
        heard
    }

    fn got_through(&mut self) {
        self.pauses = Pauses::new();
        if !std::mem::replace(&mut self.connected, true) {
            info!(
                "hears the controller at {}",
                self.settings.controller.host_header()
            );
        }
        self.trouble = None;
    }

    fn failed(&mut self, now: Duration, purpose: Purpose, failure: Failure) {
        if purpose == Purpose::Events {
            self.connected = false;
            self.again = now + failure.wait.unwrap_or_else(|| self.pauses.next(random()));
        }
        // Each trouble once, not each attempt.
        if self.trouble.as_ref() != Some(&failure.why) {
            warning!(
                "controller {}: {}; tries again",
                self.settings.controller.host_header(),
                failure.why
            );
            self.trouble = Some(failure.why);
        }
    }

    fn open(
        &mut self,
        purpose: Purpose,
        held: Option<Version>,
        now: Duration,
    ) -> Result<Exchange, Failure> {
        self.attempts += 1;
        let request = request(&self.settings, purpose, held)?;
        let dialing = Dialing::start(&self.settings.controller, self.settings.plain_http)?;
        Ok(Exchange {
            purpose,
            phase: Phase::Dialing(dialing),
            request,
            answer: http::Decoder::default(),
            events: events::Decoder::default(),
            body: Vec::new(),
            heard: now,
        })
    }
}

fn request(
    settings: &Settings,
    purpose: Purpose,
    held: Option<Version>,
) -> Result<Vec<u8>, Failure> {
    let (what, accept) = match purpose {
        Purpose::Events => ("events", "text/event-stream"),
        Purpose::Routes => ("routes", "application/json"),
    };
    let mut text = format!(
        "GET /v1/hosts/{}/{what} HTTP/1.1\r\nHost: {}\r\nAccept: {accept}\r\nUser-Agent: etalon-otcp-agent/{}\r\n",
        settings.host,
        settings.controller.host_header(),
        env!("CARGO_PKG_VERSION"),
    );
    if let Some(path) = &settings.token {
        text += &format!("Authorization: Bearer {}\r\n", token(path)?);
    }
    if let (Purpose::Events, Some(version)) = (purpose, held) {
        text += &format!("Last-Event-ID: {version}\r\n");
    }
    if purpose == Purpose::Routes {
        text += "Connection: close\r\n";
    }
    Ok((text + "\r\n").into_bytes())
}

fn token(path: &std::path::Path) -> Result<String, Failure> {
    let text = fs::read_to_string(path).map_err(|e| format!("--token {}: {e}", path.display()))?;
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!(
            "--token {}: expected one line of visible characters",
            path.display()
        )
        .into());
    }
    Ok(token.to_owned())
}

/// What an answer that is not 200 means.
fn refusal(head: &http::Head) -> Failure {
    let (why, wait) = match head.status {
        401 => ("it does not know this token (401)".into(), Some(REFUSED)),
        403 => ("the token is another host's (403)".into(), Some(REFUSED)),
        404 => ("it does not know this host (404)".into(), Some(REFUSED)),
        status @ (429 | 503) => {
            let seconds = head.retry_after.unwrap_or(BUSY).clamp(1, LONGEST_BUSY);
            let why = match status {
                429 => "too many requests or connections (429)",
                _ if head.has_no_routes => "it has no routes for this host yet (503)",
                _ => "it is overloaded, or not there yet (503)",
            };
            (why.into(), Some(Duration::from_secs(seconds)))
        }
        status => (format!("it answers {status}"), None),
    };
    Failure { why, wait }
}

impl Exchange {
    /// True if it is over.
    fn advance(
        &mut self,
        now: Duration,
        settings: &Settings,
        heard: &mut Vec<Heard>,
    ) -> Result<bool, Failure> {
        let dialed = match &self.phase {
            Phase::Dialing(dialing) => dialing.finished(),
            Phase::Open(_) => None,
        };
        if let Some(stream) = dialed {
            let tls = if settings.controller.tls {
                Some(settings.tls.config()?)
            } else {
                None
            };
            let mut link = Link::new(stream?, &settings.controller.name, tls)?;
            link.send(&self.request)?;
            self.phase = Phase::Open(link);
        }
        let mut over = false;
        if let Phase::Open(link) = &mut self.phase {
            let mut received = Vec::new();
            let open = link.pump(&mut received);
            if !received.is_empty() {
                self.heard = now;
                self.take(&received, heard)?;
            }
            let closed = !open?;
            over = self.answer.is_done() || (closed && self.answer.close());
            if over {
                self.end(heard)?;
            } else if closed {
                return Err("it closed the connection".into());
            }
        }
        if !over && now >= self.heard + QUIET {
            return Err(format!("nothing came for {} s", QUIET.as_secs()).into());
        }
        Ok(over)
    }

    fn take(&mut self, received: &[u8], heard: &mut Vec<Heard>) -> Result<(), Failure> {
        self.answer.push(received, &mut self.body)?;
        let Some(head) = self.answer.head() else {
            return Ok(());
        };
        let expected = match self.purpose {
            Purpose::Events => "text/event-stream",
            Purpose::Routes => "application/json",
        };
        if head.status != 200 {
            return Err(refusal(head));
        }
        if head.content_type != expected {
            return Err(format!("it sends {:?}: expected {expected}", head.content_type).into());
        }
        if self.body.len() > MAX_BYTES + READ_AHEAD {
            return Err("its answer is too long".into());
        }
        if self.purpose == Purpose::Events {
            for event in self.events.push(&std::mem::take(&mut self.body))? {
                match event.name.as_str() {
                    "routes" => heard.push(Heard::Document(event.data)),
                    "alive" => heard.push(Heard::Alive(event.data)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn end(&mut self, heard: &mut Vec<Heard>) -> Result<(), Failure> {
        match self.purpose {
            Purpose::Events => Err("it ended the stream".into()),
            Purpose::Routes => {
                heard.push(Heard::Document(std::mem::take(&mut self.body)));
                Ok(())
            }
        }
    }
}

/// What may lie in a body beside a document: what was read at once.
const READ_AHEAD: usize = 64 * 1024;

/// Asks for the document once, and waits for it.
pub fn fetch(settings: &Settings, patience: Duration) -> io::Result<Vec<u8>> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let mut client = Client::new(settings.clone());
    let start = crate::kernel::now();
    // Not the stream.
    client.again = Duration::MAX;
    client.ask_for_routes(start);
    while crate::kernel::now() < start + patience {
        for heard in client.advance(crate::kernel::now(), None) {
            if let Heard::Document(bytes) = heard {
                return Ok(bytes);
            }
        }
        if client.routes.is_none() {
            break;
        }
        let mut fds: Vec<PollFd> = client
            .descriptors()
            .map(|(fd, write)| {
                PollFd::new(
                    fd,
                    if write {
                        PollFlags::POLLIN | PollFlags::POLLOUT
                    } else {
                        PollFlags::POLLIN
                    },
                )
            })
            .collect();
        poll(&mut fds, PollTimeout::from(100_u8))?;
    }
    Err(io::Error::other("the controller gave no document"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_two_seconds_and_are_scattered() {
        let mut pauses = Pauses::new();
        let all: Vec<u64> = (0..7)
            .map(|_| pauses.next(500).as_millis() as u64)
            .collect();
        assert_eq!(all, [100, 200, 400, 800, 1600, 2000, 2000]);
        assert_eq!(pauses.next(0), Duration::from_secs(1));
        assert_eq!(pauses.next(1000), Duration::from_secs(3));
    }

    #[test]
    fn statuses_say_when_to_come_again() {
        let wait = |status, retry_after| {
            refusal(&http::Head {
                status,
                retry_after,
                ..http::Head::default()
            })
            .wait
            .map(|w| w.as_secs())
        };
        assert_eq!(
            [401, 403, 404].map(|status| wait(status, None)),
            [Some(30); 3]
        );
        assert_eq!(
            [
                wait(503, Some(7)),
                wait(429, None),
                wait(503, Some(1 << 40))
            ],
            [Some(7), Some(2), Some(300)]
        );
        assert_eq!([wait(500, Some(7)), wait(302, None)], [None, None]);
    }

    #[test]
    fn a_controller_without_routes_is_told_from_one_that_is_overloaded() {
        let why = |has_no_routes| {
            let status = 503;
            refusal(&http::Head {
                status,
                has_no_routes,
                ..http::Head::default()
            })
            .why
        };
        assert_eq!(why(true), "it has no routes for this host yet (503)");
        assert_eq!(why(false), "it is overloaded, or not there yet (503)");
    }

    #[test]
    fn requests_name_the_host_the_token_and_what_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, "secret\n").unwrap();
        let mut settings = Settings {
            controller: "https://[::1]:8443".parse().unwrap(),
            host: "h1".into(),
            token: Some(path.clone()),
            tls: TlsFiles::default(),
            plain_http: false,
        };
        let held = Version {
            epoch: 5,
            version: 17,
        };
        let text =
            String::from_utf8(request(&settings, Purpose::Events, Some(held)).unwrap()).unwrap();
        assert!(
            text.starts_with("GET /v1/hosts/h1/events HTTP/1.1\r\nHost: [::1]:8443\r\n"),
            "{text}"
        );
        assert!(
            text.contains("\r\nAuthorization: Bearer secret\r\n")
                && text.contains("\r\nLast-Event-ID: 5.17\r\n")
        );
        assert!(text.ends_with("\r\n\r\n"));
        fs::write(&path, "a b\r\nX: y").unwrap();
        assert!(
            request(&settings, Purpose::Routes, None)
                .unwrap_err()
                .why
                .contains("visible characters")
        );
        settings.token = None;
        let text =
            String::from_utf8(request(&settings, Purpose::Routes, Some(held)).unwrap()).unwrap();
        assert!(!text.contains("Authorization") && !text.contains("Last-Event-ID"));
    }
}
