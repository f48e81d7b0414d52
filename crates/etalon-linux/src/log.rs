// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's log as it comes through the pipe: records of 32 bytes, some followed by bytes of their own.

use std::io::{self, Read};

use etalon_events::{RECORD_BYTES, Record};

/// Bytes taken from the pipe at once: as many as it holds.
const READ: usize = 1 << 20;
/// The longest entry: a record and 65535 bytes.
const LONGEST: usize = RECORD_BYTES + (1 << 16);

/// Bytes that have come through the pipe, and how far they have been taken.
#[derive(Debug)]
pub(crate) struct Log {
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

impl Default for Log {
    fn default() -> Log {
        Log {
            buffer: vec![0; READ + LONGEST],
            start: 0,
            end: 0,
        }
    }
}

impl Log {
    /// Reads once from `source`; returns how many bytes came, 0 at its end.
    pub(crate) fn read(&mut self, source: &mut impl Read) -> io::Result<usize> {
        // Whole entries have been taken: at most part of one is left.
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let n = source.read(&mut self.buffer[self.end..])?;
        self.end += n;
        Ok(n)
    }

    /// Takes the next entry if all of it is there: a record and the bytes that follow it.
    #[inline]
    pub(crate) fn entry(&mut self) -> Option<(Record, &[u8])> {
        let rest = &self.buffer[self.start..self.end];
        let (head, rest) = rest.split_first_chunk::<RECORD_BYTES>()?;
        let record = Record::from_bytes(head);
        let data = rest.get(..record.padded_len())?;
        self.start += RECORD_BYTES + data.len();
        Some((record, &data[..record.data_len()]))
    }

    /// Bytes that are left: part of an entry.
    pub(crate) fn rest(&self) -> usize {
        self.end - self.start
    }
}
