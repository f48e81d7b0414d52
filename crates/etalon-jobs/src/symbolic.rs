// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose data is in which piece: what shows that each algorithm is complete.

use std::boxed::Box;
use std::collections::BTreeMap;
use std::string::String;
use std::vec;
use std::vec::Vec;

use etalon_scenario::{Collective, CollectiveKind};

use crate::algorithm::Algorithm;
use crate::registry::{ALGORITHMS, Entry};
use crate::sizes::Sizes;
use crate::turn::{Message, Turn};

/// The ranks whose data has been added up.
type Of = u128;

/// Pieces under way, and whose data is in them.
type Sent = (Vec<u32>, Vec<Of>);

/// For each rank, what it has of each piece; nothing if 0.
type Has = Vec<Vec<Of>>;

fn collective(entry: &Entry) -> Collective {
    Collective {
        kind: entry.kind,
        algorithm: String::from(entry.name),
        bytes: 1 << 20,
        matrix: Vec::new(),
        root: 0,
        radix: None,
        pieces: None,
        groups: None,
        among: Vec::new(),
    }
}

fn turns(
    algorithm: &dyn Algorithm,
    sizes: &Sizes,
    n: u32,
    step: u32,
) -> Vec<(Vec<Message>, Vec<Message>)> {
    let turn = |rank| {
        let mut turn = Turn::new(sizes, true);
        algorithm.turn(rank, step, &mut turn);
        (turn.sends, turn.receives)
    };
    (0..n).map(turn).collect()
}

/// Carries a step out: what is sent is what the sender had before, and what is received is what was sent, once.
fn step(has: &mut Has, turns: &[(Vec<Message>, Vec<Message>)], who: &str) {
    let mut under_way: BTreeMap<(u32, u32), Vec<Sent>> = BTreeMap::new();
    for (from, (sends, _)) in (0..).zip(turns) {
        for message in sends {
            assert_ne!(message.peer, from, "{who}: rank {from} sends to itself");
            let data: Vec<Of> = message
                .pieces
                .iter()
                .map(|&p| has[from as usize][p as usize])
                .collect();
            assert!(
                data.iter().all(|&of| of > 0),
                "{who}: rank {from} sends what it has not"
            );
            under_way
                .entry((from, message.peer))
                .or_default()
                .push((message.pieces.clone(), data));
        }
    }
    for (to, (_, receives)) in (0..).zip(turns) {
        for message in receives {
            let queue = under_way
                .get_mut(&(message.peer, to))
                .filter(|queue| !queue.is_empty());
            let queue = queue
                .unwrap_or_else(|| panic!("{who}: rank {to} waits for {} in vain", message.peer));
            let (pieces, data) = queue.remove(0);
            assert_eq!(
                pieces, message.pieces,
                "{who}: rank {to} expects what {} sends",
                message.peer
            );
            for (&piece, &of) in pieces.iter().zip(&data) {
                let mine = &mut has[to as usize][piece as usize];
                if message.combines {
                    assert_eq!(*mine & of, 0, "{who}: rank {to} adds piece {piece} twice");
                    *mine |= of;
                } else {
                    *mine = of;
                }
            }
        }
    }
    assert!(
        under_way.values().all(Vec::is_empty),
        "{who}: a message that nobody takes"
    );
}

/// Runs an algorithm and looks at what all ranks have in the end.
fn prove(kind: CollectiveKind, root: u32, algorithm: &dyn Algorithm, n: u32, who: &str) {
    let pieces = algorithm.pieces();
    let all = if n == 128 { Of::MAX } else { (1 << n) - 1 };
    let begins = |rank: u32, piece: u32| -> Of {
        let has = match kind {
            CollectiveKind::AllReduce | CollectiveKind::ReduceScatter | CollectiveKind::Reduce => {
                true
            }
            CollectiveKind::AllGather => rank == piece,
            CollectiveKind::AllToAll => piece / n == rank,
            CollectiveKind::Broadcast => rank == root,
        };
        if has { 1 << rank } else { 0 }
    };
    let mut has: Has = (0..n)
        .map(|rank| (0..pieces).map(|piece| begins(rank, piece)).collect())
        .collect();
    let bytes = u64::from(pieces);
    let sizes = match kind {
        CollectiveKind::AllToAll => Sizes::Matrix(vec![1; (n * n) as usize]),
        _ => Sizes::Even { bytes, pieces },
    };
    for number in 0..algorithm.steps() {
        step(&mut has, &turns(algorithm, &sizes, n, number), who);
    }
    for rank in 0..n {
        for piece in 0..pieces {
            let ends = match kind {
                CollectiveKind::AllReduce => Some(all),
                CollectiveKind::ReduceScatter => (rank == piece).then_some(all),
                CollectiveKind::Reduce => (rank == root).then_some(all),
                CollectiveKind::AllGather => Some(1 << piece),
                CollectiveKind::AllToAll => (piece % n == rank).then_some(1 << (piece / n)),
                CollectiveKind::Broadcast => Some(1 << root),
            };
            let had = has[rank as usize][piece as usize];
            assert!(
                ends.is_none_or(|ends| had == ends),
                "{who}: rank {rank}, piece {piece}: {had:b}"
            );
        }
    }
}

