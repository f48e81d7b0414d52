// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random exchanges that the kernel of the Linux engine has answered (`linux/exchanges.txt`, recorded with `python
//! linux/exchanges/record.py`), replayed: what arrived, what the program did and when are given, and every segment that this TCP sends, when, and its
//! congestion window, slow-start threshold and state after each step must be Linux's.
//!
//! `linux/differences.txt` lists the exchanges that differ, each with its reason. One that has come to agree must leave the list.
use crate::common::{MS, US};
use etalon_tcp::cc::{Any, State};
use etalon_tcp::{Config, Connection, Ecn, Flags, Memory, Segment, SynOptions};
use std::collections::{BTreeMap, BTreeSet};

/// Linux may take so long to answer, ns, for its program's system calls take time.
const SLACK: u64 = US;
/// Exchanges that agree but for some windows: Linux keeps a segment's memory that we give up, or the other way about.
const OTHER_WINDOWS: [u32; 8] = [67, 75, 156, 221, 301, 310, 388, 396];
/// So many of those that agree have another PSH: Linux sets it also once more than half of the peer's largest window has been written
/// since the last one, and has it on the end of what was cut from such a piece.
const OTHER_PUSHES: usize = 142;
/// So many exchanges agree at least.
const AGREE: usize = 397;
/// 512 ticks: exchanges begin at a multiple of this.
const PERIOD: u64 = 2_048_000_000;

/// What happens, at a time in nanoseconds from the beginning.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    Connect,
    Arrives(Segment),
    Sent(Segment),
    Write(u64),
    Shutdown,
    /// The program reads all that there is.
    Read,
    /// Congestion window, slow-start threshold, state.
    Window([u32; 3]),
    End,
}

struct Exchange {
    number: u32,
    title: String,
    words: BTreeMap<String, String>,
    events: Vec<(u64, Event)>,
}

impl Exchange {
    fn get(&self, key: &str) -> u32 {
        self.words[key].parse().expect("a number")
    }

    fn peer_first(&self) -> u32 {
        self.get("peer")
    }

    fn config(&self) -> Config {
        let timestamps = self.get("ts") == 1;
        Config {
            mss: self.get("mtu") as u16 - 40 - if timestamps { 12 } else { 0 },
            sack: self.get("sack") == 1,
            timestamps,
            ecn: if self.get("ecn") == 1 {
                Ecn::On
            } else {
                Ecn::Off
            },
            initial_cwnd: self.get("iw"),
            min_rto: u64::from(self.get("rto")) * MS,
            initial_seq: self.get("iss"),
            tso_win_divisor: self.get("divisor"),
            auto_read: false,
            memory,
            ..Config::default()
        }
    }

    fn connection(&self) -> Connection<Any> {
        let cc = Any::by_name(&self.words["cc"], &[]).expect("a registered name");
        if self.get("passive") == 1 {
            Connection::server(self.config(), cc)
        } else {
            Connection::client(self.config(), cc)
        }
    }
}

/// A segment of a line; `ours` and `theirs` are the first sequence numbers of who sends it and of the other.
fn segment(words: &[&str], ours: u32, theirs: u32, sent: bool) -> (Segment, u8) {
    let mut words = words.iter();
    let mut number = || words.next()?.parse::<i64>().ok();
    let mut next = || number().expect("a number") as u32;
    let flags = Flags(next() as u8);
    let mut segment = Segment {
        flags,
        seq: next().wrapping_add(ours),
        len: next() as u16,
        ack: next().wrapping_add(theirs),
        window: next() as u16,
        ..Segment::default()
    };
    if !flags.contains(Flags::ACK) {
        segment.ack = 0;
    }
    let mut ecn = 0;
    let rest: Vec<&str> = words.copied().collect();
    let at = |letter: &str| {
        let from = rest.iter().position(|&w| w == letter)?;
        let numbers = rest[from + 1..].iter().map_while(|w| w.parse::<i64>().ok());
        Some(numbers.collect::<Vec<_>>())
    };
    if let Some(t) = at("t") {
        // Recorded as 1 at the beginning.
        let ours = |n: i64| if n > 0 { n as u32 + 2048 } else { 0 };
        let (value, echo) = (t[0] as u32, t[1] as u32);
        segment.timestamps = Some(if sent {
            (ours(t[0]), echo)
        } else {
            (value, ours(t[1]))
        });
    }
    for block in at("k").unwrap_or_default().chunks(2) {
        let edge = |n: i64| (n as u32).wrapping_add(theirs);
        segment.rare.push(edge(block[0]), edge(block[1]));
    }
    if let Some(o) = at("o") {
        segment.rare.set_syn(SynOptions {
            mss: o[0] as u16,
            window_scale: u8::try_from(o[1]).ok(),
            sack_permitted: o[2] == 1,
        });
    }
    if let Some(e) = at("e") {
        ecn = e[0] as u8;
        segment.ect = ecn > 0;
    }
    (segment, ecn)
}

