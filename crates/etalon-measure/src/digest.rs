//! A running 64-bit digest of events, for tests of determinism. Not cryptographic.

/// Mixes words in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn new() -> Digest {
        Digest(0x243f_6a88_85a3_08d3)
    }

    #[inline]
    pub(crate) fn mix(&mut self, word: u64) {
        let x = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = x ^ (x >> 29);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}
