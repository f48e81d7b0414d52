// SPDX-License-Identifier: MIT OR Apache-2.0
//! MPI's collectives, each with circuits around it.

use core::ffi::c_int;
use core::mem::transmute;
use std::env;

use crate::circuits;
use crate::mpi::{self, Word, call};
use crate::wanted::{self, Kind};

/// How much a collective moves, as plans have its size.
enum Bytes {
    /// So many elements of a type.
    Vector(u64, Word),
    /// So many from each rank.
    Each(u64, Word),
    /// As many as all of these together.
    Sum(Counts, Word),
}

/// An array with a count for each rank.
enum Counts {
    Int(*const i32),
    Long(*const i64),
}

impl Bytes {
    /// Their number, among so many ranks.
    fn count(&self, ranks: usize) -> u64 {
        let (elements, datatype) = match *self {
            Bytes::Vector(count, datatype) => (count, datatype),
            Bytes::Each(count, datatype) => (count.saturating_mul(ranks as u64), datatype),
            Bytes::Sum(ref counts, datatype) => {
                ((0..ranks).map(|rank| counts.at(rank)).sum(), datatype)
            }
        };
        elements.saturating_mul(mpi::size_of(datatype))
    }
}

impl Counts {
    fn at(&self, rank: usize) -> u64 {
        let count = match *self {
            // SAFETY: MPI reads a count for each rank of the communicator there, too.
            Counts::Int(counts) => i64::from(unsafe { *counts.add(rank) }),
            // SAFETY: as above.
            Counts::Long(counts) => unsafe { *counts.add(rank) },
        };
        u64::try_from(count).unwrap_or(0)
    }
}

/// Has a collective's circuits up while it runs.
fn with_circuits(
    kind: Kind,
    comm: Word,
    bytes: &Bytes,
    collective: impl FnOnce() -> c_int,
) -> c_int {
    let kept = claim(kind, comm, bytes).unwrap_or_else(|why| {
        mpi::abort(comm, &why);
        None
    });
    let result = collective();
    drop(kept);
    result
}

/// The file that keeps a collective's circuits, if it asks for any.
fn claim(kind: Kind, comm: Word, bytes: &Bytes) -> Result<Option<std::fs::File>, String> {
    let Ok(entries) = env::var(wanted::ASK) else {
        return Ok(None);
    };
    let Some(members) = mpi::members(comm) else {
        return Ok(None);
    };
    let from = env::var(wanted::FROM)
        .ok()
        .and_then(|text| text.parse().ok());
    if from.is_some_and(|from: u64| bytes.count(members.len()) < from) {
        return Ok(None);
    }
    match wanted::circuits(&entries, kind, &members) {
        None => Ok(None),
        Some(wanted) => circuits::ask(&members, &wanted).map(Some),
    }
}

/// Counts or places of `MPI_Count` as `int`, for an MPI before version 4. Arguments that MPI does not read may be null.
fn narrow(comm: Word, counts: Word) -> Option<Vec<i32>> {
    let counts = counts as *const i64;
    if counts.is_null() {
        return None;
    }
    let each = 0..mpi::size(comm);
    // SAFETY: MPI reads a number for each rank of the communicator there, too.
    let each = each.map(|rank| narrow_one(comm, unsafe { *counts.add(rank) }));
    Some(each.collect())
}

fn narrow_one(comm: Word, count: i64) -> i32 {
    i32::try_from(count).unwrap_or_else(|_| {
        mpi::abort(comm, "this MPI has counts of 32 bits");
        0
    })
}

