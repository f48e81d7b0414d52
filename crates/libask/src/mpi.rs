// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's MPI: its functions under their names of the profiling layer, and what they say of communicators.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;

/// A handle or an address, whichever the MPI has: a register.
pub type Word = usize;

/// `MPI_COMM_WORLD` where handles are MPICH's integers, and in MPI 5's standard ABI.
const WORLD_OF_MPICH: Word = 0x4400_0000;
const WORLD_OF_STANDARD: Word = 0x101;
/// The library of that ABI.
const STANDARD: &str = "libmpi_abi.";

/// A function of the program's MPI.
///
/// # Panics
/// If no library that is loaded has it: then nobody can have called it either.
pub fn function(name: &CStr) -> *mut c_void {
    find(name).unwrap_or_else(|| panic!("no MPI has {}", name.to_string_lossy()))
}

/// Whether the program's MPI has a function.
pub fn has(name: &CStr) -> bool {
    find(name).is_some()
}

fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return Some(next);
    }
    // Python loads MPI with extensions of its own, which `RTLD_NEXT` does not see.
    let mut search = Search {
        name,
        found: null_mut(),
    };
    // SAFETY: `look` gets the search, which lives as long as the call.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    (!search.found.is_null()).then_some(search.found)
}

struct Search<'a> {
    name: &'a CStr,
    found: *mut c_void,
}

/// Looks into a library that is loaded; ends the search when it has the function.
unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: `find` passes its search.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the loader passes a description, with a C string.
    let path: *const c_char = unsafe { (*info).dlpi_name };
    // SAFETY: as above.
    if path.is_null() || unsafe { *path } == 0 {
        return 0;
    }
    // SAFETY: a C string. What is loaded already is not loaded, only named.
    let handle = unsafe { libc::dlopen(path, libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if handle.is_null() {
        return 0;
    }
    // SAFETY: an open handle and a C string.
    search.found = unsafe { libc::dlsym(handle, search.name.as_ptr()) };
    // SAFETY: the handle was opened here. The library stays loaded: others have it.
    unsafe { libc::dlclose(handle) };
    c_int::from(!search.found.is_null())
}

/// Calls a function of the program's MPI, whose arguments are words.
macro_rules! call {
    ($name:literal, $($argument:expr),*) => {{
        let found = $crate::mpi::function($name);
        // SAFETY: MPI's functions take handles, addresses and integers, and return an integer.
        let function: unsafe extern "C" fn($($crate::mpi::call!(@word $argument)),*) -> c_int = unsafe { transmute(found) };
        // SAFETY: the arguments are as MPI defines them.
        unsafe { function($($argument),*) }
    }};
    (@word $argument:expr) => { $crate::mpi::Word };
}
pub(crate) use call;

/// Bytes of an element of a type.
pub fn size_of(datatype: Word) -> u64 {
    let mut size: c_int = 0;
    call!(c"PMPI_Type_size", datatype, &raw mut size as Word);
    u64::try_from(size).unwrap_or(0)
}

/// How many ranks a communicator has, in the caller's group.
pub fn size(comm: Word) -> usize {
    let mut size: c_int = 0;
    call!(c"PMPI_Comm_size", comm, &raw mut size as Word);
    usize::try_from(size).unwrap_or(0)
}

/// The ranks of a communicator, as the program's world numbers them; none of one between two groups, or with members of another
/// world.
pub fn members(comm: Word) -> Option<Vec<i32>> {
    let mut is_between: c_int = 0;
    call!(c"PMPI_Comm_test_inter", comm, &raw mut is_between as Word);
    if is_between != 0 {
        return None;
    }
    // Handles are four bytes or eight.
    let (mut group, mut all): (u64, u64) = (0, 0);
    call!(c"PMPI_Comm_group", comm, &raw mut group as Word);
    call!(c"PMPI_Comm_group", world(), &raw mut all as Word);
    let mine: Vec<c_int> = (0..).take(size(comm)).collect();
    let mut found: Vec<c_int> = vec![-1; mine.len()];
    call!(
        c"PMPI_Group_translate_ranks",
        group as Word,
        mine.len() as Word,
        mine.as_ptr() as Word,
        all as Word,
        found.as_mut_ptr() as Word
    );
    call!(c"PMPI_Group_free", &raw mut group as Word);
    call!(c"PMPI_Group_free", &raw mut all as Word);
    found.iter().all(|&rank| rank >= 0).then_some(found)
}

/// The communicator of all ranks.
fn world() -> Word {
    if let Some(world) = find(c"ompi_mpi_comm_world") {
        return world as Word;
    }
    let mut about = libc::Dl_info {
        dli_fname: core::ptr::null(),
        dli_fbase: null_mut(),
        dli_sname: core::ptr::null(),
        dli_saddr: null_mut(),
    };
    // SAFETY: an address of a function, and room for what is known of it.
    let known = unsafe { libc::dladdr(function(c"PMPI_Comm_group"), &raw mut about) };
    let is_standard = known != 0 && !about.dli_fname.is_null() && {
        // SAFETY: the loader's C string.
        let path = unsafe { CStr::from_ptr(about.dli_fname) }.to_string_lossy();
        path.rsplit('/')
            .next()
            .is_some_and(|name| name.starts_with(STANDARD))
    };
    match is_standard {
        true => WORLD_OF_STANDARD,
        false => WORLD_OF_MPICH,
    }
}

/// Ends the program, with a sentence.
pub fn abort(comm: Word, why: &str) {
    eprintln!("etalon: a collective cannot ask for circuits: {why}");
    call!(c"PMPI_Abort", comm, 1);
}
