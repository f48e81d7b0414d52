// SPDX-License-Identifier: MIT OR Apache-2.0
//! What programs ask for: requests for circuits, each of which a process keeps open as it keeps a file.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write as _};

use etalon_scenario::{CrossConnect, Crowded, Hosts, Pair, Scenario, deal};
use etalon_schedule::{Answer, Granted};

use crate::Kernel;

/// The word before the racks of ranks.
const RANKS: &str = "ranks";
/// The word before the name of a request that several programs share.
const NAME: &str = "as ";

/// What a program asks for.
#[derive(Debug)]
pub(crate) struct Request {
    /// Programs that give the same name share the request.
    name: Option<String>,
    circuits: Vec<CrossConnect>,
}

/// What a process keeps by a file that it has open, or several do.
#[derive(Debug)]
struct Claim {
    /// The host of the program that asked last.
    host: u32,
    /// What it is called, if several may share it.
    name: Option<String>,
    /// The files of those that have it.
    files: Vec<u32>,
    /// What it has, or has asked for.
    circuits: Vec<CrossConnect>,
    /// The request is not granted yet.
    waits: bool,
    /// Circuits that are not up yet.
    dark: u32,
    /// How many circuits changed for it.
    changed: u32,
    /// Nobody has it any more; it has to be given back when it is granted.
    closed: bool,
}

/// The claims of all programs.
#[derive(Debug)]
pub(crate) struct Claims {
    /// How many jobs there are: to the controller, claims are numbered after them.
    jobs: u32,
    /// Circuits of each direction that a rack may have.
    uplinks: u8,
    /// By the file through which it was asked for first.
    claims: BTreeMap<u32, Claim>,
    /// Those that have names, and the files of others that share them.
    named: BTreeMap<String, u32>,
    joined: BTreeMap<u32, u32>,
}

impl Claims {
    /// None yet, of a plan whose programs can ask.
    pub(crate) fn new(scenario: &Scenario) -> Option<Claims> {
        let can_ask = scenario.asked().is_some() && !scenario.programs.is_empty();
        can_ask.then(|| Claims {
            jobs: scenario.jobs.len() as u32,
            uplinks: scenario.network.kind().uplinks(),
            claims: BTreeMap::new(),
            named: BTreeMap::new(),
            joined: BTreeMap::new(),
        })
    }

    /// Whether the controller means a claim by the number of a job.
    pub(crate) fn has(&self, job: u32) -> bool {
        job >= self.jobs
    }

    /// The host of whose program this is a claim.
    pub(crate) fn host_of(&self, job: u32) -> Option<u32> {
        let claim = self.claims.get(&job.checked_sub(self.jobs)?)?;
        Some(claim.host)
    }

    /// A request that may be made now.
    pub(crate) fn read(&self, file: u32, text: &[u8], hosts: &Hosts) -> Result<Request, String> {
        let before = self.claims.get(&file);
        if before.is_some_and(|claim| claim.waits || claim.dark > 0) {
            return Err(String::from(
                "the circuits of the request before are not up yet",
            ));
        }
        if before.is_some_and(|claim| claim.name.is_some()) || self.joined.contains_key(&file) {
            return Err(String::from(
                "what was asked for through this file is shared: open another",
            ));
        }
        let text = core::str::from_utf8(text);
        request(
            text.map_err(|_| "the request is no text")?,
            hosts,
            self.uplinks,
        )
    }

    /// Has a file share the request of another with that name, if there is one; if its circuits are up, also how many changed for it.
    pub(crate) fn join(
        &mut self,
        file: u32,
        request: &Request,
    ) -> Result<Option<Option<u32>>, String> {
        let Some(first) = request.name.as_ref().and_then(|name| self.named.get(name)) else {
            return Ok(None);
        };
        let Some(claim) = self.claims.get_mut(first) else {
            return Ok(None);
        };
        if claim.circuits != request.circuits {
            return Err(String::from(
                "another program asks for other circuits under the same name",
            ));
        }
        claim.files.push(file);
        self.joined.insert(file, *first);
        let is_up = !claim.waits && claim.dark == 0;
        Ok(Some(is_up.then_some(claim.changed)))
    }

    /// A request is on its way. Returns its number as the controller knows it (a job's), the circuits that it gives back, and those that
    /// it names.
    pub(crate) fn begin(
        &mut self,
        (number, host): (u32, u32),
        Request { name, circuits }: Request,
    ) -> (u32, Vec<CrossConnect>, Vec<CrossConnect>) {
        if let Some(name) = &name {
            self.named.insert(name.clone(), number);
        }
        let claim = Claim {
            host,
            name,
            files: alloc::vec![number],
            circuits: circuits.clone(),
            waits: !circuits.is_empty(),
            dark: circuits.len() as u32,
            changed: 0,
            closed: false,
        };
        let before = self.claims.insert(number, claim);
        let mut released = before.map_or_else(Vec::new, |claim| claim.circuits);
        released.retain(|connect| !circuits.contains(connect));
        (self.jobs + number, released, circuits)
    }