/// Puts numbers for `.` and `+` in a segment's line; `before`: the last ones, by direction.
fn lengthen(words: &mut [String], before: &mut BTreeMap<String, Vec<String>>) {
    if !matches!(words[1].as_str(), "<" | ">") {
        return;
    }
    let last = before.entry(words[1].clone()).or_default();
    for (word, old) in words[2..].iter_mut().zip(last.iter()) {
        match word.as_str() {
            "." => old.clone_into(word),
            "+" => {
                let number = |i: usize| last[i].parse::<u32>().expect("a number");
                *word = (number(1) + number(2)).to_string();
            }
            _ => {}
        }
    }
    *last = words[2..7].to_vec();
}

fn parse(text: &str) -> Vec<Exchange> {
    let mut exchanges: Vec<Exchange> = Vec::new();
    let mut at = 0;
    let mut before = BTreeMap::new();
    for line in text.lines() {
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        if words[0] == "=" {
            before.clear();
            let pairs = words[4..].iter().filter_map(|w| w.split_once('='));
            exchanges.push(Exchange {
                number: words[1].parse().expect("a number"),
                title: words[2..4].join(" "),
                words: pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
                events: Vec::new(),
            });
            at = 0;
            continue;
        }
        let exchange = exchanges.last_mut().expect("a title before");
        at += words[0].parse::<u64>().expect("a time");
        lengthen(&mut words, &mut before);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (ours, theirs) = (exchange.get("iss"), exchange.peer_first());
        let number = |i: usize| words[i].parse::<u32>().expect("a number");
        let event = match words[1] {
            "c" => Event::Connect,
            "<" => {
                let (segment, ecn) = segment(&words[2..], theirs, ours, false);
                Event::Arrives(Segment {
                    ce: ecn == 3,
                    ..segment
                })
            }
            ">" => Event::Sent(segment(&words[2..], ours, theirs, true).0),
            "w" => Event::Write(number(2).into()),
            "s" => Event::Shutdown,
            "r" => Event::Read,
            "i" => Event::Window([2, 3, 4].map(number)),
            "." => Event::End,
            other => panic!("a line of kind {other}"),
        };
        exchange.events.push((at, event));
    }
    exchanges
}

/// Linux's number of a state.
fn state(state: State) -> u32 {
    match state {
        State::Open => 0,
        State::LimitedTransmit => 1,
        State::Cwr => 2,
        State::FastRecovery => 3,
        State::Timeout => 4,
    }
}

/// What the kernel keeps of a segment that a packet socket sends it: one piece if that fits in a page, else whole pages.
fn memory(len: u32) -> Memory {
    let frame = len + 66;
    if frame + 16 < 4096 {
        let used = frame + 16 + 320;
        let size = used.next_power_of_two().max(512);
        return Memory {
            alone: size + 256,
            joined: 0,
            pieces: 0,
            room: size - used,
        };
    }
    let pieces = frame.div_ceil(4096);
    Memory {
        alone: 4096 * pieces + 768,
        joined: 4096 * pieces,
        pieces,
        room: 0,
    }
}

struct Replay<'a> {
    exchange: &'a Exchange,
    end: Option<Connection<Any>>,
    sent: Vec<(u64, Segment)>,
    compared: usize,
    /// Windows that differ.
    windows: usize,
    /// Segments of which one has PSH.
    pushes: usize,
}

