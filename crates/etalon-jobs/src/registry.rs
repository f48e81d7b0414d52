// SPDX-License-Identifier: MIT OR Apache-2.0
//! Algorithms of collectives: the one list of them.

use alloc::boxed::Box;
use alloc::string::String;

use etalon_scenario::{Collective, CollectiveKind};

use crate::algorithm::{Algorithm, Unfit};
use crate::algorithms::{
    binomial, bruck, chain, cyclic, direct, doubling, halves, halving, hierarchical, pairwise,
    ring, swing, ternary, tree, two_trees,
};
use crate::among::Among;

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

macro_rules! algorithms {
    ($($Kind:ident { $($name:literal: $about:expr, $make:expr;)* })*) => {
        /// The algorithms there are. The first of a kind is the one that is taken if a plan names none.
        pub static ALGORITHMS: &[Entry] = &[$($(Entry {
            kind: CollectiveKind::$Kind,
            name: $name,
            about: $about,
            make: $make,
        },)*)*];
    };
}

algorithms! {
    AllReduce {
        "ring": ring::ABOUT, ring::all_reduce;
        "recursive-doubling": doubling::ABOUT, doubling::all_reduce;
        "halving-doubling": halving::ABOUT, halves::all_reduce::<halving::Halving>;
        "cyclic": cyclic::ABOUT, halves::all_reduce::<cyclic::Cyclic>;
        "swing": swing::ABOUT, halves::all_reduce::<swing::Swing>;
        "two-trees": two_trees::ABOUT, two_trees::all_reduce;
        "hierarchical": hierarchical::ABOUT, hierarchical::all_reduce;
    }
    ReduceScatter {
        "ring": ring::ABOUT, ring::reduce_scatter;
        "halving-doubling": halving::ABOUT, halves::reduce_scatter::<halving::Halving>;
        "cyclic": cyclic::ABOUT, halves::reduce_scatter::<cyclic::Cyclic>;
        "swing": swing::ABOUT, halves::reduce_scatter::<swing::Swing>;
    }
    AllGather {
        "ring": ring::ABOUT, ring::all_gather;
        "halving-doubling": halving::ABOUT, halves::all_gather::<halving::Halving>;
        "cyclic": cyclic::ABOUT, halves::all_gather::<cyclic::Cyclic>;
        "swing": swing::ABOUT, halves::all_gather::<swing::Swing>;
        "bruck": bruck::GATHER, bruck::all_gather;
    }
    AllToAll {
        "direct": direct::ABOUT, direct::all_to_all;
        "pairwise": pairwise::ABOUT, pairwise::all_to_all;
        "bruck": bruck::ALL_TO_ALL, bruck::all_to_all;
        "ternary": ternary::ABOUT, ternary::all_to_all;
    }
    Broadcast {
        "binomial": binomial::ABOUT, binomial::broadcast;
        "chain": chain::ABOUT, chain::broadcast;
        "tree": tree::ABOUT, tree::broadcast;
    }
    Reduce {
        "binomial": binomial::ABOUT, binomial::reduce;
        "chain": chain::ABOUT, chain::reduce;
        "tree": tree::ABOUT, tree::reduce;
    }
}

/// The algorithm that a collective asks for.
///
/// # Errors
/// [`Unfit`] if there is none of that name, or it is not for so many ranks.
pub fn find(collective: &Collective, ranks: u32) -> Result<Box<dyn Algorithm>, Unfit> {
    let of_kind = || ALGORITHMS.iter().filter(|a| a.kind == collective.kind);
    match of_kind().find(|entry| entry.name == collective.algorithm) {
        Some(entry) => {
            let made = (entry.make)(collective, collective.members(ranks))?;
            Ok(match collective.among.is_empty() {
                true => made,
                false => Box::new(Among::new(made, &collective.among)),
            })
        }
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