    /// Hears of a request. Returns what is given back because nobody has it any more.
    pub(crate) fn hear<E: Kernel>(
        &mut self,
        answer: &Answer,
        env: &E,
    ) -> Option<Vec<CrossConnect>> {
        let number = answer.job - self.jobs;
        let claim = self.claims.get_mut(&number)?;
        match answer.what {
            Granted::Request { changed, .. } => {
                (claim.waits, claim.changed) = (false, changed);
                if claim.closed {
                    return self.claims.remove(&number).map(|claim| claim.circuits);
                }
            }
            Granted::Up(_) => {
                claim.dark = claim.dark.saturating_sub(1);
                if claim.dark == 0 {
                    for &file in &claim.files {
                        env.granted(file, claim.changed);
                    }
                }
            }
            // A program keeps what it has while it runs.
            Granted::Wanted(_) => {}
        }
        None
    }

    /// A file is closed. If nobody has its claim any more: the job and the circuits to give back, if it has any yet.
    pub(crate) fn close(&mut self, file: u32) -> Option<(u32, Vec<CrossConnect>)> {
        let number = self.joined.remove(&file).unwrap_or(file);
        let claim = self.claims.get_mut(&number)?;
        claim.files.retain(|&other| other != file);
        if !claim.files.is_empty() {
            return None;
        }
        if let Some(name) = claim.name.take() {
            self.named.remove(&name);
        }
        if claim.waits {
            claim.closed = true;
            return None;
        }
        let claim = self.claims.remove(&number)?;
        let has_any = !claim.circuits.is_empty();
        has_any.then_some((self.jobs + number, claim.circuits))
    }
}

/// What a text asks for, such as `r0>r1 r1>r2`, in a network of so many racks. Lines before may begin with `ranks`: the racks of ranks
/// follow there, and `0>1` names ranks; or with `as`: the request's name follows.
fn request(text: &str, hosts: &Hosts, uplinks: u8) -> Result<Request, String> {
    let (mut ranks, mut name, mut rest) = (Vec::new(), None, text);
    while let Some((line, after)) = rest.split_once('\n') {
        if let Some(racks) = line.strip_prefix(RANKS) {
            let racks = racks.split_whitespace();
            let racks: Result<_, _> = racks.map(|word| rack_of(word, hosts)).collect();
            ranks = racks?;
        } else if let Some(given) = line.strip_prefix(NAME) {
            name = Some(String::from(given));
        } else {
            break;
        }
        rest = after;
    }
    let circuits = circuits(rest, hosts, &ranks, uplinks)?;
    Ok(Request { name, circuits })
}

/// The circuits that words name.
fn circuits(
    text: &str,
    hosts: &Hosts,
    ranks: &[u16],
    uplinks: u8,
) -> Result<Vec<CrossConnect>, String> {
    let mut found: Vec<Pair> = Vec::new();
    let mut words = 0;
    for word in text.split_whitespace() {
        words += 1;
        let pair = pair_of(word, hosts, ranks)?;
        let Some(pair) = pair else { continue };
        if found.contains(&pair) {
            continue;
        }
        let meets = |other: &&Pair| other.src == pair.src || other.dst == pair.dst;
        if let (Some(other), 1) = (found.iter().find(meets), uplinks) {
            let ends = match other.src == pair.src {
                true => "begin",
                false => "end",
            };
            let named = |Pair { src, dst }: Pair| said(format_args!("r{src}>r{dst}"));
            return Err(said(format_args!(
                "{} and {} both {ends} at one rack, which has one circuit at a time",
                named(*other),
                named(pair)
            )));
        }
        found.push(pair);
    }
    if words == 0 {
        return Err(String::from("the request names no circuit, such as r0>r1"));
    }
    deal(&found, uplinks, &[]).map_err(|crowded| {
        let Crowded { rack, circuits, .. } = crowded;
        said(format_args!(
            "{circuits} circuits begin or end at r{rack}, which has {uplinks} uplinks"
        ))
    })
}

/// A circuit; none between ranks of one rack, which need none.
fn pair_of(word: &str, hosts: &Hosts, ranks: &[u16]) -> Result<Option<Pair>, String> {
    let no_circuit = || {
        said(format_args!(
            "'{word}' is no circuit; write it like r0>r1, or like 0>1 for ranks of MPI programs"
        ))
    };
    let (src, dst) = word.split_once('>').ok_or_else(no_circuit)?;
    let is_rank = |end: &str| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit());
    if is_rank(src) && is_rank(dst) {
        let (src, dst) = (rank_of(src, ranks)?, rank_of(dst, ranks)?);
        return Ok((src != dst).then_some(Pair { src, dst }));
    }
    if !src.starts_with('r') || !dst.starts_with('r') {
        return Err(no_circuit());
    }
    let (src, dst) = (rack_of(src, hosts)?, rack_of(dst, hosts)?);
    if src == dst {
        return Err(said(format_args!("{word} leads from a rack to itself")));
    }
    Ok(Some(Pair { src, dst }))
}