impl Replay<'_> {
    fn poll(&mut self, now: u64) {
        let Some(end) = &mut self.end else { return };
        while let Some(segment) = end.poll_transmit(PERIOD + now) {
            end.departed(u64::from(segment.len));
            self.sent.push((now, segment));
        }
    }

    /// Fires timers up to `until`.
    fn timers(&mut self, until: u64) {
        loop {
            let Some(end) = &mut self.end else { return };
            let due = end.next_timer();
            if due > PERIOD + until {
                return;
            }
            end.on_timer(due);
            self.poll(due - PERIOD);
        }
    }

    /// Takes an event; returns how the two differ, if they do.
    fn take(&mut self, at: u64, event: &Event) -> Result<(), String> {
        match event {
            Event::Sent(theirs) => return self.compare(at, theirs),
            Event::Window(theirs) => return self.compare_window(at, *theirs),
            _ => {}
        }
        if *event == Event::Connect || self.end.is_none() {
            self.end = Some(self.exchange.connection());
        }
        self.timers(at);
        if let Some((when, segment)) = self.sent.get(self.compared) {
            if when + SLACK < at {
                return Err(format!(
                    "{}: {} is not sent by Linux",
                    us(*when),
                    show(self.exchange, segment)
                ));
            }
        }
        let end = self.end.as_mut().expect("made above");
        match event {
            Event::Arrives(segment) => end.on_segment(PERIOD + at, segment),
            Event::Write(bytes) => end.write(*bytes),
            Event::Shutdown => end.shutdown(),
            Event::Read => {
                end.read(u64::MAX);
            }
            _ => {}
        }
        self.poll(at);
        Ok(())
    }

    fn compare(&mut self, at: u64, theirs: &Segment) -> Result<(), String> {
        self.timers(at);
        while self.sent.len() == self.compared {
            let due = self.end.as_ref().map_or(u64::MAX, Connection::next_timer);
            if due > PERIOD + at + SLACK {
                break;
            }
            self.timers(due - PERIOD);
        }
        let Some((when, ours)) = self.sent.get(self.compared) else {
            return Err(format!(
                "{}: {} is not sent by us",
                us(at),
                show(self.exchange, theirs)
            ));
        };
        self.compared += 1;
        let mut alike = ours.clone();
        let pushed = alike.flags.contains(Flags::PSH);
        self.pushes += usize::from(pushed != theirs.flags.contains(Flags::PSH));
        alike.flags.0 ^= (alike.flags.0 ^ theirs.flags.0) & Flags::PSH.0;
        if !alike.flags.contains(Flags::SYN) {
            self.windows += usize::from(alike.window != theirs.window);
            alike.window = theirs.window;
        }
        if alike != *theirs || when.abs_diff(at) > SLACK {
            let (ours, theirs) = (show(self.exchange, ours), show(self.exchange, theirs));
            let (when, at) = (us(*when), us(at));
            return Err(format!("{when}: {ours}; Linux at {at}: {theirs}"));
        }
        Ok(())
    }

    fn compare_window(&mut self, at: u64, theirs: [u32; 3]) -> Result<(), String> {
        self.timers(at);
        let Some(end) = &self.end else { return Ok(()) };
        if !end.is_established() {
            return Ok(());
        }
        let window = end.path().window();
        let ours = [
            window.cwnd,
            window.ssthresh.min(i32::MAX as u32),
            state(end.path().recovery_state()),
        ];
        if ours != theirs {
            return Err(format!(
                "{}: cwnd, ssthresh, state {ours:?}, Linux's {theirs:?}",
                us(at)
            ));
        }
        Ok(())
    }
}

/// A time, for people.
fn us(ns: u64) -> String {
    format!("{}.{:03} us", ns / US, ns % US)
}

/// A segment with sequence numbers from the SYN's.
fn show(exchange: &Exchange, segment: &Segment) -> String {
    let (ours, theirs) = (exchange.get("iss"), exchange.peer_first());
    let mut shown = segment.clone();
    shown.seq = shown.seq.wrapping_sub(ours);
    if shown.flags.contains(Flags::ACK) {
        shown.ack = shown.ack.wrapping_sub(theirs);
    }
    shown.rare.clear_blocks();
    for &(start, end) in segment.rare.blocks() {
        shown
            .rare
            .push(start.wrapping_sub(theirs), end.wrapping_sub(theirs));
    }
    shown.to_string()
}

/// Replays an exchange to its end. Returns our end of it, and how many windows and PSHs differ.
fn replay(exchange: &Exchange) -> Result<(Connection<Any>, [usize; 2]), (usize, String)> {
    let mut replay = Replay {
        exchange,
        end: None,
        sent: Vec::new(),
        compared: 0,
        windows: 0,
        pushes: 0,
    };
    for (index, (at, event)) in exchange.events.iter().enumerate() {
        replay.take(*at, event).map_err(|found| (index, found))?;
    }
    let end = replay.end.expect("made by an event");
    Ok((end, [replay.windows, replay.pushes]))
}