/// The ways in which an entry can be asked for.
fn variants(entry: &Entry, n: u32) -> Vec<Collective> {
    let usual = collective(entry);
    let mut all = vec![usual.clone()];
    let rooted = matches!(
        entry.kind,
        CollectiveKind::Broadcast | CollectiveKind::Reduce
    );
    if rooted {
        all.push(Collective {
            root: n - 1,
            ..usual.clone()
        });
    }
    if entry.name == "bruck" && entry.kind == CollectiveKind::AllToAll {
        all.extend([3, 4, n].map(|radix| Collective {
            radix: Some(radix),
            ..usual.clone()
        }));
    }
    if matches!(entry.name, "chain" | "two-trees") {
        all.extend([1, 3].map(|pieces| Collective {
            pieces: Some(pieces),
            ..usual.clone()
        }));
    }
    if entry.name == "hierarchical" {
        all.extend([3, 4, n / 2].map(|groups| Collective {
            groups: Some(groups),
            ..usual.clone()
        }));
    }
    all
}

#[test]
fn every_algorithm_is_complete() {
    for entry in ALGORITHMS {
        let mut fits = Vec::new();
        for n in (2..=17).chain([24, 31, 32, 33, 48, 63, 64]) {
            for of in variants(entry, n) {
                let Ok(algorithm) = (entry.make)(&of, n) else {
                    continue;
                };
                let who = std::format!("{} {} of {n} {of:?}", entry.kind.name(), entry.name);
                prove(entry.kind, of.root, &*algorithm, n, &who);
                fits.push(n);
            }
        }
        assert!(fits.contains(&64), "{} {}", entry.kind.name(), entry.name);
        let any = matches!(
            entry.name,
            "ring" | "bruck" | "direct" | "binomial" | "chain" | "tree" | "two-trees"
        );
        assert!(
            !any || [3, 5, 6, 7].iter().all(|n| fits.contains(n)),
            "{}",
            entry.name
        );
    }
}

/// Bytes that the rank sends which sends most, of a vector of so many bytes.
fn most_sent(algorithm: &dyn Algorithm, sizes: &Sizes, n: u32) -> u64 {
    let sent = |rank: u32| -> u64 {
        (0..algorithm.steps())
            .map(|step| {
                let mut turn = Turn::new(sizes, false);
                algorithm.turn(rank, step, &mut turn);
                turn.sends.iter().map(|m| m.bytes).sum::<u64>()
            })
            .sum()
    };
    (0..n).map(sent).max().unwrap_or(0)
}

#[test]
fn steps_and_bytes_are_those_of_the_literature() {
    use CollectiveKind::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
    let (n, m) = (64_u64, 1_u64 << 20);
    // Steps, and bytes that the busiest rank sends.
    let expected: &[(CollectiveKind, &str, u32, u64)] = &[
        (AllReduce, "ring", 126, 2 * m / n * 63),
        (AllReduce, "recursive-doubling", 6, 6 * m),
        (AllReduce, "halving-doubling", 12, 2 * m / n * 63),
        (AllReduce, "cyclic", 12, 2 * m / n * 63),
        (AllReduce, "swing", 12, 2 * m / n * 63),
        (
            AllReduce,
            "hierarchical",
            31 + 2 + 31,
            2 * (m / 32 * 31 + m / 64),
        ),
        (ReduceScatter, "ring", 63, m / n * 63),
        (AllGather, "bruck", 6, m / n * 63),
        (AllToAll, "direct", 63, m / n * 63),
        (AllToAll, "pairwise", 63, m / n * 63),
        (AllToAll, "bruck", 6, 6 * m / 2),
        (Broadcast, "binomial", 6, 6 * m),
        (Broadcast, "chain", 62 + 16, m),
        (Broadcast, "tree", 10, 2 * m),
    ];
    for &(kind, name, steps, bytes) in expected {
        let entry = ALGORITHMS
            .iter()
            .find(|e| (e.kind, e.name) == (kind, name))
            .expect(name);
        let of = collective(entry);
        let algorithm: Box<dyn Algorithm> = (entry.make)(&of, n as u32).expect(name);
        assert_eq!(algorithm.steps(), steps, "{name}");
        let sizes = Sizes::of(&of, n as u32, algorithm.pieces());
        assert_eq!(
            most_sent(&*algorithm, &sizes, n as u32),
            bytes,
            "{} {name}",
            kind.name()
        );
    }
}
