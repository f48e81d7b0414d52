// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's console: its end is kept, for it says why a kernel died.

/// Bytes kept.
const KEPT: usize = 64 << 10;

/// The last 64 KiB of what the kernel wrote to its console.
#[derive(Debug, Default)]
pub(crate) struct Console {
    bytes: Vec<u8>,
}

impl Console {
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * KEPT {
            self.bytes.drain(..self.bytes.len() - KEPT);
        }
    }

    /// What is kept, as text.
    pub(crate) fn text(&self) -> String {
        let start = self.bytes.len().saturating_sub(KEPT);
        String::from_utf8_lossy(&self.bytes[start..]).into_owned()
    }
}

/// Part of what is said of a kernel that had too little memory; `kernel/init` says it too.
pub(crate) const NO_MEMORY: &str = "ran out of memory";

/// What the console says about a kernel's death, if it does: one sentence.
pub(crate) fn last_words(console: &str) -> Option<String> {
    if let Some((_, reason)) = console.split_once("Kernel panic - not syncing: ") {
        let reason = reason.lines().next().unwrap_or_default().trim();
        return Some(match reason.contains("memory") {
            true => format!(
                "The kernel {NO_MEMORY} ({reason}); emulate fewer hosts or flows, or let programs use less."
            ),
            false => format!("The kernel panicked: {reason}."),
        });
    }
    if console.contains("Out of memory: Killed process") || console.contains("oom-kill") {
        return Some(format!(
            "The kernel {NO_MEMORY}; emulate fewer hosts or flows, or let programs use less."
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept_and_memory_is_bounded() {
        let mut console = Console::default();
        for line in 0..100_000 {
            console.write(format!("line {line}\n").as_bytes());
            assert!(console.bytes.capacity() <= 8 * KEPT);
        }
        let text = console.text();
        assert_eq!(text.len(), KEPT);
        assert!(text.ends_with("line 99999\n"));
    }

    #[test]
    fn a_panic_says_why() {
        let console = "[ 1.2] eth0: up\n[ 1.3] Kernel panic - not syncing: Attempted to kill init! exitcode=0x7f\n[ 1.3] CPU: 0\n";
        assert_eq!(
            last_words(console).as_deref(),
            Some("The kernel panicked: Attempted to kill init! exitcode=0x7f.")
        );
        let console = "Kernel panic - not syncing: System is deadlocked on memory\n";
        assert!(last_words(console).is_some_and(|s| s.contains("ran out of memory")));
        assert_eq!(last_words("all is well"), None);
    }
}