/// The rack of `r3`, or of a host, `r3h0`.
fn rack_of(word: &str, hosts: &Hosts) -> Result<u16, String> {
    let name = word.strip_prefix('r').unwrap_or(word);
    let (rack, host) = name.split_once('h').unwrap_or((name, "0"));
    let number = |part: &str, count: u16| {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit());
        let number = part.parse().ok().filter(|_| digits);
        number.filter(|&number: &u16| number < count)
    };
    let host = number(host, hosts.per_rack);
    number(rack, hosts.racks)
        .filter(|_| host.is_some())
        .ok_or_else(|| {
            said(format_args!(
                "there is no rack or host {word}: racks are r0 to r{}, hosts r0h0 to r{}h{}",
                hosts.racks - 1,
                hosts.racks - 1,
                hosts.per_rack - 1
            ))
        })
}

fn rank_of(word: &str, ranks: &[u16]) -> Result<u16, String> {
    if ranks.is_empty() {
        return Err(said(format_args!(
            "{word} is a rank, which only programs of MPI have; name racks, like r0>r1"
        )));
    }
    let rank = word.parse::<usize>().ok();
    let rack = rank.and_then(|rank| ranks.get(rank)).copied();
    rack.ok_or_else(|| {
        let last = ranks.len() - 1;
        said(format_args!(
            "there is no rank {word}: ranks are 0 to {last}"
        ))
    })
}

/// A sentence. The kernel has no `format!`, whose library code unwinds.
fn said(sentence: fmt::Arguments<'_>) -> String {
    let mut text = String::new();
    // A string takes all.
    let _ = text.write_fmt(sentence);
    text
}

#[cfg(test)]
mod tests {
    use etalon_units::{Rate, Span};

    use super::*;

    /// Four racks of eight.
    fn hosts() -> Hosts {
        Hosts {
            racks: 4,
            per_rack: 8,
            mtu: 9000,
            rate: Rate::from_gbps(10),
            delay: Span(0),
            jitter: Span(0),
            downlink_queue: None,
        }
    }

    fn pairs(text: &str) -> Result<Vec<(u16, u16)>, String> {
        let found = request(text, &hosts(), 1)?.circuits;
        Ok(found.iter().map(|c| (c.pair.src, c.pair.dst)).collect())
    }

    #[test]
    fn a_request_names_racks_hosts_or_ranks() {
        assert_eq!(
            pairs("r2>r1 r0>r1"),
            Err("r2>r1 and r0>r1 both end at one rack, which has one circuit at a time".into())
        );
        assert_eq!(pairs("r2>r1  r0>r3\n"), Ok([(0, 3), (2, 1)].into()));
        assert_eq!(pairs("r2h7>r1h0 r2>r1"), Ok([(2, 1)].into()));
        // Ranks 0 and 1 are of one rack.
        assert_eq!(pairs("ranks 3 3 1\n0>1 1>2"), Ok([(3, 1)].into()));
        assert_eq!(pairs("ranks 3 3\n0>1"), Ok([].into()));
        let named = request("ranks 3 1\nas a 7\n0>1", &hosts(), 1).unwrap();
        let two = |text| request(text, &hosts(), 2).map(|found| found.circuits.len());
        assert_eq!(two("r0>r1 r0>r2"), Ok(2));
        let crowded = "3 circuits begin or end at r0, which has 2 uplinks";
        assert_eq!(two("r0>r1 r0>r2 r0>r3"), Err(crowded.into()));
        assert_eq!(named.name.as_deref(), Some("a 7"));
        assert_eq!(named.circuits.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let said = |text, part: &str| assert!(pairs(text).unwrap_err().contains(part), "{text}");
        said("", "names no circuit");
        said("r0-r1", "'r0-r1' is no circuit");
        said("r0>1", "'r0>1' is no circuit");
        said("0>1", "0 is a rank, which only programs of MPI have");
        said("ranks 0 1\n0>2", "no rank 2: ranks are 0 to 1");
        said("r0>r4", "no rack or host r4: racks are r0 to r3");
        said("r0>r+1", "no rack or host r+1");
        said("r0>r1h", "no rack or host r1h");
        said(
            "r0>r1h8",
            "no rack or host r1h8: racks are r0 to r3, hosts r0h0 to r3h7",
        );
        said("r1>r1", "from a rack to itself");
        said("r0>r1 r0>r2", "both begin at one rack");
    }
}
