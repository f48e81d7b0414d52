//! Algorithms of collectives: the one list of them.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt::Debug;

use etalon_scenario::{Collective, CollectiveKind};

use crate::algorithms as a;
use crate::turn::Turn;

/// How a collective goes, told rank by rank and step by step.
pub trait Algorithm: Debug + core::marker::Send + Sync {
    /// How many steps there are.
    fn steps(&self) -> u32;

    /// How many pieces a vector is cut into. All-to-alls have a piece for each pair of ranks instead.
    fn pieces(&self) -> u32;

    /// The messages of `rank` in `step`. What one rank sends in a step, another receives in the same one.
    fn turn(&self, rank: u32, step: u32, turn: &mut Turn<'_>);
}

/// Why an algorithm does not fit: a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit(pub String);

/// What makes an algorithm for so many ranks.
pub type Make = fn(&Collective, u32) -> Result<Box<dyn Algorithm>, Unfit>;

/// An algorithm of the list.
#[derive(Debug)]
pub struct Entry {
    /// What it is for.
    pub kind: CollectiveKind,
    /// Its name in plans.
    pub name: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// Makes it.
    pub make: Make,
}

/// The algorithms there are. The first of a kind is the one that is taken if a plan names none.
pub static ALGORITHMS: &[Entry] = &{
    use CollectiveKind::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
    const fn entry(
        kind: CollectiveKind,
        name: &'static str,
        about: &'static str,
        make: Make,
    ) -> Entry {
        Entry {
            kind,
            name,
            about,
            make,
        }
    }
    [
        entry(AllReduce, "ring", a::ring::ABOUT, a::ring::all_reduce),
        entry(
            AllReduce,
            "recursive-doubling",
            a::doubling::ABOUT,
            a::doubling::all_reduce,
        ),
        entry(
            AllReduce,
            "halving-doubling",
            a::halving::ABOUT,
            a::halving::all_reduce,
        ),
        entry(AllReduce, "cyclic", a::cyclic::ABOUT, a::cyclic::all_reduce),
        entry(AllReduce, "swing", a::swing::ABOUT, a::swing::all_reduce),
        entry(
            AllReduce,
            "two-trees",
            a::two_trees::ABOUT,
            a::two_trees::all_reduce,
        ),
        entry(
            AllReduce,
            "hierarchical",
            a::hierarchical::ABOUT,
            a::hierarchical::all_reduce,
        ),
        entry(
            ReduceScatter,
            "ring",
            a::ring::ABOUT,
            a::ring::reduce_scatter,
        ),
        entry(
            ReduceScatter,
            "halving-doubling",
            a::halving::ABOUT,
            a::halving::reduce_scatter,
        ),
        entry(
            ReduceScatter,
            "cyclic",
            a::cyclic::ABOUT,
            a::cyclic::reduce_scatter,
        ),
        entry(
            ReduceScatter,
            "swing",
            a::swing::ABOUT,
            a::swing::reduce_scatter,
        ),
        entry(AllGather, "ring", a::ring::ABOUT, a::ring::all_gather),
        entry(
            AllGather,
            "halving-doubling",
            a::halving::ABOUT,
            a::halving::all_gather,
        ),
        entry(AllGather, "cyclic", a::cyclic::ABOUT, a::cyclic::all_gather),
        entry(AllGather, "swing", a::swing::ABOUT, a::swing::all_gather),
        entry(AllGather, "bruck", a::bruck::GATHER, a::bruck::all_gather),
        entry(AllToAll, "direct", a::direct::ABOUT, a::direct::all_to_all),
        entry(
            AllToAll,
            "pairwise",
            a::pairwise::ABOUT,
            a::pairwise::all_to_all,
        ),
        entry(
            AllToAll,
            "bruck",
            a::bruck::ALL_TO_ALL,
            a::bruck::all_to_all,
        ),
        entry(
            Broadcast,
            "binomial",
            a::binomial::ABOUT,
            a::binomial::broadcast,
        ),
        entry(Broadcast, "chain", a::chain::ABOUT, a::chain::broadcast),
        entry(Broadcast, "tree", a::tree::ABOUT, a::tree::broadcast),
        entry(Reduce, "binomial", a::binomial::ABOUT, a::binomial::reduce),
        entry(Reduce, "chain", a::chain::ABOUT, a::chain::reduce),
        entry(Reduce, "tree", a::tree::ABOUT, a::tree::reduce),
    ]
};

/// The algorithm that a collective asks for.
///
/// # Errors
/// [`Unfit`] if there is none of that name, or it is not for so many ranks.
pub fn find(collective: &Collective, ranks: u32) -> Result<Box<dyn Algorithm>, Unfit> {
    let of_kind = || ALGORITHMS.iter().filter(|a| a.kind == collective.kind);
    match of_kind().find(|entry| entry.name == collective.algorithm) {
        Some(entry) => (entry.make)(collective, ranks),
        None => {
            let mut names = String::new();
            for entry in of_kind() {
                if !names.is_empty() {
                    names.push_str(", ");
                }
                names.push_str(entry.name);
            }
            Err(Unfit(alloc::format!(
                "\"{}\" is no algorithm of {}, which has {names}",
                collective.algorithm,
                collective.kind.name(),
            )))
        }
    }
}
