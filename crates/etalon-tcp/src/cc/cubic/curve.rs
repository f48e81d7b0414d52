// SPDX-License-Identifier: MIT OR Apache-2.0
//! The curve of RFC 9438, section 4.2: W_cubic(t) = C (t - K)^3 + W_max.

/// Units of time in a second.
pub(super) const SECOND: u64 = 1 << SHIFT;
const SHIFT: u32 = 10;
/// C is in 1/1024, time cubed in 2^-30 s^3.
const SCALE: u32 = 10 + 3 * SHIFT;

/// A curve: where its plateau lies, and when it is reached, in 1/1024 s after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Curve {
    pub(super) plateau: u32,
    pub(super) k: u32,
}

impl Curve {
    pub(super) const FLAT: Curve = Curve { plateau: 0, k: 0 };

    /// The curve that starts at a window of `cwnd` segments: K = cbrt((`w_max` - `cwnd`) / C). A window that is not below `w_max` stands at its own
    /// plateau. `c` in 1/1024 segments/s^3.
    pub(super) fn from_window(cwnd: u32, w_max: u32, c: u16) -> Curve {
        let below = u64::from(w_max.saturating_sub(cwnd));
        Curve {
            plateau: w_max.max(cwnd),
            k: cube_root((below << SCALE) / u64::from(c)),
        }
    }

    /// The window at time `t`, in 1/1024 s after the start; in segments, the distance to the plateau rounded down.
    pub(super) fn at(&self, t: u64, c: u16) -> u32 {
        let k = u64::from(self.k);
        let cubed = u128::from(t.abs_diff(k)).pow(3);
        let distance = u32::try_from((u128::from(c) * cubed) >> SCALE).unwrap_or(u32::MAX);
        if t < k {
            self.plateau.saturating_sub(distance)
        } else {
            self.plateau.saturating_add(distance)
        }
    }
}

/// The cube root of `n` < 2^63, rounded down, one bit at a time.
pub(super) fn cube_root(n: u64) -> u32 {
    let mut root = 0u64;
    for bit in (0..21).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate * candidate <= n {
            root = candidate;
        }
    }
    root as u32
}
