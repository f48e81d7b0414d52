// SPDX-License-Identifier: MIT OR Apache-2.0
//! Labels of a block. Almost all are an l and a number that counts up, so a table finds them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::words::decimal;

/// No operation.
const NONE: u32 = u32::MAX;
/// The table may be so many times as long as there are labels, and this much longer.
const SPARSE: (usize, usize) = (8, 1 << 16);

#[derive(Debug, Default)]
pub(super) struct Labels {
    numbered: Vec<u32>,
    named: BTreeMap<Vec<u8>, u32>,
    count: usize,
}

impl Labels {
    /// Notes the operation of a label. False if it has one.
    pub(super) fn add(&mut self, label: &[u8], op: u32) -> bool {
        if self.get(label).is_some() {
            return false;
        }
        self.count += 1;
        match self.place(label) {
            Some(at) => {
                if at >= self.numbered.len() {
                    self.numbered.resize(at + 1, NONE);
                }
                self.numbered[at] = op;
            }
            None => {
                self.named.insert(label.into(), op);
            }
        }
        true
    }

    pub(super) fn get(&self, label: &[u8]) -> Option<u32> {
        if let Some(at) = number(label) {
            if let Some(&op) = self.numbered.get(at).filter(|&&op| op != NONE) {
                return Some(op);
            }
        }
        if self.named.is_empty() {
            return None;
        }
        self.named.get(label).copied()
    }

    pub(super) fn clear(&mut self) {
        self.numbered.clear();
        self.named.clear();
        self.count = 0;
    }

    /// Its place in the table, if it has one.
    fn place(&self, label: &[u8]) -> Option<usize> {
        number(label).filter(|&at| at < SPARSE.0 * self.count + SPARSE.1)
    }
}

/// The number of a label like l12.
fn number(label: &[u8]) -> Option<usize> {
    let digits = label.strip_prefix(b"l")?;
    if digits.len() > 1 && digits[0] == b'0' {
        return None;
    }
    usize::try_from(decimal(digits)?).ok()
}