/// For each function: its arguments, what kind it is, how much it moves, its communicator, and which arguments are arrays of counts
/// or places. It comes twice: with `int`, and with `MPI_Count` (`_c`), which older MPIs lack: then the first is called.
macro_rules! collectives {
    ($($name:ident, $large:ident, $original:literal, $original_large:literal:
        ($($argument:ident),*) $kind:ident, $amount:ident($count:ident, $datatype:ident), $comm:ident, [$($array:ident),*];)*) => {$(
        /// As in MPI, with circuits.
        ///
        /// # Safety
        /// As in MPI.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: Word),*) -> c_int {
            let bytes = collectives!(@$amount i32, $count, $datatype);
            with_circuits(Kind::$kind, $comm, &bytes, || call!($original, $($argument),*))
        }

        /// As in MPI, with circuits.
        ///
        /// # Safety
        /// As in MPI.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $large($($argument: Word),*) -> c_int {
            let bytes = collectives!(@$amount i64, $count, $datatype);
            with_circuits(Kind::$kind, $comm, &bytes, || {
                if mpi::has($original_large) {
                    return call!($original_large, $($argument),*);
                }
                collectives!(@fits $amount, $comm, $count);
                // What is shadowed lives on.
                $(
                    let narrowed = narrow($comm, $array);
                    let $array = narrowed.as_ref().map_or(0, |counts| counts.as_ptr() as Word);
                )*
                call!($original, $($argument),*)
            })
        }
    )*};
    // The upper half of a register that holds an `int` is undefined.
    (@vector $int:ident, $count:ident, $datatype:ident) => {
        Bytes::Vector(u64::try_from($count as $int).unwrap_or(0), $datatype)
    };
    (@each $int:ident, $count:ident, $datatype:ident) => {
        Bytes::Each(u64::try_from($count as $int).unwrap_or(0), $datatype)
    };
    (@sum i32, $count:ident, $datatype:ident) => {
        Bytes::Sum(Counts::Int($count as *const i32), $datatype)
    };
    (@sum i64, $count:ident, $datatype:ident) => {
        Bytes::Sum(Counts::Long($count as *const i64), $datatype)
    };
    (@fits sum, $comm:ident, $count:ident) => {};
    (@fits $amount:ident, $comm:ident, $count:ident) => {
        narrow_one($comm, $count as i64);
    };
}

collectives! {
    MPI_Allreduce, MPI_Allreduce_c, c"PMPI_Allreduce", c"PMPI_Allreduce_c":
        (from, to, count, datatype, op, comm) AllReduce, vector(count, datatype), comm, [];
    MPI_Reduce, MPI_Reduce_c, c"PMPI_Reduce", c"PMPI_Reduce_c":
        (from, to, count, datatype, op, root, comm) Reduce, vector(count, datatype), comm, [];
    MPI_Bcast, MPI_Bcast_c, c"PMPI_Bcast", c"PMPI_Bcast_c":
        (buffer, count, datatype, root, comm) Broadcast, vector(count, datatype), comm, [];
    MPI_Reduce_scatter_block, MPI_Reduce_scatter_block_c, c"PMPI_Reduce_scatter_block", c"PMPI_Reduce_scatter_block_c":
        (from, to, count, datatype, op, comm) ReduceScatter, each(count, datatype), comm, [];
    MPI_Reduce_scatter, MPI_Reduce_scatter_c, c"PMPI_Reduce_scatter", c"PMPI_Reduce_scatter_c":
        (from, to, counts, datatype, op, comm) ReduceScatter, sum(counts, datatype), comm, [counts];
    MPI_Allgather, MPI_Allgather_c, c"PMPI_Allgather", c"PMPI_Allgather_c":
        (from, sent, of, to, count, datatype, comm) AllGather, each(count, datatype), comm, [];
    MPI_Allgatherv, MPI_Allgatherv_c, c"PMPI_Allgatherv", c"PMPI_Allgatherv_c":
        (from, sent, of, to, counts, places, datatype, comm) AllGather, sum(counts, datatype), comm, [counts, places];
    MPI_Alltoall, MPI_Alltoall_c, c"PMPI_Alltoall", c"PMPI_Alltoall_c":
        (from, sent, of, to, count, datatype, comm) AllToAll, each(count, datatype), comm, [];
    MPI_Alltoallv, MPI_Alltoallv_c, c"PMPI_Alltoallv", c"PMPI_Alltoallv_c":
        (from, sent, put, of, to, counts, places, datatype, comm) AllToAll, sum(counts, datatype), comm,
        [sent, put, counts, places];
}
