// SPDX-License-Identifier: MIT OR Apache-2.0
//! One processor for each kernel. A program that stops wakes the kernel's process, and the other way round, thousands of times a second. If
//! each wakes the other on another processor, the wake-up costs several times what the call does.
//!
//! A claim is a name in the host's abstract socket namespace: it needs no file, other users see it too, and it is gone with its process,
//! however that ends. Containers with networks of their own do not see each other's claims.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// With `no` in it, runs are not pinned.
const PIN: &str = "ETALON_PIN";

/// How many runs share a processor at most before further ones are not pinned.
const LAYERS: usize = 64;

/// A processor that a run has claimed, until this is dropped. `None` inside: it runs wherever it may.
#[derive(Debug)]
pub(crate) struct Processor(Option<Claim>);

#[derive(Debug)]
struct Claim {
    number: usize,
    _name: UnixDatagram,
}

/// The processors that the calling thread may use.
fn allowed() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else {
        return Vec::new();
    };
    (0..CpuSet::count())
        .filter(|number| set.is_set(*number).unwrap_or(false))
        .collect()
}

/// Claims the first of these processors that the fewest others have claimed.
fn claim(numbers: &[usize], purpose: &str) -> Option<Claim> {
    for layer in 0..LAYERS {
        for number in numbers {
            let name = format!("etalon-{purpose}-{number}-{layer}");
            let Ok(address) = SocketAddr::from_abstract_name(name) else {
                continue;
            };
            if let Ok(socket) = UnixDatagram::bind_addr(&address) {
                return Some(Claim {
                    number: *number,
                    _name: socket,
                });
            }
        }
    }
    None
}

impl Processor {
    /// One that no other run has, or else that the fewest have. A user who has chosen one (`taskset`) keeps it.
    pub(crate) fn claim() -> Processor {
        match std::env::var_os(PIN) {
            Some(word) if word == "no" => Processor(None),
            _ => Processor(claim(&allowed(), "processor")),
        }
    }

    /// Does something on this processor. What it starts stays there.
    pub(crate) fn within<T>(&self, deed: impl FnOnce() -> T) -> T {
        let me = Pid::from_raw(0); // this thread alone
        let before = self.0.as_ref().and_then(|claim| {
            let before = sched_getaffinity(me).ok()?;
            let mut only = CpuSet::new();
            only.set(claim.number).ok()?;
            sched_setaffinity(me, &only).ok()?;
            Some(before)
        });
        let done = deed();
        if let Some(before) = before {
            let _ = sched_setaffinity(me, &before);
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(claim: Option<&Claim>) -> Option<usize> {
        claim.map(|one| one.number)
    }

    #[test]
    fn each_takes_a_free_one_and_then_the_one_that_the_fewest_have() {
        let purpose = format!("test-{}", std::process::id());
        let take = || claim(&[3, 5], &purpose);
        let [a, b, c, d, e] = std::array::from_fn(|_| take());
        let numbers = [&a, &b, &c, &d, &e].map(|one| number(one.as_ref()));
        assert_eq!(numbers, [Some(3), Some(5), Some(3), Some(5), Some(3)]);
        drop(b);
        assert_eq!(number(take().as_ref()), Some(5), "what was given back");
        assert_eq!(number(claim(&[], &purpose).as_ref()), None);
    }

    #[test]
    fn what_is_done_within_starts_on_one_processor_and_nothing_else_does() {
        let before = allowed();
        let one = *before.last().expect("a processor");
        let processor = Processor(claim(&[one], &format!("within-{}", std::process::id())));
        assert_eq!(processor.within(allowed), [one]);
        assert_eq!(allowed(), before);
        assert_eq!(Processor(None).within(allowed), before);
    }
}
