// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of a program's collectives through `/dev/circuits` (`kernel/driver/circuits.h`).

use std::collections::HashMap;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::{Mutex, PoisonError};

const DEVICE: &str = "/dev/circuits";
/// The variable that has the hosts of ranks.
const RANKS: &str = "ETALON_RANKS";
/// The variable that tells programs of MPI from each other.
const PROGRAM: &str = "ETALON_PROGRAM";
/// The longest answer.
const SENTENCE: usize = 256;

/// How many collectives each set of ranks has begun: its members count alike, since they begin the same ones in the same order.
static BEGUN: Mutex<Option<HashMap<u64, u64>>> = Mutex::new(None);

/// Asks for the circuits of the next collective among these ranks, and waits until they are up. They are kept until the file is
/// closed, here and by all other members.
///
/// # Errors
/// A sentence about what is wrong with the request.
pub fn ask(members: &[i32], circuits: &str) -> Result<File, String> {
    let variable = |name| env::var(name).unwrap_or_default();
    let set = digest(members);
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let number = begun.get_or_insert_default().entry(set).or_default();
    *number += 1;
    let name = format!("{} {set:016x} {number}", variable(PROGRAM));
    drop(begun);
    let request = format!("ranks {}\nas {name}\n{circuits}", variable(RANKS));
    let told = |error: std::io::Error| format!("{DEVICE}: {error}");
    let options = OpenOptions::new().read(true).write(true).open(DEVICE);
    let mut file = options.map_err(told)?;
    if let Err(error) = file.write(request.as_bytes()) {
        let mut why = [0; SENTENCE];
        return Err(match file.read(&mut why) {
            Ok(length) if length > 0 => String::from_utf8_lossy(&why[..length]).into_owned(),
            _ => told(error),
        });
    }
    let mut changed = [0; SENTENCE];
    loop {
        match file.read(&mut changed) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(told(error)),
            Ok(_) => return Ok(file),
        }
    }
}

/// FNV-1a of some ranks.
fn digest(members: &[i32]) -> u64 {
    let bytes = members.iter().flat_map(|member| member.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_ranks_have_names_of_their_own() {
        assert_ne!(digest(&[0, 1]), digest(&[1, 0]));
        assert_ne!(digest(&[0, 1]), digest(&[0, 1, 2]));
    }

    #[test]
    fn elsewhere_there_is_nobody_to_ask() {
        assert!(ask(&[0, 1], "0>1").unwrap_err().starts_with(DEVICE));
    }
}
