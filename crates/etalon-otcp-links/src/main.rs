// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links in user space: each joins two TAP devices, which may be in different network namespaces.
//!
//! Commands come as lines on standard input; each is answered by a line. The links end with it.
//!
//! ```text
//! link NAMESPACE DEVICE NAMESPACE DEVICE DELAY_NS RATE_BPS QUEUE_BYTES
//! down DEVICE      pulls the cable of the link that ends at this device
//! up DEVICE        plugs it in again
//! ```
//! A namespace is a path such as /run/netns/h1, or - for this process's own.

mod line;
mod sys;

use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use line::{Line, Shape};

/// Frames that are read from a device before others have their turn.
const BATCH: usize = 32;
const LARGEST_FRAME: usize = 2048;
/// How long to stay awake after a frame: waking up takes tens of microseconds, by which the next one would be late. More than
/// the pause between a controller's probes.
const AWAKE_NS: u64 = 2_000_000;
/// How long before a frame is due to wake up for it.
const EARLY_NS: u64 = 100_000;

/// One end of a link: the device, and what is on its way to the other end.
struct End {
    name: String,
    device: OwnedFd,
    away: Line,
}

/// A link, and whether its cable is plugged in.
struct Link {
    ends: [End; 2],
    up: bool,
}

fn number(text: Option<&str>, what: &str) -> Result<u64, String> {
    text.and_then(|t| t.parse().ok())
        .ok_or_else(|| format!("{what} must be a whole number"))
}

fn end(namespace: &str, name: &str, shape: Shape) -> Result<End, String> {
    let failed = |why: io::Error| format!("{name} in {namespace}: {why}");
    let before = if namespace == "-" {
        None
    } else {
        Some(sys::enter(namespace).map_err(failed)?)
    };
    let device = sys::tap(name).map_err(failed);
    if let Some(before) = before {
        sys::leave(&before).map_err(failed)?;
    }
    Ok(End {
        name: name.to_owned(),
        device: device?,
        away: Line::new(shape),
    })
}

fn make(mut words: std::str::SplitWhitespace<'_>) -> Result<Link, String> {
    let mut word = || words.next().ok_or("a link needs seven words");
    let places = [(word()?, word()?), (word()?, word()?)];
    let shape = Shape {
        delay_ns: number(words.next(), "the delay")?,
        rate_bps: number(words.next(), "the rate")?,
        queue_bytes: number(words.next(), "the queue")?,
    };
    if shape.rate_bps == 0 {
        return Err("the rate must be more than zero".to_owned());
    }
    let [a, b] = places;
    Ok(Link {
        ends: [end(a.0, a.1, shape)?, end(b.0, b.1, shape)?],
        up: true,
    })
}

fn plug(links: &mut [Link], name: &str, up: bool) -> Result<(), String> {
    let link = links
        .iter_mut()
        .find(|link| link.ends.iter().any(|end| end.name == name))
        .ok_or_else(|| format!("no link ends at {name}"))?;
    link.up = up;
    for end in &mut link.ends {
        end.away.cut();
        sys::carrier(&end.device, up).map_err(|why| format!("{}: {why}", end.name))?;
    }
    Ok(())
}

fn obey(links: &mut Vec<Link>, command: &str) -> Result<(), String> {
    let mut words = command.split_whitespace();
    match words.next() {
        Some("link") => links.push(make(words)?),
        Some(verb @ ("down" | "up")) => {
            plug(links, words.next().unwrap_or_default(), verb == "up")?;
        }
        _ => return Err(format!("unknown command: {command}")),
    }
    Ok(())
}

/// Takes frames from a device onto its line.
fn take(up: bool, from: &mut End, buffer: &mut [u8]) {
    for _ in 0..BATCH {
        let Some(length) = sys::read(from.device.as_raw_fd(), buffer) else {
            break;
        };
        if up {
            from.away.send(sys::now(), buffer[..length].to_vec());
        }
    }
}

/// Gives frames that have arrived to the device at the other end.
fn give(from: &mut End, to: &End) {
    while let Some(frame) = from.away.arrived(sys::now()) {
        sys::write(&to.device, &frame);
    }
}

/// Moves frames; whether devices had any. `ready` says which devices do, in the order of the links' ends.
fn pump(links: &mut [Link], ready: &[libc::pollfd], buffer: &mut [u8]) -> bool {
    let mut any = false;
    for (link, ready) in links.iter_mut().zip(ready.chunks(2)) {
        for (end, ready) in link.ends.iter_mut().zip(ready) {
            if ready.revents != 0 {
                any = true;
                take(link.up, end, buffer);
            }
        }
        let [a, b] = &mut link.ends;
        give(a, b);
        give(b, a);
    }
    any
}

/// How long to sleep at most, in ns; None: until there is something to read.
fn patience(links: &[Link], awake_until: u64) -> Option<u64> {
    let now = sys::now();
    if now < awake_until {
        return Some(0);
    }
    let ends = links.iter().flat_map(|link| &link.ends);
    let due = ends.filter_map(|end| end.away.due()).min();
    due.map(|due| due.saturating_sub(now + EARLY_NS))
}

fn polled(links: &[Link]) -> Vec<libc::pollfd> {
    let mut fds = vec![0];
    fds.extend(
        links
            .iter()
            .flat_map(|link| &link.ends)
            .map(|end| end.device.as_raw_fd()),
    );
    fds.into_iter()
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect()
}

/// Reads what there is of commands and answers whole lines; false at the end of input.
fn commands(links: &mut Vec<Link>, pending: &mut Vec<u8>, buffer: &mut [u8]) -> io::Result<bool> {
    match sys::read(0, buffer) {
        None | Some(0) => return Ok(false),
        Some(length) => pending.extend_from_slice(&buffer[..length]),
    }
    while let Some(at) = pending.iter().position(|byte| *byte == b'\n') {
        let command: Vec<u8> = pending.drain(..=at).collect();
        let answer = match obey(links, String::from_utf8_lossy(&command).trim()) {
            Ok(()) => "ok\n".to_owned(),
            Err(why) => format!("error {why}\n"),
        };
        let mut out = io::stdout().lock();
        out.write_all(answer.as_bytes())?;
        out.flush()?;
    }
    Ok(true)
}

fn main() -> io::Result<()> {
    let _awake = sys::be_exact();
    let (mut links, mut pending) = (Vec::new(), Vec::new());
    let mut buffer = vec![0; LARGEST_FRAME];
    let mut fds = polled(&links);
    let mut awake_until = 0;
    loop {
        sys::wait(&mut fds, patience(&links, awake_until));
        if fds[0].revents != 0 {
            if !commands(&mut links, &mut pending, &mut buffer)? {
                return Ok(());
            }
            fds = polled(&links);
        }
        if pump(&mut links, &fds[1..], &mut buffer) {
            awake_until = sys::now() + AWAKE_NS;
        }
    }
}