/// The exchanges that are known to differ.
fn listed(text: &str) -> BTreeSet<u32> {
    let lines = text
        .lines()
        .filter(|l| !l.is_empty() && !l.starts_with('#'));
    let numbers = lines.filter_map(|l| l.split_once(':'));
    numbers
        .flat_map(|(numbers, _)| numbers.split(' '))
        .map(|n| n.parse().expect("numbers and a reason"))
        .collect()
}

/// How our answers compare with Linux's: the exchanges that differ at all, those that differ in windows alone, and how many in PSH alone.
struct Comparison {
    different: BTreeSet<u32>,
    windows: Vec<u32>,
    pushes: usize,
}

/// Replays all exchanges, and prints the first difference of each, then the counts.
fn compare(exchanges: &[Exchange]) -> Comparison {
    let (mut different, mut windows, mut pushes) = (BTreeSet::new(), Vec::new(), 0);
    for exchange in exchanges {
        let (index, found) = match replay(exchange) {
            Ok((_, other)) => {
                windows.extend((other[0] > 0).then_some(exchange.number));
                pushes += usize::from(other[1] > 0);
                continue;
            }
            Err(found) => found,
        };
        different.insert(exchange.number);
        let (title, cc, total) = (
            &exchange.title,
            &exchange.words["cc"],
            exchange.events.len(),
        );
        println!("{} {title} {cc} [{index}/{total}] {found}", exchange.number);
    }
    println!(
        "{} of {} differ, {} in windows alone, {pushes} in PSH alone",
        different.len(),
        exchanges.len(),
        windows.len()
    );
    Comparison {
        different,
        windows,
        pushes,
    }
}

#[test]
fn linux_answers_as_we_do() {
    let folder = format!("{}/tests/linux", env!("CARGO_MANIFEST_DIR"));
    let read = |name| std::fs::read_to_string(format!("{folder}/{name}")).expect("it is there");
    let exchanges = parse(&read("exchanges.txt"));
    let listed = listed(&read("differences.txt"));
    let Comparison {
        different,
        windows,
        pushes,
    } = compare(&exchanges);
    assert_eq!(exchanges.len(), 400);
    assert!(exchanges.len() - different.len() >= AGREE);
    let new: Vec<_> = different.difference(&listed).collect();
    assert!(new.is_empty(), "differ, and are not listed: {new:?}");
    let gone: Vec<_> = listed.difference(&different).collect();
    assert!(gone.is_empty(), "are listed, and do not differ: {gone:?}");
    assert_eq!(windows, OTHER_WINDOWS);
    assert!(pushes <= OTHER_PUSHES, "PSH differs in {pushes}");
}

/// Exchanges that nobody has looked at, recorded into a file with `python linux/exchanges/record.py 400 200`: 39 of 40 agree.
#[test]
#[ignore = "needs a recording: ETALON_EXCHANGES=FILE"]
fn unseen_exchanges_agree_too() {
    let path = std::env::var("ETALON_EXCHANGES").expect("ETALON_EXCHANGES names a recording");
    let exchanges = parse(&std::fs::read_to_string(path).expect("it is there"));
    let different = compare(&exchanges).different;
    assert!(different.len() * 40 <= exchanges.len());
}

/// Exchanges made by hand for one behaviour each (`linux/named/named.py`), down to the smoothed RTT and the degree of reordering that Linux
/// says at last.
#[test]
fn each_named_behaviour_is_linuxs() {
    let path = format!("{}/tests/linux/named.txt", env!("CARGO_MANIFEST_DIR"));
    let exchanges = parse(&std::fs::read_to_string(path).expect("it is there"));
    assert_eq!(exchanges.len(), 10);
    let mut different = Vec::new();
    for exchange in &exchanges {
        let found = match replay(exchange) {
            Ok((end, _)) => {
                let ours = [end.path().srtt() / 1000, end.reordering().into()];
                let theirs = ["srtt", "reordering"].map(|name| u64::from(exchange.get(name)));
                (ours != theirs).then(|| format!("RTT and degree {ours:?}, Linux's {theirs:?}"))
            }
            Err((_, found)) => Some(found),
        };
        different.extend(found.map(|found| format!("{}: {found}", exchange.title)));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}
