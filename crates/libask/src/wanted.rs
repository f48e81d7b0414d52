// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which circuits a collective is to have. `etalon mpirun` has checked what it writes into the environment.

use std::fmt::Write as _;

/// The variable that says which circuits: entries like `ring` or `allreduce=0>1 1>0`, with `;` between them. The last one that
/// fits a collective counts.
pub const ASK: &str = "ETALON_ASK";
/// The variable that says from how many bytes on a collective asks.
pub const FROM: &str = "ETALON_ASK_FROM";
/// Each rank's circuit leads to the next rank of the communicator.
const RING: &str = "ring";
const NONE: &str = "none";

/// A kind of collective, by the names that entries have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `MPI_Allreduce`.
    AllReduce,
    /// `MPI_Reduce_scatter` and its like.
    ReduceScatter,
    /// `MPI_Allgather` and its like.
    AllGather,
    /// `MPI_Alltoall` and its like.
    AllToAll,
    /// `MPI_Bcast`.
    Broadcast,
    /// `MPI_Reduce`.
    Reduce,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::AllReduce => "allreduce",
            Kind::ReduceScatter => "reduce_scatter",
            Kind::AllGather => "allgather",
            Kind::AllToAll => "alltoall",
            Kind::Broadcast => "bcast",
            Kind::Reduce => "reduce",
        }
    }
}

/// The circuits of a collective among these ranks of the program, as `/dev/circuits` reads them; none if it asks for none.
pub fn circuits(entries: &str, kind: Kind, members: &[i32]) -> Option<String> {
    let mut wanted = NONE;
    for entry in entries.split(';') {
        match entry.split_once('=') {
            None => wanted = entry.trim(),
            Some((name, of_kind)) if name.trim() == kind.name() => wanted = of_kind.trim(),
            Some(_) => {}
        }
    }
    if members.len() < 2 || wanted == NONE || wanted.is_empty() {
        return None;
    }
    if wanted != RING {
        return Some(wanted.to_owned());
    }
    let mut text = String::new();
    for (at, from) in members.iter().enumerate() {
        let to = members[(at + 1) % members.len()];
        // A string takes all.
        let _ = write!(text, "{from}>{to} ");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_leads_to_the_next_rank_of_the_communicator() {
        let ring = |members| circuits("ring", Kind::AllReduce, members);
        assert_eq!(ring(&[0, 1, 2]).as_deref(), Some("0>1 1>2 2>0 "));
        assert_eq!(ring(&[5, 1]).as_deref(), Some("5>1 1>5 "));
        assert_eq!(ring(&[3]), None);
    }

    #[test]
    fn the_last_entry_that_fits_counts() {
        let entries = "ring; alltoall=0>1 1>0;bcast=none";
        let of = |kind| circuits(entries, kind, &[0, 1]);
        assert_eq!(of(Kind::AllToAll).as_deref(), Some("0>1 1>0"));
        assert_eq!(of(Kind::Broadcast), None);
        assert_eq!(of(Kind::Reduce).as_deref(), Some("0>1 1>0 "));
        assert_eq!(circuits("reduce=ring", Kind::AllReduce, &[0, 1]), None);
        assert_eq!(circuits("", Kind::AllReduce, &[0, 1]), None);
    }
}
