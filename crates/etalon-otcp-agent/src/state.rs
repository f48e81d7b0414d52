// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the agent must remember if it is killed: since when which destinations are changed. And that it is the only one.
//!
//! Routes need no memory: the agent's are marked with its protocol. The file lies where it is lost when the machine
//! restarts, as are the changes.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};

use crate::kernel;
use crate::prefix::Prefix;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    boot_id: String,
    since_ms: BTreeMap<String, u64>,
}

/// The agent's folder.
#[derive(Debug)]
pub struct State {
    file: PathBuf,
    // Held as long as the agent lives.
    _lock: Flock<File>,
}

/// Destinations, and since when (time since the machine started) they are changed.
pub type Since = BTreeMap<Prefix, Duration>;

impl State {
    /// Takes the folder for this agent.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let told =
            |e: io::Error| io::Error::new(e.kind(), format!("--run {}: {e}", folder.display()));
        fs::create_dir_all(folder).map_err(told)?;
        let lock = File::create(folder.join("lock")).map_err(told)?;
        let lock = Flock::lock(lock, FlockArg::LockExclusiveNonblock).map_err(|(_, error)| {
            told(if error == nix::errno::Errno::EWOULDBLOCK {
                io::Error::other("another agent runs with this folder")
            } else {
                error.into()
            })
        })?;
        Ok(Self {
            file: folder.join("state.json"),
            _lock: lock,
        })
    }

    /// What an agent that was killed has left, in this life of the machine.
    pub fn left(&self) -> Since {
        let Ok(bytes) = fs::read(&self.file) else {
            return Since::new();
        };
        let Ok(raw) = serde_json::from_slice::<Raw>(&bytes) else {
            return Since::new();
        };
        if raw.boot_id != kernel::boot_id() {
            return Since::new();
        }
        raw.since_ms
            .iter()
            .filter_map(|(prefix, ms)| Some((prefix.parse().ok()?, Duration::from_millis(*ms))))
            .collect()
    }

    /// Remembers what is changed. Written beside and renamed, so that it is whole whenever the agent is killed.
    pub fn keep(&self, since: &Since) -> io::Result<()> {
        let since_ms = since
            .iter()
            .map(|(prefix, at)| (prefix.to_string(), at.as_millis() as u64))
            .collect();
        let raw = Raw {
            boot_id: kernel::boot_id(),
            since_ms,
        };
        replace(&self.file, &serde_json::to_vec(&raw)?)
    }

    /// Nothing is changed any more.
    pub fn clear(&self) -> io::Result<()> {
        match fs::remove_file(&self.file) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// Writes a file beside its place and renames it, so that readers see it whole.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let beside = path.with_extension("new");
    File::create(&beside)?.write_all(bytes)?;
    fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_left_and_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        assert!(state.left().is_empty());
        let since = Since::from([("10.0.1.0/24".parse().unwrap(), Duration::from_millis(1234))]);
        state.keep(&since).unwrap();
        assert_eq!(state.left(), since);
        state.clear().unwrap();
        state.clear().unwrap();
        assert!(state.left().is_empty());
    }

    #[test]
    fn another_life_of_the_machine_or_nonsense_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(folder.path()).unwrap();
        fs::write(
            &state.file,
            br#"{"boot_id":"x","since_ms":{"10.0.1.0/24":1}}"#,
        )
        .unwrap();
        assert!(state.left().is_empty());
        fs::write(&state.file, b"{").unwrap();
        assert!(state.left().is_empty());
    }

    #[test]
    fn one_agent_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let _first = State::open(folder.path()).unwrap();
        let refused = State::open(folder.path()).unwrap_err();
        assert!(refused.to_string().contains("another agent"), "{refused}");
    }
}
