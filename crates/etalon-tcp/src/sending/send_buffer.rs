// SPDX-License-Identifier: MIT OR Apache-2.0
//! The socket's send buffer: how much of what a program writes its socket has taken. `write` blocks on what does not fit (tcp(7),
//! `tcp_wmem`).
//!
//! Linux counts the memory of what is written and not acknowledged, that of the buffers which hold it (`buffers.rs`) included, and lets it grow
//! with the congestion window. All of it was seen on the Linux engine, in the memory that a writing program's socket reports (`SO_MEMINFO`, `ss
//! -m`), with MTUs from 576 to 16,000 bytes.
//!
//! What TCP sends does not depend on it, for that is of flows without end: a [`Connection`] may send whatever was written, and the buffer says at
//! each instant how much a program could have handed over. A real sender whose window is larger than its buffer waits for its program
//! (`program.rs`); this one does not.

/// Memory that a buffer takes beside its payload.
pub(crate) const BESIDE_PAYLOAD: u64 = 768;
/// What a segment is planned to take: a power of two that holds it and this much of headers, and as much again as a small block.
const HEADERS: u64 = 576;
const BLOCK: u64 = 256;
/// There is room for so many windows, of so many segments at least.
const WINDOWS: u64 = 2;
const LEAST_SEGMENTS: u32 = 10;

/// Memory that a socket has room for whose connection has segments of `mss` bytes of payload, and had a window of up to `cwnd` of them.
pub(crate) fn room(mss: u32, cwnd: u32) -> u64 {
    let segment = (u64::from(mss) + HEADERS).next_power_of_two() + BLOCK;
    WINDOWS * u64::from(cwnd.max(LEAST_SEGMENTS)) * segment
}

/// What a socket has taken of what its program writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SendBuffer {
    /// Memory, and how much that may become.
    size: u64,
    max: u64,
    /// Bytes of the stream that the program has written, and that the socket has taken.
    written: u64,
    accepted: u64,
    /// Bytes that a program which waits for room has handed over, and the connection's owner has not heard of.
    untold: u64,
    /// A write waits until a third of the memory is free.
    waits: bool,
}

/// What the buffer depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sending {
    /// Bytes acknowledged.
    pub acked: u64,
    /// Congestion window, and segments in flight.
    pub cwnd: u32,
    pub in_flight: u32,
    /// Payload of a full segment, and of a buffer.
    pub mss: u32,
    pub buffer: u32,
}

impl SendBuffer {
    /// A buffer of up to `max` bytes.
    pub fn new(max: u32) -> SendBuffer {
        SendBuffer {
            size: 0,
            max: max.into(),
            written: 0,
            accepted: 0,
            untold: 0,
            waits: false,
        }
    }

    /// The program writes.
    #[cold]
    pub fn write(&mut self, bytes: u64) {
        self.written = self.written.saturating_add(bytes);
    }

    /// The program, which would have written for ever, writes no more.
    pub fn shutdown(&mut self) {
        self.written = self.accepted;
    }

    /// A program that waits for room has handed over so much.
    pub fn hand_over(&mut self, bytes: u64) {
        self.untold += bytes;
    }

    /// How much it has handed over since this was asked.
    pub fn tell(&mut self) -> u64 {
        std::mem::take(&mut self.untold)
    }

    /// Takes what there is room for. Returns how many bytes these are.
    pub fn take(&mut self, sending: &Sending) -> u64 {
        let before = self.accepted;
        // What is acknowledged was taken, though the buffer may have had no room for it.
        self.accepted = before.max(sending.acked);
        self.grow(sending);
        let held = self.held(sending);
        if self.waits && 3 * held > 2 * self.size {
            return self.accepted - before;
        }
        if held < self.size {
            let whole = u64::from(sending.buffer);
            let buffers = (self.size - held).div_ceil(whole + BESIDE_PAYLOAD);
            let free = self.written.saturating_sub(self.accepted);
            self.accepted += free.min(buffers * whole);
        }
        self.waits = self.accepted < self.written;
        self.accepted - before
    }

    /// Memory in use.
    fn held(&self, sending: &Sending) -> u64 {
        let payload = self.accepted - sending.acked;
        payload + payload.div_ceil(sending.buffer.into()) * BESIDE_PAYLOAD
    }

    /// An established connection has room for two windows. Later that grows when a write waits and the window is not full, for then it may be
    /// the buffer that holds the sender back.
    fn grow(&mut self, sending: &Sending) {
        if self.size == 0 || self.waits && sending.in_flight < sending.cwnd {
            let room = room(sending.mss, sending.cwnd);
            self.size = self.size.max(room.min(self.max));
        }
    }
}

#[cfg(test)]
mod tests;
